"""Large tables that come into empty relations, and what follows them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import tidelog
from tidelog.engine.local.encoding import pool
from tidelog.engine.local.storage.load import Load

ROWS = 70_000
PROGRAM = """
input relation Told(a: u32, b: s64, name: string)
output relation Seen(a: u32, name: string)
Seen(a, name) :- Told(a, b, name), b > 0.
"""


def table(first: int = 0, rows: int = ROWS) -> pa.Table:
    numbers = np.arange(first, first + rows)
    return pa.table(
        {
            "a": pa.array(numbers, pa.uint32()),
            "b": pa.array(numbers - 5, pa.int64()),
            "name": pa.array([str(number % 100) for number in numbers.tolist()]),
        }
    )


def rows_of(given: pa.Table) -> set[tuple[int, int, str]]:
    return set(zip(given["a"].to_pylist(), given["b"].to_pylist(), given["name"].to_pylist()))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("repeats", [0, 300])
def test_a_loaded_table_can_be_changed(threads: int, repeats: int) -> None:
    given = table()
    with tidelog.compile(PROGRAM).open(threads=threads) as db:
        with db.transaction() as tx:
            tx.insert("Told", pa.concat_tables([given, given.slice(100, repeats)]))
        held = rows_of(given)
        assert set(db.relation("Told")) == held
        for gone, new in ((given.slice(50, 10), table(ROWS, 40)), (table(ROWS, 40), given.slice(50, 10))):
            with db.transaction() as tx:
                tx.delete("Told", gone)
                tx.insert("Told", new)
                tx.insert("Told", given.slice(1000, 5))
            held = held - rows_of(gone) | rows_of(new)
            assert set(db.relation("Told")) == held
            assert set(db.relation("Seen")) == {(a, name) for a, b, name in held if b > 0}


def test_a_load_that_is_rolled_back_leaves_nothing_and_can_be_tried_again() -> None:
    text = PROGRAM + "output relation Bad(a: s64)\nBad(1 / b) :- Told(a, b, _), a > 69990.\n"
    good, bad = table(), table()
    bad = bad.set_column(1, "b", pa.array(np.zeros(ROWS, dtype=np.int64)))
    with tidelog.compile(text).open() as db:
        with pytest.raises(tidelog.EvaluationError), db.transaction() as tx:
            tx.insert("Told", bad)
        assert not len(db.relation("Told"))
        with db.transaction() as tx:
            tx.insert("Told", good)
        assert set(db.relation("Told")) == rows_of(good)


def test_a_load_says_whether_rows_are_repeated() -> None:
    rng = np.random.default_rng(3)
    for rows, spread in ((1000, 10**6), (1000, 30)):
        words = rng.integers(0, spread, (rows, 2))
        load = Load(rows, 2, 2 * rows, is_read=True)
        load.words[:] = words
        assert load.has(load.words)
        assert not load.has(words)
        assert load.index(None) == (len(np.unique(words, axis=0)) == rows)


def parts(given: pa.Table, count: int = 7) -> pa.RecordBatchReader:
    """The rows of a table in parts; none begins where Arrow begins a chunk."""
    edges = np.linspace(0, len(given), count + 1).astype(int).tolist()
    tables = [given.slice(start, end - start) for start, end in pairwise(edges)]
    return pa.RecordBatchReader.from_batches(given.schema, [b for each in tables for b in each.to_batches()])


def many(rows: int = 5 * ROWS) -> pa.Table:
    return table(rows=rows)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("repeats", [0, 300])
def test_rows_that_come_in_parts_are_those_of_one_table(threads: int, repeats: int) -> None:
    given = many()
    repeated = pa.concat_tables([given, given.slice(100, repeats)])
    with tidelog.compile(PROGRAM).open(threads=threads) as db:
        with db.transaction() as tx:
            tx.insert("Told", parts(repeated))
        held = rows_of(given)
        assert set(db.relation("Told")) == held
        new = table(6 * ROWS, 3 * ROWS)
        with db.transaction() as tx:
            tx.delete("Told", parts(given.slice(1000, 3 * ROWS)))
            tx.insert("Told", parts(new))
            tx.insert("Told", given.slice(1000, 5))
        held = held - rows_of(given.slice(1005, 3 * ROWS - 5)) | rows_of(new)
        assert set(db.relation("Told")) == held
        assert set(db.relation("Seen")) == {(a, name) for a, b, name in held if b > 0}


def test_parts_beside_other_writes_of_a_transaction_count_in_call_order() -> None:
    given = many()
    with tidelog.compile(PROGRAM).open() as db:
        with db.transaction() as tx:
            tx.insert("Told", parts(given))
            tx.insert("Told", [(1, 1, "one more")])
            tx.insert("Told", parts(table(6 * ROWS, 2 * ROWS)))
            tx.delete("Told", parts(given.slice(0, 2 * ROWS)))
        held = rows_of(given.slice(2 * ROWS)) | {(1, 1, "one more")} | rows_of(table(6 * ROWS, 2 * ROWS))
        assert set(db.relation("Told")) == held


def test_a_part_that_does_not_fit_leaves_nothing() -> None:
    good = many(4 * ROWS)
    bad = good.set_column(0, "a", good["a"].cast(pa.int64()))
    batches = [*bad.to_batches(max_chunksize=ROWS)]
    batches[-1] = batches[-1].set_column(0, "a", pa.array([-1] * len(batches[-1]), pa.int64()))
    with tidelog.compile(PROGRAM).open() as db:
        with db.transaction() as tx:
            with pytest.raises(tidelog.DataError, match="row 210001"):
                tx.insert("Told", pa.RecordBatchReader.from_batches(bad.schema, batches))
            tx.insert("Told", parts(good))
        assert set(db.relation("Told")) == rows_of(good)


def test_parts_that_are_rolled_back_leave_nothing() -> None:
    text = PROGRAM + "output relation Bad(a: s64)\nBad(1 / b) :- Told(a, b, _), a > 69990.\n"
    good = many(3 * ROWS)
    bad = good.set_column(1, "b", pa.array(np.zeros(len(good), dtype=np.int64)))
    with tidelog.compile(text).open() as db:
        with pytest.raises(tidelog.EvaluationError), db.transaction() as tx:
            tx.insert("Told", parts(bad))
        assert not len(db.relation("Told"))
        tx = db.transaction().__enter__()
        tx.insert("Told", parts(good))
        tx.rollback()
        assert not len(db.relation("Told"))
        with db.transaction() as tx:
            tx.insert("Told", parts(good))
        assert set(db.relation("Told")) == rows_of(good)


def test_values_of_parts_outlive_the_sweep_before_their_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "SMALLEST_SWEEP", 1)
    with tidelog.compile(PROGRAM).open() as db:
        for epoch in range(4):
            rows = 3 * ROWS
            names = pa.array([f"{epoch} {number % 1000}" for number in range(rows)])
            given = table(epoch, rows).set_column(2, "name", names)
            with db.transaction() as tx:
                tx.clear("Told")
                tx.insert("Told", parts(given))
            assert set(db.relation("Told")) == rows_of(given)
            with db.transaction() as tx:
                tx.insert("Told", [(epoch, 1, f"swept {epoch}")])
                tx.delete("Told", [(epoch, 1, f"swept {epoch}")])


def test_parts_and_new_rules_in_one_transaction() -> None:
    given = many(3 * ROWS)
    with tidelog.compile(PROGRAM + "output relation Same(a: u32)\n").open() as db:
        with db.transaction() as tx:
            tx.add_rules("Same(a) :- Told(a, b, _), b == 7.")
            tx.insert("Told", parts(given))
        assert set(db.relation("Same")) == {(12,)}
        assert set(db.relation("Told")) == rows_of(given)


def test_a_durable_database_keeps_parts(tmp_path: Path) -> None:
    given = many(3 * ROWS)
    with tidelog.compile(PROGRAM).open(path=tmp_path / "db") as db, db.transaction() as tx:
        tx.insert("Told", parts(given))
    with tidelog.open(tmp_path / "db") as db:
        assert set(db.relation("Told")) == rows_of(given)


def test_a_stream_takes_parts() -> None:
    text = "input stream Told(a: u32, b: s64, name: string)\noutput stream Names(name: string)\n"
    with tidelog.compile(text + "Names(name) :- Told(_, _, name).\n").open() as db:
        with db.transaction() as tx:
            tx.insert("Told", parts(many(3 * ROWS)))
        assert len(tx.changes["Names"].inserted) == 100


def test_a_large_parquet_file_is_loaded_whole(tmp_path: Path) -> None:
    given = many(6 * ROWS)
    pyarrow.parquet.write_table(given, tmp_path / "Told.parquet", row_group_size=100_000)
    with tidelog.compile(PROGRAM).open() as db:
        with db.transaction() as tx:
            report = tx.load("Told", tmp_path / "Told.parquet")
        assert report.rows == len(given)
        assert set(db.relation("Told")) == rows_of(given)
