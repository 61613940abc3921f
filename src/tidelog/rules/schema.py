"""Relation → Arrow schema: how a relation's rows look at every border (users, files, engines).

| type | Arrow | Python |
| --- | --- | --- |
| `bool` | bool | bool |
| `bit<N>`, N ≤ 64 | uint8, 16, 32 or 64, the smallest that holds N bits | int |
| `signed<N>`, N ≤ 64 | int8, 16, 32 or 64 | int |
| wider integers | string, in decimal | int |
| `string` | string | str |

Columns are never null. Two widths share an Arrow type (`bit<12>` and `u16`), so a range check belongs to every border.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tidelog.check.types import BitType, BoolType, SignedType, StringType, Type
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.rules.ir import Relation


def arrow_type(type_: Type) -> pa.DataType:
    """The Arrow type of a column of this type."""
    match type_:
        case BoolType():
            return pa.bool_()
        case BitType(width) if width <= 64:
            return {8: pa.uint8(), 16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}[_storage_bits(width)]
        case SignedType(width) if width <= 64:
            return {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[_storage_bits(width)]
        case BitType() | SignedType() | StringType():
            return pa.string()
        case _:
            raise UsageError(f"tables hold no values of type `{type_}` yet", code=Code.NOT_YET)


def arrow_schema(relation: Relation) -> pa.Schema:
    """One non-null field per column. A relation without columns has an empty schema; num_rows counts its rows."""
    return pa.schema([pa.field(column.name, arrow_type(column.type), nullable=False) for column in relation.columns])


def table_to_rows(table: pa.Table, relation: Relation) -> list[tuple[Any, ...]]:
    """The rows of a table with the relation's schema as tuples of Python values, in the table's order."""
    if not relation.columns:
        return [()] * table.num_rows
    columns = [_python_column(table.column(index), column.type) for index, column in enumerate(relation.columns)]
    return list(zip(*columns))


def _python_column(array: pa.ChunkedArray, type_: Type) -> list[Any]:
    values: list[Any] = array.to_pylist()
    if isinstance(type_, BitType | SignedType) and type_.width > 64:
        return [int(value) for value in values]
    return values


def _storage_bits(width: int) -> int:
    return next(bits for bits in (8, 16, 32, 64) if width <= bits)
