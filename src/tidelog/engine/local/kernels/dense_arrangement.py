"""An arrangement of all rows of a relation whose keys are numbers near one another: a counting sort of their lines.

The words of a key are the digits of one number, each as its distance from the least word of its column. Where there are
not many more numbers than rows, an array has a place for each: no key is looked for by its hash, buckets are as long as
needed, and they lie in the order of the keys.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.arrange import FAR, NEAR, mark_of, place_slot
from tidelog.engine.local.kernels.memory import (
    HASH_START,
    borrowed,
    entry_point,
    hash_end,
    hash_word,
    load64,
    prefetch,
    store16,
    store32,
    store64,
)

# `state` has for each number how many rows have it, and then, once there are buckets, where its bucket starts, in the
# upper half, and how many lines are in it.
START_SHIFT = 32


@entry_point("int64(int64[:,::1], int64, int64[::1], int64, int64, int64[::1], int32[::1])")
def measure_keys(S, relation, keys, first, end, spans, numbers):
    """Widens `spans`, the least and the greatest word of each key column, by the rows at some lines. Writes down
    the low half of the last key of each row."""
    S, keys, spans, numbers = borrowed(S), borrowed(keys), borrowed(spans), borrowed(numbers)
    rows, stride, columns = S[relation, k.ROWS], S[relation, k.WIDTH] * 8, S[relation, k.COLUMNS]
    for i in range(keys.size):
        key, least, most = keys[i], spans[2 * i], spans[2 * i + 1]
        for line in range(first, end):
            row = rows + line * stride
            if load64(row, columns + k.META) >> k.STAMP_SHIFT == k.FREED:
                continue
            word = load64(row, key)
            least = min(least, word)
            most = max(most, word)
            store32(numbers.ctypes.data, line, word)
        spans[2 * i], spans[2 * i + 1] = least, most
    return 0


@entry_point("int64(int64[:,::1], int64, int64[::1], int64, int64, int64[::1], int32[::1], int64[::1])")
def count_rows(S, relation, keys, first, end, spans, numbers, state):
    """Writes down the number of the key of each row at some lines, from 1, and counts the rows of each; `numbers` are
    those of `measure_keys`."""
    S, keys, spans = borrowed(S), borrowed(keys), borrowed(spans)
    numbers, state = borrowed(numbers), borrowed(state)
    rows, stride, columns = S[relation, k.ROWS], S[relation, k.WIDTH] * 8, S[relation, k.COLUMNS]
    has_free = S[relation, k.LIVE] != S[relation, k.USED]
    last = keys.size - 1
    least = spans[2 * last]
    size = spans[2 * last + 1] - least + 1
    for line in range(first, end):
        row = rows + line * stride
        if has_free and load64(row, columns + k.META) >> k.STAMP_SHIFT == k.FREED:
            numbers[line] = 0
            continue
        # The distance has less than 32 bits.
        number = ((numbers[line] & k.LOW_MASK) - (least & k.LOW_MASK)) & k.LOW_MASK
        if last > 0:
            others = 0
            for i in range(last):
                others = others * (spans[2 * i + 1] - spans[2 * i] + 1) + load64(row, keys[i]) - spans[2 * i]
            number += others * size
        numbers[line] = number + 1
        state[number] += 1
    return 0


@entry_point("int64(int64[:,::1], int64, int64[::1], int64, int64, int64[::1], int64[::1])")
def make_buckets(A, arrangement, spans, first, end, state, hashes):
    """Adds the entries of some numbers, each with a bucket for its rows; there is room for all. `hashes` is scratch for
    PIECE words."""
    A, spans, state, hashes = borrowed(A), borrowed(spans), borrowed(state), borrowed(hashes)
    columns = A[arrangement, k.KEY_COUNT]
    width = (k.ENTRY_EXTRA + columns) * 8
    entries, entry = A[arrangement, k.ENTRIES], A[arrangement, k.ENTRY_COUNT]
    start, table, mask = A[arrangement, k.POOL_USED], A[arrangement, k.TABLE], A[arrangement, k.TABLE_MASK]
    waiting = 0
    for number in range(first, end):
        count = state[number]
        if count > 0:
            address = entries + entry * width
            left = number
            for i in range(columns - 1, -1, -1):
                size = spans[2 * i + 1] - spans[2 * i] + 1
                store64(address, k.ENTRY_EXTRA + i, spans[2 * i] + left % size)
                left //= size
            hashed = HASH_START
            for i in range(columns):
                hashed = hash_word(hashed, load64(address, k.ENTRY_EXTRA + i))
            hashed = hash_end(hashed)
            store64(address, k.ENTRY_START, start)
            store32(address, k.ENTRY_LENGTH, count)
            store32(address, k.ENTRY_ROOM, count)
            state[number] = start << START_SHIFT
            start += count
            entry += 1
            prefetch(table, hashed & mask)
            hashes[waiting] = (hashed << k.HASH_SHIFT) | entry
            waiting += 1
        if waiting == k.PIECE or number + 1 == end:
            for i in range(waiting):
                place_slot(A, arrangement, hashes[i])
            waiting = 0
    A[arrangement, k.ENTRY_COUNT], A[arrangement, k.POOL_USED] = entry, start
    return 0


@entry_point("int64(int64[:,::1], int64, int64, int64, int64, int32[::1], int64[::1])")
def fill_buckets(A, arrangement, first, end, used, numbers, state):
    """Puts some lines into their buckets, once all buckets are made."""
    A, numbers, state = borrowed(A), borrowed(numbers), borrowed(state)
    pool, marks = A[arrangement, k.POOL], A[arrangement, k.MARKS]
    counts = state.ctypes.data
    for line in range(first, end):
        prefetch(counts, max(numbers[min(line + FAR, used - 1)] - 1, 0))
        ahead = numbers[min(line + NEAR, used - 1)] - 1
        if ahead >= 0:
            prefetch(pool, ((state[ahead] >> START_SHIFT) + (state[ahead] & k.LOW_MASK)) // 2)
        number = numbers[line] - 1
        if number < 0:
            store16(marks, line, 0)
            continue
        found = state[number]
        place = found & k.LOW_MASK
        store32(pool, (found >> START_SHIFT) + place, line)
        store16(marks, line, mark_of(place))
        state[number] = found + 1
    return 0
