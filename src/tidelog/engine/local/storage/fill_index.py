"""Fills the index of a store with many rows on all threads; see `kernels/fill_index`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.kernels import entry_points
from tidelog.engine.local.kernels import fill_index as kernels
from tidelog.engine.local.kernels.layout import HASH_SHIFT, SLOT_COUNT, USED

if TYPE_CHECKING:
    from tidelog.engine.local.storage.catalog import Catalog

Words = npt.NDArray[np.int64]

MANY_ROWS = 1 << 16
_PART_SLOTS = 1 << 14
_MOST_PARTS = 1 << 12
_HASH_BITS = 32


def fill(catalog: Catalog, relation: int) -> None:
    """Fills the empty index of a relation from its rows."""
    line = catalog.S[relation]
    used, size = int(line[USED]), int(line[SLOT_COUNT])
    if used < MANY_ROWS:
        entry_points.reindex(catalog.S, relation)
        return
    pool = catalog.thread_pool
    threads = pool.threads if pool is not None else 1
    bits = min((size // _PART_SLOTS).bit_length(), _MOST_PARTS.bit_length() - 1)
    parts, shift = 1 << bits, _HASH_BITS - bits
    lines = [used * part // threads for part in range(threads + 1)]
    # The first slot that a hash of each part may have; and each thread's share of the slots of each part.
    bounds: Words = (np.arange(parts + 1) << shift) * size >> HASH_SHIFT
    lengths = np.diff(bounds)
    limits: Words = np.stack([bounds[:-1] + lengths * (me + 1) // threads for me in range(threads)])
    starts: Words = np.stack([bounds[:-1] + lengths * me // threads for me in range(threads)])
    places = starts.copy()
    late: Words = np.empty((threads, _PART_SLOTS), dtype=np.int64)
    for kernel in (kernels.write_slots, kernels.place_slots):
        kernel.load()  # several threads must not load a kernel at once

    def write(me: int) -> int:
        where = catalog.S, relation, lines[me], lines[me + 1]
        left: int = kernels.write_slots(*where, shift, places[me], limits[me])
        return left

    def place(me: int) -> int:
        first, last = parts * me // threads, parts * (me + 1) // threads
        taken: Words = np.empty(int(lengths.max()), dtype=np.int64)
        where = catalog.S, relation, starts, places
        found: int = kernels.place_slots(*where, first, last, int(bounds[last]), taken, late[me])
        return found

    def run(part: Callable[[int], int]) -> list[int]:
        return pool.run(part) if pool is not None and threads > 1 else [part(0)]

    found = [-1] if any(run(write)) else run(place)
    if min(found) < 0:
        # So many with nearly the same hash, which somebody has chosen.
        catalog.stores[relation].clear_index()
        entry_points.reindex(catalog.S, relation)
        return
    rest = np.concatenate([late[me, : found[me]] for me in range(threads)])
    entry_points.refill_index(catalog.S, relation, rest)
