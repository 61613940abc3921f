"""Sums and averages of dates, times and decimals, as expressions on the sums of their integers.

    avg(p)      (low, high, count)      →      half up of (high * 2**32 + low) * 10**4 / count, in units of `avg`'s type

The kernels add the halves of words apart (0041), so a sum has more bits than a word; here it is a bigint.
"""

from __future__ import annotations

from tidelog.check import typed
from tidelog.types import BIGINT, BOOL, DecimalType, ScaledType, Type

_HALF_BITS = 32


def joined_halves(low: typed.Expression, high: typed.Expression) -> typed.Expression:
    """Returns `high * 2**32 + low` as a bigint."""
    upper = _binary("*", _big(high), _number(1 << _HALF_BITS, high))
    return _binary("+", upper, _big(low))


def average_of_units(total: typed.Expression, count: typed.Expression, given: Type, type_: ScaledType) -> typed.Units:
    """Returns total / count in the scale of a type, rounded half up."""
    if isinstance(given, DecimalType) and isinstance(type_, DecimalType) and type_.scale > given.scale:
        total = _binary("*", total, _number(10 ** (type_.scale - given.scale), total))
    two, divisor = _number(2, total), _big(count)
    doubled, twice = _binary("*", total, two), _binary("*", divisor, two)
    above = _binary("/", _binary("+", doubled, divisor), twice)
    below = _binary("/", _binary("-", doubled, divisor), twice)  # `/` rounds toward zero
    is_above = typed.Binary(">=", total, _number(0, total), type=BOOL, span=total.span)
    return typed.Units(typed.IfElse(is_above, above, below, type=BIGINT, span=total.span), type=type_, span=total.span)


def _big(expression: typed.Expression) -> typed.Cast:
    return typed.Cast(expression, type=BIGINT, span=expression.span)


def _number(value: int, beside: typed.Expression) -> typed.Lit:
    return typed.Lit(value, type=BIGINT, span=beside.span)


def _binary(op: str, left: typed.Expression, right: typed.Expression) -> typed.Binary:
    return typed.Binary(op, left, right, type=BIGINT, span=left.span)
