"""A file of a feed → its records, one by one; parts that are no records are yielded as `BadRecord`.

A CSV or TSV file has a header if its first line has the names of all columns that the feed needs, or if `header` says
so; otherwise its columns are those of the relation, then the operation, then the order. JSON is one object per line,
Parquet has columns by name.
"""

from __future__ import annotations

import csv
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from tidelog.deep_recursion import at_any_depth
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.io.bad_rows import BadRecord
from tidelog.io.formats import JSON_LINES, PARQUET, Format
from tidelog.io.headers import needed_names
from tidelog.io.text import noting, open_text, with_nulls
from tidelog.pipeline.local.formats import format_of, has_header
from tidelog.pipeline.records import Record
from tidelog.pipeline.settings import Feed
from tidelog.rules.ir import Relation

_LONGEST_CELL = 1 << 30


def read_records(path: Path, feed: Feed, relation: Relation) -> Iterator[Record | BadRecord]:
    """Yields the records of one file. Raises DataError if it cannot be read or split into records."""
    format_ = format_of(feed.place)
    try:
        if format_ is PARQUET:
            yield from _read_parquet(path)
        elif format_ is JSON_LINES:
            yield from _read_json(path, feed)
        else:
            with open_text(path) as file:
                yield from read_text(file, str(path), format_, feed, relation)
    except (OSError, EOFError, zlib.error, pa.ArrowInvalid) as error:
        raise DataError(f"{path}: cannot be read: {error}", code=Code.UNREADABLE_FILE) from error


def columns_of(feed: Feed, relation: Relation) -> list[str]:
    """Returns the columns of a text file without a header."""
    names = [column.name for column in relation.columns]
    return names + [name for name in (feed.op, feed.order) if name is not None and name not in names]


def needed_columns(feed: Feed, relation: Relation) -> set[str]:
    """Returns the columns that every record must have."""
    rows = feed.key or needed_names(relation)
    return {*rows, *(name for name in (feed.op, feed.order) if name is not None)}


def read_document(place: str, text: str, feed: Feed) -> Record | BadRecord | None:
    """Returns the record of a JSON text; None for a tombstone, which follows a delete in a feed of envelopes."""
    try:
        document = at_any_depth(json.loads, text)
        reason = "" if isinstance(document, dict) else "the record is not an object"
    except (ValueError, RecursionError) as error:
        document, reason = text, f"the record is not JSON: {error}"
    if feed.is_envelope and _is_tombstone(document):
        return None
    if reason:
        return BadRecord(place, text.strip(), DataError(f"{place}: {reason}", code=Code.NOT_ROWS))
    return Record(place, document)


def _is_tombstone(document: Any) -> bool:
    return document is None or (
        isinstance(document, dict) and "op" not in document and document.get("payload", document) is None
    )


def _read_json(path: Path, feed: Feed) -> Iterator[Record | BadRecord]:
    with open_text(path) as file:
        yield from read_documents(file, str(path), feed)


def read_documents(lines: Iterable[str], file: str, feed: Feed) -> Iterator[Record | BadRecord]:
    """Yields the records of lines of JSON."""
    for number, line in enumerate(lines, 1):
        record = read_document(f"{file}:{number}:1", line, feed) if line.strip() else None
        if record is not None:
            yield record


def _read_parquet(path: Path) -> Iterator[Record]:
    number = 0
    with pyarrow.parquet.ParquetFile(path) as file:
        for batch in file.iter_batches():
            for values in batch.to_pylist():
                number += 1
                yield Record(f"{path}: row {number}", values)


def read_text(
    lines: Iterable[str], file: str, format_: Format, feed: Feed, relation: Relation
) -> Iterator[Record | BadRecord]:
    """Yields the records of a text file. A malformed quote makes a bad record, to the end of its line."""
    names: Sequence[str] | None = None
    taken: list[str] = []
    usual_limit = csv.field_size_limit(_LONGEST_CELL)
    reader = csv.reader(
        noting(lines, taken),
        delimiter=format_.delimiter or ",",
        quoting=csv.QUOTE_NONE if format_.plain else csv.QUOTE_MINIMAL,
        strict=True,
    )
    try:
        while True:
            place = f"{file}:{reader.line_num + 1}:1"
            taken.clear()
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                wrong = DataError(f"{place}: a quoted cell is not well formed: {error}", code=Code.UNREADABLE_FILE)
                yield BadRecord(place, "".join(taken).rstrip("\r\n"), wrong)
                continue
            if names is None:
                is_header = not format_.plain and has_header(cells, feed.place, needed_columns(feed, relation))
                names = cells if is_header else columns_of(feed, relation)
                if is_header:
                    continue
            if not cells:
                continue
            if len(cells) != len(names):
                yield _wrong_length(place, cells, names, format_)
            else:
                yield Record(place, dict(zip(names, with_nulls(cells, taken, format_))), is_text=True)
    finally:
        csv.field_size_limit(usual_limit)


def _wrong_length(place: str, cells: Sequence[str], names: Sequence[str], format_: Format) -> BadRecord:
    error = DataError(
        f"{place}: the line has {len(cells)} cell{'s' if len(cells) != 1 else ''} where there are {len(names)} columns",
        code=Code.WRONG_VALUE_COUNT,
        help=f"the columns are {', '.join(names)}",
    )
    return BadRecord(place, (format_.delimiter or ",").join(cells), error)
