"""Rows come and go for many epochs: the index, the reuse of lines and the arrangements stay right."""

from __future__ import annotations

import mmap
import random
import weakref
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from tidelog.compile_program import compile_program
from tidelog.diagnostics.spans import Source
from tidelog.engine.interface import Operation
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.kernels import arrange, entry_points
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage import growable_array
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.strategies.counting import kernel

JOIN = """
input relation A(k: u32, v: u32)
input relation B(k: u32, w: u32)
output relation J(v: u32, w: u32)
J(v, w) :- A(k, v), B(k, w).
"""


def engine(text: str) -> LocalEngine:
    made = LocalEngine(compile_program(Source("<test>", text)).rules)
    made.open()
    return made


def table(names: str, rows: Sequence[tuple[int, ...]]) -> pa.Table:
    return pa.table({name: pa.array([row[i] for row in rows], pa.uint32()) for i, name in enumerate(names)})


def rows(found: pa.Table) -> set[tuple[int, ...]]:
    return {tuple(row.values()) for row in found.to_pylist()}


def test_a_relation_is_the_set_of_its_facts_through_many_inserts_and_deletes() -> None:
    made, held, rng = engine("input relation A(k: u32, v: u32)"), set[tuple[int, int]](), random.Random(5)
    for _ in range(300):
        batch = [(rng.randrange(40), rng.randrange(40)) for _ in range(rng.choice([1, 3, 50, 400]))]
        sign = rng.choice([1, -1])
        made.commit([Operation("A", sign, table("kv", batch))])
        held = held | set(batch) if sign > 0 else held - set(batch)
        assert made.count("A") == len(held)
        assert rows(made.table("A")) == held
        probe = (rng.randrange(40), rng.randrange(40))
        assert made.contains("A", probe) == (probe in held)


def test_lines_of_deleted_rows_are_used_again() -> None:
    made = engine("input relation A(k: u32, v: u32)")
    batch = table("kv", [(i, i) for i in range(1000)])
    for _ in range(20):
        made.commit([Operation("A", 1, batch)])
        made.commit([Operation("A", -1, batch)])
    made.commit([Operation("A", 1, batch)])
    assert made.bytes("A") < 1000 * 6 * 8 * 4


@pytest.mark.parametrize("keys", [1, 7, 5000], ids=["one bucket", "few buckets", "many buckets"])
def test_a_join_is_right_while_buckets_grow_shrink_and_move(keys: int) -> None:
    made, rng = engine(JOIN), random.Random(keys)
    a: set[tuple[int, int]] = set()
    b: set[tuple[int, int]] = set()
    for epoch in range(30):
        operations = []
        for name, held in (("A", a), ("B", b)):
            size = 30 if keys < 100 else 1500
            new = {(rng.randrange(keys), rng.randrange(60)) for _ in range(size)}
            old = set(rng.sample(sorted(held), len(held) // 2)) if epoch % 3 == 2 else set()
            operations.append(Operation(name, -1, table("kv" if name == "A" else "kw", sorted(old))))
            operations.append(Operation(name, 1, table("kv" if name == "A" else "kw", sorted(new))))
            held -= old
            held |= new
        made.commit(operations)
        by_key: dict[int, list[int]] = {}
        for key, w in b:
            by_key.setdefault(key, []).append(w)
        assert rows(made.table("J")) == {(v, w) for key, v in a for w in by_key.get(key, ())}


def test_a_relation_grows_past_a_hundred_thousand_rows() -> None:
    made = engine(JOIN)
    count = 120_000
    made.commit([Operation("A", 1, table("kv", [(i, i + 1) for i in range(count)]))])
    made.commit([Operation("B", 1, table("kw", [(i, i + 2) for i in range(0, count, 2)]))])
    assert made.count("J") == count // 2
    made.commit([Operation("A", -1, table("kv", [(i, i + 1) for i in range(0, count, 4)]))])
    assert rows(made.table("J")) == {(i + 1, i + 2) for i in range(2, count, 4)}


def test_the_last_operation_on_a_row_counts() -> None:
    made = engine("input relation A(k: u32, v: u32)")
    one = table("kv", [(1, 1)])
    assert made.commit([Operation("A", 1, one), Operation("A", -1, one)]) is None
    assert made.commit([Operation("A", -1, one), Operation("A", 1, one)]) is not None
    assert made.commit([Operation("A", 1, one)]) is None
    assert rows(made.table("A")) == {(1, 1)}


def test_closing_gives_the_memory_back() -> None:
    made = engine(JOIN)
    made.commit([Operation("A", 1, table("kv", [(i, i) for i in range(100)]))])
    store = weakref.ref(made._catalog.stores[0])
    made.close()
    assert store() is None


def test_tables_without_columns_have_rows() -> None:
    made = LocalEngine(
        compile_program(Source("<test>", "input relation On()\noutput relation Lit()\nLit() :- On().")).rules
    )
    made.open()
    nothing = pa.table({"x": [1]}).select([])
    assert nothing.num_rows == 1
    made.commit([Operation("On", 1, nothing), Operation("On", 1, nothing)])
    assert made.rows("Lit") == [((), 1)]


def test_places_that_buckets_have_left_are_used_by_others() -> None:
    """Keys that grow one after the other: each leaves places behind that the next ones need."""
    catalog = Catalog([2])
    store = catalog.stores[0]
    store.arrange((0,))
    (number,) = store.arrangements
    per_key, keys = 64, 100
    for start in range(0, keys * per_key, 16):
        batch = np.array([[row // per_key, row % per_key] for row in range(start, start + 16)], dtype=np.int64)
        store.make_room(len(batch))
        entry_points.insert_facts(catalog.S, 0, batch, 0)
        scratch = np.empty(k.PIECE, dtype=np.int64)
        while (full := int(kernel.arrange_pending(catalog.S, catalog.A, 0, scratch))) >= 0:
            store.grow_arrangement(full)
        catalog.S[0, k.PENDING_COUNT] = 0
    for key in (0, 1, keys - 1):
        lines = store.bucket((0,), np.array([key]))
        assert sorted(store.columns_of(lines)[:, 1].tolist()) == list(range(per_key))
    # Without reuse each key would have left 2 + 3 + 4 + 6 + … + 48 places.
    left_behind = catalog.A[number, k.POOL_USED] - k.POOL_LISTS - keys * per_key
    assert left_behind < 200


def test_rows_leave_a_long_bucket_from_any_place() -> None:
    """Behind its first 4,095 lines, the mark of a line names a stretch of its bucket only."""
    made, rng = engine(JOIN), random.Random(3)
    made.commit([Operation("A", 1, table("kv", [(0, v) for v in range(20_000)]))])
    held = set(range(20_000))
    for turn in range(40):
        gone = rng.sample(sorted(held), 400)
        come = rng.sample(sorted(set(range(20_000)) - held), min(300, 20_000 - len(held)))
        made.commit(
            [
                Operation("A", -1, table("kv", [(0, v) for v in gone])),
                Operation("A", 1, table("kv", [(0, v) for v in come])),
            ]
        )
        held = held - set(gone) | set(come)
        made.commit([Operation("B", 1 if turn % 2 == 0 else -1, table("kw", [(0, 1)]))])
        assert rows(made.table("J")) == ({(v, 1) for v in held} if turn % 2 == 0 else set())


@pytest.mark.parametrize("place", [0, 1, 4093, 4094, 4095, 8189, 8190, 8191, 123_456, 2**31 - 2])
def test_a_mark_names_a_stretch_with_the_place_in_it(place: int) -> None:
    mark = arrange.mark_of.py_func(place)
    first, after = arrange.first_place.py_func(mark), arrange.first_place.py_func(mark + 1)
    assert 0 < mark < 1 << 16
    assert first <= place < after
    assert after - first <= max(1, (place + 1) // 2048)


def test_an_index_may_have_any_number_of_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.engine.local.storage.store.MANY_SLOTS", 32)
    made, held, rng = engine("input relation A(k: u32, v: u32)"), set[tuple[int, int]](), random.Random(9)
    sizes = set()
    for _ in range(200):
        batch = [(rng.randrange(30), rng.randrange(60)) for _ in range(rng.choice([1, 5, 100]))]
        sign = rng.choice([1, 1, -1])
        made.commit([Operation("A", sign, table("kv", batch))])
        held = held | set(batch) if sign > 0 else held - set(batch)
        assert rows(made.table("A")) == held
        assert all(made.contains("A", row) == (row in held) for row in batch)
        sizes.add(int(made._catalog.S[0, k.SLOT_COUNT]))
    assert len(sizes) > 5
    assert any(size & (size - 1) for size in sizes)


def test_totals_beyond_what_fits_into_half_a_word_are_counted() -> None:
    """A relation that is about to be counted beyond 31 bits becomes wide, and the lines stay where they are."""
    made = engine("input relation E(x: u32, y: u32)\noutput relation R(x: u32)\nR(x) :- E(x, _).")
    made.commit([Operation("E", 1, table("xy", [(x, y) for x in range(3) for y in range(5)]))])
    store = made._store("R")
    assert store.width == 1 + k.ROW_EXTRA
    line = store.find(np.array([1], dtype=np.int64))
    most = np.array([2**31 - 4], dtype=np.int64)
    store.set_numbers(np.array([line]), most, most)
    made.commit([Operation("E", 1, table("xy", [(1, y) for y in range(5, 15)]))])
    assert store.width == 1 + k.WIDE_EXTRA
    assert store.find(np.array([1], dtype=np.int64)) == line
    assert store.totals_of(np.array([line])).tolist() == store.counts_of(np.array([line])).tolist() == [2**31 + 6]
    made.commit([Operation("E", -1, table("xy", [(0, y) for y in range(5)]))])
    assert rows(made.table("R")) == {(1,), (2,)}
    made.commit([Operation("E", -1, table("xy", [(1, y) for y in range(15)]))])
    assert store.totals_of(np.array([line])).tolist() == [2**31 - 9]


@pytest.mark.parametrize("above", ["", "output relation K(v: u32)\nK(v) :- J(v, _), not A(v, v)."])
def test_rows_that_a_bootstrap_does_not_find_again_are_deleted(above: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether strata above read them, or nobody."""
    monkeypatch.setattr(growable_array, "LARGE", 0)
    monkeypatch.setattr(growable_array, "LARGE_PAGE", mmap.PAGESIZE)
    made = LocalEngine(compile_program(Source("<test>", JOIN + above)).rules, strategy="recompute")
    made.open()
    rng = random.Random(len(above))
    a: set[tuple[int, int]] = set()
    b = {(i % 7, i) for i in range(60)}
    made.commit([Operation("B", 1, table("kw", sorted(b)))])
    before: set[tuple[int, int]] = set()
    for turn in range(12):
        batch = {(turn % 2, turn), *((rng.randrange(7), rng.randrange(300)) for _ in range(rng.choice([5, 300])))}
        sign = 1 if turn % 2 == 0 else -1
        a = a | batch if sign > 0 else {row for row in a if row[0] > 1}
        changed = sorted(batch) if sign > 0 else [(k, v) for k in (0, 1) for v in range(300)]
        outcome = made.commit([Operation("A", sign, table("kv", changed))])
        now = {(v, w) for k, v in a for key, w in b if k == key}
        assert rows(made.table("J")) == now
        assert made.count("J") == len(now)
        assert outcome is not None
        found = outcome.changes.get("J")
        assert (rows(found.inserted()) if found else set()) == now - before
        assert (rows(found.deleted()) if found else set()) == before - now
        assert all(made.contains("J", row) for row in now)
        assert not any(made.contains("J", row) for row in before - now)
        before = now
