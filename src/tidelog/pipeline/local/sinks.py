"""Change tables, snapshots and the quarantine as files on this machine, in the formats of `tidelog.io`.

Everything is on the disk before the commit that depends on it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from tidelog.database.database import Database
from tidelog.database.storage.journal import sync_directory
from tidelog.engine.interface import ChangeRows
from tidelog.io.bad_rows import BadRecord
from tidelog.io.replace_file import writing
from tidelog.io.rows import Batch
from tidelog.io.write import write_batch
from tidelog.pipeline import sinks
from tidelog.pipeline.lake.table_sink import table_sink
from tidelog.pipeline.local.formats import format_of
from tidelog.pipeline.settings import Output, Place
from tidelog.pipeline.sources.formats import TABLE_FORMATS
from tidelog.rules.ir import Kind, Relation
from tidelog.rules.schema.arrow import arrow_schema, is_plain_relation
from tidelog.values import Definitions

_MARKER = "_epoch"


def local_sink(
    output: Output, relation: Relation, definitions: Definitions, database: Database, outbox: Path
) -> sinks.Sink:
    """Returns the sink of an output; `outbox` is the folder for changes that wait for their commit."""
    if output.place.format in TABLE_FORMATS:
        return table_sink(output, relation, definitions, database, outbox)
    if output.is_snapshot:
        return LocalSnapshot(output.place, relation, definitions, database)
    return LocalChangeTable(output.place, relation, definitions, database, output.change_columns)


class _Files:
    """A folder of files in one format."""

    def __init__(self, place: Place, definitions: Definitions) -> None:
        self._folder = place.folder
        self._format = format_of(place)
        self._definitions = definitions

    def _write_to_disk(self, batch: Batch, relation: Relation, folder: Path, name: str) -> None:
        path = folder / f"{name}.{self._format.name}"
        write_batch(batch, relation, self._definitions, path, self._format)
        with path.open("rb") as file:
            os.fsync(file.fileno())
        sync_directory(folder)


class _Output(_Files):
    """The files of one output relation."""

    def __init__(self, place: Place, relation: Relation, definitions: Definitions, database: Database) -> None:
        super().__init__(place, definitions)
        self.relation = relation.name
        self._relation = relation
        self._database = database
        self._is_table = is_plain_relation(relation) and relation.kind is Kind.SET


class LocalChangeTable(_Output):
    """Implements `Sink`: a folder `epoch=N` for each epoch that changed the relation."""

    def __init__(
        self, place: Place, relation: Relation, definitions: Definitions, database: Database, style: str
    ) -> None:
        super().__init__(place, relation, definitions, database)
        self._style = style

    def prepare(self, epoch: int, rows: ChangeRows) -> None:
        if self._is_table:
            self._write(epoch, self._stacked(epoch, rows))
        else:
            self._write(epoch, sinks.change_rows(self._relation, epoch, rows.weights(), self._style))

    def publish(self, epoch: int) -> None:
        made, place = self._folder / sinks.pending(epoch), self._folder / sinks.published(epoch)
        if made.exists():
            with writing(place):
                shutil.rmtree(place, ignore_errors=True)
                made.rename(place)

    def begin(self, epoch: int) -> None:
        self._forget(epoch)
        rows = self._database.relation(self.relation)._canonical_weights()
        if rows:
            self._write(epoch, sinks.change_rows(self._relation, epoch, rows, self._style))
            self.publish(epoch)

    def recover(self, epoch: int) -> None:
        self._forget(epoch)
        self.publish(epoch)

    def _forget(self, epoch: int) -> None:
        """Removes the prepared rows of epochs that were not committed."""
        for path in self._folder.glob("_pending-*"):
            found = sinks.pending_epoch(path.name)
            if found is not None and found != epoch:
                shutil.rmtree(path)

    def _write(self, epoch: int, batch: Batch) -> None:
        made = self._folder / sinks.pending(epoch)
        with writing(made):
            shutil.rmtree(made, ignore_errors=True)
            made.mkdir(parents=True)
            self._write_to_disk(batch, sinks.change_relation(self._relation, self._style), made, "changes")

    def _stacked(self, epoch: int, rows: ChangeRows) -> pa.Table:
        columns = sinks.CHANGE_COLUMNS[self._style]
        last = columns.values(epoch)
        schema = arrow_schema(sinks.change_relation(self._relation, self._style))
        types = schema.types[-1 - len(last) :]
        tables = []
        for table, op in zip((rows.deleted(), rows.inserted()), columns.words, strict=True):
            more = [
                pa.repeat(pa.scalar(value, type_), len(table)) for value, type_ in zip((op, *last), types, strict=True)
            ]
            tables.append(pa.Table.from_arrays([*table.columns, *more], schema=schema))
        return pa.concat_tables(tables)


class LocalSnapshot(_Output):
    """Implements `Sink`: one file with the whole relation, replaced by each epoch that changes it."""

    _is_due = False

    def prepare(self, epoch: int, rows: ChangeRows) -> None:
        self._is_due = True

    def publish(self, epoch: int) -> None:
        if self._is_due:
            view = self._database.relation(self.relation)
            rows = (
                view.to_arrow()
                if self._is_table
                else [row for row, weight in view._canonical_weights() for _ in range(weight)]
            )
            with writing(self._folder):
                self._folder.mkdir(parents=True, exist_ok=True)
                self._write_to_disk(rows, self._relation, self._folder, "snapshot")
            self._is_due = False
        with writing(self._folder):
            (self._folder / _MARKER).write_text(str(epoch))

    def begin(self, epoch: int) -> None:
        self._is_due = True
        self.publish(epoch)

    def recover(self, epoch: int) -> None:
        marker = self._folder / _MARKER
        if not marker.exists() or marker.read_text() != str(epoch):
            self.begin(epoch)


class LocalQuarantine(_Files):
    """Implements `Quarantine`: a folder `batch=N` for each batch that had bad records."""

    def put(self, batch: str, bad: Sequence[tuple[str, BadRecord]]) -> None:
        folder = self._folder / f"batch={batch}"
        with writing(folder):
            if not bad:
                shutil.rmtree(folder, ignore_errors=True)
                return
            folder.mkdir(parents=True, exist_ok=True)
            self._write_to_disk(sinks.quarantined(bad), sinks.QUARANTINE, folder, "rows")
