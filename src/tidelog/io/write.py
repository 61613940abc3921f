"""A relation's rows → a file, in value order, so that equal relations make equal files.

A file appears whole or not at all: it is written beside its place and renamed. Text cells are quoted only where they
have to be (a delimiter, a quote or a line end inside; the empty string in a column of its own).
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from tidelog.check.types import BoolType, StringType
from tidelog.io.formats import NULLARY_COLUMN, NULLARY_LINE, PARQUET, Format
from tidelog.io.sort import sort_by_value
from tidelog.rules.ir import Column, Relation

_ROWS_AT_ONCE = 100_000


def write_table(table: pa.Table, relation: Relation, path: Path, format_: Format) -> None:
    """Writes the rows of a table with the relation's schema. An OSError leaves the old file, if any, as it was."""
    ordered = sort_by_value(table, relation)
    with _replacing(path) as file:
        if format_ is PARQUET:
            pyarrow.parquet.write_table(ordered if relation.columns else _nullary_table(ordered.num_rows), file)
        elif not relation.columns:
            file.write(f"{NULLARY_LINE}\n".encode() * ordered.num_rows)
        else:
            for lines in _lines(ordered, relation, format_.delimiter or ","):
                file.write(lines)


def _lines(table: pa.Table, relation: Relation, delimiter: str) -> Iterator[bytes]:
    yield f"{delimiter.join(column.name for column in relation.columns)}\n".encode()
    for batch in filter(len, table.to_batches(max_chunksize=_ROWS_AT_ONCE)):
        cells = [_cells(array, column, delimiter) for array, column in zip(batch.columns, relation.columns)]
        if len(cells) == 1:
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


def _nullary_table(rows: int) -> pa.Table:
    return pa.table({NULLARY_COLUMN: pa.array([True] * rows, pa.bool_())})


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file beside `path` that takes its place when the block ends well and vanishes when it does not."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with beside.open("xb") as file:
            yield file
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
