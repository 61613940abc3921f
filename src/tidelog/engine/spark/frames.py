"""The plan `frames` for one stratum in one epoch: derive it by rounds of joins, compare it with what was there, store.

The stratum is recomputed whenever something below it changes; what is handed on is still the exact difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from tidelog.engine.interface import StratumReport
from tidelog.engine.spark.attempt import Attempt
from tidelog.engine.spark.choose import Segment
from tidelog.engine.spark.encode import from_frame
from tidelog.engine.spark.failure import spark_errors
from tidelog.engine.spark.rounds import derive
from tidelog.engine.spark.scan import encoded, scan_rows
from tidelog.engine.spark.sets import apply_changes, count_changes, stored_set
from tidelog.engine.spark.state import TOTAL, Bucket, Changed, Stored
from tidelog.rules.ir import Relation


@dataclass(frozen=True, slots=True)
class FramesOutcome:
    """The stratum's relations after the epoch, and what changed, by relation."""

    stored: Mapping[str, Stored]
    changed: Mapping[str, Changed]
    report: StratumReport


def run_frames(
    attempt: Attempt, segment: Segment, relations: Mapping[str, Relation], view: Mapping[str, Stored]
) -> FramesOutcome:
    """Recomputes the segment's only stratum from the relations below as `view` has them."""
    started = perf_counter()
    (stratum,) = segment.strata
    stored: dict[str, Stored] = {}
    changed: dict[str, Changed] = {}
    with spark_errors():
        below = {
            name: encoded(_scan(attempt, relations[name], view.get(name)), relations[name]) for name in segment.reads
        }
        derived = derive(attempt.spark, stratum, relations, below, attempt.setting.functions)
        for name in stratum.relations:
            new, old = _decoded(derived.frames[name], relations[name]), view.get(name)
            difference = _difference(attempt, relations[name], new, old)
            if difference is not None:
                changed[name] = difference
                stored[name] = apply_changes(attempt, relations[name], old, difference)
            else:
                # The rows are the same, but numbers that another plan left with them are not.
                stored[name] = replace(old or stored_set(attempt.label, Bucket()), label=attempt.label, counted=False)
    report = StratumReport(
        relations=stratum.relations,
        strategy="recompute",
        place=segment.plan.value,
        reason=segment.reason,
        rounds=derived.rounds,
        instances=sum(stored[name].rows for name in stratum.relations),
        seconds=perf_counter() - started,
    )
    return FramesOutcome(stored, changed, report)


def _decoded(frame: Any, relation: Relation) -> Any:
    from pyspark.sql import functions as f

    return frame.select(
        *(from_frame(f.col(f"c{i}"), column.type).alias(f"c{i}") for i, column in enumerate(relation.columns))
    )


def _difference(attempt: Attempt, relation: Relation, new: Any, old: Stored | None) -> Changed | None:
    """Writes what is only in the one or the other; None when there is nothing."""
    from pyspark.sql import functions as f

    values = [f"c{i}" for i in range(len(relation.columns))]
    both = new.withColumn("side", f.lit(1)).unionByName(_scan(attempt, relation, old).withColumn("side", f.lit(-1)))
    sides = both.groupBy(*values).agg(f.sum("side").alias("side")).filter(f.col("side") != 0)
    total = (f.col("side") > 0).cast("long").alias(TOTAL)
    folder = attempt.new_name(relation.name, "changes")
    sides.select(*values, total).write.parquet(attempt.directory.spark_path(folder))
    files = tuple(attempt.directory.parts(folder))
    came, went = count_changes(attempt, files)
    return Changed(files, came, went) if came or went else None


def _scan(attempt: Attempt, relation: Relation, stored: Stored | None) -> Any:
    return scan_rows(attempt.spark, attempt.directory, relation, stored)
