"""Text files of rows: opening them, recognising a header, and reading them record by record.

`open_text_file` reads the first line once and fixes the columns for every later reader of the file.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tidelog.bounded_gzip import open_gzip_text
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.io.formats import Format, is_compressed
from tidelog.rules.ir import Relation

_LONGEST_CELL = 1 << 30


@dataclass(frozen=True, slots=True)
class TextFile:
    """A CSV, TSV or facts file. `names` are the relation's columns in the order of the file; `is_empty`: no data."""

    path: Path
    format: Format
    names: tuple[str, ...]
    has_header: bool
    is_empty: bool

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Yields each record without the header, with the line on which it starts.

        Raises DataError for quotes that are not well formed: then the start of the next record is unknown.
        """
        with open_text(self.path) as file:
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
                raise DataError(
                    f"{self.path}:{line}:1: a quoted cell is not well formed: {error}", code=Code.UNREADABLE_FILE
                ) from error
            finally:
                csv.field_size_limit(usual_limit)


def open_text_file(path: Path, relation: Relation, format_: Format) -> TextFile:
    """Reads the first line: it is a header when its cells are the column names, in any order."""
    declared = tuple(column.name for column in relation.columns)
    with open_text(path) as file:
        first, more = file.readline(), file.read(1)
    try:
        cells = tuple(next(csv.reader([first], delimiter=format_.delimiter or ",", strict=True), []))
    except csv.Error:
        cells = ()
    if format_.plain or sorted(cells) != sorted(declared):
        return TextFile(path, format_, declared, has_header=False, is_empty=not first)
    return TextFile(path, format_, cells, has_header=True, is_empty=not more)


def open_text(path: Path) -> IO[str]:
    """Opens the file as text; bytes that are not UTF-8 become lone surrogates, which can be found and reported."""
    if is_compressed(path):
        return open_gzip_text(path, encoding="utf-8-sig", errors="surrogateescape", newline="")
    return path.open(encoding="utf-8-sig", errors="surrogateescape", newline="")
