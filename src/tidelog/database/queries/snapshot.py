"""A read-only view of a database, pinned to the epoch in which it was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import cached_property
from threading import Lock
from types import TracebackType
from typing import Self

from tidelog.database.locked_engine import LockedEngine, RunningQuery, declared
from tidelog.database.queries.readable import Readable
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.diagnostics.shown import Shown, Table
from tidelog.engine.interface import Reads
from tidelog.rules.ir import Relation
from tidelog.rules.rule_changes.rule_set import RuleSet
from tidelog.values import Definitions


class Snapshot(Readable, Shown):
    """Made by `db.snapshot()`. It is read as a database is: `relation`, `relations`, `query`, `explain`, `why_not`.

        >>> with db.snapshot() as before:
        ...     with db.transaction() as tx:
        ...         tx.insert("Edge", [("x", "y")])
        ...     ("x", "y") in before.relation("Reach"), ("x", "y") in db.relation("Reach")
        (False, True)

    Nothing is copied when it is made. While it is open, commits keep the rows that they delete; `db.profile()` shows
    how many bytes that takes. `close()`, the end of a `with` block, and the end of the object's life let them go.
    """

    def __init__(self, locked: LockedEngine) -> None:
        self._pinned = _PinnedSource(locked)
        super().__init__(self._pinned)
        self.epoch = self._pinned.epoch
        """The number of the epoch."""

    def close(self) -> None:
        """Ends the pin; a second call does nothing. Reads that are under way end as they are."""
        self._pinned.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        pinned = getattr(self, "_pinned", None)
        if pinned is not None:
            pinned.close()

    def _tables(self) -> Iterator[Table]:
        """Yields the relations with their rows; nothing of a closed snapshot but that it is closed."""
        if self._pinned.is_closed:
            yield Table(repr(self)[1:-1], (), ())
            return
        for table in self.relations._tables():
            yield replace(table, caption=repr(self)[1:-1])

    def __repr__(self) -> str:
        return f"<Snapshot of epoch {self.epoch}{', closed' if self._pinned.is_closed else ''}>"


class _PinnedSource:
    """The state of one epoch; see `Source`."""

    def __init__(self, locked: LockedEngine) -> None:
        self._locked = locked
        self._lock = Lock()
        self._reads: Reads | None = None
        with locked.reads() as reads:
            self.epoch = reads.epoch
            self.definitions: Definitions = reads.program.functions.definitions
            self._program = reads.program
            self._rules = reads.rules or locked.rules
            self._reads = reads.hold()

    @cached_property
    def relations(self) -> Mapping[str, Relation]:
        return declared(self._program)

    @property
    def is_closed(self) -> bool:
        return self._reads is None

    @contextmanager
    def reads(self) -> Iterator[Reads]:
        self._locked.check_usable()
        with self._locked.reading():
            with self._lock:
                reads = self._reads
                if reads is not None:
                    reads.hold()
            if reads is None:
                raise UsageError(
                    "the snapshot is closed", code=Code.CLOSED_DATABASE, help="make another: `db.snapshot()`"
                )
            try:
                yield reads
            finally:
                reads.release()

    def rules_of(self, reads: Reads) -> RuleSet:
        assert self._rules is not None, "a database that a program opened has them"
        return self._rules

    def running(self) -> AbstractContextManager[RunningQuery]:
        return self._locked.running()

    def close(self) -> None:
        with self._lock:
            reads, self._reads = self._reads, None
        if reads is not None:
            reads.release()
