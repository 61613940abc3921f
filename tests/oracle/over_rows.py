"""One aggregate over rows: the environments of all combinations, with weights → its value, by definition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from tests.oracle.program import Over
from tests.oracle.types import Made, Type, Value
from tests.oracle.value import Environment, value
from tests.oracle.vocabulary import NONE, some


class SumTooLargeError(Exception):
    """A sum of integers does not fit into its type."""


def aggregated(over: Over, members: Sequence[tuple[Environment, int]]) -> Value | None:
    """The value, None if there is none. Raises SumTooLargeError."""
    if over.expression is None:
        return sum(weight for _, weight in members)
    found: list[tuple[Any, int]] = [(value(over.expression, env), weight) for env, weight in members]
    if over.expression.type.kind == "option":
        found = [(each.fields[0], weight) for each, weight in found if isinstance(each, Made) and each.fields]
    if over.variable.type.kind == "option":
        if not members:
            return None
        best = _best(over, found)
        return NONE if best is None else some(best)
    if over.function == "count":
        return sum(weight for _, weight in found)
    return _best(over, found)


def _best(over: Over, found: Sequence[tuple[Any, int]]) -> Value | None:
    """The value of a sum, an average, or of the least or the greatest value; None if there is none."""
    match over.function:
        case "sum":
            return _sum(found, over.variable.type)
        case "avg":
            count = sum(weight for _, weight in found)
            return _as_double(_exact(found)) / count if count else None
        case "min":
            return min((each for each, _ in found), default=None)
        case "max":
            return max((each for each, _ in found), default=None)
    raise ValueError(over.function)


def _exact(found: Sequence[tuple[Any, int]]) -> Fraction:
    return sum((Fraction(each) * weight for each, weight in found), Fraction())


def _as_double(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _sum(found: Sequence[tuple[Any, int]], type_: Type) -> Value:
    total = _exact(found)
    if type_.kind == "double":
        return _as_double(total)
    low = -(1 << (type_.width - 1)) if type_.kind == "signed" else 0
    if type_.is_integer and not low <= total < low + (1 << type_.width):
        raise SumTooLargeError
    return int(total)
