"""The rows of a table → value order: column by column, `false` before `true`, numbers by size, text by bytes.

Arrow's own order is the value order for every plain column but wide integers, which are decimal text there; those are
sorted by their distance from the smallest value, written in bytes of one length. Python's order of canonical values is
the value order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import pyarrow as pa

from tidelog.deep_recursion import at_any_depth
from tidelog.rules.ir import Column, Relation
from tidelog.rules.schema.arrow import python_column, table_to_rows, with_plain_columns
from tidelog.rules.schema.stored import is_wide
from tidelog.types import FloatType

Item = TypeVar("Item")

_WORTH_A_TABLE = 1000


def sort_rows(rows: Sequence[Item]) -> list[Item]:
    """Sorts rows of canonical values, or pairs of a row and its weight, in value order."""
    return at_any_depth(sorted, rows)  # type: ignore[arg-type]


def sort_by_value(table: pa.Table, relation: Relation) -> pa.Table:
    """Sorts rows by the relation's columns; the table may have further columns after them."""
    if not relation.columns or table.num_rows < 2:
        return table
    import pyarrow.compute as pc  # not before: to load it takes longer than many a small program runs

    relation = with_plain_columns(relation)
    keys = [_sort_key(table.column(index), column) for index, column in enumerate(relation.columns)]
    names = [str(index) for index in range(len(keys))]
    order = pc.sort_indices(pa.table(keys, names=names), sort_keys=[(name, "ascending") for name in names])
    return table.take(order)


def sorted_rows(table: pa.Table, relation: Relation) -> list[tuple[Any, ...]]:
    """Returns the rows of a table of a plain relation, in value order.

    A few are sorted by Python, because to load what sorts tables takes longer; not floats, where NaN has no place.
    """
    has_floats = any(isinstance(column.type, FloatType) for column in with_plain_columns(relation).columns)
    if table.num_rows < _WORTH_A_TABLE and not has_floats:
        return sorted(table_to_rows(table, relation))
    return table_to_rows(sort_by_value(table, relation), relation)


def _sort_key(array: pa.ChunkedArray, column: Column) -> pa.ChunkedArray | pa.Array:
    if not is_wide(column.type):
        return array
    numbers = python_column(array, column.type)
    low = min(numbers)
    size = (max(numbers) - low).bit_length() // 8 + 1
    return pa.array([(number - low).to_bytes(size, "big") for number in numbers], pa.binary())
