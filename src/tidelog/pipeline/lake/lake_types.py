"""Types of a relation → types of a table format, lossless or refused by name.

| Arrow | Delta | Iceberg |
| --- | --- | --- |
| uint8 | short | int |
| uint16 | int | int |
| uint32 | long | long |
| uint64 | decimal(20, 0) | decimal(20, 0) |
| int8, int16 | byte, short | int |
| duration | none | none |

All other types are those of Arrow. Readers accept these types for the columns again.
"""

from __future__ import annotations

import pyarrow as pa

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.io.formats import NULLARY_COLUMN
from tidelog.rules.ir import Relation
from tidelog.rules.schema.arrow import arrow_schema
from tidelog.values import Definitions

DELTA = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
}
ICEBERG = {**DELTA, pa.int8(): pa.int32(), pa.int16(): pa.int32(), pa.uint8(): pa.int32()}
FORMATS = {"delta": DELTA, "iceberg": ICEBERG}


def lake_schema(relation: Relation, definitions: Definitions, format_: str) -> pa.Schema:
    """Returns the columns of a relation in a table format. Raises DataError for a type that it does not have."""
    fields = []
    for field in arrow_schema(relation, definitions):
        type_ = _lake_type(field.type, format_)
        if type_ is None:
            raise DataError(
                f"the column `{field.name}` of `{relation.name}` has durations, which {format_.title()} does not have",
                code=Code.UNSUPPORTED_SOURCE,
                help="write microseconds: an output relation with a column of type `s64`",
            )
        fields.append(pa.field(field.name, type_, nullable=field.nullable))
    return pa.schema(fields or [pa.field(NULLARY_COLUMN, pa.bool_(), nullable=False)])


def to_lake(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Returns a table of a relation with the types of `lake_schema`; columns behind them stay as they are."""
    columns = []
    for place, field in enumerate(schema):
        columns.append(table.column(place).cast(field.type))
    more = list(range(len(schema), table.num_columns))
    fields = [*schema, *(table.schema.field(place) for place in more)]
    return pa.Table.from_arrays([*columns, *(table.column(place) for place in more)], schema=pa.schema(fields))


def _lake_type(type_: pa.DataType, format_: str) -> pa.DataType | None:
    """Returns the type in the format; None if it holds a type that the format does not have."""
    if pa.types.is_duration(type_):
        return None
    if pa.types.is_list(type_):
        inner = _lake_type(type_.value_type, format_)
        return None if inner is None else pa.list_(pa.field(type_.value_field.name, inner, type_.value_field.nullable))
    if pa.types.is_map(type_):
        key, item = _lake_type(type_.key_type, format_), _lake_type(type_.item_type, format_)
        return None if key is None or item is None else pa.map_(key, pa.field("value", item, type_.item_field.nullable))
    if pa.types.is_struct(type_):
        fields = []
        for each in type_:
            inner = _lake_type(each.type, format_)
            if inner is None:
                return None
            fields.append(pa.field(each.name, inner, each.nullable))
        return pa.struct(fields)
    return FORMATS[format_].get(type_, type_)
