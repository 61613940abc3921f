"""Relations below a segment → the inputs of one task: their rows before and after the epoch, and their changes.

Each has the form of the task's program (`subprogram.Share`): whole, or only the rows of the task's bucket. A
relation is read once however many shares of it there are, and only when it is needed.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from tidelog.engine.interface import Operation
from tidelog.engine.spark.plans.tasks.subprogram import Share, TaskProgram
from tidelog.engine.spark.storage.bucket import rows_of_bucket
from tidelog.engine.spark.storage.directory import StateDirectory
from tidelog.engine.spark.storage.state_files import Changed, Stored, as_facts, read_changes, read_weights, signed_rows
from tidelog.rules.ir import Kind, Relation
from tidelog.rules.schema.stored import stored_schema


class TaskInputs:
    """Reads the relations below a task; `relations` has all relations of the program."""

    def __init__(self, directory: StateDirectory, relations: Mapping[str, Relation], task: TaskProgram) -> None:
        self._directory = directory
        self._relations = relations
        self._task = task

    def changes(self, changed: Mapping[str, Changed]) -> list[Operation]:
        """Returns the changes as writes into the inputs of the task's program; empty if none concerns this task."""
        known: dict[str, pa.Table] = {}
        operations = []
        for share in self._task.shares:
            name = share.relation
            if name not in changed:
                continue
            if name not in known:
                known[name] = read_changes(self._directory, self._relations[name], changed[name])
            part = _part(known[name], share)
            for sign, rows in signed_rows(part, changed[name].weighted):
                if rows.num_rows:
                    operations.append(Operation(share.name, sign, self._fitted(rows, share)))
        return operations

    def facts(self, stored: Mapping[str, Stored], changed: Mapping[str, Changed]) -> list[Operation]:
        """Returns all rows as inserts into the inputs of the task's program; a stream has only those of the epoch."""
        operations = []
        for share, rows in self._rows(stored):
            weighted = self._relations[share.relation].weighted
            for sign, part in signed_rows(rows, weighted) if weighted else [(+1, rows)]:
                if part.num_rows:
                    operations.append(Operation(share.name, sign, self._fitted(part, share)))
        streams = {name: each for name, each in changed.items() if self._relations[name].kind is Kind.STREAM}
        return operations + self.changes(streams)

    def states(self, stored: Mapping[str, Stored]) -> dict[str, pa.Table]:
        """Returns all rows, with the numbers of input facts, in the form of `LocalEngine.load`."""
        return {
            share.name: as_facts(rows, self._relations[share.relation].weighted) for share, rows in self._rows(stored)
        }

    def _rows(self, stored: Mapping[str, Stored]) -> list[tuple[Share, pa.Table]]:
        known: dict[str, pa.Table] = {}
        found = []
        for share in self._task.shares:
            name, files = share.relation, stored.get(share.relation)
            if share.cut is not None and files is not None and files.is_cut(share.cut):
                found.append((share, read_weights(self._directory, self._relations[name], files, share.cut)))
                continue
            if name not in known:
                known[name] = read_weights(self._directory, self._relations[name], files)
            found.append((share, _part(known[name], share)))
        return found

    def _fitted(self, rows: pa.Table, share: Share) -> pa.Table:
        """Casts the rows for the local engine; Arrow forgets the length of a table that it casts to no columns."""
        schema = stored_schema(self._task.program.relations[share.name])
        chosen = rows.select(schema.names)
        return chosen.cast(schema) if schema.names else chosen


def _part(table: pa.Table, share: Share) -> pa.Table:
    if share.cut is None:
        return table
    return rows_of_bucket(table, share.cut.column, share.cut.buckets, share.cut.bucket)
