"""An index that grows where it is has every slot where a search finds it, whatever the hashes and the sizes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from tidelog.engine.local.execution.threads import ThreadPool
from tidelog.engine.local.kernels import entry_points
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage import resize_index as module
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.storage.growable_array import Growing
from tidelog.engine.local.storage.resize_index import enlarge

Words = npt.NDArray[np.int64]
Hashes = Callable[[np.random.Generator, int], Words]
MOST = 2**32 - 1

HASHES: dict[str, Hashes] = {
    "spread": lambda rng, count: rng.integers(0, MOST, count, endpoint=True),
    "all the same": lambda rng, count: np.full(count, rng.integers(0, MOST)),
    "all first": lambda rng, count: np.zeros(count, dtype=np.int64),
    "all last": lambda rng, count: np.full(count, MOST),
    "around the end": lambda rng, count: rng.integers(-(1 << 28), 1 << 28, count) % (MOST + 1),
    "a few heaps": lambda rng, count: (
        (rng.choice(rng.integers(0, MOST, 5), count) + rng.integers(0, 1 << 20, count)) % (MOST + 1)
    ),
}


def filled(hashes: Words, size: int) -> Words:
    """The slots of an index of this size with these hashes; the line of each is its number."""
    slots = np.zeros(size, dtype=np.int64)
    for line, hashed in enumerate(hashes.tolist()):
        at = hashed * size >> 32
        while slots[at]:
            at = (at + 1) % size
        slots[at] = np.uint64(hashed << 32 | line + 1).astype(np.int64)
    return slots


def assert_holds(slots: Words, hashes: Words) -> None:
    """All hashes are there, each with its line, and no slot between a hash's home and its place is empty."""
    places = np.flatnonzero(slots)
    found = slots[places].astype(np.uint64)
    lines = (found & np.uint64(MOST)).astype(np.int64) - 1
    assert sorted(lines.tolist()) == list(range(len(hashes)))
    assert ((found >> np.uint64(32)).astype(np.int64) == hashes[lines]).all()
    empty_before = np.concatenate([[0], np.cumsum(np.concatenate([slots, slots]) == 0)])
    homes = hashes[lines] * len(slots) >> 32
    ends = np.where(places >= homes, places, places + len(slots))
    assert (empty_before[ends] == empty_before[homes]).all()


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("late_room", [0, 3, 4096])
@pytest.mark.parametrize("kind", HASHES)
def test_slots_are_found_after_growth(kind: str, late_room: int, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SHARED_SLOTS", 8)
    monkeypatch.setattr(module, "_LATE_ROOM", late_room)
    monkeypatch.setattr(module, "_PIECE", 16)
    rng = np.random.default_rng([threads, late_room, *kind.encode()])
    catalog = Catalog([1])
    catalog.thread_pool = pool = ThreadPool(threads)
    for size, larger in [(16, 17), (16, 64), (100, 150), (1000, 1001), (1000, 1500), (1024, 2048), (3000, 20_000)]:
        hashes = HASHES[kind](rng, size * 3 // 4)
        slots = Growing(np.int64, size)
        slots.array[:] = filled(hashes, size)
        assert_holds(slots.array, hashes)
        slots.resize(larger)
        catalog.S[0, k.SLOTS], catalog.S[0, k.SLOT_COUNT] = slots.address, larger
        enlarge(catalog, 0, slots.array, size)
        assert_holds(slots.array, hashes)
    pool.close()


def test_most_slots_move_without_being_taken_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the growth of a large index would need memory for a copy of it."""
    taken_out = []
    refill = entry_points.refill_index

    def counted(tables: Words, relation: int, rest: Words) -> None:
        taken_out.append(len(rest))
        refill(tables, relation, rest)

    monkeypatch.setattr(entry_points, "refill_index", counted)
    rng, size = np.random.default_rng(4), 1 << 19
    hashes = np.sort(rng.integers(0, MOST, size * 7 // 10))
    slots = Growing(np.int64, size)
    slots.array[:] = filled(hashes, size)
    slots.resize(size * 3 // 2)
    catalog = Catalog([1])
    catalog.S[0, k.SLOTS], catalog.S[0, k.SLOT_COUNT] = slots.address, len(slots)
    enlarge(catalog, 0, slots.array, size)
    assert_holds(slots.array, hashes)
    assert taken_out[0] <= 1.1 * module.SHARED_SLOTS
