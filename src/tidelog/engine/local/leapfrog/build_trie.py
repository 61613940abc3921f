"""Rows → the pages of a new trie: the lines are sorted by radix, column by column from the last, and the rows are
copied.

Each step works on some of the lines, so that a query that waits for the trie can look at the clock between two.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.memory import borrowed, entry_point, load64, prefetch_read, store64
from tidelog.engine.local.leapfrog.pages import COLUMN_BYTES, page_at, set_rows, take_page

DIGIT_BITS = 11
DIGITS = 1 << DIGIT_BITS
AHEAD = 16  # sorted lines are far from one another: their rows are fetched so many turns before they are read
# New pages have room, so that the first inserted rows do not split all of them.
FILLED = k.PAGE_ROWS * 7 // 8


@entry_point("int64(int64[:,::1], int64[:,::1], int64, int64, int64[::1], int64[::1], int64, int64, int64[::1])")
def take_words(S, A, trie, column, lines, words, first, end, bounds):
    """Writes the words of a column of the key beside the lines from `first` up to `end`; widens `bounds`, the least and
    the greatest word so far."""
    S, A, lines, words, bounds = borrowed(S), borrowed(A), borrowed(lines), borrowed(words), borrowed(bounds)
    relation = A[trie, k.RELATION]
    rows = S[relation, k.ROWS]
    stride = S[relation, k.WIDTH] * 8
    key = load64(A[trie, k.KEYS], column)
    least, most = bounds[0], bounds[1]
    for i in range(first, end):
        if i + AHEAD < end:
            prefetch_read(rows + lines[i + AHEAD] * stride, key)
        word = load64(rows + lines[i] * stride, key)
        words[i] = word
        least = min(least, word)
        most = max(most, word)
    bounds[0], bounds[1] = least, most
    return 0


@entry_point("int64(int64[::1], int64, int64, int64, int64, int64[::1])")
def count_digits(words, first, end, least, shift, counts):
    """Adds up how often each digit at a shift occurs in some of the words, as distances from the least one."""
    words, counts = borrowed(words), borrowed(counts)
    for i in range(first, end):
        counts[((words[i] - least) >> shift) & (DIGITS - 1)] += 1
    return 0


@entry_point("int64(int64[::1], int64[::1], int64[::1], int64[::1], int64, int64, int64, int64, int64[::1])")
def sort_by_digit(words, lines, sorted_words, sorted_lines, first, end, least, shift, places):
    """Puts some of the words and their lines where their digits belong; `places` has the next place for each digit."""
    words, lines, places = borrowed(words), borrowed(lines), borrowed(places)
    sorted_words, sorted_lines = borrowed(sorted_words), borrowed(sorted_lines)
    for i in range(first, end):
        digit = ((words[i] - least) >> shift) & (DIGITS - 1)
        place = places[digit]
        sorted_words[place] = words[i]
        sorted_lines[place] = lines[i]
        places[digit] = place + 1
    return 0


@entry_point("int64(int64[:,::1], int64[:,::1], int64, int64[::1], int64, int64)")
def fill_pages(S, A, trie, lines, first, end):
    """Appends the rows at some of the sorted lines, in pages of their own; the caller has made
    room."""
    S, A, lines = borrowed(S), borrowed(A), borrowed(lines)
    relation = A[trie, k.RELATION]
    rows = S[relation, k.ROWS]
    stride = S[relation, k.WIDTH] * 8
    columns = A[trie, k.KEY_COUNT]
    keys = A[trie, k.KEYS]
    done = first
    while done < end:
        count = min(FILLED, end - done)
        place = A[trie, k.PAGE_COUNT]
        take_page(A, trie, place)
        page = page_at(A, trie, place)
        for i in range(count):
            if done + i + AHEAD < end:
                # Its last word, too: a row may lie in two lines of the cache.
                ahead = rows + lines[done + i + AHEAD] * stride
                prefetch_read(ahead, 0)
                prefetch_read(ahead, columns - 1)
            row = rows + lines[done + i] * stride
            for column in range(columns):
                store64(page + column * COLUMN_BYTES, i, load64(row, load64(keys, column)))
            store64(page + columns * COLUMN_BYTES, i, lines[done + i])
        set_rows(A, trie, place, count)
        done += count
    return 0
