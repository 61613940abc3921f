"""Values ↔ Spark columns, at three places: in frames, in files, and in DataFrames of users.

| type | in frames (joined, hashed, counted) | stored and shown to users | also taken from users |
| --- | --- | --- | --- |
| `bool` | boolean | boolean | |
| `signed<N>`, N ≤ 64 | long | byte, short, int or long | any integer or whole decimal type |
| `bit<N>`, N < 64 | long | short, int, long or decimal(20,0) | the same |
| `u64` | long with the same 64 bits | decimal(20,0) | the same |
| wider integers, `bigint` | string, in decimal | string | the same, and strings |
| `float`, `double` | double | float, double | any number |
| `string` | string | string | |
| `date`, `timestamp`, `duration` | long: days or microseconds | long; shown as date, timestamp, interval day to |
| | | second (`nested.py`) | also timestamp without a zone, which is UTC |
| `decimal<P, S>` | long, or a string for P > 18: the number without its point | the same; shown as decimal(P,S) |
| | | | any decimal or integer type |
| `Ref<T>`, `Intern<T>` of these | as `T` | as `T` | as `T` |
| all others | binary: the value's canonical encoding | binary; shown as nested types (`nested.py`) | nested types |

In frames equal values have equal columns and nothing else is promised: the order of a `u64`, of a wide integer or of
an encoding there is not the order of its values. (To Spark, as to us, all NaN are equal, and larger than any other
number, and -0.0 is 0.0.) The stored types are those that Spark gives the Arrow types of `rules/schema/stored.py` when
it reads them from Parquet, so both engines' files read alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import reduce
from operator import or_
from typing import Any

from tidelog.engine.spark import column_functions as f
from tidelog.engine.spark.encoding.scaled import decoded_units, encoded_units, is_scaled
from tidelog.rules.ir import Constant, Relation
from tidelog.rules.schema.arrow import is_plain, plain_type
from tidelog.rules.schema.stored import is_wide
from tidelog.types import (
    BigIntType,
    BitType,
    BoolType,
    DateType,
    DecimalType,
    DurationType,
    FloatType,
    SignedType,
    StringType,
    TimestampType,
    Type,
    integer_range,
    is_word,
)
from tidelog.values import NAN, Definitions
from tidelog.values.encode import decoder, encoder
from tidelog.values.text import integer_of_text, integer_text

_TOP_BIT = 1 << 63
_WORD = 1 << 64
_INTEGER = r"^(0|-?[1-9][0-9]*)$"


def stored_type(type_: Type) -> str:
    """Returns the Spark type, in SQL, of a stored column."""
    match plain_type(type_):
        case BoolType():
            return "boolean"
        case BitType(width) if width <= 64:
            return next(name for bits, name in _UNSIGNED if width <= bits)
        case SignedType(width) if width <= 64:
            return next(name for bits, name in _SIGNED if width <= bits)
        case BitType() | SignedType() | BigIntType() | StringType():
            return "string"
        case FloatType(width):
            return "double" if width == 64 else "float"
        case DateType() | TimestampType() | DurationType() | DecimalType() as scaled:
            return "long" if is_word(scaled) else "string"
        case _:
            return "binary"


def shown_type(type_: Type) -> str:
    """Returns the Spark type, in SQL, of a plain column in DataFrames of users."""
    match plain_type(type_):
        case DateType():
            return "date"
        case TimestampType():
            return "timestamp"
        case DurationType():
            return "interval day to second"
        case DecimalType(precision, scale):
            return f"decimal({precision},{scale})"
        case _:
            return stored_type(type_)


_UNSIGNED = ((8, "short"), (16, "int"), (32, "long"), (64, "decimal(20,0)"))
_SIGNED = ((8, "byte"), (16, "short"), (32, "int"), (64, "long"))


def frame_type(type_: Type) -> str:
    """Returns the Spark type, in SQL, of a column in frames."""
    bare = plain_type(type_)
    if not is_plain(bare):
        return "binary"
    if isinstance(bare, BoolType):
        return "boolean"
    if isinstance(bare, FloatType):
        return "double"
    return "long" if is_word(bare) else "string"


def stored_schema(relation: Relation, extra: Sequence[str] = ()) -> str:
    """Returns the schema of a relation's files, columns named by position, with more columns of type long."""
    columns = [f"c{i} {stored_type(column.type)}" for i, column in enumerate(relation.columns)]
    return ", ".join(columns + [f"{name} long" for name in extra])


def to_frame(column: Any, type_: Type) -> Any:
    """Converts a stored column to a column of frames."""
    if _is_full_word(type_):
        # The upper half of the numbers is, as a long, negative: the same bits.
        column = f.when(column >= f.lit(Decimal(_TOP_BIT)), column - f.lit(Decimal(_WORD))).otherwise(column)
    return column.cast(frame_type(type_))


def from_frame(column: Any, type_: Type) -> Any:
    """Converts a column of frames to a stored column."""
    if _is_full_word(type_):
        number = column.cast("decimal(20,0)")
        return f.when(column < f.lit(0), number + f.lit(Decimal(_WORD))).otherwise(number).cast("decimal(20,0)")
    return column.cast(stored_type(type_))


def constant_column(constant: Constant, definitions: Definitions) -> Any:
    """Returns a constant of the program as a column of frames."""
    (value,) = encode_values([constant.value], constant.type, definitions)
    return f.lit(value).cast(frame_type(constant.type))


def encode_values(values: list[Any], type_: Type, definitions: Definitions) -> list[Any]:
    """Encodes Python values for a column of frames."""
    if not is_plain(type_):
        return [*map(encoder(type_, definitions), values)]
    if _is_full_word(type_):
        return [value - _WORD if value >= _TOP_BIT else value for value in values]
    if is_scaled(type_):
        return encoded_units(values, type_)
    return [integer_text(value) for value in values] if is_wide(type_) else values


def decode_values(values: list[Any], type_: Type, definitions: Definitions) -> list[Any]:
    """Decodes the values of a column of frames to Python values."""
    if not is_plain(type_):
        decode = decoder(type_, definitions)
        known = {data: decode(data) for data in set(values)}
        return [known[data] for data in values]
    if _is_full_word(type_):
        return [value + _WORD if value < 0 else value for value in values]
    if is_scaled(type_):
        return decoded_units(values, type_)
    if isinstance(plain_type(type_), FloatType):
        return [NAN if value != value else value + 0.0 for value in values]
    return [integer_of_text(value) for value in values] if is_wide(type_) else values


def taken_from(found: Any, type_: Type) -> bool:
    """True if a column of this Spark type may hold a relation's column, by its kind; the values are checked later."""
    from pyspark.sql import types as t

    match plain_type(type_):
        case BoolType():
            return isinstance(found, t.BooleanType)
        case StringType():
            return isinstance(found, t.StringType)
        case BitType() | SignedType() | BigIntType():
            is_whole = isinstance(found, t.IntegralType) or (isinstance(found, t.DecimalType) and found.scale == 0)
            return is_whole or (is_wide(type_) and isinstance(found, t.StringType))
        case FloatType():
            return isinstance(found, t.FractionalType | t.IntegralType) and not isinstance(found, t.DecimalType)
        case DateType():
            return isinstance(found, t.DateType)
        case TimestampType():
            return isinstance(found, t.TimestampType | t.TimestampNTZType)
        case DurationType():
            return isinstance(found, t.DayTimeIntervalType)
        case DecimalType():
            return isinstance(found, t.DecimalType | t.IntegralType)
        case _:
            return True


def misfit(column: Any, type_: Type, found: Any = None) -> Any:
    """Returns a Boolean column: True if a user's value, of a type that is `taken_from`, is null or out of range.

    `found` is the Spark type of the column; that of a word is compared as a word, which is some ten times as fast.
    """
    bare = plain_type(type_)
    if isinstance(bare, BigIntType):
        return column.isNull() | ~column.cast("string").rlike(_INTEGER)
    if not isinstance(bare, BitType | SignedType):
        return column.isNull()
    low, high = integer_range(bare)
    if not is_wide(type_):
        if _is_word_of_spark(found):
            number, reach = column.cast("long"), (-_TOP_BIT, _TOP_BIT - 1)
            outside = [number < f.lit(low)] if low > reach[0] else []
            outside += [number > f.lit(high)] if high < reach[1] else []
            return reduce(or_, outside, column.isNull())
        number = column.cast("decimal(38,0)")
        return column.isNull() | (number < f.lit(Decimal(low))) | (number > f.lit(Decimal(high)))
    return column.isNull() | ~_is_canonical(column.cast("string"), low, high)


def _is_word_of_spark(found: Any) -> bool:
    from pyspark.sql import types as t

    return isinstance(found, t.ByteType | t.ShortType | t.IntegerType | t.LongType)


def canonical(column: Any, type_: Type) -> Any:
    """Converts a user's column, none of whose values is a misfit, to its stored type."""
    stored = column.try_cast(stored_type(type_))
    if not isinstance(plain_type(type_), FloatType):
        return stored
    # One NaN, and -0.0 becomes 0.0.
    nan = f.lit(float("nan")).cast(stored_type(type_))
    return f.when(f.isnan(stored), nan).when(stored == 0, f.lit(0.0).cast(stored_type(type_))).otherwise(stored)


def _is_canonical(text: Any, low: int, high: int) -> Any:
    """Returns a Boolean column: True if a text is the decimal form of a number in the range."""
    digits = f.ltrim(text, f.lit("-"))
    is_negative = text.startswith("-")
    limit = f.when(is_negative, f.lit(str(-low))).otherwise(f.lit(str(high)))
    # Texts of equal length compare as the numbers do.
    fits = (f.length(digits) < f.length(limit)) | ((f.length(digits) == f.length(limit)) & (digits <= limit))
    return text.rlike(_INTEGER) & fits


def _is_full_word(type_: Type) -> bool:
    return plain_type(type_) == BitType(64)
