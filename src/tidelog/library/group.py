"""The extern function of `group`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidelog.library._runtime.extern import ExternContext, extern
from tidelog.scaled_values import to_units, within
from tidelog.types import BitType, DecimalType, DurationType, FloatType, SignedType, Type, wrap
from tidelog.values.exact_sum import ExactSum
from tidelog.values.group import Group


@extern(needs_types=True)
def sum_of(context: ExternContext, key: Type, value: Type, number: Type, g: Group, f: Callable[[Any], Any]) -> Any:
    match number:
        case BitType() | SignedType():
            return wrap(sum(map(f, g.values)), number)
        case FloatType(width):
            return ExactSum(map(f, g.values)).rounded(width)
        case DurationType() | DecimalType():
            return within(sum(to_units(f(each), number) for each in g.values), number, "the sum of a group")
        case _:
            return sum(map(f, g.values))
