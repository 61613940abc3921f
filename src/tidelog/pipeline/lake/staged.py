"""The changes of an epoch that wait for their commit, as Parquet files in the state; both engines write them.

    outbox/Reach/_pending-7/deleted/…     rows that left a set
    outbox/Reach/_pending-7/inserted/…    rows that came
    outbox/Reach/_pending-7/weights/…     rows of a multiset or stream, with the change of their weight

They are written before the commit of the epoch and applied to a table after it, as one version of the table.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from tidelog.database.storage.journal import sync_directory
from tidelog.engine.interface import ChangeRows, Row
from tidelog.io.formats import NULLARY_COLUMN
from tidelog.io.replace_file import writing
from tidelog.io.to_python import rows_to_table
from tidelog.pipeline import sinks
from tidelog.pipeline.lake.lake_types import to_lake
from tidelog.rules.ir import Kind, Relation
from tidelog.rules.schema.arrow import is_plain_relation
from tidelog.values import Definitions

INSERTED, DELETED, WEIGHTS = "inserted", "deleted", "weights"
_ROWS_AT_ONCE = 1 << 16


class Staged:
    """The staged changes of one output relation; `schema` has its columns in the table format."""

    def __init__(self, folder: Path, relation: Relation, definitions: Definitions, schema: pa.Schema) -> None:
        self.folder = folder
        self.relation = relation
        self.schema = schema
        self._definitions = definitions

    def write(self, epoch: int, rows: ChangeRows, *, in_tasks: bool) -> None:
        """Writes the changes of an epoch; `in_tasks` lets the tasks of Spark write them."""
        folder = self._new(epoch)
        if self.relation.kind is not Kind.SET:
            self._write_rows(folder / WEIGHTS, rows.weights())
        elif in_tasks and self.relation.columns:
            self._write_frame(rows.inserted_frame(), folder / INSERTED, rows.inserted_count())
            self._write_frame(rows.deleted_frame(), folder / DELETED, rows.deleted_count())
        elif is_plain_relation(self.relation) and self.relation.columns:
            self._write_table(folder / INSERTED, rows.inserted())
            self._write_table(folder / DELETED, rows.deleted())
        else:
            weights = rows.weights()
            self._write_rows(folder / INSERTED, [(row, 1) for row, weight in weights if weight > 0])
            self._write_rows(folder / DELETED, [(row, 1) for row, weight in weights if weight < 0])
        self._finish(folder)

    def write_all(self, epoch: int, view: Any, *, in_tasks: bool) -> None:
        """Writes all rows of a relation as inserted."""
        folder = self._new(epoch)
        if self.relation.kind is not Kind.SET:
            self._write_rows(folder / WEIGHTS, view._canonical_weights())
        elif in_tasks and self.relation.columns:
            self._write_frame(view.to_spark(), folder / INSERTED, len(view))
        elif self.relation.columns:
            self._write_table(folder / INSERTED, view.to_arrow())
        else:
            self._write_rows(folder / INSERTED, view._canonical_weights())
        self._finish(folder)

    def exists(self, epoch: int) -> bool:
        """True if an epoch has staged changes, whole ones."""
        return (self.folder / sinks.pending(epoch) / "_SUCCESS").exists()

    def count(self, epoch: int, kind: str) -> int:
        """Returns the number of staged rows."""
        return sum(pq.read_metadata(path).num_rows for path in self._files(epoch, kind))

    def read(self, epoch: int, kind: str) -> Iterator[pa.RecordBatch]:
        """Yields staged rows in batches; those of `WEIGHTS` have their change in `_weight`."""
        files = self._files(epoch, kind)
        schema = self.schema_of(kind)
        if files:
            for batch in ds.dataset(files, schema=schema).to_batches(batch_size=_ROWS_AT_ONCE):
                if batch.num_rows:
                    yield batch

    def schema_of(self, kind: str) -> pa.Schema:
        """Returns the columns of staged rows."""
        return self.schema.append(pa.field(sinks.WEIGHT, pa.int64())) if kind == WEIGHTS else self.schema

    def forget(self, *, but: int | None = None) -> None:
        """Removes the staged changes of all epochs, or of all but one."""
        for path in self.folder.glob("_pending-*"):
            if sinks.pending_epoch(path.name) != but:
                shutil.rmtree(path)

    def _files(self, epoch: int, kind: str) -> list[Path]:
        return sorted((self.folder / sinks.pending(epoch) / kind).glob("*.parquet"))

    def _new(self, epoch: int) -> Path:
        folder = self.folder / sinks.pending(epoch)
        with writing(folder):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        return folder

    def _write_rows(self, folder: Path, rows: list[tuple[Row, int]]) -> None:
        if not rows:
            return
        if self.relation.columns:
            table = rows_to_table([row for row, _ in rows], self.relation, self._definitions)
        else:
            table = pa.table({NULLARY_COLUMN: [True] * len(rows)})
        if folder.name == WEIGHTS:
            table = table.append_column(sinks.WEIGHT, pa.array([weight for _, weight in rows], pa.int64()))
        self._write_table(folder, table)

    def _write_table(self, folder: Path, table: pa.Table) -> None:
        if not table.num_rows:
            return
        with writing(folder):
            folder.mkdir()
            pq.write_table(to_lake(table, self.schema), folder / "rows.parquet")

    def _write_frame(self, frame: Any, folder: Path, count: int) -> None:
        if count:
            names = [column.name for column in self.relation.columns]
            frame.select(*(f"`{name.replace('`', '``')}`" for name in names)).write.parquet(f"file://{folder}")

    def _finish(self, folder: Path) -> None:
        with writing(folder):
            for path in folder.rglob("*.parquet"):
                with path.open("rb") as file:
                    os.fsync(file.fileno())
            (folder / "_SUCCESS").write_text("")
            sync_directory(folder)
