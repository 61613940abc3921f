"""Trie iterators: a place in a trie at one of its levels, moved by `open`, `next` and `seek_lub`.

A place is a line of words: the page (its place in the directory), the offset in it, and the end, in this page, of the
rows below the present vertex's parent. The rows of one parent may continue in the next pages; an iterator finds out
only at the end of a page. Seeks gallop: first within the page, then over the directory, so that their cost is
logarithmic in the distance. `up` costs nothing: each level has a place of its own.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.memory import kernel, load64
from tidelog.engine.local.leapfrog.pages import COLUMN_BYTES, first_word, page_at, rows_at

PLACE, OFFSET, END = 0, 1, 2
LARGEST = 9223372036854775807


@kernel
def gallop(column, offset, end, word):
    """Returns the first offset from `offset` on, before `end`, whose word is not below `word`; or `end`."""
    if load64(column, offset) >= word:
        return offset
    low = offset
    step = 1
    while low + step < end and load64(column, low + step) < word:
        low += step
        step += step
    high = min(low + step, end)
    low += 1
    while low < high:
        middle = (low + high) >> 1
        if load64(column, middle) < word:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def same_prefix(left, left_offset, right, right_offset, level):
    """True if two rows are below the same parent of a level."""
    for column in range(level):
        if load64(left + column * COLUMN_BYTES, left_offset) != load64(right + column * COLUMN_BYTES, right_offset):
            return False
    return True


@kernel
def parent_end(page, rows, level):
    """Returns the end of the rows of a page that are below the parent of its first row."""
    if same_prefix(page, 0, page, rows - 1, level):
        return rows
    low = 0
    high = rows - 1
    while high - low > 1:
        middle = (low + high) >> 1
        if same_prefix(page, 0, page, middle, level):
            low = middle
        else:
            high = middle
    return high


@kernel
def key(A, trie, level, places, slot):
    """Returns the word of the iterator's vertex."""
    return load64(page_at(A, trie, places[slot, PLACE]) + level * COLUMN_BYTES, places[slot, OFFSET])


@kernel
def line_at(A, trie, places, slot):
    """Returns the line of the row at an iterator of the last level."""
    page = page_at(A, trie, places[slot, PLACE])
    return load64(page + A[trie, k.KEY_COUNT] * COLUMN_BYTES, places[slot, OFFSET])


@kernel
def open_root(A, trie, places, slot):
    """Moves to the first vertex of the first level; returns False if there is none."""
    if A[trie, k.PAGE_COUNT] == 0:
        return False
    places[slot, PLACE] = 0
    places[slot, OFFSET] = 0
    places[slot, END] = rows_at(A, trie, 0)
    return True


@kernel
def open_below(A, trie, level, places, parent, slot):
    """Moves to the first vertex of a level below the vertex of the iterator `parent`, which is one level above."""
    place = places[parent, PLACE]
    offset = places[parent, OFFSET]
    column = page_at(A, trie, place) + (level - 1) * COLUMN_BYTES
    word = load64(column, offset)
    places[slot, PLACE] = place
    places[slot, OFFSET] = offset
    end = places[parent, END]
    places[slot, END] = end if word == LARGEST else gallop(column, offset, end, word + 1)


@kernel
def begins_before(A, trie, level, place, page, offset, word):
    """True if a page begins below the same parent as a row, with a vertex below `word`."""
    if level == 0:
        return first_word(A, trie, place) < word
    if first_word(A, trie, place) != load64(page, offset):
        return False
    first = page_at(A, trie, place)
    return same_prefix(page, offset, first, 0, level) and load64(first + level * COLUMN_BYTES, 0) < word


@kernel
def seek_lub(A, trie, level, places, slot, word):
    """Moves to the first vertex, from here on, that is not below `word`; returns False, and loses the place, if there
    is none."""
    place = places[slot, PLACE]
    end = places[slot, END]
    page = page_at(A, trie, place)
    column = page + level * COLUMN_BYTES
    if load64(column, end - 1) >= word:
        places[slot, OFFSET] = gallop(column, places[slot, OFFSET], end, word)
        return True
    if end < rows_at(A, trie, place):
        return False
    # The last page that begins with a vertex below the word, then the next one.
    count = A[trie, k.PAGE_COUNT]
    low = place
    step = 1
    while low + step < count and begins_before(A, trie, level, low + step, page, end - 1, word):
        low += step
        step += step
    high = min(low + step, count)
    while high - low > 1:
        middle = (low + high) >> 1
        if begins_before(A, trie, level, middle, page, end - 1, word):
            low = middle
        else:
            high = middle
    if low != place:
        there = page_at(A, trie, low)
        rows = rows_at(A, trie, low)
        reach = parent_end(there, rows, level)
        if load64(there + level * COLUMN_BYTES, reach - 1) >= word:
            places[slot, PLACE] = low
            places[slot, OFFSET] = gallop(there + level * COLUMN_BYTES, 0, reach, word)
            places[slot, END] = reach
            return True
        if reach < rows:
            return False
    if high == count:
        return False
    there = page_at(A, trie, high)
    if not same_prefix(page, end - 1, there, 0, level):
        return False
    places[slot, PLACE] = high
    places[slot, OFFSET] = 0
    places[slot, END] = parent_end(there, rows_at(A, trie, high), level)
    return True


@kernel
def next_vertex(A, trie, level, places, slot):
    """Moves to the next vertex below the same parent; returns False, and loses the place, if there is none."""
    word = key(A, trie, level, places, slot)
    return word != LARGEST and seek_lub(A, trie, level, places, slot, word + 1)
