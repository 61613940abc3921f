"""One value against one column: does it fit, and if not, how to say so.

Nothing is coerced between kinds: a bool is no number, a number is no text. Only other *spellings* of the same kind
are taken (a NumPy integer for an `int`). Every error about a value reads the same way, wherever the value came from:
the place, the value, the type wanted.
"""

from __future__ import annotations

import operator
import re
import reprlib

import numpy as np

from tidelog.check.types import BitType, BoolType, IntegerType, SignedType, StringType, Type, integer_range
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError, UsageError
from tidelog.rules.ir import Column, Relation

Value = bool | int | str
Row = tuple[Value, ...]

_UNSIGNED_TEXT = re.compile(r"[ \t]*(0[xX][0-9a-fA-F]+|[0-9]+)[ \t]*")
_SIGNED_TEXT = re.compile(r"[ \t]*(0[xX][0-9a-fA-F]+|-?[0-9]+)[ \t]*")


def fit(value: object, type_: Type) -> Value | None:
    """The value as the plain Python bool, int or str that a column of this type holds; None when it does not fit."""
    match type_:
        case BoolType():
            return bool(value) if isinstance(value, bool | np.bool_) else None
        case BitType() | SignedType():
            return _fit_integer(value, type_)
        case StringType():
            return str(value) if isinstance(value, str) and _is_unicode(value) else None
        case _:
            raise UsageError(f"rows hold no values of type `{type_}` yet", code=Code.NOT_YET)


def fit_text(text: str, type_: Type) -> Value | None:
    """The value that a cell of a text file stands for; None when it does not fit.

    Integers are decimal or `0x…`, blanks around them do not count; booleans are `true` and `false`; a string is
    the cell as it stands.
    """
    match type_:
        case BoolType():
            return {"true": True, "false": False}.get(text)
        case BitType() | SignedType():
            found = (_UNSIGNED_TEXT if isinstance(type_, BitType) else _SIGNED_TEXT).fullmatch(text)
            return _in_range(_integer_of(found[1], type_), type_) if found else None
        case StringType():
            return text if _is_unicode(text) else None
        case _:
            raise UsageError(f"files hold no values of type `{type_}` yet", code=Code.NOT_YET)


def wanted(type_: Type) -> str:
    """The type as an error names it, with the range of an integer."""
    match type_:
        case BitType(width) | SignedType(width) if width <= 64:
            low, high = integer_range(type_)
            return f"{type_} ({low} to {high})"
        case _:
            return str(type_)


def misfit(place: str, relation: Relation, column: Column, value: object) -> DataError:
    """The error for a value that does not fit its column; `place` is like `row 3` or `edge.csv:17:2`."""
    if value is None:
        return DataError(
            f"{place}, column `{column.name}` of `{relation.name}`: null where a {wanted(column.type)} is wanted",
            code=Code.NULL_VALUE,
            help="leave such rows out, or store a value of your own that stands for `unknown`",
        )
    shown = f"`{quoted(value)}`"
    kind = "" if isinstance(value, str | int | float) else f" ({type(value).__name__})"
    return DataError(
        f"{place}, column `{column.name}` of `{relation.name}`: {shown}{kind} is not a {wanted(column.type)}",
        code=Code.WRONG_VALUE,
        help=_remedy(value, column.type),
    )


def quoted(value: object) -> str:
    """The value on one line, cut to a readable length."""
    if isinstance(value, int) and value.bit_length() > 1000:
        return f"an integer of {value.bit_length()} bits"  # Python refuses to print the longest ones
    shortener = reprlib.Repr()
    shortener.maxstring = shortener.maxother = shortener.maxlong = 60
    return shortener.repr(value)


def _fit_integer(value: object, type_: IntegerType) -> int | None:
    if isinstance(value, bool | np.bool_):
        return None
    try:
        return _in_range(operator.index(value), type_)  # type: ignore[arg-type]
    except TypeError:
        return None


def _integer_of(digits: str, type_: IntegerType) -> int | None:
    """The number that the digits stand for; None for one with more decimal digits than the type can need."""
    if digits[:2] in ("0x", "0X"):
        return int(digits, 16)
    magnitude = digits.lstrip("-0")
    if len(magnitude) > type_.width // 3 + 2:  # Python refuses to read the longest ones
        return None
    return int(magnitude or "0") * (-1 if digits.startswith("-") else 1)


def _in_range(value: int | None, type_: IntegerType) -> int | None:
    low, high = integer_range(type_)
    return value if value is not None and low <= value <= high else None


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _remedy(value: object, type_: Type) -> str | None:
    if isinstance(value, float) and isinstance(type_, BitType | SignedType):
        return "floating-point numbers are not taken for integers; convert them with `int(...)` or `.astype('int64')`"
    if isinstance(value, str) and isinstance(type_, BitType | SignedType) and fit_text(value, type_) is not None:
        return f"text is not taken for a number; write `{fit_text(value, type_)}`"
    if isinstance(value, bool) and isinstance(type_, BitType | SignedType):
        return f"a bool is not taken for a number; write `{int(value)}`"
    if isinstance(value, int) and isinstance(type_, StringType):
        return f"a number is not taken for text; write `'{quoted(value)}'`"
    return None
