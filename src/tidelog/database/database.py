"""A program with its state: facts go in through transactions, changes and relations come out.

One writer at a time; readers, in any thread, see the last committed epoch.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self

from tidelog.database.changes import Changes
from tidelog.database.relation import RelationView
from tidelog.database.session import Session, declared, unknown_relation
from tidelog.database.transaction import Transaction
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.engine.interface import Engine, EpochReport
from tidelog.rules.ir import RuleProgram


class Database:
    """Made by `program.open()`; closes itself at the end of a `with` block."""

    def __init__(self, program: RuleProgram, engine: Engine) -> None:
        try:
            opening = engine.open()
        except BaseException:
            engine.close()
            raise
        self._session = Session(program, engine, opening.report)
        self._initial = Changes(self._session, opening.changes)

    @property
    def initial(self) -> Changes:
        """The changes of opening: what the facts in the program's text imply."""
        return self._initial

    @property
    def report(self) -> EpochReport:
        """What the last epoch did and cost; right after opening, that of opening (epoch 0)."""
        return self._session.report

    def transaction(self) -> Transaction:
        """A transaction, to be used as `with db.transaction() as tx:`."""
        return Transaction(self._session)

    def relation(self, name: str) -> RelationView:
        """The rows of any declared relation after the last committed epoch."""
        relations = declared(self._session.program)
        if name not in relations:
            raise unknown_relation(name, relations, UsageError, Code.UNKNOWN_RELATION_NAME)
        return RelationView(self._session, relations[name])

    def close(self) -> None:
        """Frees the state; a second call does nothing. An open transaction is lost: its commit will raise."""
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._session.is_closed else f"epoch {self.report.epoch}"
        return f"<Database on {self._session.engine_name}, {state}>"
