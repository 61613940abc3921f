"""Nulls of files and tables: those of an `Option` are None, all others are errors that name the column."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog
from tidelog import DataError, UsageError

PROGRAM = tidelog.compile("""
input relation In(id: u32, note: Option<string>, age: Option<u8>, size: Option<double>)
input relation Plain(id: u32, note: string)
input relation One(note: Option<string>)
""")
ROWS = [(1, None, None, None), (2, "", 7, 1.5), (3, "x,y", 8, -2.0)]


def loaded(path: Path, relation: str = "In", **options: Any) -> list[Any]:
    with PROGRAM.open() as database:
        with database.transaction() as tx:
            tx.load(relation, path, **options)
        return database.relation(relation).rows()


def inserted(rows: Any, relation: str = "In") -> list[Any]:
    with PROGRAM.open() as database:
        with database.transaction() as tx:
            tx.insert(relation, rows)
        return database.relation(relation).rows()


def written(path: Path, rows: list[Any], relation: str = "In", **options: Any) -> str:
    with PROGRAM.open() as database:
        with database.transaction() as tx:
            tx.insert(relation, rows)
        database.relation(relation).write(path, **options)
    return path.read_text()


def file(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_an_empty_cell_is_null_and_quotes_make_it_the_empty_text(tmp_path: Path) -> None:
    text = 'id,note,age,size\n1,,,\n2,"",7,1.5\n3,"x,y",8,-2\n'
    assert loaded(file(tmp_path / "In.csv", text)) == ROWS


@pytest.mark.parametrize("cell", ["NA", "NULL", "None", "nan"])
def test_a_cell_that_is_null_elsewhere_is_told_how_it_becomes_null(tmp_path: Path, cell: str) -> None:
    path = file(tmp_path / "In.csv", f"id,note,age,size\n1,,{cell},\n")
    with pytest.raises(DataError, match="is not a Option<u8>") as caught:
        loaded(path)
    assert f'null=["", "{cell}"]' in str(caught.value)
    assert loaded(path, null=["", cell]) == [(1, None, None, None)]


def test_a_csv_file_is_written_as_it_is_read(tmp_path: Path) -> None:
    text = written(tmp_path / "In.csv", ROWS)
    assert text == 'id,note,age,size\n1,,,\n2,"",7,1.5\n3,"x,y",8,-2\n'
    assert loaded(tmp_path / "In.csv") == ROWS


@pytest.mark.parametrize("bad", ["skip", "fail"])
def test_records_after_a_bad_one_have_the_same_nulls(tmp_path: Path, bad: str) -> None:
    text = 'id,note,age,size\nx,"","",""\n1,,,\n2,"",7,1.5\n3,"x\n""y""","8",\n'
    path = file(tmp_path / "In.csv", text)
    if bad == "fail":
        with pytest.raises(DataError, match=r"In.csv:2:1, column `id`"):
            loaded(path)
    else:
        assert loaded(path, on_bad_row="skip") == [*ROWS[:2], (3, 'x\n"y"', 8, None)]


def test_cells_written_by_earlier_versions_still_load(tmp_path: Path) -> None:
    text = 'id,note,age,size\n1,null,null,null\n2,"""""",7,1.5\n3,"""x,y""",8,-2.0\n4,"""a\\u00e4""",,"""NaN"""\n'
    rows = loaded(file(tmp_path / "In.csv", text))
    assert rows[:3] == ROWS
    assert rows[3][:3] == (4, "aä", None)
    assert np.isnan(rows[3][3])


def test_a_text_that_looks_like_null_or_json_comes_back(tmp_path: Path) -> None:
    texts = ["null", '"', '""', '"x"', "NA", "", None, " ", "Null"]
    rows = [(place, text, None, None) for place, text in enumerate(texts)]
    for name in ("In.csv", "In.tsv", "In.facts", "In.jsonl", "In.parquet", "In.arrow"):
        written_rows(tmp_path / name, rows)
        assert loaded(tmp_path / name) == rows, name
    written_rows(tmp_path / "In.csv", rows, null="NA")
    assert loaded(tmp_path / "In.csv", null="NA") == rows


def written_rows(path: Path, rows: list[Any], relation: str = "In", **options: Any) -> None:
    with PROGRAM.open() as database:
        with database.transaction() as tx:
            tx.insert(relation, rows)
        database.relation(relation).write(path, **options)


def test_the_only_column_may_be_null(tmp_path: Path) -> None:
    rows = [(None,), ("",), ("x",)]
    for name in ("One.csv", "One.tsv", "One.facts", "One.jsonl", "One.parquet"):
        written_rows(tmp_path / name, rows, "One")
        assert loaded(tmp_path / name, "One") == rows, name


def test_the_cell_for_null_can_be_chosen(tmp_path: Path) -> None:
    path = file(tmp_path / "In.csv", "id,note,age,size\n1,NA,NA,NA\n2,,7,1.5\n")
    assert loaded(path, null="NA") == ROWS[:2]
    path = file(tmp_path / "In.csv", "id,note,age,size\n1,NA,,-\n")
    assert loaded(path, null=["", "NA", "-"]) == ROWS[:1]
    assert written(tmp_path / "Out.csv", ROWS, null=r"\N").splitlines()[1] == r"1,\N,\N,\N"
    with pytest.raises(UsageError, match="`null` is 5"):
        loaded(path, null=5)


def test_a_text_column_keeps_its_cells(tmp_path: Path) -> None:
    path = file(tmp_path / "Plain.csv", 'id,note\n1,\n2,""\n3,null\n4,NA\n')
    assert loaded(path, "Plain", null="NA") == [(1, ""), (2, ""), (3, "null"), (4, "NA")]


@pytest.mark.parametrize(("cell", "null"), [("", ""), ("NA", "NA")])
def test_a_null_cell_of_another_column_says_how_to_declare_it(tmp_path: Path, cell: str, null: str) -> None:
    path = file(tmp_path / "Plain.csv", f"id,note\n1,a\n{cell},b\n")
    with pytest.raises(DataError, match=r"Plain.csv:3:1, column `id` of `Plain`: null where a u32") as caught:
        loaded(path, "Plain", null=null)
    assert "declare the column `id: Option<u32>`" in str(caught.value.help)


def test_missing_columns_of_options_are_null(tmp_path: Path) -> None:
    wanted = [(1, None, None, None), (2, None, 7, None)]
    text = file(tmp_path / "In.csv", "age,id\n,1\n7,2\n")
    assert loaded(text) == wanted
    assert loaded(text, header="name") == wanted
    assert loaded(file(tmp_path / "A.csv", "Age,ID\n,1\n7,2\nx,3\n"), on_bad_row="skip") == wanted
    assert loaded(file(tmp_path / "In.jsonl", '{"id": 1}\n{"age": 7, "id": 2}\n')) == wanted
    table = pa.table({"id": [1, 2], "age": [None, 7]})
    assert inserted(table) == inserted(table.to_pandas()) == wanted
    pyarrow.parquet.write_table(table, tmp_path / "In.parquet")
    assert loaded(tmp_path / "In.parquet") == wanted
    assert inserted([{"id": 1}, {"age": 7, "id": 2}]) == wanted
    with pytest.raises(DataError, match="lack the column `id`"):
        inserted(pa.table({"age": [1]}))
    with pytest.raises(DataError, match="lacks the column `id`"):
        inserted([{"age": 1}])


def test_pandas_has_nan_na_and_nat_for_null() -> None:
    pandas = pytest.importorskip("pandas")
    floats = pandas.DataFrame({"id": [1, 2], "note": [np.nan, ""], "age": [np.nan, 7.0], "size": [np.nan, 1.5]})
    assert inserted(floats) == ROWS[:2]
    nullable = pandas.DataFrame(
        {
            "id": [1, 2],
            "note": pandas.array([pandas.NA, ""], dtype="string"),
            "age": pandas.array([pandas.NA, 7], dtype="UInt8"),
            "size": pandas.array([pandas.NaT, 1.5], dtype=object),
        }
    )
    assert inserted(nullable) == ROWS[:2]
    assert inserted([(1, pandas.NA, np.nan, pandas.NaT), (2, "", 7, 1.5)]) == ROWS[:2]
    with PROGRAM.open() as database:
        with database.transaction() as tx:
            tx.insert("In", ROWS)
        frame = database.relation("In").to_pandas()
    assert inserted(frame) == ROWS
    assert frame["note"].tolist() == [None, "", "x,y"]


def test_nan_stays_a_number_where_it_is_no_missing_value() -> None:
    (row,) = inserted([(1, None, None, float("nan"))])
    assert np.isnan(row[3])


def test_a_null_of_pandas_in_another_column_is_named() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(DataError, match="row 2, column `id` of `Plain`: null where a u32"):
        inserted(pandas.DataFrame({"id": [1, None], "note": ["a", "b"]}), "Plain")
    with pytest.raises(DataError, match="row 1, column `note` of `Plain`: null where a string"):
        inserted([(1, pandas.NA)], "Plain")
    with pytest.raises(DataError, match=r"`1.5` is not a u8"):
        inserted(pandas.DataFrame({"id": [1, 2], "note": ["a", "b"], "age": [1.5, None], "size": [None, None]}))


def test_polars_has_null() -> None:
    polars = pytest.importorskip("polars")
    columns = {"id": [1, 2, 3], "note": [None, "", "x,y"], "age": [None, 7, 8], "size": [None, 1.5, -2.0]}
    frame = polars.DataFrame(columns)
    assert inserted(frame) == inserted(frame.lazy()) == ROWS
    with PROGRAM.open() as database:
        with database.transaction() as tx:
            tx.insert("In", frame)
        assert database.relation("In").to_polars().sort("id").to_dict(as_series=False) == columns


CELLS = st.none() | st.text('a"\n,\t NAnul\\', max_size=5)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(CELLS, st.none() | st.integers(0, 255), st.none() | st.floats(-4, 4)), max_size=4))
def test_rows_with_nulls_come_back_from_every_format(
    tmp_path_factory: pytest.TempPathFactory, cells: list[tuple[Any, ...]]
) -> None:
    rows = [(place, *each) for place, each in enumerate(cells)]
    folder = tmp_path_factory.mktemp("nulls")
    for name in ("In.csv", "In.tsv", "In.facts", "In.jsonl", "In.parquet", "In.feather"):
        written_rows(folder / name, rows)
        assert loaded(folder / name) == rows, name
    assert inserted(json.loads(json.dumps(rows))) == rows
