"""The interface between a database and its engine, local or Spark.

Rows cross it as lists of tuples of Python values (`tidelog.values`), those of plain relations also as Arrow tables
with the schema of `rules.schema.arrow_schema(relation)`, or, on Spark, as DataFrames with the same column names. Tables
of other relations hold encoded values (`rules.schema.stored`); `rows` is for those. An engine holds the committed
state; `commit` either moves it to the next epoch or raises and leaves it exactly as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from tidelog.engine.kept_changes import KeptEpoch
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
    "Reads",
    "Row",
    "StratumReport",
]


@dataclass(frozen=True, slots=True)
class Operation:
    """One call of a transaction: `sign` is +1 for insert, -1 for delete. `rows` is the result of `Engine.stage`.

    For a multiset `sign` may be any number: each of the rows adds it to its weight.
    """

    relation: str
    sign: int
    rows: Any


Row = tuple[Any, ...]

ProgressCallback = Callable[[Sequence[str], int], None]
"""Called with the relations of the stratum under way, and its round; 0 before the first."""


class ChangeRows(Protocol):
    """The inserted and deleted rows of one output relation in one epoch."""

    def weights(self) -> list[tuple[Row, int]]:
        """Returns each changed row once, with the change of its weight: +1 or -1 except in multisets and streams."""

    def inserted(self) -> pa.Table: ...
    def deleted(self) -> pa.Table: ...
    def inserted_count(self) -> int: ...
    def deleted_count(self) -> int: ...
    def inserted_frame(self) -> Any:
        """Returns a Spark DataFrame with the changes of weights as `_weight`. Raises UsageError without a session."""

    def deleted_frame(self) -> Any: ...


BeforeCommit = Callable[[int, Mapping[str, ChangeRows]], object] | None
"""Called with the number of an epoch that is about to be committed, and its changes by output relation."""


@dataclass(frozen=True, slots=True)
class NewRules:
    """A change of rules: the rule set after this epoch, and the calls of the transaction that made it, +1 for a text
    that was added, -1 for one that was removed.
    """

    rules: RuleSet
    calls: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of `commit`. `changes` has the output relations that changed, in the order of the program."""

    changes: Mapping[str, ChangeRows]
    report: EpochReport


class Queries(Protocol):
    """Explanations and queries of the committed state, in Python values."""

    def explain(self, relation: str, row: Row, *, shortest: bool = False) -> Proof | None:
        """Returns a proof of a row; None if the row is absent."""

    def why_not(self, relation: str, row: Row, *, depth: int = 1) -> tuple[FailedMatch, ...] | None:
        """Returns how far each rule of the relation matches for an absent row; None if the row is present.

        With a `depth` above 1, rows that rules miss are explained in the same way, so many levels down.
        """

    def evaluate(
        self,
        query: Query,
        *,
        limit: int | None = None,
        deadline: float | None = None,
        is_cancelled: Callable[[], bool] | None = None,
    ) -> list[Row]:
        """Returns the distinct rows of a query, in no particular order.

        With a `limit`, the search ends when so many are found. Raises EvaluationError after `deadline` seconds, and
        once `is_cancelled` returns true.
        """


class Reads(Protocol):
    """The committed state of one epoch, for readers in any thread, whatever is committed meanwhile.

    `rules` is the rule set of the epoch, None if it is the one with which the engine was opened.
    """

    @property
    def epoch(self) -> int: ...

    @property
    def program(self) -> RuleProgram: ...

    @property
    def rules(self) -> RuleSet | None: ...

    def table(self, relation: str) -> pa.Table:
        """Returns the rows, in no particular order."""

    def rows(self, relation: str) -> list[tuple[Row, int]]:
        """Returns the rows as Python values, each with its weight, in no particular order."""

    def lookup(self, relation: str, columns: tuple[int, ...], key: Row) -> list[Row]:
        """Returns the rows with these values in these columns, in no particular order."""

    def frame(self, relation: str) -> Any:
        """Returns the rows as a Spark DataFrame."""

    def count(self, relation: str) -> int: ...

    def contains(self, relation: str, row: Row) -> bool: ...

    def queries(self) -> Queries:
        """Returns the queries of the state. Raises UsageError if there are none."""

    def hold(self) -> Reads:
        """Pins the state once more: a `release` has to follow. To be called while it is pinned."""

    def release(self) -> None:
        """Ends one pin. After the last one the state must not be read."""


class Engine(Protocol):
    """The state of one database. Not thread-safe, except `pin` and its result: `Database` holds the lock."""

    name: str

    @property
    def program(self) -> RuleProgram:
        """The current rules."""

    def open(self) -> Outcome:
        """Derives what the program's own facts imply; called once, before anything else. Epoch 0."""

    def stage(self, relation: str, rows: Any) -> Any:
        """Accepts the rows of one call: an Arrow table of the relation's schema, a list, on Spark also a DataFrame.

        Raises DataError for rows that do not fit. The result goes into an `Operation`.
        """

    def stage_more(self, relation: str, staged: Any, rows: Any) -> Any | None:
        """Adds a further part of the same call to staged rows; returns the staged rows of both, or None if each part
        is to be staged by itself.
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

        With `rules` the epoch begins with other rules, and the operations are on the relations of the new program.

        `before_commit` is called with the epoch's number and its changes when only writing the epoch to disk can still
        fail; if it raises, the epoch is rolled back. The marks are set in the same step, even if there is no epoch.
        """

    @property
    def marks(self) -> Marks:
        """The marks that commits have set, also those of earlier sessions of a durable database."""

    def kept_since(self) -> int | None:
        """Returns the epoch after which all changes are kept; None if the database keeps none."""

    def kept_changes(self, epoch: int) -> KeptEpoch:
        """Returns the kept changes of an epoch. Raises UsageError if they are gone."""

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

    def pin(self) -> Reads:
        """Pins the last commit, also while an epoch runs, and returns its state."""

    def facts(self, relation: str) -> list[tuple[Row, int]]:
        """Returns the committed facts that transactions gave to an input relation, each with its weight."""

    def check_writable(self) -> None:
        """Raises where the database can only be read."""

    def stored_rules(self) -> RuleSet | None:
        """Returns the rules of the last commit, if they are stored with the state."""

    def refresh(self) -> tuple[Engine, EpochReport] | None:
        """Returns an engine with the last commit of the process that writes; None where that process is this one."""

    def profile(self) -> Profile:
        """Returns the costs of the epochs and the size of the state. Raises UsageError if the engine has no profile."""

    def cancel(self) -> bool:
        """Cancels the epoch that runs in another thread, which then raises; False if none runs or it cannot end."""

    def on_progress(self, tell: ProgressCallback | None) -> None:
        """Calls `tell` in later epochs when a stratum begins, and now and then with its round; None ends it."""

    def close(self) -> None: ...
