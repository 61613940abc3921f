"""Arrangements that are built by counting have the buckets of those that are built by hashes, and grow like them."""

from __future__ import annotations

import random
from unittest import mock

import numpy as np
import pytest
from tests.engine.local.execution.test_row_wise import running

from tidelog.engine.interface import Operation
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.kernels import dense_arrangement
from tidelog.engine.local.storage import arrangement
from tidelog.engine.local.storage.arrangement import Arrangement
from tidelog.engine.local.storage.store import Store

Rows = list[tuple[int, ...]]
TEXT = """
input relation A(a: s64, b: s64, c: s64)
output relation P(a: s64, b: s64)
P(x, z) :- A(x, y, _), A(y, z, _).
"""
ENDS = (-(1 << 63), (1 << 63) - 1)


def store_of(engine: LocalEngine, name: str) -> Store:
    return engine._catalog.stores[engine._runtime.numbers[name]]


def buckets(store: Store, keys: tuple[int, ...], rows: Rows) -> dict[tuple[int, ...], list[int]]:
    """The lines of each key; looks for those of all rows, and of some that are not there."""
    found = {}
    for row in [*rows, (5, 5, -5), (7, 7, 7)]:
        key = tuple(row[column] for column in keys)
        found[key] = sorted(store.bucket(keys, np.array(key)).tolist())
    return found


def built(store: Store, keys: tuple[int, ...], rows: Rows, many: int) -> tuple[dict[tuple[int, ...], list[int]], bool]:
    """The buckets of a new arrangement, and whether it was built by counting."""
    with (
        mock.patch.object(arrangement, "MANY_ROWS", many),
        mock.patch.object(arrangement, "_SAMPLE", 3),
        mock.patch.object(dense_arrangement, "fill_buckets", wraps=dense_arrangement.fill_buckets) as fill,
    ):
        store.disarrange(keys)
        store.arrange(keys)
    return buckets(store, keys, rows), fill.called


@pytest.mark.parametrize("seed", range(20))
def test_counting_gives_the_same_buckets(seed: int) -> None:
    rng = random.Random(seed)
    offset = rng.choice([0, -3, 1 << 40, ENDS[0], ENDS[1] - 40])
    words = [offset + number for number in rng.sample(range(40), rng.randint(2, 40))]
    rows: Rows = sorted({tuple(rng.choice(words) for _ in range(3)) for _ in range(rng.randint(1, 400))})
    engine = running(TEXT)
    engine.commit([Operation("A", 1, rows)])
    # Lines without rows, some of which are used again.
    gone = rng.sample(rows, len(rows) // 3)
    engine.commit([Operation("A", -1, gone)])
    engine.commit([Operation("A", 1, gone[::2])])
    rows = sorted(set(rows) - set(gone[1::2]))
    store = store_of(engine, "A")
    with mock.patch.object(arrangement, "SPARSE", 1 << 20):
        for keys in ((0,), (2,), (0, 1), (2, 0, 1)):
            counted, is_dense = built(store, keys, rows, 0)
            hashed, is_other = built(store, keys, rows, 1 << 60)
            assert counted == hashed
            assert (is_dense, is_other) == (bool(rows), False)
            assert sum(map(len, counted.values())) == len(rows)
    engine.close()


@pytest.mark.parametrize("words", [[0, 1 << 20], [*ENDS], [3, 4, 5, ENDS[1]], [0, (1 << 32) + 1]])
def test_keys_far_from_one_another_are_hashed(words: list[int]) -> None:
    rows: Rows = [(word, number, 0) for number in range(4) for word in words]
    engine = running(TEXT)
    engine.commit([Operation("A", 1, rows)])
    counted, is_dense = built(store_of(engine, "A"), (0,), rows, 0)
    assert not is_dense
    assert all(len(counted[(word,)]) == 4 for word in words)
    engine.close()


def test_rows_and_keys_are_added_and_removed_afterwards() -> None:
    rng = random.Random(7)
    with mock.patch.object(arrangement, "MANY_ROWS", 0):
        engine = running(TEXT)
        rows = {(rng.randrange(30), rng.randrange(30), 0) for _ in range(200)}
        engine.commit([Operation("A", 1, sorted(rows))])
        for _ in range(20):
            gone = set(rng.sample(sorted(rows), 20))
            come = {(rng.randrange(90), rng.randrange(90), 0) for _ in range(30)} - rows
            engine.commit([Operation("A", -1, sorted(gone)), Operation("A", 1, sorted(come))])
            rows = rows - gone | come
            ends = {(x, z) for x, y, _ in rows for other, z, _ in rows if other == y}
            assert sorted(row for row, _ in engine.rows("P")) == sorted(ends)
        engine.close()


def test_a_search_for_the_time_ends_the_counting() -> None:
    class StoppedError(Exception):
        pass

    looks = []

    def look() -> None:
        looks.append(1)
        if len(looks) == 3:
            raise StoppedError

    engine = running(TEXT)
    engine.commit([Operation("A", 1, [(number % 7, number, 0) for number in range(100)])])
    store = store_of(engine, "A")
    with mock.patch.object(arrangement, "MANY_ROWS", 0), mock.patch.object(arrangement, "_AT_ONCE", 8):
        store.disarrange((0,))
        with pytest.raises(StoppedError):
            store.arrange((0,), look)
        assert not any(isinstance(each, Arrangement) and each.keys[0] == 0 for each in store.arrangements.values())
        store.arrange((0,), lambda: None)
    assert [len(store.bucket((0,), np.array([key]))) for key in range(8)] == [15, 15, 14, 14, 14, 14, 14, 0]
    engine.close()
