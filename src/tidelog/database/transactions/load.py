"""Files → the rows of one input relation, in a transaction: `tx.load("Edge", "edges/*.parquet")`.

The files are read in the order of their names, batch by batch. The report says how many rows each file has, and what
the first line of each CSV or TSV file was taken for.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError, UsageError
from tidelog.diagnostics.suggest import suggest
from tidelog.diagnostics.wording import counted
from tidelog.io.bad_rows import BadRows
from tidelog.io.formats import FORMATS, Format
from tidelog.io.headers import WAYS, Header
from tidelog.io.lake_tables import DELTA, delta_parts, is_delta_table
from tidelog.io.read import read_batches
from tidelog.io.rows import Batch
from tidelog.io.tables import fit_parts
from tidelog.rules.ir import Relation
from tidelog.rules.schema.arrow import with_plain_columns
from tidelog.values import Definitions

_LOG = logging.getLogger("tidelog")


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """A file that was read: its rows, those that were left out, and what its first line was taken for, if it has one.

    `header` is `name`, `position` or `none`; None for a file that is no CSV or TSV.
    """

    path: Path
    rows: int
    skipped: int = 0
    header: str | None = None
    note: str = ""

    def __str__(self) -> str:
        parts = [f"{self.path}: {counted(self.rows, 'row')}"]
        if self.header is not None:
            parts.append(Header((), self.header, self.note).text)
        if self.skipped:
            parts.append(f"{counted(self.skipped, 'bad row')} left out")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class LoadReport:
    """The files that a call of `tx.load` has read."""

    files: tuple[LoadedFile, ...]

    @property
    def rows(self) -> int:
        """The rows of all files, equal ones each time."""
        return sum(each.rows for each in self.files)

    def __str__(self) -> str:
        return "\n".join(map(str, self.files))

    __repr__ = __str__


class Loading:
    """Reads the files of one call; `report` is complete when all batches were taken."""

    def __init__(
        self,
        paths: Any,
        relation: Relation,
        definitions: Definitions,
        *,
        format: str | None = None,
        header: str = "detect",
        skip_bad_rows: bool = False,
        null: str | Iterable[str] = "",
    ) -> None:
        """Raises UsageError for an unknown format or way to read a header, DataError where there is no such file."""
        self._relation, self._definitions = relation, definitions
        self._is_delta = format == DELTA
        self._format = None if format is None or self._is_delta else _format(format)
        self._header = _one_of("header", header, WAYS)
        self._skips = skip_bad_rows
        self._nulls = _cells("null", null)
        self._paths = list(_found(paths))
        self._files: list[LoadedFile] = []

    @property
    def report(self) -> LoadReport:
        return LoadReport(tuple(self._files))

    def batches(self) -> Iterator[Batch]:
        """Yields the rows of all files. Raises DataError for a file, or a row, that cannot be read."""
        for path in self._paths:
            if self._is_delta or (self._format is None and is_delta_table(path)):
                yield from self._delta_batches(path)
                continue
            bad, headers, rows = BadRows(skip=self._skips), list[Header](), 0
            for batch in read_batches(
                path,
                self._relation,
                self._definitions,
                bad,
                self._format,
                header=self._header,
                tell_header=headers.append,
                nulls=self._nulls,
            ):
                rows += len(batch)
                yield batch
            found = headers[0] if headers else None
            way, note = (None, "") if found is None else (found.way, found.note)
            loaded = LoadedFile(path, rows, bad.count, way, note)
            self._files.append(loaded)
            if note or bad.count:
                _LOG.warning("%s", loaded)
            else:
                _LOG.info("%s", loaded)

    def _delta_batches(self, path: Path) -> Iterator[Batch]:
        """Yields the rows of a Delta table. Raises DataError for a row that does not fit, unless those are skipped."""
        bad, rows = BadRows(skip=self._skips), 0
        for table in delta_parts(str(path), self._relation):
            place = f"{path}, row"
            for batch in fit_parts(
                table,
                with_plain_columns(self._relation),
                self._definitions,
                lambda index: f"{place} {index + 1}",  # noqa: B023
                bad.add if self._skips else None,
                rows + bad.count,
            ):
                rows += len(batch)
                yield batch
        loaded = LoadedFile(path, rows, bad.count)
        self._files.append(loaded)
        (_LOG.warning if bad.count else _LOG.info)("%s", loaded)


def _found(paths: Any) -> Iterator[Path]:
    """Yields the files that a path, a pattern, or several of them name; those of a pattern in the order of names."""
    if not isinstance(paths, str | os.PathLike):
        if not isinstance(paths, Iterable) or isinstance(paths, bytes):
            raise UsageError(
                f"`path` is {paths!r}; it must be a path, a pattern such as 'edges/*.parquet', or a list of them",
                code=Code.BAD_PATH,
            )
        for each in paths:
            yield from _found(each)
        return
    text = os.fspath(paths)
    path = Path(text)
    if path.exists():
        yield path
        return
    matching = [Path(each) for each in sorted(glob(text, recursive=True))] if has_magic(text) else []
    if matching:
        yield from matching
        return
    if has_magic(text):
        raise DataError(f"no file matches {text}", code=Code.UNREADABLE_FILE)
    beside = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
    meant = suggest(path.name, beside)
    raise DataError(
        f"{path}: there is no such file",
        code=Code.UNREADABLE_FILE,
        help=f"did you mean `{path.with_name(meant)}`?" if meant else None,
    )


def _format(name: object) -> Format:
    return FORMATS[_one_of("format", name, (*FORMATS, DELTA))]


def _cells(option: str, given: object) -> frozenset[str]:
    found = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else [given]
    if all(isinstance(each, str) for each in found):
        return frozenset(found)
    raise UsageError(f"`{option}` is {given!r}; it must be a text, such as 'NA', or several", code=Code.BAD_PATH)


def _one_of(option: str, given: object, known: Iterable[str]) -> str:
    if isinstance(given, str) and given in known:
        return given
    raise UsageError(f"`{option}` is {given!r}; it must be one of {', '.join(map(repr, known))}", code=Code.BAD_PATH)
