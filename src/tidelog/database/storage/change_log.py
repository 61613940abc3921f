"""The changes of the last epochs of a local database: rows of its journal, written in the step that commits an epoch.

A row is a part of an epoch's changes, in the form of the journal's entries (`journal_entry`). The epochs are those up
to the last one, without a gap: where an earlier version of Tidelog committed epochs meanwhile, everything is dropped at
the next opening, and readers get a clear error instead of a gap.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from tidelog.database.storage import journal as journals
from tidelog.database.storage.journal import Journal, checksum, readable
from tidelog.database.storage.journal_entry import read_entry, write_entry
from tidelog.engine.interface import ChangeRows, Operation, Row
from tidelog.engine.kept_changes import KeptEpoch, Retention
from tidelog.engine.local.epoch.changes import no_session
from tidelog.engine.storage_errors import damaged
from tidelog.io.rows import to_rows
from tidelog.io.to_python import rows_to_table
from tidelog.rules.ir import Kind, Relation, Role, RuleProgram
from tidelog.rules.schema.arrow import is_plain_relation

SETTING = "keep changes"
"""The document of the journal that says how long changes are kept."""

_SHIFT = 20
_TABLE = """CREATE TABLE IF NOT EXISTS change (
    place INTEGER PRIMARY KEY, time REAL NOT NULL, body BLOB NOT NULL, checksum INTEGER NOT NULL
)"""
_MANY = 256


class ChangeLog:
    """The kept changes in a journal."""

    def __init__(self, journal: Journal) -> None:
        """Raises DataError where the setting is damaged."""
        self._journal = journal
        try:
            self.retention = Retention.of_document(journal.document(SETTING))
        except ValueError as error:
            raise damaged(journal.directory, f"its setting of kept changes is damaged: {error}") from error

    def begin(self, wanted: Retention | None, epoch: int, *, is_same_state: bool) -> None:
        """Begins to write, at an epoch; `wanted` replaces the setting. What is not complete up to here is dropped."""
        connection = self._journal.connection
        if wanted is not None and wanted != self.retention:
            self._journal.put({SETTING: wanted.document})
            self.retention = wanted
        with readable(self._journal.directory):
            if self.retention:
                connection.execute(_TABLE)
            if self._exists() and not (self.retention and is_same_state and self._last() == epoch):
                connection.execute("DELETE FROM change")

    def append(
        self, connection: sqlite3.Connection, epoch: int, changes: Mapping[str, ChangeRows], program: RuleProgram
    ) -> None:
        """Adds the changes of an epoch, and removes those that are kept no longer; in a transaction of SQLite."""
        body = write_entry(
            [each for name, rows in changes.items() for each in _operations(name, rows, program)], program
        )
        now = max(time.time(), self._latest_time())
        size = journals.PART_BYTES
        for number, start in enumerate(range(0, max(len(body), 1), size)):
            place, part = epoch << _SHIFT | number, body[start : start + size]
            connection.execute("INSERT INTO change VALUES (?, ?, ?, ?)", (place, now, part, checksum(part, place)))
        if self.retention.epochs is not None:
            first = max(epoch + 1 - self.retention.epochs, 0)
            connection.execute("DELETE FROM change WHERE place < ?", (first << _SHIFT,))
        elif self.retention.seconds is not None:
            connection.execute(
                "DELETE FROM change WHERE place < (SELECT place FROM change WHERE time >= ? ORDER BY place LIMIT 1)",
                (now - self.retention.seconds,),
            )

    def since(self) -> int | None:
        """Returns the epoch after which all changes are there; None if there are none."""
        with readable(self._journal.directory):
            if not self._exists():
                return None
            (place,) = self._journal.connection.execute("SELECT min(place) FROM change").fetchone()
        return None if place is None else (place >> _SHIFT) - 1

    def read(self, epoch: int, program: RuleProgram) -> KeptEpoch | None:
        """Returns the changes of an epoch; None if they are gone. Raises DataError where they are damaged."""
        directory = self._journal.directory
        with readable(directory):
            rows = self._journal.connection.execute(
                "SELECT place, time, body, checksum FROM change WHERE place >= ? AND place < ? ORDER BY place",
                (epoch << _SHIFT, (epoch + 1) << _SHIFT),
            ).fetchall()
        if not rows:
            return None
        for number, (place, _, body, written) in enumerate(rows):
            if place != epoch << _SHIFT | number or not isinstance(body, bytes) or checksum(body, place) != written:
                raise damaged(directory, f"the changes of epoch {epoch} are not as they were written")
        try:
            operations = read_entry(b"".join(row[2] for row in rows), program)
        except Exception as error:  # bytes of a file may fail in any way
            raise damaged(directory, f"the changes of epoch {epoch} cannot be read ({error})") from error
        by_relation: dict[str, list[Operation]] = {}
        for each in operations:
            by_relation.setdefault(each.relation, []).append(each)
        changes = {
            name: KeptRows(program, program.relations[name], tuple(by_relation[name]))
            for name in program.relations
            if name in by_relation and program.relations[name].role is Role.OUTPUT
        }
        return KeptEpoch(epoch, float(rows[0][1]), changes)

    def _exists(self) -> bool:
        found = self._journal.connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'change'")
        return found.fetchone() is not None

    def _last(self) -> int | None:
        (place,) = self._journal.connection.execute("SELECT max(place) FROM change").fetchone()
        return None if place is None else place >> _SHIFT

    def _latest_time(self) -> float:
        """Returns the time of the last epoch: times do not fall, whatever the clock does."""
        row = self._journal.connection.execute("SELECT time FROM change ORDER BY place DESC LIMIT 1").fetchone()
        return 0.0 if row is None else float(row[0])


@dataclass(frozen=True)
class KeptRows:
    """Implements `ChangeRows` with the operations of a kept epoch."""

    program: RuleProgram
    relation: Relation
    operations: tuple[Operation, ...]

    def weights(self) -> list[tuple[Row, int]]:
        return self._weights

    def inserted(self) -> pa.Table:
        return self._table(+1)

    def deleted(self) -> pa.Table:
        return self._table(-1)

    def inserted_count(self) -> int:
        return sum(len(each.rows) for each in self.operations if each.sign > 0)

    def deleted_count(self) -> int:
        return sum(len(each.rows) for each in self.operations if each.sign < 0)

    def inserted_frame(self) -> Any:
        raise no_session()

    def deleted_frame(self) -> Any:
        raise no_session()

    @cached_property
    def _weights(self) -> list[tuple[Row, int]]:
        definitions = self.program.functions.definitions
        return [
            (row, each.sign)
            for each in self.operations
            for row in (each.rows if isinstance(each.rows, list) else to_rows(each.rows, self.relation, definitions))
        ]

    def _table(self, sign: int) -> pa.Table:
        tables = [each.rows for each in self.operations if each.sign * sign > 0]
        if tables and all(isinstance(each, pa.Table) for each in tables):
            return pa.concat_tables(tables)
        rows = [row for row, weight in self._weights if weight * sign > 0]
        return rows_to_table(rows, self.relation, self.program.functions.definitions)


def _operations(name: str, rows: ChangeRows, program: RuleProgram) -> Iterable[Operation]:
    """Yields the changes of a relation as operations, each with a sign that is the change of a weight."""
    relation = program.relations[name]
    is_table = relation.kind is Kind.SET and is_plain_relation(relation) and bool(relation.columns)
    if is_table and rows.inserted_count() + rows.deleted_count() >= _MANY:
        for sign, table in ((-1, rows.deleted()), (+1, rows.inserted())):
            if table.num_rows:
                yield Operation(name, sign, table)
        return
    by_weight: dict[int, list[Row]] = {}
    for row, weight in rows.weights():
        by_weight.setdefault(weight, []).append(row)
    for weight, group in sorted(by_weight.items()):
        yield Operation(name, weight, group)
