"""The numbers of a row: total and count with 32 bits each in one word, or a word each in a wide relation, or with few
bits beside the rank in a slim one.

A row has at most as many instances as were ever applied. So no instance is checked by itself: a relation has a budget
of instances (`COUNT_ROOM`); when it is used up, the largest total is read, and the relation is made wide if needed.
The numbers of a slim relation are so small that each is checked.

The stamp and the two flags have the same bits of the word `META` in all of them. Whoever writes a whole new word there
does so before the numbers.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.memory import inlined, kernel, load32, load64, store32, store64


@inlined
def slim_number(row, columns, shift):
    """Returns one of the numbers in the word of a row of a slim relation."""
    return (load32(row, 2 * (columns + k.META)) >> shift) & k.SLIM_MASK


@inlined
def set_slim_number(row, columns, shift, number):
    """Sets one of the numbers in the word of a row of a slim relation."""
    numbers = load32(row, 2 * (columns + k.META))
    store32(row, 2 * (columns + k.META), (numbers & ~(k.SLIM_MASK << shift)) | (number << shift))


@kernel
def total_of(row, columns, wide):
    """Returns the total of a row: how many instances it has."""
    if wide == 0:
        return load32(row, 2 * (columns + k.TOTAL))
    if wide == k.IS_SLIM:
        return slim_number(row, columns, k.SLIM_TOTAL_SHIFT)
    return load64(row, columns + k.TOTAL)


@kernel
def count_of(row, columns, wide):
    """Returns the count of a row: how many instances it has over lower ranks."""
    if wide == 0:
        return load32(row, 2 * (columns + k.TOTAL) + 1)
    if wide == k.IS_SLIM:
        return slim_number(row, columns, k.SLIM_COUNT_SHIFT)
    return load64(row, columns + k.COUNT)


@kernel
def set_total(row, columns, wide, total):
    if wide == 0:
        store32(row, 2 * (columns + k.TOTAL), total)
    elif wide == k.IS_SLIM:
        set_slim_number(row, columns, k.SLIM_TOTAL_SHIFT, total)
    else:
        store64(row, columns + k.TOTAL, total)


@kernel
def set_count(row, columns, wide, count):
    if wide == 0:
        store32(row, 2 * (columns + k.TOTAL) + 1, count)
    elif wide == k.IS_SLIM:
        set_slim_number(row, columns, k.SLIM_COUNT_SHIFT, count)
    else:
        store64(row, columns + k.COUNT, count)


@kernel
def set_numbers(row, columns, wide, total, count):
    set_total(row, columns, wide, total)
    set_count(row, columns, wide, count)


@kernel
def rank_of(meta, wide):
    """Returns the rank in the meta word of a row."""
    if wide == k.IS_SLIM:
        return (meta >> k.SLIM_RANK_SHIFT) & k.SLIM_MASK
    return (meta >> k.RANK_SHIFT) & k.RANK_MASK


@kernel
def with_rank(meta, rank, wide):
    """Returns the meta word of a row with another rank."""
    if wide == k.IS_SLIM:
        return (meta & ~(k.SLIM_MASK << k.SLIM_RANK_SHIFT)) | (rank << k.SLIM_RANK_SHIFT)
    return (meta & ~(k.RANK_MASK << k.RANK_SHIFT)) | (rank << k.RANK_SHIFT)


@kernel
def logged_meta(meta, wide):
    """Returns a meta word as the log has it: that of a relation that is not slim."""
    if wide != k.IS_SLIM:
        return meta
    flags = meta & (k.INPUT_BIT | k.TOUCHED_BIT)
    return ((meta >> k.STAMP_SHIFT) << k.STAMP_SHIFT) | (rank_of(meta, wide) << k.RANK_SHIFT) | flags


@kernel
def meta_from_log(meta, wide):
    """Returns the meta word of a row, without its numbers, given that in the log."""
    if wide != k.IS_SLIM:
        return meta
    flags = meta & (k.INPUT_BIT | k.TOUCHED_BIT)
    return with_rank(((meta >> k.STAMP_SHIFT) << k.STAMP_SHIFT) | flags, rank_of(meta, 0), wide)
