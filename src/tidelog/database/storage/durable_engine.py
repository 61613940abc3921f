"""The local engine of a durable database: an epoch is in the journal before it counts.

    open      the last snapshot that is whole, then the journal's entries behind it; nothing for a new directory
    commit    the epoch in overlays; its entry in the journal; only then the overlays become the state
    close     a last snapshot, if a replay would take long

A journal that cannot be written fails the epoch, and the state is that of the last commit. Snapshots are written in the
background, by a thread that holds up commits for a piece at a time (`engine.local.image`). Two are kept, and all that
the journal has behind the older one: if the newer one is damaged, nothing is lost.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice, takewhile
from pathlib import Path
from threading import Lock, Thread
from time import perf_counter

from tidelog.database.storage.active_format import SPARK, form_of
from tidelog.database.storage.checked_file import DamagedError
from tidelog.database.storage.checkpoint import Basis, Snapshot, read_snapshot, snapshots, sweep, write_snapshot
from tidelog.database.storage.checkpoint_policy import Pace
from tidelog.database.storage.journal import Journal, is_database
from tidelog.database.storage.journal_entry import read_calls, read_entry, write_entry
from tidelog.database.storage.lock import WriterLock
from tidelog.database.storage.refill import carry
from tidelog.database.storage.stored_program import StoredProgram
from tidelog.diagnostics.errors import EvaluationError
from tidelog.engine.interface import BeforeCommit, ChangeRows, EpochReport, NewRules, Operation, Outcome
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.marks import Marks, marked
from tidelog.engine.storage_errors import damaged, foreign_process, not_storable, other_engine, other_program, read_only
from tidelog.maintain.options import Maintenance
from tidelog.rules.ir import Kind, RuleProgram
from tidelog.rules.rule_changes.rule_set import RuleSet
from tidelog.rules.schema.storable import know_functions, unstorable_column

_log = logging.getLogger("tidelog")
# Epochs that are replayed as one, where that makes no difference.
_TOGETHER = 1000
MARKS = "marks"
"""The document of the journal with the marks."""


class DurableEngine(LocalEngine):
    """The state of a database in a directory; without a `lock` it can only be read."""

    def __init__(
        self,
        directory: Path,
        rules: RuleSet,
        stored: StoredProgram,
        versions: Mapping[str, str],
        asked: Maintenance,
        *,
        durability: str = "disk",
        lock: WriterLock | None = None,
    ) -> None:
        """`rules` are those of the stored program; the database may have others by now.

        Raises DataError where the directory is damaged, UsageError where it is of another version of Tidelog.
        """
        self._directory = directory
        self._base = self._rules = rules
        self._durability = durability
        self._stored = stored
        self._basis = Basis(stored.digest, versions)
        self._writer = lock
        self._process = os.getpid()
        self._one_at_a_time = Lock()  # commits, and the pieces of a snapshot
        self._snapshotting: Thread | None = None
        self._pace = Pace()
        self._is_open = False
        self._whole: set[int] = set()  # the epochs of snapshots that are known to be good
        self._journal: Journal | None = None
        self._loaded: Snapshot | None = None
        if is_database(directory):
            self._journal = Journal(directory, durability, read_only=lock is None)
            try:
                self._journal.begin_reading()
                self._loaded = self._load()
            except BaseException:
                self._journal.close()
                raise
        if self._loaded is not None:
            self._rules = self._loaded.rules
        elif self._journal is not None:
            know_functions(self._rules.rules)
        is_current = self._loaded is not None and self._loaded.basis == self._basis
        super().__init__(
            self._rules.rules,
            limits=asked.limits,
            strategy=asked.strategy,
            switch=asked.switch,
            threads=asked.threads,
            values=self._loaded.values if self._loaded is not None and is_current else None,
        )

    def open(self) -> Outcome:
        """The state of the last commit; for a new directory, what the program's own facts imply."""
        if self._journal is None:
            outcome = super().open()
            Journal.create(self._directory, {"program": self._stored.document()})
            self._journal = Journal(self._directory, self._durability)
            self._is_open = True
            return outcome
        started = perf_counter()
        with self.replaying():
            self._resume(self._journal)
        self.marks = self._journal.document(MARKS) or {}
        self._journal.end_reading()
        self._loaded = None
        self._is_open = True
        return Outcome({}, self._report(started))

    def check_writable(self) -> None:
        if self._writer is None:
            raise read_only(self._directory)
        if os.getpid() != self._process:
            raise foreign_process(self._directory, self._process)

    def stored_rules(self) -> RuleSet:
        return self._rules

    def commit(
        self,
        operations: Sequence[Operation],
        before_commit: BeforeCommit = None,
        *,
        marks: Marks | None = None,
        rules: NewRules | None = None,
    ) -> Outcome | None:
        """See `LocalEngine.commit`. Raises TransactionError when the journal cannot be written, UsageError for rules
        with a relation whose values cannot be kept."""
        self.check_writable()
        column = None if rules is None else unstorable_column(rules.rules.rules)
        if column is not None:
            raise not_storable(*column)
        journal = self._journal
        assert journal is not None
        size = 0
        documents = {MARKS: marked(self.marks, marks)} if marks else {}

        def write(epoch: int, changes: Mapping[str, ChangeRows]) -> None:
            nonlocal size
            if before_commit is not None:
                before_commit(epoch, changes)
            body = write_entry(operations, self.program, () if rules is None else rules.calls)
            journal.append(epoch, body, documents)
            size = len(body)

        with self._one_at_a_time:
            outcome = super().commit(operations, write, rules=rules)
            if rules is not None:
                self._rules = rules.rules
            if outcome is None and documents:
                journal.put(documents)
            self.marks = documents.get(MARKS, self.marks)
        if outcome is not None:
            self._pace.note(outcome.report.seconds, size)
            if self._pace.is_due() and self._snapshotting is None:
                self._snapshotting = Thread(target=self._snapshot, name="tidelog snapshot", daemon=True)
                try:
                    self._snapshotting.start()
                except RuntimeError:
                    self._snapshotting = None  # Python is about to end, or has no threads left; the commit stands
        return outcome

    def refresh(self) -> tuple[LocalEngine, EpochReport] | None:
        """See `Engine.refresh`. Where the journal no longer reaches back to this epoch, the directory is read anew."""
        if self._writer is not None:
            return None
        started, journal = perf_counter(), self._journal
        assert journal is not None
        if form_of(self._directory) == SPARK:
            raise other_engine(self._directory, SPARK)
        journal.begin_reading()
        try:
            self._check_program(journal)
            first = journal.first()
            reaches_back = first is None or first <= self.epoch + 1
            if reaches_back:
                with self.replaying():
                    self._replay(journal)
                self.marks = journal.document(MARKS) or {}
        finally:
            journal.end_reading()
        if reaches_back:
            return self, self._report(started)
        fresh = DurableEngine(self._directory, self._base, self._stored, self._basis.externs, self._asked)
        report = fresh.open().report
        self.close()
        return fresh, report

    def close(self) -> None:
        """Gives memory, journal and lock back. In a child of the process that opened it, they are not ours to give."""
        if os.getpid() != self._process:
            return
        if self._is_open and self._writer is not None:
            self._wait()
            if self._pace.is_due_at_close(sum(map(len, self._catalog.stores))):
                self._snapshot()
        self.abandon()
        if self._writer is not None:
            self._writer.release()

    def abandon(self) -> None:
        """Gives memory and journal back, and keeps the lock."""
        self._wait()
        self._is_open = False
        if self._journal is not None:
            self._journal.close()
            self._journal = None
        super().close()

    def _wait(self) -> None:
        """Waits for a snapshot under way."""
        snapshotting = self._snapshotting
        if snapshotting is not None:
            snapshotting.join()

    # Opening

    def _report(self, started: float) -> EpochReport:
        return EpochReport(self.epoch, (), perf_counter() - started, 0, 0, *self.sizes())

    def _load(self) -> Snapshot | None:
        """The last snapshot that is whole; None where the journal has everything."""
        assert self._journal is not None
        reasons = []
        if self._writer is not None:
            sweep(self._directory)
        for epoch, path in snapshots(self._directory).items():
            try:
                loaded = read_snapshot(path, self._base, self._basis.program)
            except FileNotFoundError:
                return self._load()  # a writer has just removed it; there are others now
            except (DamagedError, OSError) as error:
                reasons.append(f"{path.name} cannot be used, {error}")
                continue
            self._whole.add(epoch)
            break
        else:
            loaded = None
        after = 0 if loaded is None else loaded.image.epoch
        first = self._journal.first()
        if reasons and (after + 1 < first if first is not None else after < self._journal.acknowledged()):
            raise damaged(self._directory, "; ".join(reasons))
        for reason in reasons:
            _log.warning("%s: %s; an older one and the journal are used", self._directory, reason)
        return loaded

    def _resume(self, journal: Journal) -> None:
        if self._loaded is None:
            super().open()
        elif self._loaded.basis == self._basis:
            self.restore(self._loaded.image)
        else:
            # Another version of an extern function: what it derived may be different now.
            started = perf_counter()
            before = LocalEngine(self.program, values=self._loaded.values)
            before.restore(self._loaded.image)
            super().open()
            super().commit(carry(before))
            self.epoch = before.epoch
            self._pace.note(perf_counter() - started, 0)
        self._replay(journal)

    def _replay(self, journal: Journal) -> None:
        """Applies the journal's entries behind the present epoch."""
        entries = deque[tuple[int, bytes]]()
        following = journal.entries(self.epoch)
        while True:
            entries.extend(islice(following, _TOGETHER - len(entries)))
            if not entries:
                return
            calls = self._calls(*entries[0])
            if calls:
                self._replay_rules(*entries.popleft(), calls)
                continue
            together = 1 if self._depends_on_history() else len(entries)
            plain = list(takewhile(lambda each: not self._calls(*each), islice(entries, together)))
            for _ in plain:
                entries.popleft()
            some = [(epoch, self._read(epoch, body), len(body)) for epoch, body in plain]
            started = perf_counter()
            try:
                super().commit([operation for _, operations, _ in some for operation in operations])
            except EvaluationError:
                # Together they may meet a combination of rows that no epoch had.
                if len(some) == 1:
                    raise
                for _, operations, _ in some:
                    super().commit(operations)
            self.epoch = some[-1][0]
            self._pace.note(perf_counter() - started, sum(size for _, _, size in some))

    def _replay_rules(self, epoch: int, body: bytes, calls: tuple[tuple[int, str], ...]) -> None:
        """An epoch with other rules: by itself, as its rows are of the program that they make."""
        started = perf_counter()
        rules = self._rules
        for sign, text in calls:
            rules = rules.add(text) if sign > 0 else rules.remove(text)
        know_functions(rules.rules)
        super().commit(self._read(epoch, body, rules.rules), rules=NewRules(rules, calls))
        self._rules, self.epoch = rules, epoch
        self._pace.note(perf_counter() - started, len(body))

    def _calls(self, epoch: int, body: bytes) -> tuple[tuple[int, str], ...]:
        with self._readable(epoch):
            return read_calls(body)

    def _read(self, epoch: int, body: bytes, program: RuleProgram | None = None) -> list[Operation]:
        with self._readable(epoch):
            return read_entry(body, program or self.program)

    @contextmanager
    def _readable(self, epoch: int) -> Iterator[None]:
        """What cannot be read in here is damage."""
        try:
            yield
        except (ValueError, KeyError, IndexError) as error:
            raise damaged(self._directory, f"the journal's entry for epoch {epoch} cannot be read ({error})") from error

    def _check_program(self, journal: Journal) -> None:
        """Raises UsageError where the writer has taken the database to another program."""
        if StoredProgram.of_document(journal.document("program")).digest != self._basis.program:
            raise other_program(self._directory)

    def _depends_on_history(self) -> bool:
        """Whether it matters in which epoch something happened."""
        streams = any(relation.kind is Kind.STREAM for relation in self.program.relations.values())
        return streams or bool(self.program.feeds)

    # Snapshots

    def _snapshot(self) -> None:
        """Writes a snapshot of the last commit, and forgets what is older than the one before it."""
        started = perf_counter()
        with self._one_at_a_time:
            capture, rules = self.capture(), self._rules
            self._pace.begun()
        try:
            path = write_snapshot(self._directory, capture, self._basis, rules, self._one_at_a_time)
            with self._one_at_a_time:
                self._forget(capture.epoch)
            self._pace.written(perf_counter() - started, path.stat().st_size)
        except (OSError, sqlite3.Error) as error:
            _log.warning("%s: no snapshot could be written (%s); the journal has everything", self._directory, error)
        finally:
            with self._one_at_a_time:
                self.release()
                self._snapshotting = None

    def _forget(self, epoch: int) -> None:
        """Removes all snapshots but this one and the last good one before it, and the entries that both have."""
        assert self._journal is not None
        before = max(self._whole - {epoch}, default=None)
        self._whole = {epoch} if before is None else {epoch, before}
        if before is not None:
            self._journal.cut(before)
        for other, path in snapshots(self._directory).items():
            if other not in self._whole:
                path.unlink(missing_ok=True)
