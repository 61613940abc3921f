"""Operators on dates, timestamps, durations and decimals, whose operands need not be of one type.

    t - u             a duration, of two timestamps
    d + duration"P1D" a date
    p * 1.5           a decimal: the literal is one, as it is written (`decimal<2, 1>`)

Results have the types that `scaled_values` says.
"""

from __future__ import annotations

import re

from tidelog.check.inference.drafts import BROKEN, Draft, Kind, Unknown, current, describe, is_integer
from tidelog.check.inference.literals import decimal_value, is_number_literal
from tidelog.check.inference.remedies import cast_text, pasted
from tidelog.check.inference.state import Inference
from tidelog.diagnostics.codes import Code
from tidelog.scaled_values import literal_type, result_type, time_result
from tidelog.syntax import ast
from tidelog.types import (
    MOST_DIGITS,
    S64,
    BigIntType,
    BitType,
    DateType,
    DecimalType,
    DurationType,
    ScaledType,
    SignedType,
    TimestampType,
)

_OPERATORS = frozenset(("+", "-", "*", "/", "%"))


def is_scaled(draft: Draft) -> bool:
    """True for what is known to be a date, a timestamp, a duration or a decimal."""
    return isinstance(current(draft), ScaledType)


def scaled_binary(at: Inference, node: ast.Binary, left: Draft, right: Draft) -> Draft:
    """Returns the draft of an operation of which one operand is scaled; the other may be known later."""
    result = Unknown()
    if node.op not in _OPERATORS:
        return _wrong(at, node, left, right)
    if isinstance(current(left), DecimalType):
        right = _as_decimal(at, node.right, right)
    elif isinstance(current(right), DecimalType):
        left = _as_decimal(at, node.left, left)

    def attempt() -> bool:
        first, second = current(left), current(right)
        if first is BROKEN or second is BROKEN:
            at.solver.unify(result, BROKEN)
            return True
        if any(isinstance(each, Unknown) and each.kind is Kind.ANY for each in (first, second)):
            return False
        at.agree(node, _result(at, node, first, second), result)
        return True

    def guess() -> bool:
        """Lets an operand that nothing else knows be of the type of the other one."""
        return at.solver.unify(left, right)

    at.defer(attempt, lambda: [left, right], lambda: at.report_unknown("an operand", node.right, "duration"), guess)
    return current(result)


def are_two_decimals(left: Draft, right: Draft) -> bool:
    """True for decimals of two different types."""
    first, second = current(left), current(right)
    return isinstance(first, DecimalType) and isinstance(second, DecimalType) and first != second


def compare_decimals(at: Inference, node: ast.Binary, left: Draft, right: Draft) -> Draft:
    """Reports a comparison of decimals of different types, with the casts that make them alike."""
    first, second = current(left), current(right)
    assert isinstance(first, DecimalType)
    assert isinstance(second, DecimalType)
    scale = max(first.scale, second.scale)
    whole = max(first.precision - first.scale, second.precision - second.scale)
    wide = DecimalType(min(whole + scale, MOST_DIGITS), scale)
    sides = [
        pasted(side) if type_ == wide else f"({pasted(side)} as {wide})"
        for side, type_ in ((node.left, first), (node.right, second))
    ]
    return at.report(
        Code.TYPE_MISMATCH,
        f"`{first}` is compared with `{second}`",
        node.span,
        "both sides must have one scale" if first.scale != second.scale else "both sides must have one type",
        help=f"`{sides[0]} {node.op} {sides[1]}`",
    )


def _as_decimal(at: Inference, node: ast.Expression, draft: Draft) -> Draft:
    """Gives a literal beside a decimal the type of the number as it is written."""
    found = current(draft)
    if isinstance(found, Unknown) and is_number_literal(node):
        at.solver.unify(found, literal_type(decimal_value(node)))
    return draft


def _result(at: Inference, node: ast.Binary, left: Draft, right: Draft) -> Draft:
    if isinstance(left, DecimalType) and isinstance(right, DecimalType):
        return result_type(node.op, left, right)
    if isinstance(left, DateType | TimestampType | DurationType) or isinstance(
        right, DateType | TimestampType | DurationType
    ):
        for draft in (left, right):
            if isinstance(draft, Unknown) and is_integer(draft):
                at.solver.unify(draft, S64)
        first, second = current(left), current(right)
        sides = [each for each in (first, second) if not isinstance(each, ScaledType)]
        if all(isinstance(each, BitType | SignedType | BigIntType) for each in sides):
            found = time_result(node.op, first, second)  # type: ignore[arg-type]
            if found is not None:
                return found
    return _wrong(at, node, left, right)


def _wrong(at: Inference, node: ast.Binary, left: Draft, right: Draft) -> Draft:
    if BROKEN in (current(left), current(right)):
        return BROKEN
    sides = [re.sub("^an? ", "", describe(each)) for each in (left, right)]
    message = f"there is no {sides[0]} {node.op} {sides[1]}"
    label = f"{describe(left)} and {describe(right)}"
    return at.report(Code.WRONG_OPERAND, message, node.span, label, help=_remedy(node, current(left), current(right)))


def _remedy(node: ast.Binary, left: Draft, right: Draft) -> str | None:
    match left, right:
        case DecimalType(), BitType() | SignedType() | BigIntType():
            cast = cast_text(node.right, right, DecimalType(_digits(right), 0))
            return f"`{pasted(node.left)} {node.op} ({cast})`"
        case BitType() | SignedType() | BigIntType(), DecimalType():
            cast = cast_text(node.left, left, DecimalType(_digits(left), 0))
            return f"`({cast}) {node.op} {pasted(node.right)}`"
        case DateType(), BitType() | SignedType() | Unknown():
            return f'`{pasted(node.left)} {node.op} duration"P1D"` is another day'
        case TimestampType(), BitType() | SignedType() | Unknown():
            return f'`{pasted(node.left)} {node.op} duration"PT1S"` is another moment'
        case DateType(), TimestampType():
            return f"`to_timestamp({pasted(node.left)})` is the start of the day"
        case TimestampType(), DateType():
            return f"`to_timestamp({pasted(node.right)})` is the start of the day"
        case _:
            return None


def _digits(draft: Draft) -> int:
    """Returns the decimal digits of the largest integer of a type."""
    return min(len(str(2**draft.width)), MOST_DIGITS) if isinstance(draft, BitType | SignedType) else MOST_DIGITS
