"""Fills the index of a relation with many rows at once, without a wait for memory at each row.

Slots are in the order of the hash (`index`). So the slots of all rows, hash << 32 | line + 1, are first written out in
parts by the upper bits of their hashes, each part short enough for the caches, and then part after part is put into the
index. Threads share the rows in the first two steps and the parts in the third. A slot that would go past the parts of
its thread is late: it is put in when all threads are done.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.index import hash_row, home_slot
from tidelog.engine.local.kernels.memory import entry_point, load64, store64


@entry_point("int64(int64[:,::1], int64, int64, int64, int64, int64[::1])")
def count_hashes(S, relation, first, end, shift, counts):
    """Counts, for the rows of some lines, how many belong to each part."""
    columns, stride, rows = S[relation, k.COLUMNS], S[relation, k.WIDTH] * 8, S[relation, k.ROWS]
    for line in range(first, end):
        row = rows + line * stride
        if load64(row, columns + k.META) >> k.STAMP_SHIFT != k.FREED:
            counts[hash_row(row, columns) >> shift] += 1
    return 0


@entry_point("int64(int64[:,::1], int64, int64, int64, int64, int64[::1], int64[::1])")
def write_slots(S, relation, first, end, shift, places, slots):
    """Writes the slots of the rows of some lines, each at the next place of its part."""
    columns, stride, rows = S[relation, k.COLUMNS], S[relation, k.WIDTH] * 8, S[relation, k.ROWS]
    for line in range(first, end):
        row = rows + line * stride
        if load64(row, columns + k.META) >> k.STAMP_SHIFT == k.FREED:
            continue
        hashed = hash_row(row, columns)
        slots[places[hashed >> shift]] = (hashed << k.HASH_SHIFT) | (line + 1)
        places[hashed >> shift] += 1
    return 0


@entry_point("int64(int64[:,::1], int64, int64[::1], int64, int64[::1])")
def place_slots(S, relation, taken, last, late):
    """Puts slots into the index, but none at `last` or behind; writes those that do not fit to `late`.

    Returns how many are late, or -1 if there are more than `late` holds.
    """
    slots, size = S[relation, k.SLOTS], S[relation, k.SLOT_COUNT]
    late_count = 0
    for i in range(taken.size):
        slot = taken[i]
        at = home_slot((slot >> k.HASH_SHIFT) & k.LOW_MASK, size)
        while at < last and load64(slots, at) != 0:
            at += 1
        if at < last:
            store64(slots, at, slot)
        elif late_count == late.size:
            return -1
        else:
            late[late_count] = slot
            late_count += 1
    return late_count
