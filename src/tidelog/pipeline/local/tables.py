"""A file of a starting table → inserted rows.

Records are as in a feed: columns are found by name, those that the relation does not have are ignored, and a nullable
one may be missing. Text files with exactly the relation's columns, and Parquet, are read by `tidelog.io`, at the speed
of Arrow. Anything else is read record by record.
"""

from __future__ import annotations

import csv
import zlib
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from tidelog.database.transactions.transaction import Transaction
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.io.bad_rows import BadRows, OnBad
from tidelog.io.formats import JSON_LINES, PARQUET
from tidelog.io.headers import names_columns, needed_names
from tidelog.io.read import read_batches
from tidelog.io.rows import Batch
from tidelog.io.tables import columns_help, fit_parts, place_in_file
from tidelog.io.text import open_text
from tidelog.pipeline.bad_records import BadRecords
from tidelog.pipeline.load import load_records
from tidelog.pipeline.local.formats import format_of, has_header
from tidelog.pipeline.local.records import read_records
from tidelog.pipeline.settings import NULL_OPTION, Feed, Place, Table
from tidelog.rules.ir import Kind, Relation, RuleProgram
from tidelog.rules.schema.arrow import is_plain_relation, with_plain_columns
from tidelog.values import Definitions


def load_table(tx: Transaction, files: Iterable[Path], table: Table, program: RuleProgram, bad: BadRecords) -> int:
    """Inserts the rows of all files; returns the number of records. Raises DataError if a file cannot be read."""
    relation = program.relations[table.relation]
    others: list[Path] = []
    count = 0
    for path in files:
        if not _is_usual(path, table.place, relation):
            others.append(path)
            continue
        here, rows = BadRecords(bad.skip, bad.keep), 0
        try:
            for batch in _batches(path, table.place, relation, program, here):
                rows += len(batch)
                tx.insert(relation.name, batch)
        except DataError as error:
            if error.code != Code.UNREADABLE_FILE or not bad.skip:
                raise
            others.append(path)  # perhaps a broken quote; inserting rows of a set again has no effect
            continue
        bad.add_all(here)
        count += rows + here.count
    if others:
        feed = Feed(relation.name, table.place)
        records = chain.from_iterable(read_records(path, feed, relation) for path in others)
        count += load_records(tx, records, feed, program, bad)
    return count


def _is_usual(path: Path, place: Place, relation: Relation) -> bool:
    """True if the file can be read as a whole, with the same rows as record by record."""
    format_ = format_of(place)
    if format_ is JSON_LINES or relation.key is not None or relation.kind is not Kind.SET:
        return False
    if format_ is PARQUET:
        return is_plain_relation(relation)
    if format_.plain or not relation.columns:
        return True
    try:
        with open_text(path) as file:
            cells = next(csv.reader([file.readline()], delimiter=format_.delimiter or ",", strict=True), [])
    except csv.Error:
        return "header" not in place.options
    except (OSError, EOFError, zlib.error):
        return True  # its reader will report the error
    # That is what `tidelog.io` takes for a header.
    return has_header(cells, place, needed_names(relation)) == names_columns(cells, relation)


def _batches(path: Path, place: Place, relation: Relation, program: RuleProgram, bad: BadRecords) -> Iterator[Batch]:
    format_, definitions = format_of(place), program.functions.definitions
    on_bad = partial(bad.add, relation.name)
    if format_ is PARQUET and relation.columns:
        yield from _read_parquet(path, with_plain_columns(relation), definitions, on_bad)
        return
    nulls = frozenset([place.options.get(NULL_OPTION, "")])
    yield from read_batches(path, relation, definitions, BadRows(skip=bad.skip, tell=on_bad), format_, nulls=nulls)


def _read_parquet(path: Path, relation: Relation, definitions: Definitions, on_bad: OnBad) -> Iterator[Batch]:
    declared = [column.name for column in relation.columns]
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            missing = [name for name in declared if name not in file.schema_arrow.names]
            if missing:
                raise DataError(
                    f"{path}: the rows for `{relation.name}` lack the column `{missing[0]}`",
                    code=Code.WRONG_COLUMNS,
                    help=columns_help(relation),
                )
            start = 0
            for batch in file.iter_batches(columns=declared):
                table = pa.Table.from_batches([batch])
                yield from fit_parts(table, relation, definitions, place_in_file(path, start), on_bad)
                start += batch.num_rows
    except (OSError, pa.ArrowInvalid) as error:
        raise DataError(f"{path}: cannot be read: {error}", code=Code.UNREADABLE_FILE) from error
