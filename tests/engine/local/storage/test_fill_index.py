"""An index that is filled at once has every slot where a search finds it, whatever the hashes and the threads."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from tests.engine.local.storage.test_resize_index import HASHES, assert_holds

from tidelog.engine.local.execution.threads import ThreadPool
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.memory import HASH_START, HASH_STEP
from tidelog.engine.local.storage import fill_index as module
from tidelog.engine.local.storage.catalog import Catalog

Words = npt.NDArray[np.int64]
WORD = 1 << 64


def words_with(hashes: Words) -> Words:
    """Different words with these hashes: undoes the steps of `hash_word` and `hash_end`."""
    found = []
    for low, hashed in enumerate(hashes.tolist()):
        state = (hashed << 32 | low) * pow(HASH_START % WORD, -1, WORD) % WORD
        state ^= state >> 32
        found.append(state * pow(HASH_STEP % WORD, -1, WORD) % WORD ^ HASH_START % WORD)
    return np.array(found, dtype=np.uint64).astype(np.int64)


def filled(hashes: Words, threads: int) -> tuple[Catalog, Words]:
    catalog = Catalog([1])
    catalog.thread_pool = pool = ThreadPool(threads)
    rows = np.zeros((len(hashes), 1 + k.ROW_EXTRA), dtype=np.int64)
    rows[:, 0] = words_with(hashes)
    catalog.stores[0].adopt(rows, np.empty(0, dtype=np.int64), len(rows), 1)
    catalog.stores[0].index()
    pool.close()
    return catalog, rows


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("part_slots", [16, 256])
@pytest.mark.parametrize("kind", HASHES)
def test_slots_are_found_after_filling(
    kind: str, part_slots: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MANY_ROWS", 8)
    monkeypatch.setattr(module, "_PART_SLOTS", part_slots)
    rng = np.random.default_rng([threads, part_slots, *kind.encode()])
    for count in (9, 100, 1000, 3000):
        hashes = HASHES[kind](rng, count)
        catalog, rows = filled(hashes, threads)
        assert_holds(catalog.stores[0]._slots.array, hashes)
        assert [catalog.stores[0].find(row[:1]) for row in rows] == list(range(count))


def test_lines_without_a_row_have_no_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MANY_ROWS", 8)
    rows = np.zeros((1000, 1 + k.ROW_EXTRA), dtype=np.int64)
    rows[:, 0] = np.arange(1000)
    rows[::3, 1] = k.FREED << k.STAMP_SHIFT
    catalog = Catalog([1])
    free = np.arange(0, 1000, 3)
    catalog.stores[0].adopt(rows, free, 1000 - len(free), 1)
    assert [catalog.stores[0].find(row[:1]) for row in rows] == [-1 if i % 3 == 0 else i for i in range(1000)]
