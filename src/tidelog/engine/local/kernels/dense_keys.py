"""Arranges the rows of a relation by keys whose words are dense: a key is a place in an array, with no hash, no search.

The words of each key column lie between a least and a greatest one, and the number of a key is made of their distances
from the least ones, as digits. Numbers are counted, so each bucket has its place and its length before a line is put
into it: the rows are read once or twice, in order, and all else happens in arrays of 32 bits.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.arrange import mark_of, place_slot
from tidelog.engine.local.kernels.memory import (
    HASH_START,
    entry_point,
    hash_end,
    hash_word,
    load32,
    load64,
    prefetch,
    store16,
    store32,
    store64,
)

LEAST, MOST = 0, 1  # of a line of spans
ABSENT = -1  # the number of a line without a row
AHEAD = 16  # lines: the end of a bucket is prefetched so long before it is written


@entry_point("int64(int64[:,::1], int64, int64[::1], int64, int64, int64[:,::1], int32[::1])")
def span_keys(S, relation, keys, first, end, spans, found):
    """Widens the spans, one for each key column, to the words of some lines, and writes the low half of each word of
    the first key column to `found`. Lines without a row count, too: their words are those of a former row."""
    rows, width = S[relation, k.ROWS], S[relation, k.WIDTH]
    for place in range(1, keys.size):
        least, most = spans[place, LEAST], spans[place, MOST]
        for line in range(first, end):
            word = load64(rows, line * width + keys[place])
            least, most = min(least, word), max(most, word)
        spans[place, LEAST], spans[place, MOST] = least, most
    least, most = spans[0, LEAST], spans[0, MOST]
    for line in range(first, end):
        word = load64(rows, line * width + keys[0])
        store32(found.ctypes.data, line, word)
        least, most = min(least, word), max(most, word)
    spans[0, LEAST], spans[0, MOST] = least, most
    return 0


@entry_point("int64(int64[:,::1], int64, int64[::1], int64, int64, int64[:,::1], int64[::1], int32[::1], int32[::1])")
def count_numbers(S, relation, keys, first, end, spans, factors, found, counts):
    """Writes the number of the key of each of some lines to `found`, or ABSENT, and counts the numbers.

    `found` has the words of the first key column, as `span_keys` leaves them: with one key column, and if no line is
    without a row, the rows are not read.
    """
    rows, width = S[relation, k.ROWS], S[relation, k.WIDTH]
    meta = S[relation, k.COLUMNS] + k.META
    is_full = S[relation, k.LIVE] == S[relation, k.USED]
    words, numbers = found.ctypes.data, counts.ctypes.data
    lowest = spans[0, LEAST]
    if is_full and keys.size == 1:
        for line in range(first, end):
            number = (load32(words, line) - lowest) & k.LOW_MASK
            store32(words, line, number)
            store32(numbers, number, load32(numbers, number) + 1)
        return 0
    for line in range(first, end):
        if not is_full and load64(rows, line * width + meta) >> k.STAMP_SHIFT == k.FREED:
            store32(words, line, ABSENT)
            continue
        number = 0
        for place in range(keys.size):
            number += (load64(rows, line * width + keys[place]) - spans[place, LEAST]) * factors[place]
        store32(words, line, number)
        store32(numbers, number, load32(numbers, number) + 1)
    return 0


@entry_point("int64(int64[:,::1], int64, int64[:,::1], int64[::1], int32[::1], int32[::1])")
def add_buckets(A, arrangement, spans, factors, counts, starts):
    """Adds an entry for each number that occurs, with the place of its bucket, which is as long as needed.

    Replaces the counts by the next place of each number, and writes the first one to `starts`.
    """
    key_count = A[arrangement, k.KEY_COUNT]
    width = (k.ENTRY_EXTRA + key_count) * 8
    address = A[arrangement, k.ENTRIES]
    start = k.POOL_LISTS
    entries = 0
    for number in range(counts.size):
        length = counts[number]
        starts[number] = counts[number] = start
        if length == 0:
            continue
        store64(address, k.ENTRY_START, start)
        store32(address, k.ENTRY_LENGTH, length)
        store32(address, k.ENTRY_ROOM, length)
        rest = number
        for place in range(key_count):
            digit = rest // factors[place]
            rest -= digit * factors[place]
            store64(address, k.ENTRY_EXTRA + place, spans[place, LEAST] + digit)
        start += length
        address += width
        entries += 1
    A[arrangement, k.ENTRY_COUNT] = entries
    A[arrangement, k.POOL_USED] = start
    return entries


@entry_point("int64(int64[:,::1], int64, int64, int64, int64[::1])")
def fill_table(A, arrangement, first, end, hashes):
    """Puts some entries into the table of their arrangement; `hashes` is scratch for PIECE words."""
    key_count = A[arrangement, k.KEY_COUNT]
    width = (k.ENTRY_EXTRA + key_count) * 8
    table, mask = A[arrangement, k.TABLE], A[arrangement, k.TABLE_MASK]
    while first < end:
        piece = min(end - first, k.PIECE)
        for i in range(piece):
            address = A[arrangement, k.ENTRIES] + (first + i) * width
            state = HASH_START
            for place in range(key_count):
                state = hash_word(state, load64(address, k.ENTRY_EXTRA + place))
            hashes[i] = hash_end(state)
            prefetch(table, hashes[i] & mask)
        for i in range(piece):
            place_slot(A, arrangement, (hashes[i] << k.HASH_SHIFT) | (first + i + 1))
        first += piece
    return 0


@entry_point("int64(int64[:,::1], int64, int64, int64, int32[::1], int32[::1], int32[::1])")
def put_lines(A, arrangement, first, end, found, starts, places):
    """Puts some lines into the buckets of their numbers, and marks them."""
    pool, marks = A[arrangement, k.POOL], A[arrangement, k.MARKS]
    numbers, begins, nexts = found.ctypes.data, starts.ctypes.data, places.ctypes.data
    for line in range(first, end):
        ahead = load32(numbers, min(line + AHEAD, end - 1))
        if ahead >= 0:
            prefetch(pool, load32(nexts, ahead) >> 1)
        number = load32(numbers, line)
        if number < 0:
            store16(marks, line, 0)
            continue
        place = load32(nexts, number)
        store32(nexts, number, place + 1)
        store32(pool, place, line)
        store16(marks, line, mark_of(place - load32(begins, number)))
    return 0
