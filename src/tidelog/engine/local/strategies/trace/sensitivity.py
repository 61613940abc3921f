"""Sensitivity indices: intervals below prefixes, and which of them contain a word (paper 003, sections 3.2 and 4.2).

A record is (α …, a, γ …, b): evaluating a rule depended on the content of [a, b] below the prefix α of a trie, while
the other variables had the values γ. Records lie in sorted pages like the rows of a trie (`leapfrog/pages`); each page
is a leaf of a scan tree with the largest b in it, so a query skips pages whose intervals all end too early.

`X` has a line for each index, as `A` has for tries; its field MAXIMA has the address of the largest ends, by page. `R`
has the address and the width of a buffer of records for each, in the fields that a relation's rows have in `S`.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.memory import entry_point, kernel, load64, store64
from tidelog.engine.local.leapfrog.pages import (
    COLUMN_BYTES,
    arrange_sorted,
    find_offset,
    find_page,
    page_at,
    rows_at,
    unarrange_sorted,
)

SMALLEST_WORD = -9223372036854775808
MAXIMA = k.MARKS


@kernel
def largest_end(X, index, place):
    """Returns the largest end among the intervals of a page."""
    column = page_at(X, index, place) + (X[index, k.KEY_COUNT] - 1) * COLUMN_BYTES
    largest = SMALLEST_WORD
    for i in range(rows_at(X, index, place)):
        largest = max(largest, load64(column, i))
    return largest


@kernel
def note_end(X, index, place):
    """Writes the largest end of a page."""
    number = load64(X[index, k.DIRECTORY], k.DIRECTORY_ENTRY * place + k.DIRECTORY_PAGE)
    store64(X[index, MAXIMA], number, largest_end(X, index, place))


@entry_point("int64(int64[:,::1], int64)")
def note_ends(X, index):
    """Writes the largest ends of all pages."""
    for place in range(X[index, k.PAGE_COUNT]):
        note_end(X, index, place)
    return 0


@kernel
def add_record(R, X, index, line):
    """Adds the record at a line of R's buffer, unless it is there; returns False if more pages are needed."""
    before = X[index, k.PAGE_COUNT]
    if not arrange_sorted(R, X, index, line):
        return False
    row = R[index, k.ROWS] + line * R[index, k.WIDTH] * 8
    place = find_page(X, index, row)
    if X[index, k.PAGE_COUNT] != before:
        for each in range(max(place - 1, 0), min(place + 2, X[index, k.PAGE_COUNT])):
            note_end(X, index, each)
    else:
        page = load64(X[index, k.DIRECTORY], k.DIRECTORY_ENTRY * place + k.DIRECTORY_PAGE)
        end = max(load64(X[index, MAXIMA], page), load64(row, X[index, k.KEY_COUNT] - 1))
        store64(X[index, MAXIMA], page, end)
    return True


@kernel
def remove_record(R, X, index, line):
    """Removes the record at a line of R's buffer, if it is there."""
    if X[index, k.PAGE_COUNT] == 0:
        return
    row = R[index, k.ROWS] + line * R[index, k.WIDTH] * 8
    place = find_page(X, index, row)
    page = load64(X[index, k.DIRECTORY], k.DIRECTORY_ENTRY * place + k.DIRECTORY_PAGE)
    before = X[index, k.PAGE_COUNT]
    unarrange_sorted(R, X, index, line)
    if X[index, k.PAGE_COUNT] == before and load64(row, X[index, k.KEY_COUNT] - 1) == load64(X[index, MAXIMA], page):
        note_end(X, index, place)


@entry_point("int64(int64[:,::1], int64[:,::1], int64, int64[::1], int64)")
def change_records(R, X, index, signs, first):
    """Adds (sign > 0) or removes the records of R's buffer from line `first` on; returns the line that needs room
    first, or the number of lines."""
    for line in range(first, signs.size):
        if signs[line] < 0:
            remove_record(R, X, index, line)
        elif not add_record(R, X, index, line):
            return line
    return signs.size


@kernel
def below_prefix(X, index, page, offset, key, count):
    """True if a record has these words in its first columns."""
    for i in range(count):
        if load64(page + i * COLUMN_BYTES, offset) != load64(key, i):
            return False
    return True


@kernel
def find_intervals(X, index, key, count, word, anywhere, out, found):
    """Writes the records below a prefix of `count` words whose intervals contain a word (or all), behind those found.

    `key` is the address of a whole record: the prefix, then the smallest words. Records start in the second column of
    `out`. Returns how many there are now, or -1 if `out` is too small.
    """
    width = X[index, k.KEY_COUNT]
    pages = X[index, k.PAGE_COUNT]
    if pages == 0:
        return found
    place = find_page(X, index, key)
    offset = find_offset(X, index, page_at(X, index, place), rows_at(X, index, place), key)
    while place < pages:
        page = page_at(X, index, place)
        rows = rows_at(X, index, place)
        if offset < rows:
            if not below_prefix(X, index, page, offset, key, count):
                return found
            if not anywhere and load64(page + count * COLUMN_BYTES, offset) > word:
                return found
            number = load64(X[index, k.DIRECTORY], k.DIRECTORY_ENTRY * place + k.DIRECTORY_PAGE)
            if anywhere or load64(X[index, MAXIMA], number) >= word:
                for i in range(offset, rows):
                    if not below_prefix(X, index, page, i, key, count):
                        return found
                    if anywhere or (
                        load64(page + count * COLUMN_BYTES, i) <= word
                        and load64(page + (width - 1) * COLUMN_BYTES, i) >= word
                    ):
                        if found == out.shape[0]:
                            return -1
                        for column in range(width):
                            out[found, 1 + column] = load64(page + column * COLUMN_BYTES, i)
                        found += 1
        place += 1
        offset = 0
    return found


@entry_point("int64(int64[:,::1], int64, int64[::1], int64, int64, int64[:,::1])")
def query(X, index, key, count, word, out):
    """Calls `find_intervals` by itself."""
    return find_intervals(X, index, key.ctypes.data, count, word, False, out, 0)
