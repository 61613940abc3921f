"""Values of some columns → the stored rows that have them, read with as little else as can be.

The bucket follows from the value of the column that rows are cut by; in its files, Parquet's statistics rule out groups
of rows, and the rest is compared as it is read. Nothing becomes a Python value but the rows that are found.
"""

from __future__ import annotations

from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.engine.interface import Row
from tidelog.engine.spark.bucket import bucket_of_constant
from tidelog.engine.spark.directory import StateDirectory
from tidelog.engine.spark.state import Cut, Stored, read_rows
from tidelog.rules.ir import Constant, Relation
from tidelog.rules.stored import stored_column
from tidelog.values import Definitions


def look_up(
    directory: StateDirectory,
    relation: Relation,
    stored: Stored | None,
    columns: tuple[int, ...],
    key: Row,
    definitions: Definitions,
) -> pa.Table:
    """The visible rows that have these values in these columns, in the form of `read_rows`."""
    values = dict(zip(columns, key, strict=True))
    cut = None
    if stored is not None and stored.column in values:
        pivot = Constant(values[stored.column], relation.columns[stored.column].type)
        bucket = bucket_of_constant(pivot, len(stored.buckets), definitions)
        cut = Cut(stored.column, len(stored.buckets), bucket)
    wanted = [is_value(relation, column, value, definitions) for column, value in values.items()]
    where = reduce(lambda left, right: left & right, wanted) if wanted else None
    return read_rows(directory, relation, stored, cut, where=where)


def is_value(relation: Relation, column: int, value: object, definitions: Definitions) -> pc.Expression:
    """The rows of a state file that have this value in this column; NaN is equal to itself."""
    stored = stored_column([value], relation.columns[column].type, definitions)[0]
    field = pc.field(f"c{column}")
    return pc.is_nan(field) if isinstance(value, float) and value != value else field == stored
