"""Relations that are functions of their first columns (`#[functional = n]`), checked before an epoch is published.

Only an inserted row can be the second value of a key, so only relations with inserted rows are checked: in the driver
if that is little to read, else by a job that groups the rows with inserted keys. The tasks of a segment cannot do it,
as the rows of a key may lie in several buckets. If a key has two rows, the epoch fails with the error that the local
engine has: both rows, each with a rule that derives it from the rows as they are in the epoch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.diagnostics.errors import EvaluationError, UsageError
from tidelog.engine.functional_dependencies import shown_row, two_values
from tidelog.engine.interface import Row
from tidelog.engine.spark import column_functions as f
from tidelog.engine.spark.epoch.run_epoch import Epoch
from tidelog.engine.spark.queries.queries import Source, SparkQueries
from tidelog.engine.spark.storage.scan import scan_changes, scan_rows
from tidelog.engine.spark.storage.state_files import Changed, Stored, read_changes, read_rows, signed_rows, value_names
from tidelog.engine.spark.task_errors import spark_errors
from tidelog.rules.ir import Relation, RuleProgram
from tidelog.rules.schema.stored import stored_rows

DRIVER_ROWS = 1_000_000
"""Relations with at most so many rows are checked in the driver."""

FEW_KEYS = 1000
"""Up to so many inserted rows, only the rows with their keys are read."""


def check_functions(epoch: Epoch, program: RuleProgram, facts: Mapping[str, str]) -> None:
    """Raises EvaluationError if a key of a functional relation has two rows in the epoch.

    `facts` has, for an input relation that rules derive too, the relation with the facts of users.
    """
    for name, relation in program.relations.items():
        changed, stored = epoch.changed.get(name), epoch.view.get(name)
        if relation.functional and changed is not None and changed.inserted and stored is not None:
            here = stored.rows <= DRIVER_ROWS
            rows = _find_here(epoch, relation, stored, changed) if here else _find_by_job(epoch, relation, changed)
            if rows:
                raise _error(epoch, program, facts, relation, rows)


def _find_here(epoch: Epoch, relation: Relation, stored: Stored, changed: Changed) -> list[Row]:
    """Returns all rows of a key that has several; none if there is no such key."""
    directory, where = epoch.attempt.directory, None
    if changed.inserted <= FEW_KEYS:
        changes = signed_rows(read_changes(directory, relation, changed), changed.weighted)
        inserted = pa.concat_tables([table for weight, table in changes if weight > 0])
        new_keys = pc.unique(inserted["c0"])
        has_nan = pa.types.is_floating(new_keys.type) and pc.any(pc.is_nan(new_keys)).as_py()
        # The statistics of Parquet omit NaN, so a condition would skip files that have it.
        where = None if has_nan else pc.field("c0").isin(new_keys)
    rows = read_rows(directory, relation, stored, where=where)
    keys = _keys(relation)
    counts = rows.group_by(keys).aggregate([([], "count_all")])
    several = counts.filter(pc.greater(counts["count_all"], 1)).slice(0, 1)
    if not several.num_rows:
        return []
    for key in keys:
        rows = rows.filter(pc.is_in(rows[key], value_set=several[key]))  # to which NaN is equal, not as to `equal`
    return stored_rows(rows, relation, epoch.attempt.context.definitions)


def _find_by_job(epoch: Epoch, relation: Relation, changed: Changed) -> list[Row]:
    """Returns the same as `_find_here`, by Spark."""
    attempt, keys = epoch.attempt, _keys(relation)
    with spark_errors():
        rows: Any = scan_rows(attempt.spark, attempt.directory, relation, epoch.view[relation.name])
        inserted = scan_changes(attempt.spark, attempt.directory, relation, changed, inserted=True)
        new_keys = inserted.select(*keys).distinct()
        counts = rows.join(new_keys, keys, "left_semi").groupBy(*keys).agg(f.count(f.lit(1)).alias("_rows"))
        several = counts.filter(f.col("_rows") > 1).select(*keys).limit(1).toArrow()
        if not several.num_rows:
            return []
        key = attempt.spark.createDataFrame(several)
        found = rows.join(f.broadcast(key), keys, "left_semi").toArrow()
    return stored_rows(found.select(value_names(relation)), relation, attempt.context.definitions)


def _keys(relation: Relation) -> list[str]:
    return value_names(relation)[: relation.functional]


def _error(
    epoch: Epoch, program: RuleProgram, facts: Mapping[str, str], relation: Relation, rows: list[Row]
) -> EvaluationError:
    queries = SparkQueries(program, Source(epoch.attempt.directory, epoch.relations, epoch.view, facts))
    shown = []
    for row in sorted(rows)[:2]:
        try:
            shown.append(shown_row(row, queries.rule_of(relation.name, row)))
        except UsageError:
            # Its rules read too many rows for the driver.
            shown.append(str(row))
    queries.release()
    return two_values(relation, shown[0], shown[1])
