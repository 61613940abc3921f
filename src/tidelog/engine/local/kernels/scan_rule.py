"""A rule with one positive literal, in a Bootstrap: the rows of its relation → rows of the head, without a buffer.

The head of each row is written where a new row of the head's relation would lie, some rows ahead of the look-up in the
index; a head that is new mostly stays there, one that was found before is counted at its row. Nothing waits, so no
queue of pending rows is needed: all instances have level 0, and all rows rank 1.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.emit_buckets import (
    FETCH_AHEAD,
    ROWS_AHEAD,
    fetch_absences,
    fetches_absences,
    source_of,
)
from tidelog.engine.local.kernels.index import home_slot, same_words, slot_after
from tidelog.engine.local.kernels.join import run_tail
from tidelog.engine.local.kernels.memory import (
    HASH_START,
    borrowed,
    entry_point,
    hash_end,
    hash_word,
    kernel,
    load64,
    prefetch,
    store64,
)
from tidelog.engine.local.kernels.row_counts import set_numbers, total_of, with_rank
from tidelog.engine.local.kernels.zones import passes_bounds

EMITTED = 0  # in `found`: how many instances there were
HEAD_SOURCES = 1  # behind it: the column of the scanned row that is a column of the head, or -1
DIVIDED = -1


@kernel
def has_head_room(S, head):
    """True if a piece of new rows fits into the head's relation; the index stays at most three quarters full."""
    if S[head, k.USED] + k.PIECE > S[head, k.CAPACITY]:
        return False
    return (S[head, k.LIVE] + k.PIECE) * 4 <= S[head, k.SLOT_COUNT] * 3


@kernel
def place_heads(S, head, hashes, count, stamp):
    """Adds the heads that are written behind the rows of their relation: new ones become rows, others are counted at
    their row. `hashes` has the hash of each; their slots were prefetched."""
    columns, width, wide = S[head, k.COLUMNS], S[head, k.WIDTH], S[head, k.WIDE]
    heads, slots, size = S[head, k.ROWS], S[head, k.SLOTS], S[head, k.SLOT_COUNT]
    used = S[head, k.USED]
    for i in range(count):
        slot = load64(slots, home_slot(hashes[i], size))
        if slot != 0 and (slot >> k.HASH_SHIFT) & k.LOW_MASK == hashes[i]:
            other = heads + ((slot & k.LOW_MASK) - 1) * width * 8
            prefetch(other, 0)
            prefetch(other, width - 1)
    place = used
    for i in range(count):
        made = heads + (used + i) * width * 8
        at = home_slot(hashes[i], size)
        while True:
            slot = load64(slots, at)
            if slot == 0:
                break
            if (slot >> k.HASH_SHIFT) & k.LOW_MASK == hashes[i]:
                other = heads + ((slot & k.LOW_MASK) - 1) * width * 8
                if same_words(other, made, columns):
                    total = total_of(other, columns, wide) + 1
                    set_numbers(other, columns, wide, total, total)
                    break
            at = slot_after(at, size)
        if slot != 0:
            continue
        if place < used + i:
            target = heads + place * width * 8
            for column in range(columns):
                store64(target, column, load64(made, column))
            made = target
        store64(made, columns + k.META, with_rank(stamp << k.STAMP_SHIFT, 1, wide))
        set_numbers(made, columns, wide, 1, 1)
        store64(slots, at, (hashes[i] << k.HASH_SHIFT) | (place + 1))
        place += 1
    S[head, k.USED] = place
    S[head, k.LIVE] += place - used


@entry_point(
    "int64(int64[:,::1], int64, int64, int64, int64, int64, int64, int64[::1], int64[::1], int64[::1], int64[::1])"
)
def scan_rule(S, code, block, head, stamp, first, last, registers, found, hashes, scratch):
    """Adds the instances of a rule over the lines from `first` up to `last` to the relation of its head.

    `block` is the iterator over the lines, behind a root that does nothing. The head's relation is not slim, and has no
    arrangement. New rows get a stamp. Returns the line where the head's relation must grow, `last`, or DIVIDED.
    `hashes` is scratch for PIECE words.
    """
    S, registers, found, hashes, scratch = (
        borrowed(S), borrowed(registers), borrowed(found), borrowed(hashes), borrowed(scratch),
    )  # fmt: skip
    relation = load64(code, block + k.ROW_RELATION)
    rows, width, of_meta = S[relation, k.ROWS], S[relation, k.WIDTH], S[relation, k.COLUMNS] + k.META
    bind_count, bind_at = load64(code, block + k.BIND_N), load64(code, block + k.BIND_AT)
    equal_count, equal_at = load64(code, block + k.EQUAL_N), load64(code, block + k.EQUAL_AT)
    tail_count, tail_at = load64(code, block + k.TAIL_N), load64(code, block + k.TAIL_AT)
    bound_count, bound_at = load64(code, block + k.BOUND_N), load64(code, block + k.BOUND_AT)
    emit = load64(code, block + k.EMIT_AT)
    columns, head_width = S[head, k.COLUMNS], S[head, k.WIDTH]
    heads, slots, size = S[head, k.ROWS], S[head, k.SLOTS], S[head, k.SLOT_COUNT]
    is_plain = equal_count == 0 and tail_count == 0 and bound_count == 0
    known, stores = registers.ctypes.data, S.ctypes.data
    for column in range(columns):
        register = load64(code, emit + k.EMIT_REGISTERS + column)
        source = source_of(code, register, bind_at, bind_count)
        found[HEAD_SOURCES + column] = source
    absences = fetches_absences(stores, code, tail_at, tail_count)
    line = first
    if absences:
        fetch_absences(
            stores, code, tail_at, tail_count, bind_at, bind_count, known, 0, line, min(last, line + FETCH_AHEAD), rows,
            width, False,
        )  # fmt: skip
    while line < last:
        used = S[head, k.USED]
        if not has_head_room(S, head):
            return line
        count = 0
        while line < last and count < k.PIECE:
            row = rows + line * width * 8
            if absences:
                fetch_absences(
                    stores, code, tail_at, tail_count, bind_at, bind_count, known, 0, min(line + FETCH_AHEAD, last),
                    min(line + FETCH_AHEAD + 1, last), rows, width, False,
                )  # fmt: skip
                fetch_absences(
                    stores, code, tail_at, tail_count, bind_at, bind_count, known, 0, min(line + ROWS_AHEAD, last),
                    min(line + ROWS_AHEAD + 1, last), rows, width, True,
                )  # fmt: skip
            line += 1
            there = load64(row, of_meta) >> k.STAMP_SHIFT
            if there < 0 or there > 1:
                continue
            made = heads + (used + count) * head_width * 8
            state = HASH_START
            if is_plain:
                for column in range(columns):
                    source = found[HEAD_SOURCES + column]
                    if source >= 0:
                        word = load64(row, source)
                    else:
                        word = registers[load64(code, emit + k.EMIT_REGISTERS + column)]
                    store64(made, column, word)
                    state = hash_word(state, word)
            else:
                if bound_count > 0 and not passes_bounds(code, bound_at, bound_count, known, row):
                    continue
                for i in range(bind_count):
                    registers[load64(code, bind_at + 2 * i + 1)] = load64(row, load64(code, bind_at + 2 * i))
                differs = False
                for i in range(equal_count):
                    if registers[load64(code, equal_at + 2 * i + 1)] != load64(row, load64(code, equal_at + 2 * i)):
                        differs = True
                        break
                if differs:
                    continue
                if tail_count > 0:
                    passed = run_tail(S, code, tail_at, tail_count, registers, k.INSERT, 0, scratch)
                    if passed == 0:
                        continue
                    if passed < 0:
                        return DIVIDED
                for column in range(columns):
                    word = registers[load64(code, emit + k.EMIT_REGISTERS + column)]
                    store64(made, column, word)
                    state = hash_word(state, word)
            hashes[count] = hash_end(state)
            prefetch(slots, home_slot(hashes[count], size))
            count += 1
        found[EMITTED] += count
        place_heads(S, head, hashes, count, stamp)
    return last
