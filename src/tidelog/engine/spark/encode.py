"""How a value looks in a Spark column, at three places.

| type | in frames (joined, hashed, counted) | stored and shown to users | also taken from users |
| --- | --- | --- | --- |
| `bool` | boolean | boolean | |
| `signed<N>`, N ≤ 64 | long | byte, short, int or long | any integer or whole decimal type |
| `bit<N>`, N < 64 | long | short, int, long or decimal(20,0) | the same |
| `u64` | long with the same 64 bits | decimal(20,0) | the same |
| wider integers | string, in decimal | string | the same, and strings |
| `string` | string | string | |

In frames equal values have equal columns and nothing else is promised: the order of a `u64` or of a wide integer there
is not the order of its values. The stored types are those that Spark gives the Arrow types of `tidelog.rules.schema`
when it reads them from Parquet, so both engines' files read alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from tidelog.check.types import BitType, BoolType, SignedType, StringType, Type, integer_range, is_word
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.rules.ir import Constant, Relation

_TOP_BIT = 1 << 63
_WORD = 1 << 64


def stored_type(type_: Type) -> str:
    """The Spark type, in SQL, of a stored column."""
    match type_:
        case BoolType():
            return "boolean"
        case BitType(width) if width <= 64:
            return next(name for bits, name in _UNSIGNED if width <= bits)
        case SignedType(width) if width <= 64:
            return next(name for bits, name in _SIGNED if width <= bits)
        case BitType() | SignedType() | StringType():
            return "string"
        case _:
            raise UsageError(f"Spark holds no values of type `{type_}` yet", code=Code.NOT_YET)


_UNSIGNED = ((8, "short"), (16, "int"), (32, "long"), (64, "decimal(20,0)"))
_SIGNED = ((8, "byte"), (16, "short"), (32, "int"), (64, "long"))


def frame_type(type_: Type) -> str:
    """The Spark type, in SQL, of a column in frames."""
    if isinstance(type_, BoolType):
        return "boolean"
    return "long" if is_word(type_) else "string"


def stored_schema(relation: Relation, extra: Sequence[str] = ()) -> str:
    """The schema of a relation's files, columns named by position, with more columns of type long."""
    columns = [f"c{i} {stored_type(column.type)}" for i, column in enumerate(relation.columns)]
    return ", ".join(columns + [f"{name} long" for name in extra])


def to_frame(column: Any, type_: Type) -> Any:
    """A stored column as frames hold it."""
    from pyspark.sql import functions as f

    if _is_full_word(type_):
        # The upper half of the numbers is, as a long, negative: the same bits.
        column = f.when(column >= f.lit(Decimal(_TOP_BIT)), column - f.lit(Decimal(_WORD))).otherwise(column)
    return column.cast(frame_type(type_))


def from_frame(column: Any, type_: Type) -> Any:
    """A column of frames as it is stored."""
    from pyspark.sql import functions as f

    if _is_full_word(type_):
        number = column.cast("decimal(20,0)")
        return f.when(column < f.lit(0), number + f.lit(Decimal(_WORD))).otherwise(number).cast("decimal(20,0)")
    return column.cast(stored_type(type_))


def constant_value(constant: Constant) -> bool | int | str:
    """A value of the program as frames hold it."""
    return encode_value(constant.value, constant.type)


def encode_value(value: bool | int | str, type_: Type) -> bool | int | str:
    """A Python value as frames hold it."""
    if _is_full_word(type_):
        assert isinstance(value, int)
        return value - _WORD if value >= _TOP_BIT else value
    return str(value) if _is_wide(type_) else value


def decode_values(values: list[Any], type_: Type) -> list[Any]:
    """Values of a column of frames as the Python values that they stand for."""
    if _is_full_word(type_):
        return [value + _WORD if value < 0 else value for value in values]
    return [int(value) for value in values] if _is_wide(type_) else values


def taken_from(found: Any, type_: Type) -> bool:
    """True when a column of this Spark type may hold a relation's column, by its kind; the values are checked later."""
    from pyspark.sql import types as t

    match type_:
        case BoolType():
            return isinstance(found, t.BooleanType)
        case StringType():
            return isinstance(found, t.StringType)
        case BitType() | SignedType():
            is_whole = isinstance(found, t.IntegralType) or (isinstance(found, t.DecimalType) and found.scale == 0)
            return is_whole or (_is_wide(type_) and isinstance(found, t.StringType))
        case _:
            raise UsageError(f"Spark holds no values of type `{type_}` yet", code=Code.NOT_YET)


def misfit(column: Any, type_: Type) -> Any:
    """A boolean column: whether a value given by a user, of a type that is `taken_from`, is null or out of range."""
    from pyspark.sql import functions as f

    if not isinstance(type_, BitType | SignedType):
        return column.isNull()
    low, high = integer_range(type_)
    if not _is_wide(type_):
        number = column.cast("decimal(38,0)")
        return column.isNull() | (number < f.lit(Decimal(low))) | (number > f.lit(Decimal(high)))
    return column.isNull() | ~_is_canonical(column.cast("string"), low, high)


def _is_canonical(text: Any, low: int, high: int) -> Any:
    """Whether a text is the decimal form of a number in the range: by its shape, its length, its digits."""
    from pyspark.sql import functions as f

    digits = f.ltrim(text, f.lit("-"))
    is_negative = text.startswith("-")
    limit = f.when(is_negative, f.lit(str(-low))).otherwise(f.lit(str(high)))
    # Texts of equal length compare as the numbers do.
    fits = (f.length(digits) < f.length(limit)) | ((f.length(digits) == f.length(limit)) & (digits <= limit))
    return text.rlike(r"^(0|-?[1-9][0-9]*)$") & fits


def _is_full_word(type_: Type) -> bool:
    return isinstance(type_, BitType) and type_.width == 64


def _is_wide(type_: Type) -> bool:
    return isinstance(type_, BitType | SignedType) and type_.width > 64
