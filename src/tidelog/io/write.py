"""A relation's rows → a file, in value order, so that equal relations make equal files.

A file appears whole or not at all: it is written under another name and renamed. Text cells are quoted only where
necessary (a delimiter, a quote or a line end inside; the empty string in a column of its own).
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, cast

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
from tidelog.io.sort import sort_by_value, sort_rows
from tidelog.io.to_python import arrow_form, json_text, rows_to_table
from tidelog.io.values import Row
from tidelog.rules.ir import Column, Relation
from tidelog.rules.schema.arrow import (
    arrow_schema,
    arrow_type,
    held_as,
    is_plain,
    plain_type,
    table_to_rows,
    with_plain_columns,
)
from tidelog.types import STRING, BoolType, StringType
from tidelog.values import Definitions

_ROWS_AT_ONCE = 100_000


def write_file(batch: Batch, relation: Relation, definitions: Definitions, path: Path) -> None:
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
        write_batch(batch, relation, definitions, path, named[1])


def write_batch(batch: Batch, relation: Relation, definitions: Definitions, path: Path, format_: Format) -> None:
    """Writes rows: a table with the schema of a plain relation, or a list of rows of any.

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
            table, cells = _as_cells(sort_rows(batch), relation, definitions)
            file.writelines(_lines(table, cells, format_))
        else:
            file.writelines(_lines(sort_by_value(batch, relation), relation, format_))


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


def _as_cells(rows: list[Row], relation: Relation, definitions: Definitions) -> tuple[pa.Table, Relation]:
    """Returns the rows with plain values in all columns, and the relation that has such columns."""
    columns, forms = [], []
    for column in relation.columns:
        held = held_as(column.type, definitions)
        if is_plain(held):
            columns.append(Column(column.name, plain_type(held)))
            forms.append(arrow_form(column.type, definitions))
        else:
            columns.append(Column(column.name, STRING))
            forms.append(json_text(column.type, definitions))
    flat = replace(relation, columns=tuple(columns))
    cells = [pa.array([form(row[i]) for row in rows], arrow_type(flat.columns[i].type)) for i, form in enumerate(forms)]
    return pa.Table.from_arrays(cells, schema=arrow_schema(flat)), flat


def _lines(table: pa.Table, relation: Relation, format_: Format) -> Iterator[bytes]:
    delimiter = format_.delimiter or ","
    if not format_.plain:
        yield f"{delimiter.join(column.name for column in relation.columns)}\n".encode()
    for batch in filter(len, table.to_batches(max_chunksize=_ROWS_AT_ONCE)):
        cells = [_cells(array, column, delimiter) for array, column in zip(batch.columns, relation.columns)]
        if format_.plain:
            cells = [_plain_cells(array, each) for array, each in zip(batch.columns, cells)]
        elif len(cells) == 1:
            cells[0] = pc.if_else(pc.equal(cells[0], ""), '""', cells[0])
        lines = pc.binary_join_element_wise(*cells, delimiter)
        yield "\n".join(lines.to_pylist()).encode() + b"\n"


def _cells(array: pa.Array, column: Column, delimiter: str) -> pa.Array:
    if isinstance(column.type, BoolType):
        return pc.if_else(array, "true", "false")
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
