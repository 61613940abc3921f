"""The state of a database on Spark: Parquet files, of which the `manifest` names those that count.

A relation is cut into buckets (one, unless its stratum is decomposed). A bucket is base files and at most one delta
file; a row of the delta replaces the row of the base with the same columns, and a `_total` of 0 marks a deleted row:

    visible = base without the rows of the delta + the rows of the delta with _total > 0

An epoch merges its changes into the old delta and writes a new one, or a new base when the delta would be a large part
of it. So every bucket is read with at most one anti-join, by pyarrow in tasks and by Spark alike.
Files are never changed, and their names never used again. An epoch becomes visible when its manifest has its name:
before that instant nothing has happened, after it everything has.

Columns are named by position (`c0`, `c1`, ...): names of the program may differ only in case, which Spark ignores, or
be the names of the numbers that stand beside them (`_rank`, `_count`, `_total`; a plain set has only `_total`). Their
types are those of `rules.schema.stored`.

The `_total` of a weighted relation is the weight. A row with a negative weight is stored, too, but is not visible. A
stream has no files but those of an epoch's changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.engine.spark.storage.bucket import rows_of_bucket
from tidelog.engine.spark.storage.directory import StateDirectory, plain
from tidelog.rules.ir import Column, Relation
from tidelog.rules.schema.stored import stored_schema

TOTAL = "_total"
NUMBERS = ("_rank", "_count", TOTAL)

DELTA_SHARE = 0.2
"""A delta larger than this part of its base is merged into it."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """The files of one bucket of one relation, with how many rows they have; `rows` of them are visible.

    `keys` is the file with its filters (`key_filters`), if it has any.
    """

    rows: int = 0
    base: tuple[str, ...] = ()
    base_rows: int = 0
    delta: str | None = None
    delta_rows: int = 0
    keys: str | None = None

    @property
    def files(self) -> tuple[str, ...]:
        return (*self.base, *(name for name in (self.delta, self.keys) if name is not None))


@dataclass(frozen=True, slots=True)
class Stored:
    """One relation; `counted` if its rows have their numbers.

    `column` is the position whose value decides the bucket, None when there is only one bucket. `label` names the
    attempt at an epoch in which the relation's stratum was last touched.
    """

    label: str
    counted: bool
    column: int | None
    buckets: tuple[Bucket, ...]

    @property
    def rows(self) -> int:
        return sum(bucket.rows for bucket in self.buckets)

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(name for bucket in self.buckets for name in bucket.files)

    def is_cut(self, cut: Cut) -> bool:
        """True if the requested bucket is one of those stored."""
        return self.column == cut.column and len(self.buckets) == cut.buckets


@dataclass(frozen=True, slots=True)
class Changed:
    """The inserted (a positive `_total`) and deleted (`_total` 0) rows of one relation in an epoch.

    If all rows are inserted, the files may be those of the state. If they are `weighted`, `_total` is the change of the
    row's weight, never 0.
    """

    files: tuple[str, ...]
    inserted: int
    deleted: int
    weighted: bool = False


@dataclass(frozen=True, slots=True)
class Cut:
    """One bucket of many, by the value of a column: the part of a relation for one task."""

    column: int
    buckets: int
    bucket: int


def positional(relation: Relation) -> Relation:
    """Returns the relation with columns named by position, and not functional: tasks do not check that."""
    columns = tuple(Column(f"c{i}", column.type) for i, column in enumerate(relation.columns))
    return replace(relation, columns=columns, functional=0)


def read_rows(
    directory: StateDirectory,
    relation: Relation,
    stored: Stored | None,
    cut: Cut | None = None,
    numbers: bool = False,
    where: pc.Expression | None = None,
) -> pa.Table:
    """Returns the visible rows: `c0`, ... and `_total`, or with `numbers` all three of a counted relation.

    With `where`, a condition on their values, only the rows for which it holds.
    """
    table = _read_stored(directory, relation, stored, cut, list(NUMBERS) if numbers else [TOTAL], where)
    return table.filter(pc.greater(table[TOTAL], 0)) if relation.weighted else table


def read_weights(
    directory: StateDirectory,
    relation: Relation,
    stored: Stored | None,
    cut: Cut | None = None,
    numbers: bool = False,
    where: pc.Expression | None = None,
) -> pa.Table:
    """Returns all rows that have a weight, visible or not, in the form of `read_rows`."""
    return _read_stored(directory, relation, stored, cut, list(NUMBERS) if numbers else [TOTAL], where)


def read_changes(directory: StateDirectory, relation: Relation, changed: Changed) -> pa.Table:
    """Returns inserted (`_total` 1) and deleted (0) rows; weighted rows with the changes of their weights."""
    values = [f"c{i}" for i in range(len(relation.columns))]
    table = _read_files(directory, changed.files, _empty(relation, [*values, TOTAL]))
    total = table[TOTAL] if changed.weighted else pc.cast(pc.greater(table[TOTAL], 0), pa.int64())
    return table.set_column(len(values), TOTAL, total)


def changes_table(values: Sequence[str], inserted: pa.Table, deleted: pa.Table) -> pa.Table:
    """Returns inserted and deleted rows in the form of `read_changes`; further columns are dropped."""
    parts = [
        pa.Table.from_arrays(
            [*(table.column(name) for name in values), pa.repeat(pa.scalar(total, pa.int64()), table.num_rows)],
            names=[*values, TOTAL],
        )
        for table, total in ((inserted, 1), (deleted, 0))
    ]
    return pa.concat_tables(parts)


def sum_weights(tables: Sequence[pa.Table], values: Sequence[str]) -> pa.Table:
    """Returns the sum of `_total` over the tables for each of their rows; no zeros."""
    both = pa.concat_tables([plain(table.select([*values, TOTAL])) for table in tables])
    if values:
        sums = both.group_by(list(values), use_threads=False).aggregate([(TOTAL, "sum")])
        both = sums.rename_columns([*values, TOTAL])
    elif both.num_rows:
        both = pa.table({TOTAL: pa.array([pc.sum(both[TOTAL]).as_py()], pa.int64())})
    return both.filter(pc.not_equal(both[TOTAL], 0))


def negated(table: pa.Table) -> pa.Table:
    """Returns the table with every `_total` negated."""
    place = table.column_names.index(TOTAL)
    return table.set_column(place, TOTAL, pc.negate(table[TOTAL]))


def signed_rows(table: pa.Table, weighted: bool) -> list[tuple[int, pa.Table]]:
    """Returns the rows of `read_changes` by their change of weight: -1 and +1, for weighted ones any number."""
    if not weighted:
        return [(sign, table.filter(pc.equal(table[TOTAL], total))) for sign, total in ((-1, 0), (+1, 1))]
    weights = sorted(pc.unique(table[TOTAL]).to_pylist())
    return [(weight, table.filter(pc.equal(table[TOTAL], weight))) for weight in weights if weight]


def _read_stored(
    directory: StateDirectory,
    relation: Relation,
    stored: Stored | None,
    cut: Cut | None,
    numbers: list[str],
    where: pc.Expression | None,
) -> pa.Table:
    empty = _empty(relation, [*(f"c{i}" for i in range(len(relation.columns))), *numbers])
    if stored is None:
        return empty
    if cut is not None and stored.is_cut(cut):
        return _read_buckets(directory, stored.buckets[cut.bucket : cut.bucket + 1], empty, where)
    table = _read_buckets(directory, stored.buckets, empty, where)
    return table if cut is None else rows_of_bucket(table, cut.column, cut.buckets, cut.bucket)


def read_state(directory: StateDirectory, relation: Relation, files: Sequence[str]) -> pa.Table:
    """Returns all rows of some state files with their numbers, also those with a `_total` of 0."""
    values = [f"c{i}" for i in range(len(relation.columns))]
    return _read_files(directory, files, _empty(relation, [*values, *NUMBERS]))


def _read_buckets(
    directory: StateDirectory, buckets: Sequence[Bucket], empty: pa.Table, where: pc.Expression | None
) -> pa.Table:
    """Returns the visible rows of some buckets, with the columns of `empty`."""
    tables = [empty]
    for bucket in buckets:
        table = _read_files(directory, bucket.base, empty, where)
        if bucket.delta is not None:
            merged = overlay(table, _read_files(directory, (bucket.delta,), empty, where))
            table = merged.filter(pc.not_equal(merged[TOTAL], 0))
        tables.append(table)
    return pa.concat_tables(tables)


def _read_files(
    directory: StateDirectory, names: Sequence[str], empty: pa.Table, where: pc.Expression | None = None
) -> pa.Table:
    """Returns the rows of some files. Spark writes unsigned numbers in types of its own, hence the cast."""
    return pa.concat_tables([empty, *(_read_file(directory, name, empty, where) for name in names)])


def _read_file(directory: StateDirectory, name: str, empty: pa.Table, where: pc.Expression | None) -> pa.Table:
    try:
        return directory.read(name, empty.column_names, where).cast(empty.schema)
    except pa.ArrowNotImplementedError:  # Spark's type cannot be compared with the stored type
        return directory.read(name, empty.column_names).cast(empty.schema).filter(where)


def overlay(below: pa.Table, above: pa.Table) -> pa.Table:
    """Returns both tables' rows; of two rows with the same values, the one from above."""
    values = [name for name in below.column_names if name not in NUMBERS]
    if not above.num_rows:
        return below
    if not values:
        return above
    rest = below.join(above.select(values), values, join_type="left anti", use_threads=False)
    return pa.concat_tables([rest.select(above.column_names), above])


def write_bucket(
    directory: StateDirectory,
    epoch: int,
    name: str,
    old: Bucket,
    rows: int,
    changed: pa.Table,
    whole: Callable[[], pa.Table],
) -> Bucket:
    """Writes the bucket after an epoch with these `changed` rows; `rows` are visible now, and `whole` returns them.

    Costs the delta so far and the change; now and then, when these are a fifth of it, the whole bucket.
    """
    if not changed.num_rows:
        return old
    if old.delta_rows + changed.num_rows > DELTA_SHARE * old.base_rows:
        return write_whole(directory, epoch, name, whole())
    return write_delta(directory, epoch, name, old, rows, changed)


def write_delta(directory: StateDirectory, epoch: int, name: str, old: Bucket, rows: int, changed: pa.Table) -> Bucket:
    """Writes the bucket with `changed` rows merged into its delta."""
    changed = plain(changed)
    if old.delta is not None:
        changed = overlay(directory.read(old.delta, changed.column_names), changed)
    file = directory.new_name(epoch, name, "delta")
    directory.write(file, changed)
    return replace(old, rows=rows, delta=file, delta_rows=changed.num_rows)


def write_whole(directory: StateDirectory, epoch: int, name: str, table: pa.Table) -> Bucket:
    """Writes a bucket with just these rows, of which those with a positive `_total` are visible."""
    if not table.num_rows:
        return Bucket()
    file = directory.new_name(epoch, name, "base")
    directory.write(file, table)
    return Bucket(pc.sum(pc.greater(table[TOTAL], 0)).as_py(), (file,), table.num_rows)


def bucket_from_json(value: Mapping[str, Any]) -> Bucket:
    """Reads the result of `dataclasses.asdict`."""
    return Bucket(**{**value, "base": tuple(value["base"])})


def stored_from_json(value: Mapping[str, Any]) -> Stored:
    """Reads the result of `dataclasses.asdict`."""
    return Stored(**{**value, "buckets": tuple(map(bucket_from_json, value["buckets"]))})


def _empty(relation: Relation, columns: Sequence[str]) -> pa.Table:
    schema = stored_schema(positional(relation))
    numbers = [pa.field(name, pa.int64()) for name in columns if name in NUMBERS]
    return pa.schema([column.with_nullable(True) for column in schema] + numbers).empty_table()
