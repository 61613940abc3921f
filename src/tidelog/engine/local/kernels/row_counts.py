"""Total and count of a row: 32 bits each in one word, or a word each in a wide relation.

A row has at most as many instances as were ever applied. So no instance is checked by itself: a relation has a budget
of instances (`COUNT_ROOM`); when it is used up, the largest total is read, and the relation is made wide if needed.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.memory import kernel, load32, load64, store32, store64


@kernel
def total_of(row, columns, wide):
    """Returns the total of a row: how many instances it has."""
    if wide != 0:
        return load64(row, columns + k.TOTAL)
    return load32(row, 2 * (columns + k.TOTAL))


@kernel
def count_of(row, columns, wide):
    """Returns the count of a row: how many instances it has over lower ranks."""
    if wide != 0:
        return load64(row, columns + k.COUNT)
    return load32(row, 2 * (columns + k.TOTAL) + 1)


@kernel
def set_total(row, columns, wide, total):
    if wide != 0:
        store64(row, columns + k.TOTAL, total)
    else:
        store32(row, 2 * (columns + k.TOTAL), total)


@kernel
def set_count(row, columns, wide, count):
    if wide != 0:
        store64(row, columns + k.COUNT, count)
    else:
        store32(row, 2 * (columns + k.TOTAL) + 1, count)


@kernel
def set_numbers(row, columns, wide, total, count):
    set_total(row, columns, wide, total)
    set_count(row, columns, wide, count)
