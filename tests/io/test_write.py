"""Tables → files: sorted, whole or not at all, and readable again."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.io.declare import relation
from tests.io.test_read import read
from tidelog.io.formats import CSV, FORMATS, PARQUET, Format
from tidelog.io.rows import to_table
from tidelog.io.write import write_batch
from tidelog.rules.ir import Relation
from tidelog.rules.schema.arrow import empty_rows
from tidelog.types import BOOL, S64, S128, STRING
from tidelog.values import Definitions

MIXED = relation("Mixed", flag=BOOL, n=S64, wide=S128, text=STRING)
TEXT = relation("Text", t=STRING)
WRITTEN = ["csv", "tsv", "jsonl", "parquet", "arrow"]
MIXED_ROWS = st.tuples(st.booleans(), st.integers(-(2**63), 2**63 - 1), st.integers(-(2**127), 2**127 - 1), st.text())


def write_table(table: pa.Table, to: Relation, path: Path, format_: Format) -> None:
    write_batch(table, to, Definitions(), path, format_)


def test_a_csv_file_is_sorted_and_quotes_only_what_needs_it(tmp_path: Path) -> None:
    rows = [(True, 10, 10, 'say "hi", twice'), (True, 9, 100, "plain"), (False, -1, -9, ""), (True, 9, 99, "tab\there")]
    write_table(to_table(rows, MIXED), MIXED, tmp_path / "Mixed.csv", CSV)
    assert (tmp_path / "Mixed.csv").read_text() == (
        'flag,n,wide,text\nfalse,-1,-9,\ntrue,9,99,tab\there\ntrue,9,100,plain\ntrue,10,10,"say ""hi"", twice"\n'
    )


@pytest.mark.parametrize("name", WRITTEN)
@settings(max_examples=40, deadline=None)
@given(rows=st.sets(MIXED_ROWS))
def test_what_is_written_reads_back_as_the_same_rows(
    tmp_path_factory: pytest.TempPathFactory, name: str, rows: set[tuple[bool, int, int, str]]
) -> None:
    path = tmp_path_factory.mktemp("rows") / f"Mixed.{name}"
    write_table(to_table(list(rows), MIXED), MIXED, path, FORMATS[name])
    assert read(path, MIXED) == sorted(rows, key=lambda row: (*row[:3], row[3].encode()))


@pytest.mark.parametrize("name", WRITTEN)
@settings(max_examples=40, deadline=None)
@given(rows=st.sets(st.text(alphabet=st.sampled_from('a,"\t\r\n ')) | st.sampled_from(["t", "", '"', "\n"])))
def test_one_column_of_awkward_text_reads_back(
    tmp_path_factory: pytest.TempPathFactory, name: str, rows: set[str]
) -> None:
    path = tmp_path_factory.mktemp("rows") / f"Text.{name}"
    write_table(to_table(list(rows), TEXT), TEXT, path, FORMATS[name])
    assert read(path, TEXT) == [(text,) for text in sorted(rows)]


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("count", [0, 1])
def test_a_relation_without_columns_reads_back(tmp_path: Path, name: str, count: int) -> None:
    flag = relation("Flag")
    write_table(empty_rows(count), flag, tmp_path / f"Flag.{name}", FORMATS[name])
    assert read(tmp_path / f"Flag.{name}", flag) == [()] * count


def test_a_table_in_many_chunks_some_of_them_empty_makes_the_same_file(tmp_path: Path) -> None:
    parts = [to_table(texts, TEXT) for texts in ([], ["b"], [], [], ["a", "c"], [])]
    for count, content in ((1, "t\n"), (3, "t\nb\n"), (6, "t\na\nb\nc\n")):
        write_table(pa.concat_tables(parts[:count]), TEXT, tmp_path / "Text.csv", CSV)
        assert (tmp_path / "Text.csv").read_text() == content


def test_equal_rows_in_another_order_make_an_equal_file(tmp_path: Path) -> None:
    rows = [(number % 3 == 0, -number, number, str(number)) for number in range(1000)]
    for name, given_rows in (("a", rows), ("b", rows[::-1])):
        write_table(to_table(given_rows, MIXED), MIXED, tmp_path / name, PARQUET)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "Text.csv"
    write_table(to_table(["old"], TEXT), TEXT, path, CSV)

    def fail(self: Path, target: Path) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        write_table(to_table(["new"], TEXT), TEXT, path, CSV)
    assert [file.name for file in tmp_path.iterdir()] == ["Text.csv"]
    assert read(path, TEXT) == [("old",)]
