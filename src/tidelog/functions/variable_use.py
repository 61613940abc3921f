"""Expressions → the variables that they read, and those that they change after their declaration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidelog.check.typed import Call, CallValue, Expression, SetPlace, Var, place, walk
from tidelog.types import FunctionType


@dataclass(frozen=True, slots=True)
class VariableUse:
    """`changed` are the variables that are assigned or given for a `mut` parameter; all others keep their values."""

    read: frozenset[str]
    changed: frozenset[str]


def variable_use(
    expressions: tuple[Expression, ...],
    mutable_places: Callable[[str], tuple[int, ...]],
) -> VariableUse:
    """Returns the variables that the expressions read and change; `mutable_places` tells the `mut` parameters of a
    function."""
    read: set[str] = set()
    changed: set[str] = set()
    for expression in expressions:
        for node in walk(expression):
            match node:
                case Var(name):
                    read.add(name)
                case SetPlace(place=target):
                    read.add(target.variable.name)
                    changed.add(target.variable.name)
                case Call(function, _, arguments):
                    changed.update(_roots([arguments[index] for index in mutable_places(function)]))
                case CallValue(function, arguments):
                    assert isinstance(function.type, FunctionType)
                    pairs = zip(arguments, function.type.parameters)
                    changed.update(_roots([argument for argument, (_, mutable) in pairs if mutable]))
                case _:
                    pass
    return VariableUse(frozenset(read), frozenset(changed))


def _roots(arguments: list[Expression]) -> list[str]:
    found = [place(argument) for argument in arguments]
    return [each.variable.name for each in found if each is not None]
