"""A count per row and iteration: the state of the strategy `counting`, and the steps that update it.

Beside the rows of a relation lie, for each line, the iterations in which the row has rule instances, with how many:
entries (iteration, count, next) in a pool, in a ring ordered by iteration. The word of a line is the ring's last entry,
so the lowest iteration and the highest are both one step away. A ring has an iteration twice only if a count has
outgrown its 32 bits.

An instance of level l is an instance of iteration l + 1, an input fact one of iteration 0. A row is *valued* while the
joins see it, with its rank; the other rows are hidden behind a negative stamp. Steps go through the iterations upwards.
Step i processes every row whose lowest iteration is no longer its rank: the row is hidden, enters with rank i, or
moves. All changes that follow have an iteration above i. `BUCKETS` has a list of lines to process per iteration.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.apply_instances import add_pending, with_stamp
from tidelog.engine.local.kernels.arrange import arrange_queue, unarrange_row
from tidelog.engine.local.kernels.index import (
    fetch_ahead,
    find_hashed,
    find_or_add,
    find_or_add_hashed,
    find_row,
    hash_of,
    log_created,
    remove_row,
    touch,
)
from tidelog.engine.local.kernels.memory import entry_point, kernel, load32, load64, store32, store64
from tidelog.engine.local.kernels.row_counts import set_count, set_numbers, set_total, total_of, with_rank
from tidelog.engine.local.kernels.waves import has_room, take_pending

# The words of a relation's counts.
LAST, LAST_CAPACITY = 0, 1  # per line: the last entry of its ring, from 1; 0: no ring
ENTRIES, ENTRY_COUNT, ENTRY_CAPACITY, ENTRY_FREE, ENTRY_FREE_COUNT = 2, 3, 4, 5, 6
BUCKETS, BUCKET_CAPACITY = 7, 8  # per iteration: its first event, from 1; 0: no event
EVENTS, EVENT_COUNT, EVENT_CAPACITY, EVENT_FREE, EVENT_FREE_COUNT = 9, 10, 11, 12, 13
UNDO, UNDO_COUNT, UNDO_CAPACITY = 14, 15, 16  # line << 32 | iteration << 1 | (1 where an instance was added)
COUNT_LIMIT = 17  # the largest number of one entry
COUNTS_FIELDS = 18

ITERATION, NUMBER, NEXT, ENTRY_WORDS = 0, 1, 2, 3  # an entry, in 32-bit words
EVENT_LINE, EVENT_NEXT, EVENT_WORDS = 0, 1, 2

# Stamps of the rows of a stratum while its steps run; 0: valued.
HIDDEN, CHOSEN, MOVING = -1, -2, 2  # CHOSEN: hidden, and enters in this step. MOVING: in the batch.
NEVER = 1 << 40


@kernel
def row_at(S, relation, line):
    return S[relation, k.ROWS] + line * S[relation, k.WIDTH] * 8


# Rings


@kernel
def new_entry(c, iteration, following):
    """Adds an entry that counts one; the caller has made room."""
    entry = c[ENTRY_FREE]
    if entry >= 0:
        c[ENTRY_FREE] = load32(c[ENTRIES], entry * ENTRY_WORDS + NEXT)
        c[ENTRY_FREE_COUNT] -= 1
    else:
        entry = c[ENTRY_COUNT]
        c[ENTRY_COUNT] = entry + 1
    store32(c[ENTRIES], entry * ENTRY_WORDS + ITERATION, iteration)
    store32(c[ENTRIES], entry * ENTRY_WORDS + NUMBER, 1)
    store32(c[ENTRIES], entry * ENTRY_WORDS + NEXT, entry if following < 0 else following)
    return entry


@kernel
def lowest(c, line):
    """Returns the lowest iteration in which the row has an instance, or NEVER."""
    last = load32(c[LAST], line) - 1
    if last < 0:
        return NEVER
    return load32(c[ENTRIES], load32(c[ENTRIES], last * ENTRY_WORDS + NEXT) * ENTRY_WORDS + ITERATION)


@kernel
def number_of_lowest(c, line):
    """Returns how many instances the row has in its lowest iteration."""
    entries = c[ENTRIES]
    last = load32(c[LAST], line) - 1
    entry = load32(entries, last * ENTRY_WORDS + NEXT)
    iteration = load32(entries, entry * ENTRY_WORDS + ITERATION)
    number = load32(entries, entry * ENTRY_WORDS + NUMBER)
    while entry != last:
        entry = load32(entries, entry * ENTRY_WORDS + NEXT)
        if load32(entries, entry * ENTRY_WORDS + ITERATION) != iteration:
            break
        number += load32(entries, entry * ENTRY_WORDS + NUMBER)
    return number


@kernel
def add_one(c, line, iteration):
    """Adds one instance; returns True if it needed a new lowest entry."""
    entries = c[ENTRIES]
    last = load32(c[LAST], line) - 1
    if last < 0:
        store32(c[LAST], line, new_entry(c, iteration, -1) + 1)
        return True
    entry = load32(entries, last * ENTRY_WORDS + NEXT)
    if load32(entries, last * ENTRY_WORDS + ITERATION) < iteration:
        added = new_entry(c, iteration, entry)
        store32(entries, last * ENTRY_WORDS + NEXT, added)
        store32(c[LAST], line, added + 1)
        return False
    previous = last
    is_lowest = True
    while load32(entries, entry * ENTRY_WORDS + ITERATION) < iteration:
        previous = entry
        entry = load32(entries, entry * ENTRY_WORDS + NEXT)
        is_lowest = False
    if load32(entries, entry * ENTRY_WORDS + ITERATION) == iteration:
        number = load32(entries, entry * ENTRY_WORDS + NUMBER)
        if number < c[COUNT_LIMIT]:
            store32(entries, entry * ENTRY_WORDS + NUMBER, number + 1)
            return False
    store32(entries, previous * ENTRY_WORDS + NEXT, new_entry(c, iteration, entry))
    return is_lowest


@kernel
def take_one(c, line, iteration):
    """Removes one instance. Returns 1 if its entry was removed too, 0 if not, -1 if there was no such instance."""
    entries = c[ENTRIES]
    last = load32(c[LAST], line) - 1
    if last < 0 or load32(entries, last * ENTRY_WORDS + ITERATION) < iteration:
        return -1
    previous = last
    entry = load32(entries, last * ENTRY_WORDS + NEXT)
    while load32(entries, entry * ENTRY_WORDS + ITERATION) < iteration:
        previous = entry
        entry = load32(entries, entry * ENTRY_WORDS + NEXT)
    if load32(entries, entry * ENTRY_WORDS + ITERATION) != iteration:
        return -1
    number = load32(entries, entry * ENTRY_WORDS + NUMBER) - 1
    if number > 0:
        store32(entries, entry * ENTRY_WORDS + NUMBER, number)
        return 0
    if entry == previous:
        store32(c[LAST], line, 0)
    else:
        store32(entries, previous * ENTRY_WORDS + NEXT, load32(entries, entry * ENTRY_WORDS + NEXT))
        if entry == last:
            store32(c[LAST], line, previous + 1)
    store32(entries, entry * ENTRY_WORDS + NEXT, c[ENTRY_FREE])
    c[ENTRY_FREE] = entry
    c[ENTRY_FREE_COUNT] += 1
    return 1


# Events


@kernel
def schedule(c, line, iteration):
    """Schedules the row for a step; the caller has made room."""
    event = c[EVENT_FREE]
    if event >= 0:
        c[EVENT_FREE] = load32(c[EVENTS], event * EVENT_WORDS + EVENT_NEXT)
        c[EVENT_FREE_COUNT] -= 1
    else:
        event = c[EVENT_COUNT]
        c[EVENT_COUNT] = event + 1
    store32(c[EVENTS], event * EVENT_WORDS + EVENT_LINE, line)
    store32(c[EVENTS], event * EVENT_WORDS + EVENT_NEXT, load32(c[BUCKETS], iteration) - 1)
    store32(c[BUCKETS], iteration, event + 1)


@entry_point("int64(int64[::1], int64)")
def next_step(c, start):
    """Returns the lowest iteration from `start` on with events, or -1."""
    if c[EVENT_COUNT] == c[EVENT_FREE_COUNT]:
        return -1
    for iteration in range(start, c[BUCKET_CAPACITY]):
        if load32(c[BUCKETS], iteration) != 0:
            return iteration
    return -1


@entry_point("int64(int64[::1], int64)")
def events_of(c, step):
    """Returns how many events a step has."""
    count = 0
    event = load32(c[BUCKETS], step) - 1
    while event >= 0:
        count += 1
        event = load32(c[EVENTS], event * EVENT_WORDS + EVENT_NEXT)
    return count


# Instances


@kernel
def has_room_for(S, c, relation, count, logging):
    """True if as many instances fit everywhere. (An iteration is at most one above the highest rank: BUCKETS.)"""
    if not has_room(S, relation, count, count, logging) or c[LAST_CAPACITY] < S[relation, k.CAPACITY]:
        return False
    if c[ENTRY_COUNT] - c[ENTRY_FREE_COUNT] + count > c[ENTRY_CAPACITY]:
        return False
    if c[EVENT_COUNT] - c[EVENT_FREE_COUNT] + count > c[EVENT_CAPACITY]:
        return False
    return logging == 0 or c[UNDO_COUNT] + count <= c[UNDO_CAPACITY]


@kernel
def add_instance(S, c, relation, line, iteration, logging):
    """Adds an instance of a row that is in the index."""
    columns = S[relation, k.COLUMNS]
    wide = S[relation, k.WIDE]
    row = row_at(S, relation, line)
    set_total(row, columns, wide, total_of(row, columns, wide) + 1)
    if logging != 0:
        store64(c[UNDO], c[UNDO_COUNT], (line << 32) | (iteration << 1) | 1)
        c[UNDO_COUNT] += 1
    if add_one(c, line, iteration):
        meta = load64(row, columns + k.META)
        if meta >> k.STAMP_SHIFT < 0 or iteration < (meta >> k.RANK_SHIFT) & k.RANK_MASK:
            schedule(c, line, iteration)


@kernel
def init_row(S, relation, line, bits, logging):
    """Initializes a row that is new in the index: hidden until a step shows it."""
    columns = S[relation, k.COLUMNS]
    wide = S[relation, k.WIDE]
    row = row_at(S, relation, line)
    set_numbers(row, columns, wide, 0, 0)
    store64(row, columns + k.META, (HIDDEN << k.STAMP_SHIFT) | k.TOUCHED_BIT | bits)
    if logging != 0:
        log_created(S, relation, line)


@kernel
def remove_instance(S, c, relation, line, iteration):
    """Removes an instance; returns False if there is none (the state is broken)."""
    columns = S[relation, k.COLUMNS]
    wide = S[relation, k.WIDE]
    row = row_at(S, relation, line)
    touch(S, relation, line, row, columns)
    set_total(row, columns, wide, total_of(row, columns, wide) - 1)
    taken = take_one(c, line, iteration)
    if taken < 0:
        return False
    store64(c[UNDO], c[UNDO_COUNT], (line << 32) | (iteration << 1))
    c[UNDO_COUNT] += 1
    meta = load64(row, columns + k.META)
    if taken > 0 and meta >> k.STAMP_SHIFT >= 0 and iteration == (meta >> k.RANK_SHIFT) & k.RANK_MASK:
        schedule(c, line, iteration)
    return True


@entry_point("int64(int64[:,::1], int64[::1], int64, int64[::1], int64, int64, int64)")
def count_instances(S, c, relation, out, count, sign, logging):
    """Adds (`sign` 1) or removes (-1) the instances (head, level) of a buffer; returns 0, GROW (nothing done) or
    BROKEN."""
    if not has_room_for(S, c, relation, count, logging):
        return k.GROW
    S[relation, k.COUNT_ROOM] -= count
    columns = S[relation, k.COLUMNS]
    done = 0
    while done < count:
        piece = min(count - done, k.PIECE)
        buffer = out.ctypes.data + done * (columns + k.INSTANCE_EXTRA) * 8
        fetch_ahead(S, relation, buffer, piece)
        for i in range(piece):
            head = buffer + i * (columns + k.INSTANCE_EXTRA) * 8
            iteration = load64(head, columns + k.INSTANCE_LEVEL) + 1
            hashed = hash_of(head, columns)
            if sign < 0:
                line = find_hashed(S, relation, head, hashed)
                if line < 0 or not remove_instance(S, c, relation, line, iteration):
                    return k.BROKEN
                continue
            line = find_or_add_hashed(S, relation, head, hashed)
            if line < 0:
                line = -1 - line
                init_row(S, relation, line, 0, logging)
            elif logging != 0:
                touch(S, relation, line, row_at(S, relation, line), columns)
            add_instance(S, c, relation, line, iteration, logging)
        done += piece
    return 0


@entry_point("int64(int64[:,::1], int64[::1], int64, int64[:,::1], int64, int64)")
def count_facts(S, c, relation, facts, sign, logging):
    """Inserts (`sign` 1) or deletes (-1) input facts, each an instance of iteration 0; returns 0, GROW or BROKEN."""
    if not has_room_for(S, c, relation, facts.shape[0], logging):
        return k.GROW
    S[relation, k.COUNT_ROOM] -= facts.shape[0]
    columns = S[relation, k.COLUMNS]
    for i in range(facts.shape[0]):
        fact = facts.ctypes.data + i * facts.shape[1] * 8
        if sign < 0:
            line = find_row(S, relation, fact)
            if line < 0 or not remove_instance(S, c, relation, line, 0):
                return k.BROKEN
            row = row_at(S, relation, line)
            store64(row, columns + k.META, load64(row, columns + k.META) & ~k.INPUT_BIT)
            continue
        line = find_or_add(S, relation, fact)
        if line < 0:
            line = -1 - line
            init_row(S, relation, line, k.INPUT_BIT, logging)
        else:
            row = row_at(S, relation, line)
            if logging != 0:
                touch(S, relation, line, row, columns)
            store64(row, columns + k.META, load64(row, columns + k.META) | k.INPUT_BIT)
        add_instance(S, c, relation, line, 0, logging)
    return 0


# A step


@entry_point("int64(int64[:,::1], int64[::1], int64, int64)")
def choose_rows(S, c, relation, step):
    """Chooses the rows of this step: rows to hide become the batch, rows that enter are pending.

    A row that moves is both. The caller has made room for all events of the step in the queues. Returns how many rows
    are in the batch.
    """
    columns = S[relation, k.COLUMNS]
    event = load32(c[BUCKETS], step) - 1
    store32(c[BUCKETS], step, 0)
    leaving = 0
    while event >= 0:
        line = load32(c[EVENTS], event * EVENT_WORDS + EVENT_LINE)
        following = load32(c[EVENTS], event * EVENT_WORDS + EVENT_NEXT)
        store32(c[EVENTS], event * EVENT_WORDS + EVENT_NEXT, c[EVENT_FREE])
        c[EVENT_FREE] = event
        c[EVENT_FREE_COUNT] += 1
        event = following
        row = row_at(S, relation, line)
        meta = load64(row, columns + k.META)
        stamp = meta >> k.STAMP_SHIFT
        first = lowest(c, line)
        if stamp == HIDDEN:
            if first == step:
                store64(row, columns + k.META, with_stamp(meta, CHOSEN))
                add_pending(S, relation, line)
            elif first != NEVER:
                schedule(c, line, first)
        elif stamp == 0:
            rank = (meta >> k.RANK_SHIFT) & k.RANK_MASK
            if (rank == step and first != step) or (rank > step and first == step):
                store64(row, columns + k.META, with_stamp(meta, MOVING))
                store32(S[relation, k.BATCH], leaving, line)
                leaving += 1
                if first == step:
                    add_pending(S, relation, line)
            elif rank > step and first < rank:
                # The iteration of this event has no instances any more, but another one before its rank has.
                schedule(c, line, first)
    S[relation, k.BATCH_COUNT] = leaving
    return leaving


@entry_point("int64(int64[:,::1], int64[::1], int64, int64)")
def hide_batch(S, c, relation, step):
    """Hides the batch, whose instances are removed; schedules rows that have instances in later iterations."""
    columns = S[relation, k.COLUMNS]
    for place in range(S[relation, k.BATCH_COUNT]):
        line = load32(S[relation, k.BATCH], place)
        row = row_at(S, relation, line)
        first = lowest(c, line)
        store64(row, columns + k.META, with_stamp(load64(row, columns + k.META), CHOSEN if first == step else HIDDEN))
        if first != step and first != NEVER:
            schedule(c, line, first)
    S[relation, k.BATCH_COUNT] = 0
    return 0


@entry_point("int64(int64[:,::1], int64[:,::1], int64, int64[::1])")
def arrange_pending(S, A, relation, hashes):
    """Puts the pending rows into every arrangement; returns the number of an arrangement that must grow first, or
    -1."""
    return arrange_queue(S, A, relation, S[relation, k.PENDING_ROWS], S[relation, k.PENDING_COUNT], hashes)


@entry_point("int64(int64[:,::1], int64[::1], int64, int64)")
def show_pending(S, c, relation, step):
    """Makes the pending rows the batch, valued with this rank; returns how many there are."""
    columns = S[relation, k.COLUMNS]
    wide = S[relation, k.WIDE]
    for place in range(S[relation, k.PENDING_COUNT]):
        line = load32(S[relation, k.PENDING_ROWS], place)
        row = row_at(S, relation, line)
        store64(row, columns + k.META, with_rank(with_stamp(load64(row, columns + k.META), MOVING), step, 0))
        set_count(row, columns, wide, number_of_lowest(c, line))
    if S[relation, k.PENDING_COUNT] > 0:
        S[relation, k.TOP] = max(S[relation, k.TOP], step)
    return take_pending(S, relation)


@entry_point("int64(int64[:,::1], int64)")
def end_batch(S, relation):
    """Marks the batch, whose instances are counted, as valued like all other rows."""
    columns = S[relation, k.COLUMNS]
    for place in range(S[relation, k.BATCH_COUNT]):
        row = row_at(S, relation, load32(S[relation, k.BATCH], place))
        store64(row, columns + k.META, with_stamp(load64(row, columns + k.META), 0))
    S[relation, k.BATCH_COUNT] = 0
    return 0


# The end


@entry_point("int64(int64[:,::1], int64[:,::1], int64[::1], int64)")
def finish(S, A, c, relation):
    """Sets, after the last step, the count of every logged row; removes rows inserted and deleted within the epoch.

    The caller has made room among the free lines. Returns -1 if the numbers contradict each other.
    """
    columns = S[relation, k.COLUMNS]
    wide = S[relation, k.WIDE]
    kept = 0
    for place in range(S[relation, k.LOG_COUNT]):
        entry = S[relation, k.LOG] + place * k.LOG_WIDTH * 8
        line = load64(entry, k.LOGGED_LINE)
        row = row_at(S, relation, line)
        meta = load64(row, columns + k.META)
        first = lowest(c, line)
        if meta >> k.STAMP_SHIFT == 0:
            if first != (meta >> k.RANK_SHIFT) & k.RANK_MASK:
                return -1
            set_count(row, columns, wide, number_of_lowest(c, line))
        elif first != NEVER or total_of(row, columns, wide) != 0:
            return -1
        elif load64(entry, k.LOGGED_TOTAL) < 0:
            arrangement = S[relation, k.FIRST_ARRANGEMENT]
            while arrangement >= 0:
                unarrange_row(S, A, arrangement, line)
                arrangement = A[arrangement, k.NEXT_ARRANGEMENT]
            remove_row(S, relation, line)
            continue
        for word in range(k.LOG_WIDTH):
            store64(S[relation, k.LOG], kept * k.LOG_WIDTH + word, load64(entry, word))
        kept += 1
    S[relation, k.LOG_COUNT] = kept
    return 0


@entry_point("int64(int64[::1])")
def roll_back(c):
    """Undoes every change of the counts since the last commit, the last one first."""
    place = c[UNDO_COUNT]
    while place > 0:
        place -= 1
        change = load64(c[UNDO], place)
        line = change >> 32
        iteration = (change & k.LOW_MASK) >> 1
        if change & 1 != 0:
            take_one(c, line, iteration)
        else:
            add_one(c, line, iteration)
    c[UNDO_COUNT] = 0
    return 0
