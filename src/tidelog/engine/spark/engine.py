"""The Spark engine: a database whose state is Parquet, kept up to date by Spark jobs, epoch by epoch.

`commit` nets the writes, runs one job per touched segment (`run_epoch`), and publishes a manifest that names the files
of the new state. A failure before that leaves the old manifest in force, and removes the new files. Only the DataFrame
API is used, so classic sessions and Spark Connect serve alike.

A reader pins the last manifest (`reads`) and does not wait for the next one; the files that it names stay meanwhile.

The manifest is all that an engine needs to continue after another one, however that ended: nothing is replayed.

DataFrames of users are lazy and read files. Those of an epoch stay for the next `keep_epochs` epochs, so a DataFrame
should be used, cached or written within that time.
"""

from __future__ import annotations

import os
import uuid
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import Lock
from time import perf_counter
from typing import Any

import pyarrow as pa

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.engine.interface import (
    BeforeCommit,
    ChangeRows,
    EpochReport,
    NewRules,
    Operation,
    Outcome,
    ProgressCallback,
    Queries,
    Row,
)
from tidelog.engine.kept_changes import KeptEpoch, Retention, changes_gone
from tidelog.engine.marks import Marks, marked
from tidelog.engine.spark import session
from tidelog.engine.spark.epoch.attempt import Attempt
from tidelog.engine.spark.epoch.cancellation import Cancellation
from tidelog.engine.spark.epoch.changes import SparkChanges
from tidelog.engine.spark.epoch.delays import due, still_waiting
from tidelog.engine.spark.epoch.functional_dependencies import check_functions
from tidelog.engine.spark.epoch.inspect import show_inspected
from tidelog.engine.spark.epoch.rule_changes import RuleChange, change_rules
from tidelog.engine.spark.epoch.run_epoch import Epoch
from tidelog.engine.spark.epoch.stage_rows import stage
from tidelog.engine.spark.metrics.profiler import Profiler
from tidelog.engine.spark.plans.choose_plan import Chooser
from tidelog.engine.spark.plans.frames.state_cache import StateCache
from tidelog.engine.spark.plans.frames.stratum import Frames
from tidelog.engine.spark.plans.placement import Placement
from tidelog.engine.spark.plans.split_inputs import split_inputs
from tidelog.engine.spark.plans.tasks.task import Workers
from tidelog.engine.spark.plans.tasks.task_context import TaskContext, without_keys
from tidelog.engine.spark.reads import Readable, SparkReads
from tidelog.engine.spark.storage.change_lists import read_list
from tidelog.engine.spark.storage.directory import StateDirectory, temporary_directory
from tidelog.engine.spark.storage.manifest import Basis, Manifest
from tidelog.engine.spark.storage.pins import Pins
from tidelog.engine.spark.storage.publish import Published
from tidelog.engine.spark.storage.state_files import Changed, Stored
from tidelog.engine.storage_errors import foreign_process, other_program, read_only
from tidelog.maintain.options import Maintenance
from tidelog.maintain.profile import Profile
from tidelog.maintain.source_rule import written_rule
from tidelog.maintain.switch import Switch
from tidelog.rules.ir import Role, Rule, RuleProgram
from tidelog.rules.rule_changes.rule_set import Layer, RuleSet
from tidelog.rules.schema.storable import know_functions, unstorable_column

_RANKED = frozenset({"elastic", "update", "recompute"})  # the strategies whose state rows with numbers are

KEEP_EPOCHS = 8
"""The number of epochs that the files of an epoch stay after it, by default."""


@dataclass(frozen=True, slots=True)
class Access:
    """The way a state is opened: for reading or writing, the action on close (it releases the writer's lock), and
    whether a commit is on the disk before it counts. `keep_changes` replaces the stored setting. `check_form` raises if
    another engine has the directory now."""

    is_read_only: bool = False
    release: Callable[[], object] | None = None
    reaches_disk: bool = False
    keep_epochs: int = KEEP_EPOCHS
    keep_changes: Retention | None = None
    check_form: Callable[[], object] = lambda: None


class SparkEngine:
    """Implements `Engine`.

    `spark` is the session, by default the active one or a new local one. `path` is a directory for the state, which
    tasks must reach too; without it a local session gets a temporary one, removed by `close`. If there is a state in
    it, this engine continues from it: the caller ensures that it is of the same program, `basis`.
    `plans` overrides the plan of a stratum by any of its relations (`{"Reach": "frames"}`). `buckets` is the number of
    tasks of a decomposed segment (and the most of a partitioned one), by default the number that the session runs at a
    time. `maintenance` has the options of the engines inside tasks. `base` are the rules of the program as it was
    compiled, `rules` those that `program` has. With `auto`, strata run in this process where that is faster, and a
    session is made when it is first needed.

    Raises MissingDependencyError without PySpark or Java, UsageError for an impossible path or plan, DataError for a
    state that is damaged.
    """

    name = "spark"  # or "auto"

    def __init__(
        self,
        program: RuleProgram,
        spark: Any = None,
        path: str | None = None,
        plans: Mapping[str, str] | None = None,
        buckets: int | None = None,
        *,
        basis: Basis | None = None,
        access: Access | None = None,
        maintenance: Maintenance | None = None,
        base: RuleSet | None = None,
        rules: RuleSet | None = None,
        auto: bool = False,
    ) -> None:
        if not auto:
            session.require_pyspark()
        self._maintenance = maintenance or Maintenance()
        self._plans = dict(plans or {})
        self._base, self._rules = base, rules
        self._placement: Placement | None = None
        if auto:
            self.name = "auto"
            self._placement = Placement(lambda: self._workers.count, lambda: session.is_started(self._spark))
        if spark is None:
            spark = (session.active_session() or session.LazySession()) if auto else session.local_session()
        elif not isinstance(spark, session.LazySession):
            session.require_running(spark)
        self._spark = spark
        self._is_temporary = path is None
        self._directory = temporary_directory(self._spark) if path is None else StateDirectory(path)
        self._workers = Workers(
            session.parallel_tasks(self._spark),
            session.is_on_one_machine(self._spark) and self._directory.is_local,
            session.tasks_together(self._spark),
        )
        self._buckets = buckets or self._workers.count
        self._basis = basis or Basis()
        self._access = access or Access()
        self._process = os.getpid()
        self._state = Published(
            self._directory, keep_epochs=self._access.keep_epochs, reaches_disk=self._access.reaches_disk
        )
        self._frames = Frames(Switch(self._maintenance.switch), StateCache(), self._maintenance.strategy)
        self._changes: weakref.WeakSet[SparkChanges] = weakref.WeakSet()
        self._pins, self._turn = Pins(), Lock()
        self._views: weakref.WeakSet[SparkReads] = weakref.WeakSet()
        self._profiler = Profiler()
        self._cancellation = Cancellation(self._spark)
        self._tell: ProgressCallback | None = None
        self._take(program)
        self._chooser = self._new_chooser(self._plans)  # raises for an impossible request
        self._reads = self._reading()

    def _take(self, program: RuleProgram) -> None:
        """Takes the rules of a program for the epochs to come."""
        _refuse_unstorable(program)
        know_functions(program)
        self._split = split = split_inputs(program, self._relations_stored)
        self.program = program
        self._written = split.written
        self._relations = without_keys(split.rules.relations)
        self._context = TaskContext.of(split.rules, self._maintenance)
        requested = {name: plan for name, plan in self._plans.items() if name in split.derived}
        self._chooser = self._new_chooser(requested)

    def _new_chooser(self, requested: Mapping[str, str]) -> Chooser:
        is_circuit = self._maintenance.strategy == "circuit"
        # Tasks exchange rule instances by files. That is fast on one machine; elsewhere `plans=` has to request it.
        may_exchange = self._maintenance.strategy in _RANKED and self._workers.are_here
        together = min(self._buckets, self._workers.together) if may_exchange else 0
        return Chooser(self._split.rules, requested, self._placement, circuit=is_circuit, together=together)

    def open(self) -> Outcome:
        """Opens the state of the last commit; in a new directory, derives the program's own facts."""
        started = perf_counter()
        if self._access.is_read_only:
            self._check_program(self._basis)
            return Outcome({}, self._report_of_opening(started))
        self._state.become_writer(self._access.keep_changes)
        self._show()
        if self._state.is_new:
            outcome = self._attempt((), started, {})
            assert outcome is not None
            return outcome
        if self._state.manifest.basis.externs != self._basis.externs:
            self._recompute({name: replace(stored, counted=False) for name, stored in self._relations_stored.items()})
        return Outcome({}, self._report_of_opening(started))

    @property
    def address(self) -> str:
        """The address of the state."""
        return self._directory.address

    def written(self, relation: str) -> str:
        """Returns the relation that takes the writes to an input relation; another one, if rules derive it too."""
        return self._written[relation]

    def facts_stored(self, relation: str) -> Stored | None:
        """Returns the stored facts of an input relation."""
        return self._stored(self._written[relation])

    def staging(self) -> tuple[StateDirectory, int]:
        """Returns the directory of the state, and the next epoch: files that are staged in its folder (`new_name`) are
        removed after it, whether it is committed or not."""
        number = self._state.manifest.epoch + 1
        self._directory.make(number)
        return self._directory, number

    def reader_of(self, program: RuleProgram) -> SparkEngine:
        """Returns an engine that reads the same state, for `program`, by which the state was derived."""
        return SparkEngine(program, self._spark, self.address, access=Access(is_read_only=True))

    def migrate(self, facts: Mapping[str, Stored], operations: Sequence[Operation]) -> None:
        """Continues from a state of another program: keeps only these of its relations, under their names here, with
        further writes to them; recomputes all others, in an epoch of its own."""
        self._state.become_writer()
        self._recompute(facts, operations)

    def stage(self, relation: str, rows: Any) -> Any:
        return stage(self.program.relations[relation], rows, self._context.definitions)

    def stage_more(self, relation: str, staged: Any, rows: Any) -> Any | None:
        """Returns None: each part is a file of its own."""
        return None

    def commit(
        self,
        operations: Sequence[Operation],
        before_commit: BeforeCommit = None,
        *,
        marks: Marks | None = None,
        rules: NewRules | None = None,
    ) -> Outcome | None:
        started = perf_counter()
        self.check_writable()
        if rules is None:
            return self._attempt(operations, started, marks or {}, before_commit)
        before, known, basis, split = self.program, self._rules, self._basis, self._split
        try:
            self._take(rules.rules.rules)
            self._rules = rules.rules
            self._basis = replace(basis, layer=rules.rules.layer.document())
            change = change_rules(self._relations_stored, split, self._split)
            return self._attempt(operations, started, marks or {}, before_commit, change=change)
        except BaseException:
            self._basis, self._rules = basis, known
            self._take(before)
            raise

    @property
    def marks(self) -> Marks:
        return self._state.manifest.marks

    def kept_since(self) -> int | None:
        since: int | None = self._state.manifest.kept.get("since")
        return since

    def kept_changes(self, epoch: int) -> KeptEpoch:
        try:
            found = read_list(self._directory, epoch)
        except FileNotFoundError:
            last = self._state.manifest.epoch
            raise changes_gone(epoch - 1, max(epoch, self.kept_since() or 0), last) from None
        rows = {}
        for name, relation in self.program.relations.items():
            if relation.role is Role.OUTPUT and name in found.changes:
                changed = found.changes[name]
                rows[name] = SparkChanges(self._spark, self._directory, relation, changed, self._context.definitions)
                self._changes.add(rows[name])
        return KeptEpoch(epoch, found.time, rows)

    def table(self, relation: str) -> pa.Table:
        return self._reads.table(relation)

    def rows(self, relation: str) -> list[tuple[Row, int]]:
        return self._reads.rows(relation)

    def lookup(self, relation: str, columns: tuple[int, ...], key: Row) -> list[Row]:
        return self._reads.lookup(relation, columns, key)

    def frame(self, relation: str) -> Any:
        return self._reads.frame(relation)

    def count(self, relation: str) -> int:
        return self._reads.count(relation)

    def contains(self, relation: str, row: Row) -> bool:
        return self._reads.contains(relation, row)

    def queries(self) -> Queries:
        return self._reads.queries()

    def pin(self) -> SparkReads:
        """Returns the state of the last commit, for readers in any thread; its files stay until `release`."""
        with self._turn:
            return self._reads.hold()

    def _reading(self) -> SparkReads:
        """Returns the state of the manifest in force for readers, by the present rules."""
        readable = Readable(self.program, self._rules, self._relations, self._written)
        reads = SparkReads(self._spark, self._directory, readable, self._state.manifest, self._pins)
        self._views.add(reads)
        return reads

    def _show(self) -> None:
        """Makes the state of the manifest in force the one that readers see."""
        before, found = self._reads, self._reading()
        with self._turn:
            self._reads = found
        before.retire()

    def profile(self) -> Profile:
        sizes = {name: self._directory.size(stored.files) for name, stored in self._relations_stored.items()}
        rows = {name: self.count(name) for name in self.program.relations}
        found = self._profiler.profile(self._state.manifest.epoch, rows, sizes)
        pinned = self._directory.size(self._pins.files - self._state.manifest.files)
        return replace(found, pinned_bytes=pinned + sum(view.loaded_bytes() for view in list(self._views)))

    def facts(self, relation: str) -> list[tuple[Row, int]]:
        return self.rows(self._written[relation])

    def check_writable(self) -> None:
        if self._access.is_read_only:
            raise read_only(self._directory.address)
        if os.getpid() != self._process:
            raise foreign_process(self._directory.address, self._process)

    def stored_rules(self) -> RuleSet | None:
        layer = self._state.manifest.basis.layer
        if self._base is None or not layer:
            return None
        if self._rules is None or self._rules.layer.document() != layer:
            # Rules are compared as objects, so a change of them must be of those that this engine has.
            self._rules = self._base.with_layer(Layer.of_document(layer))
        return self._rules

    def refresh(self) -> tuple[SparkEngine, EpochReport] | None:
        """Implements `Engine.refresh`. Raises UsageError if the database now belongs to another program or engine."""
        if not self._access.is_read_only:
            return None
        self._access.check_form()
        started, before = perf_counter(), self._state.manifest
        self._state.refresh()
        try:
            self._check_program(before.basis)
        except UsageError:
            self._state.manifest = before
            raise
        if self._state.manifest.basis.layer != before.basis.layer:
            rules = self.stored_rules() or self._base
            assert rules is not None
            self._take(rules.rules)
        self._show()
        return self, self._report_of_opening(started)

    def cancel(self) -> bool:
        return self._cancellation.cancel()

    def on_progress(self, tell: ProgressCallback | None) -> None:
        self._tell = tell

    def close(self) -> None:
        """Releases the writer's lock. Removes a temporary state, after reading changes still in use into memory."""
        if os.getpid() != self._process:
            return
        self._reads.retire()
        if self._access.release is not None:
            self._access.release()
        self._frames.states.close()
        if self._is_temporary:
            for changes in list(self._changes):
                changes.detach()
            self._directory.remove()

    def _facts_of_users(self) -> dict[str, str]:
        """Returns, for input relations that rules derive too, the relation with the facts of users."""
        return {name: written for name, written in self._written.items() if name != written}

    def _check_program(self, basis: Basis) -> None:
        """Raises UsageError if the state is of another program."""
        if self._state.manifest.basis.digest != basis.digest:
            raise other_program(self._directory.address)

    @property
    def _relations_stored(self) -> Mapping[str, Stored]:
        return self._state.manifest.relations

    def _stored(self, relation: str) -> Stored | None:
        return self._relations_stored.get(relation)

    def _recompute(self, old: Mapping[str, Stored], operations: Sequence[Operation] = ()) -> None:
        """Runs an epoch that derives all relations from the stored facts, whatever the stored state was derived by."""
        outcome = self._attempt(operations, perf_counter(), {}, recomputed_from=old)
        assert outcome is not None

    def _attempt(
        self,
        operations: Sequence[Operation],
        started: float,
        marks: Marks,
        before_commit: BeforeCommit = None,
        recomputed_from: Mapping[str, Stored] | None = None,
        change: RuleChange | None = None,
    ) -> Outcome | None:
        """Attempts the next epoch; if anything fails, the state is that of the last one."""
        last = self._state.manifest
        number = last.epoch + 1
        label = uuid.uuid4().hex[:12]
        self._directory.make(number)
        attempt = Attempt(
            self._spark, self._directory, number, label, self._context, started, self._cancellation, self._tell
        )
        old = last.relations if recomputed_from is None else recomputed_from
        old = old if change is None else change.old
        epoch = Epoch(
            attempt, self._relations, self._workers, self._buckets, old, self._frames, placement=self._placement
        )
        epoch.watch.written = self._rule_written
        try:
            writes = [Operation(self._written[each.relation], each.sign, each.rows) for each in operations]
            if change is not None:
                epoch.recomputed, epoch.rule_deltas = change.recomputed, change.rule_deltas
                writes += [each for name in change.emptied for each in self._all_rows(name, name, -1)]
                writes += [each for name, source in change.delayed.items() for each in self._all_rows(source, name, +1)]
            new_marks = marked(last.marks, marks)
            waiting, kept = last.waiting, last.kept
            with self._cancellation.running(label):
                is_empty = not epoch.write(writes) and number > 0 and recomputed_from is None and change is None
                if not is_empty:
                    if recomputed_from is None:
                        epoch.feed(due(self.program.feeds, waiting))
                    epoch.derive(self._chooser, is_first=number == 0, recompute_all=recomputed_from is not None)
                    check_functions(epoch, self.program, self._facts_of_users())
            if is_empty:
                self._state.remove_attempt(number)
                if marks:
                    self._publish(replace(last, marks=new_marks))
                return None
            if recomputed_from is None:
                waiting = still_waiting(self.program.feeds, waiting, epoch.changed)
            show_inspected(self.program, self._directory, epoch.inspected, number)
            changes = self._output_changes(epoch)
            if before_commit is not None:
                before_commit(number, changes)
            changed = [name for each in epoch.changed.values() for name in each.files]
            manifest = Manifest(
                last.version, number, self._basis, epoch.view, new_marks, waiting=waiting, kept=dict(kept)
            )
            if recomputed_from is not None and kept:
                # The changes lead from another program's rows to these, or are those of all rows: readers start again.
                manifest = replace(manifest, kept={**kept, "since": number})
                self._publish(manifest, changed)
            else:
                self._publish(manifest, changed, {name: epoch.changed[name] for name in changes})
        except BaseException:
            epoch.drop()
            if self._state.manifest is last:
                with suppress(OSError):  # a task that is still being stopped may write there
                    self._state.remove_attempt(number)
            raise
        epoch.commit()
        report = self._report(epoch, changes, perf_counter() - started)
        self._profiler.note(report)
        return Outcome(changes, report)

    def _rule_written(self, rule: Rule) -> Rule:
        """Returns the rule of the program that a rule is part of."""
        return written_rule(rule, (each for stratum in self.program.strata for each in stratum.rules))

    def _all_rows(self, relation: str, target: str, sign: int) -> list[Operation]:
        """Returns operations that insert the committed rows of a relation into another one, or delete them from it."""
        by_weight: dict[int, list[Row]] = {}
        for row, weight in self._reading().rows(relation):
            by_weight.setdefault(weight, []).append(row)
        return [Operation(target, sign * weight, self.stage(target, rows)) for weight, rows in by_weight.items()]

    def _publish(
        self, manifest: Manifest, changed: Sequence[str] = (), outputs: Mapping[str, Changed] | None = None
    ) -> None:
        with self._cancellation.held():
            self._state.publish(manifest, changed, self._held_files(), outputs)
            self._show()
            self._state.remove_old(self._held_files())

    def _held_files(self) -> set[str]:
        """Returns the files that tasks, pinned states and changes need, whatever the state is."""
        changes = (name for changes in list(self._changes) for name in changes.files)
        return {*self._workers.needed, *self._pins.files, *changes}

    def _output_changes(self, epoch: Epoch) -> dict[str, ChangeRows]:
        changes: dict[str, ChangeRows] = {}
        for name, relation in self.program.relations.items():
            if relation.role is Role.OUTPUT and name in epoch.changed:
                changed = epoch.changed[name]
                rows = SparkChanges(self._spark, self._directory, relation, changed, self._context.definitions)
                self._changes.add(rows)
                changes[name] = rows
        return changes

    def _report(self, epoch: Epoch, changes: Mapping[str, ChangeRows], seconds: float) -> EpochReport:
        return EpochReport(
            epoch=epoch.attempt.epoch,
            strata=tuple(epoch.reports),
            seconds=seconds,
            inserted=sum(rows.inserted_count() for rows in changes.values()),
            deleted=sum(rows.deleted_count() for rows in changes.values()),
            rows=self._sizes(),
        )

    def _report_of_opening(self, started: float) -> EpochReport:
        return EpochReport(self._state.manifest.epoch, (), perf_counter() - started, 0, 0, self._sizes())

    def _sizes(self) -> dict[str, int]:
        return {name: self.count(name) for name, each in self.program.relations.items() if each.role is not Role.HIDDEN}


def _refuse_unstorable(program: RuleProgram) -> None:
    found = unstorable_column(program)
    if found is not None:
        relation, column = found
        raise UsageError(
            f"the values of `{relation.name}.{column.name}`, of type `{column.type}`, cannot be kept in files",
            code=Code.NOT_STORABLE,
            help="open the program with `engine='local'`",
        )
