"""Arrangements: multimaps from key columns to the lines of a relation's rows, kept up to date row by row.

Each key has an entry (start, length, capacity, key words) and its lines lie side by side in one pool, so a probe
touches a slot, an entry, and then memory in order. A bucket that is full moves to the end of the pool with twice the
room; `place` remembers where in its bucket a line stands, so a removal is a swap with the last one.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.memory import (
    HASH_START,
    hash_end,
    hash_word,
    kernel,
    load32,
    load64,
    store32,
    store64,
)

MIN_BUCKET = 2


@kernel
def find_entry(A, arrangement, row):
    """The entry for the key of the row at this address, or -1."""
    keys = A[arrangement, k.KEYS]
    count = A[arrangement, k.KEY_COUNT]
    state = HASH_START
    for i in range(count):
        state = hash_word(state, load64(row, load64(keys, i)))
    hashed = hash_end(state)
    table = A[arrangement, k.TABLE]
    mask = A[arrangement, k.TABLE_MASK]
    width = (k.ENTRY_EXTRA + count) * 8
    at = hashed & mask
    while True:
        slot = load64(table, at)
        if slot == 0:
            return -1
        if (slot >> k.HASH_SHIFT) & k.LOW_MASK == hashed:
            entry = (slot & k.LOW_MASK) - 1
            address = A[arrangement, k.ENTRIES] + entry * width
            same = True
            for i in range(count):
                if load64(address, k.ENTRY_EXTRA + i) != load64(row, load64(keys, i)):
                    same = False
                    break
            if same:
                return entry
        at = (at + 1) & mask


@kernel
def add_entry(A, arrangement, row):
    """A new entry, with an empty bucket, for the key of the row; the caller has made room and knows it is new."""
    keys = A[arrangement, k.KEYS]
    count = A[arrangement, k.KEY_COUNT]
    entry = A[arrangement, k.ENTRY_COUNT]
    A[arrangement, k.ENTRY_COUNT] = entry + 1
    address = A[arrangement, k.ENTRIES] + entry * (k.ENTRY_EXTRA + count) * 8
    state = HASH_START
    for i in range(count):
        word = load64(row, load64(keys, i))
        store64(address, k.ENTRY_EXTRA + i, word)
        state = hash_word(state, word)
    store64(address, 0, 0)
    store64(address, 1, 0)
    store64(address, 2, 0)
    place_entry(A, arrangement, hash_end(state), entry)
    return entry


@kernel
def place_entry(A, arrangement, hashed, entry):
    table = A[arrangement, k.TABLE]
    mask = A[arrangement, k.TABLE_MASK]
    at = hashed & mask
    while load64(table, at) != 0:
        at = (at + 1) & mask
    store64(table, at, (hashed << k.HASH_SHIFT) | (entry + 1))


@kernel
def rebuild_table(A, arrangement):
    """Fills an empty table from the entries."""
    count = A[arrangement, k.KEY_COUNT]
    width = (k.ENTRY_EXTRA + count) * 8
    for entry in range(A[arrangement, k.ENTRY_COUNT]):
        address = A[arrangement, k.ENTRIES] + entry * width
        state = HASH_START
        for i in range(count):
            state = hash_word(state, load64(address, k.ENTRY_EXTRA + i))
        place_entry(A, arrangement, hash_end(state), entry)


@kernel
def arrange_row(S, A, arrangement, line):
    """Puts a row into its bucket, unless it is there. False, and nothing changed, when the arrangement must grow."""
    if load32(A[arrangement, k.PLACE], line) >= 0:
        return True
    relation = A[arrangement, k.RELATION]
    row = S[relation, k.ROWS] + line * S[relation, k.WIDTH] * 8
    entry = find_entry(A, arrangement, row)
    if entry < 0:
        # Half full at most: probes stay short, and the table never fills up.
        full = A[arrangement, k.ENTRY_COUNT] * 2 > A[arrangement, k.TABLE_MASK]
        if full or A[arrangement, k.ENTRY_COUNT] == A[arrangement, k.ENTRY_CAPACITY]:
            return False
        if A[arrangement, k.POOL_USED] + MIN_BUCKET > A[arrangement, k.POOL_CAPACITY]:
            return False
        entry = add_entry(A, arrangement, row)
    address = A[arrangement, k.ENTRIES] + entry * (k.ENTRY_EXTRA + A[arrangement, k.KEY_COUNT]) * 8
    start = load64(address, 0)
    length = load64(address, 1)
    capacity = load64(address, 2)
    pool = A[arrangement, k.POOL]
    if length == capacity:
        room = max(MIN_BUCKET, 2 * capacity)
        if A[arrangement, k.POOL_USED] + room > A[arrangement, k.POOL_CAPACITY]:
            return False
        moved = A[arrangement, k.POOL_USED]
        A[arrangement, k.POOL_USED] = moved + room
        A[arrangement, k.POOL_WASTE] += capacity
        for i in range(length):
            store32(pool, moved + i, load32(pool, start + i))
        start = moved
        store64(address, 0, start)
        store64(address, 2, room)
    store32(pool, start + length, line)
    store64(address, 1, length + 1)
    store32(A[arrangement, k.PLACE], line, length)
    return True


@kernel
def unarrange_row(S, A, arrangement, line):
    """Takes a row out of its bucket, if it is there. The row's columns are still in place."""
    place = load32(A[arrangement, k.PLACE], line)
    if place < 0:
        return
    relation = A[arrangement, k.RELATION]
    row = S[relation, k.ROWS] + line * S[relation, k.WIDTH] * 8
    entry = find_entry(A, arrangement, row)
    address = A[arrangement, k.ENTRIES] + entry * (k.ENTRY_EXTRA + A[arrangement, k.KEY_COUNT]) * 8
    start = load64(address, 0)
    last = load64(address, 1) - 1
    pool = A[arrangement, k.POOL]
    moved = load32(pool, start + last)
    store32(pool, start + place, moved)
    store32(A[arrangement, k.PLACE], moved, place)
    store32(A[arrangement, k.PLACE], line, -1)
    store64(address, 1, last)


@kernel
def arrange_all(S, A, arrangement, entry_of):
    """Builds an empty arrangement from all rows in two passes, each bucket exactly as long as it must be.

    Returns the number of rows done, short of USED when the entries or the table must grow first (start again then).
    `entry_of` is scratch: one word per line.
    """
    relation = A[arrangement, k.RELATION]
    used = S[relation, k.USED]
    rows = S[relation, k.ROWS]
    stride = S[relation, k.WIDTH] * 8
    columns = S[relation, k.WIDTH] - 3
    width = (k.ENTRY_EXTRA + A[arrangement, k.KEY_COUNT]) * 8
    entries = A[arrangement, k.ENTRIES]
    for line in range(used):
        row = rows + line * stride
        if load64(row, columns + k.META) >> k.STAMP_SHIFT == k.FREED:
            entry_of[line] = -1
            continue
        entry = find_entry(A, arrangement, row)
        if entry < 0:
            full = A[arrangement, k.ENTRY_COUNT] * 2 > A[arrangement, k.TABLE_MASK]
            if full or A[arrangement, k.ENTRY_COUNT] == A[arrangement, k.ENTRY_CAPACITY]:
                return line
            entry = add_entry(A, arrangement, row)
        entry_of[line] = entry
        address = entries + entry * width
        store64(address, 2, load64(address, 2) + 1)
    start = 0
    for entry in range(A[arrangement, k.ENTRY_COUNT]):
        address = entries + entry * width
        store64(address, 0, start)
        store64(address, 1, 0)
        start += load64(address, 2)
    A[arrangement, k.POOL_USED] = start
    pool = A[arrangement, k.POOL]
    place = A[arrangement, k.PLACE]
    for line in range(used):
        entry = entry_of[line]
        if entry < 0:
            continue
        address = entries + entry * width
        length = load64(address, 1)
        store32(pool, load64(address, 0) + length, line)
        store32(place, line, length)
        store64(address, 1, length + 1)
    return used
