"""Rows → files and standard output, as `.output` and `.printsize` describe them, in Soufflé's formats."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.souffle.check.declared import Declared
from tidelog.souffle.files.json_values import JsonValues
from tidelog.souffle.files.value_text import ValueText
from tidelog.souffle.text import tree

Row = tuple[Any, ...]
_RULE, _BAR = "---------------\n", "===============\n"


def write_results(
    directive: tree.Directive, rows: Sequence[Row], declared: Declared, texts: ValueText, folder: Path | None
) -> Path | None:
    """Writes the rows of a relation; returns the file, if it is one. Without a folder all goes to standard output."""
    parameters = dict(directive.parameters)
    attributes = declared.relations[directive.name].attributes
    kinds = declared.kinds(directive.name)
    form = parameters.get("IO", "file")
    if folder is None and form == "file":
        form = "stdout"
    header = ""
    if parameters.get("headers") == "true":
        delimiter = parameters.get("delimiter", "\t")
        header = parameters.get("attributeNames") or delimiter.join(each.name for each in attributes)
    match form:
        case "stdout":
            shown = f"{_RULE}{directive.name}\n{header}\n{_BAR}" if header else f"{_RULE}{directive.name}\n{_BAR}"
            sys.stdout.write(shown + "".join(_lines(rows, kinds, parameters, texts)) + _BAR)
            return None
        case "stdoutprintsize":
            sys.stdout.write(f"{directive.name}\t{len(rows)}\n")
            return None
        case "stdoutjson" | "json" | "jsonfile":
            return _json(form, directive, rows, declared, texts, folder)
        case "sqlite":
            return _sqlite(directive, rows, declared, texts, folder or Path())
        case "file":
            compressed = "compress" in parameters
            path = _path(parameters, folder or Path(), f"{directive.name}.csv{'.gz' if compressed else ''}")
            text = (f"{header}\n" if header else "") + "".join(_lines(rows, kinds, parameters, texts))
            data = text.encode("utf-8", "surrogateescape")
            _write(path, gzip.compress(data) if compressed else data)
            return path
        case _:
            raise UsageError(f"`.output {directive.name}` has an unknown `IO={form}`", code=Code.UNWRITABLE_OUTPUT)


def _lines(rows: Iterable[Row], kinds: Sequence[str], parameters: dict[str, str], texts: ValueText) -> Iterable[str]:
    quoted = parameters.get("rfc4180") == "true"
    delimiter = parameters.get("delimiter", "," if quoted else "\t")
    for row in rows:
        if not kinds:
            yield "()\n"
            continue
        cells = []
        for value, kind in zip(row, kinds, strict=True):
            text = texts.write(value, kind, quoted=quoted and kind != "symbol")
            if quoted and kind not in ("number", "unsigned", "float"):
                text = '"' + text.replace('"', '""') + '"'
            cells.append(text)
        yield delimiter.join(cells) + "\n"


def _json(
    form: str, directive: tree.Directive, rows: Sequence[Row], declared: Declared, texts: ValueText, folder: Path | None
) -> Path | None:
    parameters = dict(directive.parameters)
    values = JsonValues(declared.types, texts)
    attributes, kinds = declared.relations[directive.name].attributes, declared.kinds(directive.name)
    named = parameters.get("format") == "object"
    made: list[Any] = []
    for row in rows:
        cells = [values.write(value, kind, named=named) for value, kind in zip(row, kinds, strict=True)]
        made.append({each.name: cell for each, cell in zip(attributes, cells, strict=True)} if named else cells)
    # A row on each line, as Soufflé writes it.
    text = "[" + ",\n".join(map(values.text, made)) + "]"
    if form == "stdoutjson" or folder is None:
        sys.stdout.write(f"{_RULE}{directive.name}\n{_BAR}{text}\n{_BAR}")
        return None
    path = _path(parameters, folder, f"{directive.name}.json")
    _write(path, text.encode("utf-8", "surrogateescape"))
    return path


def _sqlite(directive: tree.Directive, rows: Sequence[Row], declared: Declared, texts: ValueText, folder: Path) -> Path:
    import sqlite3  # not before: to load it takes longer than many a small program runs

    parameters = dict(directive.parameters)
    path = _path({"filename": parameters.get("filename", parameters.get("dbname", ""))}, folder, "")
    attributes, kinds = declared.relations[directive.name].attributes, declared.kinds(directive.name)
    name = directive.name.replace('"', '""')
    columns = ", ".join('"' + each.name.replace('"', '""') + '"' for each in attributes)
    try:
        with sqlite3.connect(path) as connection:
            connection.execute(f'DROP VIEW IF EXISTS "{name}"')
            connection.execute(f'DROP TABLE IF EXISTS "{name}"')
            connection.execute(f'CREATE TABLE "{name}" ({columns})')
            marks = ", ".join("?" for _ in attributes)
            plain = [
                tuple(
                    value if kind in ("symbol", "number", "unsigned", "float") else texts.write(value, kind)
                    for value, kind in zip(row, kinds, strict=True)
                )
                for row in rows
            ]
            connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', plain)
    except sqlite3.Error as error:
        raise UsageError(f"cannot write {path}: {error}", code=Code.UNWRITABLE_OUTPUT) from None
    return path


def _path(parameters: dict[str, str], folder: Path, default: str) -> Path:
    path = Path(parameters.get("filename") or default)
    return path if path.is_absolute() else folder / path


def _write(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}", code=Code.UNWRITABLE_OUTPUT) from None
