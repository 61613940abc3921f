"""A relation's rows → a file, in value order, so that equal relations make equal files.

A file appears whole or not at all: it is written under another name and renamed. Text cells are quoted only where
necessary (a delimiter, a quote or a line end inside; the empty string in a column of its own, or in an `Option`, where
a cell without anything is null).
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.io.formats import (
    ARROW,
    JSON_LINES,
    N_TRIPLES,
    NULLARY_COLUMN,
    NULLARY_LINE,
    PARQUET,
    TURTLE,
    Format,
    compression,
    endings,
    split_name,
)
from tidelog.io.json_lines import write_json_lines
from tidelog.io.replace_file import replacing, writing
from tidelog.io.rows import Batch
from tidelog.io.scaled import scaled_cells
from tidelog.io.sort import sort_by_value, sort_rows
from tidelog.io.to_python import Form, arrow_form, dump_json, json_text, rows_to_table
from tidelog.io.values import Row
from tidelog.rules.ir import Column, Relation
from tidelog.rules.schema.arrow import (
    arrow_type,
    held_as,
    inside_option,
    is_nullable,
    is_option,
    is_plain,
    plain_type,
    table_to_rows,
    with_plain_columns,
)
from tidelog.types import STRING, BoolType, ScaledType, StringType
from tidelog.values import Definitions

_ROWS_AT_ONCE = 100_000
_UNFIT_FOR_PLAIN = re.compile("[\t\r\n]")


def write_file(batch: Batch, relation: Relation, definitions: Definitions, path: Path, null: str = "") -> None:
    """Writes rows as `write_batch` does, in the format of the file's name, compressed if the name says so.

    Raises UsageError for a name that tells no format, and for a file that cannot be written.
    """
    named = split_name(path)
    if named is None or named[1] in (N_TRIPLES, TURTLE):
        raise UsageError(
            f"{path}: the name does not say in which format to write",
            code=Code.UNWRITABLE_OUTPUT,
            help=f"use {endings()}",
        )
    with writing(path):
        write_batch(batch, relation, definitions, path, named[1], null)


def write_batch(
    batch: Batch, relation: Relation, definitions: Definitions, path: Path, format_: Format, null: str = ""
) -> None:
    """Writes rows: a table with the schema of a plain relation, or a list of rows of any. `null` is the cell for null.

    An OSError leaves the old file, if any, as it was. Raises UsageError where a column holds functions.
    """
    relation = with_plain_columns(relation)
    with replacing(path) as whole, _packed(whole, path) as file:
        if format_ is JSON_LINES:
            rows = batch if isinstance(batch, list) else table_to_rows(batch, relation)
            file.writelines(write_json_lines(sort_rows(rows), relation, definitions))
        elif not relation.columns:
            count = len(batch) if isinstance(batch, list) else batch.num_rows
            _write_nullary(count, file, format_)
        elif format_ is PARQUET:
            pyarrow.parquet.write_table(_sorted_table(batch, relation, definitions), file)
        elif format_ is ARROW:
            _write_arrow(_sorted_table(batch, relation, definitions), file)
        elif isinstance(batch, list):
            table, cells = _as_cells(sort_rows(batch), relation, definitions, _Null(null, format_))
            optional = [is_option(column.type) for column in relation.columns]
            file.writelines(_lines(table, cells, format_, optional, null))
        else:
            optional = [False] * len(relation.columns)
            file.writelines(_lines(sort_by_value(batch, relation), relation, format_, optional, null))


@contextmanager
def _packed(file: IO[bytes], path: Path) -> Iterator[IO[bytes]]:
    """Yields a file that compresses what is written to it, if the name of the path says so."""
    packed = compression(path)
    if packed is None:
        yield file
    elif packed == "gzip":
        # Without a time, equal rows make equal files.
        with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as stream:
            yield cast(IO[bytes], stream)
    else:
        with pa.CompressedOutputStream(file, packed) as stream:
            yield cast(IO[bytes], stream)


def _write_arrow(table: pa.Table, file: IO[bytes]) -> None:
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def _sorted_table(batch: Batch, relation: Relation, definitions: Definitions) -> pa.Table:
    if isinstance(batch, list):
        return rows_to_table(sort_rows(batch), relation, definitions)
    return sort_by_value(batch, relation)


@dataclass(frozen=True, slots=True)
class _Null:
    """How null is written to a file of this format; a text that would be read as null is written as JSON."""

    text: str
    format: Format

    def escaped(self, form: Form) -> Form:
        """Returns the form of texts of an `Option`: themselves, or JSON where the cell would be read as another."""

        def escape(value: Any) -> Any:
            text = form(value)
            if text is None:
                return None
            is_other = text.startswith('"') or text in ("null", self.text or "null")
            return dump_json(text) if is_other or (self.format.plain and _UNFIT_FOR_PLAIN.search(text)) else text

        return escape


def _as_cells(rows: list[Row], relation: Relation, definitions: Definitions, null: _Null) -> tuple[pa.Table, Relation]:
    """Returns the rows with plain values, or null, in all columns, and the relation that has such columns."""
    columns, forms = [], []
    for column in relation.columns:
        held = held_as(column.type, definitions)
        value = inside_option(column.type)
        if value is not None and is_nullable(column.type, definitions):
            inner = plain_type(held_as(value, definitions))
            form = arrow_form(column.type, definitions)
            if not is_plain(inner):
                form = _or_null(json_text(column.type, definitions))
            elif isinstance(inner, StringType):
                form = null.escaped(form)
            columns.append(Column(column.name, inner if is_plain(inner) else STRING))
            forms.append(form)
        elif is_plain(held):
            columns.append(Column(column.name, plain_type(held)))
            forms.append(arrow_form(column.type, definitions))
        else:
            columns.append(Column(column.name, STRING))
            forms.append(json_text(column.type, definitions))
    flat = replace(relation, columns=tuple(columns))
    cells = [pa.array([form(row[i]) for row in rows], arrow_type(flat.columns[i].type)) for i, form in enumerate(forms)]
    return pa.table(cells, names=[column.name for column in flat.columns]), flat


def _or_null(form: Form) -> Form:
    """Returns the JSON text of a value, or None for null."""
    return lambda value: None if (text := form(value)) == "null" else text


def _lines(
    table: pa.Table, relation: Relation, format_: Format, optional: Sequence[bool], null: str
) -> Iterator[bytes]:
    delimiter = format_.delimiter or ","
    if not format_.plain:
        yield f"{delimiter.join(column.name for column in relation.columns)}\n".encode()
    for batch in filter(len, table.to_batches(max_chunksize=_ROWS_AT_ONCE)):
        cells = [_cells(array, column, delimiter) for array, column in zip(batch.columns, relation.columns)]
        if format_.plain:
            cells = [_plain_cells(array, each) for array, each in zip(batch.columns, cells)]
        elif len(cells) == 1:
            cells[0] = pc.if_else(pc.equal(cells[0], ""), '""', cells[0])
        # An empty line is no row.
        nothing = null or ("null" if len(cells) == 1 else "")
        cells = [_with_null(each, nothing) if is_optional else each for each, is_optional in zip(cells, optional)]
        lines = pc.binary_join_element_wise(*cells, delimiter)
        yield "\n".join(lines.to_pylist()).encode() + b"\n"


def _with_null(cells: pa.Array, null: str) -> pa.Array:
    """Returns the cells of an `Option`: null as it is written, and the empty text in quotes."""
    return pc.fill_null(pc.if_else(pc.equal(cells, ""), '""', cells), null)


def _cells(array: pa.Array, column: Column, delimiter: str) -> pa.Array:
    if isinstance(column.type, BoolType):
        return pc.if_else(array, "true", "false")
    if isinstance(column.type, ScaledType):
        return scaled_cells(array, column.type)
    if not isinstance(column.type, StringType):
        return array.cast(pa.string())
    in_quotes = pc.binary_join_element_wise('"', pc.replace_substring(array, '"', '""'), '"', "")
    needs_quotes = pc.match_substring_regex(array, f'["\r\n{delimiter}]')
    return pc.if_else(needs_quotes, in_quotes, array)


def _plain_cells(array: pa.Array, cells: pa.Array) -> pa.Array:
    """Returns the cells of a file without quotes. Raises UsageError for a text that it cannot hold."""
    if not pa.types.is_string(array.type):
        return cells
    if pc.any(pc.match_substring_regex(array, "[\t\r\n]")).as_py():
        raise UsageError(
            "a text with a tab or a line end does not fit into a .facts file, which has no quotes",
            code=Code.UNWRITABLE_OUTPUT,
            help="write a .tsv or .csv file",
        )
    return array


def _write_nullary(rows: int, file: IO[bytes], format_: Format) -> None:
    if format_ is PARQUET:
        pyarrow.parquet.write_table(_nullary_table(rows), file)
    elif format_ is ARROW:
        _write_arrow(_nullary_table(rows), file)
    else:
        file.write(f"{NULLARY_LINE}\n".encode() * rows)


def _nullary_table(rows: int) -> pa.Table:
    return pa.table({NULLARY_COLUMN: pa.array([True] * rows, pa.bool_())})
