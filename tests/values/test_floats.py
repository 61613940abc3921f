"""Floating-point numbers have one zero and one NaN, and 32-bit ones are rounded once."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.values.floats import NAN, double, double_of, float_text, quotient, remainder, single, single_of


def test_nan_equals_itself_and_is_the_largest() -> None:
    other = double(float("nan"))
    assert other is NAN
    assert other == NAN
    assert (other != NAN) is False
    assert math.inf < NAN
    assert NAN.__gt__(math.inf)
    assert not NAN < 1.0
    assert sorted([NAN, 1.0, math.inf, -1.0]) == [-1.0, 1.0, math.inf, NAN]
    assert double(math.inf - math.inf) in {NAN}
    assert (1, other) == (1, NAN)
    assert math.isnan(NAN)


@pytest.mark.parametrize("canonical", [double, single])
def test_there_is_no_negative_zero(canonical: object) -> None:
    assert callable(canonical)
    assert math.copysign(1, canonical(-0.0)) == 1
    assert math.copysign(1, canonical(-1e-300 * 1e-300)) == 1
    assert canonical(NAN + 1.0) is NAN
    assert canonical(NAN) is NAN


@given(st.floats())
def test_a_single_is_what_numpy_rounds_to(number: float) -> None:
    with np.errstate(over="ignore"):
        wanted = float(np.float32(number))
    found = single(number)
    assert found is NAN if math.isnan(wanted) else found == wanted


@given(st.integers() | st.integers(-(2**200), 2**200))
def test_an_integer_becomes_the_nearest_single(number: int) -> None:
    found = single_of(number)
    if math.isinf(found):
        assert abs(number) >= 2**128 - 2**103
        return
    gap = abs(Fraction(number) - Fraction(found))
    near = np.float32(found)
    for other in (np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))):
        if math.isfinite(float(other)):
            assert gap <= abs(Fraction(number) - Fraction(float(other)))


def test_rounding_an_integer_twice_would_give_another_single() -> None:
    # Just above the middle of two singles: the nearest double is the middle itself.
    number = (1 << 60) + (1 << 36) + 1
    assert single_of(number) == float((1 << 60) + (1 << 37))
    assert single(float(number)) == float(1 << 60)


def test_huge_integers_are_infinite() -> None:
    assert double_of(10**400) == math.inf
    assert double_of(-(10**400)) == -math.inf
    assert single_of(10**4000) == math.inf
    assert single_of(-(2**200)) == -math.inf


def test_division_never_raises() -> None:
    assert quotient(1.0, 0.0) == math.inf
    assert quotient(-1.0, 0.0) == -math.inf
    assert double(quotient(0.0, 0.0)) is NAN
    assert double(quotient(NAN, 0.0)) is NAN
    assert quotient(1.0, 4.0) == 0.25
    assert double(remainder(1.0, 0.0)) is NAN
    assert double(remainder(math.inf, 2.0)) is NAN
    assert double(remainder(NAN, 2.0)) is NAN
    assert remainder(-7.0, 2.0) == -1.0
    assert remainder(7.0, math.inf) == 7.0


@pytest.mark.parametrize(
    ("number", "width", "text"),
    [
        (5.0, 64, "5"),
        (-0.32, 64, "-0.32"),
        (1e21, 64, "1000000000000000000000"),
        (1.5e-7, 64, "0.00000015"),
        (1e300, 64, "1" + "0" * 300),
        (math.inf, 64, "inf"),
        (-math.inf, 32, "-inf"),
        (NAN, 64, "NaN"),
        (single(5 / 3), 32, "1.6666666"),
        (single(5 / 3), 64, "1.6666666269302368"),
        (single(0.1), 32, "0.1"),
        (single(1e38), 32, "1" + "0" * 38),
        (single(16777216.0), 32, "16777216"),
        (0.0, 32, "0"),
    ],
)
def test_text_is_short_and_has_no_exponent(number: float, width: int, text: str) -> None:
    assert float_text(number, width) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_text_reads_as_the_same_number(number: float) -> None:
    text = float_text(double(number), 64)
    assert "e" not in text
    assert float(text) == number


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_text_of_a_single_reads_as_the_same_number(number: float) -> None:
    text = float_text(single(number), 32)
    assert "e" not in text
    assert single(float(text)) == number
