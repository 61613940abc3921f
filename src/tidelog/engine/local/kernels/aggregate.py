"""Aggregates of many groups at once: members as lines of words, each with the place of its group → totals and bests.

A pass reads the members one after the other and changes the state of their groups. The aggregates are instructions:

    SUM    totals[group] += weight * ((word >> shift) & mask)
    LEAST  best[group] = the line that comes first by some columns, then by others (MOST: last by the former)

A line that is deleted and was the best one makes its group lost: it must be read again. The words of a column are
compared after `^ flip`, which puts unsigned words of 64 bits in order. The mask of a SUM stands in the place of the
flip, and its shift in that of the keys: two SUMs, of the halves of a word, have its exact sum.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.arrange import find_entry
from tidelog.engine.local.kernels.memory import (
    HASH_START,
    entry_point,
    hash_end,
    hash_word,
    kernel,
    load32,
    load64,
    prefetch,
    prefetch_read,
)

SUM, LEAST, MOST = 0, 1, 2
# An instruction; the columns that it reads follow, each with its flip.
OP, TARGET, KEYS, TIES, OPERANDS = 0, 1, 2, 3, 4
FAR = 1 << 14  # groups: the caches may not hold the state of more
GROUP_AHEAD, BEST_AHEAD = 16, 8  # members: their groups' state, and best members, are prefetched so long before


@kernel
def is_better(wave, line, other, program, i):
    """True if a line comes before another one, by an instruction."""
    keys = program[i, KEYS]
    for operand in range(keys + program[i, TIES]):
        column = program[i, OPERANDS + 2 * operand]
        flip = program[i, OPERANDS + 2 * operand + 1]
        left = wave[line, column] ^ flip
        right = wave[other, column] ^ flip
        if left != right:
            return (left < right) == (operand >= keys or program[i, OP] == LEAST)
    return False


@kernel
def is_same(wave, line, other, program, i):
    """True if two lines have the same words in the columns of an instruction."""
    for operand in range(program[i, KEYS] + program[i, TIES]):
        column = program[i, OPERANDS + 2 * operand]
        if wave[line, column] != wave[other, column]:
            return False
    return True


@entry_point(
    "int64(int64[:,::1], int32[::1], int64, int64, int64, int64, int64, int64[:,::1], int64[:,::1], int32[:,::1],"
    " int32[:,::1], uint8[::1])"
)
def accumulate(wave, codes, first, end, weight, lowest, highest, program, totals, before, best, lost):
    """Inserts (weight 1) or deletes (weight -1) the lines `first` to `end`; insertions come first.

    Only groups from `lowest` up to `highest` are changed, so that threads can share the work. `before` and `best` have
    a line for each group and order, or -1. Sets `lost` where the line in `before` is deleted and still the best.
    """
    of_totals, of_best, rows = totals.ctypes.data, best.ctypes.data, wave.ctypes.data
    is_far, orders = totals.shape[0] >= FAR, best.shape[1]
    for line in range(first, end):
        if is_far:
            # Groups are spread over memory, and so are their best members.
            ahead = codes[min(line + GROUP_AHEAD, end - 1)]
            if lowest <= ahead < highest:
                prefetch(of_totals, ahead * totals.shape[1])
                prefetch(of_best, (ahead * orders) >> 1)
            ahead = codes[min(line + BEST_AHEAD, end - 1)]
            if lowest <= ahead < highest:
                for i in range(orders):
                    if best[ahead, i] >= 0:
                        prefetch_read(rows, best[ahead, i] * wave.shape[1])
        group = codes[line]
        if group < lowest or group >= highest:
            continue
        for i in range(program.shape[0]):
            target = program[i, TARGET]
            if program[i, OP] == SUM:
                word = wave[line, program[i, OPERANDS]]
                totals[group, target] += weight * ((word >> program[i, KEYS]) & program[i, OPERANDS + 1])
                continue
            known = best[group, target]
            if weight > 0:
                if known < 0 or is_better(wave, line, known, program, i):
                    best[group, target] = line
            elif known >= 0 and known == before[group, target] and is_same(wave, line, known, program, i):
                lost[group] = 1
    return 0


@entry_point("int64(int64[:,::1], int64[:,::1], int64, int64[:,::1], int32[::1], int32[::1], int32[::1])")
def read_buckets(S, A, arrangement, keys, places, lines, codes):
    """Writes the lines of all present members of the keys at some places, and the number of each one's place."""
    relation = A[arrangement, k.RELATION]
    columns = S[relation, k.COLUMNS]
    rows = S[relation, k.ROWS]
    stride = S[relation, k.WIDTH] * 8
    width = (k.ENTRY_EXTRA + A[arrangement, k.KEY_COUNT]) * 8
    count = 0
    for i in range(places.size):
        entry = find_entry(A, arrangement, keys.ctypes.data + places[i] * keys.shape[1] * 8)
        if entry < 0:
            continue
        address = A[arrangement, k.ENTRIES] + entry * width
        start = load64(address, k.ENTRY_START)
        for place in range(load32(address, k.ENTRY_LENGTH)):
            line = load32(A[arrangement, k.POOL], start + place)
            if load64(rows + line * stride, columns + k.META) >> k.STAMP_SHIFT >= 0:
                if count < lines.size:
                    lines[count] = line
                    codes[count] = i
                count += 1
    return count


@entry_point("int64(int64[:,::1], int32[::1], int64[::1], uint8[::1])")
def mark_first(wave, codes, slots, is_first):
    """Marks the first of all lines with the same group and the same words; `slots` is scratch, zeroed, twice as many
    words as lines or more."""
    for line in range(codes.size):
        state = hash_word(HASH_START, codes[line])
        for column in range(wave.shape[1]):
            state = hash_word(state, wave[line, column])
        at = (hash_end(state) * slots.size) >> k.HASH_SHIFT
        is_first[line] = 1
        while slots[at] != 0:
            other = slots[at] - 1
            same = codes[other] == codes[line]
            for column in range(wave.shape[1]):
                same = same and wave[other, column] == wave[line, column]
            if same:
                is_first[line] = 0
                break
            at = at + 1 if at + 1 < slots.size else 0
        if is_first[line] != 0:
            slots[at] = line + 1
    return 0
