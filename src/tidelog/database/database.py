"""A program with its state: transactions write facts; relations, queries and changes are read.

One writer at a time; readers, in any thread, see the last committed epoch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from tidelog.database.locked_engine import LockedEngine, unknown_relation
from tidelog.database.queries.relation import RelationView
from tidelog.database.transactions.changes import Changes, Delta
from tidelog.database.transactions.transaction import Transaction
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.diagnostics.shown import Shown, Table
from tidelog.diagnostics.suggest import did_you_mean
from tidelog.diagnostics.wording import listed
from tidelog.engine.interface import Engine, EpochReport
from tidelog.io.rows import to_row
from tidelog.io.sort import sort_rows
from tidelog.io.user_values import user_rows
from tidelog.io.values import Row
from tidelog.maintain.limits import positive, positive_whole
from tidelog.rules.ir import Index, Relation, Role, RuleProgram

if TYPE_CHECKING:
    from tidelog.database.program.relations import Relations
    from tidelog.database.queries.explain import Explanation
    from tidelog.database.queries.query import Answer
    from tidelog.database.queries.why_not import WhyNot
    from tidelog.database.storage.migration.plan import MigrationPlan
    from tidelog.maintain.profile import Profile
    from tidelog.rules.rule_changes.rule_set import RuleSet


class Database(Shown):
    """Made by `program.open()`; closes itself at the end of a `with` block.

    >>> with program.open() as other:
    ...     with other.transaction() as tx:
    ...         tx.insert("Edge", [("a", "b"), ("b", "c")])
    ...     other.relation("Reach").rows()
    [('a', 'b'), ('a', 'c'), ('b', 'c')]
    """

    def __init__(
        self, program: RuleProgram, engine: Engine, rules: RuleSet | None = None, migration: MigrationPlan | None = None
    ) -> None:
        """`rules` are those of the program; without them queries cannot be checked, nor rules change."""
        try:
            opening = engine.open()
        except BaseException:
            engine.close()
            raise
        self._locked = LockedEngine(program, engine, opening.report, rules)
        self._initial = Changes(self._locked, opening.changes)
        self._migration = migration

    @property
    def initial(self) -> Changes:
        """The changes of opening: the rows that the facts in the program's text imply."""
        return self._initial

    @property
    def migration(self) -> MigrationPlan | None:
        """What opening with `migrate` has done; None if there was nothing to do."""
        return self._migration

    @property
    def report(self) -> EpochReport:
        """The report of the last epoch; right after opening, that of opening (epoch 0)."""
        return self._locked.report

    def transaction(self) -> Transaction:
        """Returns a transaction, to be used as `with db.transaction() as tx:`, or with `begin()` and `commit()`."""
        return Transaction(self._locked)

    def relation(self, name: str) -> RelationView:
        """Returns a view of any declared relation after the last committed epoch.

        >>> reach = db.relation("Reach")
        >>> len(reach), ("a", "c") in reach, reach.lookup(src="a")
        (3, True, [('a', 'b'), ('a', 'c')])
        """
        return RelationView(self._locked, self._relation(name))

    @property
    def relations(self) -> Relations:
        """The declared relations by name, with columns, types, role, kind, and the rows after the last commit.

        >>> db.relations["Reach"].rows
        3
        """
        from tidelog.database.program.relations import Relations

        with self._locked.engine() as engine:
            relations = self._locked.relations
            return Relations(relations, {name: engine.count(name) for name in relations})

    def on_change(self, relation: str, callback: Callable[[Delta], Any]) -> Callable[[], None]:
        """Calls `callback(delta)` after every commit that changes an output relation, from the next one on.

            >>> stop = db.on_change("Reach", lambda delta: print(delta.inserted, delta.deleted))
            >>> with db.transaction() as tx:
            ...     tx.insert("Edge", [("x", "y")])
            [('x', 'y')] []
            >>> stop()

        Returns a function that unsubscribes the callback. Callbacks run in the committing thread, in commit order, when
        the commit is on the disk; `db.report` is that of the epoch. They may read the database, but not write to it. An
        error in a callback is logged to `tidelog`; the commit stands. Raises UsageError if `relation` is not an output.
        """
        self._locked.check_has_changes(relation)
        if not callable(callback):
            raise UsageError(
                f"the callback for `{relation}` is {callback!r}, which cannot be called",
                code=Code.NOT_A_CALLBACK,
                help=f'pass a function of the delta: `db.on_change("{relation}", lambda delta: print(delta.inserted))`',
            )
        return self._locked.listeners.add(relation, callback)

    def query_index(self, name: str, key: Any) -> list[Row]:
        """Returns the rows that an index has for a key: distinct rows of its relation, in value order.

        The key is a tuple (or a list, or a dict by name) with a value for each argument of the index; for one argument
        a bare value will do. Raises UsageError for an unknown index, DataError for a key that does not fit.
        """
        return self._given(name, self._canonical_index(name, key))

    def dump_index(self, name: str) -> list[Row]:
        """Returns all rows of an index, whatever their keys: distinct, in value order."""
        return self._given(name, self._canonical_index(name))

    def _canonical_index(self, name: str, *key: Any) -> list[Row]:
        """Returns the rows of an index, for one key or for all, with the values of the language: an `Option` is
        `Some{…}` or `None{}`."""
        index = self._index(name)
        if not key:
            with self._locked.engine() as engine:
                found = [row for row, _ in engine.rows(index.relation)]
            return _distinct_rows(found, index)
        arguments = Relation(index.name, index.columns, Role.HIDDEN, index.span)
        values = to_row(key[0], arguments, self._locked.definitions)
        with self._locked.engine() as engine:
            found = engine.lookup(index.relation, index.keys, values)
        return _distinct_rows(found, index)

    def explain(self, relation: str, row: Any, *, shortest: bool = False) -> Explanation:
        """Explains why a row is there: a proof from facts, read from the committed state.

        With `shortest` it is a proof of least height, otherwise the first that is found. Raises UsageError for a row
        that is not there, DataError for one that does not fit the relation.
        """
        from tidelog.database.queries.explain import explanation, row_not_there

        name, values = self._row_of(relation, row)
        with self._locked.engine() as engine:
            proof = engine.queries().explain(name, values, shortest=shortest)
        if proof is None:
            raise row_not_there(self._locked.program, name, values)
        return explanation(proof, self._locked.program)

    def why_not(self, relation: str, row: Any, *, max_depth: int = 5) -> WhyNot:
        """Explains why a row is not there: for each rule that could derive it, the first literal without a match.

        If rules could derive a row for that literal, the answer goes on with why there is none, down to this depth. A
        row that is there is no error: the answer says so. Raises DataError for one that does not fit the relation.
        """
        from tidelog.database.queries.why_not import why_not

        depth = positive_whole("max_depth", max_depth)
        name, values = self._row_of(relation, row)
        with self._locked.engine() as engine:
            attempts = engine.queries().why_not(name, values, depth=depth)
        return why_not(name, values, attempts, self._locked.program)

    def query(
        self,
        text: str,
        *,
        params: Mapping[str, Any] | None = None,
        limit: int | None = None,
        deadline: float | None = None,
    ) -> Answer:
        """Returns the rows of a one-off query: the body of a rule, whose variables are the columns of the answer.

            >>> db.query('Reach("a", x), not Edge(x, _)').rows
            [('c',)]
            >>> db.query("Reach($from, x), not Edge(x, _)", params={"from": "a"}).rows
            [('c',)]

        A parameter `$name` stands for a value: its place in the query gives its type, and `params` gives the value,
        which is never part of the text. With a `limit`, the search ends when so many rows are found, whichever they
        are (`answer.is_cut`). After `deadline` seconds it is given up.

        The query is checked against the program and sees the last committed epoch; nothing changes. Raises
        ProgramError, with places in the query's text, for a query that is wrong or lacks a value, UsageError for a
        value that no parameter takes, DataError for one that does not fit, and EvaluationError for a query that fails.
        """
        from tidelog.database.queries.query import answer, compile_query

        limit = None if limit is None else positive_whole("limit", limit)
        deadline = None if deadline is None else positive("deadline", deadline)
        rules = self._locked.known_rules()
        query = compile_query(text, rules.typed, rules.rules, params)
        with self._locked.engine() as engine:
            found = engine.queries().evaluate(query, limit=limit, deadline=deadline)
        return answer(query, found, limit)

    def rules(self) -> list[str]:
        """Returns the rules of the last commit as they were written: those of the program, then those added since.

        >>> db.rules()[0]
        'Reach(x, y) :- Edge(x, y).'
        """
        return self._locked.known_rules().texts()

    def refresh(self) -> None:
        """Brings a read-only database to its writer's last commit; does nothing for the writer itself."""
        self._locked.refresh()

    def backup(self, path: str | os.PathLike[str]) -> int:
        """Copies a durable database to a new or empty directory, and returns the epoch of the copy.

        Commits of this and of other processes go on meanwhile; the copy has the last one before the call, or a later
        one. `tidelog.open(path)` opens it. Raises UsageError for a database in memory or of the Spark engine, and for
        a directory with something in it; TransactionError when the copy cannot be written.
        """
        from tidelog.database.storage.backup import backup
        from tidelog.database.storage.durable_engine import DurableEngine
        from tidelog.database.storage.open_local import local_directory

        with self._locked.engine() as engine:
            directory = engine.directory if isinstance(engine, DurableEngine) else None
        if directory is None:
            raise UsageError(
                "only a durable database of the local engine can be copied by `backup`",
                code=Code.UNUSABLE_DIRECTORY,
                help="open the program with `path=...`",
            )
        return backup(directory, local_directory(path))

    def profile(self) -> Profile:
        """Returns the costs of the epochs so far, per stratum and rule, and the sizes of relations and arrangements."""
        with self._locked.engine() as engine:
            return engine.profile()

    def cancel(self) -> bool:
        """Cancels the epoch that another thread is committing: its commit raises EvaluationError; nothing has changed.

        False when no epoch runs.
        """
        return self._locked.cancel()

    def close(self) -> None:
        """Frees the state; a second call does nothing. An open transaction is lost: its commit will raise."""
        self._locked.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._locked.is_closed else f"epoch {self.report.epoch}"
        return f"<Database on {self._locked.engine_name}, {state}>"

    def _tables(self) -> Iterator[Table]:
        """Yields the relations with their rows; nothing of a closed database but that it is closed."""
        if self._locked.is_closed:
            yield Table(repr(self)[1:-1], (), ())
            return
        for table in self.relations._tables():
            yield replace(table, caption=repr(self)[1:-1])

    def _relation(self, name: str) -> Relation:
        relations = self._locked.relations
        if name not in relations:
            raise unknown_relation(name, relations, UsageError, Code.UNKNOWN_RELATION_NAME)
        return relations[name]

    def _given(self, index: str, rows: list[Row]) -> list[Row]:
        relation = self._locked.relations[self._index(index).target]
        return user_rows(rows, relation, self._locked.definitions)

    def _row_of(self, name: str, row: Any) -> tuple[str, Row]:
        relation = self._relation(name)
        return relation.name, to_row(row, relation, self._locked.definitions)

    def _index(self, name: str) -> Index:
        indexes = self._locked.program.indexes
        if name not in indexes:
            help = did_you_mean(name, indexes, f"the indexes are {listed(indexes)}")
            raise UsageError(f"there is no index `{name}`", code=Code.UNKNOWN_INDEX, help=help)
        return indexes[name]


def _distinct_rows(found: Iterable[Row], index: Index) -> list[Row]:
    """Turns rows found by an index into distinct rows of the relation that it is on."""
    return sort_rows(list({tuple(row[place] for place in index.row) for row in found}))
