"""Monotonicity analysis of expressions over costs.

A *cost* is a value that rounds only improve: under `min` it falls, under `max` it rises. The *direction* of an
expression is its own movement meanwhile: `FALLS`, `RISES`, or `STAYS` where it reads no cost. An expression that could
move either way is not monotone, and `NotMonotoneError` says where.

    d + l           d falls, l stays: falls              d - e      both fall: not monotone
    min(d, 7)       falls                                d % 2      not monotone

The parts of a tuple are compared one after another, so only the first has a direction of its own. A *later* part moves
in its direction while all parts before it stay. It may stand in a tuple, or in a row, behind a function of those parts
that is *strict*: one that stays only if they do.

    (d + l, n, p)   of (d, p): d + l is strict, and p moves while d stays: falls
    (min(d, 7), p)  of (d, p): not monotone, because min(d, 7) may stay while d falls and p rises

Sums of fixed width are monotone until they overflow their type. Each such sum is reported as a `Sum`, so that the
engine can watch it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from tidelog.check import typed
from tidelog.diagnostics.spans import Span
from tidelog.rules.analysis.scaled_sums import NotScaledSumError, is_scaled_sum, is_widened, scaled_sum
from tidelog.scaled_values import to_units
from tidelog.types import (
    STRING,
    BigIntType,
    BitType,
    DecimalType,
    FloatType,
    ScaledType,
    SignedType,
    TupleType,
    Type,
    integer_range,
)

FALLS, STAYS, RISES = 1, 0, -1
LEAST_OF_TWO: Final = "ddlog_std::min('A, 'A)"
GREATEST_OF_TWO: Final = "ddlog_std::max('A, 'A)"
SAME: Final = ("ddlog_std::ref_new",)
"""Functions whose result is ordered like their argument."""
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


class NotMonotoneError(Exception):
    """Something may get worse while what it is made of gets better; `text` says what, for a label at `span`; `help`
    says what to write, if that is known."""

    def __init__(self, span: Span, text: str, help: str | None = None) -> None:
        super().__init__(text)
        self.span = span
        self.text = text
        self.help = help


@dataclass(frozen=True, slots=True)
class Sum:
    """`cost + addends`, of a type with an end: an integer of fixed width, a float, or a date, time or decimal, of which
    the addends are integers of its unit. `expression` is the whole sum."""

    cost: typed.Var
    addends: tuple[typed.Expression, ...]
    type: Type
    falls: bool
    expression: typed.Expression


class Part(NamedTuple):
    """A variable as a part of a row or of a tuple, `base`: its place in the order of comparison, and its direction."""

    base: str
    level: int
    direction: int


Order = tuple[tuple[int, int], ...]
"""The parts of a tuple in the order in which they are compared, each with its direction while the tuple improves."""


@dataclass(slots=True)
class Directions:
    """The directions of a rule's variables; what it finds on its way through expressions is collected.

    `of` are variables with a direction of their own. `parts` are those that are parts of others; a later one has no
    direction until all before it are `tied`. `made` are variables that are computed from others. `orders` are the
    orders of types that are not compared from the first part on. `others` are the first places of functions that are
    monotone, but not sums of fixed width.
    """

    of: dict[str, int] = field(default_factory=dict)
    parts: dict[str, Part] = field(default_factory=dict)
    made: dict[str, typed.Expression] = field(default_factory=dict)
    orders: Mapping[Type, Order] = field(default_factory=dict)
    sums: list[Sum] = field(default_factory=list)
    others: list[Span] = field(default_factory=list)
    tied: frozenset[str] = frozenset()

    def reads(self, expression: typed.Expression) -> bool:
        """True if an expression reads something that moves."""
        return bool(self.moving(expression))

    def moving(self, expression: typed.Expression) -> set[str]:
        """Returns the variables that an expression reads and that move: those that others are made of."""
        found: set[str] = set()
        for name in typed.variables(expression) - self.tied:
            if name in self.made:
                found |= self.moving(self.made[name])
            elif self.of.get(name, STAYS) or name in self.parts:
                found.add(name)
        return found

    def assign(self, name: str, expression: typed.Expression) -> None:
        """Notes what a variable is assigned. Raises NotMonotoneError."""
        if isinstance(expression, typed.TupleItem) and isinstance(expression.operand, typed.Var):
            whole = expression.operand
            if direction := self.of.get(whole.name, STAYS):
                order = self.order_of(whole.type)
                level = next(level for level, (index, _) in enumerate(order) if index == expression.index)
                self.parts[name] = Part(self._source(whole.name), level, direction * order[level][1])
                if level == 0:
                    self.of[name] = self.parts[name].direction
                return
        if not (moving := self.moving(expression)):
            return
        sums, others = len(self.sums), len(self.others)
        try:
            self.of[name] = self.direction(expression)
        except NotMonotoneError:
            if all(self.of.get(each, STAYS) for each in moving):
                raise
            del self.sums[sums:], self.others[others:]
        self.made[name] = expression

    def _source(self, name: str) -> str:
        """Returns the variable that a variable is another name of."""
        while name in self.made and isinstance(source := self.made[name], typed.Var):
            name = source.name
        return name

    def order_of(self, type_: Type) -> Order:
        """Returns the order of a tuple type."""
        assert isinstance(type_, TupleType)
        return self.orders.get(type_) or tuple((index, FALLS) for index in range(len(type_.items)))

    def follow(self, compared: Sequence[typed.Expression]) -> list[int]:
        """Returns the directions of expressions that are compared one after another. Raises NotMonotoneError.

        Each is that of the expression while those before it stay; STAYS, where it stays with them.
        """
        return self._follow(compared)[0]

    def _follow(self, compared: Sequence[typed.Expression]) -> tuple[list[int], bool]:
        """Does the same; the second result says whether all that moves stays once all of them stay."""
        inner = replace(self)
        found = []
        is_strict = True
        for expression in compared:
            names = inner.moving(expression)
            if names and not is_strict:
                raise NotMonotoneError(expression.span, "this may get worse while what is compared before it stays")
            if names and expression.type in self.orders:
                raise NotMonotoneError(expression.span, "this is compared in another order inside a tuple or a row")
            found.append(inner.direction(expression) if names else STAYS)
            is_strict = is_strict and inner._is_strict(expression)
            if is_strict:
                inner._tie(names)
        return found, is_strict

    def _tie(self, names: set[str]) -> None:
        """Lets variables stay, with their parts; and lets later parts move behind those that stay."""
        tied = self.tied | names
        tied |= {name for name, part in self.parts.items() if part.base in tied}
        levels: dict[str, set[int]] = {}
        for name, part in self.parts.items():
            if name in tied:
                levels.setdefault(part.base, set()).add(part.level)
        self.tied = frozenset(tied)
        self.of = {name: direction for name, direction in self.of.items() if name not in tied}
        for name, part in self.parts.items():
            if name not in tied and levels.get(part.base, set()) >= {*range(part.level)}:
                self.of[name] = part.direction

    def direction(self, expression: typed.Expression) -> int:
        """Returns the direction of an expression. Raises NotMonotoneError."""
        if not self.reads(expression):
            return STAYS
        match expression:
            case typed.Var(name) if name not in self.of and name in self.made:
                return self.direction(self.made[name])
            case typed.Var(name) if name not in self.of:
                raise NotMonotoneError(expression.span, "only the first part of a tuple follows its order")
            case typed.Var(name):
                return self.of[name]
            case typed.Deref(operand) | typed.MakeRef(operand):
                return self.direction(operand)
            case typed.Cast() | typed.Binary() if is_scaled_sum(expression):
                return self._scaled_sum(expression)
            case typed.Cast(operand) if is_widened(expression):
                return self.direction(operand)
            case typed.Cast(operand, type=type_):
                return self._cast(operand, type_, expression.span)
            case typed.Unary("-", operand, type=BigIntType()):
                return self._other(expression, -self.direction(operand))
            case typed.Binary("++", left, right) if expression.type == STRING and not self.reads(left):
                return self.direction(right)
            case typed.Binary("++") if expression.type == STRING:
                raise NotMonotoneError(expression.span, "a text only follows the order of its end")
            case typed.Binary(op):
                return self._binary(op, expression)
            case typed.Call(function, _, (operand,)) if function in SAME:
                return self.direction(operand)
            case typed.IfElse(condition, then, otherwise) if not self.reads(condition):
                return self._other(expression, self._both(then, otherwise, expression.span))
            case typed.Call(function, _, (left, right)) if function in (LEAST_OF_TWO, GREATEST_OF_TWO):
                self._require_own_order(left)
                return self._other(expression, self._both(left, right, expression.span))
            case typed.MakeTuple(items):
                order = self.order_of(expression.type)
                found = self.follow([items[index] for index, _ in order])
                return self._same([each * sign for each, (_, sign) in zip(found, order)], expression.span)
            case typed.Construct(arguments=arguments):
                return self._same(self.follow(arguments), expression.span)
            case typed.ToString(operand) if operand.type == STRING:
                return self.direction(operand)
            case typed.TupleItem(operand, index) if self.order_of(operand.type)[0][0] == index:
                return self.direction(operand) * self.order_of(operand.type)[0][1]
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
                self._require_own_order(left)
                op = op if holds else _FLIPPED[op]
                smaller, larger = (left, right) if op in ("<", "<=") else (right, left)
                if self.direction(smaller) == RISES or self.direction(larger) == FALLS:
                    raise NotMonotoneError(condition.span, "this may become false when its inputs get better")
            case typed.Binary("==" | "!="):
                raise NotMonotoneError(condition.span, "the value is compared for equality here")
            case _:
                raise NotMonotoneError(condition.span, "this may become false when its inputs get better")

    def _require_own_order(self, expression: typed.Expression) -> None:
        if expression.type in self.orders:
            raise NotMonotoneError(expression.span, "this is compared in another order than that of its group")

    def _same(self, directions: Sequence[int], span: Span) -> int:
        """Returns the one direction of parts that are compared one after another."""
        found = {*directions} - {STAYS}
        if len(found) > 1:
            raise NotMonotoneError(span, "one part of this falls while the other rises")
        return found.pop() if found else STAYS

    def _is_strict(self, expression: typed.Expression) -> bool:
        """True if a monotone expression stays only while everything stays that it reads."""
        if not self.reads(expression):
            return True
        match expression:
            case typed.Var(name):
                return self._is_strict(self.made[name]) if name in self.made else True
            case typed.Deref(operand) | typed.MakeRef(operand) | typed.ToString(operand):
                return self._is_strict(operand)
            case typed.Call(function, _, (operand,)) if function in SAME:
                return self._is_strict(operand)
            case typed.Cast(operand) | typed.Unary("-", operand):
                return not isinstance(expression.type, FloatType) and self._is_strict(operand)
            case typed.Binary("+" | "-", left, right):
                return not isinstance(expression.type, FloatType) and self._is_strict(left) and self._is_strict(right)
            case typed.Binary("++", _, right):
                return self._is_strict(right)
            case typed.MakeTuple(items):
                return self._follow([items[index] for index, _ in self.order_of(expression.type)])[1]
            case typed.Construct(arguments=arguments):
                return self._follow(arguments)[1]
            case _:
                return False

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
            case DecimalType() as given, DecimalType() as wanted if given.scale == wanted.scale:
                help_ = f"only a sum itself may be cast, as in `min((n + m) as {wanted})`"
                raise NotMonotoneError(span, f"not every {given} is a {wanted}; {help_}")
            case (DecimalType(), _) | (_, DecimalType()):
                help = self._step_apart(operand)
                raise NotMonotoneError(span, f"not every {operand.type} is a {type_}", help)
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
        return self._watch(rest, tuple(addends), expression.type, expression)

    def _scaled_sum(self, expression: typed.Expression) -> int:
        """Returns the direction of a sum of dates, times or decimals that has to be watched."""
        try:
            found = scaled_sum(expression, self.reads)
        except NotScaledSumError as error:
            text = "the sum is not of a variable of its scale and an expression that cannot fail"
            raise NotMonotoneError(error.at.span, text, self._step_apart(expression)) from None
        return self._watch(found.cost, found.addends, found.end, expression)

    def _step_apart(self, expression: typed.Expression) -> str | None:
        """Returns a help for a cost to which an expression that may fail is added."""
        while isinstance(expression, typed.Cast):
            expression = expression.operand
        if not isinstance(expression, typed.Binary) or expression.op != "+":
            return None
        costs = [each for each in (expression.left, expression.right) if self.reads(each)]
        if len(costs) != 1 or not isinstance(cost := costs[0], typed.Var):
            return None
        total = f"({cost.name} + w) as {cost.type}" if isinstance(cost.type, DecimalType) else f"{cost.name} + w"
        return f"derive what a step adds in a relation of its own, for example `Leg(a, b, w)`; then add it: `{total}`"

    def _watch(
        self, cost: typed.Var, addends: tuple[typed.Expression, ...], type_: Type, expression: typed.Expression
    ) -> int:
        """Notes a sum; returns its direction."""
        direction = self.direction(cost)
        if direction == RISES and any(self.parts[name].level for name in self.moving(cost) & self.parts.keys()):
            raise NotMonotoneError(expression.span, "a sum behind the first part of a tuple must fall")
        if not any(each.expression is expression for each in self.sums):
            self.sums.append(Sum(cost, addends, type_, direction == FALLS, expression))
        return direction


def _is_positive(expression: typed.Expression) -> bool:
    """True if the value is finite and surely not negative; of a float, surely above 0."""
    match expression:
        case typed.Lit(value):
            return isinstance(value, int | float) and 0 < value < float("inf")
        case typed.Cast(operand, type=BigIntType()):
            return isinstance(operand.type, BitType)
        case _:
            return False


def numbers_in(value: Any, type_: Type) -> Iterator[tuple[int, Type]]:
    """Yields the integers of fixed width or of a unit that a value is, or that are inside a tuple, with their types."""
    match type_:
        case TupleType(items):
            for part, item in zip(value, items, strict=True):
                yield from numbers_in(part, item)
        case BitType() | SignedType():
            yield value, type_
        case _ if isinstance(type_, ScaledType):
            yield to_units(value, type_), type_
        case _:
            pass
