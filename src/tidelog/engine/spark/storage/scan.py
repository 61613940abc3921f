"""State files → DataFrames, read where they lie: no row passes through the driver.

A frame has the relation's columns as `c0`, ... in the types of `columns.stored_type`. Schemas are given, not inferred:
to look into the files first would be a job of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

from tidelog.engine.spark import column_functions as f
from tidelog.engine.spark.encoding.columns import stored_schema, to_frame
from tidelog.engine.spark.encoding.nested import shown
from tidelog.engine.spark.storage.directory import StateDirectory
from tidelog.engine.spark.storage.state_files import NUMBERS, TOTAL, Changed, Stored, value_names
from tidelog.rules.ir import Relation
from tidelog.values import Definitions


def scan_rows(
    spark: Any, directory: StateDirectory, relation: Relation, stored: Stored | None, numbers: bool = False
) -> Any:
    """Returns the visible rows of a relation; with `numbers`, also rank, count and total of a counted one."""
    buckets = stored.buckets if stored is not None else ()
    base = scan_files(spark, directory, relation, [name for bucket in buckets for name in bucket.base])
    if relation.weighted:
        # A row of the delta replaces that of the base, whatever its weight.
        base = base.filter(f.col(TOTAL) > 0)
    deltas = [bucket.delta for bucket in buckets if bucket.delta is not None]
    values = value_names(relation)
    wanted = [*values, *NUMBERS] if numbers else values
    if not deltas:
        return base.select(*wanted)
    delta = scan_files(spark, directory, relation, deltas)
    live = delta.filter(f.col(TOTAL) > 0).select(*wanted)
    # Buckets share no rows, so all deltas are merged with all bases at once. The one row of a relation without columns
    # is in the delta or deleted.
    rest = base.join(delta, values, "left_anti").select(*wanted) if values else None
    return live if rest is None else rest.unionByName(live)


def scan_changes(spark: Any, directory: StateDirectory, relation: Relation, changed: Changed, inserted: bool) -> Any:
    """Returns the inserted or the deleted rows of an epoch."""
    return scan_weighted(spark, directory, relation, changed, inserted).drop(TOTAL)


def scan_weighted(spark: Any, directory: StateDirectory, relation: Relation, changed: Changed, inserted: bool) -> Any:
    """Returns the inserted or the deleted rows of an epoch, with the changes of their weights as `_total`."""
    rows = scan_files(spark, directory, relation, changed.files)
    values = value_names(relation)
    if not changed.weighted:
        weight = f.lit(1 if inserted else -1).cast("long")
        return rows.filter(f.col(TOTAL) > 0 if inserted else f.col(TOTAL) == 0).select(*values, weight.alias(TOTAL))
    return rows.filter(f.col(TOTAL) > 0 if inserted else f.col(TOTAL) < 0).select(*values, TOTAL)


def encoded(frame: Any, relation: Relation, more: Sequence[str] = ()) -> Any:
    """Returns a scanned frame in the encoding of frames, with the columns `more`."""
    values = [to_frame(f.col(f"c{i}"), column.type).alias(f"c{i}") for i, column in enumerate(relation.columns)]
    return frame.select(*values, *more)


def named(frame: Any, relation: Relation, definitions: Definitions, *more: str) -> Any:
    """Returns a scanned frame as users see it, with the column names of the program."""
    return shown(frame, relation, definitions).toDF(*(column.name for column in relation.columns), *more)


def union(frames: Iterable[Any]) -> Any:
    """Returns the rows of all frames, at least one, that have the same columns."""
    return reduce(lambda left, right: left.unionByName(right), frames)


def scan_files(spark: Any, directory: StateDirectory, relation: Relation, files: Sequence[str]) -> Any:
    """Returns all rows of some files with their numbers, which are null if a file has none."""
    schema = stored_schema(relation, NUMBERS)
    if not files:
        return spark.createDataFrame([], schema)
    return spark.read.schema(schema).parquet(*(directory.spark_path(name) for name in files))
