"""Change tables, snapshots and the quarantine, written by Spark.

If the sink is a folder of files, an epoch's changes are written beside the visible ones and renamed after the commit,
as on the local engine. Any other sink cannot be part of a commit: the changes wait in the state's `outbox` and are
written after the commit. If the process dies in between, they are written again: at least once, with `_epoch` to tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tidelog.database.database import Database
from tidelog.engine.interface import ChangeRows, Row
from tidelog.io.bad_rows import BadRecord
from tidelog.io.formats import NULLARY_COLUMN, NULLARY_LINE
from tidelog.io.to_python import rows_to_table
from tidelog.pipeline import sinks
from tidelog.pipeline.lake.table_sink import table_sink
from tidelog.pipeline.settings import Output, Place
from tidelog.pipeline.sources.formats import TABLE_FORMATS
from tidelog.pipeline.spark.failures import naming
from tidelog.pipeline.spark.folder import Folder
from tidelog.pipeline.spark.signed import signed
from tidelog.pipeline.spark.sources import FILE_SOURCES, JSON_FORMATS
from tidelog.rules.ir import Kind, Relation
from tidelog.values import Definitions

_ONE_FILE = 100_000
"""At most so many rows go to one file, because the jobs of a small epoch dominate its time."""

_MARKER = "_epoch"


def spark_sink(
    output: Output, relation: Relation, definitions: Definitions, database: Database, spark: Any, outbox: Folder
) -> sinks.Sink:
    """Returns the sink of an output; `outbox` is the folder for changes that wait for their commit."""
    if output.place.format in TABLE_FORMATS:
        return table_sink(output, relation, definitions, database, Path(outbox.address), in_tasks=True)
    rows = _Rows(relation, definitions, database, spark, output.change_columns)
    is_files = output.place.format in FILE_SOURCES and output.place.path is not None
    if output.is_snapshot:
        return (FileSnapshot if is_files else Snapshot)(output.place, rows, outbox / relation.name)
    if is_files:
        assert output.place.path is not None
        return FileChangeTable(output.place, rows, Folder(output.place.path))
    return ChangeTable(output.place, rows, outbox / relation.name)


class _Rows:
    """The changes of a relation, as frames."""

    def __init__(
        self, relation: Relation, definitions: Definitions, database: Database, spark: Any, style: str
    ) -> None:
        self.relation = relation
        self._style = style
        self._definitions = definitions
        self._database = database
        self._spark = spark

    def changed(self, epoch: int, rows: ChangeRows) -> Any:
        """Returns the changes of an epoch, with the columns of a change table."""
        if self.relation.kind is not Kind.SET:
            return self._weighted(epoch, rows.weights())
        parts = []
        if rows.deleted_count():
            parts.append(self._shown(rows.deleted_frame(), False, epoch))
        if rows.inserted_count() or not parts:
            parts.append(self._shown(rows.inserted_frame(), True, epoch))
        frame = parts[0] if len(parts) == 1 else parts[0].unionByName(parts[1])
        return _few_files(frame, rows.inserted_count() + rows.deleted_count())

    def all(self, epoch: int) -> Any | None:
        """Returns all present rows as inserts of the epoch, or None if there are none."""
        view = self._database.relation(self.relation.name)
        count = len(view)
        if not count:
            return None
        if self.relation.kind is not Kind.SET:
            return self._weighted(epoch, view._canonical_weights())
        return _few_files(self._shown(view.to_spark(), True, epoch), count)

    def now(self) -> Any:
        """Returns the current rows, those of a multiset by weight; a relation without columns gets one."""
        view = self._database.relation(self.relation.name)
        if not self.relation.columns:
            present = [(True,) for _, weight in view._canonical_weights() for _ in range(weight)]
            return self._spark.createDataFrame(present, f"{NULLARY_COLUMN} boolean").coalesce(1)
        if self.relation.kind is Kind.SET:
            return _few_files(view.to_spark(), len(view))
        rows = [row for row, weight in view._canonical_weights() for _ in range(weight)]
        table = rows_to_table(rows, self.relation, self._definitions)
        return _few_files(self._spark.createDataFrame(signed(table)), len(rows))

    def read(self, folder: Folder, name: str) -> Any:
        """Reads changes that were written as Parquet."""
        return self._spark.read.parquet(folder.spark_path(name))

    def _shown(self, frame: Any, is_inserted: bool, epoch: int) -> Any:
        from pyspark.sql import functions as f

        columns = sinks.CHANGE_COLUMNS[self._style]
        values = (columns.words[is_inserted], *columns.values(epoch))
        frame = frame.drop(sinks.WEIGHT)
        names = [column.name for column in sinks.change_relation(self.relation, self._style).columns]
        for name, value in zip(names[-len(values) :], values, strict=True):
            if isinstance(value, str):
                frame = frame.withColumn(name, f.lit(value))
            elif name == sinks.COMMIT_TIMESTAMP:
                frame = frame.withColumn(name, f.timestamp_micros(f.lit(value)))
            else:
                frame = frame.withColumn(name, f.lit(value).cast("long"))
        return frame

    def _weighted(self, epoch: int, rows: Iterable[tuple[Row, int]]) -> Any:
        listed = sinks.change_rows(self.relation, epoch, rows, self._style)
        table = rows_to_table(listed, sinks.change_relation(self.relation, self._style), self._definitions)
        return _few_files(self._spark.createDataFrame(signed(table)), len(listed))


class _Output:
    """The target of one output relation, and the folder of its state."""

    def __init__(self, place: Place, rows: _Rows, folder: Folder) -> None:
        self.relation = rows.relation.name
        self._place = place
        self._rows = rows
        self._folder = folder


class FileChangeTable(_Output):
    """Implements `Sink`: a folder `epoch=N` for each epoch that changed the relation."""

    def prepare(self, epoch: int, rows: ChangeRows) -> None:
        with naming(f"outputs.{self.relation}"):
            self._write(epoch, self._rows.changed(epoch, rows))

    def publish(self, epoch: int) -> None:
        if self._folder.exists(sinks.pending(epoch)):
            self._folder.move(sinks.pending(epoch), sinks.published(epoch))

    def begin(self, epoch: int) -> None:
        self._forget(epoch)
        with naming(f"outputs.{self.relation}"):
            frame = self._rows.all(epoch)
            if frame is None:
                return
            self._write(epoch, frame)
        self.publish(epoch)

    def recover(self, epoch: int) -> None:
        self._forget(epoch)
        self.publish(epoch)

    def _forget(self, epoch: int) -> None:
        for name in self._folder.names():
            if sinks.pending_epoch(name) not in (None, epoch):
                self._folder.remove(name)

    def _write(self, epoch: int, frame: Any) -> None:
        _writer(frame, self._place).mode("overwrite").save(self._folder.spark_path(sinks.pending(epoch)))


class ChangeTable(FileChangeTable):
    """Implements `Sink`: every epoch's changes are appended, after the commit, to any target of Spark."""

    def publish(self, epoch: int) -> None:
        if self._folder.exists(sinks.pending(epoch)):
            frame = self._rows.read(self._folder, sinks.pending(epoch))
            with naming(f"outputs.{self.relation}"):
                _save(_writer(frame, self._place).mode("append"), self._place)
            self._folder.remove(sinks.pending(epoch))

    def _write(self, epoch: int, frame: Any) -> None:
        frame.write.mode("overwrite").parquet(self._folder.spark_path(sinks.pending(epoch)))


class Snapshot(_Output):
    """Implements `Sink`: the whole relation, rewritten after each epoch that changes it. `folder` stores its epoch."""

    _is_due = False

    def prepare(self, epoch: int, rows: ChangeRows) -> None:
        self._is_due = True

    def publish(self, epoch: int) -> None:
        if self._is_due:
            with naming(f"outputs.{self.relation}"):
                self._replace(self._writer(self._rows.now()))
            self._is_due = False
        self._folder.write_text(_MARKER, str(epoch))

    def begin(self, epoch: int) -> None:
        self._is_due = True
        self.publish(epoch)

    def recover(self, epoch: int) -> None:
        if self._folder.read_text(_MARKER) != str(epoch):
            self.begin(epoch)

    def _writer(self, frame: Any) -> Any:
        from pyspark.sql import functions as f

        if self._rows.relation.columns or self._place.format not in ("csv", *JSON_FORMATS):
            return _writer(frame, self._place).mode("overwrite")
        # The one row of a relation without columns is `()`, or an object without keys.
        is_csv = self._place.format == "csv"
        shown = f.lit(NULLARY_LINE) if is_csv else f.lit(None).cast("boolean")
        options = {"header": "false"} if is_csv else {"ignoreNullFields": "true"}
        return _writer(frame.select(shown.alias(NULLARY_COLUMN)), self._place).options(**options).mode("overwrite")

    def _replace(self, writer: Any) -> None:
        _save(writer, self._place)


class FileSnapshot(Snapshot):
    """A snapshot in a folder of files, which is written beside the last one and replaces it."""

    def _replace(self, writer: Any) -> None:
        assert self._place.path is not None
        parent, _, name = self._place.path.rstrip("/").rpartition("/")
        folder, new = Folder(parent or "/"), f"_{name}.new"
        writer.save(folder.spark_path(new))
        folder.move(new, name)


class SparkQuarantine:
    """Implements `Quarantine`: a folder `batch=N` for each batch that had bad records."""

    def __init__(self, place: Place, spark: Any) -> None:
        assert place.path is not None
        self._place = place
        self._folder = Folder(place.path)
        self._spark = spark

    def put(self, batch: str, bad: Sequence[tuple[str, BadRecord]]) -> None:
        name = f"batch={batch}"
        if not bad:
            self._folder.remove(name)
            return
        columns = ", ".join(f"{column.name} string" for column in sinks.QUARANTINE.columns)
        frame = self._spark.createDataFrame(sinks.quarantined(bad), columns)
        with naming("quarantine"):
            writer = _writer(_few_files(frame, len(bad)), self._place).mode("overwrite")
            writer.save(self._folder.spark_path(name))


def _writer(frame: Any, place: Place) -> Any:
    format_ = "json" if place.format in JSON_FORMATS else place.format
    usual = {"header": "true", "emptyValue": "", "escape": '"'} if format_ == "csv" else {}
    return frame.write.format(format_).options(**{**usual, **place.options})


def _save(writer: Any, place: Place) -> None:
    writer.save(place.path) if place.path else writer.save()


def _few_files(frame: Any, count: int) -> Any:
    return frame.coalesce(1) if count <= _ONE_FILE else frame
