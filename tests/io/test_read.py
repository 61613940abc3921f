"""Files → tables: formats, headers, and the exact place of what is wrong."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.io.declare import relation
from tidelog.diagnostics.errors import DataError
from tidelog.io.bad_rows import BadRows
from tidelog.io.read import read_batches
from tidelog.io.values import Row
from tidelog.rules.ir import Relation
from tidelog.rules.schema.arrow import arrow_schema, table_to_rows
from tidelog.types import BOOL, S64, STRING, U8, U32, U64, U128, BitType, Type
from tidelog.values import Definitions

EDGE = relation("Edge", src=STRING, dst=U32)
TEXT = relation("Text", t=STRING)


def read(path: Path, to: Relation = EDGE, bad: BadRows | None = None) -> list[Row]:
    found: list[Row] = []
    for batch in read_batches(path, to, Definitions(), bad):
        if isinstance(batch, list):
            found += batch
        else:
            assert batch.schema == arrow_schema(to)
            found += table_to_rows(batch, to)
    return found


def file(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def refusal(path: Path, to: Relation = EDGE) -> str:
    with pytest.raises(DataError) as caught:
        read(path, to)
    return f"{caught.value.code}: {caught.value.message}".replace(f"{path.parent}/", "")


@pytest.mark.parametrize("ending", ["csv", "tsv", "facts", "csv.gz", "tsv.gz", "facts.gz"])
def test_every_text_format_reads_the_same_rows(tmp_path: Path, ending: str) -> None:
    separator = "," if "csv" in ending else "\t"
    path = file(tmp_path, f"Edge.{ending}", f"a{separator}1\nb{separator}4294967295\n")
    assert read(path) == [("a", 1), ("b", 4294967295)]


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz"])
def test_a_header_is_recognised_by_the_column_names_in_any_order(tmp_path: Path, ending: str) -> None:
    separator = "," if "csv" in ending else "\t"
    assert read(file(tmp_path, f"A.{ending}", f"src{separator}dst\na{separator}1\n")) == [("a", 1)]
    assert read(file(tmp_path, f"B.{ending}", f"dst{separator}src\n1{separator}a\n")) == [("a", 1)]
    assert read(file(tmp_path, f"C.{ending}", f'"src"{separator}"dst"\r\na{separator}1\r\n')) == [("a", 1)]


def test_a_first_line_that_is_not_the_column_names_is_data(tmp_path: Path) -> None:
    two = relation("Two", src=STRING, dst=STRING)
    assert read(file(tmp_path, "Two.csv", "src,dest\na,b\n"), two) == [("src", "dest"), ("a", "b")]
    assert read(file(tmp_path, "Two.facts", "src\tdst\n"), two) == [("src", "dst")]
    assert "Edge.csv:1:2" in refusal(file(tmp_path, "Edge.csv", "from,to\na,1\n"))


def test_empty_cells_are_strings_and_quotes_hold_anything(tmp_path: Path) -> None:
    two = relation("Two", a=STRING, b=STRING)
    path = file(tmp_path, "Two.csv", ',\n"",x\n"a,""b""\nc",null\nNA,NULL\n é ,\ufeff\n')
    assert read(path, two) == [("", ""), ("", "x"), ('a,"b"\nc', "null"), ("NA", "NULL"), (" é ", "\ufeff")]


def test_facts_files_have_no_quotes(tmp_path: Path) -> None:
    two = relation("Two", a=STRING, b=STRING)
    assert read(file(tmp_path, "Two.facts", '"a"\tb"\n'), two) == [('"a"', 'b"')]
    assert read(file(tmp_path, "Text.facts", "a\n\nb\n"), TEXT) == [("a",), ("",), ("b",)]


def test_blank_lines_and_a_byte_order_mark_are_skipped(tmp_path: Path) -> None:
    assert read(file(tmp_path, "Edge.csv", "\ufeffsrc,dst\n\na,1\n\n")) == [("a", 1)]
    assert read(file(tmp_path, "Text.csv", '\ufeffa\n\n""\n'), TEXT) == [("a",), ("",)]


@pytest.mark.parametrize("name", ["Edge.csv", "Edge.tsv", "Edge.facts", "Edge.csv.gz"])
def test_an_empty_file_has_no_rows(tmp_path: Path, name: str) -> None:
    assert read(file(tmp_path, name, "")) == []


def test_a_file_with_only_a_header_has_no_rows(tmp_path: Path) -> None:
    for content in ("src,dst", "src,dst\n", "src,dst\r\n", "src,dst\n\n\n"):
        assert read(file(tmp_path, "Edge.csv", content)) == []


def test_cells_are_typed_by_the_program(tmp_path: Path) -> None:
    kinds = relation("K", flag=BOOL, odd=BitType(12), big=U64, signed=S64, wide=U128, text=STRING)
    path = file(
        tmp_path,
        "K.csv",
        f"true,4095,{2**64 - 1},{-(2**63)},{2**128 - 1},007\nfalse,0x0F, 7 ,-007,{'0' * 5000}16,true\n",
    )
    assert read(path, kinds) == [
        (True, 4095, 2**64 - 1, -(2**63), 2**128 - 1, "007"),
        (False, 15, 7, -7, 16, "true"),
    ]


@pytest.mark.parametrize(
    ("type_", "cell", "wanted"),
    [
        (U32, "abc", "`'abc'` is not a u32 (0 to 4294967295)"),
        (U32, "1.0", "`'1.0'` is not a u32"),
        (U32, "-1", "`'-1'` is not a u32"),
        (U32, "4294967296", "`'4294967296'` is not a u32"),
        (U8, "256", "`'256'` is not a u8 (0 to 255)"),
        (BitType(12), "4096", "`'4096'` is not a bit<12> (0 to 4095)"),
        (U128, "x", "`'x'` is not a u128"),
        (U128, "9" * 5000, "is not a u128"),
        (U8, "9" * 5000, "is not a u8"),
        (U128, str(2**128), "is not a u128"),
        (BOOL, "True", "`'True'` is not a bool"),
        (BOOL, "1", "`'1'` is not a bool"),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "tsv.gz", "facts"])
def test_a_bad_cell_is_reported_with_file_line_column_and_the_type_wanted(
    tmp_path: Path, ending: str, type_: Type, cell: str, wanted: str
) -> None:
    separator = "," if ending == "csv" else "\t"
    pair = relation("Edge", src=STRING, dst=type_)
    good = "1" if type_ != BOOL else "true"
    lines = [f"a{separator}{good}"] * 16 + [f"b{separator}{cell}"] + [f"c{separator}{good}"] * 3
    message = refusal(file(tmp_path, f"Edge.{ending}", "\n".join(lines) + "\n"), pair)
    assert message.startswith(f"E504: Edge.{ending}:17:2, column `dst` of `Edge`: ")
    assert wanted in message


def test_the_line_of_a_bad_cell_counts_the_header_and_lines_inside_quotes(tmp_path: Path) -> None:
    path = file(tmp_path, "Edge.csv", 'dst,src\n1,"two\nlines"\n\nx,b\n')
    assert refusal(path).startswith("E504: Edge.csv:5:1, column `dst` of `Edge`: `'x'` is not a u32")


def test_the_first_of_several_bad_cells_is_reported(tmp_path: Path) -> None:
    assert "Edge.csv:2:2" in refusal(file(tmp_path, "Edge.csv", "a,1\nb,x\nc,y\nd\n"))


def test_a_large_file_comes_in_batches_and_its_bad_cell_is_found(tmp_path: Path) -> None:
    lines = [f"host-with-a-long-name-{number},{number}\n" for number in range(400_000)]
    tables = list(read_batches(file(tmp_path, "Edge.csv", "".join(lines)), EDGE, Definitions()))
    assert len(tables) > 1
    assert sum(map(len, tables)) == 400_000
    lines[350_000] = "host,99999999999\n"
    assert "Edge.csv:350001:2" in refusal(file(tmp_path, "Edge.csv", "".join(lines)))


def test_a_line_with_too_few_or_too_many_cells_is_reported(tmp_path: Path) -> None:
    assert refusal(file(tmp_path, "Edge.csv", "a,1\nb\n")) == (
        "E502: Edge.csv:2:2: the line has 1 cell where `Edge` has 2 columns"
    )
    assert refusal(file(tmp_path, "Edge.csv", "a,1\nb,2,3\n")) == (
        "E502: Edge.csv:2:3: the line has 3 cells where `Edge` has 2 columns"
    )


def test_a_long_cell_before_the_bad_one_is_passed_over(tmp_path: Path) -> None:
    path = file(tmp_path, "Edge.csv", f"{'long' * 100_000},1\nb,x\n")
    assert "Edge.csv:2:2" in refusal(path)


def test_the_wrong_separator_is_hinted_at(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read(file(tmp_path, "Edge.tsv", "a,1\n"))
    assert caught.value.help is not None
    assert "tabs separate the cells of a .tsv file" in caught.value.help
    with pytest.raises(DataError) as caught:
        read(file(tmp_path, "Edge.csv", "src;n\na;1\n"))
    assert caught.value.help is not None
    assert "commas separate the cells of a .csv file" in caught.value.help
    assert 'pandas.read_csv(path, sep=";")' in caught.value.help


def test_text_that_is_not_utf8_is_reported_with_its_place(tmp_path: Path) -> None:
    assert refusal(file(tmp_path, "Edge.csv", b"a,1\n\xff,2\n")).startswith("E504: Edge.csv:2:1, column `src`")


def test_a_quote_that_is_never_closed_is_reported_where_it_opens(tmp_path: Path) -> None:
    message = refusal(file(tmp_path, "Text.csv", 'a\n"b\nc\nd\n'), TEXT)
    assert message.startswith("E507: Text.csv:2:1: a quoted cell is not well formed")


def test_a_last_cell_of_several_lines_is_fine(tmp_path: Path) -> None:
    assert read(file(tmp_path, "Text.csv", 'a\n"b\nc"\n'), TEXT) == [("a",), ("b\nc",)]


def test_a_damaged_archive_is_a_data_error(tmp_path: Path) -> None:
    path = tmp_path / "Edge.csv.gz"
    path.write_bytes(gzip.compress(b"a,1\n" * 1000)[:-30])
    assert refusal(path).startswith("E507: Edge.csv.gz: cannot be read")
    path.write_bytes(b"no gzip at all")
    assert refusal(path).startswith("E507: Edge.csv.gz: cannot be read")


def test_a_missing_file_is_a_data_error(tmp_path: Path) -> None:
    assert refusal(tmp_path / "Edge.csv").startswith("E507")


def test_parquet_reads_by_name_and_in_parts(tmp_path: Path) -> None:
    table = pa.table({"dst": pa.array([1, 2], pa.int64()), "src": ["a", "b"]})
    pyarrow.parquet.write_table(table, tmp_path / "Edge.parquet")
    assert read(tmp_path / "Edge.parquet") == [("a", 1), ("b", 2)]
    parts = tmp_path / "parts" / "Edge.parquet"
    parts.mkdir(parents=True)
    (parts / "_SUCCESS").touch()
    for number in range(2):
        pyarrow.parquet.write_table(table.slice(number, 1), parts / f"part-{number}.parquet")
    assert read(parts) == [("a", 1), ("b", 2)]


def test_a_bad_value_in_parquet_is_reported_with_its_row_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "Edge.parquet"
    numbers = list(range(100_000))
    numbers[70_000] = -5
    pyarrow.parquet.write_table(pa.table({"src": ["a"] * 100_000, "dst": numbers}), path)
    assert refusal(path).startswith("E504: Edge.parquet: row 70001, column `dst` of `Edge`: `-5` is not a u32")


def test_a_parquet_column_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "Edge.parquet"
    pyarrow.parquet.write_table(pa.table({"src": ["a"], "dst": [1.0]}), path)
    assert refusal(path).startswith("E506")


def test_a_file_that_is_not_parquet_is_a_data_error(tmp_path: Path) -> None:
    assert refusal(file(tmp_path, "Edge.parquet", "src,dst\n")).startswith("E507: Edge.parquet: not a readable Parquet")


def test_a_relation_without_columns_has_the_line_of_two_brackets(tmp_path: Path) -> None:
    flag = relation("Flag")
    assert read(file(tmp_path, "Flag.csv", "()\n"), flag) == [()]
    assert read(file(tmp_path, "Flag.csv", ""), flag) == []
    assert refusal(file(tmp_path, "Flag.csv", "true\n"), flag).startswith("E502: Flag.csv:1:1: `true` is not a row")


@pytest.mark.parametrize(
    ("name", "content", "rows", "count", "first"),
    [
        ("A.csv", "dst,src\n1,a\nx,b\n3,c\n4\n", [("a", 1), ("c", 3)], 2, "A.csv:3:1, column `dst` of `Edge`: `'x'`"),
        ("B.tsv.gz", "a\t1\nb\t-1\n\nc\t3\n", [("a", 1), ("c", 3)], 1, "B.tsv.gz:2:2, column `dst`"),
        ("C.facts", "a\t1\tmore\nb\t2\n", [("b", 2)], 1, "C.facts:1:3: the line has 3 cells"),
        ("D.jsonl", '["a", 1]\n["b"]\n[\n{"src": 1, "dst": 2}\n["c", 3]\n', [("a", 1), ("c", 3)], 3, "D.jsonl:2:1"),
        ("E.csv", b"a,1\n\xff,2\nc,3\n", [("a", 1), ("c", 3)], 1, "E.csv:2:1"),
    ],
)
def test_bad_rows_can_be_left_out(
    tmp_path: Path, name: str, content: str | bytes, rows: list[Row], count: int, first: str
) -> None:
    bad = BadRows(skip=True)
    assert read(file(tmp_path, name, content), EDGE, bad) == rows
    assert bad.count == count
    assert bad.first is not None
    assert first in bad.first.message


def test_bad_rows_are_left_out_after_many_batches_of_good_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.io.read._BLOCK", 1000)
    monkeypatch.setattr("tidelog.io.read._ROWS_AT_ONCE", 7)
    lines = [f'"name\n{n}",{"?" if n % 300 == 299 else n}' for n in range(1000)]
    bad = BadRows(skip=True)
    found = read(file(tmp_path, "Edge.csv", "src,dst\n" + "\n\n".join(lines) + "\n"), EDGE, bad)
    assert found == [(f"name\n{n}", n) for n in range(1000) if n % 300 != 299]
    assert bad.count == 3
    assert bad.first is not None
    assert f"Edge.csv:{2 + 3 * 299}:2" in bad.first.message


def test_bad_rows_of_parquet_are_left_out_one_by_one(tmp_path: Path) -> None:
    numbers = [n if n % 1000 else -n for n in range(3000)]
    table = pa.table({"src": [None if n == 7 else str(n) for n in range(3000)], "dst": pa.array(numbers, pa.int64())})
    pyarrow.parquet.write_table(table, tmp_path / "Edge.parquet")
    bad = BadRows(skip=True)
    found = read(tmp_path / "Edge.parquet", EDGE, bad)
    assert found == [(str(n), n) for n in range(3000) if n not in (7, 1000, 2000)]
    assert bad.count == 3
    assert bad.first is not None
    assert "Edge.parquet: row 8, column `src`" in bad.first.message


@pytest.mark.parametrize(
    ("name", "content"), [("A.csv", 'a,1\nb,x\n"c,3\nd,4\n'), ("B.csv.gz", b"a,1\nb,x\n"), ("C.parquet", b"nothing")]
)
def test_a_file_that_cannot_be_taken_apart_fails_in_any_case(tmp_path: Path, name: str, content: str | bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(DataError) as caught:
        read(path, EDGE, BadRows(skip=True))
    assert caught.value.code == "E507"


def test_columns_of_another_relation_fail_in_any_case(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pa.table({"src": ["a"], "to": [1]}), tmp_path / "Edge.parquet")
    with pytest.raises(DataError, match="a column `to`"):
        read(tmp_path / "Edge.parquet", EDGE, BadRows(skip=True))
