"""Words in columns of rows → dense ids, where words are small enough to be places in an array.

A column is read where it lies: `address` is that of its word in the first row, `stride` the words from one row to the
next. Rows of many columns are far apart, so they are read once: all else happens in the array of ids.
"""

from __future__ import annotations

from tidelog.engine.local.kernels.memory import entry_point, load32, load64, store8, store32

LEAST, MOST = 0, 1  # of a span


@entry_point("int64(int64, int64, int64, int32[::1], int64[::1])")
def take_words(address, stride, count, ids, span):
    """Writes the low half of each word of a column, and widens the span to the words: one pass over the rows."""
    least, most = span[LEAST], span[MOST]
    for i in range(count):
        word = load64(address, i * stride)
        ids[i] = word
        least = min(least, word)
        most = max(most, word)
    span[LEAST], span[MOST] = least, most
    return 0


@entry_point("int64(int32[::1], uint8[::1])")
def mark_words(words, occurs):
    """Marks words, none of them beyond the marks."""
    marks = occurs.ctypes.data
    for i in range(words.size):
        store8(marks + load32(words.ctypes.data, i), 1)
    return 0


@entry_point("int64(int32[::1], int32[::1])")
def number_marked(words, places):
    """Replaces each word by its place."""
    given, found = words.ctypes.data, places.ctypes.data
    for i in range(words.size):
        store32(given, i, load32(found, load32(given, i)))
    return 0
