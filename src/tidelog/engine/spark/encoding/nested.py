"""Stored columns ↔ the nested Spark types that users see, for values that are not plain.

    binary (an encoded `Vec<u8>`)     array<smallint>
    binary (an encoded `Option<P>`)   struct<...>, nullable

The types are those of `rules.schema`, as Arrow has them, with Spark's own types for unsigned integers, which it does
not have. Values pass through Python, batch by batch, where the rows are: none goes through the driver.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa

from tidelog.engine.spark.encoding.scaled import from_file_column, is_scaled, to_file_column
from tidelog.engine.spark.task_errors import CarriedError
from tidelog.io.fit import fitter
from tidelog.io.scaled import fit_scaled, scaled_column
from tidelog.io.to_python import arrow_form
from tidelog.io.values import UnfitError, misfit
from tidelog.rules.ir import Column, Relation
from tidelog.rules.schema.arrow import arrow_field, arrow_schema, is_plain, plain_type
from tidelog.rules.schema.stored import stored_values
from tidelog.types import ScaledType, Type, is_word
from tidelog.values import Definitions
from tidelog.values.encode import encoder

_UNSIGNED = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
}


def shown(frame: Any, relation: Relation, definitions: Definitions) -> Any:
    """Returns a frame of stored columns (first the relation's) with nested types in place of encodings."""
    if all(map(_is_native, relation.columns)):
        return frame
    from pyspark.sql import types as t
    from pyspark.sql.pandas.types import from_arrow_type

    fields = list(frame.schema.fields)
    wanted: dict[int, pa.Field] = {}
    for place, column in enumerate(relation.columns):
        if not _is_native(column):
            field = arrow_field(column.name, column.type, definitions)
            wanted[place] = _spark_field(field)
            fields[place] = t.StructField(fields[place].name, from_arrow_type(wanted[place].type))
    types = [column.type for column in relation.columns]
    return frame.mapInArrow(partial(_decode, types, wanted, definitions), t.StructType(fields))


def spark_schema(relation: Relation, definitions: Definitions) -> pa.Schema:
    """Returns the columns that users see in a DataFrame, as Arrow types that Spark has, too."""
    return pa.schema([_spark_field(field) for field in arrow_schema(relation, definitions)])


def stored(frame: Any, relation: Relation, definitions: Definitions) -> Any:
    """Returns a frame of a user's columns, in the relation's order, with encodings in place of nested types.

    A job that reads it raises a CarriedError with the DataError of the first value that does not fit.
    """
    if all(map(_is_native, relation.columns)):
        return frame
    from pyspark.sql import types as t

    def stored_field(column: Column) -> Any:
        if not is_scaled(column.type):
            return t.BinaryType()
        return t.LongType() if is_word(plain_type(column.type)) else t.StringType()

    fields = [
        field if _is_native(column) else t.StructField(field.name, stored_field(column))
        for field, column in zip(frame.schema.fields, relation.columns, strict=True)
    ]
    return frame.mapInArrow(partial(_encode, relation, definitions), t.StructType(fields))


def _decode(
    types: list[Type], wanted: dict[int, pa.Field], definitions: Definitions, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        arrays = list(batch.columns)
        for place, field in wanted.items():
            if is_scaled(types[place]):
                arrays[place] = from_file_column(arrays[place], field.type).combine_chunks()
                continue
            form = arrow_form(types[place], definitions)
            values = stored_values(arrays[place], types[place], definitions)
            arrays[place] = pa.array([form(value) for value in values], field.type)
        yield pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def _encode(
    relation: Relation, definitions: Definitions, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        arrays = list(batch.columns)
        for place, column in enumerate(relation.columns):
            if _is_native(column):
                continue
            arrays[place] = arrays[place].cast(_in_utc(arrays[place].type))
            if is_scaled(column.type):
                arrays[place] = _encoded_scaled(arrays[place], relation, column)
                continue
            fit, encode = fitter(column.type, definitions, wire=True), encoder(column.type, definitions)
            try:
                values = [encode(fit(_without_decimals(value))) for value in arrays[place].to_pylist()]
            except UnfitError as error:
                raise CarriedError(misfit("a row of the DataFrame", relation, column, error)) from None
            arrays[place] = pa.array(values, pa.binary())
        yield pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def _in_utc(type_: pa.DataType) -> pa.DataType:
    """Returns the type with all timestamps in UTC: in the zone of a session, the first and last ones have no date."""
    if pa.types.is_timestamp(type_) and type_.tz is not None:
        return pa.timestamp(type_.unit, "UTC")
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(_in_utc(field.type)) for field in type_])
    if pa.types.is_list(type_):
        return pa.list_(type_.value_field.with_type(_in_utc(type_.value_type)))
    if pa.types.is_map(type_):
        return pa.map_(_in_utc(type_.key_type), type_.item_field.with_type(_in_utc(type_.item_type)))
    return type_


def _is_native(column: Column) -> bool:
    """True for a column that Spark converts by itself."""
    return is_plain(column.type) and not is_scaled(column.type)


def _encoded_scaled(array: pa.Array, relation: Relation, column: Column) -> pa.Array:
    type_ = plain_type(column.type)
    assert isinstance(type_, ScaledType)
    bad: Any = None
    if not array.null_count:
        fitted = scaled_column(pa.chunked_array([array]), type_)
        if fitted is not None:
            return to_file_column(fitted).combine_chunks()
        bad = next((value for value in array.to_pylist() if fit_scaled(value, type_) is None), array[0].as_py())
    raise CarriedError(misfit("a row of the DataFrame", relation, column, bad))


def _without_decimals(value: Any) -> Any:
    """Returns the value with whole decimals, Spark's form of unsigned 64-bit numbers, as integers."""
    match value:
        case Decimal() if value == value.to_integral_value():
            return int(value)
        case dict():
            return {key: _without_decimals(item) for key, item in value.items()}
        case list():
            return [_without_decimals(item) for item in value]
        case tuple():
            return tuple(_without_decimals(item) for item in value)
        case _:
            return value


def _spark_field(field: pa.Field) -> pa.Field:
    """Returns the field with a Spark type; nullable, as Spark and Arrow differ on fields inside a null."""
    return field.with_type(_spark_form(field.type)).with_nullable(True)


def _spark_form(type_: pa.DataType) -> pa.DataType:
    if type_ in _UNSIGNED:
        return _UNSIGNED[type_]
    if pa.types.is_struct(type_):
        return pa.struct([_spark_field(field) for field in type_])
    if pa.types.is_map(type_):
        return pa.map_(_spark_field(type_.key_field).with_nullable(False), _spark_field(type_.item_field))
    if pa.types.is_list(type_):
        return pa.list_(_spark_field(type_.value_field))
    return type_
