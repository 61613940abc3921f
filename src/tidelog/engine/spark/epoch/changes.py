"""The inserted and deleted rows of one relation in one epoch, kept in the epoch's files until they are read."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.engine.interface import Row
from tidelog.engine.spark.encoding.scaled import from_files
from tidelog.engine.spark.storage.directory import StateDirectory
from tidelog.engine.spark.storage.scan import named, scan_weighted
from tidelog.engine.spark.storage.state_files import Changed, read_changes, signed_rows
from tidelog.rules.ir import Relation
from tidelog.rules.schema.stored import stored_rows, stored_schema
from tidelog.values import Definitions

HELD_ROWS = 1_000_000
"""Changes of at most this many rows survive the closing of a database without a directory of its own."""


class SparkChanges:
    """Implements `ChangeRows`. Its files stay as long as it does; its DataFrames, like all, for some epochs."""

    def __init__(
        self, spark: Any, directory: StateDirectory, relation: Relation, changed: Changed, definitions: Definitions
    ) -> None:
        self._spark = spark
        self._definitions = definitions
        self._directory: StateDirectory | None = directory
        self._relation = relation
        self._changed = changed
        self._held: pa.Table | None = None

    @property
    def files(self) -> tuple[str, ...]:
        return self._changed.files

    def inserted(self) -> pa.Table:
        return self._rows(inserted=True)

    def deleted(self) -> pa.Table:
        return self._rows(inserted=False)

    def weights(self) -> list[tuple[Row, int]]:
        return [
            (row, weight)
            for weight, table in signed_rows(self._table(), self._changed.weighted)
            for row in stored_rows(table, self._relation, self._definitions)
        ]

    def inserted_count(self) -> int:
        return self._changed.inserted

    def deleted_count(self) -> int:
        return self._changed.deleted

    def inserted_frame(self) -> Any:
        return self._frame(inserted=True)

    def deleted_frame(self) -> Any:
        return self._frame(inserted=False)

    def detach(self) -> None:
        """Reads the rows into memory, if they are not too many, before their files are removed."""
        if self._directory is not None and self._changed.inserted + self._changed.deleted <= HELD_ROWS:
            self._held = read_changes(self._directory, self._relation, self._changed)
        self._directory = None

    def _table(self) -> pa.Table:
        return read_changes(self._files(), self._relation, self._changed) if self._held is None else self._held

    def _rows(self, inserted: bool) -> pa.Table:
        signed = signed_rows(self._table(), self._changed.weighted)
        tables = [table for weight, table in signed if (weight > 0) == inserted]
        return fitted(pa.concat_tables([self._table().slice(0, 0), *tables]), self._relation)

    def _frame(self, inserted: bool) -> Any:
        changes = scan_weighted(self._spark, self._files(), self._relation, self._changed, inserted)
        return named(changes, self._relation, self._definitions, "_weight")

    def _files(self) -> StateDirectory:
        if self._directory is None:
            raise UsageError(
                f"the database is closed, and its files with the changes of `{self._relation.name}` are gone",
                code=Code.CLOSED_DATABASE,
                help="read the changes before closing, or give the database a directory with `path=`",
            )
        return self._directory


def fitted(table: pa.Table, relation: Relation) -> pa.Table:
    """Returns stored rows as users see them; Arrow forgets the length of a table that it casts to no columns."""
    schema = stored_schema(relation)
    values = table.select([f"c{i}" for i in range(len(schema))])
    return from_files(values.rename_columns(schema.names), schema) if schema.names else values
