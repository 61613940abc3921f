"""An Arrow table → a table of types that Spark has."""

from __future__ import annotations

import pyarrow as pa


def signed(table: pa.Table) -> pa.Table:
    """Returns the table with signed numbers instead of unsigned ones, which Spark does not have."""
    fields = []
    for field in table.schema:
        if pa.types.is_unsigned_integer(field.type):
            field = field.with_type(pa.decimal128(20, 0) if field.type == pa.uint64() else pa.int64())
        fields.append(field)
    return table.cast(pa.schema(fields))
