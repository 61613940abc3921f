"""Monotonicity analysis of expressions over costs.

A *cost* is a value that rounds only improve: under `min` it falls, under `max` it rises. The *direction* of an
expression is its own movement meanwhile: `FALLS`, `RISES`, or `STAYS` where it reads no cost. An expression that could
move either way is not monotone, and `NotMonotoneError` says where.

    d + l           d falls, l stays: falls              d - e      both fall: not monotone
    min(d, 7)       falls                                d % 2      not monotone

Sums of fixed width are monotone until they overflow their type. Each such sum is reported as a `Sum`, so that the
engine can watch it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from tidelog.check import typed
from tidelog.diagnostics.spans import Span
from tidelog.types import BigIntType, BitType, FloatType, SignedType, TupleType, Type, integer_range

FALLS, STAYS, RISES = 1, 0, -1
LEAST_OF_TWO: Final = "ddlog_std::min('A, 'A)"
GREATEST_OF_TWO: Final = "ddlog_std::max('A, 'A)"
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


class NotMonotoneError(Exception):
    """Something may get worse while what it is made of gets better; `text` says what, for a label at `span`."""

    def __init__(self, span: Span, text: str) -> None:
        super().__init__(text)
        self.span = span
        self.text = text


@dataclass(frozen=True, slots=True)
class Sum:
    """`cost + addends`, of a type with an end: an integer of fixed width, or a float."""

    cost: typed.Var
    addends: tuple[typed.Expression, ...]
    type: Type
    falls: bool


@dataclass(slots=True)
class Directions:
    """The directions of a rule's variables; what it finds on its way through expressions is collected.

    `others` are the first places of functions that are monotone, but not sums of fixed width.
    """

    of: dict[str, int] = field(default_factory=dict)
    sums: list[Sum] = field(default_factory=list)
    others: list[Span] = field(default_factory=list)

    def reads(self, expression: typed.Expression) -> bool:
        """True if an expression reads a cost."""
        return any(self.of.get(name, STAYS) for name in typed.variables(expression))

    def direction(self, expression: typed.Expression) -> int:
        """Returns the direction of an expression. Raises NotMonotoneError."""
        if not self.reads(expression):
            return STAYS
        match expression:
            case typed.Var(name):
                return self.of[name]
            case typed.Deref(operand) | typed.MakeRef(operand):
                return self.direction(operand)
            case typed.Cast(operand, type=type_):
                return self._cast(operand, type_, expression.span)
            case typed.Unary("-", operand, type=BigIntType()):
                return self._other(expression, -self.direction(operand))
            case typed.Binary(op):
                return self._binary(op, expression)
            case typed.IfElse(condition, then, otherwise) if not self.reads(condition):
                return self._other(expression, self._both(then, otherwise, expression.span))
            case typed.Call(function, _, (left, right)) if function in (LEAST_OF_TWO, GREATEST_OF_TWO):
                return self._other(expression, self._both(left, right, expression.span))
            case typed.MakeTuple((first, *rest)) if not any(map(self.reads, rest)):
                return self.direction(first)
            case typed.TupleItem(operand, 0):
                return self.direction(operand)
            case typed.TupleItem():
                raise NotMonotoneError(expression.span, "only the first part of a tuple follows its order")
            case _:
                raise NotMonotoneError(expression.span, "this may get worse when its inputs get better")

    def require_lasting(self, condition: typed.Expression, holds: bool = True) -> None:
        """Raises NotMonotoneError unless a condition that holds (or does not) stays so while costs get better."""
        if not self.reads(condition):
            return
        match condition:
            case typed.Binary("and" | "or", left, right):
                self.require_lasting(left, holds)
                self.require_lasting(right, holds)
            case typed.Unary("not", operand):
                self.require_lasting(operand, not holds)
            case typed.Binary(op, left, right) if op in _FLIPPED:
                op = op if holds else _FLIPPED[op]
                smaller, larger = (left, right) if op in ("<", "<=") else (right, left)
                if self.direction(smaller) == RISES or self.direction(larger) == FALLS:
                    raise NotMonotoneError(condition.span, "this may become false when its inputs get better")
            case typed.Binary("==" | "!="):
                raise NotMonotoneError(condition.span, "the value is compared for equality here")
            case _:
                raise NotMonotoneError(condition.span, "this may become false when its inputs get better")

    def _other(self, expression: typed.Expression, direction: int) -> int:
        self.others.append(expression.span)
        return direction

    def _both(self, left: typed.Expression, right: typed.Expression, span: Span, sign: int = 1) -> int:
        directions = {self.direction(left), sign * self.direction(right)} - {STAYS}
        if len(directions) > 1:
            raise NotMonotoneError(span, "one part of this falls while the other rises")
        return directions.pop() if directions else STAYS

    def _cast(self, operand: typed.Expression, type_: Type, span: Span) -> int:
        match operand.type, type_:
            case (BitType() | SignedType()) as given, (BitType() | SignedType()) as wanted:
                (low, high), (lowest, highest) = integer_range(given), integer_range(wanted)
                if low < lowest or high > highest:
                    raise NotMonotoneError(span, f"not every {given} is a {wanted}")
            case BigIntType(), BitType() | SignedType():
                raise NotMonotoneError(span, f"not every bigint is a {type_}")
            case _:
                pass
        return self.direction(operand)

    def _binary(self, op: str, expression: typed.Binary) -> int:
        left, right, span = expression.left, expression.right, expression.span
        match op, expression.type:
            case "+", BigIntType():
                return self._other(expression, self._both(left, right, span))
            case "-", BigIntType():
                return self._other(expression, self._both(left, right, span, -1))
            case "+", BitType() | SignedType() | FloatType():
                return self._sum(expression)
            case "*", BigIntType() | FloatType():
                for one, factor in ((left, right), (right, left)):
                    if not self.reads(factor) and _is_positive(factor):
                        return self._other(expression, self.direction(one))
                raise NotMonotoneError(span, "the factor may be negative, or change")
            case "/", BigIntType() | BitType() | SignedType() | FloatType():
                if isinstance(right, typed.Lit) and _is_positive(right):
                    return self._other(expression, self.direction(left))
                raise NotMonotoneError(span, "the divisor is not a literal above 0")
            case "-" | "*", BitType() | SignedType():
                raise NotMonotoneError(span, f"this may run over the end of {expression.type}; `bigint` has none")
            case _:
                raise NotMonotoneError(span, "this may get worse when its inputs get better")

    def _sum(self, expression: typed.Binary) -> int:
        """Returns a sum that has to be watched: of one cost and of what stays."""
        addends: list[typed.Expression] = []
        rest: typed.Expression = expression
        while isinstance(rest, typed.Binary) and rest.op == "+":
            if self.reads(rest.left) and self.reads(rest.right):
                raise NotMonotoneError(
                    expression.span, f"this adds up two costs, and may run over the end of {expression.type}"
                )
            rest, addend = (rest.left, rest.right) if self.reads(rest.left) else (rest.right, rest.left)
            addends.append(addend)
        if not isinstance(rest, typed.Var) or any(map(typed.may_fail, addends)):
            raise NotMonotoneError(expression.span, "the sum is not of a variable and an expression that cannot fail")
        direction = self.direction(rest)
        self.sums.append(Sum(rest, tuple(addends), expression.type, direction == FALLS))
        return direction


def _is_positive(expression: typed.Expression) -> bool:
    """True if the value is finite and surely not negative; of a float, surely above 0."""
    match expression:
        case typed.Lit(value):
            return not isinstance(value, str) and 0 < value < float("inf")
        case typed.Cast(operand, type=BigIntType()):
            return isinstance(operand.type, BitType)
        case _:
            return False


def number_in(value: Any, type_: Type) -> int | None:
    """Returns the whole number that the order of a value goes by: the value, or the first part of a tuple; else
    None."""
    while isinstance(type_, TupleType) and type_.items:
        value, type_ = value[0], type_.items[0]
    return value if isinstance(type_, BitType | SignedType) else None
