"""The changes of an epoch: for each output relation the exact rows that were inserted and deleted.

A `Delta` keeps the rows in the engine's form and converts on request. Python rows are in value order; tables are in
whatever order is cheapest. Summed over all epochs, the changes of a relation are its contents.

The rows of a plain set go through Arrow, which sorts and converts whole columns; all others, and those with weights, go
through Python values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any

import pyarrow as pa

from tidelog.database.locked_engine import LockedEngine
from tidelog.database.tabular import Tabular
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.diagnostics.shown import Shown, Table
from tidelog.engine.interface import ChangeRows
from tidelog.io.rows import WORTH_A_TABLE
from tidelog.io.sort import sort_by_value, sort_rows
from tidelog.io.to_python import rows_to_table
from tidelog.io.user_values import user_rows, user_weights
from tidelog.io.values import Row
from tidelog.rules.ir import Kind, Relation
from tidelog.rules.schema.arrow import arrow_schema, is_plain_relation, table_to_rows

WEIGHT = "_weight"


class Delta(Tabular, Shown):
    """The rows of one relation that were inserted and deleted in one epoch.

    `len()` is the number of rows that changed; iteration gives `(row, weight)` in value order, with the weight +1
    for an inserted row and -1 for a deleted one. In multisets and streams the weight is the change of the row's weight;
    each row occurs once. An `Option` is None or the bare value.

    >>> with db.transaction() as tx:
    ...     tx.delete("Edge", [("b", "c")])
    >>> list(tx.changes["Reach"])
    [(('a', 'c'), -1), (('b', 'c'), -1)]
    """

    def __init__(self, locked: LockedEngine, relation: Relation, rows: ChangeRows | None) -> None:
        self._locked = locked
        self._relation = relation
        self._rows = rows

    @cached_property
    def inserted(self) -> list[Row]:
        """The inserted rows (or those with more weight now), in value order."""
        return self._tuples(+1)

    @cached_property
    def deleted(self) -> list[Row]:
        """The deleted rows (or those with less weight now), in value order."""
        return self._tuples(-1)

    def to_arrow(self) -> pa.Table:
        """Returns the relation's columns and `_weight` (int64): +1 for an inserted row, -1 for a deleted one."""
        self._check_weight_is_free()
        if is_plain_relation(self._relation) and self._relation.kind is Kind.SET:
            return self._weighted_table()
        rows = rows_to_table([row for row, _ in self._weights], self._relation, self._locked.definitions)
        return rows.append_column(WEIGHT, pa.array([weight for _, weight in self._weights], pa.int64()))

    def to_spark(self) -> Any:
        """Returns `to_arrow()` as a Spark DataFrame; only on the Spark engine."""
        self._check_weight_is_free()
        if self._rows is None:
            with self._locked.reads() as reads:
                nothing = reads.frame(self._relation.name).limit(0)
            from pyspark.sql.functions import lit

            return nothing.withColumn(WEIGHT, lit(0).cast("bigint"))
        with self._locked.while_reading_changes():
            return self._rows.deleted_frame().unionByName(self._rows.inserted_frame())

    def __len__(self) -> int:
        return sum(self._counts())

    def __iter__(self) -> Iterator[tuple[Row, int]]:
        if not self._is_table:
            return iter(user_weights(self._weights, self._relation, self._locked.definitions))
        merged = sort_by_value(self._weighted_table(), self._relation)
        weights = merged.column(merged.num_columns - 1).to_pylist()
        return iter(list(zip(table_to_rows(merged, self._relation), weights)))

    def _canonical_weights(self) -> list[tuple[Row, int]]:
        """Returns what iteration gives with the values of the language: an `Option` is `Some{…}` or `None{}`."""
        return list(self) if self._is_table else self._weights

    def __repr__(self) -> str:
        inserted, deleted = self._counts()
        return f"<Delta {self._relation.name}: +{inserted} -{deleted}>"

    def _tables(self) -> Iterator[Table]:
        """Yields the first rows that changed, each with its weight."""
        inserted, deleted = self._counts()
        headings = [*(column.name for column in self._relation.columns), "weight"]
        rows = ((*row, f"{weight:+d}") for row, weight in self)
        yield Table(f"{self._relation.name}: +{inserted:,} -{deleted:,}", headings, rows, len(self))

    @cached_property
    def _is_table(self) -> bool:
        """True if the rows go through Arrow: faster for many rows; for a few, loading Arrow costs more."""
        is_plain = is_plain_relation(self._relation) and self._relation.kind is Kind.SET
        return is_plain and len(self) >= WORTH_A_TABLE

    @cached_property
    def _weights(self) -> list[tuple[Row, int]]:
        if self._rows is None:
            return []
        with self._locked.while_reading_changes():
            weights = self._rows.weights()
        return sort_rows(weights)

    def _counts(self) -> tuple[int, int]:
        if self._rows is None:
            return 0, 0
        with self._locked.while_reading_changes():
            return self._rows.inserted_count(), self._rows.deleted_count()

    def _table(self, sign: int) -> pa.Table:
        if self._rows is None:
            return arrow_schema(self._relation).empty_table()
        with self._locked.while_reading_changes():
            return self._rows.inserted() if sign > 0 else self._rows.deleted()

    def _weighted_table(self) -> pa.Table:
        return pa.concat_tables([_weighted(self._table(sign), sign) for sign in (-1, +1)])

    def _tuples(self, sign: int) -> list[Row]:
        if self._is_table:
            return table_to_rows(sort_by_value(self._table(sign), self._relation), self._relation)
        rows = [row for row, weight in self._weights if weight * sign > 0]
        return user_rows(rows, self._relation, self._locked.definitions)

    def _check_weight_is_free(self) -> None:
        if any(column.name == WEIGHT for column in self._relation.columns):
            raise UsageError(
                f"`{self._relation.name}` has a column `{WEIGHT}` of its own, so its changes do not fit in one table",
                code=Code.RESERVED_COLUMN,
                help="use `.inserted` and `.deleted`, or iterate",
            )


class Changes(Mapping[str, Delta], Shown):
    """The changes of one epoch, by output relation.

    Like a `Counter`, it iterates over the relations that changed, in the program's order, and gives an empty `Delta`
    for an output relation that did not change. Any other name is an error.

    >>> with db.transaction() as tx:
    ...     tx.insert("Host", ["z"])
    >>> tx.changes
    <Changes Alone: +1 -0>
    >>> list(tx.changes), tx.changes["Reach"].inserted
    (['Alone'], [])
    """

    def __init__(
        self,
        locked: LockedEngine,
        rows: Mapping[str, ChangeRows],
        epoch: int | None = None,
        committed_at: datetime | None = None,
    ) -> None:
        self._locked = locked
        self._rows = rows
        self.epoch = epoch
        """The number of the epoch; None of a commit without net effect."""
        self.committed_at = committed_at
        """The time of the commit, for the kept changes of an earlier epoch."""

    def __getitem__(self, name: str) -> Delta:
        self._locked.check_has_changes(name)
        return Delta(self._locked, self._locked.outputs[name], self._rows.get(name))

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        deltas = (repr(delta).removeprefix("<Delta ").removesuffix(">") for delta in self.values())
        return f"<Changes {', '.join(deltas) or 'none'}>"

    def _tables(self) -> Iterator[Table]:
        """Yields each relation that changed, with its first rows."""
        for delta in self.values():
            yield from delta._tables()

    def _text(self, width: int) -> str:
        return super()._text(width) or "no changes"

    def _repr_html_(self) -> str:
        return super()._repr_html_() or "<p>no changes</p>"


def _weighted(table: pa.Table, sign: int) -> pa.Table:
    return table.append_column(WEIGHT, pa.array([sign] * table.num_rows, pa.int64()))
