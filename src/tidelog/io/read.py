"""A file of rows → tables of a relation's schema, batch by batch (`formats` says what the files look like).

The types come from the program, never from the data. Arrow reads at full speed; when it stumbles, `locate` reads the
file once more and finds the first cell that does not fit. So the exact place costs nothing until something is wrong.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from tidelog.check.types import BitType, SignedType, StringType
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.io.formats import FORMATS, NULLARY_COLUMN, NULLARY_LINE, PARQUET, split_name
from tidelog.io.locate import locate
from tidelog.io.rows import empty_rows
from tidelog.io.tables import fit_table, out_of_range
from tidelog.io.text import TextFile, open_text, open_text_file
from tidelog.io.values import fit_text
from tidelog.rules.ir import Relation
from tidelog.rules.schema import arrow_schema, arrow_type

_BLOCK = 8 << 20
"""Bytes read at once; no line may be longer than two blocks."""


def read_tables(path: Path, relation: Relation) -> Iterator[pa.Table]:
    """The rows of the file, in batches. Raises DataError (E502 to E507), for a bad cell with file, line and column."""
    named = split_name(path)
    if named is None:
        endings = ", ".join(f"`.{name}`" for name in FORMATS)
        raise DataError(
            f"{path}: the name does not say what kind of file it is", code=Code.UNREADABLE_FILE, help=f"use {endings}"
        )
    _, format_, compressed = named
    try:
        if format_ is PARQUET:
            yield from _read_parquet(path, relation)
        elif not relation.columns:
            yield from _read_nullary(path, relation, compressed)
        else:
            yield from _read_text(open_text_file(path, relation, format_, compressed), relation)
    except (OSError, EOFError, zlib.error) as error:  # Arrow reports a damaged file as an OSError too
        raise DataError(f"{path}: cannot be read: {error}", code=Code.UNREADABLE_FILE) from error


class _UnfitError(Exception):
    """A batch has a value that Arrow let pass but the declared type does not."""


def _read_text(file: TextFile, relation: Relation) -> Iterator[pa.Table]:
    if file.is_empty:
        return
    last = None
    try:
        with _open_batches(file, relation) as batches:
            for batch in batches:
                last = _checked(pa.Table.from_batches([batch]), relation)
                yield last
    except (pa.ArrowInvalid, _UnfitError) as error:
        raise locate(file, relation) or DataError(f"{file.path}: {error}", code=Code.UNREADABLE_FILE) from error
    if last is not None and _may_have_an_open_quote(last, file.names[-1]):
        unclosed = locate(file, relation)
        if unclosed is not None:
            raise unclosed


def _open_batches(file: TextFile, relation: Relation) -> pyarrow.csv.CSVStreamingReader:
    plain = file.format.plain
    only_text = len(relation.columns) == 1 and isinstance(relation.columns[0].type, StringType)
    return pyarrow.csv.open_csv(
        pa.input_stream(str(file.path), compression="gzip" if file.compressed else None),
        read_options=pyarrow.csv.ReadOptions(
            column_names=list(file.names), skip_rows=1 if file.has_header else 0, block_size=_BLOCK
        ),
        parse_options=pyarrow.csv.ParseOptions(
            delimiter=file.format.delimiter,
            quote_char=False if plain else '"',
            newlines_in_values=not plain,
            # Without quotes an empty line is the only way to write the empty string.
            ignore_empty_lines=not (plain and only_text),
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types={column.name: arrow_type(column.type) for column in relation.columns},
            include_columns=[column.name for column in relation.columns],
            null_values=[],
            true_values=["true"],
            false_values=["false"],
            strings_can_be_null=False,
        ),
    )


def _checked(table: pa.Table, relation: Relation) -> pa.Table:
    """The batch with what Arrow cannot check: declared widths, and wide integers, which it reads as text."""
    arrays = []
    for column in relation.columns:
        array = table.column(column.name)
        if isinstance(column.type, BitType | SignedType) and column.type.width > 64:
            numbers = [fit_text(text, column.type) for text in array.to_pylist()]
            if None in numbers:
                raise _UnfitError
            array = pa.chunked_array([pa.array([str(number) for number in numbers], pa.string())])
        elif out_of_range(array, column.type):
            raise _UnfitError
        arrays.append(array)
    return pa.Table.from_arrays(arrays, schema=arrow_schema(relation))


def _may_have_an_open_quote(last: pa.Table, column: str) -> bool:
    """A quote that is never closed swallows the rest of the file, silently: the last cell then runs over lines."""
    if not last.num_rows:
        return False
    value = last.column(column)[last.num_rows - 1].as_py()
    return isinstance(value, str) and ("\n" in value or "\r" in value)


def _read_nullary(path: Path, relation: Relation, compressed: bool) -> Iterator[pa.Table]:
    with open_text(path, compressed) as file:
        for number, line in enumerate(file, 1):
            if line.strip() == NULLARY_LINE:
                yield empty_rows(1)
            elif line.strip():
                raise DataError(
                    f"{path}:{number}:1: `{line.strip()}` is not a row of `{relation.name}`, which has no columns",
                    code=Code.WRONG_VALUE_COUNT,
                    help=f"the line `{NULLARY_LINE}` stands for its one row",
                )


def _read_parquet(path: Path, relation: Relation) -> Iterator[pa.Table]:
    parts = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    for part in parts:
        try:
            yield from _read_part(part, relation)
        except pa.ArrowInvalid as error:
            raise DataError(f"{part}: not a readable Parquet file: {error}", code=Code.UNREADABLE_FILE) from error


def _read_part(part: Path, relation: Relation) -> Iterator[pa.Table]:
    with pyarrow.parquet.ParquetFile(part) as file:
        if not relation.columns and file.schema_arrow.names == [NULLARY_COLUMN]:
            yield empty_rows(file.metadata.num_rows)
            return
        start = 0
        for batch in file.iter_batches():
            yield _fit_batch(batch, relation, part, start)
            start += batch.num_rows


def _fit_batch(batch: pa.RecordBatch, relation: Relation, part: Path, start: int) -> pa.Table:
    return fit_table(pa.Table.from_batches([batch]), relation, lambda index: f"{part}: row {start + index + 1}")
