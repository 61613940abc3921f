"""A database under test, driven by the oracle's histories: transactions in, rows and changes out, as Python values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, cast

import tidelog
from tests.oracle.history import RuleCall, Transaction
from tests.oracle.program import Program
from tests.oracle.recount import RowState
from tests.oracle.types import Relations, Row, Type, Value
from tests.oracle.write import write, write_call
from tidelog.database.database import Database
from tidelog.engine.interface import Engine
from tidelog.rules.ir import RuleProgram

Changes = dict[str, tuple[frozenset[Row], frozenset[Row]]]
PYTHON_TYPES = {"bool": bool, "string": str, "bit": int, "signed": int}


class AbandonedError(Exception):
    """Raised by a failing transaction's own code."""


class Replay:
    """One open database. Every answer is checked for duplicates and for values of the wrong Python type."""

    def __init__(
        self,
        program: Program,
        engine: str | Callable[[RuleProgram], Engine] = "local",
        text: str | None = None,
        **options: Any,
    ) -> None:
        """`engine` is a name, or makes an engine that needs more than the public options say.

        `text` is the program as its author wrote it, if there is an author.
        """
        self.program = program
        self.strategy = options.get("strategy", "elastic")
        compiled = tidelog.compile(write(program) if text is None else text)
        if isinstance(engine, str):
            self.database = compiled.open(engine=engine, **options)
        else:
            self.database = Database(compiled.stages.rules, engine(compiled.stages.rules))
        self.reports: list[Any] = []

    def __enter__(self) -> Replay:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.database.close()

    def initial(self) -> Changes:
        """The changes of opening."""
        return self._changes(self.database.initial)

    def run(self, transaction: Transaction, rules: Sequence[RuleCall] = ()) -> Changes:
        """Makes the transaction, with changes of rules in its midst; its changes, none if it fails or comes to
        nothing."""
        middle = len(transaction.writes) // 2
        try:
            with self.database.transaction() as tx:
                for call in transaction.writes[:middle]:
                    (tx.insert if call.sign > 0 else tx.delete)(call.relation, list(call.rows))
                for change in rules:
                    (tx.add_rules if change.sign > 0 else tx.remove_rules)(write_call(change))
                for call in transaction.writes[middle:]:
                    (tx.insert if call.sign > 0 else tx.delete)(call.relation, list(call.rows))
                if transaction.fails:
                    raise AbandonedError
        except AbandonedError:
            return {}
        if tx.report is not None:
            self.reports.append(tx.report)
        return self._changes(tx.changes)

    def relations(self) -> Relations:
        """The rows of every relation of the program."""
        return {
            relation.name: self._rows(relation.columns, self.database.relation(relation.name).rows())
            for relation in self.program.relations
        }

    def state(self) -> dict[str, dict[Row, RowState]]:
        """The ranked state of every relation of the program."""
        result = {}
        for relation in self.program.relations:
            with self.database._locked.engine() as engine:
                table = cast(Any, engine).state_table(relation.name)
            *columns, rank, count, total, is_input = (column.to_pylist() for column in table.columns)
            wide = [type_.width > 64 for type_ in relation.columns]
            columns = [[int(v) for v in column] if w else column for column, w in zip(columns, wide, strict=True)]
            rows = list(zip(*columns)) if columns else [()] * table.num_rows
            result[relation.name] = {
                row: RowState(*numbers) for row, *numbers in zip(rows, rank, count, total, map(bool, is_input))
            }
        return result

    def counts(self) -> dict[str, dict[Row, dict[int, int]]]:
        """With the strategy `counting`: the instances per iteration of every row of a derived relation."""
        with self.database._locked.engine() as engine:
            exported = {name: cast(Any, engine).export_counts(name) for name in self.program.derived}
        return {name: {row: dict(numbers) for row, numbers in rows} for name, rows in exported.items()}

    def _changes(self, changes: Any) -> Changes:
        found = {}
        for relation in self.program.named("output"):
            delta = changes[relation.name]
            inserted = self._rows(relation.columns, delta.inserted)
            deleted = self._rows(relation.columns, delta.deleted)
            if inserted or deleted:
                found[relation.name] = (inserted, deleted)
        return found

    @staticmethod
    def _rows(columns: tuple[Type, ...], rows: Iterable[Row]) -> frozenset[Row]:
        listed = [tuple(row) for row in rows]
        for row in listed:
            assert len(row) == len(columns), f"{row} has {len(row)} columns, not {len(columns)}"
            assert all(_fits(value, type_) for value, type_ in zip(row, columns)), f"{row} is not of types {columns}"
        assert len(set(listed)) == len(listed), f"a row stands more than once in {listed}"
        return frozenset(listed)


def _fits(value: Value, type_: Type) -> bool:
    if type(value) is not PYTHON_TYPES[type_.kind]:
        return False
    match type_:
        case Type("bit", width):
            return 0 <= cast(int, value) < 1 << width
        case Type("signed", width):
            return -1 << (width - 1) <= cast(int, value) < 1 << (width - 1)
        case _:
            return True
