"""Numbers and booleans in JSON: their names in errors, their text, and numbers written as strings."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

from tidelog import types
from tidelog.iso_texts import value_of_text
from tidelog.library._json.text import JsonError
from tidelog.library._runtime.option_result import Err
from tidelog.library.fp import parse_d, parse_f
from tidelog.values.floats import float_text
from tidelog.values.structs import Struct

_DIGITS = re.compile(r"[0-9]+")
# From where on, and down to where, a number of a width is written without an exponent.
_PLAIN = {64: (16, -5), 32: (13, -6)}


def native(type_: types.BitType | types.SignedType) -> types.BitType | types.SignedType | None:
    """Returns the machine type that holds an integer type; None for a wider one."""
    width = types.native_width(type_.width)
    return None if width is None else type(type_)(width)


def integer_name(type_: types.BitType | types.SignedType) -> str:
    """Returns a machine type as errors name it: `u8`, `i64`."""
    return f"{'u' if isinstance(type_, types.BitType) else 'i'}{type_.width}"


def float_json(value: float, width: int) -> str:
    """Returns the shortest text of the number, always with a fraction or an exponent; `null` if it is not finite."""
    if not math.isfinite(value):
        return "null"
    if value == 0:
        return "0.0"
    sign, digits, exponent = Decimal(float_text(value, width)).normalize().as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits))
    point = len(text) + exponent
    largest, smallest = _PLAIN[width]
    if exponent >= 0 and point <= largest:
        plain = f"{text}{'0' * exponent}.0"
    elif 0 < point <= largest:
        plain = f"{text[:point]}.{text[point:]}"
    elif smallest < point <= 0:
        plain = f"0.{'0' * -point}{text}"
    else:
        plain = f"{text[0]}{'.' if len(text) > 1 else ''}{text[1:]}e{point - 1}"
    return f"-{plain}" if sign else plain


def parse_scalar(type_: types.Type, text: str) -> Any:
    """Returns the value of a text; raises JsonError without a position."""
    match type_:
        case types.StringType():
            return text
        case types.BoolType():
            if text not in ("true", "false"):
                raise JsonError("provided string was not `true` or `false`", None)
            return text == "true"
        case types.BitType() | types.SignedType():
            held = native(type_)
            number = _integer(text, signed=isinstance(type_, types.SignedType))
            low, high = types.integer_range(held or type_)
            if not low <= number <= high:
                size = "large" if number > high else "small"
                raise JsonError(f"number too {size} to fit in target type", None)
            return types.wrap(number, type_)
        case types.BigIntType():
            return _integer(text, signed=True)
        case types.FloatType(width):
            parsed: Any = parse_f(text) if width == 32 else parse_d(text)
            kind: type[Struct] = type(parsed)
            if kind is Err:
                raise JsonError(parsed.err, None)
            return parsed.res
        case types.DateType() | types.TimestampType() | types.DurationType() | types.DecimalType():
            return _scaled(type_, text)
        case _:
            raise JsonError(f"a value of type {type_} cannot be read from a string", None)


def _scaled(type_: types.ScaledType, text: str) -> Any:
    """Returns a date or a time in ISO form, or a decimal with no more digits than its type."""
    found = value_of_text(text, type_)
    if found is None:
        raise JsonError(f"{text} is not a {type_}", None)
    return found


def _integer(text: str, *, signed: bool) -> int:
    if not text:
        raise JsonError("cannot parse integer from empty string", None)
    negative = signed and text.startswith("-")
    digits = text[1:] if negative or text.startswith("+") else text
    if not _DIGITS.fullmatch(digits):
        raise JsonError("invalid digit found in string", None)
    # Python reads no more digits than this; no machine type has so many.
    number = int(digits) if len(digits) <= 4000 else 1 << 256
    return -number if negative else number
