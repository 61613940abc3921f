"""A file of a feed → its records, one by one; what cannot be taken apart comes as a `BadRecord`.

A CSV or TSV file has a header when its first line has the names of all columns that the feed needs, or when `header`
says so; otherwise its columns are those of the relation, then the operation, then the order. JSON is one object per
line, Parquet has columns by name.
"""

from __future__ import annotations

import csv
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.io.formats import JSON_LINES, PARQUET, Format
from tidelog.io.text import open_text
from tidelog.pipeline.local.formats import format_of
from tidelog.pipeline.records import BadRecord, Record
from tidelog.pipeline.settings import Feed
from tidelog.rules.ir import Relation
from tidelog.values.deep import at_any_depth

_LONGEST_CELL = 1 << 30


def read_records(path: Path, feed: Feed, relation: Relation) -> Iterator[Record | BadRecord]:
    """The records of one file. Raises DataError when it cannot be read, or not be taken apart into records."""
    format_ = format_of(feed.place)
    try:
        if format_ is PARQUET:
            yield from _read_parquet(path)
        elif format_ is JSON_LINES:
            yield from _read_json(path)
        else:
            yield from _read_text(path, format_, feed, relation)
    except (OSError, EOFError, zlib.error, pa.ArrowInvalid) as error:
        raise DataError(f"{path}: cannot be read: {error}", code=Code.UNREADABLE_FILE) from error


def columns_of(feed: Feed, relation: Relation) -> list[str]:
    """The columns of a text file without a header."""
    names = [column.name for column in relation.columns]
    return names + [name for name in (feed.op, feed.order) if name is not None and name not in names]


def needed_columns(feed: Feed, relation: Relation) -> set[str]:
    """The columns that every record has to have."""
    rows = feed.key or [column.name for column in relation.columns]
    return {*rows, *(name for name in (feed.op, feed.order) if name is not None)}


def _read_json(path: Path) -> Iterator[Record | BadRecord]:
    with open_text(path, path.name.endswith(".gz")) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            place = f"{path}:{number}:1"
            try:
                document = at_any_depth(json.loads, line)
                reason = "" if isinstance(document, dict) else "the line is not an object"
            except (ValueError, RecursionError) as error:
                document, reason = None, f"the line is not JSON: {error}"
            if reason:
                yield BadRecord(place, line.strip(), DataError(f"{place}: {reason}", code=Code.NOT_ROWS))
            else:
                yield Record(place, document)


def _read_parquet(path: Path) -> Iterator[Record]:
    number = 0
    with pyarrow.parquet.ParquetFile(path) as file:
        for batch in file.iter_batches():
            for values in batch.to_pylist():
                number += 1
                yield Record(f"{path}: row {number}", values)


def _read_text(path: Path, format_: Format, feed: Feed, relation: Relation) -> Iterator[Record | BadRecord]:
    names: Sequence[str] | None = None
    header = "false" if format_.plain else feed.place.options.get("header")
    usual_limit = csv.field_size_limit(_LONGEST_CELL)
    with open_text(path, path.name.endswith(".gz")) as file:
        reader = csv.reader(
            file,
            delimiter=format_.delimiter or ",",
            quoting=csv.QUOTE_NONE if format_.plain else csv.QUOTE_MINIMAL,
            strict=True,
        )
        line = 1
        try:
            for cells in reader:
                place, line = f"{path}:{line}:1", reader.line_num + 1
                if names is None:
                    is_header = header == "true" or (header is None and needed_columns(feed, relation) <= set(cells))
                    names = cells if is_header else columns_of(feed, relation)
                    if is_header:
                        continue
                if not cells:
                    continue
                if len(cells) != len(names):
                    yield _wrong_length(place, cells, names, format_)
                else:
                    yield Record(place, dict(zip(names, cells)), is_text=True)
        except csv.Error as error:
            raise DataError(
                f"{path}:{line}:1: a quoted cell is not well formed: {error}", code=Code.UNREADABLE_FILE
            ) from error
        finally:
            csv.field_size_limit(usual_limit)


def _wrong_length(place: str, cells: Sequence[str], names: Sequence[str], format_: Format) -> BadRecord:
    error = DataError(
        f"{place}: the line has {len(cells)} cell{'s' if len(cells) != 1 else ''} where there are {len(names)} columns",
        code=Code.WRONG_VALUE_COUNT,
        help=f"the columns are {', '.join(names)}",
    )
    return BadRecord(place, (format_.delimiter or ",").join(cells), error)
