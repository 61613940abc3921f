"""What a database asks of an engine, whatever runs it: the local one or Spark.

Rows cross this border as lists of tuples of Python values (`tidelog.values`), those of plain relations also as Arrow
tables with the schema of `rules.schema.arrow_schema(relation)`, or, on Spark, as DataFrames with the same column names.
Tables of other relations hold encoded values (`rules.stored`); `rows` is for those. An engine holds the
committed state; `commit` either moves it to the next epoch or raises and leaves it exactly as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from tidelog.engine.marks import Marks
from tidelog.engine.proof import FailedMatch, Proof
from tidelog.maintain.profile import Profile
from tidelog.maintain.report import EpochReport, StratumReport
from tidelog.rules.ir import RuleProgram
from tidelog.rules.lower.query import Query
from tidelog.rules.rule_changes.rule_set import RuleSet

__all__ = [
    "BeforeCommit",
    "ChangeRows",
    "Engine",
    "EpochReport",
    "NewRules",
    "Operation",
    "Outcome",
    "ProgressCallback",
    "Queries",
    "Row",
    "StratumReport",
]


@dataclass(frozen=True, slots=True)
class Operation:
    """One call of a transaction: `sign` is +1 for insert, -1 for delete. `rows` is what `Engine.stage` returned.

    For a multiset `sign` may be any number: it is what each of the rows adds to its weight.
    """

    relation: str
    sign: int
    rows: Any


Row = tuple[Any, ...]

ProgressCallback = Callable[[Sequence[str], int], None]
"""Is told of the relations of the stratum that is evaluated now, and of its round; 0 before the first."""


class ChangeRows(Protocol):
    """The rows of one output relation that came and went in one epoch."""

    def weights(self) -> list[tuple[Row, int]]:
        """Returns each changed row once, with the change of its weight: +1 or -1 except in multisets and streams."""

    def inserted(self) -> pa.Table: ...
    def deleted(self) -> pa.Table: ...
    def inserted_count(self) -> int: ...
    def deleted_count(self) -> int: ...
    def inserted_frame(self) -> Any:
        """The same as a Spark DataFrame, with what their weights changed by as `_weight`; an engine without a session
        raises UsageError."""

    def deleted_frame(self) -> Any: ...


BeforeCommit = Callable[[int, Mapping[str, ChangeRows]], object] | None
"""Is told of an epoch that is about to be committed, and of its changes by output relation."""


@dataclass(frozen=True, slots=True)
class NewRules:
    """What an epoch does to the rules: those that there are to be, and the calls of the transaction that made them,
    +1 for a text that was added, -1 for one that was removed."""

    rules: RuleSet
    calls: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What `commit` hands back. `changes` has the output relations that changed, in the order of the program."""

    changes: Mapping[str, ChangeRows]
    report: EpochReport


class Queries(Protocol):
    """Answers questions about the committed state; what it is told and says are Python values."""

    def explain(self, relation: str, row: Row, *, shortest: bool = False) -> Proof | None:
        """Returns a proof of a row; None if the row is absent."""

    def why_not(self, relation: str, row: Row) -> tuple[FailedMatch, ...] | None:
        """Returns how far each rule of the relation matches for an absent row; None if the row is present."""

    def evaluate(self, query: Query) -> list[Row]:
        """Returns the distinct rows of a query, in no particular order."""


class Engine(Protocol):
    """The state of one database. Not thread-safe: `Database` holds the lock."""

    name: str

    @property
    def program(self) -> RuleProgram:
        """The rules as they are now."""

    def open(self) -> Outcome:
        """Derives what the program's own facts imply; called once, before anything else. Epoch 0."""

    def stage(self, relation: str, rows: Any) -> Any:
        """Accepts the rows of one call: an Arrow table of the relation's schema or a list of rows; on Spark also a
        DataFrame.

        Raises DataError for rows that do not fit; what it returns goes into an `Operation`.
        """

    def commit(
        self,
        operations: Sequence[Operation],
        before_commit: BeforeCommit = None,
        *,
        marks: Marks | None = None,
        rules: NewRules | None = None,
    ) -> Outcome | None:
        """Applies the operations in order; None when their net effect is empty (then there is no epoch).

        With `rules` the epoch begins with other rules, and the operations are those of the program that they make.

        `before_commit` is called with the epoch's number and its changes when nothing but writing it down can fail any
        more; if it raises, the epoch is undone. The marks that are given are set in the same step, whether there is an
        epoch or not.
        """

    @property
    def marks(self) -> Marks:
        """Those that commits have set; in a durable database they last."""

    def table(self, relation: str) -> pa.Table:
        """Returns the committed rows, in no particular order."""

    def rows(self, relation: str) -> list[tuple[Row, int]]:
        """Returns the committed rows as Python values, each with its weight, in no particular order."""

    def lookup(self, relation: str, columns: tuple[int, ...], key: Row) -> list[Row]:
        """Returns the committed rows with these values in these columns, in no particular order."""

    def frame(self, relation: str) -> Any:
        """Returns the committed rows as a Spark DataFrame."""

    def count(self, relation: str) -> int: ...

    def contains(self, relation: str, row: Row) -> bool: ...

    def queries(self) -> Queries:
        """Returns the queries of the committed state, until the next epoch. Raises UsageError if there are none."""

    def facts(self, relation: str) -> list[tuple[Row, int]]:
        """Returns the committed facts that transactions gave to an input relation, each with its weight."""

    def check_writable(self) -> None:
        """Raises where the database can only be read."""

    def stored_rules(self) -> RuleSet | None:
        """Returns the rules of the last commit, if they are stored with the state."""

    def refresh(self) -> tuple[Engine, EpochReport] | None:
        """The engine with the last commit of the process that writes, this one or another that takes its place; None
        where that process is this one."""

    def profile(self) -> Profile:
        """Returns the costs of the epochs and the size of the state. Raises UsageError if the engine has no profile."""

    def cancel(self) -> bool:
        """Ends the epoch that runs in another thread, which then raises; False when none does (or it cannot end)."""

    def on_progress(self, tell: ProgressCallback | None) -> None:
        """Tells, in epochs from now on, of each stratum when it begins and now and then of its round; where the engine
        knows. None ends it."""

    def close(self) -> None: ...
