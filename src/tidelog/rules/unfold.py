"""An `Unfold` literal → the Python function that takes values apart.

    (var a, Some{var b}) = FlatMap(f(x))        x  →  [(a, b) for each item of f(x) that fits the pattern]

Both engines use it. The expression and the pattern are compiled as one expression each: the pattern as a `match` whose
only fitting arm gives a tuple of its variables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidelog.check import typed
from tidelog.check.types import BOOL, TupleType
from tidelog.functions.scalar import ScalarFunction, compile_scalar
from tidelog.rules.ir import Unfold

_ITEM = "item#"


@dataclass(frozen=True, slots=True)
class Unfolding:
    """`fits` gives for one value a mark and the variables, as one tuple, or `()` where the value does not fit."""

    value: ScalarFunction
    fits: ScalarFunction
    each: bool

    def call(self, *arguments: Any) -> list[tuple[Any, ...]]:
        """The ways in which the rule goes on: the values of the pattern's variables."""
        value = self.value.call(*arguments)
        found = [self.fits.call(item) for item in value] if self.each else [self.fits.call(value)]
        return [way[1:] for way in found if way]


def compile_unfold(unfold: Unfold) -> Unfolding:
    """The function of the variables that the expression reads, in the order of their names."""
    names = sorted(typed.variables(unfold.expression))
    span, wanted = unfold.expression.span, unfold.pattern.type
    bound = [typed.Var(each.name, each.type, span) for each in unfold.variables]
    way: tuple[typed.Expression, ...] = (typed.Lit(True, BOOL, span), *bound)
    nothing = typed.MakeTuple((), TupleType(()), span)
    arms = (
        typed.Arm(unfold.pattern, typed.MakeTuple(way, TupleType(()), span)),
        typed.Arm(typed.AnyPattern(wanted, span), nothing),
    )
    match = typed.Match(typed.Var(_ITEM, wanted, span), arms, TupleType(()), span)
    return Unfolding(compile_scalar(unfold.expression, names), compile_scalar(match, [_ITEM]), unfold.each)
