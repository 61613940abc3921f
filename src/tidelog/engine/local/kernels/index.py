"""The index on whole rows: open addressing with linear probing, one word per slot: hash << 32 | line + 1.

A look-up touches the slot and the row. Slots are in the order of the hash: threads that divide the rows by the upper
bits of the hash divide the slots too, whatever the size of the index. A deletion shifts later slots back, so there are
no tombstones, and probes stay short in a relation that shrinks and grows for years.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.memory import (
    HASH_START,
    claim,
    hash_end,
    hash_word,
    inlined,
    kernel,
    load32,
    load64,
    prefetch,
    store64,
)
from tidelog.engine.local.kernels.row_counts import count_of, logged_meta, set_numbers, total_of


@kernel
def hash_row(address, columns):
    """Returns the hash of `columns` words at an address."""
    state = HASH_START
    for i in range(columns):
        state = hash_word(state, load64(address, i))
    return hash_end(state)


@kernel
def same_words(left, right, columns):
    for i in range(columns):
        if load64(left, i) != load64(right, i):
            return False
    return True


@kernel
def home_slot(hashed, size):
    """Returns the slot where the search for a hash starts in an index of `size` slots."""
    return (hashed * size) >> k.HASH_SHIFT


@kernel
def slot_after(at, size):
    """Returns the next slot; the first slot follows the last one."""
    return at + 1 if at + 1 < size else 0


@kernel
def slots_between(first, at, size):
    """Returns how many slots `at` is behind `first`."""
    return at - first if at >= first else at - first + size


@kernel
def find_row(S, relation, address):
    """Returns the line of the row with the columns at the address, or -1."""
    return find_hashed(S, relation, address, hash_row(address, S[relation, k.COLUMNS]))


@kernel
def find_hashed(S, relation, address, hashed):
    """Finds a row whose hash is known; see `find_row`."""
    return find_from(S, relation, address, hashed, home_slot(hashed, S[relation, k.SLOT_COUNT]))


@kernel
def find_from(S, relation, address, hashed, at):
    """Finds a row whose hash is known, starting at a slot."""
    return (load64(S[relation, k.SLOTS], find_slot(S, relation, address, hashed, at)) & k.LOW_MASK) - 1


@kernel
def find_slot(S, relation, address, hashed, at):
    """Returns the slot of the row at the address, searched for from slot `at` on, or the empty slot where it
    belongs."""
    columns = S[relation, k.COLUMNS]
    slots = S[relation, k.SLOTS]
    size = S[relation, k.SLOT_COUNT]
    rows = S[relation, k.ROWS]
    stride = S[relation, k.WIDTH] * 8
    while True:
        slot = load64(slots, at)
        if slot == 0:
            return at
        if (slot >> k.HASH_SHIFT) & k.LOW_MASK == hashed:
            line = (slot & k.LOW_MASK) - 1
            if same_words(rows + line * stride, address, columns):
                return at
        at = slot_after(at, size)


@kernel
def find_or_add(S, relation, address):
    """Returns the line of the row at the address; adds a new row to the index and returns -1 - line for it.

    The caller has made room, and writes total, count and meta of a new row.
    """
    return find_or_add_hashed(S, relation, address, hash_row(address, S[relation, k.COLUMNS]))


@kernel
def find_or_add_hashed(S, relation, address, hashed):
    """Finds or adds a row whose hash is known; see `find_or_add`."""
    at = find_slot(S, relation, address, hashed, home_slot(hashed, S[relation, k.SLOT_COUNT]))
    slot = load64(S[relation, k.SLOTS], at)
    return (slot & k.LOW_MASK) - 1 if slot != 0 else -1 - add_row(S, relation, address, hashed, at)


@kernel
def add_row(S, relation, address, hashed, at):
    """Adds a row with the columns at the address to the index, in the given empty slot; returns its line."""
    free = S[relation, k.FREE_COUNT]
    if free > 0:
        line = load64(S[relation, k.FREE], free - 1)
        S[relation, k.FREE_COUNT] = free - 1
    else:
        line = S[relation, k.USED]
        S[relation, k.USED] = line + 1
    row = S[relation, k.ROWS] + line * S[relation, k.WIDTH] * 8
    for i in range(S[relation, k.COLUMNS]):
        store64(row, i, load64(address, i))
    store64(S[relation, k.SLOTS], at, (hashed << k.HASH_SHIFT) | (line + 1))
    S[relation, k.LIVE] += 1
    return line


@kernel
def hash_of(head, columns):
    """Returns the hash of an instance's head."""
    return load64(head, columns + k.INSTANCE_HASH) & k.LOW_MASK


@kernel
def search_from(head, columns):
    """Returns the slot where the search for an instance's head starts, as `fetch_ahead` stored it."""
    return (load64(head, columns + k.INSTANCE_HASH) >> k.HASH_SHIFT) & k.LOW_MASK


@kernel
def fetch_ahead(S, relation, buffer, count):
    """Prefetches, for each instance of a buffer, the slot of its head and then the row that the slot names.

    The rows of a large relation are spread over memory: read one after the other, each costs a wait; prefetched
    together, the waits overlap. Stores in the instance where the search for its head starts (`search_from`): at the
    first slot with its hash, or at the empty slot behind those with other hashes.
    """
    columns = S[relation, k.COLUMNS]
    slots = S[relation, k.SLOTS]
    size = S[relation, k.SLOT_COUNT]
    rows = S[relation, k.ROWS]
    width = S[relation, k.WIDTH]
    length = (columns + k.INSTANCE_EXTRA) * 8
    for i in range(count):
        prefetch(slots, home_slot(hash_of(buffer + i * length, columns), size))
    for i in range(count):
        hashed = hash_of(buffer + i * length, columns)
        at = home_slot(hashed, size)
        slot = load64(slots, at)
        while slot != 0 and (slot >> k.HASH_SHIFT) & k.LOW_MASK != hashed:
            at = slot_after(at, size)
            slot = load64(slots, at)
        store64(buffer + i * length, columns + k.INSTANCE_HASH, (at << k.HASH_SHIFT) | hashed)
        if slot != 0:
            line = (slot & k.LOW_MASK) - 1
            prefetch(rows, line * width)
            prefetch(rows, line * width + width - 1)


@inlined
def fetch_line(S, relation, lines, place, count):
    """Prefetches the numbers of a later row of a list of lines."""
    if place < count:
        prefetch(S[relation, k.ROWS], load32(lines, place) * S[relation, k.WIDTH] + S[relation, k.COLUMNS])


@inlined
def fetch_logged(S, relation, place):
    """Prefetches the numbers of the row of a later entry of the log."""
    if place < S[relation, k.LOG_COUNT]:
        line = load64(S[relation, k.LOG], place * k.LOG_WIDTH)
        prefetch(S[relation, k.ROWS], line * S[relation, k.WIDTH] + S[relation, k.COLUMNS])


@kernel
def fetch_slots(S, relation, lines, count):
    """Prefetches some rows, given by their lines, and their slots."""
    rows = S[relation, k.ROWS]
    width = S[relation, k.WIDTH]
    for i in range(count):
        prefetch(rows, load32(lines, i) * width)
        prefetch(rows, load32(lines, i) * width + width - 1)
    for i in range(count):
        hashed = hash_row(rows + load32(lines, i) * width * 8, S[relation, k.COLUMNS])
        prefetch(S[relation, k.SLOTS], home_slot(hashed, S[relation, k.SLOT_COUNT]))


@kernel
def remove_row(S, relation, line):
    """Removes a row from the index and frees its line."""
    columns = S[relation, k.COLUMNS]
    slots = S[relation, k.SLOTS]
    size = S[relation, k.SLOT_COUNT]
    row = S[relation, k.ROWS] + line * S[relation, k.WIDTH] * 8
    at = home_slot(hash_row(row, columns), size)
    while (load64(slots, at) & k.LOW_MASK) - 1 != line:
        at = slot_after(at, size)
    hole = at
    while True:
        at = slot_after(at, size)
        slot = load64(slots, at)
        if slot == 0:
            break
        home = home_slot((slot >> k.HASH_SHIFT) & k.LOW_MASK, size)
        # The slot may move back into the hole only if its home is not behind the hole.
        if slots_between(home, at, size) >= slots_between(hole, at, size):
            store64(slots, hole, slot)
            hole = at
    store64(slots, hole, 0)
    store64(row, columns + k.META, k.FREED << k.STAMP_SHIFT)
    set_numbers(row, columns, S[relation, k.WIDE], 0, 0)
    store64(S[relation, k.FREE], S[relation, k.FREE_COUNT], line)
    S[relation, k.FREE_COUNT] += 1
    S[relation, k.LIVE] -= 1


@kernel
def rebuild_index(S, relation):
    """Fills empty slots from the rows of a relation that was loaded."""
    columns = S[relation, k.COLUMNS]
    slots = S[relation, k.SLOTS]
    size = S[relation, k.SLOT_COUNT]
    rows = S[relation, k.ROWS]
    stride = S[relation, k.WIDTH] * 8
    for line in range(S[relation, k.USED]):
        row = rows + line * stride
        if load64(row, columns + k.META) >> k.STAMP_SHIFT == k.FREED:
            continue
        hashed = hash_row(row, columns)
        at = home_slot(hashed, size)
        while load64(slots, at) != 0:
            at = slot_after(at, size)
        store64(slots, at, (hashed << k.HASH_SHIFT) | (line + 1))


@kernel
def refill_index(S, relation, taken, count):
    """Puts slots that were taken out of an index, or out of a smaller one, into it, without reading the rows."""
    slots = S[relation, k.SLOTS]
    size = S[relation, k.SLOT_COUNT]
    for i in range(count):
        slot = load64(taken, i)
        at = home_slot((slot >> k.HASH_SHIFT) & k.LOW_MASK, size)
        while load64(slots, at) != 0:
            at = slot_after(at, size)
        store64(slots, at, slot)


@kernel
def move_slots(S, relation, first, end, late, room, late_count):
    """Moves the slots of a stretch to their places in an index that has become larger (`storage/resize_index`).

    Several threads may each move a stretch; they meet only where their new places do. Slots that would go around the
    end are kept in `late`. Returns `end`, or the slot where `late` is full.
    """
    slots = S[relation, k.SLOTS]
    size = S[relation, k.SLOT_COUNT]
    for place in range(first, end):
        slot = load64(slots, place)
        if slot == 0:
            continue
        if load64(late_count, 0) == room:
            return place
        store64(slots, place, 0)
        at = home_slot((slot >> k.HASH_SHIFT) & k.LOW_MASK, size)
        while at < size and (load64(slots, at) != 0 or claim(slots, at, slot) != 0):
            at += 1
        if at == size:
            store64(late, load64(late_count, 0), slot)
            store64(late_count, 0, load64(late_count, 0) + 1)
    return end


@kernel
def touch(S, relation, line, row, columns):
    """Logs total, count and meta of a row before the overlay changes them for the first time."""
    meta = load64(row, columns + k.META)
    if meta & k.TOUCHED_BIT == 0:
        wide = S[relation, k.WIDE]
        entry = S[relation, k.LOG] + S[relation, k.LOG_COUNT] * k.LOG_WIDTH * 8
        store64(entry, k.LOGGED_LINE, line)
        store64(entry, k.LOGGED_TOTAL, total_of(row, columns, wide))
        store64(entry, k.LOGGED_COUNT, count_of(row, columns, wide))
        store64(entry, k.LOGGED_META, logged_meta(meta, wide))
        S[relation, k.LOG_COUNT] += 1
        store64(row, columns + k.META, meta | k.TOUCHED_BIT)


@kernel
def log_created(S, relation, line):
    """Logs a row that did not exist before the epoch."""
    entry = S[relation, k.LOG] + S[relation, k.LOG_COUNT] * k.LOG_WIDTH * 8
    store64(entry, k.LOGGED_LINE, line)
    store64(entry, k.LOGGED_TOTAL, -1)
    S[relation, k.LOG_COUNT] += 1
