"""Reads of changes in the format `tidelog`: kept epochs → rows with change columns, as a batch or as a stream.

The offset of a stream is the last epoch that it has read, so a query that goes on from its checkpoint reads every
change once. One task reads an interval of epochs from the changes that the database keeps (`keep_changes`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable

from tidelog.database.transactions.changes import WEIGHT, Changes
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.engine.kept_changes import changes_not_kept
from tidelog.rules.ir import Kind, Role
from tidelog.spark.options import LATEST, ReadOptions
from tidelog.spark.stored_relation import StoredRelation

_EPOCH = "epoch"


@dataclass(frozen=True, slots=True)
class Interval:
    """The epochs after one, up to another."""

    after: int
    until: int


class StoredChanges:
    """The kept changes of one relation, with the change columns of the options."""

    def __init__(self, relation: StoredRelation, options: ReadOptions) -> None:
        """Raises UsageError for a relation that has no changes."""
        self._relation = relation
        self.options = options
        if relation.relation.role is not Role.OUTPUT:
            raise UsageError(
                f"`{relation.relation.name}` has no changes: it is not an output",
                code=Code.NO_CHANGES,
                help="declare it as `output relation`, or read its rows without the option `changes`",
            )

    @property
    def arrow_schema(self) -> pa.Schema:
        """The columns of the relation, and the change columns."""
        schema = self._relation.arrow_schema
        if self.options.changes == "delta":
            more = {"_change_type": pa.string(), "_commit_version": pa.int64(), "_commit_timestamp": _TIME}
        else:
            more = {"_op": pa.string(), "_epoch": pa.int64()}
        if self._relation.relation.kind is not Kind.SET:
            more["_weight"] = pa.int64()
        return pa.schema([*schema, *(pa.field(name, type_) for name, type_ in more.items())])

    def bounds(self) -> tuple[int, int]:
        """Returns the epoch after which all changes are kept, and the last epoch. Raises UsageError without either."""
        with self._relation.open() as database:
            with database._locked.engine() as engine:
                since = engine.kept_since()
            if since is None:
                raise changes_not_kept()
            return since, database.report.epoch

    def start(self) -> int:
        """Returns the epoch after which the options begin. Raises UsageError if they do not say it, and not all changes
        are kept."""
        since, last = self.bounds()
        if self.options.after == LATEST:
            return last
        if isinstance(self.options.after, int):
            return self.options.after
        if since >= 0:
            raise UsageError(
                f"the database keeps the changes after epoch {since}, not those from its beginning",
                code=Code.CHANGES_GONE,
                help=f'read the rows with `.option("epoch", "{since}")`, and the changes from there on with'
                f' `.option("after", "{since}")`; or only new ones, with `.option("after", "{LATEST}")`',
            )
        return since

    def read(self, interval: Interval) -> Iterator[pa.RecordBatch]:
        """Yields the changes of some epochs, in their order. Raises UsageError where they are gone."""
        name = self._relation.relation.name
        with self._relation.open() as database:
            for changes in database.changes_since(interval.after):
                if changes.epoch > interval.until:
                    return
                if name in changes:
                    yield from self._shaped(changes, changes[name].to_arrow()).to_batches()

    def _shaped(self, changes: Changes, table: pa.Table) -> pa.Table:
        weights = table[WEIGHT]
        rows = self._relation.shaped(table)
        count, is_delta = table.num_rows, self.options.changes == "delta"
        words = ("insert", "delete") if is_delta else ("+", "-")
        columns = [*rows.columns, pc.if_else(pc.greater(weights, 0), *words), pa.array([changes.epoch] * count)]
        if is_delta:
            columns.append(pa.array([changes.committed_at] * count, _TIME))
        if self._relation.relation.kind is not Kind.SET:
            columns.append(weights)
        return pa.table(columns, schema=self.arrow_schema)


_TIME = pa.timestamp("us", "UTC")


class ChangeReader(DataSourceReader):
    """Reads the changes of an interval of epochs as a batch."""

    def __init__(self, changes: StoredChanges) -> None:
        self._changes = changes

    def partitions(self) -> Sequence[InputPartition]:
        until = self._changes.options.until
        return [InputPartition(Interval(self._changes.start(), self._changes.bounds()[1] if until is None else until))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._changes.read(partition.value)


class ChangeStreamReader(DataSourceStreamReader):
    """Reads the changes of the next epochs as micro-batches."""

    def __init__(self, changes: StoredChanges) -> None:
        """Raises UsageError for an option that a stream does not have."""
        self._changes = changes
        if changes.options.until is not None:
            raise UsageError(
                "a stream has no `until`",
                code=Code.BAD_SOURCE_OPTION,
                help="use `spark.read` for a part of the changes",
            )

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        return {_EPOCH: self._changes.start()}

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: N802
        last = self._changes.bounds()[1]
        most = self._changes.options.max_epochs
        if most is not None and not isinstance(limit, ReadAllAvailable):
            last = min(last, start[_EPOCH] + most)
        return {_EPOCH: max(last, start[_EPOCH])}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        if start[_EPOCH] >= end[_EPOCH]:
            return []
        return [InputPartition(Interval(start[_EPOCH], end[_EPOCH]))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._changes.read(partition.value)
