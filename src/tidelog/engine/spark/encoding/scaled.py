"""Dates, timestamps, durations and decimals in state files: integers of their unit, or text for the widest decimals.

    timestamp[us, tz=UTC]     int64
    decimal128(10, 2)         int64: 1.50 is 150
    decimal128(38, 2)         string: 1.50 is "150"

So Spark joins, hashes and orders them as the numbers that they are, and no setting of a session (its time zone, its
calendar for old dates, the precision of its decimals) has any effect. Users see Spark's own types (`nested`).
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tidelog.engine.local.encoding.scaled_words import array_words, scaled_array
from tidelog.rules.schema.arrow import plain_type, python_column
from tidelog.scaled_values import from_units, to_units, unit_range
from tidelog.types import DATE, DURATION, TIMESTAMP, DecimalType, ScaledType, Type, is_word

_TIMES: dict[pa.DataType, ScaledType] = {
    pa.date32(): DATE,
    pa.timestamp("us", "UTC"): TIMESTAMP,
    pa.duration("us"): DURATION,
}


def scaled_type(type_: pa.DataType) -> ScaledType | None:
    """Returns the scaled type that has this Arrow type; None for the Arrow types of all others."""
    if pa.types.is_decimal128(type_):
        return DecimalType(type_.precision, type_.scale)
    return _TIMES.get(type_)


def is_scaled(type_: Type) -> bool:
    """True for a scaled type, also behind a `Ref` or an `Intern`."""
    return isinstance(plain_type(type_), ScaledType)


def to_files(table: pa.Table) -> pa.Table:
    """Returns a table of stored columns as files have them."""
    for place, field in enumerate(table.schema):
        if scaled_type(field.type) is not None:
            table = table.set_column(place, field.name, to_file_column(table.column(place)))
    return table


def to_file_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Returns a stored column as files have it."""
    type_ = scaled_type(column.type)
    if type_ is None:
        return column
    if is_word(type_):
        return pa.chunked_array([pa.array(array_words(column, type_), pa.int64())])
    return pa.chunked_array([pa.array([str(to_units(value, type_)) for value in column.to_pylist()], pa.string())])


def from_files(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Returns a table of a file with the types of a schema of stored columns."""
    for place, field in enumerate(schema):
        found = table.column(place)
        if scaled_type(field.type) is not None and found.type != field.type:
            table = table.set_column(place, field.name, from_file_column(found, field.type))
    return table.cast(schema)


def from_file_column(column: pa.ChunkedArray | pa.Array, target: pa.DataType) -> pa.ChunkedArray:
    """Returns a column of a file with the Arrow type of its scaled type. Raises ValueError for what is no value."""
    type_ = scaled_type(target)
    assert type_ is not None
    if column.null_count:
        return pa.chunked_array([pa.nulls(len(column), target)])  # damaged, which the caller says
    if not is_word(type_):
        return pa.chunked_array([pa.array(python_column(column, type_), target)], target)
    words = column.to_numpy(zero_copy_only=False)
    low, high = unit_range(type_)
    if len(words) and not (low <= int(words.min()) and int(words.max()) <= high):
        raise ValueError(f"a number is no {type_}")
    return pa.chunked_array([scaled_array(words, type_)], target)


def encoded_units(values: list[Any], type_: Type) -> list[Any]:
    """Returns scaled values as columns of frames have them."""
    bare = plain_type(type_)
    numbers = [to_units(value, bare) for value in values]
    return numbers if is_word(bare) else [str(number) for number in numbers]


def decoded_units(values: list[Any], type_: Type) -> list[Any]:
    """Returns the scaled values of a column of frames."""
    bare = plain_type(type_)
    return [from_units(int(value), bare) for value in values]
