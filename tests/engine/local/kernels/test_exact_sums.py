"""Exact sums by the kernel equal those of Python, rounded once to 64 or to 32 bits."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from tidelog.engine.local.kernels import exact_sums
from tidelog.values.exact_sum import ExactSum
from tidelog.values.floats import single


def by_kernel(groups: list[list[float]], width: int) -> tuple[list[float], list[int]]:
    numbers = np.array([number for group in groups for number in group], dtype=np.float64)
    ends = np.cumsum([0, *map(len, groups)])
    sums, left = np.empty(len(groups)), np.zeros(len(groups), dtype=np.uint8)
    parts, bits = np.empty(exact_sums.MOST_PARTS), np.empty(1, dtype=np.int64)
    order = np.arange(len(numbers))
    exact_sums.sum_exactly(numbers, order, ends, int(width == 32), parts, bits, sums, left)
    return sums.tolist(), left.tolist()


def random_number(rng: random.Random, width: int) -> float:
    kind = rng.randrange(6)
    if kind == 0:
        return float(rng.randrange(-4, 4))
    exponent = rng.choice(
        [-1074, -1040, -60, -54, -30, 0, 1, 24, 53, 80, 900] if width == 64 else [-149, -126, -24, 0, 24, 100]
    )
    number = math.ldexp(rng.choice([1.0, 1.5, rng.random(), 1 + 2**-52, 1 + 2**-23]), exponent) * rng.choice([1, -1])
    return number if width == 64 else single(number)


@pytest.mark.parametrize("width", [64, 32])
def test_sums_are_rounded_once(width: int) -> None:
    rng = random.Random(width)
    groups = [[random_number(rng, width) for _ in range(rng.randrange(1, 12))] for _ in range(4000)]
    sums, left = by_kernel(groups, width)
    assert not any(left)
    for group, found in zip(groups, sums):
        expected = ExactSum(group).rounded(width)
        assert found == expected, group
        assert math.copysign(1, found) == math.copysign(1, expected), group


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan, 1e308])
def test_a_group_with_a_number_that_is_not_small_is_left_to_python(number: float) -> None:
    _, left = by_kernel([[1.0], [2.0, number], [3.0]], 64)
    assert left == [0, 1, 0]
