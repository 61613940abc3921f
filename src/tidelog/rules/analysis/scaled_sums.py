"""Sums of dates, times and decimals that a recursion adds to a cost → sums of the integers of their unit.

    (d + c) as decimal<10, 2>     d and c in cents: d + c is at most 9_999_999_999 cents
    arrival + wait                in microseconds: at most the last one of the year 9999
    day + wait                    in days; a wait below 0 counts as -1, so that the rounds run, as for all such addends

A sum passes through types that grow with each `+`, and through casts that keep the scale. It is a value of all of them
exactly if it is one of the smallest, as long as no addend is negative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tidelog.check import typed
from tidelog.scaled_values import MICROSECONDS_OF_DAY, to_units, unit_range
from tidelog.types import (
    BIGINT,
    BOOL,
    DURATION,
    MOST_DIGITS,
    S64,
    WORD_DIGITS,
    BigIntType,
    BitType,
    DateType,
    DecimalType,
    DurationType,
    ScaledType,
    SignedType,
    Type,
    integer_range,
    is_word,
)


class NotScaledSumError(Exception):
    """Something in a sum has no integer to add; `at` is the expression."""

    def __init__(self, at: typed.Expression) -> None:
        super().__init__()
        self.at = at


@dataclass(frozen=True, slots=True)
class ScaledSum:
    """`cost` plus the addends, which are integers of one type; `end` is the smallest type on the way."""

    cost: typed.Var
    addends: tuple[typed.Expression, ...]
    end: ScaledType


def is_scaled_sum(expression: typed.Expression) -> bool:
    """True for a `+` of dates, times or decimals, and for such a `+` in casts that keep its scale."""
    while isinstance(expression, typed.Cast) and _keeps_scale(expression):
        expression = expression.operand
    return isinstance(expression, typed.Binary) and expression.op == "+" and isinstance(expression.type, ScaledType)


def scaled_sum(expression: typed.Expression, moves: Callable[[typed.Expression], bool]) -> ScaledSum:
    """Takes a sum apart; `moves` says which expressions read costs. Raises NotScaledSumError if it is not one variable
    that moves plus expressions that stay and cannot fail."""
    assert isinstance(expression.type, ScaledType)
    passed: list[ScaledType] = []
    leaves = [*_leaves(expression, moves, passed, in_days=isinstance(expression.type, DateType))]
    costs = [each for each in leaves if moves(each)]
    stays = [each for each in leaves if not moves(each)]
    if len(costs) != 1 or not isinstance(cost := costs[0], typed.Var):
        raise NotScaledSumError(costs[-1] if costs else expression)
    end = min(passed, key=lambda each: unit_range(each)[1])
    if type(cost.type) is not type(expression.type) or _scale(cost.type) != _scale(expression.type):
        raise NotScaledSumError(cost)
    if isinstance(cost.type, DecimalType) and isinstance(end, DecimalType) and end.precision < cost.type.precision:
        raise NotScaledSumError(expression)
    addends = tuple(_integer(each, expression.type) for each in stays)
    if is_word(end) and all(map(_is_small, addends)):
        return ScaledSum(cost, tuple(map(_as_word, addends)), end)
    return ScaledSum(cost, addends, end)


def total_of(cost: typed.Expression, addends: tuple[typed.Expression, ...], type_: Type) -> typed.Units:
    """Returns a cost plus integers of its unit, as a value of a type that is known to have it."""
    unit = addends[0].type
    total: typed.Expression = typed.Units(cost, type=unit, span=cost.span)
    for addend in addends:
        total = typed.Binary("+", total, addend, type=unit, span=cost.span)
    return typed.Units(total, is_bounded=True, type=type_, span=cost.span)


def is_widened(cast: typed.Cast) -> bool:
    """True for a cast of a decimal, or of an integer, to a decimal that has every value of its type."""
    given, wanted = cast.operand.type, cast.type
    if not isinstance(wanted, DecimalType):
        return False
    whole = wanted.precision - wanted.scale
    match given:
        case DecimalType(precision, scale):
            return wanted.scale >= scale and whole >= precision - scale
        case BitType() | SignedType():
            low, high = integer_range(given)
            return max(-low, high) < int(10**whole)
        case _:
            return False


def _leaves(
    expression: typed.Expression,
    moves: Callable[[typed.Expression], bool],
    passed: list[ScaledType],
    *,
    in_days: bool,
) -> Iterator[typed.Expression]:
    """Yields what a sum is made of; `passed` gets the types that its cost passes through."""
    match expression:
        case typed.Binary("+", left, right, type=type_) if moves(expression) and isinstance(type_, ScaledType):
            if isinstance(type_, DecimalType) and type_.scale != max(_scale(left.type), _scale(right.type)):
                raise NotScaledSumError(expression)
            passed.append(type_)
            yield from _leaves(left, moves, passed, in_days=in_days)
            yield from _leaves(right, moves, passed, in_days=in_days)
        case typed.Cast(operand, type=DecimalType() as type_) if moves(expression) and _keeps_scale(expression):
            passed.append(type_)
            yield from _leaves(operand, moves, passed, in_days=in_days)
        case typed.Binary("+", left, right, type=DurationType()) if not in_days:
            # Too large a duration would make any sum too large. Days are counted for the sum as a whole.
            yield from _leaves(left, moves, passed, in_days=in_days)
            yield from _leaves(right, moves, passed, in_days=in_days)
        case _:
            yield expression


def _keeps_scale(cast: typed.Cast) -> bool:
    given, wanted = cast.operand.type, cast.type
    return isinstance(given, DecimalType) and isinstance(wanted, DecimalType) and given.scale == wanted.scale


def _scale(type_: Type) -> int:
    return type_.scale if isinstance(type_, DecimalType) else 0


def _integer(addend: typed.Expression, type_: ScaledType) -> typed.Expression:
    """Returns an addend as a bigint in the units of a sum. Raises NotScaledSumError if it may fail."""
    given = addend.type
    if isinstance(addend, typed.Lit):
        number = to_units(addend.value, given) * int(10 ** (_scale(type_) - _scale(given)))
        if isinstance(type_, DateType):
            number //= MICROSECONDS_OF_DAY
        return typed.Lit(number, type=BIGINT, span=addend.span)
    if isinstance(addend, typed.Cast) and is_widened(addend):
        inner = addend.operand
        if isinstance(inner.type, DecimalType):
            return _integer(inner, type_)
        _require_success(inner)
        return _times(typed.Cast(inner, type=BIGINT, span=addend.span), int(10 ** _scale(type_)))
    _require_success(addend)
    number_of = typed.Units(addend, type=BIGINT, span=addend.span)
    if isinstance(type_, DateType):
        if given != DURATION:
            raise NotScaledSumError(addend)
        return _days(number_of)
    return _times(number_of, int(10 ** (_scale(type_) - _scale(given))))


def _days(microseconds: typed.Units) -> typed.Expression:
    span = microseconds.span

    def number(value: int) -> typed.Lit:
        return typed.Lit(value, type=BIGINT, span=span)

    whole = typed.Binary("/", microseconds, number(MICROSECONDS_OF_DAY), type=BIGINT, span=span)
    is_below = typed.Binary("<", microseconds, number(0), type=BOOL, span=span)
    return typed.IfElse(is_below, number(-1), whole, type=BIGINT, span=span)


def _times(number: typed.Expression, factor: int) -> typed.Expression:
    if factor == 1:
        return number
    return typed.Binary("*", number, typed.Lit(factor, type=BIGINT, span=number.span), type=BIGINT, span=number.span)


def _require_success(expression: typed.Expression) -> None:
    """Raises NotScaledSumError if an expression that stays may fail."""
    for node in typed.walk(expression):
        if isinstance(node, typed.Call | typed.CallValue) or (
            isinstance(node, typed.Binary)
            and node.op in ("/", "%")
            and not (isinstance(node.right, typed.Lit) and node.right.value)
        ):
            raise NotScaledSumError(expression)
        if typed.is_checked(node) and not _always_fits(node):
            raise NotScaledSumError(expression)


def _always_fits(node: typed.Expression) -> bool:
    """True for arithmetic on decimals whose type has room for every result."""
    match node:
        case typed.Cast():
            return is_widened(node)
        case typed.Binary("+" | "-" | "*", left, right, type=DecimalType(precision)) if precision < MOST_DIGITS:
            return isinstance(left.type, DecimalType) and isinstance(right.type, DecimalType)
        case _:
            return False


def _is_small(addend: typed.Expression) -> bool:
    """True if an addend fits into a word: its own digits, and those that its scale adds."""
    match addend:
        case typed.Lit(value):
            return isinstance(value, int) and abs(value) < 10**WORD_DIGITS
        case typed.Units(operand):
            return is_word(operand.type)
        case typed.IfElse():
            return True
        case typed.Cast(operand):
            return is_word(operand.type) and isinstance(operand.type, SignedType | BitType) and _digits(operand) < 19
        case typed.Binary("*", number, typed.Lit(factor)) if isinstance(factor, int):
            return _is_small(number) and _digits(number) + len(str(factor)) - 1 <= WORD_DIGITS
        case _:
            return False


def _digits(number: typed.Expression) -> int:
    """Returns how many digits a number may have."""
    given = number.operand.type if isinstance(number, typed.Units | typed.Cast) else number.type
    match given:
        case DecimalType(precision):
            return precision
        case BitType() | SignedType():
            return len(str(integer_range(given)[1]))
        case _:
            return WORD_DIGITS + 1


def _as_word(addend: typed.Expression) -> typed.Expression:
    """Returns a small addend as an `s64`."""
    match addend:
        case typed.Lit(value):
            return typed.Lit(value, type=S64, span=addend.span)
        case typed.Units(operand) | typed.Cast(operand):
            kind = typed.Units if isinstance(addend, typed.Units) else typed.Cast
            return kind(operand, type=S64, span=addend.span)
        case typed.IfElse(typed.Binary(op, left, right), then, otherwise):
            test = typed.Binary(op, _as_word(left), _as_word(right), type=BOOL, span=addend.span)
            return typed.IfElse(test, _as_word(then), _as_word(otherwise), type=S64, span=addend.span)
        case typed.Binary(op, left, right):
            return typed.Binary(op, _as_word(left), _as_word(right), type=S64, span=addend.span)
        case _:
            raise AssertionError(f"no addend: {addend}")


def number_range(type_: Type) -> tuple[int, int]:
    """Returns the least and the largest integer of a type of fixed width, or of the unit of one."""
    if isinstance(type_, ScaledType):
        return unit_range(type_)
    assert isinstance(type_, BitType | SignedType)
    return integer_range(type_)


def has_range(type_: Type) -> bool:
    """True for types whose values are integers, or integers of a unit, between two ends."""
    return isinstance(type_, BitType | SignedType | ScaledType) and not isinstance(type_, BigIntType)
