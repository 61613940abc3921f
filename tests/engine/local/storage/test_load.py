"""Large tables that come into empty relations, and what follows them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import tidelog
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
