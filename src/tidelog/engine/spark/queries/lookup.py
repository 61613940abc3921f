"""Values of some columns → the stored rows that have them, read with as little else as possible.

The value of the column that cuts the relation tells the bucket. In its files, Parquet's statistics rule out groups of
rows, and the rest is compared as it is read. Only the rows that are found become Python values.
"""

from __future__ import annotations

import math
from functools import reduce
from operator import and_

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.engine.interface import Row
from tidelog.engine.spark.storage.bucket import bucket_of_constant
from tidelog.engine.spark.storage.directory import StateDirectory
from tidelog.engine.spark.storage.state_files import Cut, Stored, read_rows
from tidelog.rules.ir import Constant, Relation
from tidelog.rules.schema.stored import stored_column
from tidelog.values import Definitions


def lookup(
    directory: StateDirectory,
    relation: Relation,
    stored: Stored | None,
    columns: tuple[int, ...],
    key: Row,
    definitions: Definitions,
) -> pa.Table:
    """Returns the visible rows that have these values in these columns, in the form of `read_rows`."""
    values = dict(zip(columns, key, strict=True))
    cut = None
    if stored is not None and stored.column in values:
        pivot = Constant(values[stored.column], relation.columns[stored.column].type)
        bucket = bucket_of_constant(pivot, len(stored.buckets), definitions)
        cut = Cut(stored.column, len(stored.buckets), bucket)
    wanted = [may_have(relation, column, value, definitions) for column, value in values.items()]
    where = reduce(and_, wanted) if wanted else None
    found = read_rows(directory, relation, stored, cut, where=where)
    for column, value in values.items():
        if _is_nan(value):
            found = found.filter(pc.is_nan(found[f"c{column}"]))
    return found


def may_have(relation: Relation, column: int, value: object, definitions: Definitions) -> pc.Expression:
    """Returns the condition that rows of a state file have this value in this column; True for NaN. The statistics of
    Parquet omit NaN: a file with `NaN` and `1.5` claims to have only 1.5, and a condition would skip it."""
    if _is_nan(value):
        return pc.scalar(True)
    stored = stored_column([value], relation.columns[column].type, definitions)[0]
    return pc.field(f"c{column}") == stored


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)
