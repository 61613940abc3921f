"""Bounds and zones: comparisons of a row's columns with words that are known before it.

A bound is a comparison such as `t < e`, where `t` is a column of the row that an iterator reads and `e` is known when
the iterator is opened. It is checked on the row itself, before anything else.

Zones let an iterator skip rows of a bucket that no bound can let pass. For the pool of an arrangement they have the
same buckets with their lines in another order, in which rows with similar words in the bounded columns are neighbours,
and the least and the greatest word of each of these columns in every 16 lines, in every 256, and so on. They lie beside
the arrangement (`execution/zones`), and only while a stratum above the relation is derived. Zones of a relation itself,
for a scan with bounds, have all its lines as one bucket.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.memory import inlined, kernel, load64

# The words of zones: the pool, its length, the number of levels, where each level begins in the pairs of a column; then
# for each column the address of its pairs (least, greatest), or 0, and 1 if its words are ordered as signed ones.
ZONE_POOL, ZONE_PLACES, ZONE_LEVELS, ZONE_STARTS, MOST_LEVELS = 0, 1, 2, 3, 8
ZONE_COLUMNS = ZONE_STARTS + MOST_LEVELS
COLUMN_PAIRS, COLUMN_SIGNED, COLUMN_WORDS = 0, 1, 2
ZONE_SHIFT = 4
ZONE_MASK = (1 << ZONE_SHIFT) - 1
FLIP = -9223372036854775808


@kernel
def below(a, b, signed):
    """True if a < b, as signed or as unsigned words."""
    if signed != 0:
        return a < b
    return (a ^ FLIP) < (b ^ FLIP)


@inlined
def holds(op, word, other, signed):
    """True if a word of a row compares with another one as a bound wants it."""
    if op == k.EQUAL_TO_IT:
        return word == other
    if op == k.BELOW_IT:
        return below(word, other, signed)
    if op == k.AT_MOST_IT:
        return not below(other, word, signed)
    if op == k.ABOVE_IT:
        return below(other, word, signed)
    return not below(word, other, signed)


@inlined
def passes_bounds(code, at, count, registers, row):
    """True if the row passes all bounds. Takes the address of the registers."""
    for i in range(count):
        bound = at + i * k.BOUND_WIDTH
        word = load64(row, load64(code, bound + k.BOUND_COLUMN))
        other = load64(registers, load64(code, bound + k.BOUND_REGISTER))
        if not holds(load64(code, bound + k.BOUND_OP), word, other, load64(code, bound + k.BOUND_SIGNED)):
            return False
    return True


@kernel
def may_pass(zones, code, at, count, registers, pair):
    """True unless a bound lets no row of a zone pass; `pair` is the place of the zone in the pairs of each column."""
    for i in range(count):
        bound = at + i * k.BOUND_WIDTH
        column = ZONE_COLUMNS + load64(code, bound + k.BOUND_COLUMN) * COLUMN_WORDS
        pairs, signed = load64(zones, column + COLUMN_PAIRS), load64(zones, column + COLUMN_SIGNED)
        if pairs == 0:
            continue
        op = load64(code, bound + k.BOUND_OP)
        other = load64(registers, load64(code, bound + k.BOUND_REGISTER))
        least, greatest = load64(pairs, 2 * pair), load64(pairs, 2 * pair + 1)
        if op == k.EQUAL_TO_IT:
            if below(other, least, signed) or below(greatest, other, signed):
                return False
        elif signed != load64(code, bound + k.BOUND_SIGNED):
            continue
        elif not holds(op, least if op == k.BELOW_IT or op == k.AT_MOST_IT else greatest, other, signed):
            return False
    return True


@kernel
def next_zone(zones, code, at, count, registers, cursor, end):
    """Returns the first place from the cursor on whose zone may have rows that pass all bounds, or `end`.

    A large zone is looked at where it begins, and left as a whole if no row of it can pass.
    """
    levels = load64(zones, ZONE_LEVELS)
    while cursor < end:
        level = 1
        while level < levels and cursor & ((1 << (ZONE_SHIFT * (level + 1))) - 1) == 0:
            level += 1
        while level > 0:
            pair = load64(zones, ZONE_STARTS + level - 1) + (cursor >> (ZONE_SHIFT * level))
            if not may_pass(zones, code, at, count, registers, pair):
                break
            level -= 1
        if level == 0:
            return cursor
        cursor = ((cursor >> (ZONE_SHIFT * level)) + 1) << (ZONE_SHIFT * level)
    return end
