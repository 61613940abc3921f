"""The extern functions of `checked`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import EvaluationError
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
def checked_sum_of(
    context: ExternContext, key: Type, value: Type, number: Type, g: Group, f: Callable[[Any], Any]
) -> int:
    return _fitting(number, lambda: sum(map(f, g.values)), lambda: "a sum")


def _fitting(type_: Type, operation: Callable[[], int], shown: Callable[[], str]) -> int:
    """Returns the result of an operation on integers of a type. Raises EvaluationError if it does not fit into it."""
    if not isinstance(type_, BitType | SignedType | BigIntType):
        raise TypeError("the functions of `checked` are for integers")
    result = operation()
    if isinstance(type_, BigIntType):
        return result
    low, high = integer_range(type_)
    if not low <= result <= high:
        raise EvaluationError(
            f"{shown()} is {integer_text(result)}, which is not between {integer_text(low)} and "
            f"{integer_text(high)}; the last commit is intact",
            code=Code.OVERFLOW,
            help="`bigint` has numbers of any size; `+`, `-`, `*` and `sum_of` wrap around",
        )
    return result
