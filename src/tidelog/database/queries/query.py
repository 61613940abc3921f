"""The text of a query → its answer: rows with a column for each of its variables.

    db.query('Reach("a", x), Cost(x, c), c < 10')                   columns x, c
    db.query("Reach($from, x)", params={"from": "a"})               column x

The query is compiled alone, with the names of the program; the program's own rules are not compiled again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from tidelog.check.check_query import TypedQuery, check_query
from tidelog.check.program import TypedProgram
from tidelog.database.tabular import Tabular
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import ProgramError, UsageError
from tidelog.diagnostics.report import diagnostic
from tidelog.diagnostics.shown import Shown, Table
from tidelog.diagnostics.spans import Source
from tidelog.diagnostics.suggest import did_you_mean
from tidelog.diagnostics.wording import listed
from tidelog.io.fit import fitter
from tidelog.io.sort import sort_rows
from tidelog.io.to_python import dump_json, json_form, rows_to_table
from tidelog.io.user_values import user_rows
from tidelog.io.values import Row, UnfitError, parameter_misfit
from tidelog.rules.ir import Relation, RuleProgram
from tidelog.rules.lower.query import Query, lower_query
from tidelog.syntax.parse_query import ParsedQuery, parse_query
from tidelog.types import written_type
from tidelog.values import Definitions, record_writer


class Answer(Tabular, Shown):
    """The rows of a query, distinct and in value order. A query without variables has the row `()`, or none.

    It has `len()`, `[]`, `in` and iteration, as a list has. It is no `Sequence`: polars would read one row by row,
    without the names of its columns.

    `columns` are the names of the query's variables, in the order in which they are bound. `is_cut` is true if the
    search ended at the `limit` of the query, so that there may be more rows. An `Option` is None or the bare value.
    """

    def __init__(self, relation: Relation, rows: list[Row], definitions: Definitions, is_cut: bool = False) -> None:
        self.columns = tuple(column.name for column in relation.columns)
        self._canonical = rows
        self.is_cut = is_cut
        self._relation = relation
        self._definitions = definitions

    @cached_property
    def rows(self) -> list[Row]:
        """The rows as tuples."""
        return user_rows(self._canonical, self._relation, self._definitions)

    def __len__(self) -> int:
        return len(self._canonical)

    def __getitem__(self, place: Any) -> Any:
        return self.rows[place]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Returns the rows as dicts by column name."""
        return [dict(zip(self.columns, row)) for row in self.rows]

    def to_arrow(self) -> pa.Table:
        """Returns the rows as an Arrow table. Raises UsageError for a column of functions."""
        return rows_to_table(self._canonical, self._relation, self._definitions)

    def write(self, path: str | os.PathLike[str], *, null: str = "") -> None:
        """Writes the rows to a file; the ending of its name tells the format, as in `tx.load`.

        `null` is the cell of a text file for null.
        """
        from tidelog.io.write import write_file  # not before: to load it takes longer than many a small program runs

        write_file(self._canonical, self._relation, self._definitions, Path(path), null)

    def to_json(self) -> str:
        """Returns the rows as a JSON array of objects, on one line."""
        forms = [json_form(column.type, self._definitions) for column in self._relation.columns]
        return dump_json(
            [{name: form(value) for name, form, value in zip(self.columns, forms, row)} for row in self._canonical]
        )

    def to_text(self) -> str:
        """Writes one line for each row, `x = "b", c = 7`; `true` or `false` for a query without variables."""
        if not self.columns:
            return "true" if self._canonical else "false"
        return "\n".join(self._lines(""))

    def record_lines(self) -> list[str]:
        """Writes the rows as the fields of a record: `.x = "b", .c = 7`."""
        return self._lines(".")

    def _lines(self, mark: str) -> list[str]:
        columns = self._relation.columns
        writers = [(f"{mark}{each.name} = ", record_writer(each.type, self._definitions)) for each in columns]
        return [
            ", ".join(f"{label}{write(value)}" for (label, write), value in zip(writers, row))
            for row in self._canonical
        ]

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        count = f"{len(self):,} row{'' if len(self) == 1 else 's'}{', cut at the limit,' if self.is_cut else ''}"
        return f"<Answer: {count} of ({', '.join(self.columns)})>"

    def _tables(self) -> Iterator[Table]:
        """Yields the first rows."""
        headings = [f"{column.name}: {written_type(column.type)}" for column in self._relation.columns]
        yield Table(repr(self)[1:-1], headings, self.rows, len(self))


def compile_query(
    text: str,
    typed: TypedProgram,
    rules: RuleProgram,
    params: Mapping[str, Any] | None = None,
    read: Callable[[Source], ParsedQuery] = parse_query,
) -> Query:
    """Checks and lowers a query, which `read` parses. Its parameters get their values as typed constants.

    Raises ProgramError with all errors, DataError for a value that does not fit its parameter, UsageError for a value
    without a parameter, or for a missing extern.
    """
    checked = check_query(read(Source("<query>", text)), typed)
    values = _fitted({} if params is None else params, checked, rules.functions.definitions)
    return lower_query(checked, values, typed, rules)


def answer(query: Query, rows: list[Row], limit: int | None = None) -> Answer:
    """Makes an answer of an engine's rows, of which there are at most `limit`."""
    return Answer(query.answer, sort_rows(rows), query.functions.definitions, is_cut=len(rows) == limit)


def _fitted(params: Any, query: TypedQuery, definitions: Definitions) -> dict[str, Any]:
    """Returns the canonical values of the parameters, by their names with the `$`."""
    if not isinstance(params, Mapping):
        raise UsageError(
            f"`params` is {params!r}; it must have a value for each name",
            code=Code.UNKNOWN_PARAMETER,
            help='for example `db.query("Reach($a, x)", params={"a": "home"})`',
        )
    missing = [
        diagnostic(
            Code.MISSING_PARAMETER,
            f"no value is given for the parameter `{name}`",
            query.places[name],
            f"a {type_}",
            help=f'give it one: `params={{"{name[1:]}": ...}}`',
        )
        for name, type_ in query.parameters.items()
        if name[1:] not in params
    ]
    if missing:
        raise ProgramError(tuple(sorted(missing, key=lambda each: each.span.start)))
    for name in params:
        if f"${name}" not in query.parameters:
            known = [each[1:] for each in query.parameters]
            plain = str(name).removeprefix("$")
            otherwise = f"its parameters are {listed(f'${each}' for each in known)}" if known else "it has none"
            raise UsageError(
                f"the query has no parameter `${plain}`" if plain == name else f"{name!r} is no name of a parameter",
                code=Code.UNKNOWN_PARAMETER,
                help=f"write `{plain!r}`, without the `$`" if plain in known else did_you_mean(plain, known, otherwise),
            )
    values = {}
    for name, type_ in query.parameters.items():
        try:
            values[name] = fitter(type_, definitions)(params[name[1:]])
        except UnfitError as error:
            raise parameter_misfit(name, error) from None
    return values
