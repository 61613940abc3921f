"""A rule whose literals are joined one after the other, in a Bootstrap, by batches of rows.

A scan writes the registers of some rows to a batch. Each look-up takes a batch and makes the next one, in steps over
the whole batch: it fetches all slots, then all entries, then buckets, then rows, so that the waits for memory overlap
whatever the length of a bucket, and no interpreter runs between two rows. The last look-up writes heads, as
`scan_rule` does. A batch that fills up is taken to the end before the look-up continues.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.index import home_slot, same_words, slot_after
from tidelog.engine.local.kernels.join import run_tail
from tidelog.engine.local.kernels.memory import (
    HASH_START,
    borrowed,
    entry_point,
    hash_end,
    hash_word,
    inlined,
    kernel,
    load32,
    load64,
    prefetch,
    prefetch_read,
    store64,
)
from tidelog.engine.local.kernels.scan_rule import EMITTED, has_head_room, place_heads

# The state of a run: the next line of the scan, the level at work, the rows looked at; then, for each level of batches,
# how many rows its batch has, the row at work, the next place of its bucket or -1, and whether keys were looked up.
LINE, LEVEL, LOOKED_AT, FIRST_BATCH = 0, 1, 2, 3
COUNT, AT, PLACE, IS_FOUND, BATCH_WORDS = 0, 1, 2, 3, 4
FINISHED, ROOM, PAUSED, DIVIDED = 0, 1, 2, 3
PAUSE_ROWS = 1 << 21
ROWS_AHEAD, BUCKETS_AHEAD = 8, 8  # of the bucket at work, and of a batch: what is prefetched before its turn


@inlined
def is_there(row, of_meta):
    """True if a row of a relation below is there in this epoch."""
    stamp = load64(row, of_meta) >> k.STAMP_SHIFT
    return 0 <= stamp <= 1


@inlined
def take_row(S, code, block, row, registers, scratch):
    """Binds registers to a row and runs the tail behind it; returns what `run_tail` does."""
    bind_at, equal_at = load64(code, block + k.BIND_AT), load64(code, block + k.EQUAL_AT)
    for i in range(load64(code, block + k.BIND_N)):
        registers[load64(code, bind_at + 2 * i + 1)] = load64(row, load64(code, bind_at + 2 * i))
    for i in range(load64(code, block + k.EQUAL_N)):
        if registers[load64(code, equal_at + 2 * i + 1)] != load64(row, load64(code, equal_at + 2 * i)):
            return 0
    tail_count = load64(code, block + k.TAIL_N)
    if tail_count == 0:
        return 1
    return run_tail(S, code, load64(code, block + k.TAIL_AT), tail_count, registers, k.INSERT, 0, scratch)


@kernel
def find_entries(A, code, block, batch, width, count, found):
    """Writes the address of the entry of each row's key to `found`, or 0, and prefetches the buckets."""
    arrangement = load64(code, block + k.TARGET)
    keys, key_count = load64(code, block + k.KEY_AT), load64(code, block + k.KEY_N)
    table, mask, entries = A[arrangement, k.TABLE], A[arrangement, k.TABLE_MASK], A[arrangement, k.ENTRIES]
    entry_width = (k.ENTRY_EXTRA + key_count) * 8
    for i in range(count):
        row = batch + i * width * 8
        state = HASH_START
        for key in range(key_count):
            state = hash_word(state, load64(row, load64(code, keys + key)))
        hashed = hash_end(state)
        store64(found, i, hashed)
        prefetch_read(table, hashed & mask)
    for i in range(count):
        slot = load64(table, load64(found, i) & mask)
        if slot != 0:
            prefetch_read(entries + ((slot & k.LOW_MASK) - 1) * entry_width, 0)
    for i in range(count):
        row, hashed = batch + i * width * 8, load64(found, i)
        at = hashed & mask
        address = 0
        while True:
            slot = load64(table, at)
            if slot == 0:
                break
            if (slot >> k.HASH_SHIFT) & k.LOW_MASK == hashed:
                address = entries + ((slot & k.LOW_MASK) - 1) * entry_width
                same = True
                for key in range(key_count):
                    if load64(address, k.ENTRY_EXTRA + key) != load64(row, load64(code, keys + key)):
                        same = False
                        break
                if same:
                    break
                address = 0
            at = (at + 1) & mask
        store64(found, i, address)
        if address != 0:
            prefetch_read(A[arrangement, k.POOL], load64(address, k.ENTRY_START) >> 1)


@inlined
def fetch_bucket(rows, width, pool, address):
    """Prefetches the first rows of the bucket of an entry."""
    if address != 0:
        start = load64(address, k.ENTRY_START)
        for place in range(start, start + min(load32(address, k.ENTRY_LENGTH), ROWS_AHEAD)):
            line = load32(pool, place)
            prefetch_read(rows, line * width)
            prefetch_read(rows, line * width + width - 1)


@kernel
def find_rows(S, code, block, batch, width, count, found, scratch):
    """Writes the line of the row whose columns each row of a batch names to `found`, or -1."""
    relation = load64(code, block + k.ROW_RELATION)
    keys, key_count = load64(code, block + k.KEY_AT), load64(code, block + k.KEY_N)
    slots, size = S[relation, k.SLOTS], S[relation, k.SLOT_COUNT]
    rows, row_width = S[relation, k.ROWS], S[relation, k.WIDTH]
    for i in range(count):
        row = batch + i * width * 8
        state = HASH_START
        for key in range(key_count):
            state = hash_word(state, load64(row, load64(code, keys + key)))
        hashed = hash_end(state)
        store64(found, i, hashed)
        prefetch_read(slots, home_slot(hashed, size))
    for i in range(count):
        slot = load64(slots, home_slot(load64(found, i), size))
        if slot != 0:
            prefetch_read(rows, ((slot & k.LOW_MASK) - 1) * row_width)
            prefetch_read(rows, slot_line_end(slot, row_width))
    for i in range(count):
        row, hashed = batch + i * width * 8, load64(found, i)
        for key in range(key_count):
            scratch[key] = load64(row, load64(code, keys + key))
        at = home_slot(hashed, size)
        line = -1
        while True:
            slot = load64(slots, at)
            if slot == 0:
                break
            if (slot >> k.HASH_SHIFT) & k.LOW_MASK == hashed:
                line = (slot & k.LOW_MASK) - 1
                if same_words(rows + line * row_width * 8, scratch.ctypes.data, key_count):
                    break
                line = -1
            at = slot_after(at, size)
        store64(found, i, line)


@inlined
def slot_line_end(slot, width):
    """Returns the place of the last word of the row that a slot names."""
    return (slot & k.LOW_MASK) * width - 1


@kernel
def scan_batch(S, code, block, state, last, registers, batch, width, scratch):
    """Fills the first batch from the scanned relation, from the line in the state on; returns how many rows it has, or
    -1 for a division by zero."""
    relation = load64(code, block + k.ROW_RELATION)
    rows, row_width, of_meta = S[relation, k.ROWS], S[relation, k.WIDTH], S[relation, k.COLUMNS] + k.META
    line, count = state[LINE], 0
    while line < last and count < k.PIECE:
        row = rows + line * row_width * 8
        line += 1
        if not is_there(row, of_meta):
            continue
        passed = take_row(S, code, block, row, registers, scratch)
        if passed < 0:
            return -1
        if passed > 0:
            target = batch + count * width * 8
            for register in range(width):
                store64(target, register, registers[register])
            count += 1
    state[LOOKED_AT] += line - state[LINE] + 1
    state[LINE] = line
    return count


@entry_point(
    "int64(int64[:,::1], int64[:,::1], int64, int64, int64, int64, int64, int64, int64[::1], int64[::1], int64[::1],"
    " int64[::1], int64[::1], int64[::1], int64[::1])"
)
def chain_rule(
    S, A, code, scan, depth, head, stamp, last, registers, state, batches, entries, found, hashes, scratch
):  # fmt: skip
    """Adds the instances of a rule over the lines of a scan, up to `last`, to the relation of its head.

    `scan` is the number of its block, and `depth` more blocks behind it look up one after the other. Returns FINISHED;
    ROOM if the head's relation must grow; PAUSED after many rows; or DIVIDED, with the number of the block in LEVEL.
    The next call continues.
    """
    S, A, registers, state = borrowed(S), borrowed(A), borrowed(registers), borrowed(state)
    batches, entries, found = borrowed(batches), borrowed(entries), borrowed(found)
    hashes, scratch = borrowed(hashes), borrowed(scratch)
    width = registers.size
    batch_bytes = k.PIECE * width * 8
    columns, head_width, heads = S[head, k.COLUMNS], S[head, k.WIDTH], S[head, k.ROWS]
    slots, size = S[head, k.SLOTS], S[head, k.SLOT_COUNT]
    emit = load64(code, load64(code, k.CODE_BLOCKS + scan + depth) + k.EMIT_AT) + k.EMIT_REGISTERS
    while True:
        if state[LOOKED_AT] > PAUSE_ROWS:
            state[LOOKED_AT] = 0
            return PAUSED
        level = state[LEVEL]
        if level == 0:
            block = load64(code, k.CODE_BLOCKS + scan)
            count = scan_batch(S, code, block, state, last, registers, batches.ctypes.data, width, scratch)
            if count < 0:
                state[LEVEL] = scan
                return DIVIDED
            if count > 0:
                state[FIRST_BATCH + COUNT] = count
                state[FIRST_BATCH + AT] = state[FIRST_BATCH + IS_FOUND] = 0
                state[FIRST_BATCH + PLACE] = -1
                state[LEVEL] = 1
            elif state[LINE] >= last:
                return FINISHED
            continue
        is_last = level == depth
        if is_last and not has_head_room(S, head):
            return ROOM
        block = load64(code, k.CODE_BLOCKS + scan + level)
        is_probe = load64(code, block + k.OP) == k.ITERATE_PROBE
        relation = load64(code, block + k.ROW_RELATION)
        rows, row_width, of_meta = S[relation, k.ROWS], S[relation, k.WIDTH], S[relation, k.COLUMNS] + k.META
        is_changed = S[relation, k.CHANGED] != 0
        pool = A[load64(code, block + k.TARGET), k.POOL] if is_probe else 0
        here = FIRST_BATCH + (level - 1) * BATCH_WORDS
        batch = batches.ctypes.data + (level - 1) * batch_bytes
        keys = entries.ctypes.data + (level - 1) * k.PIECE * 8
        count = state[here + COUNT]
        if state[here + IS_FOUND] == 0:
            state[here + IS_FOUND] = 1
            if is_probe:
                find_entries(A, code, block, batch, width, count, keys)
                for i in range(min(count, BUCKETS_AHEAD)):
                    fetch_bucket(rows, row_width, pool, load64(keys, i))
            else:
                find_rows(S, code, block, batch, width, count, keys, scratch)
        at, place = state[here + AT], state[here + PLACE]
        used, made = S[head, k.USED], 0
        looked_at = 0
        while at < count and made < k.PIECE:
            key = load64(keys, at)
            if is_probe:
                if place < 0 and at + BUCKETS_AHEAD < count:
                    fetch_bucket(rows, row_width, pool, load64(keys, at + BUCKETS_AHEAD))
                if key == 0:
                    at += 1
                    continue
                start = load64(key, k.ENTRY_START)
                end = start + load32(key, k.ENTRY_LENGTH)
            else:
                start, end = 0, 1 if key >= 0 else 0
            if place < 0:
                place = start
            known = batch + at * width * 8
            for register in range(width):
                registers[register] = load64(known, register)
            while place < end and made < k.PIECE:
                line = key
                if is_probe:
                    line = load32(pool, place)
                    if place + ROWS_AHEAD < end:
                        ahead = load32(pool, place + ROWS_AHEAD)
                        prefetch_read(rows, ahead * row_width)
                        prefetch_read(rows, ahead * row_width + row_width - 1)
                place += 1
                looked_at += 1
                row = rows + line * row_width * 8
                if is_changed and not is_there(row, of_meta):
                    continue
                passed = take_row(S, code, block, row, registers, scratch)
                if passed == 0:
                    continue
                if passed < 0:
                    state[LEVEL] = scan + level
                    return DIVIDED
                if is_last:
                    target = heads + (used + made) * head_width * 8
                    hashed = HASH_START
                    for column in range(columns):
                        word = registers[load64(code, emit + column)]
                        store64(target, column, word)
                        hashed = hash_word(hashed, word)
                    hashes[made] = hash_end(hashed)
                    prefetch(slots, home_slot(hashes[made], size))
                else:
                    target = batch + batch_bytes + made * width * 8
                    for register in range(width):
                        store64(target, register, registers[register])
                made += 1
            if place >= end:
                at += 1
                place = -1
        state[here + AT], state[here + PLACE] = at, place
        state[LOOKED_AT] += looked_at
        if is_last:
            found[EMITTED] += made
            place_heads(S, head, hashes, made, stamp)
            if at >= count:
                state[LEVEL] = level - 1
        elif made > 0:
            after = here + BATCH_WORDS
            state[after + COUNT] = made
            state[after + AT] = state[after + IS_FOUND] = 0
            state[after + PLACE] = -1
            state[LEVEL] = level + 1
        else:
            state[LEVEL] = level - 1
