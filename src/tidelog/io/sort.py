"""A table's rows in value order: column by column, `false` before `true`, numbers by size, text by bytes.

Arrow's own order is the value order for every column but wide integers, which travel as decimal text; those are
sorted by their distance from the smallest value of the type, written in bytes of one length.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.check.types import BitType, SignedType, integer_range
from tidelog.rules.ir import Column, Relation


def sort_by_value(table: pa.Table, relation: Relation) -> pa.Table:
    """The same rows (which may have further columns after the relation's), sorted by the relation's columns."""
    if not relation.columns or table.num_rows < 2:
        return table
    keys = [_sort_key(table.column(index), column) for index, column in enumerate(relation.columns)]
    names = [str(index) for index in range(len(keys))]
    order = pc.sort_indices(pa.table(keys, names=names), sort_keys=[(name, "ascending") for name in names])
    return table.take(order)


def _sort_key(array: pa.ChunkedArray, column: Column) -> pa.ChunkedArray | pa.Array:
    if not isinstance(column.type, BitType | SignedType) or column.type.width <= 64:
        return array
    low, _ = integer_range(column.type)
    size = (column.type.width + 7) // 8
    return pa.array([(int(text) - low).to_bytes(size, "big") for text in array.to_pylist()], pa.binary())
