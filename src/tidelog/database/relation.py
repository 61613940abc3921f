"""A relation as readers see it: its rows after the last committed epoch.

Each call looks at the state once, so what it returns is of one epoch; an iterator stays on the epoch in which it was
made, whatever is committed meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import pyarrow as pa

from tidelog.database.changes import table_to_pandas
from tidelog.database.session import Session
from tidelog.io.rows import to_row
from tidelog.io.sort import sort_by_value
from tidelog.io.values import Row
from tidelog.rules.ir import Relation
from tidelog.rules.schema import table_to_rows

_ROWS_AT_ONCE = 10_000


class RelationView:
    """The rows of one relation: `rows()`, `len()`, `in`, iteration, and the whole as a table.

    Python rows come in value order; tables come in whatever order is cheapest.
    """

    def __init__(self, session: Session, relation: Relation) -> None:
        self._session = session
        self._relation = relation

    def rows(self) -> list[Row]:
        """All rows, in value order."""
        return table_to_rows(sort_by_value(self.to_arrow(), self._relation), self._relation)

    def to_arrow(self) -> pa.Table:
        """All rows as an Arrow table (`tidelog.rules.schema` says how the types look there)."""
        with self._session.engine() as engine:
            return engine.table(self._relation.name)

    def to_pandas(self) -> Any:
        """All rows as a pandas DataFrame."""
        return table_to_pandas(self.to_arrow())

    def to_spark(self) -> Any:
        """All rows as a Spark DataFrame; only on the Spark engine."""
        with self._session.engine() as engine:
            return engine.frame(self._relation.name)

    def __len__(self) -> int:
        with self._session.engine() as engine:
            return engine.count(self._relation.name)

    def __contains__(self, row: object) -> bool:
        """Whether the row (a tuple, a dict, or for one column a bare value) is there.

        Raises DataError for a row that cannot be there because it does not fit the columns: to look for one is a slip.
        """
        values = to_row(row, self._relation)
        with self._session.engine() as engine:
            return engine.contains(self._relation.name, values)

    def __iter__(self) -> Iterator[Row]:
        """The rows in value order, converted as they are asked for."""
        table = sort_by_value(self.to_arrow(), self._relation)
        parts = (table.slice(start, _ROWS_AT_ONCE) for start in range(0, table.num_rows, _ROWS_AT_ONCE))
        return chain.from_iterable(table_to_rows(part, self._relation) for part in parts)

    def __repr__(self) -> str:
        columns = ", ".join(f"{column.name}: {column.type}" for column in self._relation.columns)
        return f"<{self._relation.role.value} relation {self._relation.name}({columns})>"
