"""The engine of one database behind its lock: everything that touches the state goes through here.

Engines are not thread-safe, so one commit at a time reaches the engine. A reader pins the last commit (`reads`) and
does not wait for the next one, nor does that wait for the reader. At most one transaction is open.

Each call of a transaction needs the facts of keyed relations by key, and the weights of the facts of multisets. They
are kept here, beside the engine.

A child of a fork has the state as its parent had it, unless another thread was using the engine just then: its half
of a commit would stay for ever. Such a database raises an error in the child at every use; nothing waits for its lock.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Lock, get_ident
from typing import Any

from tidelog.database.transactions.listeners import Listeners
from tidelog.database.transactions.writer_queue import WriterQueue
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError, TidelogError, TransactionError, UsageError
from tidelog.diagnostics.suggest import did_you_mean
from tidelog.diagnostics.wording import listed
from tidelog.engine.interface import Engine, EpochReport, ProgressCallback, Reads
from tidelog.engine.local.epoch.cancellation import Cancellation
from tidelog.engine.marks import Marks
from tidelog.functions.runtime_errors import without_result
from tidelog.io.tables import is_frame_of
from tidelog.io.values import Row, Value, quoted
from tidelog.rules.ir import Relation, Role, RuleProgram
from tidelog.rules.rule_changes.rule_set import RuleSet
from tidelog.values import Definitions

_known: weakref.WeakSet[LockedEngine] = weakref.WeakSet()

Given = dict[Any, Any]
"""Facts that transactions gave to one relation: key → row, or for a multiset row → weight (never 0)."""


class LockedEngine:
    """The program, its engine, and the open transaction. `report` is that of the last epoch.

    `relations` are those that the user declared, `outputs` the output relations among them. `rules` are the rules of
    the last commit; None where their source is not known.
    """

    def __init__(self, program: RuleProgram, engine: Engine, report: EpochReport, rules: RuleSet | None = None) -> None:
        self.rules = engine.stored_rules() or rules
        self._take(program if self.rules is None else self.rules.rules)
        self.engine_name = engine.name
        self.report = report
        self._lock = Lock()
        self._lost_in: int | None = None  # the child of a fork in which the state is not usable
        self.listeners = Listeners()
        self._engine: Engine | None = engine
        self.writers = WriterQueue()
        self._given: dict[str, Given] = {}
        self._opened_with = self.rules
        self._running: set[RunningQuery] = set()
        self._readers: dict[object, int] = {}  # reads under way, with their threads
        _known.add(self)

    @property
    def lock(self) -> Lock:
        """The lock of the engine. Raises UsageError in a child of a fork that was made while it was in use."""
        if self._lost_in is not None:
            raise UsageError(
                "another thread was using the database when this process was forked: the child has half its work",
                code=Code.FOREIGN_PROCESS,
                help="fork while no other thread uses the database, or open a database in the child",
            )
        return self._lock

    def lose_in_child(self) -> None:
        """Gives the database up in a child of a fork, if another thread was using it: locks stay locked for ever."""
        if self._lock.locked() or any(thread != get_ident() for thread in self._readers.values()):
            self._lost_in = os.getpid()
        self.writers.forget_waiting()

    def _take(self, program: RuleProgram) -> None:
        self.program = program
        self.relations = declared(program)
        self.outputs = declared(program, Role.OUTPUT)

    def take_rules(self, rules: RuleSet) -> None:
        """Makes these the rules of the last commit."""
        self.rules = rules
        self._take(rules.rules)

    def known_rules(self) -> RuleSet:
        """Returns the rules of the last commit; their source must be known."""
        assert self.rules is not None, "a database that a program opened has them"
        return self.rules

    @property
    def definitions(self) -> Definitions:
        """The types of the program."""
        return self.program.functions.definitions

    @property
    def is_closed(self) -> bool:
        return self._engine is None

    @contextmanager
    def engine(self) -> Iterator[Engine]:
        """Yields the engine, for this block alone. Raises UsageError when the database is closed."""
        with self.lock:
            if self._engine is None:
                raise closed_database()
            yield self._engine

    @contextmanager
    def reads(self) -> Iterator[Reads]:
        """Yields the state of the last commit, pinned for this block; no commit waits for it, and it for none.

        Raises UsageError when the database is closed.
        """
        with self.reading():
            self.check_usable()
            engine = self._engine
            if engine is None:
                raise closed_database()
            pinned = engine.pin()
            try:
                if self._engine is None:
                    raise closed_database()
                yield pinned
            finally:
                pinned.release()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Notes for a block that this thread reads. Raises UsageError when the database is closed meanwhile and its
        files are gone.
        """
        token = self._begin_reading()
        try:
            yield
        except DataError:
            if self._engine is None:
                raise closed_database() from None
            raise
        finally:
            self._readers.pop(token, None)

    def _begin_reading(self) -> object:
        """Notes that this thread reads: a fork meanwhile leaves locks behind that nobody opens."""
        token = object()
        self._readers[token] = get_ident()
        return token

    def check_usable(self) -> None:
        """Raises UsageError when the database is closed, or lost in a fork."""
        if self._lost_in is not None:
            _ = self.lock
        if self._engine is None:
            raise closed_database()

    def rules_of(self, reads: Reads) -> RuleSet:
        """Returns the rules of a state; their source must be known."""
        rules = reads.rules or self._opened_with
        assert rules is not None, "a database that a program opened has them"
        return rules

    @contextmanager
    def running(self) -> Iterator[RunningQuery]:
        """Begins a query that `cancel` ends."""
        query = RunningQuery()
        self._running.add(query)
        try:
            yield query
        finally:
            self._running.discard(query)

    @contextmanager
    def while_reading_changes(self) -> Iterator[None]:
        """Begins a block in which changes of an epoch may be read, whatever is committed meanwhile."""
        if self._lost_in is not None:
            _ = self.lock
        with self.reading():
            yield

    def holding_cancellation(self) -> AbstractContextManager[None]:
        """Delays an interrupt from the keyboard to the end of the block, so that a commit is whole or not at all.

        The local engine checks for cancellation on its own. Spark does not: there a job is stopped at once, unless the
        epoch is about to be published.
        """
        return Cancellation().held(later=self.engine_name != "local")

    def begin(self, transaction: object, wait: float | None = None) -> None:
        """Makes the transaction the open one, after those that came before it; see `WriterQueue.acquire`."""
        self._check_may_write()
        self.writers.acquire(transaction, wait)
        self._check_still_open(transaction)

    async def begin_async(self, transaction: object, wait: float | None = None) -> None:
        """Does what `begin` does, without blocking the event loop."""
        self._check_may_write()
        await self.writers.acquire_async(transaction, wait)
        self._check_still_open(transaction)

    def _check_may_write(self) -> None:
        """Raises TransactionError in a callback, and UsageError where nobody can write."""
        if self.listeners.is_telling_here:
            raise TransactionError(
                "a callback of `on_change` cannot begin a transaction of its own database",
                code=Code.TRANSACTION_OPEN,
                help="note the rows there, and write them after the `with` block that commits",
            )
        self.check_usable()
        engine = self._engine
        if engine is not None:
            engine.check_writable()

    def _check_still_open(self, transaction: object) -> None:
        if self._engine is None:
            self.writers.release(transaction)
            raise closed_database()

    def end(self, transaction: object) -> None:
        """Lets the next transaction begin."""
        self.writers.release(transaction)

    def given(self, relation: Relation) -> Given:
        """Returns the committed facts of a relation with a key, or of a multiset; each commit updates them.

        Those of a reopened database are read at the first call.
        """
        found = self._given.get(relation.name)
        if found is None:
            with self.engine() as engine:
                facts = engine.facts(relation.name)
            found = dict(facts) if relation.key is None else {self.key(relation, row): row for row, _ in facts}
            self._given[relation.name] = found
        return found

    def key(self, relation: Relation, row: Row) -> Value:
        """Returns the primary key of a row. Raises EvaluationError where a division by zero leaves it without one."""
        assert relation.key is not None
        try:
            return relation.key.call(self.program.row_value(relation, row))
        except ZeroDivisionError as error:
            raise without_result(f"in the primary key of `{relation.name}`, for {quoted(row)}", error) from None

    def check_has_changes(self, name: str) -> None:
        """Raises UsageError for a name that is no output relation: only those have changes."""
        if name in self.outputs:
            return
        relation = self.relations.get(name)
        if relation is None:
            raise unknown_relation(name, self.outputs, UsageError, Code.UNKNOWN_RELATION_NAME)
        raise UsageError(
            f"`{name}` is an {relation.role.value} relation; changes cover output relations",
            code=Code.NO_CHANGES,
            help=f"declare it as `output relation {name}(...)`"
            if relation.role is Role.INTERNAL
            else f"read it with `db.relation({name!r})`",
        )

    def spark_frame(self, rows: Any) -> Any | None:
        """Returns the rows if they are a Spark DataFrame; one of pandas-on-Spark loses its index. None for other rows.
        Raises UsageError when the engine cannot take one.
        """
        is_pandas = is_frame_of("pyspark.pandas", rows)
        if not is_pandas and not is_frame_of("pyspark.sql", rows):
            return None
        if self.engine_name == "local":
            raise UsageError(
                "a Spark DataFrame was given to the local engine",
                code=Code.SPARK_FOR_LOCAL_ENGINE,
                help=f"pass `rows.{'to_pandas' if is_pandas else 'toArrow'}()`,"
                " or open the program with `engine='spark'` or `'auto'`",
            )
        return rows.spark.frame() if is_pandas else rows

    def marks(self) -> Marks:
        """Returns the marks that commits have set."""
        with self.engine() as engine:
            return engine.marks

    def on_progress(self, tell: ProgressCallback | None) -> None:
        """Reports the progress of every epoch to `tell`; see `Engine.on_progress`."""
        with self.engine() as engine:
            engine.on_progress(tell)

    def cancel_commit(self) -> bool:
        """Cancels the epoch that another thread is committing; False if there is none."""
        engine = self._engine  # not behind the lock: the commit has it
        return engine is not None and engine.cancel()

    def cancel(self) -> bool:
        """Cancels the epoch that another thread is committing, and all queries that run; False if there are none."""
        queries = list(self._running)
        for query in queries:
            query.cancel()
        return self.cancel_commit() or bool(queries)

    def refresh(self) -> None:
        """Makes the last commit of another process, where there is one, the state that readers see."""
        with self.engine() as engine:
            found = engine.refresh()
            if found is not None:
                self._engine, self.report = found
                stored = self._engine.stored_rules()
                if stored is not None and stored is not self.rules:
                    self.take_rules(stored)
                self._opened_with = self.rules

    def close(self) -> None:
        """Frees the state of the engine; a second call does nothing, nor does one for a state lost in a fork."""
        if self._lost_in is not None:
            self._engine = None
            return
        with self.lock:
            engine, self._engine = self._engine, None
            self._given = {}
            if engine is not None:
                engine.close()
        self.listeners.end()


class RunningQuery:
    """A query under way; `cancel` ends it at its next step."""

    __slots__ = ("_is_cancelled",)

    def __init__(self) -> None:
        self._is_cancelled = False

    def cancel(self) -> None:
        self._is_cancelled = True

    def is_cancelled(self) -> bool:
        return self._is_cancelled


def closed_database() -> UsageError:
    """Makes the error for a database that is closed."""
    return UsageError("the database is closed", code=Code.CLOSED_DATABASE, help="open it again with `program.open()`")


def _lose_in_child() -> None:
    for engine in list(_known):
        engine.lose_in_child()


os.register_at_fork(after_in_child=_lose_in_child)


def declared(program: RuleProgram, *roles: Role) -> dict[str, Relation]:
    """Returns the relations that the user declared, in the program's order; only those of the given roles, if any."""
    wanted = roles or (Role.INPUT, Role.OUTPUT, Role.INTERNAL)
    return {name: relation for name, relation in program.relations.items() if relation.role in wanted}


def unknown_relation(name: str, known: Collection[str], error: type[TidelogError], code: Code) -> TidelogError:
    """Makes the error for a name that is no relation, with a suggestion."""
    help = did_you_mean(name, known, f"the relations are {listed(known)}")
    return error(f"there is no relation `{name}`", code=code, help=help)
