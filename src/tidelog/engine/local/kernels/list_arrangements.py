"""Arranges the rows of a relation from the lists of its values by prefix (`row_lists`), without reading the rows.

The lists have the ids of each row, and ids are dense, so a key is a small number: its rows are counted in an array,
buckets get their places, and then the lines are put into them. Threads share the prefixes in both steps.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.arrange import mark_of, place_slot
from tidelog.engine.local.kernels.memory import (
    HASH_START,
    borrowed,
    entry_point,
    hash_end,
    hash_word,
    inlined,
    load32,
    load64,
    store16,
    store32,
)
from tidelog.engine.local.kernels.row_lists import (
    LIST_LINES,
    LIST_RECORDS,
    RECORD_BYTES,
    RECORD_LENGTH,
    RECORD_START,
    SHAPE_COLUMNS,
    SHAPE_PREFIX,
    digit_of,
)


@inlined
def key_of(shape, factors, prefix, value):
    """Returns the number of the key of a row, made of its ids with these factors."""
    columns = load64(shape, SHAPE_COLUMNS)
    own = load64(shape, SHAPE_PREFIX)
    key = prefix * load64(factors, own)
    if columns == 2:
        return key + value * load64(factors, 1 - own)
    for column in range(columns):
        if column != own and load64(factors, column) != 0:
            key += digit_of(shape, column, prefix, value) * load64(factors, column)
    return key


@entry_point("int64(int64[:,::1], int64, int64[::1], int64[::1], int64, int64, int32[::1])")
def count_keys(L, number, shape, factors, first, last, counts):
    """Counts, for the rows of some prefixes, how many have each key."""
    L, shape, factors, counts = borrowed(L), borrowed(shape), borrowed(factors), borrowed(counts)
    pool = L[number, k.POOL]
    for prefix in range(first, last):
        record = L[number, LIST_RECORDS] + prefix * RECORD_BYTES
        start = load32(record, RECORD_START)
        for at in range(start, start + load32(record, RECORD_LENGTH)):
            counts[key_of(shape.ctypes.data, factors.ctypes.data, prefix, load32(pool, at))] += 1
    return 0


@entry_point(
    "int64(int64[:,::1], int64, int64[:,::1], int64, int64[::1], int64[::1], int64, int64, int32[::1], int32[::1])"
)
def place_lines(L, number, A, arrangement, shape, factors, first, last, starts, places):
    """Puts the lines of the rows of some prefixes into their buckets, and marks them.

    By key, `starts` has the place of a bucket in the pool, and `places` the next place for this thread's lines.
    """
    L, A, shape, factors = borrowed(L), borrowed(A), borrowed(shape), borrowed(factors)
    starts, places = borrowed(starts), borrowed(places)
    values, lines = L[number, k.POOL], L[number, LIST_LINES]
    pool, marks = A[arrangement, k.POOL], A[arrangement, k.MARKS]
    for prefix in range(first, last):
        record = L[number, LIST_RECORDS] + prefix * RECORD_BYTES
        start = load32(record, RECORD_START)
        for at in range(start, start + load32(record, RECORD_LENGTH)):
            key = key_of(shape.ctypes.data, factors.ctypes.data, prefix, load32(values, at))
            place, line = places[key], load32(lines, at)
            places[key] = place + 1
            store32(pool, place, line)
            store16(marks, line, mark_of(place - starts[key]))
    return 0


@entry_point("int64(int64[:,::1], int64)")
def find_entries(A, arrangement):
    """Fills the empty table of an arrangement from its entries."""
    count = A[arrangement, k.KEY_COUNT]
    for entry in range(A[arrangement, k.ENTRY_COUNT]):
        address = A[arrangement, k.ENTRIES] + entry * (k.ENTRY_EXTRA + count) * 8
        state = HASH_START
        for i in range(count):
            state = hash_word(state, load64(address, k.ENTRY_EXTRA + i))
        place_slot(A, arrangement, (hash_end(state) << k.HASH_SHIFT) | (entry + 1))
    return 0
