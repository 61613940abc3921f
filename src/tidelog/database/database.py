"""A program with its state: transactions write facts; relations, queries and changes are read.

One writer at a time; readers, in any thread, see the last committed epoch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from tidelog.database.locked_engine import LockedEngine
from tidelog.database.queries.readable import Readable
from tidelog.database.transactions.batch_id import BatchId, last_batches
from tidelog.database.transactions.changes import Changes, Delta
from tidelog.database.transactions.transaction import Transaction
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.diagnostics.shown import Shown, Table
from tidelog.engine.interface import Engine, EpochReport
from tidelog.maintain.limits import not_negative, positive_whole
from tidelog.rules.ir import RuleProgram

if TYPE_CHECKING:
    from tidelog.database.queries.snapshot import Snapshot
    from tidelog.database.storage.migration.plan import MigrationPlan
    from tidelog.database.transactions.change_stream import ChangeStream
    from tidelog.maintain.profile import Profile
    from tidelog.rules.rule_changes.rule_set import RuleSet


class Database(Readable, Shown):
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
        super().__init__(self._locked)
        self._initial = Changes(self._locked, opening.changes, opening.report.epoch)
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

    @property
    def batches(self) -> dict[str, int]:
        """The number of the last committed batch of each feed that `transaction(batch=…)` names."""
        return last_batches(self._locked.marks())

    def transaction(self, wait: float | None = None, batch: tuple[str, int] | None = None) -> Transaction:
        """Returns a transaction, to be used as `with db.transaction() as tx:`, or with `begin()` and `commit()`.

        A database has one writer at a time; others wait in the order in which they came, without limit or at most
        `wait` seconds. In asyncio, `async with db.transaction() as tx:` waits and commits without blocking the loop.

        `batch` is the name of a feed and the number of one of its batches, such as `("feed", 17)`. The number is
        committed with the rows. A batch with that number or a lower one commits nothing from then on (`tx.skipped`).
        """
        return Transaction(
            self._locked,
            None if wait is None else not_negative("wait", wait),
            None if batch is None else BatchId.of(batch),
        )

    def snapshot(self) -> Snapshot:
        """Returns a read-only view of the last committed epoch, which stays as it is whatever is committed later.

            with db.snapshot() as snapshot:
                count, rows = len(snapshot.relation("Reach")), snapshot.query("Reach(x, _)")

        Making it takes the same short time for any number of rows. `close()` it, or use it in a `with` block: while it
        is open, the memory of rows that are deleted later is kept, and values of strings are not freed.
        """
        from tidelog.database.queries.snapshot import Snapshot

        return Snapshot(self._locked)

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

    def changes(self, relation: str, *, buffer: int = 64, when_full: str = "merge") -> ChangeStream:
        """Returns the deltas of an output relation as an asynchronous iterator, from the next commit on.

            async for delta in db.changes("Reach"):
                print(delta.inserted, delta.deleted)

        Commits do not wait for the consumer: `buffer` deltas wait for it. When they are as many, the next one is merged
        with the last (`when_full="merge"`), or the iteration ends with EvaluationError (`"error"`). It ends when the
        database is closed, or with `aclose()`. Raises UsageError if `relation` is not an output.
        """
        from tidelog.database.transactions.change_stream import ChangeStream

        self._locked.check_has_changes(relation)
        return ChangeStream(self._locked, self._locked.outputs[relation], positive_whole("buffer", buffer), when_full)

    def changes_since(self, epoch: int) -> Iterator[Changes]:
        """Yields the changes of each epoch after this one, up to the last commit, of a database with `keep_changes`.

            for changes in db.changes_since(7):
                print(changes.epoch, changes["Reach"].inserted, changes["Reach"].deleted)

        An epoch without changes of outputs has an empty mapping. Epoch -1 is before the first: a new database that
        keeps everything yields its whole history. Raises UsageError if the database keeps no changes, or if those of
        the next epoch are gone.
        """
        from tidelog.database.transactions.kept import changes_since

        return changes_since(self._locked, epoch)

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
        """Cancels the epoch that another thread is committing, and the queries that run in other threads.

        They raise EvaluationError, and nothing has changed. False when there are none.
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
