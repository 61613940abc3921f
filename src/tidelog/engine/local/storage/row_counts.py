"""Total and count of rows, in matrices of rows in the layout of a store (`kernels.layout`).

They have 32 bits each in one word, or a word each in a wide store; the width of the matrix tells.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.kernels import layout as k

Words = npt.NDArray[np.int64]
LARGEST_NARROW = (1 << 31) - 2  # an instance that is a fact may come beside those that rules count


def is_wide(rows: Words, columns: int) -> bool:
    """True if these rows have a word for each of the two numbers."""
    return bool(rows.shape[1] == columns + k.WIDE_EXTRA)


def totals(rows: Words, columns: int) -> Words:
    words: Words = rows[:, columns + k.TOTAL]
    return words if is_wide(rows, columns) else (words << k.COUNT_SHIFT) >> k.COUNT_SHIFT


def counts(rows: Words, columns: int) -> Words:
    if is_wide(rows, columns):
        return rows[:, columns + k.COUNT]
    found: Words = rows[:, columns + k.TOTAL] >> k.COUNT_SHIFT
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
    numbers = together(totals(rows, columns), counts(rows, columns), wide=width == columns + k.WIDE_EXTRA)
    return np.hstack([rows[:, : columns + k.TOTAL], numbers])
