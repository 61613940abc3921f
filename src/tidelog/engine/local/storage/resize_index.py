"""Enlarges an index in place, without a second index beside it.

Slots are in the order of the hash, so in a larger index a row's slot is no further to the front than before. The memory
grows (`growable_array` moves no bytes), and the slots move to the back, the last ones first, a stretch at a time: a
stretch whose new places are all behind it, where all slots have already moved. Threads share each stretch. The short
rest is removed and inserted again, with the few slots that would wrap around the end.

Fresh memory is expensive: its first use costs more than moving a slot, so it is used once, not at every size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.kernels import entry_points

if TYPE_CHECKING:
    from tidelog.engine.local.storage.catalog import Catalog

Words = npt.NDArray[np.int64]

SHARED_SLOTS = 1 << 16  # so many slots are worth all threads
_LATE_ROOM = 1 << 12
_HASH_BITS = 32
_PIECE = 1 << 12


def enlarge(catalog: Catalog, relation: int, slots: Words, before: int) -> None:
    """Moves the slots of a relation's index, the first `before` of `slots`, to their places among all slots."""
    pool = catalog.thread_pool
    threads = pool.threads if pool is not None else 1
    late: Words = np.empty((threads, _LATE_ROOM), dtype=np.int64)
    late_counts: Words = np.zeros(threads, dtype=np.int64)
    end = before
    while end > SHARED_SLOTS:
        first = _first_that_moves_behind(slots, before, end)
        if first >= end:
            break
        starts = [first + (end - first) * part // threads for part in range(threads + 1)]

        def move(me: int, starts: list[int] = starts) -> int:
            stopped: int = entry_points.move_slots(
                catalog.S, relation, starts[me], starts[me + 1], late[me], late_counts[me:]
            )
            return stopped

        entry_points.move_slots.load()  # the first call loads a kernel, which several threads must not do at once
        stopped = pool.run(move) if pool is not None and threads > 1 else [move(0)]
        if stopped != starts[1:]:
            # Too many would go around the end, which takes hashes that somebody has chosen.
            end = len(slots)
            break
        end = first
    end += _first_empty(slots[end:])
    held = slots[:end]
    rest = np.concatenate([held[held != 0], *(late[me, : late_counts[me]] for me in range(threads))])
    held[:] = 0
    entry_points.refill_index(catalog.S, relation, rest)


def _first_that_moves_behind(slots: Words, before: int, end: int) -> int:
    """Returns the first slot such that it and all up to `end` have their new homes at `end` or behind it.

    An empty slot is in front of it, so the old homes of the following slots are there too.
    """
    smallest_hash = -((-end << _HASH_BITS) // len(slots))
    home = (smallest_hash * before >> _HASH_BITS) + 1
    return home + _first_empty(slots[home:end]) + 1


def _first_empty(slots: Words) -> int:
    """Returns the first empty slot, or `len(slots)` if there is none."""
    for start in range(0, len(slots), _PIECE):
        empty = np.flatnonzero(slots[start : start + _PIECE] == 0)
        if len(empty):
            return start + int(empty[0])
    return len(slots)
