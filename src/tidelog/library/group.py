"""The extern function of `group`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidelog.check.types import BitType, FloatType, SignedType, Type, wrap
from tidelog.library.extern import Runtime, extern
from tidelog.values.floats import double, single
from tidelog.values.group import Group


@extern(needs_types=True)
def sum_of(runtime: Runtime, key: Type, value: Type, number: Type, g: Group, f: Callable[[Any], Any]) -> Any:
    match number:
        case BitType() | SignedType():
            return wrap(sum(map(f, g.values)), number)
        case FloatType(width):
            rounded, total = (single if width == 32 else double), 0.0
            for each in g.values:
                total = rounded(total + f(each))
            return total
        case _:
            return sum(map(f, g.values))
