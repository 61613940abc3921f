"""Text files of rows: opening them, recognising a header, and reading them record by record.

`open_text_file` reads the first line once and fixes the columns for every later reader of the file. A cell is None if
it is empty and has no quotes.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tidelog.decompress import open_compressed_text
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.io.fit import EMPTY_CELL
from tidelog.io.formats import Format, compression
from tidelog.io.headers import Header, find_header
from tidelog.rules.ir import Relation
from tidelog.values import Definitions

_LONGEST_CELL = 1 << 30
_QUOTED = re.compile('"(?:[^"]|"")*"')


@dataclass(frozen=True, slots=True)
class TextFile:
    """A CSV, TSV or facts file. `is_empty`: it has no data. `nulls` are the cells that are null in an `Option`."""

    path: Path
    format: Format
    header: Header
    is_empty: bool
    nulls: frozenset[str] = EMPTY_CELL

    @property
    def names(self) -> tuple[str, ...]:
        """The relation's columns in the order of the file."""
        return self.header.names

    @property
    def has_header(self) -> bool:
        return self.header.way != "none"

    def records(self) -> Iterator[tuple[int, list[str | None]]]:
        """Yields each record without the header, with the line on which it starts.

        Raises DataError for quotes that are not well formed: then the start of the next record is unknown.
        """
        taken: list[str] = []
        with open_text(self.path) as file:
            reader = csv.reader(
                noting(file, taken),
                delimiter=self.format.delimiter or ",",
                quoting=csv.QUOTE_NONE if self.format.plain else csv.QUOTE_MINIMAL,
                strict=True,
            )
            line = 1
            usual_limit = csv.field_size_limit(_LONGEST_CELL)
            try:
                for record in reader:
                    if line > 1 or not self.has_header:
                        yield line, with_nulls(record, taken, self.format)
                    taken.clear()
                    line = reader.line_num + 1
            except csv.Error as error:
                raise DataError(
                    f"{self.path}:{line}:1: a quoted cell is not well formed: {error}", code=Code.UNREADABLE_FILE
                ) from error
            finally:
                csv.field_size_limit(usual_limit)


def noting(lines: Iterable[str], taken: list[str]) -> Iterator[str]:
    """Yields the lines, and appends them to `taken`."""
    for line in lines:
        taken.append(line)
        yield line


def with_nulls(cells: list[str], lines: Sequence[str], format_: Format) -> list[str | None]:
    """Returns the cells of a record, with None for those that are empty and have no quotes in its lines."""
    if "" not in cells:
        return [*cells]
    text = "".join(lines)
    if format_.plain or '""' not in text:
        return [cell or None for cell in cells]
    return [cell if cell or is_quoted else None for cell, is_quoted in zip(cells, _are_quoted(text, format_))]


def _are_quoted(text: str, format_: Format) -> Iterator[bool]:
    """Yields for each cell of a well-formed record whether it is in quotes."""
    delimiter = format_.delimiter or ","
    unquoted = re.compile(f"[^{re.escape(delimiter)}\r\n]*")
    position = 0
    while True:
        is_quoted = text.startswith('"', position)
        found = (_QUOTED if is_quoted else unquoted).match(text, position)
        yield is_quoted
        position = found.end() if found else len(text)
        if not text.startswith(delimiter, position):
            return
        position += 1


def open_text_file(
    path: Path,
    relation: Relation,
    format_: Format,
    definitions: Definitions,
    header: str = "exact",
    nulls: frozenset[str] = EMPTY_CELL,
) -> TextFile:
    """Reads the first lines and decides what the first one is (`headers`). Raises DataError for a wrong header."""
    with open_text(path) as file:
        first, second = file.readline(), file.readline()
    declared = tuple(column.name for column in relation.columns)
    if format_.plain or not first:
        return TextFile(path, format_, Header(declared, "none"), is_empty=not first, nulls=nulls)
    cells = _cells(first, format_)
    below = _cells(second, format_) if second.strip() else None
    found = find_header(path, cells, below, relation, definitions, header)
    return TextFile(path, format_, found, is_empty=found.way != "none" and not second, nulls=nulls)


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
