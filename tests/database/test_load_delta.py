"""Delta tables in `tx.load` and `tx.insert`."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import tidelog
from tidelog.diagnostics.errors import DataError, UsageError

deltalake = pytest.importorskip("deltalake")

PROGRAM = (
    "input relation Edge(src: string, n: u64)\noutput relation Out(src: string, n: u64)\nOut(x, n) :- Edge(x, n).\n"
)
LARGE = 2**64 - 1


def made(folder: Path) -> str:
    numbers = pa.array([1, LARGE], pa.decimal128(20, 0))
    rows = pa.table({"src": ["a", "b"], "n": numbers, "other": [None, "x"]})
    deltalake.write_deltalake(folder / "edges", rows, partition_by=["src"])
    deltalake.DeltaTable(folder / "edges").delete("src = 'a'")
    return str(folder / "edges")


def test_a_folder_with_a_delta_log_is_loaded_at_its_last_version(tmp_path: Path) -> None:
    path = made(tmp_path)
    for format_ in (None, "delta"):
        db = tidelog.compile(PROGRAM).open()
        with db.transaction() as tx:
            report = tx.load("Edge", path, format=format_)
        assert (db.relation("Out").rows(), report.rows) == ([("b", LARGE)], 1)


def test_a_table_of_deltalake_is_inserted_and_deleted_at_its_version(tmp_path: Path) -> None:
    path = made(tmp_path)
    db = tidelog.compile(PROGRAM).open()
    with db.transaction() as tx:
        tx.insert("Edge", deltalake.DeltaTable(path, version=0))
    assert db.relation("Out").rows() == [("a", 1), ("b", LARGE)]
    with db.transaction() as tx:
        tx.delete("Edge", deltalake.DeltaTable(path))
    assert db.relation("Out").rows() == [("a", 1)]


def test_bad_rows_are_told_with_their_place_or_left_out(tmp_path: Path) -> None:
    deltalake.write_deltalake(tmp_path / "edges", pa.table({"src": ["a", None, "c"], "n": [1, 2, -3]}))
    db = tidelog.compile(PROGRAM).open()
    with pytest.raises(DataError, match="edges, row 2"), db.transaction() as tx:
        tx.load("Edge", tmp_path / "edges")
    with db.transaction() as tx:
        report = tx.load("Edge", tmp_path / "edges", on_bad_row="skip")
    assert (report.rows, report.files[0].skipped, db.relation("Out").rows()) == (1, 2, [("a", 1)])


def test_what_is_no_delta_table_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "edges").mkdir()
    db = tidelog.compile(PROGRAM).open()
    with pytest.raises(DataError, match="there is no Delta table"), db.transaction() as tx:
        tx.load("Edge", tmp_path / "edges", format="delta")
    with pytest.raises(UsageError, match="must be one of"), db.transaction() as tx:
        tx.load("Edge", tmp_path / "edges", format="deltas")
