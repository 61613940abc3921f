"""Relations that are kept as plain sets (inputs, and relations derived by frames): changes and files → files.

They have no numbers and one bucket. Small changes are merged by pyarrow in the driver, like a bucket in a task: into
the delta, whatever the size of the relation. Large ones are merged by Spark. The first load of an empty relation needs
no merge: the file of its changes is its base.

Given weights (of multisets) are kept in the same way: changes are added to the old weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.engine.spark import column_functions as f
from tidelog.engine.spark.epoch.attempt import Attempt
from tidelog.engine.spark.storage import state_files
from tidelog.engine.spark.storage.scan import scan_changes, scan_rows
from tidelog.engine.spark.storage.state_files import TOTAL, Bucket, Changed, Stored
from tidelog.rules.ir import Kind, Relation

MERGED_ROWS = 2_000_000
"""Changes, deltas and relations of at most this many rows are merged in the driver."""


def apply_changes(attempt: Attempt, relation: Relation, old: Stored | None, changed: Changed) -> Stored:
    """Writes the relation after the change, as a plain set in one bucket, whatever it was before."""
    if relation.weighted:
        return _add_weights(attempt, relation, old, changed)
    had = old.rows if old is not None else 0
    rows = had + changed.inserted - changed.deleted
    if not had:
        return stored_set(attempt.label, Bucket(rows, changed.files, rows))
    directory, epoch, bucket = attempt.directory, attempt.epoch, old.buckets[0] if old is not None else Bucket()
    is_few = state_files.fits_delta(bucket, changed.inserted + changed.deleted, MERGED_ROWS)
    has_delta = old is not None and len(old.buckets) == 1 and is_few
    if not has_delta and (changed.inserted + changed.deleted > MERGED_ROWS or had > MERGED_ROWS):
        return write_frame(attempt, relation, _merged(attempt, relation, old, changed))
    table = state_files.read_changes(directory, relation, changed)
    if has_delta:
        return stored_set(attempt.label, state_files.write_delta(directory, epoch, relation.name, bucket, rows, table))

    def whole() -> pa.Table:
        merged = state_files.overlay(state_files.read_rows(directory, relation, old), table)
        return merged.filter(pc.greater(merged[TOTAL], 0))

    return stored_set(attempt.label, state_files.write_whole(directory, epoch, relation.name, whole()))


def count_changes(attempt: Attempt, files: Sequence[str]) -> tuple[int, int]:
    """Returns the numbers of inserted and deleted rows (weighted: of rows with more and with less weight) in files of
    changes; small files need no job."""
    if attempt.directory.row_count(files) <= MERGED_ROWS:
        signs = [pc.greater(attempt.directory.read(name, [TOTAL])[TOTAL], 0) for name in files]
        more = sum(pc.sum(column).as_py() or 0 for column in signs)
        return more, sum(len(column) for column in signs) - more
    paths = [attempt.directory.spark_path(name) for name in files]
    gains = attempt.spark.read.schema(f"{TOTAL} long").parquet(*paths).select((f.col(TOTAL) > 0).cast("long"))
    more, rows = gains.toDF("more").agg(f.sum("more"), f.count("more")).first()
    return more, rows - more


def _add_weights(attempt: Attempt, relation: Relation, old: Stored | None, changed: Changed) -> Stored:
    """Writes the weights after a change; a stream has none between epochs."""
    if relation.kind is Kind.STREAM:
        return stored_set(attempt.label, Bucket())
    delta = state_files.read_changes(attempt.directory, relation, changed)
    if not changed.weighted:
        # A set that is delayed has no weights of its own.
        delta = state_files.as_weights(delta)
    before = state_files.read_weights(attempt.directory, relation, old)
    after = state_files.sum_weights([before, delta], state_files.value_names(relation))
    return stored_set(attempt.label, state_files.write_whole(attempt.directory, attempt.epoch, relation.name, after))


def write_frame(attempt: Attempt, relation: Relation, frame: Any) -> Stored:
    """Writes a relation with just the rows of the frame, which has columns `c0`, ... in the stored types."""
    folder = attempt.new_name(relation.name, "base")
    frame.withColumn(TOTAL, f.lit(1).cast("long")).write.parquet(attempt.directory.spark_path(folder))
    files = tuple(attempt.directory.parts(folder))
    rows = attempt.directory.row_count(files)
    return stored_set(attempt.label, Bucket(rows, files, rows))


def stored_set(label: str, bucket: Bucket) -> Stored:
    """Returns a plain set in one bucket."""
    return Stored(label, counted=False, column=None, buckets=(bucket,))


def _merged(attempt: Attempt, relation: Relation, old: Stored | None, changed: Changed) -> Any:
    values = state_files.value_names(relation)
    spark, directory = attempt.spark, attempt.directory
    deleted = scan_changes(spark, directory, relation, changed, inserted=False)
    inserted = scan_changes(spark, directory, relation, changed, inserted=True)
    return scan_rows(spark, directory, relation, old).join(deleted, values, "left_anti").unionByName(inserted)
