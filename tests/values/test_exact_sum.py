"""Sums of floating-point numbers: exact, whatever the order, and after any history of numbers that come and go."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.values import NAN
from tidelog.values.exact_sum import ExactSum

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=200)
@given(st.lists(FINITE, max_size=200), st.randoms(use_true_random=False))
def test_oracle_a_sum_is_what_fsum_gives_and_no_order_or_history_shows(
    numbers: list[float], rng: random.Random
) -> None:
    shuffled = rng.sample(numbers, len(numbers))
    found = ExactSum(numbers)
    assert found.rounded(64) == ExactSum(shuffled).rounded(64) == _nearest(numbers)
    gone = rng.sample(numbers, len(numbers) // 2)
    for number in gone:
        found.add(number, -1)
    left = list(numbers)
    for number in gone:
        left.remove(number)
    assert found.rounded(64) == _nearest(left)


def _nearest(numbers: list[float]) -> float:
    try:
        return math.fsum(numbers) + 0.0
    except OverflowError:  # of what is in between, or of the sum
        exact = sum(map(Fraction, numbers), Fraction())
        try:
            return float(exact)
        except OverflowError:
            return math.inf if exact > 0 else -math.inf


@settings(max_examples=200)
@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), max_size=80))
def test_a_sum_of_32_bits_is_rounded_once(numbers: list[float]) -> None:
    found = ExactSum(numbers).rounded(32)
    exact = sum(map(Fraction, numbers), Fraction())
    if math.isinf(found):
        assert abs(exact) >= Fraction(2) ** 128 - Fraction(2) ** 103
        return
    own = np.float32(found)
    assert float(own) == found
    with np.errstate(over="ignore"):
        beside = [np.nextafter(own, np.float32(sign)) for sign in (np.inf, -np.inf)]
    for next_to in beside:
        if np.isfinite(next_to):
            assert abs(Fraction(found) - exact) <= abs(Fraction(float(next_to)) - exact)


def test_a_sum_of_32_bits_is_not_rounded_to_64_bits_first() -> None:
    numbers = [1.0, 2.0**-24, 2.0**-80]
    assert ExactSum(numbers).rounded(32) == 1.0 + 2.0**-23
    assert ExactSum(numbers[:2]).rounded(32) == 1.0, "a tie goes to the even one"


@pytest.mark.parametrize("count", [3, 500])
def test_numbers_that_are_not_finite_are_counted(count: int) -> None:
    few = [1.5] * count
    assert ExactSum([*few, math.inf]).rounded(64) == math.inf
    assert ExactSum([*few, -math.inf]).rounded(32) == -math.inf
    assert ExactSum([*few, math.inf, -math.inf]).rounded(64) is NAN
    found = ExactSum([*few, math.inf, NAN])
    assert found.rounded(64) is NAN
    found.add(NAN, -1)
    assert found.rounded(64) == math.inf
    found.add(math.inf, -1)
    assert found.rounded(64) == 1.5 * count


def test_a_sum_that_is_too_large_is_infinite_and_comes_back() -> None:
    found = ExactSum([1.7e308, 1.7e308])
    assert found.rounded(64) == math.inf
    found.add(-1.7e308)
    assert found.rounded(64) == 1.7e308
    assert ExactSum([-3e38, -3e38]).rounded(32) == -math.inf
    assert repr(ExactSum([1.0, -1.0]).rounded(64)) == "0.0"


def test_there_is_no_drift_over_a_long_history() -> None:
    rng = random.Random(7)
    held = [rng.uniform(-1, 1) * 10.0 ** rng.randrange(-20, 20) for _ in range(200)]
    found = ExactSum(held)
    for _ in range(5000):
        place = rng.randrange(len(held))
        found.add(held[place], -1)
        held[place] = rng.uniform(-1, 1) * 10.0 ** rng.randrange(-20, 20)
        found.add(held[place])
    assert found.rounded(64) == math.fsum(held)
