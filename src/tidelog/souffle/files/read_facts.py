"""Files of facts, as `.input` describes them → rows: text with a delimiter, RFC 4180, JSON, SQLite, standard input."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.souffle.check.declared import Declared
from tidelog.souffle.files.json_values import JsonValues
from tidelog.souffle.files.value_text import UnreadableError, ValueText
from tidelog.souffle.text import tree

_GZIP = b"\x1f\x8b"
Row = tuple[Any, ...]


def read_facts(directive: tree.Directive, declared: Declared, texts: ValueText, folder: Path) -> Iterator[Row]:
    """Yields the rows of a relation. Raises DataError where a file is missing, or a line is no row."""
    parameters = dict(directive.parameters)
    kinds = declared.kinds(directive.name)
    form = parameters.get("IO", "file")
    match form:
        case "file" | "stdin":
            path = _path(parameters, folder, f"{directive.name}.facts")
            where = "<stdin>" if form == "stdin" else str(path)
            text = _decoded(sys.stdin.buffer.read() if form == "stdin" else _bytes(path, directive.name))
            yield from _Reading(text, where, parameters, kinds, texts).rows()
        case "jsonfile" | "json":
            path = _path(parameters, folder, f"{directive.name}.json")
            yield from _json(path, directive, declared, texts)
        case "sqlite":
            yield from _sqlite(parameters, directive, kinds, texts, folder)
        case _:
            raise DataError(f"`.input {directive.name}` has an unknown `IO={form}`", code=Code.UNREADABLE_FILE)


class _Reading:
    def __init__(
        self, text: str, where: str, parameters: dict[str, str], kinds: Sequence[str], texts: ValueText
    ) -> None:
        self._quoted = parameters.get("rfc4180") == "true"
        self._delimiter = parameters.get("delimiter", "," if self._quoted else "\t")
        self._lines = text.split("\n")
        if self._lines and not self._lines[-1]:
            self._lines.pop()
        self._at = 1 if parameters.get("headers") == "true" else 0
        self._where, self._kinds, self._texts = where, kinds, texts
        columns = parameters.get("columns", "")
        self._columns = {int(each): place for place, each in enumerate(columns.split(":"))} if columns else {}

    def rows(self) -> Iterator[Row]:
        if not self._kinds:
            if any(line.rstrip("\r") == "()" for line in self._lines[self._at :]):
                yield ()
            return
        plain = not self._columns and not self._quoted and "," not in self._delimiter
        while self._at < len(self._lines):
            line = self._lines[self._at].removesuffix("\r")
            self._at += 1
            cells = line.split(self._delimiter) if plain else self._cells(line)
            if self._columns:
                chosen: list[str] = [""] * len(self._kinds)
                for column, place in self._columns.items():
                    if column < len(cells) and place < len(chosen):
                        chosen[place] = cells[column]
                cells = chosen
            if len(cells) < len(self._kinds):
                raise self._error("values are missing", line)
            yield tuple(self._value(cell, place, kind) for place, (cell, kind) in enumerate(zip(cells, self._kinds)))

    def _value(self, cell: str, place: int, kind: str) -> Any:
        if kind == "symbol":
            return cell
        try:
            return self._texts.read(cell, kind)
        except UnreadableError as error:
            raise self._error(f"column {place + 1} is no `{kind}`: {error}", cell) from None

    def _cells(self, line: str) -> list[str]:
        if self._quoted:
            return self._quoted_cells(line)
        cells: list[str] = []
        depth, start, place = 0, 0, 0
        while place <= len(line):
            if place == len(line) or (depth == 0 and line.startswith(self._delimiter, place)):
                cells.append(line[start:place])
                place = start = place + len(self._delimiter)
                continue
            depth += (line[place] == "[") - (line[place] == "]")
            depth = max(depth, 0)
            place += 1
        return cells

    def _quoted_cells(self, line: str) -> list[str]:
        cells: list[str] = []
        place = 0
        while True:
            if line.startswith('"', place):
                made: list[str] = []
                place += 1
                while True:
                    end = line.find('"', place)
                    if end < 0:
                        if self._at >= len(self._lines):
                            raise self._error("a quote does not end", line)
                        made.append(line[place:] + "\n")
                        line, place = self._lines[self._at], 0
                        self._at += 1
                        continue
                    made.append(line[place:end])
                    place = end + 1
                    if line.startswith('"', place):
                        made.append('"')
                        place += 1
                        continue
                    break
                line = line.removesuffix("\r") if "\n" not in line else line
                cells.append("".join(made))
                if place < len(line) and not line.startswith(self._delimiter, place):
                    raise self._error("a delimiter is expected behind a quote", line)
            else:
                end = line.find(self._delimiter, place)
                end = len(line) if end < 0 else end
                cells.append(line[place:end])
                place = end
            if place >= len(line):
                return cells
            place += len(self._delimiter)

    def _error(self, message: str, value: str) -> DataError:
        return DataError(f"{self._where}:{self._at}: {message}: {value[:80]!r}", code=Code.WRONG_VALUE)


def _json(path: Path, directive: tree.Directive, declared: Declared, texts: ValueText) -> Iterator[Row]:
    try:
        found = json.loads(_decoded(_bytes(path, directive.name)))
    except ValueError as error:
        raise DataError(f"{path}: no JSON: {error}", code=Code.UNREADABLE_FILE) from None
    values = JsonValues(declared.types, texts)
    attributes = declared.relations[directive.name].attributes
    if not isinstance(found, list):
        raise DataError(f"{path}: a list of rows is expected", code=Code.UNREADABLE_FILE)
    names = [each.name for each in attributes]
    for number, row in enumerate(found, 1):
        cells = [row.get(name) for name in names] if isinstance(row, dict) else row
        if not isinstance(cells, list) or len(cells) != len(attributes):
            raise DataError(f"{path}: row {number} has not {len(attributes)} values", code=Code.WRONG_VALUE)
        try:
            yield tuple(values.read(cell, declared.types.kinds[each.type]) for cell, each in zip(cells, attributes))
        except (UnreadableError, TypeError, ValueError) as error:
            raise DataError(f"{path}: row {number}: {error}", code=Code.WRONG_VALUE) from None


def _sqlite(
    parameters: dict[str, str], directive: tree.Directive, kinds: Sequence[str], texts: ValueText, folder: Path
) -> Iterator[Row]:
    import sqlite3  # not before: loading it takes time

    path = _path({"filename": parameters.get("filename", parameters.get("dbname", ""))}, folder, "")
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
            name = directive.name.replace('"', '""')
            rows = connection.execute(f'SELECT * FROM "{name}"').fetchall()
    except sqlite3.Error as error:
        raise DataError(f"{path}: {error}", code=Code.UNREADABLE_FILE) from None
    for row in rows:
        try:
            yield tuple(texts.read(str(cell), kind) for cell, kind in zip(row, kinds))
        except UnreadableError as error:
            raise DataError(
                f"{path}: a row of `{directive.name}` does not fit: {error}", code=Code.WRONG_VALUE
            ) from None


def _path(parameters: dict[str, str], folder: Path, default: str) -> Path:
    path = Path(parameters.get("filename") or default)
    return path if path.is_absolute() else folder / path


def _bytes(path: Path, name: str) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(
            f"cannot read the facts of `{name}` from {path}: {error.strerror}", code=Code.UNREADABLE_FILE
        ) from None
    return gzip.decompress(data) if data.startswith(_GZIP) else data


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")
