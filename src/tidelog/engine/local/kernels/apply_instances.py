"""Births and deaths: a buffer of rule instances (head, level) → changes of the rows of the head's relation.

`total` counts every instance of a row, `count` those of a level below its rank (docs/decisions/0002). In RETRACT a row
whose count reaches zero dies with the next wave. In INSERT an absent row is PENDING, with the lowest level seen, and
enters with the next wave. Bootstrap is INSERT into an empty stratum.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.index import (
    add_row,
    fetch_ahead,
    find_from,
    find_or_add,
    find_row,
    hash_of,
    hash_row,
    home_slot,
    log_created,
    same_words,
    search_from,
    slot_after,
    touch,
)
from tidelog.engine.local.kernels.memory import (
    atomic_add,
    atomic_load,
    claim,
    inlined,
    kernel,
    load64,
    prefetch,
    store32,
    store64,
)
from tidelog.engine.local.kernels.row_counts import (
    count_of,
    rank_of,
    set_count,
    set_numbers,
    set_total,
    total_of,
    with_rank,
)


@kernel
def add_pending(S, relation, line):
    store32(S[relation, k.PENDING_ROWS], S[relation, k.PENDING_COUNT], line)
    S[relation, k.PENDING_COUNT] += 1


@kernel
def with_stamp(meta, stamp):
    """Returns the meta word with another stamp."""
    return (stamp << k.STAMP_SHIFT) | (meta & 0xFFFFFFFF)


@kernel
def level_of(head, columns):
    """Returns the level of an instance in a buffer."""
    return load64(head, columns + k.INSTANCE_LEVEL) & k.LOW_MASK


@kernel
def times_of(head, columns):
    """Returns how many instances one instance in a buffer stands for."""
    return (load64(head, columns + k.INSTANCE_LEVEL) >> k.REPEAT_SHIFT) + 1


@kernel
def retract_instances(S, relation, buffer, count):
    """Deletes `count` instances; returns 0, or -1 if a head is not there (the state is broken)."""
    columns = S[relation, k.COLUMNS]
    wide = S[relation, k.WIDE]
    stride = S[relation, k.WIDTH] * 8
    rows = S[relation, k.ROWS]
    fetch_ahead(S, relation, buffer, count)
    for i in range(count):
        head = buffer + i * (columns + k.INSTANCE_EXTRA) * 8
        line = find_from(S, relation, head, hash_of(head, columns), search_from(head, columns))
        if line < 0:
            return -1
        row = rows + line * stride
        touch(S, relation, line, row, columns)
        times = times_of(head, columns)
        set_total(row, columns, wide, total_of(row, columns, wide) - times)
        rank = rank_of(load64(row, columns + k.META), wide)
        if level_of(head, columns) < rank:
            remaining = count_of(row, columns, wide) - times
            set_count(row, columns, wide, remaining)
            if remaining == 0:
                add_pending(S, relation, line)
    return 0


@kernel
def insert_instances(S, relation, buffer, count, wave, logging):
    """Inserts `count` instances; returns how many it did before the relation could no longer be slim."""
    columns = S[relation, k.COLUMNS]
    wide = S[relation, k.WIDE]
    most = k.LARGEST_SLIM if wide == k.IS_SLIM else k.WIDEN
    stride = S[relation, k.WIDTH] * 8
    rows = S[relation, k.ROWS]
    slots = S[relation, k.SLOTS]
    size = S[relation, k.SLOT_COUNT]
    fetch_ahead(S, relation, buffer, count)
    for i in range(count):
        head = buffer + i * (columns + k.INSTANCE_EXTRA) * 8
        level = level_of(head, columns)
        times = times_of(head, columns)
        hashed = hash_of(head, columns)
        at = search_from(head, columns)
        while True:
            slot = load64(slots, at)
            line = (slot & k.LOW_MASK) - 1
            if slot == 0 or (
                (slot >> k.HASH_SHIFT) & k.LOW_MASK == hashed and same_words(rows + line * stride, head, columns)
            ):
                break
            at = slot_after(at, size)
        if line < 0:
            if times > most:
                return i
            line = add_row(S, relation, head, hashed, at)
            row = rows + line * stride
            meta = (k.PENDING << k.STAMP_SHIFT) | k.TOUCHED_BIT
            store64(row, columns + k.META, with_rank(meta, level + 1, wide))
            set_numbers(row, columns, wide, times, times)
            if logging != 0:
                log_created(S, relation, line)
            add_pending(S, relation, line)
            continue
        row = rows + line * stride
        total = total_of(row, columns, wide) + times
        if total > most:
            return i
        if logging != 0:
            touch(S, relation, line, row, columns)
        set_total(row, columns, wide, total)
        meta = load64(row, columns + k.META)
        stamp = meta >> k.STAMP_SHIFT
        rank = rank_of(meta, wide)
        if stamp == k.PENDING:
            if level + 1 < rank:
                store64(row, columns + k.META, with_rank(meta, level + 1, wide))
                set_count(row, columns, wide, times)
            elif level + 1 == rank:
                set_count(row, columns, wide, count_of(row, columns, wide) + times)
        elif stamp >= 0:
            if level < rank:
                set_count(row, columns, wide, count_of(row, columns, wide) + times)
        elif wave > 0:
            # A dead row that is found again returns with the next wave. (In wave 0 its total is enough.)
            store64(row, columns + k.META, with_rank(with_stamp(meta, k.PENDING), level + 1, wide))
            set_count(row, columns, wide, times)
            add_pending(S, relation, line)
    return count


@kernel
def reserve_lines(S, relation, reserve, slot):
    """Reserves unused lines at the end of a relation for this thread; until they hold a row they look freed."""
    first = atomic_add(S.ctypes.data, relation * k.STORE_FIELDS + k.USED, k.RESERVED_AT_A_TIME)
    width = S[relation, k.WIDTH]
    columns = S[relation, k.COLUMNS]
    wide = S[relation, k.WIDE]
    for line in range(first, first + k.RESERVED_AT_A_TIME):
        row = S[relation, k.ROWS] + line * width * 8
        store64(row, columns + k.META, k.FREED << k.STAMP_SHIFT)
        set_numbers(row, columns, wide, 0, 0)
    reserve[slot, k.RESERVED_FROM] = first
    reserve[slot, k.RESERVED_TO] = first + k.RESERVED_AT_A_TIME


@inlined
def find_or_claim(slots, size, rows, stride, columns, head, hashed, line):
    """Returns the line of a head; if it has none, gives it `line` and returns -1 - line.

    No other thread has heads with this hash, but near the border between the slots of two threads another one may claim
    the slot that was found empty.
    """
    at = search_from(head, columns)
    copied = False
    while True:
        slot = atomic_load(slots, at)
        if slot == 0:
            if not copied:
                for i in range(columns):
                    store64(rows + line * stride, i, load64(head, i))
                copied = True
            if claim(slots, at, (hashed << k.HASH_SHIFT) | (line + 1)) == 0:
                return -1 - line
            continue
        if (slot >> k.HASH_SHIFT) & k.LOW_MASK == hashed:
            found = (slot & k.LOW_MASK) - 1
            if same_words(rows + found * stride, head, columns):
                return found
        at = slot_after(at, size)


@kernel
def bootstrap_instances(S, relation, slot, buffer, count, reserve, fresh):
    """Inserts instances on one of several threads of a Bootstrap: only this thread has these heads; no row is dead or
    logged. The relation is not slim.

    `fresh` is scratch for as many lines as there are instances.
    """
    columns = S[relation, k.COLUMNS]
    wide = S[relation, k.WIDE]
    stride = S[relation, k.WIDTH] * 8
    rows = S[relation, k.ROWS]
    slots = S[relation, k.SLOTS]
    size = S[relation, k.SLOT_COUNT]
    fetch_ahead(S, relation, buffer, count)
    fresh_count = 0
    for i in range(count):
        head = buffer + i * (columns + k.INSTANCE_EXTRA) * 8
        level = level_of(head, columns)
        times = times_of(head, columns)
        hashed = hash_of(head, columns)
        if reserve[slot, k.RESERVED_FROM] == reserve[slot, k.RESERVED_TO]:
            reserve_lines(S, relation, reserve, slot)
        line = find_or_claim(slots, size, rows, stride, columns, head, hashed, reserve[slot, k.RESERVED_FROM])
        if line < 0:
            line = -1 - line
            reserve[slot, k.RESERVED_FROM] = line + 1
            row = rows + line * stride
            meta = (k.PENDING << k.STAMP_SHIFT) | k.TOUCHED_BIT
            store64(row, columns + k.META, with_rank(meta, level + 1, wide))
            set_numbers(row, columns, wide, times, times)
            fresh[fresh_count] = line
            fresh_count += 1
            continue
        row = rows + line * stride
        set_total(row, columns, wide, total_of(row, columns, wide) + times)
        meta = load64(row, columns + k.META)
        rank = rank_of(meta, wide)
        if meta >> k.STAMP_SHIFT != k.PENDING:
            if level < rank:
                set_count(row, columns, wide, count_of(row, columns, wide) + times)
        elif level + 1 < rank:
            store64(row, columns + k.META, with_rank(meta, level + 1, wide))
            set_count(row, columns, wide, times)
        elif level + 1 == rank:
            set_count(row, columns, wide, count_of(row, columns, wide) + times)
    if fresh_count > 0:
        line = S.ctypes.data + relation * k.STORE_FIELDS * 8
        atomic_add(line, k.LIVE, fresh_count)
        place = atomic_add(line, k.PENDING_COUNT, fresh_count)
        for i in range(fresh_count):
            store32(S[relation, k.PENDING_ROWS], place + i, fresh[i])


@kernel
def retract_facts(S, relation, facts, count):
    """Deletes input facts, all of them present: one instance of level -1 each. Rows that die are pending, for wave
    0."""
    columns = S[relation, k.COLUMNS]
    wide = S[relation, k.WIDE]
    for i in range(count):
        line = find_row(S, relation, facts + i * columns * 8)
        if line < 0:
            return -1
        row = S[relation, k.ROWS] + line * S[relation, k.WIDTH] * 8
        touch(S, relation, line, row, columns)
        store64(row, columns + k.META, load64(row, columns + k.META) & ~k.INPUT_BIT)
        set_total(row, columns, wide, total_of(row, columns, wide) - 1)
        remaining = count_of(row, columns, wide) - 1
        set_count(row, columns, wide, remaining)
        if remaining == 0:
            add_pending(S, relation, line)
    return 0


@kernel
def insert_facts(S, relation, facts, count, logging):
    """Inserts input facts, none of them present as a fact. An absent or dead row is pending, for wave 0."""
    columns = S[relation, k.COLUMNS]
    wide = S[relation, k.WIDE]
    for i in range(count):
        if i % k.PIECE == 0:
            for ahead in range(i, min(i + k.PIECE, count)):
                hashed = hash_row(facts + ahead * columns * 8, columns)
                prefetch(S[relation, k.SLOTS], home_slot(hashed, S[relation, k.SLOT_COUNT]))
        line = find_or_add(S, relation, facts + i * columns * 8)
        if line < 0:
            line = -1 - line
            row = S[relation, k.ROWS] + line * S[relation, k.WIDTH] * 8
            store64(row, columns + k.META, (k.PENDING << k.STAMP_SHIFT) | k.TOUCHED_BIT | k.INPUT_BIT)
            set_numbers(row, columns, wide, 1, 1)
            if logging != 0:
                log_created(S, relation, line)
            add_pending(S, relation, line)
            continue
        row = S[relation, k.ROWS] + line * S[relation, k.WIDTH] * 8
        if logging != 0:
            touch(S, relation, line, row, columns)
        set_total(row, columns, wide, total_of(row, columns, wide) + 1)
        meta = load64(row, columns + k.META) | k.INPUT_BIT
        if meta >> k.STAMP_SHIFT == 0:
            store64(row, columns + k.META, meta)
            set_count(row, columns, wide, count_of(row, columns, wide) + 1)
        else:
            store64(row, columns + k.META, with_rank(with_stamp(meta, k.PENDING), 0, wide))
            set_count(row, columns, wide, 1)
            add_pending(S, relation, line)
    return 0
