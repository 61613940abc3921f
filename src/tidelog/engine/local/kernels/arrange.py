"""Arrangements: multimaps from key columns to the lines of a relation's rows, maintained row by row.

Each key has an entry (start, length and room, key words), and its lines lie side by side in one pool: a probe touches a
slot, an entry, and then memory in order. A full bucket moves to a place of the next larger size: one that another
bucket has freed (the pool begins with a list of free places for each size), or the end of the pool. A mark for each
line says where in its bucket the line is, so a removal is a swap with the last line. Marks have 16 bits: behind the
first 4,095 lines of a bucket a mark names a stretch of it, at most one 2,048th of the lines before it.

An arrangement may also be SORTED: a trie for leapfrog joins (`leapfrog/pages`), by all columns in some order.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.memory import (
    HASH_START,
    hash_end,
    hash_word,
    inlined,
    kernel,
    load16,
    load32,
    load64,
    prefetch,
    store16,
    store32,
    store64,
)
from tidelog.engine.local.leapfrog.pages import arrange_sorted, unarrange_sorted

MIN_BUCKET = 2
LISTED = 1 << 31  # places from here on do not fit into a list
MARK_EXACT = 4096  # below, a mark names one place
NEAR, FAR = 16, 32  # how many lines ahead a bucket's end, and before that its entry, is fetched


@inlined
def hash_key(A, arrangement, row):
    """Returns the hash of the key of the row at this address."""
    keys = A[arrangement, k.KEYS]
    state = HASH_START
    for i in range(A[arrangement, k.KEY_COUNT]):
        state = hash_word(state, load64(row, load64(keys, i)))
    return hash_end(state)


@kernel
def find_entry(A, arrangement, row):
    """Returns the entry for the key of the row at this address, or -1."""
    return find_entry_hashed(A, arrangement, row, hash_key(A, arrangement, row))


@kernel
def find_entry_hashed(A, arrangement, row, hashed):
    """Finds the entry of a key whose hash is known; see `find_entry`."""
    keys = A[arrangement, k.KEYS]
    count = A[arrangement, k.KEY_COUNT]
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
def has_entry_room(A, arrangement):
    """True if a new key fits. The table is at most half full: probes stay short."""
    count = A[arrangement, k.ENTRY_COUNT]
    return count * 2 <= A[arrangement, k.TABLE_MASK] and count < A[arrangement, k.ENTRY_CAPACITY]


@kernel
def add_entry(A, arrangement, row, hashed):
    """Adds an entry with an empty bucket for the new key of a row; the caller has made room."""
    keys = A[arrangement, k.KEYS]
    count = A[arrangement, k.KEY_COUNT]
    entry = A[arrangement, k.ENTRY_COUNT]
    A[arrangement, k.ENTRY_COUNT] = entry + 1
    address = A[arrangement, k.ENTRIES] + entry * (k.ENTRY_EXTRA + count) * 8
    for i in range(count):
        store64(address, k.ENTRY_EXTRA + i, load64(row, load64(keys, i)))
    store64(address, k.ENTRY_START, 0)
    store32(address, k.ENTRY_LENGTH, 0)
    store32(address, k.ENTRY_ROOM, 0)
    place_slot(A, arrangement, (hashed << k.HASH_SHIFT) | (entry + 1))
    return entry


@kernel
def place_slot(A, arrangement, slot):
    table = A[arrangement, k.TABLE]
    mask = A[arrangement, k.TABLE_MASK]
    at = (slot >> k.HASH_SHIFT) & k.LOW_MASK & mask
    while load64(table, at) != 0:
        at = (at + 1) & mask
    store64(table, at, slot)


@kernel
def refill_table(A, arrangement, old, size):
    """Fills an empty table from an older, smaller one of `size` slots."""
    for at in range(size):
        slot = load64(old, at)
        if slot != 0:
            place_slot(A, arrangement, slot)


@kernel
def arrange_lines(S, A, arrangement, lines, count, hashes):
    """Puts rows, given by their lines, into their buckets; returns False if the arrangement must grow before the next
    call.

    Works in pieces and prefetches as `index.fetch_ahead` does: slots, then entries, then the ends of buckets. `hashes`
    is scratch for PIECE words.
    """
    if A[arrangement, k.SHAPE] == k.SORTED:
        for i in range(count):
            if not arrange_sorted(S, A, arrangement, load32(lines, i)):
                return False
        return True
    relation = A[arrangement, k.RELATION]
    rows = S[relation, k.ROWS]
    stride = S[relation, k.WIDTH] * 8
    table = A[arrangement, k.TABLE]
    mask = A[arrangement, k.TABLE_MASK]
    entries = A[arrangement, k.ENTRIES]
    width = k.ENTRY_EXTRA + A[arrangement, k.KEY_COUNT]
    marks = A[arrangement, k.MARKS]
    done = 0
    # Skips rows that were added before the arrangement grew, or by `share_arranging`.
    while done < count and load16(marks, load32(lines, done)) != 0:
        done += 1
    while done < count:
        piece = min(count - done, k.PIECE)
        for i in range(piece):
            hashed = hash_key(A, arrangement, rows + load32(lines, done + i) * stride)
            store64(hashes, i, hashed)
            prefetch(table, hashed & mask)
            prefetch(marks, load32(lines, done + i) // 4)
        for i in range(piece):
            slot = load64(table, load64(hashes, i) & mask)
            if slot != 0:
                prefetch(entries, ((slot & k.LOW_MASK) - 1) * width)
        for i in range(piece):
            slot = load64(table, load64(hashes, i) & mask)
            if slot != 0:
                entry = entries + ((slot & k.LOW_MASK) - 1) * width * 8
                prefetch(A[arrangement, k.POOL], (load64(entry, k.ENTRY_START) + load32(entry, k.ENTRY_LENGTH)) // 2)
        for i in range(piece):
            line = load32(lines, done + i)
            if not arrange_hashed(A, arrangement, line, rows + line * stride, load64(hashes, i)):
                return False
        done += piece
    return True


@kernel
def arrange_queue(S, A, relation, lines, count, hashes):
    """Puts rows of a relation, given by their lines, into all its arrangements; returns the number of an arrangement
    that must grow before the next call, or -1."""
    arrangement = S[relation, k.FIRST_ARRANGEMENT]
    while arrangement >= 0:
        if not arrange_lines(S, A, arrangement, lines, count, hashes.ctypes.data):
            return arrangement
        arrangement = A[arrangement, k.NEXT_ARRANGEMENT]
    return -1


@kernel
def arrange_row(S, A, arrangement, line):
    """Puts a row into its bucket, unless it is there; returns False, and changes nothing, if the arrangement must
    grow."""
    if A[arrangement, k.SHAPE] == k.SORTED:
        return arrange_sorted(S, A, arrangement, line)
    relation = A[arrangement, k.RELATION]
    row = S[relation, k.ROWS] + line * S[relation, k.WIDTH] * 8
    return arrange_hashed(A, arrangement, line, row, hash_key(A, arrangement, row))


@kernel
def next_size(capacity):
    """Returns the smallest size of bucket with more room than `capacity`, and that room: 2, 3, 4, 6, 8, 12 …"""
    size, room, larger = 0, MIN_BUCKET, MIN_BUCKET + 1
    while room <= capacity:
        size += 1
        room, larger = larger, 2 * room
    return size, room


@kernel
def take_place(A, arrangement, size, room):
    """Takes a place in the pool for a bucket: a free one, or the end; returns -1 if the pool must grow."""
    pool = A[arrangement, k.POOL]
    free = load32(pool, size)
    if free != 0:
        store32(pool, size, load32(pool, free))
        A[arrangement, k.POOL_WASTE] -= room
        return free
    end = A[arrangement, k.POOL_USED]
    if end + room > A[arrangement, k.POOL_CAPACITY]:
        return -1
    A[arrangement, k.POOL_USED] = end + room
    return end


@kernel
def give_place(A, arrangement, start, capacity):
    """Frees the place of a bucket: lists it under the largest size that fits into it."""
    A[arrangement, k.POOL_WASTE] += capacity
    size, _ = next_size(capacity)
    if size > 0 and start < LISTED:
        pool = A[arrangement, k.POOL]
        store32(pool, start, load32(pool, size - 1))
        store32(pool, size - 1, start)


@inlined
def arrange_hashed(A, arrangement, line, row, hashed):
    """Puts a row into its bucket, given its address and the hash of its key; see `arrange_row`."""
    if load16(A[arrangement, k.MARKS], line) != 0:
        return True
    entry = find_entry_hashed(A, arrangement, row, hashed)
    if entry < 0:
        if not has_entry_room(A, arrangement):
            return False
        if A[arrangement, k.POOL_USED] + MIN_BUCKET > A[arrangement, k.POOL_CAPACITY]:
            return False
        entry = add_entry(A, arrangement, row, hashed)
    address = A[arrangement, k.ENTRIES] + entry * (k.ENTRY_EXTRA + A[arrangement, k.KEY_COUNT]) * 8
    start = load64(address, k.ENTRY_START)
    length = load32(address, k.ENTRY_LENGTH)
    capacity = load32(address, k.ENTRY_ROOM)
    pool = A[arrangement, k.POOL]
    if length == capacity:
        size, room = next_size(capacity)
        moved = take_place(A, arrangement, size, room)
        if moved < 0:
            return False
        for i in range(length):
            store32(pool, moved + i, load32(pool, start + i))
        # The entry first: a reader that finds the same start before and after has read no place that was given back.
        store64(address, k.ENTRY_START, moved)
        store32(address, k.ENTRY_ROOM, room)
        if capacity > 0:
            give_place(A, arrangement, start, capacity)
        start = moved
    store32(pool, start + length, line)
    store32(address, k.ENTRY_LENGTH, length + 1)
    store16(A[arrangement, k.MARKS], line, mark_of(length))
    return True


@kernel
def mark_of(place):
    """Returns the mark of a line at this place of its bucket, from 0; a mark is never 0.

    Like a floating point number: below MARK_EXACT the place itself, from 1 on; then its first 12 bits, and the number
    of bits behind them.
    """
    mark = place + 1
    bits = 0
    while mark >= MARK_EXACT:
        mark >>= 1
        bits += 1
    return bits * (MARK_EXACT // 2) + mark


@kernel
def first_place(mark):
    """Returns the first of the places that have this mark."""
    bits = max(mark // (MARK_EXACT // 2) - 1, 0)
    return ((mark - bits * (MARK_EXACT // 2)) << bits) - 1


@kernel
def find_place(pool, start, mark, line):
    """Returns the place of a line in its bucket, which starts at `start`."""
    place = first_place(mark)
    while load32(pool, start + place) != line:
        place += 1
    return place


@kernel
def unarrange_row(S, A, arrangement, line):
    """Removes a row from its bucket, if it is there. The row's columns are still in place."""
    if A[arrangement, k.SHAPE] == k.SORTED:
        unarrange_sorted(S, A, arrangement, line)
        return
    mark = load16(A[arrangement, k.MARKS], line)
    if mark == 0:
        return
    relation = A[arrangement, k.RELATION]
    row = S[relation, k.ROWS] + line * S[relation, k.WIDTH] * 8
    entry = find_entry(A, arrangement, row)
    address = A[arrangement, k.ENTRIES] + entry * (k.ENTRY_EXTRA + A[arrangement, k.KEY_COUNT]) * 8
    start = load64(address, k.ENTRY_START)
    last = load32(address, k.ENTRY_LENGTH) - 1
    pool = A[arrangement, k.POOL]
    moved = load32(pool, start + last)
    store32(pool, start + find_place(pool, start, mark, line), moved)
    store16(A[arrangement, k.MARKS], moved, mark)
    store16(A[arrangement, k.MARKS], line, 0)
    store32(address, k.ENTRY_LENGTH, last)


@kernel
def fetch_buckets(S, A, arrangement, lines, count):
    """Prefetches the memory that `unarrange_row` touches for some rows: places, slots, entries, and both ends of the
    swap."""
    if A[arrangement, k.SHAPE] == k.SORTED:
        return
    relation = A[arrangement, k.RELATION]
    rows = S[relation, k.ROWS]
    stride = S[relation, k.WIDTH] * 8
    table = A[arrangement, k.TABLE]
    mask = A[arrangement, k.TABLE_MASK]
    entries = A[arrangement, k.ENTRIES]
    width = k.ENTRY_EXTRA + A[arrangement, k.KEY_COUNT]
    for i in range(count):
        line = load32(lines, i)
        prefetch(A[arrangement, k.MARKS], line // 4)
        prefetch(table, hash_key(A, arrangement, rows + line * stride) & mask)
    for i in range(count):
        slot = load64(table, hash_key(A, arrangement, rows + load32(lines, i) * stride) & mask)
        if slot != 0:
            prefetch(entries, ((slot & k.LOW_MASK) - 1) * width)
    for i in range(count):
        line = load32(lines, i)
        slot = load64(table, hash_key(A, arrangement, rows + line * stride) & mask)
        if slot != 0:
            entry = entries + ((slot & k.LOW_MASK) - 1) * width * 8
            start = load64(entry, k.ENTRY_START)
            prefetch(A[arrangement, k.POOL], (start + load32(entry, k.ENTRY_LENGTH)) // 2)
            prefetch(A[arrangement, k.POOL], (start + first_place(load16(A[arrangement, k.MARKS], line))) // 2)


@kernel
def arrange_all(S, A, arrangement, first, limit, found):
    """Builds an arrangement from all rows in two passes, each bucket exactly as long as needed.

    The first pass, from line `first` up to `limit`, counts the rows of each key. It returns the line where the entries
    or the table must grow, or `limit` (continue there); the call with USED as its limit does the second one, too.
    Between the passes `found`, scratch of 32 bits per line, has the entry of each line, from 1; before that, for a
    piece of lines, their hashes.
    """
    relation = A[arrangement, k.RELATION]
    used = S[relation, k.USED]
    rows = S[relation, k.ROWS]
    stride = S[relation, k.WIDTH] * 8
    columns = S[relation, k.COLUMNS]
    width = k.ENTRY_EXTRA + A[arrangement, k.KEY_COUNT]
    entries = A[arrangement, k.ENTRIES]
    table = A[arrangement, k.TABLE]
    mask = A[arrangement, k.TABLE_MASK]
    marks = A[arrangement, k.MARKS]
    while first < limit:
        end = min(first + k.PIECE, limit)
        for line in range(first, end):
            hashed = hash_key(A, arrangement, rows + line * stride)
            store32(found, line, hashed)
            prefetch(table, hashed & mask)
        for line in range(first, end):
            slot = load64(table, load32(found, line) & mask)
            if slot != 0:
                prefetch(entries, ((slot & k.LOW_MASK) - 1) * width)
        for line in range(first, end):
            row = rows + line * stride
            if load64(row, columns + k.META) >> k.STAMP_SHIFT == k.FREED:
                store32(found, line, 0)
                continue
            hashed = load32(found, line) & k.LOW_MASK
            entry = find_entry_hashed(A, arrangement, row, hashed)
            if entry < 0:
                if not has_entry_room(A, arrangement):
                    return line
                entry = add_entry(A, arrangement, row, hashed)
            store32(found, line, entry + 1)
            address = entries + entry * width * 8
            store32(address, k.ENTRY_ROOM, load32(address, k.ENTRY_ROOM) + 1)
        first = end
    if limit < used:
        return limit
    start = k.POOL_LISTS
    for entry in range(A[arrangement, k.ENTRY_COUNT]):
        address = entries + entry * width * 8
        store64(address, k.ENTRY_START, start)
        store32(address, k.ENTRY_LENGTH, 0)
        start += load32(address, k.ENTRY_ROOM)
    A[arrangement, k.POOL_USED] = start
    pool = A[arrangement, k.POOL]
    for line in range(used):
        ahead = load32(found, min(line + FAR, used - 1))
        prefetch(entries, (ahead - 1) * width)
        ahead = load32(found, min(line + NEAR, used - 1))
        if ahead > 0:
            address = entries + (ahead - 1) * width * 8
            prefetch(pool, (load64(address, k.ENTRY_START) + load32(address, k.ENTRY_LENGTH)) // 2)
        entry = load32(found, line) - 1
        if entry < 0:
            store16(marks, line, 0)
            continue
        address = entries + entry * width * 8
        length = load32(address, k.ENTRY_LENGTH)
        store32(pool, load64(address, k.ENTRY_START) + length, line)
        store16(marks, line, mark_of(length))
        store32(address, k.ENTRY_LENGTH, length + 1)
    return used
