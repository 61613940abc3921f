"""The rows of one relation that came and went in one epoch, kept in the epoch's files until somebody looks."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.engine.interface import Row
from tidelog.engine.spark.directory import StateDirectory
from tidelog.engine.spark.scan import named, scan_changes
from tidelog.engine.spark.state import TOTAL, Changed, read_changes
from tidelog.rules.ir import Relation
from tidelog.rules.schema import arrow_schema, table_to_rows

HELD_ROWS = 1_000_000
"""Changes of at most this many rows survive the closing of a database without a directory of its own."""


class SparkChanges:
    """Implements `ChangeRows`. Its files stay as long as it does; its DataFrames, like all, for some epochs."""

    def __init__(self, spark: Any, directory: StateDirectory, relation: Relation, changed: Changed) -> None:
        self._spark = spark
        self._directory: StateDirectory | None = directory
        self._relation = relation
        self._changed = changed
        self._held: pa.Table | None = None

    @property
    def files(self) -> tuple[str, ...]:
        return self._changed.files

    def inserted(self) -> pa.Table:
        return self._rows(came=True)

    def deleted(self) -> pa.Table:
        return self._rows(came=False)

    def weights(self) -> list[tuple[Row, int]]:
        tables = ((self.deleted(), -1), (self.inserted(), +1))
        return [(row, sign) for table, sign in tables for row in table_to_rows(table, self._relation)]

    def inserted_count(self) -> int:
        return self._changed.inserted

    def deleted_count(self) -> int:
        return self._changed.deleted

    def inserted_frame(self) -> Any:
        return self._frame(came=True)

    def deleted_frame(self) -> Any:
        return self._frame(came=False)

    def detach(self) -> None:
        """Takes the rows into memory, if they are not too many, before their files go."""
        if self._directory is not None and self._changed.inserted + self._changed.deleted <= HELD_ROWS:
            self._held = read_changes(self._directory, self._relation, self._changed)
        self._directory = None

    def _rows(self, came: bool) -> pa.Table:
        table = self._held
        if table is None:
            table = read_changes(self._files(), self._relation, self._changed)
        return fitted(table.filter(pc.equal(table[TOTAL], int(came))), self._relation)

    def _frame(self, came: bool) -> Any:
        return named(scan_changes(self._spark, self._files(), self._relation, self._changed, came), self._relation)

    def _files(self) -> StateDirectory:
        if self._directory is None:
            raise UsageError(
                f"the database is closed, and its files with the changes of `{self._relation.name}` are gone",
                code=Code.CLOSED_DATABASE,
                help="read the changes before closing, or give the database a directory with `path=`",
            )
        return self._directory


def fitted(table: pa.Table, relation: Relation) -> pa.Table:
    """Rows of a state file as users see them; Arrow forgets the length of a table that it casts to no columns."""
    schema = arrow_schema(relation)
    values = table.select([f"c{i}" for i in range(len(schema))])
    return values.rename_columns(schema.names).cast(schema) if schema.names else values
