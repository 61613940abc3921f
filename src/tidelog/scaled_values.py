"""Dates, timestamps, durations and decimals ↔ integers of their unit, and what is computed with them.

    date          days since 1970-01-01
    timestamp     microseconds since 1970-01-01T00:00:00Z
    duration      microseconds
    decimal       the number without its point: 1.50 of `decimal<10, 2>` is 150

The integers are what engines store, order and add; `unit_range` has those that are values. Results of arithmetic have
the scales that Spark gives them, and are rounded half up; a result that is no value of its type raises OutOfTypeError.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from types import MappingProxyType
from typing import Any, Final

from tidelog.types import (
    DATE,
    DURATION,
    MOST_DIGITS,
    S64,
    TIMESTAMP,
    BitType,
    DateType,
    DecimalType,
    DurationType,
    ScaledType,
    SignedType,
    TimestampType,
    Type,
    integer_range,
)

MICROSECONDS_OF_DAY: Final = 86_400_000_000
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_FIRST_DAY, _LAST_DAY = date.min.toordinal() - EPOCH_DAY, date.max.toordinal() - EPOCH_DAY
# The time between the first and the last timestamp.
_MOST_MICROSECONDS = (_LAST_DAY + 1 - _FIRST_DAY) * MICROSECONDS_OF_DAY - 1
_MICROSECOND = timedelta(microseconds=1)
_SMALLEST_SCALE = 6

# Wide enough for the exact product of two decimals; rounding is asked for where it is meant.
EXACT: Final = Context(prec=200, rounding=ROUND_HALF_UP, Emin=-999_999, Emax=999_999, capitals=0)
_UNITS = [EXACT.scaleb(Decimal(1), -scale) for scale in range(MOST_DIGITS + 1)]


class OutOfTypeError(ZeroDivisionError):
    """An operation whose result is no value of its type. Like a division by zero, it has no result at all.

    `row` has the variables of the rule that are bound there, with the texts of their values.
    """

    row: Mapping[str, str] = MappingProxyType({})


def unit_range(type_: ScaledType) -> tuple[int, int]:
    """Returns the smallest and the largest integer that is a value of the type."""
    match type_:
        case DateType():
            return _FIRST_DAY, _LAST_DAY
        case TimestampType():
            return _FIRST_DAY * MICROSECONDS_OF_DAY, (_LAST_DAY + 1) * MICROSECONDS_OF_DAY - 1
        case DurationType():
            return -_MOST_MICROSECONDS, _MOST_MICROSECONDS
        case DecimalType(precision):
            return 1 - int(10**precision), int(10**precision) - 1


def to_units(value: Any, type_: Type) -> int:
    """Returns the integer of a value."""
    match type_:
        case DateType():
            return int(value.toordinal()) - EPOCH_DAY
        case TimestampType():
            return _microseconds(value - EPOCH)
        case DurationType():
            return _microseconds(value)
        case DecimalType(_, scale):
            return _scaled(value, scale)
        case _:
            raise AssertionError(f"{type_} has no unit")


def from_units(number: int, type_: Type) -> Any:
    """Returns the value of an integer."""
    match type_:
        case DateType():
            return date.fromordinal(number + EPOCH_DAY)
        case TimestampType():
            return EPOCH + timedelta(microseconds=number)
        case DurationType():
            return timedelta(microseconds=number)
        case DecimalType(_, scale):
            return EXACT.scaleb(Decimal(number), -scale)
        case _:
            raise AssertionError(f"{type_} has no unit")


def within(number: int, type_: ScaledType, text: str = "") -> Any:
    """Returns the value of an integer; raises OutOfTypeError if it is none of the type, with what was computed."""
    low, high = unit_range(type_)
    if low <= number <= high:
        return from_units(number, type_)
    raise OutOfTypeError(f"{text or number} does not fit into `{type_}`")


def _microseconds(value: timedelta) -> int:
    return (value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds


def _scaled(value: Decimal, scale: int) -> int:
    return int(EXACT.scaleb(value, scale))


# Decimals


def bounded(precision: int, scale: int) -> DecimalType:
    """Returns the type with no more digits than there can be; the scale stays."""
    return DecimalType(min(precision, MOST_DIGITS), min(scale, MOST_DIGITS))


def adjusted(precision: int, scale: int) -> DecimalType:
    """Returns the type with no more digits than there can be: digits behind the point go first, up to six of them."""
    if precision <= MOST_DIGITS:
        return DecimalType(precision, scale)
    whole = precision - scale
    return DecimalType(MOST_DIGITS, max(MOST_DIGITS - whole, min(scale, _SMALLEST_SCALE)))


def result_type(op: str, left: DecimalType, right: DecimalType) -> DecimalType:
    """Returns the type of `left op right`, as Spark has it."""
    wholes = left.precision - left.scale, right.precision - right.scale
    scale = max(left.scale, right.scale)
    match op:
        case "+" | "-":
            return adjusted(max(wholes) + scale + 1, scale)
        case "*":
            return adjusted(left.precision + right.precision + 1, left.scale + right.scale)
        case "/":
            scale = max(_SMALLEST_SCALE, left.scale + right.precision + 1)
            return adjusted(wholes[0] + right.scale + scale, scale)
        case _:
            return adjusted(min(wholes) + scale, scale)


def sum_type(type_: DecimalType) -> DecimalType:
    """Returns the type of a sum over rows, as Spark has it."""
    return bounded(type_.precision + 10, type_.scale)


def average_type(type_: DecimalType) -> DecimalType:
    """Returns the type of an average over rows, as Spark has it."""
    return bounded(type_.precision + 4, type_.scale + 4)


def literal_type(value: Decimal | int) -> DecimalType:
    """Returns the smallest type that has the number as it is written: `1.50` has the type `decimal<3, 2>`."""
    _, digits, exponent = Decimal(value).as_tuple()
    assert isinstance(exponent, int)
    scale = max(-exponent, 0)
    precision = max(len(digits) + max(exponent, 0), scale, 1)
    return DecimalType(precision, scale)


def decimal_of_text(text: str) -> Decimal:
    """Returns the number that a text of digits, with or without an exponent, stands for; infinity, which fits into no
    type, where the exponent has more digits than Python takes.
    """
    try:
        return Decimal(text)
    except InvalidOperation:
        return Decimal("Infinity")


def fits(value: Decimal, type_: DecimalType) -> bool:
    """True if the number is one of the type's, exactly."""
    if not value.is_finite() or abs(value.adjusted()) > 4 * MOST_DIGITS:
        return False
    scaled = EXACT.scaleb(value, type_.scale)
    return bool(scaled == scaled.to_integral_value()) and _holds(scaled, type_)


def _holds(scaled: Decimal, type_: DecimalType) -> bool:
    return not scaled or scaled.adjusted() < type_.precision


def exact_decimal(value: Decimal, type_: DecimalType) -> Decimal | None:
    """Returns the number with the digits of its type; None if it is no value of the type."""
    return EXACT.plus(EXACT.quantize(value, _UNITS[type_.scale])) if fits(value, type_) else None


def rounded(value: Decimal, type_: DecimalType, text: str = "") -> Decimal:
    """Returns a number rounded half up to the scale of a type; raises OutOfTypeError if that has too many digits."""
    try:
        found = EXACT.quantize(value, _UNITS[type_.scale])
    except InvalidOperation:
        raise OutOfTypeError(f"{text or value} does not fit into `{type_}`") from None
    if found and found.adjusted() + type_.scale >= type_.precision:
        raise OutOfTypeError(f"{text or decimal_text(found)} does not fit into `{type_}`")
    return found if found else EXACT.abs(found)


def decimal_text(value: Decimal) -> str:
    """Returns the digits, without an exponent."""
    return format(value, "f")


def decimal_arithmetic(op: str, left: Decimal, right: Decimal, precision: int, scale: int) -> Decimal:
    """Returns `left op right`. Raises ZeroDivisionError, and OutOfTypeError for a result with too many digits."""
    type_ = DecimalType(precision, scale)
    match op:
        case "+":
            found = EXACT.add(left, right)
        case "-":
            found = EXACT.subtract(left, right)
        case "*":
            found = EXACT.multiply(left, right)
        case "/":
            found = _quotient(left, right, scale)
        case _:
            if not right:
                raise ZeroDivisionError
            found = EXACT.remainder(left, right)
    return rounded(found, type_, f"{decimal_text(left)} {op} {decimal_text(right)}")


def _quotient(left: Decimal, right: Decimal, scale: int) -> Decimal:
    if not right:
        raise ZeroDivisionError
    # Digits behind the scale decide the rounding only by being there or not.
    top, bottom = _whole(left), _whole(right)
    exponent = _exponent(left) - _exponent(right) + scale
    if exponent >= 0:
        top *= int(10**exponent)
    else:
        bottom *= int(10**-exponent)
    return EXACT.scaleb(Decimal(divided_half_up(top, bottom)), -scale)


def _whole(value: Decimal) -> int:
    return int(EXACT.scaleb(value, -_exponent(value)))


def _exponent(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    return exponent


def divided_half_up(top: int, bottom: int) -> int:
    """Returns top / bottom, rounded to the nearest integer, halves away from zero."""
    found = (2 * abs(top) + abs(bottom)) // (2 * abs(bottom))
    return found if (top < 0) == (bottom < 0) else -found


def average_units(total: int, count: int, given: int, wanted: int) -> int:
    """Returns the average of scaled integers in another scale, rounded half up."""
    return divided_half_up(total * int(10 ** (wanted - given)), count)


def decimal_of_integer(value: int, precision: int, scale: int) -> Decimal:
    """Returns an integer as a decimal; raises OutOfTypeError."""
    return rounded(Decimal(value), DecimalType(precision, scale), str(value) if abs(value) < 10**100 else "an integer")


def decimal_of_float(value: float, precision: int, scale: int) -> Decimal:
    """Returns the shortest text of a floating-point number as a decimal, rounded half up; raises OutOfTypeError."""
    if value != value or value in (float("inf"), float("-inf")):
        raise OutOfTypeError(f"{value} does not fit into `{DecimalType(precision, scale)}`")
    return rounded(Decimal(repr(float(value))), DecimalType(precision, scale))


def decimal_of_decimal(value: Decimal, precision: int, scale: int) -> Decimal:
    """Returns a decimal of another type, rounded half up; raises OutOfTypeError."""
    return rounded(value, DecimalType(precision, scale), decimal_text(value))


def float_of_decimal(value: Decimal, width: int) -> float:
    """Returns the nearest floating-point number."""
    number = float(value)
    return number if width == 64 else struct.unpack("f", struct.pack("f", number))[0]


def integer_of_decimal(value: Decimal, width: int, signed: int) -> int:
    """Returns a decimal without what is behind its point; a width of 0 is that of a `bigint`. Raises
    OutOfTypeError."""
    number = int(value)
    type_ = SignedType(width) if signed else BitType(width)
    if width:
        low, high = integer_range(type_)
        if not low <= number <= high:
            raise OutOfTypeError(f"{decimal_text(value)} does not fit into `{type_}`")
    return number


def parse_decimal(text: str) -> Decimal | None:
    """Returns the number that a text such as `-1.50` or `1e3` has; None for other text."""
    if len(text) > 200 or not text.isascii() or "_" in text or text != text.strip():
        return None
    try:
        found = Decimal(text)
    except InvalidOperation:
        return None
    return found if found.is_finite() else None


# Times


def time_arithmetic(op: str, left: Any, right: Any, left_type: str, right_type: str) -> Any:
    """Returns `left op right`, of which at least one is a date, a timestamp or a duration; the types are named, those
    of integers by an empty text. Raises OutOfTypeError."""
    type_ = time_result(op, _TIMES[left_type], _TIMES[right_type])
    assert type_ is not None
    try:
        match left_type, right_type:
            case "duration", "date":
                return _moved(right, left)
            case "date", "duration":
                return _moved(left, right if op == "+" else -right)
            case _ if op == "/":
                if not right:
                    raise ZeroDivisionError
                number = _microseconds(left)
                whole = abs(number) // abs(right)
                return timedelta(microseconds=whole if (number < 0) == (right < 0) else -whole)
            case _:
                result = _duration_product(left, right) if op == "*" else left + right if op == "+" else left - right
    except OverflowError:
        raise OutOfTypeError(_out(op, left, right, type_)) from None
    if isinstance(result, timedelta):
        low, high = unit_range(DURATION)
        if not low <= _microseconds(result) <= high:
            raise OutOfTypeError(_out(op, left, right, type_))
    return result


def _duration_product(left: Any, right: Any) -> timedelta:
    # Python's own product accepts integers only up to a size.
    if not isinstance(left, timedelta):
        left, right = right, left
    return timedelta(microseconds=_microseconds(left) * right)


_TIMES: dict[str, Type] = {"date": DATE, "timestamp": TIMESTAMP, "duration": DURATION, "": S64}


def _moved(day: date, by: timedelta) -> date:
    """Returns the day of the moment so long after midnight; `days` is rounded down, and so is negative time."""
    return day + timedelta(days=by.days)


def _out(op: str, left: Any, right: Any, type_: Type) -> str:
    from tidelog.iso_texts import value_text

    return f"{value_text(left)} {op} {value_text(right)} does not fit into `{type_}`"


def time_result(op: str, left: Type, right: Type) -> ScaledType | None:
    """Returns the type of `left op right`, where one is a date, a timestamp or a duration and other types are integers;
    None if there is no such operation."""
    match op, left, right:
        case "-", DateType() | TimestampType(), _ if left == right:
            return DURATION
        case (("+" | "-"), DateType(), DurationType()):
            return DATE
        case (("+" | "-"), TimestampType(), DurationType()):
            return TIMESTAMP
        case "+", DurationType(), DateType():
            return DATE
        case "+", DurationType(), TimestampType():
            return TIMESTAMP
        case (("+" | "-"), DurationType(), DurationType()):
            return DURATION
        case "*", DurationType(), _ if not isinstance(right, ScaledType):
            return DURATION
        case "*", _, DurationType() if not isinstance(left, ScaledType):
            return DURATION
        case "/", DurationType(), _ if not isinstance(right, ScaledType):
            return DURATION
        case _:
            return None


def negative(value: Any) -> Any:
    """Returns `-value` of a duration or a decimal: every value has its opposite."""
    return -value if isinstance(value, timedelta) else EXACT.minus(value)
