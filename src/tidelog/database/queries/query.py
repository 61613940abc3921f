"""The text of a query → its answer: rows with a column for each of its variables.

    db.query('Reach("a", x), Cost(x, c), c < 10')        columns x, c

The query is compiled alone, with the names of the program; the program's own rules are not compiled again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from tidelog.check.check_query import check_query
from tidelog.check.program import TypedProgram
from tidelog.database.transactions.changes import table_to_pandas
from tidelog.diagnostics.spans import Source
from tidelog.io.sort import sort_rows
from tidelog.io.to_python import dump_json, json_form, rows_to_table
from tidelog.io.values import Row
from tidelog.rules.ir import Relation, RuleProgram
from tidelog.rules.lower.query import Query, lower_query
from tidelog.syntax.parse_query import parse_query
from tidelog.values import Definitions, record_writer


class Answer(Sequence[Row]):
    """The rows of a query, distinct and in value order. A query without variables has the row `()`, or none.

    `columns` are the names of the query's variables, in the order in which they are bound.
    """

    def __init__(self, relation: Relation, rows: list[Row], definitions: Definitions) -> None:
        self.columns = tuple(column.name for column in relation.columns)
        self.rows = rows
        self._relation = relation
        self._definitions = definitions

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: Any) -> Any:
        return self.rows[place]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Returns the rows as dicts by column name."""
        return [dict(zip(self.columns, row)) for row in self.rows]

    def to_arrow(self) -> pa.Table:
        """Returns the rows as an Arrow table. Raises UsageError for a column of functions."""
        return rows_to_table(self.rows, self._relation, self._definitions)

    def to_pandas(self) -> Any:
        """Returns the rows as a pandas DataFrame."""
        return table_to_pandas(self.to_arrow(), self._relation)

    def to_json(self) -> str:
        """Returns the rows as a JSON array of objects, on one line."""
        forms = [json_form(column.type, self._definitions) for column in self._relation.columns]
        return dump_json(
            [{name: form(value) for name, form, value in zip(self.columns, forms, row)} for row in self.rows]
        )

    def to_text(self) -> str:
        """Writes one line for each row, `x = "b", c = 7`; `true` or `false` for a query without variables."""
        if not self.columns:
            return "true" if self.rows else "false"
        return "\n".join(self._lines(""))

    def record_lines(self) -> list[str]:
        """Writes the rows as the fields of a record: `.x = "b", .c = 7`."""
        return self._lines(".")

    def _lines(self, mark: str) -> list[str]:
        columns = self._relation.columns
        writers = [(f"{mark}{each.name} = ", record_writer(each.type, self._definitions)) for each in columns]
        return [", ".join(f"{label}{write(value)}" for (label, write), value in zip(writers, row)) for row in self.rows]

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<Answer: {len(self)} rows of ({', '.join(self.columns)})>"


def compile_query(text: str, typed: TypedProgram, rules: RuleProgram) -> Query:
    """Checks and lowers a query. Raises ProgramError with all errors, UsageError for a missing extern."""
    rule, missing = check_query(parse_query(Source("<query>", text)), typed)
    return lower_query(rule, missing, typed, rules)


def answer(query: Query, rows: list[Row]) -> Answer:
    """Makes an answer of an engine's rows."""
    return Answer(query.answer, sort_rows(rows), query.functions.definitions)
