"""Text files of rows: opening them, recognising a header, and reading them record by record.

`open_text_file` reads the first line once and fixes the columns for every later reader of the file.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tidelog.io.formats import Format
from tidelog.rules.ir import Relation

_LONGEST_CELL = 1 << 30


class MalformedRecordError(Exception):
    """A record that no CSV reader could split, such as one with a quote that is never closed."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class TextFile:
    """A CSV, TSV or facts file. `names` are the relation's columns in the order of the file; `is_empty`: no data."""

    path: Path
    format: Format
    compressed: bool
    names: tuple[str, ...]
    has_header: bool
    is_empty: bool

    def open(self) -> IO[str]:
        return open_text(self.path, self.compressed)

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Yields each record without the header, with the line on which it starts. Raises MalformedRecordError."""
        with self.open() as file:
            reader = csv.reader(
                file,
                delimiter=self.format.delimiter or ",",
                quoting=csv.QUOTE_NONE if self.format.plain else csv.QUOTE_MINIMAL,
                strict=True,
            )
            line = 1
            usual_limit = csv.field_size_limit(_LONGEST_CELL)
            try:
                for record in reader:
                    if line > 1 or not self.has_header:
                        yield line, record
                    line = reader.line_num + 1
            except csv.Error as error:
                raise MalformedRecordError(line, str(error)) from error
            finally:
                csv.field_size_limit(usual_limit)


def open_text_file(path: Path, relation: Relation, format_: Format, compressed: bool) -> TextFile:
    """Reads the first line: it is a header when its cells are the column names, in any order."""
    declared = tuple(column.name for column in relation.columns)
    with open_text(path, compressed) as file:
        first, more = file.readline(), file.read(1)
    try:
        cells = tuple(next(csv.reader([first], delimiter=format_.delimiter or ",", strict=True), []))
    except csv.Error:
        cells = ()
    if format_.plain or sorted(cells) != sorted(declared):
        return TextFile(path, format_, compressed, declared, has_header=False, is_empty=not first)
    return TextFile(path, format_, compressed, cells, has_header=True, is_empty=not more)


def open_text(path: Path, compressed: bool) -> IO[str]:
    """Opens the file as text; bytes that are not UTF-8 become lone surrogates, which can be found and reported."""
    if compressed:
        return gzip.open(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="")
    return path.open(encoding="utf-8-sig", errors="surrogateescape", newline="")
