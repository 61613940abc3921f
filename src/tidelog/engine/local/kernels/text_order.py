"""Order and hashes of columns of text, and text backwards.

The hashes are those of xxHash, which the library's `hash32`, `hash64` and `hash128` are made of.
"""

from __future__ import annotations

import numpy as np

from tidelog.engine.local.kernels.memory import entry_point, kernel, load8, load_eight, load_four, store8
from tidelog.engine.local.kernels.text_columns import compare_bytes

P1, P2, P3 = np.uint64(0x9E3779B185EBCA87), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9)
P4, P5 = np.uint64(0x85EBCA77C2B2AE63), np.uint64(0x27D4EB2F165667C5)
Q1, Q2, Q3, Q4, Q5 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1
LOW = 0xFFFFFFFF


@entry_point("int64(int64[::1], int64[::1], int64[::1], int64[::1])")
def order_texts(addresses, lengths, order, ranks):
    """Writes the numbers of the strings in their order, and the rank of each: equal strings have equal ranks."""
    count = lengths.size
    other = np.empty(count, np.int64)
    for i in range(count):
        order[i] = i
    width = 1
    while width < count:
        start = 0
        while start < count:
            middle, end = min(start + width, count), min(start + 2 * width, count)
            left, right = start, middle
            for at in range(start, end):
                if right >= end:
                    is_left = True
                elif left >= middle:
                    is_left = False
                else:
                    a, b = order[left], order[right]
                    is_left = compare_bytes(addresses[a], lengths[a], addresses[b], lengths[b]) <= 0
                if is_left:
                    other[at] = order[left]
                    left += 1
                else:
                    other[at] = order[right]
                    right += 1
            start = end
        order[:] = other
        width *= 2
    rank = 0
    for at in range(count):
        if at > 0:
            a, b = order[at - 1], order[at]
            rank += compare_bytes(addresses[a], lengths[a], addresses[b], lengths[b]) != 0
        ranks[order[at]] = rank
    return rank


@entry_point("int64(int64[::1], int64[::1], int64, int64[::1])")
def reverse_texts(addresses, lengths, target, fresh):
    """Writes each string backwards to the target; returns how many have characters beyond ASCII."""
    failed = 0
    at = target
    for i in range(lengths.size):
        fresh[i] = at
        beyond = 0
        for place in range(lengths[i]):
            byte = load8(addresses[i] + place)
            beyond |= byte
            store8(at + lengths[i] - 1 - place, byte)
        failed += beyond >= 128
        at += lengths[i]
    return failed


@kernel
def rotated(word, bits):
    return (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))


@kernel
def mixed(state, word):
    return rotated(state + word * P2, 31) * P1


@kernel
def hash_bytes_64(address, length, seed):
    """Returns XXH64 of some bytes."""
    at, end = address, address + length
    if length >= 32:
        a, b, c, d = seed + P1 + P2, seed + P2, seed, seed - P1
        while at + 32 <= end:
            a = mixed(a, np.uint64(load_eight(at)))
            b = mixed(b, np.uint64(load_eight(at + 8)))
            c = mixed(c, np.uint64(load_eight(at + 16)))
            d = mixed(d, np.uint64(load_eight(at + 24)))
            at += 32
        state = rotated(a, 1) + rotated(b, 7) + rotated(c, 12) + rotated(d, 18)
        zero = np.uint64(0)
        state = (state ^ mixed(zero, a)) * P1 + P4
        state = (state ^ mixed(zero, b)) * P1 + P4
        state = (state ^ mixed(zero, c)) * P1 + P4
        state = (state ^ mixed(zero, d)) * P1 + P4
    else:
        state = seed + P5
    state += np.uint64(length)
    while at + 8 <= end:
        state = rotated(state ^ mixed(np.uint64(0), np.uint64(load_eight(at))), 27) * P1 + P4
        at += 8
    if at + 4 <= end:
        state = rotated(state ^ (np.uint64(load_four(at) & LOW) * P1), 23) * P2 + P3
        at += 4
    while at < end:
        state = rotated(state ^ (np.uint64(load8(at)) * P5), 11) * P1
        at += 1
    state = (state ^ (state >> np.uint64(33))) * P2
    state = (state ^ (state >> np.uint64(29))) * P3
    return state ^ (state >> np.uint64(32))


@entry_point("int64(int64[::1], int64[::1], int64, int64[::1])")
def hash_texts_64(addresses, lengths, seed, found):
    """Writes XXH64 of each string."""
    for i in range(found.size):
        found[i] = np.int64(hash_bytes_64(addresses[i], lengths[i], np.uint64(seed)))
    return 0


@kernel
def rotated_32(word, bits):
    return ((word << bits) | (word >> (32 - bits))) & LOW


@kernel
def product_32(left, right):
    """Returns the product of two numbers of 32 bits, without the bits above; no word overflows."""
    return ((left & 0xFFFF) * right + ((((left >> 16) * (right & LOW)) & 0xFFFF) << 16)) & LOW


@kernel
def mixed_32(state, word):
    return product_32(rotated_32((state + product_32(word, Q2)) & LOW, 13), Q1)


@kernel
def hash_bytes_32(address, length, seed):
    """Returns XXH32 of some bytes."""
    at, end = address, address + length
    if length >= 16:
        a, b, c, d = (seed + Q1 + Q2) & LOW, (seed + Q2) & LOW, seed, (seed - Q1) & LOW
        while at + 16 <= end:
            a = mixed_32(a, load_four(at) & LOW)
            b = mixed_32(b, load_four(at + 4) & LOW)
            c = mixed_32(c, load_four(at + 8) & LOW)
            d = mixed_32(d, load_four(at + 12) & LOW)
            at += 16
        state = (rotated_32(a, 1) + rotated_32(b, 7) + rotated_32(c, 12) + rotated_32(d, 18)) & LOW
    else:
        state = (seed + Q5) & LOW
    state = (state + length) & LOW
    while at + 4 <= end:
        state = product_32(rotated_32((state + product_32(load_four(at) & LOW, Q3)) & LOW, 17), Q4)
        at += 4
    while at < end:
        state = product_32(rotated_32((state + product_32(load8(at), Q5)) & LOW, 11), Q1)
        at += 1
    state = product_32(state ^ (state >> 15), Q2)
    state = product_32(state ^ (state >> 13), Q3)
    return state ^ (state >> 16)


@entry_point("int64(int64[::1], int64[::1], int64, int64[::1])")
def hash_texts_32(addresses, lengths, seed, found):
    """Writes XXH32 of each string."""
    for i in range(found.size):
        found[i] = hash_bytes_32(addresses[i], lengths[i], seed & LOW)
    return 0
