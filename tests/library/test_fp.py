"""Floating-point functions never raise, and round to their width."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.library.declare import externs_of
from tidelog.library._runtime.option_result import NONE, Err, Ok, Some
from tidelog.library._runtime.registry import library_externs
from tidelog.values.floats import NAN, float_text, single

INF = math.inf
fp = externs_of("fp")


@pytest.mark.parametrize(
    ("name", "arguments", "narrow", "wide"),
    [
        ("floor", (0.5,), "0", "0"),
        ("ceil", (0.5,), "1", "1"),
        ("round", (0.5,), "1", "1"),
        ("round", (-2.5,), "-3", "-3"),
        ("trunc", (-1.5,), "-1", "-1"),
        ("fract", (-1.5,), "-0.5", "-0.5"),
        ("signum", (0.0,), "1", "1"),
        ("signum", (NAN,), "NaN", "NaN"),
        ("sqrt", (0.5,), "0.70710677", "0.7071067811865476"),
        ("sqrt", (-1.0,), "NaN", "NaN"),
        ("cbrt", (0.5,), "0.7937005", "0.7937005259840998"),
        ("recip", (0.0,), "inf", "inf"),
        ("exp", (0.5,), "1.6487212", "1.6487212707001282"),
        ("exp", (1000.0,), "inf", "inf"),
        ("ln", (0.0,), "-inf", "-inf"),
        ("ln", (-1.0,), "NaN", "NaN"),
        ("log", (0.5, 2.0), "-1", "-1"),
        ("powf", (-8.0, 0.5), "NaN", "NaN"),
        ("powf", (0.0, -1.0), "inf", "inf"),
        ("powf", (-10.0, 309.0), "-inf", "-inf"),
        ("powi", (0.5, 5), "0.03125", "0.03125"),
        ("powi", (2.0, -2), "0.25", "0.25"),
        ("mul_add", (0.5, 2.0, 2.5), "3.5", "3.5"),
        ("mul_add", (INF, 0.0, 1.0), "NaN", "NaN"),
        ("sin", (INF,), "NaN", "NaN"),
        ("asinh", (0.5,), "0.48121184", "0.48121182505960347"),
        ("acosh", (0.5,), "NaN", "NaN"),
        ("atanh", (1.0,), "inf", "inf"),
        ("sinh", (-1000.0,), "-inf", "-inf"),
        ("cosh", (-1000.0,), "inf", "inf"),
        ("to_degrees", (0.5,), "28.64789", "28.64788975654116"),
        ("to_radians", (0.5,), "0.008726646", "0.008726646259971648"),
        ("atan2", (0.5, 2.0), "0.24497867", "0.24497866312686414"),
    ],
)
def test_values(name: str, arguments: tuple[Any, ...], narrow: str, wide: str) -> None:
    assert float_text(getattr(fp, f"{name}_f")(*arguments), 32) == narrow
    assert float_text(getattr(fp, f"{name}_d")(*arguments), 64) == wide


@pytest.mark.parametrize("suffix", ["f", "d"])
@given(st.floats(allow_nan=True, allow_infinity=True), st.floats(), st.floats())
def test_no_function_raises_and_all_answers_are_canonical(suffix: str, x: float, y: float, z: float) -> None:
    arguments = [NAN if math.isnan(each) else (single(each) if suffix == "f" else each + 0.0) for each in (x, y, z)]
    for name, function in library_externs().items():
        if name.startswith("fp::") and name.endswith(f"_{suffix}") and not name.startswith(("fp::parse", "fp::powi")):
            count = {"mul_add": 3, "atan2": 2, "powf": 2, "log": 2, "nan": 0}.get(name[4:-2], 1)
            answer = function(*arguments[:count])
            if isinstance(answer, float):
                assert answer is NAN or answer == answer
                assert math.copysign(1, answer) > 0 or answer != 0
                assert suffix == "d" or single(answer) == answer


def test_finite_means_normal() -> None:
    assert fp.is_finite_d(1.0)
    assert not fp.is_finite_d(0.0)
    assert not fp.is_finite_d(5e-324)
    assert not fp.is_finite_f(single(1e-40))
    assert not fp.is_finite_d(NAN)
    assert fp.is_infinite_d(-INF)


def test_integers_from_numbers() -> None:
    assert fp.int_from_d(-2.7) == Some(-2)
    assert fp.int_from_d(1e30) == Some(int(1e30))
    assert fp.int_from_f(NAN) == NONE
    assert fp.int_from_d(INF) == NONE


@pytest.mark.parametrize(
    ("text", "number"), [("0.02", 0.02), (".5", 0.5), ("5.", 5.0), ("+1e3", 1000.0), ("-inf", -INF), ("1e999", INF)]
)
def test_numbers_that_can_be_read(text: str, number: float) -> None:
    assert fp.parse_d(text) == Ok(number)


def test_not_a_number_can_be_read() -> None:
    assert fp.parse_d("NaN") == Ok(NAN)


@pytest.mark.parametrize("text", ["blah", ".", "1_0", " 1", "1e", "0x1", "٣"])
def test_texts_that_are_no_numbers(text: str) -> None:
    assert fp.parse_d(text) == Err("invalid float literal")


def test_an_empty_text_is_no_number() -> None:
    assert fp.parse_f("") == Err("cannot parse float from empty string")


def test_a_narrow_number_is_rounded_once() -> None:
    # Just below and above the middle of two neighbours: in between lies the double that both are nearest to.
    assert fp.parse_f("1.00000017881393432617187499") == Ok(1.0000001192092896)
    assert fp.parse_f("1.00000017881393432617187501") == Ok(1.000000238418579)
    assert fp.mul_add_f(1 + 2.0**-23, 1 - 2.0**-23, 16777218.0) == 16777218.0
    assert fp.mul_add_f(1.0, 1.0, 16777218.0) == 16777220.0


@pytest.mark.parametrize("text", ["5e-9999999999999999991", "0.0e-9999999999999999999", "1e9999999999999999999"])
def test_exponents_beyond_everything_are_read(text: str) -> None:
    expected = fp.parse_d(text)
    assert fp.parse_f(text) == expected
