"""Exact sums of floating-point numbers, group by group, each rounded once.

Shewchuk's algorithm, as in `math.fsum`: a sum is a few numbers whose bits do not overlap, smallest first, and adding
one more loses nothing. A sum of 32 bits is first rounded to an odd number of 64 bits, which a second rounding cannot
mistake for a tie. `values/exact_sum.py` computes groups with numbers that are not finite or that might overflow.
"""

from __future__ import annotations

import numpy as np

from tidelog.engine.local.kernels.memory import entry_point, kernel

LARGEST = 2.0**960  # sums of any number of such numbers are finite
MOST_PARTS = 64


@kernel
def add_exactly(parts, count, number):
    """Adds a number to a sum of `count` parts; returns how many parts it has then."""
    kept = 0
    for i in range(count):
        part = parts[i]
        if abs(number) < abs(part):
            number, part = part, number
        high = number + part
        low = part - (high - number)
        if low != 0.0:
            parts[kept] = low
            kept += 1
        number = high
    parts[kept] = number
    return kept + 1


@kernel
def rounded(parts, count, single, bits, numbers):
    """Returns a sum, rounded once; `bits` and `numbers` are the same scratch, as words and as numbers."""
    count -= 1
    high = parts[count]
    low = 0.0
    while count > 0 and low == 0.0:
        count -= 1
        before = high
        high = before + parts[count]
        low = parts[count] - (high - before)
    if single != 0:
        numbers[0] = high
        if low != 0.0 and bits[0] & 1 == 0:
            # Towards the exact sum: away from zero, if both have the same sign.
            bits[0] += 1 if (low > 0.0) == (high > 0.0) else -1
        return np.float64(np.float32(numbers[0])) + 0.0
    if count > 0 and ((low < 0.0 and parts[count - 1] < 0.0) or (low > 0.0 and parts[count - 1] > 0.0)):
        # A tie that the parts behind it decide.
        twice = low * 2.0
        further = high + twice
        if twice == further - high:
            high = further
    return high + 0.0


@entry_point("int64(float64[::1], int64[::1], int64[::1], int64, float64[::1], int64[::1], float64[::1], uint8[::1])")
def sum_exactly(numbers, order, ends, single, parts, bits, sums, left):
    """Writes the sum of each group: group i has the numbers at the places of `order` from ends[i] to ends[i + 1].

    Marks groups that are left to Python; returns how many. `parts` and `bits` are scratch.
    """
    scratch = bits.view(np.float64)
    count_left = 0
    for group in range(sums.size):
        count = 1
        parts[0] = 0.0
        for place in range(ends[group], ends[group + 1]):
            number = numbers[order[place]]
            if not abs(number) <= LARGEST:
                left[group] = 1
                break
            count = add_exactly(parts, count, number)
        count_left += left[group]
        sums[group] = rounded(parts, count, single, bits, scratch)
    return count_left
