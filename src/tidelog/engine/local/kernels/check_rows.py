"""Rows from a file, checked before other kernels see them: those follow ids and lines without a look at bounds."""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.index import same_words, slot_after
from tidelog.engine.local.kernels.memory import entry_point, kernel, load64

# A line of `allowed`: what the words of a column may be.
RANGE, ID = 0, 1  # a number from ALLOWED_FIRST to ALLOWED_LAST; an id
ALLOWED_KIND, ALLOWED_FIRST, ALLOWED_LAST, ALLOWED_FIELDS = 0, 1, 2, 3
# Of an id, ALLOWED_FIRST is the place of id 0 in `present`, ALLOWED_LAST the largest id.


@kernel
def bad_column(rows, line, allowed, present):
    """Returns the first column of a row with a word that its type does not have, or -1."""
    for column in range(allowed.shape[0]):
        word, kind = rows[line, column], allowed[column, ALLOWED_KIND]
        if word > allowed[column, ALLOWED_LAST]:
            return column
        if kind == RANGE:
            if word < allowed[column, ALLOWED_FIRST]:
                return column
        elif word < 0 or present[allowed[column, ALLOWED_FIRST] + word] == 0:
            return column
    return -1


@entry_point("int64(int64[:,::1], int64[:,::1], uint8[::1], int64, int64[::1])")
def check_rows(rows, allowed, present, top, found):
    """Returns the first line that no store could have, or -1; writes the number of unused lines to `found[0]`.

    `found[1]` is then the column that is wrong, or that of the numbers behind the columns.
    """
    columns = allowed.shape[0]
    is_wide = rows.shape[1] == columns + k.WIDE_EXTRA
    for line in range(rows.shape[0]):
        meta = rows[line, columns + k.META]
        if meta >> k.STAMP_SHIFT == k.FREED:
            found[0] += 1
            continue
        found[1] = columns
        if meta >> k.STAMP_SHIFT != 0 or meta & k.TOUCHED_BIT != 0 or (meta & k.LOW_MASK) >> k.RANK_SHIFT > top:
            return line
        total = rows[line, columns + k.TOTAL]
        if is_wide:
            count = rows[line, columns + k.COUNT]
        else:
            count = total >> k.COUNT_SHIFT
            total = (total << k.COUNT_SHIFT) >> k.COUNT_SHIFT
        if total < 1 or count < 0 or total > 1 << 60 or count > 1 << 60:
            return line
        column = bad_column(rows, line, allowed, present)
        if column >= 0:
            found[1] = column
            return line
    return -1


@entry_point("int64(int64[:,::1], int64[:,::1], uint8[::1], int64[::1])")
def check_words(rows, allowed, present, found):
    """Returns the first line with a wrong word, or -1; writes its column to `found[1]`."""
    for line in range(rows.shape[0]):
        column = bad_column(rows, line, allowed, present)
        if column >= 0:
            found[1] = column
            return line
    return -1


@entry_point("int64(int64[:,::1], int64)")
def find_repeated(S, relation):
    """Returns the line of a row that is there twice, or -1. Equal rows have one home in the index, so they lie in one
    run of its slots."""
    slots, size = S[relation, k.SLOTS], S[relation, k.SLOT_COUNT]
    rows, stride, columns = S[relation, k.ROWS], S[relation, k.WIDTH] * 8, S[relation, k.COLUMNS]
    for at in range(size):
        slot = load64(slots, at)
        other = slot_after(at, size)
        while slot != 0:
            behind = load64(slots, other)
            if behind == 0:
                break
            if behind >> k.HASH_SHIFT == slot >> k.HASH_SHIFT:
                line = (behind & k.LOW_MASK) - 1
                if same_words(rows + ((slot & k.LOW_MASK) - 1) * stride, rows + line * stride, columns):
                    return line
            other = slot_after(other, size)
    return -1
