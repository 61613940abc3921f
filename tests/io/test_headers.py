"""The first line of a CSV or TSV file: a header by name, by position, or a row."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.io.declare import relation
from tidelog.diagnostics.errors import DataError
from tidelog.io.facts import find_fact_files
from tidelog.io.headers import Header
from tidelog.io.read import read_batches
from tidelog.rules.ir import Relation
from tidelog.types import BOOL, STRING, U32, DecimalType, Type
from tidelog.values import Definitions

PERSON = relation("Person", id=U32, name=STRING)
EDGE = relation("Edge", src=STRING, dst=STRING)


def read(path: Path, text: str, to: Relation, header: str = "detect") -> tuple[list[tuple[object, ...]], Header]:
    path = path / f"{to.name}.csv"
    path.write_text(text)
    headers: list[Header] = []
    batches = list(read_batches(path, to, Definitions(), header=header, tell_header=headers.append))
    rows = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]  # type: ignore[union-attr]
    return rows, headers[0]


@pytest.mark.parametrize(
    ("text", "to", "way", "count"),
    [
        ("id,name\n1,a\n", PERSON, "name", 1),
        ("name,id\na,1\n", PERSON, "name", 1),
        ("ID,Name\n1,a\n", PERSON, "name", 1),
        (" Name , ID\na,1\n", PERSON, "name", 1),
        ("number,who\n1,a\n", PERSON, "position", 1),
        ("1,a\n2,b\n", PERSON, "none", 2),
        ("a,b\nb,c\n", EDGE, "none", 2),
        ("source,target\na,b\n", EDGE, "none", 2),
        ("src,dst\na,b\n", EDGE, "name", 1),
        ("id,name\n", PERSON, "name", 0),
    ],
)
def test_the_first_line_is_detected(tmp_path: Path, text: str, to: Relation, way: str, count: int) -> None:
    rows, header = read(tmp_path, text, to)
    assert header.way == way
    assert len(rows) == count
    if to is PERSON and count == 1:
        assert rows == [(1, "a")]


def test_a_header_read_by_position_is_worth_a_note(tmp_path: Path) -> None:
    _, header = read(tmp_path, "number,who\n1,a\n", PERSON)
    assert header.text == "header by position: `number,who` does not name the columns of `Person`"


def test_a_row_that_names_some_columns_is_worth_a_note(tmp_path: Path) -> None:
    rows, header = read(tmp_path, "src,target\na,b\n", EDGE)
    assert rows[0] == ("src", "target")
    assert "is read as a row" in header.text


@pytest.mark.parametrize(("text", "is_told"), [("source,target\na,b\n", True), ("a,b\nb,c\n", False)])
def test_usual_headings_that_are_read_as_a_row_are_worth_a_note(tmp_path: Path, text: str, is_told: bool) -> None:
    _, header = read(tmp_path, text, EDGE)
    assert header.way == "none"
    assert ("`header='position'`" in header.note) is is_told


@pytest.mark.parametrize(
    ("text", "to", "said"),
    [
        ("id,nmae\n1,a\n", PERSON, "the header has `nmae`, which is no column of `Person`"),
        ("id,name,age\n1,a,3\n", PERSON, "the header has `age`"),
        ("id\n1\n", PERSON, "the header lacks the column `name`"),
    ],
)
def test_a_header_with_other_columns_is_an_error(tmp_path: Path, text: str, to: Relation, said: str) -> None:
    with pytest.raises(DataError, match=said) as caught:
        read(tmp_path, text, to)
    assert caught.value.code == "E503"
    assert "the columns are `Person(id: u32, name: string)`" in str(caught.value)


def test_the_way_can_be_chosen(tmp_path: Path) -> None:
    assert read(tmp_path, "source,target\na,b\n", EDGE, "position")[0] == [("a", "b")]
    assert read(tmp_path, "dst,src\na,b\n", EDGE, "position")[0] == [("a", "b")]
    assert read(tmp_path, "dst,src\na,b\n", EDGE, "none")[0] == [("dst", "src"), ("a", "b")]
    assert read(tmp_path, "dst,src\na,b\n", EDGE, "name")[0] == [("b", "a")]
    with pytest.raises(DataError, match="the header has `source`"):
        read(tmp_path, "source,target\na,b\n", EDGE, "name")
    with pytest.raises(DataError, match="the header has `a`"):
        read(tmp_path, "a,b,c\na,b,c\n", EDGE, "position")


def test_a_first_line_that_does_not_fit_says_what_a_header_would_be(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not a u32") as caught:
        read(tmp_path, "ID-NUMBER,who\nx,a\n", PERSON)
    assert "if this line is a header" in str(caught.value)
    assert "`id,name`" in str(caught.value)


def test_a_bool_in_other_capitals_and_a_file_in_latin_1_are_explained(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not a bool") as caught:
        read(tmp_path, "flag\nTrue\n", relation("Flag", flag=BOOL))
    assert "a bool is written `true` or `false`" in str(caught.value)
    path = tmp_path / "Latin.csv"
    path.write_bytes("id,name\n1,Ren\u00e9\n".encode("latin-1"))
    with pytest.raises(DataError, match="the file is not UTF-8 text") as caught:
        list(read_batches(path, PERSON, Definitions()))
    assert "iconv" in str(caught.value)


@pytest.mark.parametrize(
    ("cell", "type_", "said"),
    [
        ("NA", U32, 'declare the column `n: Option<u32>`; `tx.load(..., null=["", "NA"])`'),
        ("1.0", U32, "an integer is written without a point: `1`"),
        ("2.505", DecimalType(10, 2), "at most 2 digits behind the point"),
        ("x", DecimalType(10, 2), "is written `-12.50`"),
    ],
)
def test_a_cell_of_another_program_is_told_how_it_is_read(tmp_path: Path, cell: str, type_: Type, said: str) -> None:
    with pytest.raises(DataError) as caught:
        read(tmp_path, f"n\n{cell}\n", relation("One", n=type_))
    assert said in str(caught.value)
    assert "ddlog_std" not in str(caught.value)


def test_a_file_in_utf_16_is_told_how_it_is_converted(tmp_path: Path) -> None:
    path = tmp_path / "Wide.csv"
    path.write_bytes("id,name\n1,a\n".encode("utf-16"))
    with pytest.raises(DataError, match="the file is not UTF-8 text") as caught:
        list(read_batches(path, PERSON, Definitions()))
    assert "iconv -f utf-16" in str(caught.value)


def test_ignored_files_of_a_facts_folder_are_named(tmp_path: Path) -> None:
    for name in ("Person.json", "Person.txt", "README.md", "Edge.csv"):
        (tmp_path / name).write_text("")
    found = find_fact_files(tmp_path, ["Person", "Edge"])
    assert [path.name for path in found.unknown] == ["Person.json", "Person.txt"]
    assert list(found.files) == ["Edge"]
