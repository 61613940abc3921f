"""A relation for readers: its rows after the last committed epoch.

Each call reads the state once, so its result is of one epoch; an iterator stays on the epoch in which it was made,
whatever is committed meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from tidelog.database.queries.source import Source
from tidelog.database.tabular import Tabular
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.diagnostics.html import SHOWN
from tidelog.diagnostics.shown import Shown, Table
from tidelog.diagnostics.suggest import did_you_mean
from tidelog.diagnostics.wording import listed
from tidelog.io.fit import fitter
from tidelog.io.rows import Batch, to_row
from tidelog.io.sort import sort_by_value, sort_rows, sorted_rows
from tidelog.io.to_python import rows_to_table
from tidelog.io.user_values import user_rows, user_weights
from tidelog.io.values import Row, UnfitError, misfit
from tidelog.rules.ir import Kind, Relation
from tidelog.rules.schema.arrow import is_plain_relation, table_to_rows
from tidelog.types import written_type

_ROWS_AT_ONCE = 10_000
_SORTED_FOR_A_GLANCE = 100_000


class RelationView(Tabular, Shown):
    """The rows of one relation: `rows()`, `len()`, `in`, iteration, and the whole as a table.

    Python rows are in value order; tables are in whatever order is cheapest. An `Option` is None or the bare value.
    """

    is_read_by_position = True
    """Given as rows of another relation, it is read by position (`io.tables.as_arrow`)."""

    def __init__(self, source: Source, relation: Relation) -> None:
        self._source = source
        self._relation = relation

    def rows(self) -> list[Row]:
        """Returns all rows, in value order; each row of a multiset that has a positive weight once."""
        if not is_plain_relation(self._relation):
            return self._given(self._present_rows())
        return sorted_rows(self.to_arrow(), self._relation)

    def weights(self) -> list[tuple[Row, int]]:
        """Returns all rows with their weights, in value order. A weight is 1; in a multiset any number but 0."""
        return user_weights(self._canonical_weights(), self._relation, self._source.definitions)

    def _canonical_weights(self) -> list[tuple[Row, int]]:
        """Returns what `weights` does with the values of the language: an `Option` is `Some{…}` or `None{}`."""
        with self._source.reads() as reads:
            found = reads.rows(self._relation.name)
        return sort_rows(found)

    def lookup(self, **columns: Any) -> list[Row]:
        """Returns the rows that have these values in these columns, in value order; all rows without any.

        The first call with a set of columns makes an index on them, which later epochs keep up to date. Raises
        DataError for a column that is not there, or a value that does not fit.
        """
        return self._given(self._canonical_lookup(columns))

    def _canonical_lookup(self, columns: Mapping[str, Any]) -> list[Row]:
        """Returns what `lookup` does with the values of the language: an `Option` is `Some{…}` or `None{}`."""
        places = {column.name: place for place, column in enumerate(self._relation.columns)}
        key = tuple(self._fitted(name, value, places) for name, value in columns.items())
        if not columns:
            return self._present_rows()
        with self._source.reads() as reads:
            found = reads.lookup(self._relation.name, tuple(places[name] for name in columns), key)
        return sort_rows(found)

    def to_arrow(self) -> pa.Table:
        """Returns all rows as an Arrow table, with the types of `tidelog.rules.schema.arrow`."""
        with self._source.reads() as reads:
            if is_plain_relation(self._relation):
                return reads.table(self._relation.name)
            found = reads.rows(self._relation.name)
        return rows_to_table([row for row, weight in found if weight > 0], self._relation, self._source.definitions)

    def write(self, path: str | os.PathLike[str], *, null: str = "") -> None:
        """Writes all rows to a file, in value order; the ending of its name tells the format, as in `tx.load`.

            db.relation("Reach").write("out.parquet")

        A row of a multiset is written as often as its weight. `null` is the cell of a text file for null. The file
        appears whole or not at all. Raises UsageError for a name that tells no format, and for a file that cannot be
        written.
        """
        rows: Batch
        if self._relation.kind is Kind.SET:
            rows = self.to_arrow() if is_plain_relation(self._relation) else self._present_rows()
        else:
            rows = [row for row, weight in self._canonical_weights() for _ in range(weight)]
        from tidelog.io.write import write_file  # not before: to load it takes longer than many a small program runs

        write_file(rows, self._relation, self._source.definitions, Path(path), null)

    def to_spark(self) -> Any:
        """Returns all rows as a Spark DataFrame; only on the Spark engine."""
        with self._source.reads() as reads:
            return reads.frame(self._relation.name)

    def __len__(self) -> int:
        with self._source.reads() as reads:
            return reads.count(self._relation.name)

    def __contains__(self, row: object) -> bool:
        """True if the row (a tuple, a dict, or for one column a bare value) is there.

        Raises DataError for a row that does not fit the columns, since looking for such a row is a mistake.
        """
        values = to_row(row, self._relation, self._source.definitions)
        with self._source.reads() as reads:
            return reads.contains(self._relation.name, values)

    def __iter__(self) -> Iterator[Row]:
        """Yields the rows in value order, converted one by one."""
        if not is_plain_relation(self._relation):
            return iter(self.rows())
        table = sort_by_value(self.to_arrow(), self._relation)
        parts = (table.slice(start, _ROWS_AT_ONCE) for start in range(0, table.num_rows, _ROWS_AT_ONCE))
        return chain.from_iterable(table_to_rows(part, self._relation) for part in parts)

    def __repr__(self) -> str:
        columns = ", ".join(f"{column.name}: {written_type(column.type)}" for column in self._relation.columns)
        return f"<{self._relation.role.value} {self._relation.kind.value} {self._relation.name}({columns})>"

    def _tables(self) -> Iterator[Table]:
        """Yields the first rows, in value order unless there are too many to sort."""
        total = len(self)
        rows: Iterable[Row] = self
        if total > _SORTED_FOR_A_GLANCE and is_plain_relation(self._relation):
            rows = table_to_rows(self.to_arrow().slice(0, SHOWN), self._relation)
        headings = [f"{column.name}: {written_type(column.type)}" for column in self._relation.columns]
        caption = f"{self._relation.role.value} {self._relation.kind.value} {self._relation.name}"
        yield Table(f"{caption}, {total:,} row{'' if total == 1 else 's'}", headings, rows, total)

    def _present_rows(self) -> list[Row]:
        return [row for row, weight in self._canonical_weights() if weight > 0]

    def _given(self, rows: list[Row]) -> list[Row]:
        return user_rows(rows, self._relation, self._source.definitions)

    def _fitted(self, name: str, value: Any, places: Mapping[str, int]) -> Any:
        if name not in places:
            raise DataError(
                f"`{self._relation.name}` has no column `{name}` to look up",
                code=Code.WRONG_COLUMNS,
                help=did_you_mean(name, places, f"the columns are {listed(places)}"),
            )
        column = self._relation.columns[places[name]]
        try:
            return fitter(column.type, self._source.definitions)(value)
        except UnfitError as error:
            raise misfit("the lookup", self._relation, column, error) from None
