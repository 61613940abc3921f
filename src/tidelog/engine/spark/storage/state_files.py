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
from math import inf
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.engine.spark.encoding.scaled import from_files, scaled_type, to_files
from tidelog.engine.spark.storage.bucket import rows_of_bucket
from tidelog.engine.spark.storage.directory import StateDirectory, plain
from tidelog.engine.storage_errors import damaged
from tidelog.rules.ir import Column, Relation
from tidelog.rules.schema.arrow import plain_type
from tidelog.rules.schema.stored import stored_schema
from tidelog.types import StringType

TOTAL = "_total"
NUMBERS = ("_rank", "_count", TOTAL)
_RANK = NUMBERS[0]
_LARGEST_RANK = (1 << 30) - 1  # what the local engine has bits for

DELTA_SHARE = 0.2
"""A delta larger than this part of its base is merged into it."""

DELTAS_SHARE = 1.0
"""So is one when the deltas that were written since the base, each with all rows that changed since then, have more
rows together than this part of the base: from there on, writing the base costs no more than not writing it did."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """The files of one bucket of one relation, with how many rows they have; `rows` of them are visible.

    `keys` is the file with its filters (`key_filters`), if it has any. `written` are the rows of all deltas that were
    written since the base, this one included.
    """

    rows: int = 0
    base: tuple[str, ...] = ()
    base_rows: int = 0
    delta: str | None = None
    delta_rows: int = 0
    keys: str | None = None
    written: int = 0

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


def value_names(relation: Relation) -> list[str]:
    """Returns the names of a relation's columns in files and frames."""
    return [f"c{i}" for i in range(len(relation.columns))]


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
    table = read_weights(directory, relation, stored, cut, numbers, where)
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
    form = _Form.of(relation, NUMBERS if numbers else (TOTAL,))
    if stored is None:
        return form.empty
    if cut is not None and stored.is_cut(cut):
        return _read_buckets(directory, stored.buckets[cut.bucket : cut.bucket + 1], form, where)
    table = _read_buckets(directory, stored.buckets, form, where)
    return table if cut is None else rows_of_bucket(table, cut.column, cut.buckets, cut.bucket)


def read_part(directory: StateDirectory, relation: Relation, stored: Stored | None, cut: Cut | None) -> pa.Table:
    """Returns the rows of a counted relation with their numbers: those of a bucket, which the files may be cut by or
    not. Holds the rows of one stored bucket beside them."""
    if stored is None or cut is None or stored.is_cut(cut):
        return read_weights(directory, relation, stored, cut, numbers=True)
    form = _Form.of(relation, NUMBERS)
    parts = (_read_buckets(directory, [bucket], form, None) for bucket in stored.buckets)
    mine = [rows_of_bucket(part, cut.column, cut.buckets, cut.bucket) for part in parts]
    return pa.concat_tables([form.empty, *mine])


def read_changes(directory: StateDirectory, relation: Relation, changed: Changed) -> pa.Table:
    """Returns inserted (`_total` 1) and deleted (0) rows; weighted rows with the changes of their weights."""
    table = _read_files(directory, changed.files, _Form.of(relation, (TOTAL,)))
    return table if changed.weighted else with_total(table, pc.cast(pc.greater(table[TOTAL], 0), pa.int64()))


def read_values(directory: StateDirectory, relation: Relation, files: Sequence[str]) -> pa.Table:
    """Returns the columns of all rows of some files, without numbers, which the files need not have."""
    return _read_files(directory, files, _Form.of(relation, ()))


def read_state(directory: StateDirectory, relation: Relation, files: Sequence[str]) -> pa.Table:
    """Returns all rows of some state files with their numbers, also those with a `_total` of 0."""
    return _read_files(directory, files, _Form.of(relation, NUMBERS))


def changes_table(values: Sequence[str], inserted: pa.Table, deleted: pa.Table) -> pa.Table:
    """Returns inserted and deleted rows in the form of `read_changes`; further columns are dropped."""
    parts = [
        pa.Table.from_arrays([*table.select(values).columns, all_of(total, table.num_rows)], names=[*values, TOTAL])
        for table, total in ((inserted, 1), (deleted, 0))
    ]
    return pa.concat_tables(parts)


def write_changes(
    directory: StateDirectory, epoch: int, relation: Relation, inserted: pa.Table, deleted: pa.Table
) -> Changed | None:
    """Writes inserted and deleted rows of a relation to a file of the epoch; None if there are none."""
    if not inserted.num_rows and not deleted.num_rows:
        return None
    file = directory.new_name(epoch, relation.name, "changes")
    directory.write(file, changes_table(value_names(relation), inserted, deleted))
    return Changed((file,), inserted.num_rows, deleted.num_rows)


def write_weights(directory: StateDirectory, epoch: int, relation: Relation, weights: pa.Table) -> Changed | None:
    """Writes changes of the weights of a relation to a file of the epoch; None if there are none."""
    if not weights.num_rows:
        return None
    file = directory.new_name(epoch, relation.name, "changes")
    directory.write(file, weights)
    more = pc.sum(pc.greater(weights[TOTAL], 0)).as_py()
    return Changed((file,), more, weights.num_rows - more, weighted=True)


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
    return with_total(table, pc.negate(table[TOTAL]))


def as_weights(changes: pa.Table) -> pa.Table:
    """Returns inserted (`_total` 1) and deleted (0) rows as changes of weights: 1 and -1."""
    return with_total(changes, pc.subtract(pc.multiply(changes[TOTAL], 2), 1))


def as_facts(rows: pa.Table, weighted: bool) -> pa.Table:
    """Returns rows with their weights as `_total` in the form of `LocalEngine.load`, with the numbers of facts."""
    return with_input(numbered(rows if weighted else with_total(rows, all_of(1, rows.num_rows))), True)


def numbered(rows: pa.Table) -> pa.Table:
    """Returns rows, with `_total` as the last column, with the rank and the count of facts in front of it."""
    *values, total = rows.columns
    arrays = [*values, all_of(0, rows.num_rows), all_of(1, rows.num_rows), total]
    return pa.Table.from_arrays(arrays, names=[*rows.column_names[:-1], *NUMBERS])


def with_input(table: pa.Table, is_input: bool) -> pa.Table:
    """Returns the table with a column that is True for input facts."""
    return table.append_column("_input", pa.repeat(pa.scalar(is_input), table.num_rows))


def with_total(table: pa.Table, total: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Returns the table with another `_total`."""
    return table.set_column(table.column_names.index(TOTAL), TOTAL, total)


def all_of(number: int, rows: int) -> pa.Array:
    """Returns a column of so many rows that have the same number."""
    return pa.repeat(pa.scalar(number, pa.int64()), rows)


def signed_rows(table: pa.Table, weighted: bool) -> list[tuple[int, pa.Table]]:
    """Returns the rows of `read_changes` by their change of weight: -1 and +1, for weighted ones any number."""
    if not weighted:
        return [(sign, table.filter(pc.equal(table[TOTAL], total))) for sign, total in ((-1, 0), (+1, 1))]
    weights = sorted(pc.unique(table[TOTAL]).to_pylist())
    return [(weight, table.filter(pc.equal(table[TOTAL], weight))) for weight in weights if weight]


@dataclass(frozen=True, slots=True)
class _Form:
    """The columns of a table to read, those of them that have a value in every row, and those of integers as text."""

    empty: pa.Table
    required: tuple[str, ...]
    integers: tuple[str, ...]
    weighted: bool

    @staticmethod
    def of(relation: Relation, numbers: Sequence[str]) -> _Form:
        schema = stored_schema(positional(relation))
        fields = [*(each.with_nullable(True) for each in schema), *(pa.field(name, pa.int64()) for name in numbers)]
        required = (*(each.name for each in schema if not each.nullable), *numbers)
        integers = [
            each.name
            for each, column in zip(schema, relation.columns)
            if pa.types.is_string(each.type) and not isinstance(plain_type(column.type), StringType)
        ]
        return _Form(pa.schema(fields).empty_table(), required, tuple(integers), relation.weighted)


def _read_buckets(
    directory: StateDirectory, buckets: Sequence[Bucket], form: _Form, where: pc.Expression | None
) -> pa.Table:
    """Returns the rows of some buckets that have a weight."""
    tables = [form.empty]
    for bucket in buckets:
        table = _read_files(directory, bucket.base, form, where)
        delta = _read_files(directory, (bucket.delta,) if bucket.delta is not None else (), form, where)
        if where is None and (table.num_rows, delta.num_rows) != (bucket.base_rows, bucket.delta_rows):
            raise damaged(directory.address, f"the files {', '.join(bucket.files)} have rows too many or too few")
        if bucket.delta is not None:
            merged = overlay(table, delta)
            table = merged.filter(pc.not_equal(merged[TOTAL], 0))
        visible = pc.sum(pc.greater(table[TOTAL], 0)).as_py() or 0
        if where is None and (visible != bucket.rows or (visible != table.num_rows and not form.weighted)):
            raise damaged(directory.address, f"the files {', '.join(bucket.files)} have other rows than were written")
        tables.append(table)
    return pa.concat_tables(tables)


def _read_files(
    directory: StateDirectory, names: Sequence[str], form: _Form, where: pc.Expression | None = None
) -> pa.Table:
    """Returns the rows of some files. Spark writes unsigned numbers in types of its own, hence the cast."""
    return pa.concat_tables([form.empty, *(_read_file(directory, name, form, where) for name in names)])


def _read_file(directory: StateDirectory, name: str, form: _Form, where: pc.Expression | None) -> pa.Table:
    columns, schema = form.empty.column_names, form.empty.schema
    try:
        if where is not None and any(scaled_type(field.type) is not None for field in schema):
            # A file has other types for these; a condition on them would compare other numbers.
            table = from_files(directory.read(name, columns), schema).filter(where)
        else:
            table = _read_where(directory, name, schema, where)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, ValueError, KeyError) as error:
        raise damaged(directory.address, f"its file {name} does not have the columns of its relation") from error
    if reason := _wrong_values(table, form):
        raise damaged(directory.address, f"its file {name} {reason}")
    return table


def _read_where(directory: StateDirectory, name: str, schema: pa.Schema, where: pc.Expression | None) -> pa.Table:
    if where is not None and pa.uint64() in schema.types and directory.has_decimals(name):
        # Spark writes such numbers as decimals, which Arrow does not compare with them.
        return from_files(directory.read(name, schema.names), schema).filter(where)
    try:
        return from_files(directory.read(name, schema.names, where), schema)
    except pa.ArrowNotImplementedError:  # Spark's type cannot be compared with the stored type
        return from_files(directory.read(name, schema.names), schema).filter(where)


def _wrong_values(table: pa.Table, form: _Form) -> str:
    """Says which values are not such that Tidelog writes: somebody may have made up the file; "" where all are."""
    for name in form.required:
        if table[name].null_count:
            return f"has rows without a value in `{name}`"
    for name in form.integers:
        if not pc.all(pc.match_substring_regex(table[name], r"^-?[0-9]+$"), min_count=0).as_py():
            return f"has a text in `{name}` that is no integer"
    if _RANK in form.required and table.num_rows:
        ranks = pc.min_max(table[_RANK]).as_py()
        if ranks["min"] < 0 or ranks["max"] > _LARGEST_RANK:
            return "has a rank that no row can have"
    return ""


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

    Costs the delta so far and the change; now and then the whole bucket: when these are a fifth of it, or all deltas
    since the base are as large as the base.
    """
    if not changed.num_rows:
        return old
    if not fits_delta(old, changed.num_rows):
        return write_whole(directory, epoch, name, whole())
    return write_delta(directory, epoch, name, old, rows, changed)


def fits_delta(old: Bucket, changed: int, most: float = inf) -> bool:
    """True if so many changed rows are to be merged into the delta of a bucket, and not into its base."""
    delta = old.delta_rows + changed
    return delta <= min(DELTA_SHARE * old.base_rows, most) and old.written + delta <= DELTAS_SHARE * old.base_rows


def write_delta(directory: StateDirectory, epoch: int, name: str, old: Bucket, rows: int, changed: pa.Table) -> Bucket:
    """Writes the bucket with `changed` rows merged into its delta."""
    changed = to_files(plain(changed))
    if old.delta is not None:
        changed = overlay(directory.read(old.delta, changed.column_names), changed)
    file = directory.new_name(epoch, name, "delta")
    directory.write(file, changed)
    written = old.written + changed.num_rows
    return replace(old, rows=rows, delta=file, delta_rows=changed.num_rows, written=written)


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


def changed_from_json(value: Mapping[str, Any] | None) -> Changed | None:
    """Reads the result of `dataclasses.asdict`, or None."""
    return None if value is None else Changed(**{**value, "files": tuple(value["files"])})


def stored_from_json(value: Mapping[str, Any]) -> Stored:
    """Reads the result of `dataclasses.asdict`."""
    return Stored(**{**value, "buckets": tuple(map(bucket_from_json, value["buckets"]))})
