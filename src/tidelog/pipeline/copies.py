"""Rows that a source has more than once, and how often: a table may hold equal rows, a relation holds a row once.

If one of two equal rows of a table is deleted, the relation keeps its row. Rows are equal in the columns of the
relation, so this is common where a table has further columns. Only rows with at least two copies are stored, with the
number of copies beyond the first:

    copies/Edge/12.arrow         rows whose number batch 12 has changed
    copies/Edge/40.whole.arrow   all rows after batch 40

A file is written before the batch is committed, and counts if the batch is. So the files of later batches are removed
when the database is opened.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from tidelog.database.storage.journal import sync_directory
from tidelog.io.replace_file import writing
from tidelog.io.rows import to_rows
from tidelog.io.to_python import rows_to_table
from tidelog.io.values import Row
from tidelog.rules.ir import Relation
from tidelog.values import Definitions

_NAME = re.compile(r"(-?\d+)(\.whole)?\.arrow")
_FILES = 32
"""When there are more files, the next batch writes all rows."""


class Copies:
    """The copies of one relation's rows beyond the first, after the last committed batch."""

    def __init__(self, folder: Path, relation: Relation, definitions: Definitions, last: int | None) -> None:
        """Reads the files of batches up to `last`, and removes the others."""
        self._folder = folder / relation.name
        self._relation = relation
        self._definitions = definitions
        self._beyond: dict[Row, int] = {}
        self._planned: Mapping[Row, int] = {}
        self._files: list[Path] = []
        found = sorted((int(name[1]), bool(name[2]), path) for name, path in self._names())
        for batch, is_whole, path in found:
            if last is None or batch > last:
                path.unlink()
                continue
            if is_whole:
                self._beyond = {}
            self._beyond.update(self._read(path))
            self._files.append(path)
        self._forget_absent()

    def of(self, row: Row) -> int:
        """Returns the number of copies of a present row beyond the first."""
        return self._beyond.get(row, 0)

    def all(self) -> Mapping[Row, int]:
        """Returns all rows with copies beyond the first."""
        return self._beyond

    def plan(self, changed: Mapping[Row, int]) -> None:
        """Notes the new numbers of rows in the current batch."""
        self._planned = changed

    def write(self, batch: int) -> None:
        """Writes the planned numbers, before the batch is committed."""
        changed = self._planned
        if not changed:
            return
        is_whole = len(self._files) >= _FILES
        counts = {**self._beyond, **changed} if is_whole else changed
        path = self._folder / f"{batch}{'.whole' if is_whole else ''}.arrow"
        with writing(path):
            self._folder.mkdir(parents=True, exist_ok=True)
            self._write(path, counts)
            sync_directory(self._folder)

    def committed(self, batch: int) -> None:
        """Makes the planned numbers those of the commit."""
        self._beyond.update(self._planned)
        if self._planned:
            if len(self._files) >= _FILES:
                for path in self._files:
                    path.unlink(missing_ok=True)
                self._files = [self._folder / f"{batch}.whole.arrow"]
            else:
                self._files.append(self._folder / f"{batch}.arrow")
        self._planned = {}
        self._forget_absent()

    def _forget_absent(self) -> None:
        for row in [row for row, count in self._beyond.items() if not count]:
            del self._beyond[row]

    def _names(self) -> Iterator[tuple[re.Match[str], Path]]:
        if self._folder.is_dir():
            for path in self._folder.iterdir():
                name = _NAME.fullmatch(path.name)
                if name is not None:
                    yield name, path

    def _write(self, path: Path, counts: Mapping[Row, int]) -> None:
        """Writes a table whose last column has the numbers; columns are named by position."""
        rows = list(counts)
        table = rows_to_table(rows, self._relation, self._definitions)
        columns = [*table.columns, pa.array([counts[row] for row in rows], pa.int64())]
        numbered = pa.table(columns, [str(place) for place in range(len(columns))])
        with path.open("wb") as file:
            with pa.ipc.new_file(file, numbered.schema) as writer:
                writer.write_table(numbered)
            file.flush()
            os.fsync(file.fileno())

    def _read(self, path: Path) -> dict[Row, int]:
        with pa.ipc.open_file(path) as reader:
            table = reader.read_all()
        counts = table.column(table.num_columns - 1).to_pylist()
        names = [column.name for column in self._relation.columns]
        if not names:
            return dict.fromkeys([()], counts[-1]) if counts else {}
        rows = table.select(range(len(names))).rename_columns(names)
        return dict(zip(to_rows(rows, self._relation, self._definitions), counts, strict=True))
