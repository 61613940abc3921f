"""A transaction: writes gathered in call order, applied as one epoch at the end of a `with` block.

Each call checks its rows completely before it counts, so a call that raises leaves the transaction as it was. An
exception that leaves the block undoes everything; so does a commit that fails.
"""

from __future__ import annotations

from enum import Enum
from types import TracebackType
from typing import Any, Self

from tidelog.database.changes import Changes
from tidelog.database.session import Session, declared, unknown_relation
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import TransactionError, UsageError
from tidelog.engine.interface import EpochReport, Operation
from tidelog.io.rows import to_table
from tidelog.io.tables import is_spark_frame
from tidelog.rules.ir import Relation, Role


class _State(Enum):
    NEW = "not begun"
    OPEN = "open"
    COMMITTED = "committed"
    ROLLED_BACK = "rolled back"


class Transaction:
    """Made by `db.transaction()` and used in a `with` block: it commits at the end and rolls back on an exception."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._state = _State.NEW
        self._operations: list[Operation] = []
        self._changes: Changes | None = None
        self._report: EpochReport | None = None

    def insert(self, relation: str, rows: Any) -> None:
        """Adds rows to an input relation; rows that are there already stay as they are.

        Rows are tuples, lists or dicts (for a relation of one column also bare values), an Arrow table, a pandas or
        polars DataFrame; on the Spark engine also a Spark DataFrame.
        """
        self._write(relation, +1, rows)

    def delete(self, relation: str, rows: Any) -> None:
        """Removes rows from an input relation; rows that are not there do no harm. Takes what `insert` takes."""
        self._write(relation, -1, rows)

    @property
    def changes(self) -> Changes:
        """What the commit changed, by output relation. Raises TransactionError before the commit."""
        if self._changes is None:
            raise self._not_committed("changes")
        return self._changes

    @property
    def report(self) -> EpochReport | None:
        """What the epoch did and cost; None when the writes had no net effect, for then there is no epoch."""
        if self._state is not _State.COMMITTED:
            raise self._not_committed("report")
        return self._report

    def __enter__(self) -> Self:
        if self._state is not _State.NEW:
            raise TransactionError(
                f"the transaction is {self._state.value} and cannot begin again",
                code=Code.TRANSACTION_OVER,
                help="make a new one with `db.transaction()`",
            )
        self._session.begin(self)
        self._state = _State.OPEN
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        operations, self._operations = self._operations, []
        self._state = _State.ROLLED_BACK
        try:
            if kind is None:
                self._commit(operations)
        finally:
            self._session.end(self)

    def __repr__(self) -> str:
        writes = f", {len(self._operations)} writes" if self._state is _State.OPEN else ""
        return f"<Transaction {self._state.value}{writes}>"

    def _write(self, name: str, sign: int, rows: Any) -> None:
        if self._state is not _State.OPEN:
            raise TransactionError(
                f"the transaction is {self._state.value}; it takes no more writes"
                if self._state is not _State.NEW
                else "the transaction has not begun",
                code=Code.TRANSACTION_OVER,
                help="write inside `with db.transaction() as tx:`",
            )
        relation = self._input(name, "insert into" if sign > 0 else "delete from")
        if not is_spark_frame(rows):
            # Outside the lock: the rows may be a generator that reads this very database.
            rows = to_table(rows, relation)
        elif self._session.engine_name != "spark":
            raise UsageError(
                f"a Spark DataFrame was given to the {self._session.engine_name} engine",
                code=Code.SPARK_FOR_LOCAL_ENGINE,
                help="pass `rows.toArrow()`, or open the program with `engine='spark'`",
            )
        with self._session.engine() as engine:
            staged = engine.stage(name, rows)
        self._operations.append(Operation(name, sign, staged))

    def _input(self, name: str, verb: str) -> Relation:
        relations = declared(self._session.program)
        relation = relations.get(name)
        if relation is None:
            raise unknown_relation(
                name, declared(self._session.program, Role.INPUT), TransactionError, Code.WRITE_TO_UNKNOWN_RELATION
            )
        if relation.role is not Role.INPUT:
            raise TransactionError(
                f"cannot {verb} `{name}`: it is an {relation.role.value} relation, and its rows are derived",
                code=Code.WRITE_TO_DERIVED_RELATION,
                help=f"declare it as `input relation {name}(...)`, or write to the relations that its rules read",
            )
        return relation

    def _commit(self, operations: list[Operation]) -> None:
        with self._session.engine() as engine:
            outcome = engine.commit(operations)
            if outcome is not None:
                self._session.report = outcome.report
        self._changes = Changes(self._session, outcome.changes if outcome else {})
        self._report = outcome.report if outcome else None
        self._state = _State.COMMITTED

    def _not_committed(self, what: str) -> TransactionError:
        return TransactionError(
            f"the transaction is {self._state.value}; it has no {what}",
            code=Code.NOT_COMMITTED,
            help=f"read `tx.{what}` after the `with` block" if self._state is _State.OPEN else None,
        )
