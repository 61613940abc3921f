"""Fills the index of a relation with many rows at once, in place, without a wait for memory at each row.

Slots are in the order of the hash (`index`), so the upper bits of a hash say in which *part* of the index it belongs.
First the slots of all rows, hash << 32 | line + 1, are written anywhere into their parts: the next place of the share
that each thread has in each part. Then part after part, the last one first, is taken out and put in again, each slot at
its home or behind. A part is short enough for the caches, and the part behind it, into which slots may run over, is
done. Threads share the rows in the first step and the parts in the second. A slot that would go past the parts of its
thread is late: it is put in when all threads are done.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.index import hash_row, home_slot
from tidelog.engine.local.kernels.memory import entry_point, load64, store64


@entry_point("int64(int64[:,::1], int64, int64, int64, int64, int64[::1], int64[::1])")
def write_slots(S, relation, first, end, shift, places, limits):
    """Writes the slots of the rows of some lines, each at the next place of a share of its part, below the limit.

    Returns how many do not fit.
    """
    columns, stride, rows = S[relation, k.COLUMNS], S[relation, k.WIDTH] * 8, S[relation, k.ROWS]
    slots = S[relation, k.SLOTS]
    left = 0
    for line in range(first, end):
        row = rows + line * stride
        if load64(row, columns + k.META) >> k.STAMP_SHIFT == k.FREED:
            continue
        hashed = hash_row(row, columns)
        part = hashed >> shift
        place = places[part]
        if place < limits[part]:
            store64(slots, place, (hashed << k.HASH_SHIFT) | (line + 1))
            places[part] = place + 1
        else:
            left += 1
    return left


@entry_point("int64(int64[:,::1], int64, int64[:,::1], int64[:,::1], int64, int64, int64, int64[::1], int64[::1])")
def place_slots(S, relation, starts, ends, first, last, behind, taken, late):
    """Puts the slots of some parts in their places, but none at `behind` or later; writes those that do not fit to
    `late`.

    `starts` and `ends` say where the slots of each thread's share of each part lie; `taken` is scratch for one part.
    Returns how many are late, or -1 if there are more than `late` holds.
    """
    slots, size = S[relation, k.SLOTS], S[relation, k.SLOT_COUNT]
    late_count = 0
    for part in range(last - 1, first - 1, -1):
        count = 0
        for share in range(starts.shape[0]):
            for at in range(starts[share, part], ends[share, part]):
                taken[count] = load64(slots, at)
                store64(slots, at, 0)
                count += 1
        for i in range(count):
            slot = taken[i]
            at = home_slot((slot >> k.HASH_SHIFT) & k.LOW_MASK, size)
            while at < behind and load64(slots, at) != 0:
                at += 1
            if at < behind:
                store64(slots, at, slot)
            elif late_count == late.size:
                return -1
            else:
                late[late_count] = slot
                late_count += 1
    return late_count
