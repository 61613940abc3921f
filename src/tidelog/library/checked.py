"""The extern functions of `checked`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidelog.diagnostics.errors import OverflowedError
from tidelog.library._runtime.extern import ExternContext, extern
from tidelog.types import BigIntType, BitType, SignedType, Type, integer_range
from tidelog.values.big_integers import product
from tidelog.values.group import Group
from tidelog.values.text import integer_text


@extern(needs_types=True)
def checked_add(context: ExternContext, type_: Type, a: int, b: int) -> int:
    return _fitting(type_, lambda: a + b, lambda: f"{integer_text(a)} + {integer_text(b)}")


@extern(needs_types=True)
def checked_sub(context: ExternContext, type_: Type, a: int, b: int) -> int:
    return _fitting(type_, lambda: a - b, lambda: f"{integer_text(a)} - {integer_text(b)}")


@extern(needs_types=True)
def checked_mul(context: ExternContext, type_: Type, a: int, b: int) -> int:
    return _fitting(type_, lambda: product(a, b), lambda: f"{integer_text(a)} * {integer_text(b)}")


@extern(needs_types=True)
def overflow_add(context: ExternContext, type_: Type, a: int, b: int, place: str) -> int:
    return _fitting(type_, lambda: a + b, lambda: f"{integer_text(a)} + {integer_text(b)}", place)


@extern(needs_types=True)
def overflow_sub(context: ExternContext, type_: Type, a: int, b: int, place: str) -> int:
    return _fitting(type_, lambda: a - b, lambda: f"{integer_text(a)} - {integer_text(b)}", place)


@extern(needs_types=True)
def overflow_mul(context: ExternContext, type_: Type, a: int, b: int, place: str) -> int:
    return _fitting(type_, lambda: product(a, b), lambda: f"{integer_text(a)} * {integer_text(b)}", place)


@extern(needs_types=True)
def overflow_div(context: ExternContext, type_: Type, a: int, b: int, place: str) -> int:
    return _fitting(type_, lambda: _quotient(a, b), lambda: f"{integer_text(a)} / {integer_text(b)}", place)


@extern(needs_types=True)
def checked_sum_of(
    context: ExternContext, key: Type, value: Type, number: Type, g: Group, f: Callable[[Any], Any]
) -> int:
    return _fitting(number, lambda: sum(map(f, g.values)), lambda: "a sum")


def _quotient(a: int, b: int) -> int:
    """Returns the quotient, rounded toward zero. Raises ZeroDivisionError."""
    found = abs(a) // abs(b)
    return found if (a < 0) == (b < 0) else -found


def _fitting(type_: Type, operation: Callable[[], int], shown: Callable[[], str], place: str = "") -> int:
    """Returns the result of an operation on integers of a type. Raises EvaluationError if it does not fit into it."""
    if not isinstance(type_, BitType | SignedType | BigIntType):
        raise TypeError("the functions of `checked` are for integers")
    result = operation()
    if isinstance(type_, BigIntType):
        return result
    low, high = integer_range(type_)
    if not low <= result <= high:
        wrapping = "" if place else "; `+`, `-`, `*` and `sum_of` wrap around"
        raise OverflowedError(
            f"{shown()} is {integer_text(result)}, which is not between {integer_text(low)} and {integer_text(high)}",
            help=f"`bigint` has numbers of any size; cast the operands to it, not the result{wrapping}",
            place=place,
        )
    return result
