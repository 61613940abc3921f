"""Conditions that say what the value of a variable is: `x % 3 == k` once `x` is known, `x + y == 10` as `y = 10 - x`.

A condition of this kind is an assignment as soon as all its other variables are bound, so that the literals of the
variable can be looked up by it, where else all their rows would be compared. Integers wrap around, so that a sum or a
difference always has one solution.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tidelog.check import typed
from tidelog.plan.plain import is_plain
from tidelog.rules.ir import Variable
from tidelog.types import BitType, SignedType, is_word


def solved(condition: typed.Expression, bound: Collection[str]) -> tuple[Variable, typed.Expression] | None:
    """Returns the only variable of an equality that is not bound, and its value; None if there is no such solution.

    Only words that the kernels compare are solved for, by expressions that cannot fail.
    """
    if not isinstance(condition, typed.Binary) or condition.op != "==":
        return None
    if not is_word(condition.left.type) or typed.may_fail(condition) or not is_plain(condition):
        return None
    unbound = typed.variables(condition).difference(bound)
    if len(unbound) != 1:
        return None
    for side, value in ((condition.left, condition.right), (condition.right, condition.left)):
        if not typed.variables(value) & unbound:
            return _solved(side, value, next(iter(unbound)))
    return None


def _solved(side: typed.Expression, value: typed.Expression, name: str) -> tuple[Variable, typed.Expression] | None:
    """Solves `side == value` for a variable of the side."""
    if isinstance(side, typed.Var):
        return Variable(side.name, side.type), value
    if not isinstance(side, typed.Binary) or side.op not in ("+", "-"):
        return None
    if not isinstance(side.type, BitType | SignedType):
        return None
    is_left, is_right = (name in typed.variables(each) for each in (side.left, side.right))
    if is_left and is_right:
        return None
    if is_left:
        return _solved(side.left, replace(side, op="-" if side.op == "+" else "+", left=value, right=side.right), name)
    if side.op == "+":
        return _solved(side.right, replace(side, op="-", left=value, right=side.left), name)
    return _solved(side.right, replace(side, left=side.left, right=value), name)
