"""The end of most rules: each row leads to a bucket, and each row of the bucket is an instance.

Most instances of most programs are found here, so there is no interpreter (`join`) between two rows: `emit_bucket`
emits the rows of one bucket, `emit_buckets` the buckets of all rows of the iterator before it.

Most programs find the same heads again within a short time. An instance that is already in the buffer is counted there
(`repeats`), which costs less than a look-up of each repeat in a large index. A small table finds it: the low bits of a
head's hash → hash and place of the last head with these bits. The table may describe an earlier filling of the buffer,
or another buffer, so its answer is compared with the present content. Where few instances repeat, the table costs more
than it saves, and is not used for some time (`combine_next`).
"""

from __future__ import annotations

import numpy as np

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.index import home_slot, slot_after
from tidelog.engine.local.kernels.memory import (
    HASH_START,
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
from tidelog.engine.local.kernels.row_counts import rank_of

# A row's keys are prefetched so many rows before its turn, and the row itself twice as many before it.
FETCH_AHEAD = 16
# In between, where the caches cannot hold the arrangement: the entry of its key, its bucket, and the rows of this.
ENTRY_AHEAD, BUCKET_AHEAD, ROWS_AHEAD = 12, 8, 4
ROWS_FETCHED = 4  # of a bucket
NEAR = 1 << 17  # words that the caches hold without a prefetch
FAR = 1 << 19  # slots of an arrangement with which its entries and buckets are far, too
# One in WORTH_COMBINING instances must repeat; if fewer do, PLAIN_BUFFERS buffers are filled without the table.
WORTH_COMBINING = 8
PLAIN_BUFFERS = 64


@kernel
def combine_next(combine, lines, repeats):
    """Returns COMBINE for the next buffers, after buffers with so many lines and so many repeats."""
    if combine > 1:
        return combine - 1
    return PLAIN_BUFFERS if combine == 1 and lines >= k.OUT_ROWS and repeats * WORTH_COMBINING < lines else combine


@inlined
def probe(A, arrangement, code, keys, count, registers):
    """Returns the entry of an arrangement for the key in the registers named in the code, or -1."""
    state = HASH_START
    for i in range(count):
        state = hash_word(state, registers[load64(code, keys + i)])
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
                if load64(address, k.ENTRY_EXTRA + i) != registers[load64(code, keys + i)]:
                    same = False
                    break
            if same:
                return entry
        at = (at + 1) & mask


@kernel
def is_hidden(stamp, phase, bound):
    """True if the overlay hides a row with this stamp from a literal; `bound` depends on the literal's side of the
    delta."""
    if phase == k.RETRACT:
        return stamp > 0 or (stamp < 0 and stamp > bound)
    return stamp < 0 or stamp > bound


@kernel
def stamp_bound(check, phase, wave):
    """Returns the bound of the overlay's stamp for a literal before or after the delta's position."""
    if phase == k.RETRACT:
        return -(wave + 2) if check == k.CHECK_BEFORE else -(wave + 1)
    return wave + 1 if check == k.CHECK_BEFORE else wave


@inlined
def level_with(row, columns, wide, level, inside, check, phase, bound):
    """Returns the level of an instance with one more row, or -1 if the overlay hides the row."""
    if check == k.CHECK_NONE and inside == 0:
        return level
    meta = load64(row, columns + k.META)
    if check != k.CHECK_NONE and is_hidden(meta >> k.STAMP_SHIFT, phase, bound):
        return -1
    return max(level, rank_of(meta, wide)) if inside != 0 else level


@kernel
def is_ending(code, block):
    """True if an iterator of buckets is the end of one rule, with no checks behind it."""
    return (
        load64(code, block + k.OP) == k.ITERATE_PROBE
        and load64(code, block + k.EMIT_N) == 1
        and load64(code, block + k.CHILD) < 0
        and load64(code, block + k.EQUAL_N) == 0
        and load64(code, block + k.TAIL_N) == 0
        and load64(code, block + k.BOUND_N) == 0
        and 0 < load64(code, load64(code, block + k.EMIT_AT) + k.EMIT_COUNT) <= 3
    )


@kernel
def leads_to_ending(code, block):
    """True if an iterator reads rows by their lines, and the only iterator behind it `is_ending`."""
    op = load64(code, block + k.OP)
    if (
        (op != k.ITERATE_BATCH and op != k.ITERATE_PROBE and op != k.ITERATE_SCAN)
        or load64(code, block + k.CHILD) < 0
        or load64(code, block + k.EMIT_N) != 0
        or load64(code, block + k.EQUAL_N) != 0
        or load64(code, block + k.TAIL_N) != 0
        or load64(code, block + k.BOUND_N) != 0
        or load64(code, block + k.ONCE_N) != 0
    ):
        return False
    ending = load64(code, k.CODE_BLOCKS + load64(code, block + k.CHILD))
    return load64(code, ending + k.SIBLING) < 0 and load64(code, ending + k.SPLIT) < 0 and is_ending(code, ending)


@kernel
def source_of(code, register, bind_at, bind_count):
    """Returns the column of the row from which an iterator binds a register, or -1."""
    for i in range(bind_count):
        if load64(code, bind_at + 2 * i + 1) == register:
            return load64(code, bind_at + 2 * i)
    return -1


@kernel
def fetch_keys(stores, arrangements, code, child, bind_at, bind_count, registers, row, noted):
    """Prefetches the slots where an iterator and its siblings will look for the keys of a later row.

    Writes the hash of the iterator's key to the address `noted`. Takes the addresses of S, A and the registers: to pass
    an array costs more than all the rest.
    """
    first = child
    while child >= 0:
        block = load64(code, k.CODE_BLOCKS + child)
        op = load64(code, block + k.OP)
        size = table = 0
        if op == k.ITERATE_PROBE:
            line = arrangements + load64(code, block + k.TARGET) * k.ARRANGEMENT_FIELDS * 8
            table, size = load64(line, k.TABLE), load64(line, k.TABLE_MASK)
        elif op == k.ITERATE_FIND:
            line = stores + load64(code, block + k.ROW_RELATION) * k.STORE_FIELDS * 8
            table, size = load64(line, k.SLOTS), load64(line, k.SLOT_COUNT)
        if size >= NEAR:
            keys = load64(code, block + k.KEY_AT)
            state = HASH_START
            for i in range(load64(code, block + k.KEY_N)):
                register = load64(code, keys + i)
                source = source_of(code, register, bind_at, bind_count)
                state = hash_word(state, load64(row, source) if source >= 0 else load64(registers, register))
            hashed = hash_end(state)
            prefetch_read(table, hashed & size if op == k.ITERATE_PROBE else home_slot(hashed, size))
            if child == first:
                store64(noted, 0, hashed)
        child = load64(code, block + k.SIBLING)


@kernel
def noted_entry(arrangement, hashed, key_count):
    """Returns the address of the entry of an arrangement (its line in A) with a hash, or 0."""
    table, mask = load64(arrangement, k.TABLE), load64(arrangement, k.TABLE_MASK)
    at = hashed & mask
    while True:
        slot = load64(table, at)
        if slot == 0:
            return 0
        if (slot >> k.HASH_SHIFT) & k.LOW_MASK == hashed:
            return load64(arrangement, k.ENTRIES) + ((slot & k.LOW_MASK) - 1) * (k.ENTRY_EXTRA + key_count) * 8
        at = (at + 1) & mask


@kernel
def fetch_found(store, hashed):
    """Prefetches the row that a look-up in the index of a relation (its line in S) compares with: one with the hash."""
    slots, size = load64(store, k.SLOTS), load64(store, k.SLOT_COUNT)
    at = home_slot(hashed, size)
    slot = load64(slots, at)
    while slot != 0 and (slot >> k.HASH_SHIFT) & k.LOW_MASK != hashed:
        at = slot_after(at, size)
        slot = load64(slots, at)
    if slot != 0:
        fetch_row(load64(store, k.ROWS), (slot & k.LOW_MASK) - 1, load64(store, k.WIDTH))


@kernel
def fetch_buckets(stores, arrangements, code, child, noted, cursor, end):
    """Prefetches, step by step, what the keys of later rows lead to: an entry, a bucket, its first rows.

    `noted` has the hashes that `fetch_keys` found, by the last bits of the cursor. Another iterator may have written
    over them, or nothing was noted: then the prefetch is in vain, and does no harm.
    """
    block = load64(code, k.CODE_BLOCKS + child)
    if load64(code, block + k.OP) == k.ITERATE_FIND:
        if cursor + ROWS_AHEAD < end:
            store = stores + load64(code, block + k.ROW_RELATION) * k.STORE_FIELDS * 8
            fetch_found(store, load64(noted, (cursor + ROWS_AHEAD) & k.NOTED_MASK))
        return
    arrangement = arrangements + load64(code, block + k.TARGET) * k.ARRANGEMENT_FIELDS * 8
    key_count = load64(code, block + k.KEY_N)
    if cursor + ENTRY_AHEAD < end:
        hashed = load64(noted, (cursor + ENTRY_AHEAD) & k.NOTED_MASK)
        slot = load64(load64(arrangement, k.TABLE), hashed & load64(arrangement, k.TABLE_MASK))
        if slot != 0:
            prefetch_read(load64(arrangement, k.ENTRIES), ((slot & k.LOW_MASK) - 1) * (k.ENTRY_EXTRA + key_count))
    if cursor + BUCKET_AHEAD < end:
        entry = noted_entry(arrangement, load64(noted, (cursor + BUCKET_AHEAD) & k.NOTED_MASK), key_count)
        if entry != 0:
            prefetch_read(load64(arrangement, k.POOL), load64(entry, k.ENTRY_START) >> 1)
    if cursor + ROWS_AHEAD < end:
        entry = noted_entry(arrangement, load64(noted, (cursor + ROWS_AHEAD) & k.NOTED_MASK), key_count)
        if entry != 0:
            store = stores + load64(code, block + k.ROW_RELATION) * k.STORE_FIELDS * 8
            rows, width, pool = load64(store, k.ROWS), load64(store, k.WIDTH), load64(arrangement, k.POOL)
            start = load64(entry, k.ENTRY_START)
            for place in range(start, start + min(load32(entry, k.ENTRY_LENGTH), ROWS_FETCHED)):
                fetch_row(rows, load32(pool, place), width)


@inlined
def noted_at(buffers, node):
    """Returns where an iterator notes hashes of later keys: behind the staged rows."""
    return buffers[buffers.size - 1] + (2 * k.STAGED_ROWS + (node & (k.NOTED_LISTS - 1)) * (k.NOTED_MASK + 1)) * 8


@inlined
def line_at(source, place):
    """Returns the line at a place of a queue or bucket; a scan has no `source`, and its places are lines."""
    return load32(source, place) if source != 0 else place


@inlined
def fetch_row(rows, line, width):
    """Prefetches a row, whose words may be on two cache lines."""
    prefetch_read(rows, line * width)
    prefetch_read(rows, line * width + width - 1)


@kernel
def leads_far(stores, arrangements, code, child):
    """True if an iterator looks for keys in an arrangement, or in an index, that the caches cannot hold."""
    if child < 0:
        return False
    block = load64(code, k.CODE_BLOCKS + child)
    if load64(code, block + k.OP) == k.ITERATE_FIND:
        line = stores + load64(code, block + k.ROW_RELATION) * k.STORE_FIELDS * 8
        return load64(line, k.SLOT_COUNT) >= FAR
    if load64(code, block + k.OP) != k.ITERATE_PROBE:
        return False
    line = arrangements + load64(code, block + k.TARGET) * k.ARRANGEMENT_FIELDS * 8
    return load64(line, k.TABLE_MASK) >= FAR and load64(line, k.ZONES) == 0


@inlined
def fetch_row_ahead(
    stores, arrangements, code, child, bind_at, bind_count, registers, source, cursor, end, rows, width, noted, far
):
    """Prefetches a row some time before its turn, and later the slots that its keys lead to: they are spread over
    memory. `far`: see `leads_far`; then also what these slots lead to."""
    if cursor + FETCH_AHEAD < end:
        row = rows + line_at(source, cursor + FETCH_AHEAD) * width * 8
        at = noted + ((cursor + FETCH_AHEAD) & k.NOTED_MASK) * 8
        fetch_keys(stores, arrangements, code, child, bind_at, bind_count, registers, row, at)
        if source != 0 and cursor + 2 * FETCH_AHEAD < end:
            fetch_row(rows, load32(source, cursor + 2 * FETCH_AHEAD), width)
    if far:
        fetch_buckets(stores, arrangements, code, child, noted, cursor, end)


@kernel
def fetches_absences(stores, code, tail_at, tail_count):
    """True if a tail looks for negated rows in an index that the caches cannot hold."""
    for step in range(tail_count):
        p = tail_at + step * k.TAIL_WIDTH
        if load64(code, p + k.TAIL_OP) == k.T_ABSENT:
            line = stores + load64(code, p + k.TAIL_TARGET) * k.STORE_FIELDS * 8
            if load64(line, k.SLOT_COUNT) >= NEAR:
                return True
    return False


@kernel
def fetch_absences(
    stores, code, tail_at, tail_count, bind_at, bind_count, registers, source, cursor, end, rows, width, is_near
):
    """Prefetches the slots where the tails of some later rows will look for negated rows; if the turn of these rows
    `is_near`, the rows that the slots lead to.

    A key that the tail itself computes has an old value here: then the prefetch is in vain, and does no harm.
    """
    for place in range(cursor, end):
        row = rows + line_at(source, place) * width * 8
        for step in range(tail_count):
            p = tail_at + step * k.TAIL_WIDTH
            if load64(code, p + k.TAIL_OP) == k.T_ABSENT:
                line = stores + load64(code, p + k.TAIL_TARGET) * k.STORE_FIELDS * 8
                if load64(line, k.SLOT_COUNT) < NEAR:
                    continue
                keys = load64(code, p + k.TAIL_RIGHT)
                state = HASH_START
                for i in range(load64(code, p + k.TAIL_LEFT)):
                    register = load64(code, keys + i)
                    column = source_of(code, register, bind_at, bind_count)
                    state = hash_word(state, load64(row, column) if column >= 0 else load64(registers, register))
                hashed = hash_end(state)
                if is_near:
                    fetch_found(line, hashed)
                else:
                    prefetch_read(load64(line, k.SLOTS), home_slot(hashed, load64(line, k.SLOT_COUNT)))


@inlined
def is_far(S, relation):
    """True if the caches cannot hold the rows of a relation."""
    return S[relation, k.USED] * S[relation, k.WIDTH] >= NEAR


@inlined
def fetch_rows(rows, width, pool, start, end):
    """Prefetches some rows of a bucket."""
    for place in range(start, end):
        fetch_row(rows, load32(pool, place), width)


@kernel
def head_sources(code, block):
    """Returns, for three columns of the head that an iterator emits, the column of its row that they are, or -1.

    A head with fewer columns has its last one several times: see `emit_bucket`.
    """
    emit = load64(code, block + k.EMIT_AT)
    last = load64(code, emit + k.EMIT_COUNT) - 1
    bind_at, bind_count = load64(code, block + k.BIND_AT), load64(code, block + k.BIND_N)
    from_0 = source_of(code, load64(code, emit + k.EMIT_REGISTERS), bind_at, bind_count)
    from_1 = source_of(code, load64(code, emit + k.EMIT_REGISTERS + min(1, last)), bind_at, bind_count)
    from_2 = source_of(code, load64(code, emit + k.EMIT_REGISTERS + last), bind_at, bind_count)
    return from_0, from_1, from_2


@inlined
def emit_bucket(
    code, emit, head, registers, pool, cursor, end, rows, width, columns, wide, inside, level, threads, buffers, counts,
    tally, check, phase, bound, combine, far,
):  # fmt: skip
    """Emits an instance for each row of a bucket, as far as the buffers allow; returns the cursor, and True if one is
    full.

    The head is made of the words that the bucket's rows have in common and of the columns of each row, without reading
    registers and code again. Three words are always written, the last one several times if the head has fewer. Whether
    an instance is new decides only where it is written. No processor can predict it, so `place` and `levels` are chosen
    by a mask instead of a branch.
    """
    n = load64(code, emit + k.EMIT_COUNT)
    second, third = min(1, n - 1), n - 1
    stride = (n + k.INSTANCE_EXTRA) * 8
    slot = load64(code, emit + k.EMIT_SLOT)
    buffer = slot * threads
    tables = buffers.size // 2
    from_0, from_1, from_2 = head
    word_0 = registers[load64(code, emit + k.EMIT_REGISTERS)]
    word_1 = registers[load64(code, emit + k.EMIT_REGISTERS + second)]
    word_2 = registers[load64(code, emit + k.EMIT_REGISTERS + third)]
    state_0 = hash_word(HASH_START, word_0)
    base = buffers[buffer]
    table = buffers[tables + buffer]
    staged_at = buffers[2 * tables]
    start = cursor
    last = end
    end = min(end, cursor + k.MOST_REPEATS)
    hidden = repeats = most = 0
    while cursor < end and most < k.OUT_ROWS:
        # A few rows at a time, first up to the address that each leads to, so that the waits for memory overlap.
        staged = 0
        stop = min(end, cursor + k.STAGED_ROWS)
        if far:
            fetch_rows(rows, width, pool, cursor, stop)
        while cursor < stop:
            row = rows + load32(pool, cursor) * width * 8
            cursor += 1
            found_level = level_with(row, columns, wide, level, inside, check, phase, bound)
            if found_level < 0:
                hidden += 1
                continue
            state = state_0
            if from_0 >= 0:
                state = hash_word(HASH_START, load64(row, from_0))
            if n > 1:
                state = hash_word(state, load64(row, from_1) if from_1 >= 0 else word_1)
            if n > 2:
                state = hash_word(state, load64(row, from_2) if from_2 >= 0 else word_2)
            hashed = hash_end(state)
            if combine == 1:
                if threads > 1:
                    part = slot * threads + ((hashed * threads) >> k.HASH_SHIFT)
                    base, table = buffers[part], buffers[tables + part]
                recent = load64(table, hashed & k.RECENT_MASK)
                prefetch(base + (recent & k.PLACE_MASK) * stride, 0)
            store64(staged_at, 2 * staged, row)
            store64(staged_at, 2 * staged + 1, (found_level << k.HASH_SHIFT) | hashed)
            staged += 1
        count = counts[buffer]
        for i in range(staged):
            row = load64(staged_at, 2 * i)
            hashed = load64(staged_at, 2 * i + 1)
            found_level = hashed >> k.HASH_SHIFT
            hashed = hashed & k.LOW_MASK
            if from_0 >= 0:
                word_0 = load64(row, from_0)
            if from_1 >= 0:
                word_1 = load64(row, from_1)
            if from_2 >= 0:
                word_2 = load64(row, from_2)
            if threads > 1:
                counts[buffer] = count
                buffer = slot * threads + ((hashed * threads) >> k.HASH_SHIFT)
                base, table = buffers[buffer], buffers[tables + buffer]
                count = counts[buffer]
            place = count
            levels = found_level
            if combine == 1:
                at = hashed & k.RECENT_MASK
                recent = load64(table, at)
                line = base + (recent & k.PLACE_MASK) * stride
                seen = load64(line, n + k.INSTANCE_LEVEL)
                is_there = (
                    (recent >> k.PLACE_BITS == hashed)
                    & (recent & k.PLACE_MASK < count)
                    & (seen & k.LOW_MASK == found_level)
                    & (load64(line, 0) == word_0)
                    & (load64(line, second) == word_1)
                    & (load64(line, third) == word_2)
                )
                mask = -np.int64(is_there)
                place = count ^ ((count ^ (recent & k.PLACE_MASK)) & mask)
                levels = found_level ^ ((found_level ^ (seen + (1 << k.REPEAT_SHIFT))) & mask)
                store64(table, at, (hashed << k.PLACE_BITS) | place)
            line = base + place * stride
            store64(line, 0, word_0)
            store64(line, second, word_1)
            store64(line, third, word_2)
            store64(line, n + k.INSTANCE_LEVEL, levels)
            store64(line, n + k.INSTANCE_HASH, hashed)
            is_new = 1 if place == count else 0
            count += is_new
            repeats += 1 - is_new
            most = max(most, count)
        counts[buffer] = count
    if repeats > 0:
        counts[tables + slot] += repeats
    tally[load64(code, emit + k.EMIT_TALLY)] += cursor - start - hidden
    return cursor, most >= k.OUT_ROWS or cursor < last


@kernel
def emit_buckets(
    S, A, code, block, registers, iterators, node, source, cursor, end, level, threads, buffers, counts, tally, check,
    phase, wave, bound, combine,
):  # fmt: skip
    """Emits the buckets of the rows of an iterator that `leads_to_ending`, as far as the buffers allow.

    Returns the cursor, how many rows of buckets were read, whether the iterator of the buckets has to continue one, and
    whether a buffer is full.
    """
    relation, inside = load64(code, block + k.ROW_RELATION), load64(code, block + k.INSIDE)
    rows, width, columns = S[relation, k.ROWS], S[relation, k.WIDTH], S[relation, k.COLUMNS]
    wide = S[relation, k.WIDE]
    bind_count, bind_at = load64(code, block + k.BIND_N), load64(code, block + k.BIND_AT)
    child = load64(code, block + k.CHILD)
    ending = load64(code, k.CODE_BLOCKS + child)
    target = load64(code, ending + k.TARGET)
    keys, key_count = load64(code, ending + k.KEY_AT), load64(code, ending + k.KEY_N)
    pool, entries = A[target, k.POOL], A[target, k.ENTRIES]
    entry_width = (k.ENTRY_EXTRA + key_count) * 8
    last = load64(code, ending + k.ROW_RELATION)
    last_rows, last_width, last_columns = S[last, k.ROWS], S[last, k.WIDTH], S[last, k.COLUMNS]
    last_wide = S[last, k.WIDE]
    last_inside, last_check = load64(code, ending + k.INSIDE), load64(code, ending + k.CHECK)
    if S[last, k.CHANGED] == 0:
        last_check = k.CHECK_NONE
    last_bound = stamp_bound(last_check, phase, wave)
    emit = load64(code, ending + k.EMIT_AT)
    head = head_sources(code, ending)
    far = is_far(S, last)
    stores, arrangements, known = S.ctypes.data, A.ctypes.data, registers.ctypes.data
    noted = noted_at(buffers, node)
    leads = leads_far(stores, arrangements, code, child)
    looked_at = 0
    end = min(end, cursor + k.PAUSE_ROWS)
    while cursor < end:
        row = rows + line_at(source, cursor) * width * 8
        fetch_row_ahead(
            stores,
            arrangements,
            code,
            child,
            bind_at,
            bind_count,
            known,
            source,
            cursor,
            end,
            rows,
            width,
            noted,
            leads,
        )
        cursor += 1
        found_level = level_with(row, columns, wide, level, inside, check, phase, bound)
        if found_level < 0:
            continue
        for i in range(bind_count):
            registers[load64(code, bind_at + 2 * i + 1)] = load64(row, load64(code, bind_at + 2 * i))
        entry = probe(A, target, code, keys, key_count, registers)
        if entry < 0:
            continue
        address = entries + entry * entry_width
        at = load64(address, k.ENTRY_START)
        stop = at + load32(address, k.ENTRY_LENGTH)
        looked_at += stop - at + 1
        at, full = emit_bucket(
            code, emit, head, registers, pool, at, stop, last_rows, last_width, last_columns, last_wide, last_inside,
            found_level, threads, buffers, counts, tally, last_check, phase, last_bound, combine, far,
        )  # fmt: skip
        if full or looked_at > k.PAUSE_ROWS:
            iterators[node, k.ITER_LEVEL] = found_level
            iterators[child, k.ITER_STARTED], iterators[child, k.ITER_CURSOR], iterators[child, k.ITER_END] = (
                1,
                at,
                stop,
            )
            return cursor, looked_at - (stop - at), True, full
    return cursor, looked_at, False, False
