"""Relation → the table in which engines keep its rows, and hand them to one another.

A column of a plain type is that of `arrow_schema`; any other is binary, with the canonical encoding of each value
(`values.encode`). Equal values have equal encodings, so such columns can be joined, hashed and deduplicated by who
knows nothing of their types. Their order means nothing. A value is decoded, or encoded, once however often it occurs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.rules.ir import Relation
from tidelog.rules.schema.arrow import arrow_type, empty_rows, is_plain, plain_type, python_column
from tidelog.types import BigIntType, BitType, SignedType, Type
from tidelog.values import Definitions
from tidelog.values.encode import decoder, encoder
from tidelog.values.text import integer_text

Row = tuple[Any, ...]


def stored_type(type_: Type) -> pa.DataType:
    """Returns the Arrow type of a stored column."""
    return arrow_type(type_) if is_plain(type_) else pa.binary()


def stored_schema(relation: Relation) -> pa.Schema:
    """Returns one field per column, never null; for a plain relation it is `arrow_schema`."""
    return pa.schema([pa.field(column.name, stored_type(column.type), nullable=False) for column in relation.columns])


def stored_column(values: Sequence[Any], type_: Type, definitions: Definitions) -> pa.Array:
    """Values of the language as a stored column."""
    if not is_plain(type_):
        encode = encoder(type_, definitions)
        return pa.array([encode(value) for value in values], pa.binary())
    if is_wide(type_):
        values = [integer_text(value) for value in values]
    return pa.array(values, arrow_type(type_))


def stored_values(array: pa.ChunkedArray | pa.Array, type_: Type, definitions: Definitions) -> list[Any]:
    """Returns the values of a stored column. Raises DataError for bytes that are none."""
    if is_plain(type_):
        return python_column(array, type_)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # more bytes than one array can hold
        return [value for chunk in array.chunks for value in stored_values(chunk, type_, definitions)]
    encoded = array.dictionary_encode()
    decode = decoder(type_, definitions)
    try:
        known = [decode(data) for data in encoded.dictionary.to_pylist()]
    except (ValueError, IndexError, OverflowError) as error:
        message = f"a stored value of type {type_} is not as it was written ({error})"
        raise DataError(message, code=Code.DAMAGED_DATABASE) from error
    return [known[place] for place in encoded.indices.to_pylist()]


def stored_table(rows: Sequence[Row], relation: Relation, definitions: Definitions) -> pa.Table:
    """Rows of values as a table with `stored_schema`."""
    if not relation.columns:
        return empty_rows(len(rows))
    columns = zip(*rows, strict=True) if rows else ([] for _ in relation.columns)
    arrays = [stored_column(values, column.type, definitions) for values, column in zip(columns, relation.columns)]
    return pa.Table.from_arrays(arrays, schema=stored_schema(relation))


def stored_rows(table: pa.Table, relation: Relation, definitions: Definitions) -> list[Row]:
    """Returns the rows of a table whose first columns are those of `stored_schema`, as values."""
    if not relation.columns:
        return [()] * table.num_rows
    columns = [
        stored_values(table.column(place), column.type, definitions) for place, column in enumerate(relation.columns)
    ]
    return list(zip(*columns, strict=True))


def is_wide(type_: Type) -> bool:
    """True for integers that do not fit in a word, which a stored column has as decimal text."""
    bare = plain_type(type_)
    return isinstance(bare, BigIntType) or (isinstance(bare, BitType | SignedType) and bare.width > 64)
