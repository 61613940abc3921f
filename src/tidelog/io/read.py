"""A file of rows → batches for a transaction (`formats` describes the files).

A batch is a table of a plain relation's schema, or a list of rows of canonical values. The types come from the program,
never from the data. Arrow reads text at full speed; when it fails, `locate_bad_rows` reads the file again and finds the
first cell that does not fit. So the exact place costs nothing until something is wrong. JSON is read line by line.

If bad rows are left out (`bad_rows`), a text file is read record by record from the batch on in which Arrow failed; a
batch of Parquet that does not fit is halved until the bad rows stand alone.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from tidelog.decompress import open_compressed
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.io import formats
from tidelog.io.bad_rows import BadRecord, BadRows
from tidelog.io.fit import EMPTY_CELL, cell_fitter
from tidelog.io.headers import Header
from tidelog.io.json_lines import read_json_lines
from tidelog.io.locate_bad_rows import checked_records, locate
from tidelog.io.read_ahead import read_ahead
from tidelog.io.rows import Batch
from tidelog.io.scaled import column_of_cells
from tidelog.io.tables import fit_parts, out_of_range, place_in_file
from tidelog.io.text import TextFile, open_text, open_text_file
from tidelog.io.values import Row, UnfitError
from tidelog.rules.ir import Column, Relation
from tidelog.rules.schema.arrow import (
    arrow_schema,
    arrow_type,
    empty_rows,
    is_plain,
    is_plain_relation,
    python_column,
    with_plain_columns,
)
from tidelog.types import FloatType, ScaledType, StringType, Type
from tidelog.values import Definitions
from tidelog.values.text import integer_text

_BLOCK = 8 << 20
"""Bytes read at once; no line may be longer than two blocks."""

_READ_AT_ONCE = 1 << 20
"""Bytes of a column of Parquet read at once; Arrow would take memory for a whole row group."""

_MANY_ROWS = 1 << 17
"""Files with more rows are read in a thread of their own."""

_ROWS_AT_ONCE = 10_000


def read_batches(
    path: Path,
    relation: Relation,
    definitions: Definitions,
    bad: BadRows | None = None,
    format_: formats.Format | None = None,
    *,
    header: str = "exact",
    tell_header: Callable[[Header], None] | None = None,
    nulls: frozenset[str] = EMPTY_CELL,
) -> Iterator[Batch]:
    """Yields the rows of the file, in batches. Rows that do not fit go to `bad`, which raises by default.

    The name of the file tells its format, unless `format_` does. `header` says how the first line of a CSV or TSV file
    is read (`headers`), and `tell_header` is called with what it was taken for; with `position`, the columns of a
    Parquet or Arrow file count by position, too. `nulls` are the cells of a text file that are null in the column of an
    `Option`. Raises DataError (E502 to E507), for a bad cell with file, line and column.
    """
    bad = bad or BadRows()
    if format_ is None:
        named = formats.split_name(path)
        if named is None:
            raise DataError(
                f"{path}: the name does not say what kind of file it is",
                code=Code.UNREADABLE_FILE,
                help=f"use {formats.endings()}",
            )
        format_ = named[1]
    relation = with_plain_columns(relation)
    try:
        if format_ is formats.PARQUET:
            yield from _read_parquet(path, relation, definitions, bad, by_position=header == "position")
        elif format_ is formats.ARROW:
            yield from _read_arrow(path, relation, definitions, bad, by_position=header == "position")
        elif format_ is formats.JSON_LINES:
            yield from _in_batches(read_json_lines(path, relation, definitions, bad))
        elif format_ in (formats.N_TRIPLES, formats.TURTLE):
            yield from _read_triples(path, relation)
        elif not relation.columns:
            yield from _read_nullary(path, relation, bad)
        else:
            file = open_text_file(path, relation, format_, definitions, header, nulls)
            if tell_header is not None and not format_.plain:
                tell_header(file.header)
            yield from _read_text(file, relation, definitions, bad)
    except (OSError, EOFError, zlib.error) as error:  # Arrow reports a damaged file as an OSError too
        raise DataError(f"{path}: cannot be read: {error}", code=Code.UNREADABLE_FILE) from error


def _read_triples(path: Path, relation: Relation) -> Iterator[pa.Table]:
    from tidelog.rdf.triples import read_triples

    if [type(column.type) for column in relation.columns] != [StringType] * 3:
        raise DataError(
            f"{path}: triples are rows of three texts, which those of `{relation.name}` are not",
            code=Code.WRONG_COLUMNS,
            help=f"declare `input relation {relation.name}(s: string, p: string, o: string)`",
        )
    schema = arrow_schema(relation)
    for rows in _in_batches(read_triples(path)):
        columns = [pa.array(values, pa.string()) for values in zip(*rows)]
        yield pa.Table.from_arrays(columns, schema=schema)


def _in_batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while batch := list(islice(rows, _ROWS_AT_ONCE)):
        yield batch


def _read_text(file: TextFile, relation: Relation, definitions: Definitions, bad: BadRows) -> Iterator[Batch]:
    if file.is_empty:
        return
    last, done = None, 0
    try:
        with _open_batches(file, relation) as batches:
            for batch in batches:
                last = pa.Table.from_batches([batch])
                yield _checked(last, relation, definitions, file.nulls)
                done += last.num_rows
    except (pa.ArrowInvalid, UnfitError) as error:
        if bad.skip:
            yield from _in_batches(_read_slowly(file, relation, definitions, done, bad))
            return
        found = locate(file, relation, definitions)
        raise found or DataError(f"{file.path}: {error}", code=Code.UNREADABLE_FILE) from error
    if last is not None and _may_have_an_open_quote(last, file.names[-1]):
        unclosed = locate(file, relation, definitions)
        if unclosed is not None:
            raise unclosed


def _read_slowly(
    file: TextFile, relation: Relation, definitions: Definitions, done: int, bad: BadRows
) -> Iterator[Row]:
    """Yields the rows after the first `done`, without the bad ones."""
    for row in islice(checked_records(file, relation, definitions), done, None):
        if isinstance(row, BadRecord):
            bad.add(row)
        else:
            yield row


def _open_stream(path: Path) -> Any:
    """Opens a file for Arrow, decompressed."""
    packed = formats.compression(path)
    return pa.input_stream(str(path), compression=None) if packed is None else open_compressed(path, packed)


def _open_batches(file: TextFile, relation: Relation) -> pyarrow.csv.CSVStreamingReader:
    plain = file.format.plain
    only_text = len(relation.columns) == 1 and isinstance(relation.columns[0].type, StringType)
    return pyarrow.csv.open_csv(
        _open_stream(file.path),
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
            column_types={column.name: _cell_type(column.type) for column in relation.columns},
            include_columns=[column.name for column in relation.columns],
            include_missing_columns=True,
            # An empty cell without quotes is null; `_checked_column` says for each column what that means.
            null_values=[""],
            true_values=["true"],
            false_values=["false"],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def _cell_type(type_: Type) -> pa.DataType:
    """Returns the type in which Arrow reads a cell: its own for a plain type, else text.

    Of times in text Arrow reads more forms, and others, than the language has.
    """
    return arrow_type(type_) if is_plain(type_) and not isinstance(type_, ScaledType) else pa.string()


def _checked(table: pa.Table, relation: Relation, definitions: Definitions, nulls: frozenset[str]) -> Batch:
    """Checks a batch for errors that Arrow cannot find, such as declared widths. Raises UnfitError for some value."""
    arrays = [_checked_column(table.column(column.name), column, definitions, nulls) for column in relation.columns]
    if is_plain_relation(relation):
        return pa.Table.from_arrays(arrays, schema=arrow_schema(relation))
    columns = [
        python_column(array, column.type) if is_plain(column.type) else array
        for array, column in zip(arrays, relation.columns)
    ]
    return list(zip(*columns, strict=True))


def _checked_column(array: pa.ChunkedArray, column: Column, definitions: Definitions, nulls: frozenset[str]) -> Any:
    """Returns a plain column as an array of its type, another one as a list of values."""
    type_ = column.type
    if is_plain(type_) and array.null_count:
        if not isinstance(type_, StringType):
            raise UnfitError(None, type_)
        return pc.fill_null(array, "")
    if isinstance(type_, ScaledType):
        found = column_of_cells(array, type_)
        if found is None:
            raise UnfitError(None, type_)
        return found
    if isinstance(type_, FloatType):
        return pc.add(array, pa.scalar(0, array.type))  # -0.0 becomes 0.0
    if is_plain(type_) and (isinstance(type_, StringType) or arrow_type(type_) != pa.string()):
        if out_of_range(array, type_):
            raise UnfitError(None, type_)
        return array
    fit = cell_fitter(type_, definitions, nulls)
    values = [fit(text) for text in array.to_pylist()]
    if not is_plain(type_):
        return values
    return pa.chunked_array([pa.array([integer_text(number) for number in values], pa.string())])


def _may_have_an_open_quote(last: pa.Table, column: str) -> bool:
    """True if the last cell has a line end: a quote that is never closed silently swallows the rest of the file."""
    if not last.num_rows:
        return False
    value = last.column(column)[last.num_rows - 1].as_py()
    return isinstance(value, str) and ("\n" in value or "\r" in value)


def _read_nullary(path: Path, relation: Relation, bad: BadRows) -> Iterator[Batch]:
    with open_text(path) as file:
        for number, line in enumerate(file, 1):
            if line.strip() == formats.NULLARY_LINE:
                yield empty_rows(1)
            elif line.strip():
                place = f"{path}:{number}:1"
                error = DataError(
                    f"{place}: `{line.strip()}` is not a row of `{relation.name}`, which has no columns",
                    code=Code.WRONG_VALUE_COUNT,
                    help=f"the line `{formats.NULLARY_LINE}` stands for its one row",
                )
                bad.add(BadRecord(place, line.strip(), error))


def _read_parquet(
    path: Path, relation: Relation, definitions: Definitions, bad: BadRows, *, by_position: bool
) -> Iterator[Batch]:
    parts = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    for part in parts:
        try:
            yield from _read_part(part, relation, definitions, bad, by_position=by_position)
        except pa.ArrowInvalid as error:
            raise DataError(f"{part}: not a readable Parquet file: {error}", code=Code.UNREADABLE_FILE) from error


def _read_part(
    part: Path, relation: Relation, definitions: Definitions, bad: BadRows, *, by_position: bool
) -> Iterator[Batch]:
    with pyarrow.parquet.ParquetFile(part, buffer_size=_READ_AT_ONCE) as file:
        if not relation.columns and file.schema_arrow.names == [formats.NULLARY_COLUMN]:
            yield empty_rows(file.metadata.num_rows)
            return
        batches = file.iter_batches()
        if file.metadata.num_rows > _MANY_ROWS:
            batches = read_ahead(batches)
        yield from _fitted(batches, part, relation, definitions, bad, by_position)


def _read_arrow(
    path: Path, relation: Relation, definitions: Definitions, bad: BadRows, *, by_position: bool
) -> Iterator[Batch]:
    """Reads an Arrow IPC file (Feather, version 2) or stream, mapped into memory."""
    try:
        with pa.memory_map(str(path)) as source:
            is_file = source.read(6) == b"ARROW1"
            source.seek(0)
            if is_file:
                file = pa.ipc.open_file(source)
                batches = (file.get_batch(place) for place in range(file.num_record_batches))
            else:
                batches = iter(pa.ipc.open_stream(source))
            if not relation.columns:
                yield from (empty_rows(batch.num_rows) for batch in batches)
            else:
                yield from _fitted(batches, path, relation, definitions, bad, by_position)
    except pa.ArrowInvalid as error:
        raise DataError(f"{path}: not a readable Arrow file: {error}", code=Code.UNREADABLE_FILE) from error


def _fitted(
    batches: Iterable[pa.RecordBatch],
    path: Path,
    relation: Relation,
    definitions: Definitions,
    bad: BadRows,
    by_position: bool,
) -> Iterator[Batch]:
    start = 0
    names = [column.name for column in relation.columns]
    for batch in batches:
        table = pa.Table.from_batches([batch])
        if by_position and table.num_columns == len(names):
            table = table.rename_columns(names)
        on_bad = bad.add if bad.skip else None
        yield from fit_parts(table, relation, definitions, place_in_file(path, start), on_bad)
        start += batch.num_rows
