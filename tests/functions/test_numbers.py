"""Numbers beyond machine words: `bigint`, `float` and `double`, and the casts between all of them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.functions.program import SPAN
from tidelog.check.typed import Binary, Cast, Expression, Lit, ToString, Unary, Var
from tidelog.functions.scalar import compile_scalar
from tidelog.types import BIGINT, BOOL, DOUBLE, FLOAT, S8, S128, STRING, U8, U32, U64, BitType, Type
from tidelog.values.floats import NAN, double, single


def binary(op: str, left: object, right: object, type_: Type) -> object:
    result = BOOL if op in ("==", "<") else type_
    expression = Binary(
        op,
        Var("a", type=type_, span=SPAN),
        Var("b", type=U32 if op in ("<<", ">>") else type_, span=SPAN),
        type=result,
        span=SPAN,
    )
    return compile_scalar(expression, ["a", "b"]).call(left, right)


def of(node: Expression, value: object) -> object:
    return compile_scalar(node, ["a"]).call(value)


def cast(value: object, source: Type, target: Type) -> object:
    return of(Cast(Var("a", type=source, span=SPAN), type=target, span=SPAN), value)


large = st.integers(-(2**200), 2**200)


@given(large, large)
def test_bigints_never_wrap_and_divide_toward_zero(left: int, right: int) -> None:
    assert binary("+", left, right, BIGINT) == left + right
    assert binary("*", left, right, BIGINT) == left * right
    assert binary("&", left, right, BIGINT) == left & right
    if right:
        quotient = math.trunc(Fraction(left, right))
        assert binary("/", left, right, BIGINT) == quotient
        assert binary("%", left, right, BIGINT) == left - quotient * right


def test_bigints_shift_as_far_as_they_are_told() -> None:
    assert binary("<<", 1, 300, BIGINT) == 2**300
    assert binary(">>", -5, 1, BIGINT) == -3
    assert of(Unary("-", Var("a", type=BIGINT, span=SPAN), type=BIGINT, span=SPAN), 2**100) == -(2**100)
    assert of(Unary("~", Var("a", type=BIGINT, span=SPAN), type=BIGINT, span=SPAN), 5) == -6
    with pytest.raises(ZeroDivisionError):
        binary("/", 1, 0, BIGINT)


doubles = st.floats().map(double)
singles = st.floats(width=32).map(single)


def same(left: object, right: object) -> bool:
    assert isinstance(left, float)
    assert isinstance(right, float)
    negative_zero = left == 0 and math.copysign(1, left) < 0
    return (left is NAN if math.isnan(right) else left == right) and not negative_zero


def by_the_machine(op: str, left: Any, right: Any) -> float:
    """The result of numpy, which computes in the type of its numbers."""
    with np.errstate(all="ignore"):
        match op:
            case "+":
                return float(left + right)
            case "-":
                return float(left - right)
            case "*":
                return float(left * right)
            case "/":
                return float(left / right)
            case _:
                return float(np.fmod(left, right))


@given(doubles, doubles, st.sampled_from("+-*/%"))
def test_doubles_compute_as_the_machine_does(left: float, right: float, op: str) -> None:
    wanted = by_the_machine(op, np.float64(left), np.float64(right))
    assert same(binary(op, left, right, DOUBLE), wanted)


@given(singles, singles, st.sampled_from("+-*/%"))
def test_singles_are_rounded_after_every_operation(left: float, right: float, op: str) -> None:
    wanted = by_the_machine(op, np.float32(left), np.float32(right))
    assert same(binary(op, left, right, FLOAT), wanted)


def test_nan_equals_itself_in_programs() -> None:
    assert binary("==", NAN, NAN, DOUBLE) is True
    assert binary("<", math.inf, NAN, DOUBLE) is True
    assert of(Unary("-", Var("a", type=DOUBLE, span=SPAN), type=DOUBLE, span=SPAN), NAN) is NAN
    assert same(of(Unary("-", Var("a", type=DOUBLE, span=SPAN), type=DOUBLE, span=SPAN), 0.0), 0.0)


@pytest.mark.parametrize(
    ("value", "source", "target", "wanted"),
    [
        (200, U8, S8, -56),
        (-1, S8, BIGINT, -1),
        (2**70 + 5, BIGINT, S128, 2**70 + 5),
        (2**127, BIGINT, S128, -(2**127)),
        (300, BIGINT, S8, 44),
        (2**64 - 1, U64, DOUBLE, 2.0**64),
        (2**64 - 1, U64, FLOAT, 2.0**64),
        (16777217, U32, FLOAT, 16777216.0),
        (10**400, BIGINT, DOUBLE, math.inf),
        (-3, S8, FLOAT, -3.0),
        (0.1, DOUBLE, FLOAT, single(0.1)),
        (single(0.1), FLOAT, DOUBLE, single(0.1)),
        (1e39, DOUBLE, FLOAT, math.inf),
        (NAN, DOUBLE, FLOAT, NAN),
        (2**150, BitType(200), BIGINT, 2**150),
    ],
)
def test_casts(value: object, source: Type, target: Type, wanted: object) -> None:
    found = cast(value, source, target)
    assert found == wanted
    assert type(found) is type(wanted)


@pytest.mark.parametrize(
    ("value", "type_", "wanted"),
    [
        (5, DOUBLE, 5.0),
        (0.1, FLOAT, single(0.1)),
        (-0.0, DOUBLE, 0.0),
        (math.inf, DOUBLE, math.inf),
        (-2.5, DOUBLE, -2.5),
    ],
)
def test_literals_of_floats_are_canonical(value: float, type_: Type, wanted: float) -> None:
    found = compile_scalar(Lit(value, type=type_, span=SPAN), []).call()
    assert same(found, wanted)


def test_literals_that_are_no_numbers() -> None:
    assert compile_scalar(Lit(float("nan"), type=DOUBLE, span=SPAN), []).call() is NAN
    assert compile_scalar(Lit(-math.inf, type=DOUBLE, span=SPAN), []).call() == -math.inf


@pytest.mark.parametrize(
    ("value", "type_", "wanted"),
    [
        (1.0, DOUBLE, "1"),
        (single(0.1), FLOAT, "0.1"),
        (-(2**100), BIGINT, str(-(2**100))),
        (2**150, BitType(200), str(2**150)),
        (True, BOOL, "true"),
    ],
)
def test_numbers_as_text(value: object, type_: Type, wanted: str) -> None:
    assert of(ToString(Var("a", type=type_, span=SPAN), type=STRING, span=SPAN), value) == wanted


def test_a_bigint_of_any_length_is_text() -> None:
    digits = of(ToString(Var("a", type=BIGINT, span=SPAN), type=STRING, span=SPAN), 10**6000)
    assert digits == "1" + "0" * 6000
