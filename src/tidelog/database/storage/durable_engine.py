"""A local engine that writes its epochs to a journal before it commits them.

    open      the last whole checkpoint, then a replay of the journal behind it; a new directory starts empty
    commit    the epoch in overlays; its entry in the journal; only then the overlays become the state
    close     a last checkpoint, if a replay would take long

If the journal cannot be written, the epoch is rolled back. Checkpoints are written by a thread in the background, which
blocks commits for one piece at a time (`engine.local.transfer.checkpoint`). Two are kept, with all entries of the
journal behind the older one: if the newer one is damaged, nothing is lost.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Lock, Thread
from time import perf_counter
from typing import Any

import pyarrow as pa

from tidelog.database.storage.active_format import SPARK, active_engine
from tidelog.database.storage.change_log import ChangeLog
from tidelog.database.storage.checkpoint import Checkpoint, ProgramVersion, checkpoints, load_last, write_checkpoint
from tidelog.database.storage.checkpoint_policy import CheckpointPolicy
from tidelog.database.storage.journal import Also, Journal, is_database
from tidelog.database.storage.journal_entry import write_entry
from tidelog.database.storage.lock import WriterLock
from tidelog.database.storage.refill import refill
from tidelog.database.storage.replay import replay
from tidelog.database.storage.stored_program import StoredProgram, read_stored_program
from tidelog.diagnostics.errors import TidelogError
from tidelog.engine.interface import (
    BeforeCommit,
    ChangeRows,
    EpochReport,
    NewRules,
    Operation,
    Outcome,
    ProgressCallback,
    Queries,
    Reads,
    Row,
)
from tidelog.engine.kept_changes import KeptEpoch, Retention, changes_gone
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.marks import Marks, marked
from tidelog.engine.storage_errors import damaged, foreign_process, not_storable, other_engine, other_program, read_only
from tidelog.maintain.options import Maintenance
from tidelog.maintain.profile import Profile
from tidelog.rules.ir import RuleProgram
from tidelog.rules.rule_changes.rule_set import RuleSet
from tidelog.rules.schema.storable import know_functions, unstorable_column

_log = logging.getLogger("tidelog")
MARKS = "marks"
"""The document of the journal with the marks."""


class DurableEngine:
    """The state of a database in a directory; without a `lock` it can only be read.

    `local` is the engine that holds the state in memory and answers all reads.
    """

    name = "local"

    def __init__(
        self,
        directory: Path,
        rules: RuleSet,
        stored: StoredProgram,
        versions: Mapping[str, str],
        maintenance: Maintenance,
        *,
        durability: str = "disk",
        lock: WriterLock | None = None,
        keep_changes: Retention | None = None,
    ) -> None:
        """Reads the last checkpoint. `rules` are those of the stored program; transactions may have changed them since.
        `keep_changes` replaces the stored setting.

        Raises DataError where the directory is damaged, UsageError where another version of Tidelog wrote it.
        """
        self.marks: Marks = {}
        self._directory = directory
        self._base = self._rules = rules
        self._durability = durability
        self._keep_changes = keep_changes
        self._log: ChangeLog | None = None
        self._stored = stored
        self._version = ProgramVersion(stored.digest, versions)
        self._maintenance = maintenance
        self._writer = lock
        self._process = os.getpid()
        self._commit_lock = Lock()  # held by a commit, and for each piece of a checkpoint
        self._writing: Thread | None = None
        self._policy = CheckpointPolicy()
        self._is_open = False
        self._journal: Journal | None = None
        self._loaded: Checkpoint | None = None
        if is_database(directory):
            self._journal = Journal(directory, durability, read_only=lock is None)
            try:
                self._journal.begin_reading()
                self._loaded = load_last(self._journal, rules, stored.digest, is_writer=lock is not None)
            except BaseException:
                self._journal.close()
                raise
        if self._loaded is not None:
            self._rules = self._loaded.rules
        elif self._journal is not None:
            know_functions(rules.rules)
        # The epochs of the checkpoints that are known to be whole.
        self._whole = set() if self._loaded is None else {self._loaded.state.epoch}
        is_current = self._loaded is not None and self._loaded.version == self._version
        self.local = LocalEngine(
            self._rules.rules,
            limits=maintenance.limits,
            strategy=maintenance.strategy,
            switch=maintenance.switch,
            threads=maintenance.threads,
            values=self._loaded.values if self._loaded is not None and is_current else None,
        )

    def open(self) -> Outcome:
        """Restores the state of the last commit; in a new directory, derives the rows from the program's own facts."""
        if self._journal is None:
            outcome = self.local.open()
            Journal.create(self._directory, {"program": self._stored.document()})
            self._journal = Journal(self._directory, self._durability)
            self._open_log(self._journal, outcome)
            self._is_open = True
            return outcome
        started = perf_counter()
        self._restore()
        self._replay(self._journal)
        self._journal.end_reading()
        self._open_log(self._journal)
        self._loaded = None
        self._is_open = True
        return Outcome({}, self._report(started))

    def _open_log(self, journal: Journal, created: Outcome | None = None) -> None:
        """Opens the kept changes; those of a new database begin with the rows that it has from the start."""
        self._log = log = ChangeLog(journal)
        if self._writer is None:
            return
        is_same_state = self._loaded is None or self._loaded.version == self._version
        log.begin(self._keep_changes, self.local.epoch, is_same_state=is_same_state)
        if created is not None and log.retention:
            with journal.changing() as connection:
                log.append(connection, self.local.epoch, created.changes, self.program)

    @property
    def retention(self) -> Retention:
        """The setting of kept changes."""
        return Retention() if self._log is None else self._log.retention

    def kept_since(self) -> int | None:
        if self._log is None or not self._log.retention:
            return None
        since = self._log.since()
        return self.local.epoch if since is None else since

    def kept_changes(self, epoch: int) -> KeptEpoch:
        assert self._log is not None
        found = self._log.read(epoch, self.program)
        if found is None:
            since = self.kept_since()
            raise changes_gone(epoch - 1, self.local.epoch if since is None else since, self.local.epoch)
        return found

    def check_writable(self) -> None:
        if self._writer is None:
            raise read_only(self._directory)
        self._check_process()

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise foreign_process(self._directory, self._process)

    @property
    def directory(self) -> Path:
        """The directory of the database."""
        return self._directory

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
        """Writes the journal, then commits; see `Engine.commit`. Raises TransactionError when the journal cannot be
        written, UsageError for rules with a relation whose values cannot be stored.
        """
        self.check_writable()
        column = None if rules is None else unstorable_column(rules.rules.rules)
        if column is not None:
            raise not_storable(*column)
        journal, log = self._journal, self._log
        assert journal is not None
        size = 0
        documents = {MARKS: marked(self.marks, marks)} if marks else {}

        def write(epoch: int, changes: Mapping[str, ChangeRows]) -> None:
            nonlocal size
            self._check_process()  # a function of the program may have forked
            if before_commit is not None:
                before_commit(epoch, changes)
            body = write_entry(operations, self.program, () if rules is None else rules.calls)
            also: Also | None = None
            if log is not None and log.retention:
                also = partial(log.append, epoch=epoch, changes=changes, program=self.program)
            journal.append(epoch, body, documents, also)
            size = len(body)

        with self._commit_lock:
            outcome = self.local.commit(operations, write, rules=rules)
            if rules is not None:
                self._rules = rules.rules
            if outcome is None and documents:
                journal.put(documents)
            self.marks = documents.get(MARKS, self.marks)
        if outcome is not None:
            self._policy.add_epoch(outcome.report.seconds, size)
            if self._policy.is_due() and self._writing is None:
                self._writing = Thread(target=self._write_checkpoint, name="tidelog checkpoint", daemon=True)
                try:
                    self._writing.start()
                except RuntimeError:
                    self._writing = None  # Python is about to end, or has no threads left; the commit stands
        return outcome

    def refresh(self) -> tuple[DurableEngine, EpochReport] | None:
        """Replays new epochs, or reads the directory again if the journal starts later; see `Engine.refresh`."""
        if self._writer is not None:
            return None
        self._check_process()
        started, journal = perf_counter(), self._journal
        assert journal is not None
        if active_engine(self._directory) == SPARK:
            raise other_engine(self._directory, SPARK)
        journal.begin_reading()
        try:
            if read_stored_program(journal).digest != self._version.program:
                raise other_program(self._directory)
            first = journal.first()
            reaches_back = first is None or first <= self.local.epoch + 1
            if reaches_back:
                self._replay(journal)
        finally:
            journal.end_reading()
        if reaches_back:
            return self, self._report(started)
        fresh = DurableEngine(self._directory, self._base, self._stored, self._version.externs, self._maintenance)
        report = fresh.open().report
        self.close()
        return fresh, report

    def close(self) -> None:
        """Frees memory, journal and lock. Does nothing in a forked child: they belong to the parent."""
        if os.getpid() != self._process:
            return
        if self._is_open and self._writer is not None:
            self._wait()
            if self._policy.is_due_at_close(self.local.stored_rows()):
                self._write_checkpoint()
        self.abandon()
        if self._writer is not None:
            self._writer.release()

    def abandon(self) -> None:
        """Frees memory and journal, and keeps the lock."""
        self._wait()
        self._is_open = False
        if self._journal is not None:
            self._journal.close()
            self._journal = None
        self.local.close()

    def _wait(self) -> None:
        """Waits for a checkpoint under way."""
        writing = self._writing
        if writing is not None:
            writing.join()

    # Opening

    def _report(self, started: float) -> EpochReport:
        return EpochReport(self.local.epoch, (), perf_counter() - started, 0, 0, *self.local.sizes())

    def _restore(self) -> None:
        """Brings the engine to the epoch of the checkpoint, or to epoch 0 where there is none."""
        loaded = self._loaded
        if loaded is not None and loaded.version == self._version:
            with self._loading(loaded):
                self.local.restore(loaded.state)
            return
        started = perf_counter()
        with self.local.replaying():
            self.local.open()
        if loaded is not None:
            # Another version of an extern function: it may derive other rows now.
            before = LocalEngine(self.program, values=loaded.values)
            with self._loading(loaded):
                before.restore(loaded.state)
            self.local.replay(refill(before), before.epoch)
            before.close()
            self._policy.add_epoch(perf_counter() - started, 0)

    @contextmanager
    def _loading(self, loaded: Checkpoint) -> Iterator[None]:
        """Raises DataError where a checkpoint does not belong to the program's strata."""
        try:
            yield
        except TidelogError:
            raise
        except Exception as error:  # a file may hold anything, and so may fail in any way
            what = f"its checkpoint of epoch {loaded.state.epoch} is not one that Tidelog writes"
            raise damaged(self._directory, f"{what} ({type(error).__name__}: {error})") from error

    def _replay(self, journal: Journal) -> None:
        """Replays the journal behind the present epoch, and reads its marks."""
        for step in replay(journal, self.local, self._rules):
            self._rules = step.rules
            self._policy.add_epoch(step.seconds, step.size)
        self.marks = journal.document(MARKS) or {}
        if not isinstance(self.marks, dict):
            raise damaged(self._directory, "its marks are no JSON object")

    # Checkpoints

    def checkpoint(self) -> None:
        """Writes a checkpoint of the last commit, after one that is under way."""
        self._check_process()
        self._wait()
        self._write_checkpoint()

    def _write_checkpoint(self) -> None:
        """Writes a checkpoint of the last commit, and removes those older than the one before it."""
        started = perf_counter()
        with self._commit_lock:
            capture, rules = self.local.capture(), self._rules
            self._policy.begin()
        try:
            path = write_checkpoint(self._directory, capture, self._version, rules, self._commit_lock)
            with self._commit_lock:
                self._forget(capture.epoch)
            self._policy.finish(perf_counter() - started, path.stat().st_size)
        except (OSError, sqlite3.Error) as error:
            _log.warning("%s: no checkpoint could be written (%s); the journal has everything", self._directory, error)
        finally:
            with self._commit_lock:
                self.local.release()
                self._writing = None

    def _forget(self, epoch: int) -> None:
        """Removes all checkpoints but this one and the last whole one before it, and the entries that both have."""
        assert self._journal is not None
        before = max(self._whole - {epoch}, default=None)
        self._whole = {epoch} if before is None else {epoch, before}
        if before is not None:
            self._journal.cut(before)
        for other, path in checkpoints(self._directory).items():
            if other not in self._whole:
                path.unlink(missing_ok=True)

    # Answered by the local engine

    @property
    def program(self) -> RuleProgram:
        return self.local.program

    def stage(self, relation: str, rows: Any) -> pa.Table | list[Row]:
        return self.local.stage(relation, rows)

    def stage_more(self, relation: str, staged: Any, rows: Any) -> Any | None:
        """Returns None: the journal needs the tables of an operation."""
        return None

    def table(self, relation: str) -> pa.Table:
        return self.local.table(relation)

    def rows(self, relation: str) -> list[tuple[Row, int]]:
        return self.local.rows(relation)

    def lookup(self, relation: str, columns: tuple[int, ...], key: Row) -> list[Row]:
        return self.local.lookup(relation, columns, key)

    def frame(self, relation: str) -> Any:
        return self.local.frame(relation)

    def count(self, relation: str) -> int:
        return self.local.count(relation)

    def contains(self, relation: str, row: Row) -> bool:
        return self.local.contains(relation, row)

    def facts(self, relation: str) -> list[tuple[Row, int]]:
        return self.local.facts(relation)

    def queries(self) -> Queries:
        return self.local.queries()

    def pin(self) -> Reads:
        return self.local.pin()

    def profile(self) -> Profile:
        return self.local.profile()

    def cancel(self) -> bool:
        return self.local.cancel()

    def on_progress(self, tell: ProgressCallback | None) -> None:
        self.local.on_progress(tell)
