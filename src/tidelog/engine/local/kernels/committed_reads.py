"""Look-ups of committed rows beside a running epoch, in memory that the caller holds.

Other kernels read the addresses in S and A, which an epoch may replace at any moment. These get the arrays themselves,
so the memory stays where it is, and they check every line and place against its size. While an epoch runs, slots of the
index do not move, and a bucket that moves is noticed: its entry has another start then. Rows that the epoch has added
may be among the results; the caller knows which lines the last commit has (`storage/versions`).
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.index import hash_row, home_slot, same_words, slot_after
from tidelog.engine.local.kernels.memory import (
    HASH_START,
    atomic_add,
    entry_point,
    hash_end,
    hash_word,
    kernel,
    load32,
    load64,
    short_entry_point,
)

ABSENT, MOVED = -1, -2
"""Results of `copy_bucket`: there is no bucket for the key; the bucket moved while it was read. Below MOVED: the bucket
has as many lines as the result is below it, more than there is room for."""


@short_entry_point("int64(int64[::1], int64[:,::1], int64, int64[::1])")
def find_line(slots, rows, columns, row):
    """Returns the line of a row by the index that has these slots, or -1."""
    address = row.ctypes.data
    hashed = hash_row(address, columns)
    size = slots.size
    at = home_slot(hashed, size)
    for _ in range(size):
        slot = load64(slots.ctypes.data, at)
        if slot == 0:
            return -1
        if (slot >> k.HASH_SHIFT) & k.LOW_MASK == hashed:
            line = (slot & k.LOW_MASK) - 1
            if line < rows.shape[0] and same_words(rows.ctypes.data + line * rows.shape[1] * 8, address, columns):
                return line
        at = slot_after(at, size)
    return -1


@short_entry_point("int64(int64[::1], int64[:,::1], int32[::1], int64[::1], int32[::1])")
def read_bucket(table, entries, pool, key, lines):
    """Calls `copy_bucket`, for not so many lines that other threads would notice."""
    return copy_bucket(table, entries, pool, key, lines)


@entry_point("int64(int64[::1], int64[:,::1], int32[::1], int64[::1], int32[::1])")
def read_large_bucket(table, entries, pool, key, lines):
    """Calls `copy_bucket`, for any number of lines."""
    return copy_bucket(table, entries, pool, key, lines)


@kernel
def copy_bucket(table, entries, pool, key, lines):
    """Writes the lines of the bucket of a key, and returns how many there are; see also ABSENT and MOVED."""
    count = entries.shape[1] - k.ENTRY_EXTRA
    state = HASH_START
    for i in range(count):
        state = hash_word(state, key[i])
    hashed = hash_end(state)
    mask = table.size - 1
    at = hashed & mask
    for _ in range(table.size):
        slot = load64(table.ctypes.data, at)
        if slot == 0:
            return ABSENT
        entry = (slot & k.LOW_MASK) - 1
        if (slot >> k.HASH_SHIFT) & k.LOW_MASK == hashed and entry < entries.shape[0]:
            address = entries.ctypes.data + entry * entries.shape[1] * 8
            same = True
            for i in range(count):
                if load64(address, k.ENTRY_EXTRA + i) != key[i]:
                    same = False
            if same:
                start = load64(address, k.ENTRY_START)
                length = load32(address, k.ENTRY_LENGTH)
                if start < 0 or length < 0 or start + length > pool.size:
                    return MOVED
                if length > lines.size:
                    return MOVED - length
                for i in range(length):
                    lines[i] = load32(pool.ctypes.data, start + i)
                # An addition of nothing reads the start after all lines, on every processor.
                return length if atomic_add(address, k.ENTRY_START, 0) == start else MOVED
        at = (at + 1) & mask
    return ABSENT
