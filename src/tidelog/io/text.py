"""Text files of rows: opening them, recognising a header, and reading them record by record.

`open_text_file` reads the first line once and fixes the columns for every later reader of the file.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tidelog.decompress import open_compressed_text
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.io.formats import Format, compression
from tidelog.io.headers import Header, find_header
from tidelog.rules.ir import Relation
from tidelog.values import Definitions

_LONGEST_CELL = 1 << 30


@dataclass(frozen=True, slots=True)
class TextFile:
    """A CSV, TSV or facts file. `is_empty`: it has no data."""

    path: Path
    format: Format
    header: Header
    is_empty: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The relation's columns in the order of the file."""
        return self.header.names

    @property
    def has_header(self) -> bool:
        return self.header.way != "none"

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


def open_text_file(
    path: Path, relation: Relation, format_: Format, definitions: Definitions, header: str = "exact"
) -> TextFile:
    """Reads the first lines and decides what the first one is (`headers`). Raises DataError for a wrong header."""
    with open_text(path) as file:
        first, second = file.readline(), file.readline()
    declared = tuple(column.name for column in relation.columns)
    if format_.plain or not first:
        return TextFile(path, format_, Header(declared, "none"), is_empty=not first)
    cells = _cells(first, format_)
    below = _cells(second, format_) if second.strip() else None
    found = find_header(path, cells, below, relation, definitions, header)
    return TextFile(path, format_, found, is_empty=found.way != "none" and not second)


def _cells(line: str, format_: Format) -> tuple[str, ...]:
    """Splits a line; no cells where it is not a whole record."""
    try:
        return tuple(next(csv.reader([line], delimiter=format_.delimiter or ",", strict=True), []))
    except csv.Error:
        return ()


def open_text(path: Path) -> IO[str]:
    """Opens the file as text; bytes that are not UTF-8 become lone surrogates, which can be found and reported."""
    packed = compression(path)
    if packed is not None:
        return open_compressed_text(path, packed, encoding="utf-8-sig", errors="surrogateescape", newline="")
    return path.open(encoding="utf-8-sig", errors="surrogateescape", newline="")
