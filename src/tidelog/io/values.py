"""One value against one column: does it fit, and the error if it does not.

Nothing is coerced between kinds: a bool is no number, a number is no text. Only other *spellings* of the same kind
are taken (a NumPy integer for an `int`), and an integer for a floating-point number. `fit` knows the plain types, whose
values are a bool, a number or a text; `fitter` in `fit` knows all. All errors about values have one form: the place,
the value, the type.
"""

from __future__ import annotations

import operator
import re
import reprlib
from decimal import Decimal
from typing import Any

import numpy as np

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.io.scaled import fit_scaled, scaled_remedy
from tidelog.iso_texts import value_of_text
from tidelog.rules.ir import Column, Relation
from tidelog.types import (
    BigIntType,
    BitType,
    BoolType,
    DateType,
    DecimalType,
    DurationType,
    FloatType,
    IntegerType,
    SignedType,
    StringType,
    TimestampType,
    Type,
    integer_range,
    written_type,
)
from tidelog.values.floats import double, double_of, single, single_of
from tidelog.values.text import integer_of_text

Value = Any  # the Python form of a value of the language (`tidelog.values`)
Row = tuple[Value, ...]

_UNSIGNED_TEXT = re.compile(r"[ \t]*(0[xX][0-9a-fA-F]+|[0-9]+)[ \t]*")
_SIGNED_TEXT = re.compile(r"[ \t]*(0[xX][0-9a-fA-F]+|-?[0-9]+)[ \t]*")
_FLOAT_TEXT = re.compile(
    r"[ \t]*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?inf|[+-]?nan)[ \t]*", re.IGNORECASE
)


class UnfitError(Exception):
    """A value does not fit its type. `path` leads to it from the value of the column: `.sides[2]`, or nothing.
    `help` says what would fit, if more is known than the type."""

    def __init__(self, value: object, type_: Type, reason: str = "", path: str = "", help: str | None = None) -> None:
        super().__init__(reason or f"not a {type_}")
        self.value = value
        self.type = type_
        self.reason = reason
        self.path = path
        self.help = help

    def inside(self, step: str) -> UnfitError:
        """Returns the error with a path from the value that holds this one."""
        self.path = step + self.path
        return self


def is_missing(value: object) -> bool:
    """True for the missing values of pandas, `NA` and `NaT`, and for NumPy's `NaT`; pandas need not be installed."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return type(value).__name__ in ("NAType", "NaTType")


def fit(value: object, type_: Type) -> Value | None:
    """Converts a value to the Python value of a plain type; None when it does not fit."""
    match type_:
        case BoolType():
            return bool(value) if isinstance(value, bool | np.bool_) else None
        case BitType() | SignedType():
            return _in_range(_integer_or_whole(value), type_)
        case BigIntType():
            return _integer_or_whole(value)
        case FloatType(width):
            return _fit_float(value, width)
        case StringType():
            return str(value) if isinstance(value, str) and _is_unicode(value) else None
        case DateType() | TimestampType() | DurationType() | DecimalType():
            return fit_scaled(value, type_)
        case _:
            raise AssertionError(f"{type_} is not a plain type")


def fit_text(text: str, type_: Type) -> Value | None:
    """Converts a cell of a text file to the value of a plain type; None when it does not fit.

    Integers are decimal or `0x…`, blanks around numbers do not count; booleans are `true` and `false`; a string is
    the cell as it stands.
    """
    match type_:
        case BoolType():
            return {"true": True, "false": False}.get(text)
        case BitType() | SignedType():
            found = (_UNSIGNED_TEXT if isinstance(type_, BitType) else _SIGNED_TEXT).fullmatch(text)
            # More digits than the type can need are not read: Python refuses the longest ones.
            return _in_range(_integer_of(found[1], type_.width // 3 + 2), type_) if found else None
        case BigIntType():
            found = _SIGNED_TEXT.fullmatch(text)
            return _integer_of(found[1], None) if found else None
        case FloatType(width):
            found = _FLOAT_TEXT.fullmatch(text)
            return _fit_float(float(found[1]), width) if found else None
        case StringType():
            return text if _is_unicode(text) else None
        case DateType() | TimestampType() | DurationType() | DecimalType():
            return value_of_text(text.strip(" \t"), type_)
        case _:
            raise AssertionError(f"{type_} is not a plain type")


def wanted(type_: Type) -> str:
    """Names the type for an error, with the range of an integer."""
    match type_:
        case BitType(width) | SignedType(width) if width <= 64:
            low, high = integer_range(type_)
            return f"{type_} ({low} to {high})"
        case _:
            return written_type(type_)


def misfit(place: str, relation: Relation, column: Column, unfit: object) -> DataError:
    """Makes the error for a value, or for an UnfitError about a part of one; `place` is `row 3` or `edge.csv:17:2`."""
    if not isinstance(unfit, UnfitError):
        unfit = UnfitError(unfit, column.type)
    if is_missing(unfit.value):
        unfit.value = None
    remedy = f"leave such rows out, or declare the column `{column.name}: Option<{written_type(column.type)}>`"
    return _refusal(f"{place}, column `{column.name}` of `{relation.name}`", unfit, None if unfit.path else remedy)


def key_misfit(relation: Relation, unfit: UnfitError) -> DataError:
    """Makes the error for a primary key that does not fit."""
    return _refusal(f"the key for `{relation.name}`", unfit)


def parameter_misfit(name: str, unfit: UnfitError) -> DataError:
    """Makes the error for a parameter of a query that does not fit; `name` begins with `$`."""
    return _refusal(f"the parameter `{name}`", unfit)


def _refusal(where: str, unfit: UnfitError, for_null: str | None = None) -> DataError:
    value, type_ = unfit.value, unfit.type
    where += f", at `{unfit.path}`" if unfit.path else ""
    if value is None:
        return DataError(
            f"{where}: null where a {wanted(type_)} is wanted",
            code=Code.NULL_VALUE,
            help=for_null or f"declare it `Option<{written_type(type_)}>`, or give a value",
        )
    shown = f"`{quoted(value)}`"
    kind = "" if isinstance(value, str | int | float) else f" ({type(value).__name__})"
    reason = f": {unfit.reason}" if unfit.reason else ""
    return DataError(
        f"{where}: {shown}{kind} is not a {wanted(type_)}{reason}",
        code=Code.WRONG_VALUE,
        help=unfit.help or _remedy(value, type_),
    )


def quoted(value: object) -> str:
    """Writes the value on one line, cut to a readable length."""
    if isinstance(value, int) and value.bit_length() > 1000:
        return f"an integer of {value.bit_length()} bits"  # Python refuses to print the longest ones
    shortener = reprlib.Repr()
    shortener.maxstring = shortener.maxother = shortener.maxlong = 60
    return shortener.repr(value)


def _integer(value: object) -> int | None:
    if isinstance(value, bool | np.bool_):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def _integer_or_whole(value: object) -> int | None:
    """Returns an integer, also from a decimal without a fraction: tables without unsigned integers have `u64` so."""
    if isinstance(value, Decimal):
        return int(value) if value.is_finite() and value == value.to_integral_value() else None
    return _integer(value)


def _fit_float(value: object, width: int) -> float | None:
    if isinstance(value, float | np.floating):
        return double(float(value)) if width == 64 else single(float(value))
    number = _integer(value)
    if number is None:
        return None
    return double_of(number) if width == 64 else single_of(number)


def _integer_of(digits: str, most: int | None) -> int | None:
    """Reads digits as a number; None for more than `most` decimal digits."""
    if digits[:2] in ("0x", "0X"):
        return int(digits, 16)
    magnitude = digits.lstrip("-0")
    if most is not None and len(magnitude) > most:
        return None
    return integer_of_text(magnitude or "0") * (-1 if digits.startswith("-") else 1)


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
    if isinstance(value, float) and isinstance(type_, BitType | SignedType | BigIntType):
        return "floating-point numbers are not taken for integers; convert them with `int(...)` or `.astype('int64')`"
    if isinstance(value, str) and isinstance(type_, BitType | SignedType) and fit_text(value, type_) is not None:
        return f"text is not taken for a number; write `{fit_text(value, type_)}`"
    if isinstance(value, bool) and isinstance(type_, BitType | SignedType):
        return f"a bool is not taken for a number; write `{int(value)}`"
    if isinstance(value, str) and isinstance(type_, BoolType):
        return "a bool is written `true` or `false`"
    if isinstance(value, str) and isinstance(type_, BitType | SignedType | BigIntType):
        whole, point, fraction = value.partition(".")
        if point and not fraction.strip("0") and fit_text(whole, type_) is not None:
            return f"an integer is written without a point: `{whole}`"
    if isinstance(value, int) and isinstance(type_, StringType):
        return f"a number is not taken for text; write `'{quoted(value)}'`"
    if isinstance(type_, DateType | TimestampType | DurationType | DecimalType):
        return scaled_remedy(value, type_)
    return None
