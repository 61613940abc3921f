"""Net operations of a transaction: writes → the inserted and deleted rows of each input relation.

Writes apply in call order, so the last one for a row decides; to insert a row that is there, or to delete one that is
not, changes nothing. Writes given as Arrow tables are compared with the relation in the driver, by pyarrow, unless the
relation is large; writes given as DataFrames never pass through the driver, and their values are checked in the same
job that compares them. Writes to a multiset or a stream are added up, and compared with nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.engine.interface import Operation
from tidelog.engine.spark import column_functions as f
from tidelog.engine.spark.encoding.columns import canonical, misfit
from tidelog.engine.spark.epoch.attempt import Attempt
from tidelog.engine.spark.epoch.set_relation import count_changes
from tidelog.engine.spark.storage import state_files
from tidelog.engine.spark.storage.directory import plain
from tidelog.engine.spark.storage.scan import scan_files, scan_rows, union
from tidelog.engine.spark.storage.state_files import TOTAL, Changed, Stored
from tidelog.rules.ir import Relation
from tidelog.types import written_type

DRIVER_ROWS = 5_000_000
"""Input relations of at most this many rows are compared with in the driver, which reads their columns to do so."""

FETCHED_ROWS = 1_000_000
"""Changes of a relation that has rows, given as a DataFrame, are compared in the driver, if they are no more."""

FEW_ROWS = 20_000
"""Up to so many changed rows, only rows with their values in a column are read."""

_SIGN, _PLACE, _BAD = "_sign", "_place", "_bad"


@dataclass(frozen=True, slots=True)
class Target:
    """The relation that is written to, with its rows so far."""

    attempt: Attempt
    relation: Relation
    stored: Stored | None

    @property
    def values(self) -> list[str]:
        return state_files.value_names(self.relation)


def net(target: Target, operations: Sequence[Operation]) -> Changed | None:
    """Writes the change that the operations (all on this relation) make to a file of the epoch; None if there is none.

    Raises DataError when a DataFrame has a value that does not fit.
    """
    operations = [_counted(operation) for operation in operations] if not target.relation.columns else operations
    rows = target.stored.rows if target.stored is not None and not target.relation.weighted else 0
    if rows and any(not isinstance(operation.rows, pa.Table) for operation in operations):
        operations = _fetched_if_few(target, operations)
    if rows <= DRIVER_ROWS and all(isinstance(operation.rows, pa.Table) for operation in operations):
        return _net_in_driver(target, operations)
    return _net_on_spark(target, operations)


def _fetched_if_few(target: Target, operations: Sequence[Operation]) -> list[Operation]:
    """Returns the operations with each DataFrame written to files, checked; those with few rows as tables.

    To write them is a job without a shuffle. To compare a few rows with the relation is then work of the driver.
    """
    fetched = []
    for operation in operations:
        rows = operation.rows
        if not isinstance(rows, pa.Table):
            folder = target.attempt.new_name(target.relation.name, "staged")
            frame = _checked(target, 0, operation).select(*target.values, _BAD)
            frame.write.parquet(target.attempt.directory.spark_path(folder))
            files = target.attempt.directory.parts(folder)
            _refuse_bad(target, files)
            if target.attempt.directory.row_count(files) <= FETCHED_ROWS:
                rows = state_files.read_values(target.attempt.directory, target.relation, files)
            else:
                rows = scan_files(target.attempt.spark, target.attempt.directory, target.relation, files)
                rows = rows.select(*target.values)
        fetched.append(Operation(operation.relation, operation.sign, rows))
    return fetched


def _counted(operation: Operation) -> Operation:
    """Reduces a DataFrame without columns to at most one row."""
    if isinstance(operation.rows, pa.Table):
        return operation
    unit = pa.table({"unit": pa.nulls(len(operation.rows.take(1)))})
    return Operation(operation.relation, operation.sign, unit.select([]))


def _net_in_driver(target: Target, operations: Sequence[Operation]) -> Changed | None:
    tables = [
        pa.Table.from_arrays(
            [*each.rows.columns, state_files.all_of(each.sign, each.rows.num_rows)], names=[*target.values, _SIGN]
        )
        for each in operations
    ]
    directory, epoch = target.attempt.directory, target.attempt.epoch
    if target.relation.weighted:
        weights = [table.rename_columns([*target.values, TOTAL]) for table in tables]
        return state_files.write_weights(
            directory, epoch, target.relation, state_files.sum_weights(weights, target.values)
        )
    writes = pa.concat_tables(tables)
    places = pa.array(np.arange(writes.num_rows))
    if target.values:
        grouped = writes.append_column(_PLACE, places).group_by(target.values, use_threads=False)
        last = writes.take(grouped.aggregate([(_PLACE, "max")])[f"{_PLACE}_max"])
    else:
        last = writes.slice(max(0, writes.num_rows - 1))
    present = _present(target, last)
    inserted = _among(last.filter(pc.equal(last[_SIGN], 1)), present, target.values, is_wanted=False)
    deleted = _among(last.filter(pc.equal(last[_SIGN], -1)), present, target.values, is_wanted=True)
    return state_files.write_changes(directory, epoch, target.relation, inserted, deleted)


def _present(target: Target, wanted: pa.Table) -> pa.Table:
    """Returns the rows of the relation, at least those that are wanted: of a few, only rows with their values in the
    column that tells them apart best."""
    directory, where = target.attempt.directory, None
    if wanted.num_rows <= FEW_ROWS and target.stored is not None and target.stored.rows > FEW_ROWS and target.values:
        # The statistics of Parquet omit NaN, so a condition would skip files that have it.
        columns = [name for name in target.values if not pa.types.is_floating(wanted[name].type)]
        if columns:
            best = max(columns, key=lambda name: int(pc.count_distinct(wanted[name]).as_py()))
            where = pc.field(best).isin(pc.unique(wanted[best]))
    return state_files.read_rows(directory, target.relation, target.stored, where=where)


def _among(rows: pa.Table, present: pa.Table, values: list[str], *, is_wanted: bool) -> pa.Table:
    """Returns the rows that are present, or those that are not."""
    if not values:
        return rows if bool(present.num_rows) == is_wanted else rows.slice(0, 0)
    if not rows.num_rows or not present.num_rows:
        return rows.slice(0, 0) if is_wanted else rows
    kind = "left semi" if is_wanted else "left anti"
    return plain(rows).join(present.select(values), values, join_type=kind, use_threads=False)


def _net_on_spark(target: Target, operations: Sequence[Operation]) -> Changed | None:
    writes = union(_checked(target, place, operation) for place, operation in enumerate(operations))
    # Bad rows are groups of their own: a text that is aggregated would make Spark sort the rows.
    by_row = writes.groupBy(*target.values, _BAD)
    is_bad, has_one_sign = f.col(_BAD).isNotNull(), len({operation.sign for operation in operations}) == 1
    if target.relation.weighted:
        sums = by_row.agg(f.sum(_SIGN).cast("long").alias(TOTAL))
        changes = sums.filter((f.col(TOTAL) != 0) | is_bad)
    else:
        last = writes.drop(_PLACE).distinct() if has_one_sign else by_row.agg(f.max_by(_SIGN, _PLACE).alias(_SIGN))
        is_there: Any = f.lit(False)
        if target.stored is not None and target.stored.rows:
            present = scan_rows(target.attempt.spark, target.attempt.directory, target.relation, target.stored)
            if all(isinstance(operation.rows, pa.Table) for operation in operations):
                # Few rows, sent to all tasks: the relation need not be shuffled.
                present = present.join(f.broadcast(last.select(*target.values)), target.values, "left_semi")
            last = last.join(present.withColumn("_there", f.lit(True)), target.values, "left")
            is_there = f.col("_there").isNotNull()
        is_change = f.when(f.col(_SIGN) > 0, ~is_there).otherwise(is_there)
        total = f.when(f.col(_SIGN) > 0, f.lit(1)).otherwise(f.lit(0)).cast("long")
        changes = last.filter(is_change | is_bad).select(*target.values, total.alias(TOTAL), _BAD)
    folder = target.attempt.new_name(target.relation.name, "changes")
    changes.write.parquet(target.attempt.directory.spark_path(folder))
    files = tuple(target.attempt.directory.parts(folder))
    _refuse_bad(target, files)
    if has_one_sign and not target.relation.weighted:
        rows = target.attempt.directory.row_count(files)
        more, less = (rows, 0) if operations[0].sign > 0 else (0, rows)
    else:
        more, less = count_changes(target.attempt, files)
    return Changed(files, more, less, target.relation.weighted) if more or less else None


def _checked(target: Target, place: int, operation: Operation) -> Any:
    """Returns one write as a frame with the stored types; `_bad` has the value of a row that does not fit."""
    given = operation.rows
    if isinstance(given, pa.Table):
        file = target.attempt.new_name(target.relation.name, "staged")
        target.attempt.directory.write(file, given.rename_columns(target.values))
        given = scan_files(target.attempt.spark, target.attempt.directory, target.relation, [file]).select(
            *target.values
        )
    columns = [(i, f.col(f"c{i}"), column.type) for i, column in enumerate(target.relation.columns)]
    found = {field.name: field.dataType for field in given.schema.fields}
    bad = [
        f.when(
            misfit(given_column, type_, found[f"c{i}"]), f.concat_ws(":", f.lit(str(i)), given_column.cast("string"))
        )
        for i, given_column, type_ in columns
    ]
    values = [canonical(given_column, type_).alias(f"c{i}") for i, given_column, type_ in columns]
    return given.select(
        *values,
        f.lit(operation.sign).alias(_SIGN),
        f.lit(place).alias(_PLACE),
        f.coalesce(*bad).alias(_BAD),
    )


def _refuse_bad(target: Target, files: Sequence[str]) -> None:
    """Raises DataError when a row of the files has a value that does not fit."""
    bad = target.attempt.directory.largest(files, _BAD)
    if bad is None:
        return
    number, is_value, value = bad.partition(":")  # a null has nothing after the number
    column = target.relation.columns[int(number)]
    raise DataError(
        f"column `{column.name}` of the DataFrame for `{target.relation.name}`: "
        f"{f'`{value}`' if is_value else 'null'} is not a {written_type(column.type)}",
        code=Code.WRONG_VALUE if is_value else Code.NULL_VALUE,
        help="leave such rows out before they are written"
        if is_value
        else f"leave such rows out, or declare the column `{column.name}: Option<{written_type(column.type)}>`",
    )
