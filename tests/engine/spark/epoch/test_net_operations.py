"""Writes of tables and DataFrames into relations that have rows, compared in the driver or by Spark: the same rows."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tidelog
from tidelog.diagnostics.errors import DataError
from tidelog.engine.spark.epoch import net_operations, set_relation
from tidelog.engine.spark.storage.directory import StateDirectory
from tidelog.engine.spark.storage.publish import last_manifest

pytestmark = pytest.mark.spark

PROGRAM = """
input relation R(id: u32, wide: u64, name: string, at: date)
output relation Out(id: u32, wide: u64, name: string, at: date)
Out(i, w, n, a) :- R(i, w, n, a).
"""
Row = tuple[int, int, str, datetime.date]
ROWS: list[Row] = [(i, 2**64 - 1 - i, f"n{i % 7}", datetime.date(2020, 1, 1 + i % 28)) for i in range(400)]


def table(rows: list[Row]) -> pa.Table:
    ids, wide, names, dates = zip(*rows, strict=True) if rows else ((), (), (), ())
    columns = [pa.array(ids, pa.uint32()), pa.array(wide, pa.uint64()), pa.array(names, pa.string())]
    return pa.table([*columns, pa.array(dates, pa.date32())], ["id", "wide", "name", "at"])


def frame(spark: Any, rows: list[Row]) -> Any:
    """The rows as a DataFrame, each twice."""
    whole = [(i, Decimal(w), n, a) for i, w, n, a in rows + rows]
    return spark.createDataFrame(whole, "id long, wide decimal(20,0), name string, at date")


@pytest.mark.parametrize("place", ["driver", "driver, few", "spark"])
def test_histories_of_tables_and_frames_equal_a_set(spark: Any, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if place != "driver":
        monkeypatch.setattr(net_operations, "FEW_ROWS", 50)
    if place == "spark":
        monkeypatch.setattr(net_operations, "FETCHED_ROWS", -1)
        monkeypatch.setattr(net_operations, "DRIVER_ROWS", -1)
        monkeypatch.setattr(set_relation, "MERGED_ROWS", 100)
    rng = random.Random(5)
    there: set[Row] = set()
    with tidelog.compile(PROGRAM).open("spark", spark=spark) as db:
        for epoch in range(5 if place == "spark" else 8):
            before = set(there)
            with db.transaction() as tx:
                for _ in range(1 + epoch % 3):
                    rows = rng.sample(ROWS, 300 if epoch == 0 else rng.choice((8, 40, 150)))
                    is_insert = epoch == 0 or rng.random() < 0.5
                    given = frame(spark, rows) if epoch == 0 or rng.random() < 0.5 else table(rows)
                    (tx.insert if is_insert else tx.delete)("R", given)
                    there = there | set(rows) if is_insert else there - set(rows)
            assert set(db.relation("R").rows()) == set(db.relation("Out").rows()) == there
            found = {(row, weight) for row, weight in tx.changes.get("Out", ())}
            assert found == {(row, 1) for row in there - before} | {(row, -1) for row in before - there}


def test_rows_that_spark_wrote_are_found_by_any_column(spark: Any) -> None:
    with tidelog.compile(PROGRAM).open("spark", spark=spark) as db:
        with db.transaction() as tx:
            tx.insert("R", frame(spark, ROWS))
        for column, value in zip(("id", "wide", "name", "at"), ROWS[5], strict=True):
            found = db.relation("R").lookup(**{column: value})
            assert ROWS[5] in found
            assert {row[("id", "wide", "name", "at").index(column)] for row in found} == {value}


@pytest.mark.parametrize("has_rows", [False, True])
@pytest.mark.parametrize("fetched", [1_000_000, -1])
def test_a_value_that_does_not_fit_is_named_and_nothing_changes(
    spark: Any, has_rows: bool, fetched: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(net_operations, "FETCHED_ROWS", fetched)
    bad = spark.range(5).selectExpr("id + 4294967294 as id", "id as wide", "'x' as name", "date'2020-01-01' as at")
    with tidelog.compile(PROGRAM).open("spark", spark=spark) as db:
        if has_rows:
            with db.transaction() as tx:
                tx.insert("R", table(ROWS[:3]))
        for write in ("insert", "delete"):
            with pytest.raises(DataError, match="`4294967298` is not a u32"), db.transaction() as tx:
                getattr(tx, write)("R", bad)
        assert len(db.relation("R")) == (3 if has_rows else 0)


def test_a_small_change_of_a_large_relation_writes_a_small_file(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(set_relation, "MERGED_ROWS", 100)
    with tidelog.compile(PROGRAM).open("spark", spark=spark, path=str(tmp_path / "state")) as db:
        with db.transaction() as tx:
            tx.insert("R", frame(spark, ROWS))
        base = _files(tmp_path)
        for rows in (ROWS[:3], ROWS[1:5]):
            with db.transaction() as tx:
                tx.delete("R", table(rows))
        left = _files(tmp_path)
        assert left[: len(base)] == base
        assert len(left) == len(base) + 1
        assert ".delta." in left[-1]
        assert len(db.relation("R")) == len(ROWS) - 5
        with db.transaction() as tx:
            tx.delete("R", table(ROWS[100:200]))
        assert not any(".delta." in name or name in base for name in _files(tmp_path))
        assert set(db.relation("R").rows()) == set(ROWS[5:100] + ROWS[200:])


def _files(folder: Path) -> list[str]:
    manifest = last_manifest(StateDirectory(str(folder / "state")))
    assert manifest is not None
    return list(manifest.relations["R"].files)
