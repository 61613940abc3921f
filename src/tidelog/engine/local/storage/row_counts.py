"""The numbers of rows, in matrices of rows in the layout of a store (`kernels.layout`).

Total and count have 32 bits each in one word, or a word each in a wide store; in a slim one, they and the rank share a
word. The width of the matrix tells.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.kernels import layout as k

Words = npt.NDArray[np.int64]
LARGEST_NARROW = (1 << 31) - 2  # an instance that is a fact may come beside those that rules count
_FLAGS = k.INPUT_BIT | k.TOUCHED_BIT


def is_wide(rows: Words, columns: int) -> bool:
    """True if these rows have a word for each of the two numbers."""
    return bool(rows.shape[1] == columns + k.WIDE_EXTRA)


def is_slim(rows: Words, columns: int) -> bool:
    """True if these rows have one word for all numbers."""
    return bool(rows.shape[1] == columns + k.SLIM_EXTRA)


def totals(rows: Words, columns: int) -> Words:
    if is_slim(rows, columns):
        return _slim_numbers(rows, columns, k.SLIM_TOTAL_SHIFT)
    words: Words = rows[:, columns + k.TOTAL]
    if is_wide(rows, columns):
        return words
    shifted: Words = words << k.COUNT_SHIFT
    shifted >>= k.COUNT_SHIFT
    return shifted


def counts(rows: Words, columns: int) -> Words:
    if is_slim(rows, columns):
        return _slim_numbers(rows, columns, k.SLIM_COUNT_SHIFT)
    if is_wide(rows, columns):
        return rows[:, columns + k.COUNT]
    found: Words = rows[:, columns + k.TOTAL] >> k.COUNT_SHIFT
    return found


def ranks(rows: Words, columns: int) -> Words:
    if is_slim(rows, columns):
        return _slim_numbers(rows, columns, k.SLIM_RANK_SHIFT)
    found: Words = (rows[:, columns + k.META] >> k.RANK_SHIFT) & k.RANK_MASK
    return found


def metas(rows: Words, columns: int) -> Words:
    """Returns the meta words of rows, in the form of those that are not slim."""
    words: Words = rows[:, columns + k.META]
    if not is_slim(rows, columns):
        return words
    found: Words = (words & (~k.LOW_MASK | _FLAGS)) | (ranks(rows, columns) << k.RANK_SHIFT)
    return found


def _slim_numbers(rows: Words, columns: int, shift: int) -> Words:
    found: Words = (rows[:, columns + k.META] >> shift) & k.SLIM_MASK
    return found


def together(total: Words, count: Words, *, wide: bool) -> Words:
    """Returns the words behind the meta word, for rows with these numbers."""
    if wide:
        return np.stack([total, count], axis=1)
    return ((total & k.LOW_MASK) | (count << k.COUNT_SHIFT)).reshape(-1, 1)


def from_words(rows: Words) -> Words:
    """Converts rows from the layout of checkpoints before format 4: columns, total, count, meta, a word each."""
    columns = rows.shape[1] - k.WIDE_EXTRA
    wide = np.hstack([rows[:, :columns], rows[:, -1:], rows[:, columns:-1]])
    fit = wide[:, columns + k.TOTAL :].max(initial=0) <= LARGEST_NARROW
    return in_width(wide, columns, columns + k.ROW_EXTRA) if fit else wide


def in_width(rows: Words, columns: int, width: int) -> Words:
    """Returns the rows with `width` words each; if that is fewer, the numbers are known to fit."""
    if rows.shape[1] == width:
        return rows
    total, count, meta = totals(rows, columns), counts(rows, columns), metas(rows, columns)
    if width == columns + k.SLIM_EXTRA:
        rank = ranks(rows, columns) << k.SLIM_RANK_SHIFT
        numbers = rank | (count << k.SLIM_COUNT_SHIFT) | (total << k.SLIM_TOTAL_SHIFT)
        return np.hstack([rows[:, :columns], ((meta & (~k.LOW_MASK | _FLAGS)) | numbers).reshape(-1, 1)])
    numbers = together(total, count, wide=width == columns + k.WIDE_EXTRA)
    return np.hstack([rows[:, :columns], meta.reshape(-1, 1), numbers])
