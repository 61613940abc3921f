"""The local engine: a program's relations in this process, maintained epoch by epoch.

`commit` nets the operations into facts to insert and to delete, brings stratum after stratum to the new epoch in
overlays (`maintain.epoch`), collects the inserted and deleted rows, and commits the overlays; any failure rolls them
back instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock
from time import perf_counter
from typing import Any
from weakref import WeakSet

import pyarrow as pa

from tidelog.diagnostics.errors import UsageError
from tidelog.engine.interface import BeforeCommit, EpochReport, NewRules, Operation, Outcome, ProgressCallback, Row
from tidelog.engine.kept_changes import KeptEpoch, changes_not_kept
from tidelog.engine.local.encoding.words import Values
from tidelog.engine.local.encoding.words_pool import WordsPool
from tidelog.engine.local.epoch.cancellation import Cancellation
from tidelog.engine.local.epoch.changes import LocalChanges, no_session, row_changes, weight_changes
from tidelog.engine.local.epoch.net_operations import NetOperations, net_operations, split_by_sign
from tidelog.engine.local.epoch.progress import progress_hooks
from tidelog.engine.local.epoch.rule_changes import RuleChanges, connect
from tidelog.engine.local.execution.threads import ThreadPool, processors
from tidelog.engine.local.machine_code.declare import seconds_loading
from tidelog.engine.local.queries.queries import LocalQueries
from tidelog.engine.local.reads import LocalReads
from tidelog.engine.local.runtime import Runtime
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.storage.changed_rows import ChangedRows
from tidelog.engine.local.storage.load import StagedRows
from tidelog.engine.local.storage.store import Store
from tidelog.engine.local.storage.weighted_table import Bag, Tables
from tidelog.engine.local.strata.aggregates.stratum import AggregateStratum
from tidelog.engine.local.strata.joins import LocalStratum
from tidelog.engine.local.strategies.choose_strategy import kind_of
from tidelog.engine.local.strategies.counting.rows import Counts
from tidelog.engine.local.transfer.checkpoint import (
    GIVEN,
    WEIGHTS,
    Capture,
    CheckpointState,
    bags_of,
    fill_tables,
    load_stores,
)
from tidelog.engine.local.transfer.export import ExportedState, export_state, reset_strata, table_to_bag
from tidelog.engine.marks import Marks, marked
from tidelog.long_calls import Looking
from tidelog.maintain.epoch import StratumState, maintain
from tidelog.maintain.limits import Limits, Watch
from tidelog.maintain.options import DEFAULT_SWITCH, Maintenance
from tidelog.maintain.profile import Profile
from tidelog.maintain.source_rule import written_rule
from tidelog.maintain.strategies import DEFAULT_STRATEGY
from tidelog.maintain.switch import FULL, Switch
from tidelog.maintain.work_clock import WorkClock
from tidelog.rules.analysis.copies import Copies, find_copies
from tidelog.rules.ir import Kind, Relation, Role, Rule, RuleProgram, Stratum
from tidelog.rules.rule_changes.rule_set import RuleSet


class LocalEngine:
    """The state of one database in memory.

    With `track_state`, for callers that store the state elsewhere, an epoch also yields the rows whose numbers changed,
    the changes of all relations with rules, and the rows that `Inspect` would show. `values` are those of a state that
    will be loaded; `clock` is what the switch measures Updates and Bootstraps with. `spent` is how many seconds of the
    next epoch's deadline have passed before it begins. `stores_copies`: hidden relations have rows even if others have
    the same ones, as is always so with `track_state`.
    """

    name = "local"

    def __init__(
        self,
        program: RuleProgram,
        *,
        track_state: bool = False,
        limits: Limits | None = None,
        strategy: str = DEFAULT_STRATEGY,
        switch: float = DEFAULT_SWITCH,
        threads: int | None = None,
        values: Values | None = None,
        clock: Callable[[], float] | None = None,
        stores_copies: bool = False,
    ) -> None:
        self.epoch = -1
        self.on_stratum: Callable[[StratumState, str], None] | None = None
        self._values = values or Values(program.functions.definitions)
        self.spent = 0.0
        self._cancellation = Cancellation()
        self._watch = Watch(limits or Limits(), self._cancellation)
        self._watch.written = self._written
        self._watch.pardoned = seconds_loading
        self._catalog = Catalog([])
        self._capture: Capture | None = None
        self._track_state = track_state
        self._stores_copies = stores_copies or track_state
        self._requested = Maintenance(strategy, switch, threads)
        self._thread_pool = self._catalog.thread_pool = ThreadPool(self._requested.threads or processors())
        self._loading_before = seconds_loading()  # at the beginning of the epoch under way
        self._switch = Switch(self._requested.switch, clock or WorkClock(seconds_loading))
        self._changed_rows: WeakSet[ChangedRows] = WeakSet()
        self.marks: Marks = {}
        names = list(program.relations)
        numbers = dict(zip(names, self._catalog.add([len(each.columns) for each in program.relations.values()])))
        copies = self._copies(program)
        strata = [self._stratum(stratum, program, numbers, copies) for stratum in program.strata]
        tables = Tables(program, self._catalog, numbers)
        connect(strata, tables)
        self._runtime = self._make_runtime(program, numbers, strata, tables, copies)
        self._busy = Lock()  # held by epochs, and while a reader builds an index
        self._wanted: set[tuple[Store, tuple[int, ...]]] = set()
        self._rules: RuleSet | None = None
        self._found_reads: LocalReads | None = None
        self._views: WeakSet[LocalReads] = WeakSet()
        self._publish()

    @property
    def program(self) -> RuleProgram:
        """The current rules."""
        return self._runtime.program

    def _written(self, rule: Rule) -> Rule:
        """Returns the rule of the program that a rule is part of."""
        return written_rule(rule, (each for stratum in self.program.strata for each in stratum.rules))

    def _copies(self, program: RuleProgram) -> Copies:
        """Returns the relations that this engine does not store, because others have their rows."""
        return Copies() if self._stores_copies else find_copies(program)

    def _stratum(
        self, stratum: Stratum, program: RuleProgram, numbers: Mapping[str, int], copies: Copies
    ) -> LocalStratum:
        kind = kind_of(stratum, program, self._requested.strategy, copies)
        made = kind(stratum, program, numbers, self._catalog, self._values, self._watch, self._thread_pool)
        if isinstance(made, AggregateStratum):
            made.without(copies)
        return made

    def _make_runtime(
        self,
        program: RuleProgram,
        numbers: Mapping[str, int],
        strata: Sequence[LocalStratum],
        tables: Tables,
        copies: Copies,
        before: Runtime | None = None,
    ) -> Runtime:
        runtime = Runtime(program, self._catalog, self._values, numbers, strata, tables, copies, before)
        if self._track_state:
            runtime.inspector.take = runtime.state_tables.take_inspected
        return runtime

    # Engine

    def open(self) -> Outcome:
        """Derives what the program's own facts imply: every stratum with rules is bootstrapped from nothing."""
        started, self._loading_before = perf_counter(), seconds_loading()
        with self._busy, self._cancellation.held():
            return self._run_epoch(started, self._runtime.scheduler.all(), None, recompute=True)

    def stage(self, relation: str, rows: Any) -> pa.Table | list[Row]:
        """Returns the rows unchanged."""
        if not isinstance(rows, pa.Table | list):
            raise UsageError(
                f"the local engine takes Arrow tables, not {type(rows).__name__}",
                code="E703",
                help='open the database with engine="spark" to pass Spark DataFrames',
            )
        return rows

    def stage_more(self, relation: str, staged: Any, rows: Any) -> StagedRows | None:
        """Converts tables that come in parts to words, each part when it comes."""
        declared = self.program.relations[relation]
        if not isinstance(rows, pa.Table) or not isinstance(staged, pa.Table | StagedRows) or not declared.columns:
            return None
        both = staged if isinstance(staged, StagedRows) else StagedRows(len(declared.columns))
        if both is not staged:
            self._add_table(both, staged, declared)
        self._add_table(both, rows, declared)
        return both

    def _add_table(self, staged: StagedRows, table: pa.Table, relation: Relation) -> None:
        staged.add(table.num_rows, lambda words: self._values.table_to_words(table, relation, words))

    def commit(
        self,
        operations: Sequence[Operation],
        before_commit: BeforeCommit = None,
        *,
        marks: Marks | None = None,
        rules: NewRules | None = None,
    ) -> Outcome | None:
        """See `Engine.commit`."""
        return self._commit(operations, before_commit, marks or {}, rules, even_if_empty=False)

    def step(self, operations: Sequence[Operation]) -> Outcome:
        """Runs an epoch even if the net operations are empty: rows of streams last for one epoch only."""
        outcome = self._commit(operations, None, {}, None, even_if_empty=True)
        assert outcome is not None
        return outcome

    def _commit(
        self,
        operations: Sequence[Operation],
        before_commit: BeforeCommit,
        marks: Marks,
        rules: NewRules | None,
        *,
        even_if_empty: bool,
    ) -> Outcome | None:
        started, self._loading_before = perf_counter(), seconds_loading()
        with self._busy, self._cancellation.held():
            # Values of staged rows are in no store yet.
            self._prepare_epoch(sweep=not any(isinstance(each.rows, StagedRows) for each in operations))
            if rules is None:
                net = self._net(operations)
                is_empty = not net.facts and not net.weights and not even_if_empty
                outcome = None if is_empty else self._apply(started, net, before_commit)
            else:
                outcome = self._commit_rules(started, operations, before_commit, rules.rules)
            self.marks = marked(self.marks, marks)
            if outcome is not None and any(each.strategy in FULL for each in outcome.report.strata):
                self._reclaim_values()  # the next epoch may be small: it is not to pay for what this one has loaded
            return outcome

    def kept_since(self) -> None:
        """Keeps no changes: only durable databases do."""

    def kept_changes(self, epoch: int) -> KeptEpoch:
        raise changes_not_kept()

    def _prepare_epoch(self, *, sweep: bool) -> None:
        """Does what waits for a moment without an epoch: frees lines, and with `sweep` values, that nobody needs, and
        builds indexes that readers have missed.
        """
        self._catalog.pins.forget()
        if sweep:
            self._reclaim_values()
        while self._wanted:
            store, columns = self._wanted.pop()
            if store.is_attached:
                store.arrange_for_readers(columns)

    def _reclaim_values(self) -> None:
        """Frees values that nobody needs, if that is due."""
        if self._capture is None:  # captures decode values later
            self._runtime.reclaim.between_epochs()

    def _net(self, operations: Sequence[Operation]) -> NetOperations:
        runtime = self._runtime
        return net_operations(operations, runtime.program, runtime.numbers, runtime.scheduler.stratum_of, self._values)

    def _commit_rules(
        self, started: float, operations: Sequence[Operation], before_commit: BeforeCommit, rules: RuleSet
    ) -> Outcome:
        """Runs an epoch that begins with other rules; if it fails, the runtime of the old rules is active again."""
        before, known, program = self._runtime, self._rules, rules.rules
        copies = self._copies(program)
        change = RuleChanges(
            self._catalog, before.program, before.strata, before.numbers, before.tables, before.copies, program, copies
        )
        try:
            strata = change.strata(self._stratum)
            change.connect()
            self._runtime = self._make_runtime(program, change.numbers, strata, change.tables, copies, before)
            self._rules = rules
            net = self._net(operations)
            self._add_delayed(self._runtime.delays.continue_from(before.delays), net)
            outcome = self._apply(started, net, before_commit)
        except BaseException:
            self._runtime, self._rules = before, known
            before.activate()
            change.roll_back()
            raise
        change.commit()
        self._runtime.scheduler.forget_removed_rules()
        return outcome

    def _apply(self, started: float, net: NetOperations, before_commit: BeforeCommit) -> Outcome:
        """Adds the rows due in delayed relations, gives the strata their net operations, and runs the epoch."""
        runtime = self._runtime
        self._add_delayed(runtime.delays.due(), net)
        for number, rows in net.facts.items():
            runtime.scheduler.stratum_of(number).facts[number] = rows
        for name, bag in net.weights.items():
            runtime.weighted[name].given = bag
        return self._run_epoch(started, runtime.scheduler.touched(net.facts), before_commit, recompute=False)

    def _add_delayed(self, delayed: Mapping[str, Bag], net: NetOperations) -> None:
        for name, bag in delayed.items():
            if name in self._runtime.weighted:
                net.weights[name] = bag
            else:
                net.facts[self._runtime.numbers[name]] = split_by_sign(bag, self.program.relations[name])

    # The committed state

    def pin(self) -> LocalReads:
        """Returns the state of the last commit, for readers in any thread; it stays as it is until `release`."""
        with self._catalog.pins.turn:
            return self._reads.hold()

    @property
    def _reads(self) -> LocalReads:
        """The state of the last commit; the caller has the turn, or no epoch can be committed meanwhile."""
        found = self._found_reads
        if found is None:
            found = self._found_reads = LocalReads(
                self.epoch,
                self._published,
                self._published_rules,
                dict(self._committed),
                self._catalog.pins,
                self._values,
                self,
            )
            self._views.add(found)
        return found

    def _publish(self) -> None:
        """Makes the present stores those that readers see; in a turn."""
        runtime = self._runtime
        self._published, self._published_rules = runtime, self._rules
        self._committed = {number: self._catalog.stores[number] for number in runtime.numbers.values()}
        for store in self._committed.values():
            if not store.versions.is_published:
                store.versions.publish(store)
        self._retire_reads()

    def _retire_reads(self) -> None:
        """Lets the readers of the last state go: it is another one now."""
        before, self._found_reads = self._found_reads, None
        if before is not None:
            before.retire()

    @contextmanager
    def idle(self) -> Iterator[bool]:
        """See `queries.lookup.Indexer`."""
        is_idle = self._busy.acquire(blocking=False)
        try:
            yield is_idle
        finally:
            if is_idle:
                self._busy.release()

    def want(self, store: Store, columns: tuple[int, ...]) -> None:
        """See `queries.lookup.Indexer`."""
        self._wanted.add((store, columns))

    def table(self, relation: str) -> pa.Table:
        return self._reads.table(relation)

    def rows(self, relation: str) -> list[tuple[Row, int]]:
        return self._reads.rows(relation)

    def lookup(self, relation: str, columns: tuple[int, ...], key: Row) -> list[Row]:
        return self._reads.lookup(relation, columns, key)

    def frame(self, relation: str) -> Any:
        raise no_session()

    def count(self, relation: str) -> int:
        return self._reads.count(relation)

    def contains(self, relation: str, row: Row) -> bool:
        return self._reads.contains(relation, row)

    def queries(self) -> LocalQueries:
        return self._reads.queries()

    def facts(self, relation: str) -> list[tuple[Row, int]]:
        words = self._runtime.scheduler.stratum_of(self._runtime.numbers[relation]).given_to(relation)
        rows = self._values.words_to_rows(words[:, :-1], self.program.relations[relation])
        return list(zip(rows, words[:, -1].tolist()))

    def check_writable(self) -> None:
        pass

    def stored_rules(self) -> RuleSet | None:
        return None

    def refresh(self) -> tuple[LocalEngine, EpochReport] | None:
        return None

    def profile(self) -> Profile:
        """Returns the costs of the epochs and the size of the state."""
        found = self._runtime.profiler.profile(self.epoch, self._catalog, self._runtime.numbers)
        return replace(found, pinned_bytes=self._pinned_bytes())

    def _pinned_bytes(self) -> int:
        """Returns the bytes that only readers of earlier commits need, and those of copies for queries."""
        current = {*map(id, self._committed.values())}
        views = list(self._views)
        held = {id(store): store for view in views for store in view.stores() if id(store) not in current}
        copied = sum(view.copied_bytes() for view in views)
        return self._catalog.pins.kept_bytes() + copied + sum(store.memory() for store in held.values())

    def cancel(self) -> bool:
        """Cancels the epoch that runs in another thread; False if none runs, or it is being committed."""
        return self._cancellation.cancel()

    def on_progress(self, tell: ProgressCallback | None) -> None:
        """See `Engine.on_progress`."""
        self.on_stratum, self._watch.on_round = (None, None) if tell is None else progress_hooks(self.program, tell)

    def close(self) -> None:
        """Frees the memory, and ends the threads."""
        self._committed = {}
        self._retire_reads()
        self._wanted.clear()
        self._thread_pool.close()
        self._catalog.close()
        self._catalog = Catalog([])
        self._runtime.strata = []

    # Checkpoints

    def replay(self, operations: Sequence[Operation], epoch: int, rules: NewRules | None = None) -> None:
        """Applies operations that were committed before, and moves the state to this epoch."""
        with self.replaying():
            self.commit(operations, rules=rules)
        self.epoch = epoch
        self._retire_reads()

    @contextmanager
    def replaying(self) -> Iterator[None]:
        """Begins a block for epochs that were committed before: `Inspect` shows nothing, and there are no limits."""
        limits = self._watch.limits
        self._watch.limits, self._runtime.inspector.is_silent = Limits(), True
        try:
            yield
        finally:
            self._watch.limits, self._runtime.inspector.is_silent = limits, False

    def capture(self) -> Capture:
        """Captures the committed state, to be read while later epochs commit, until `release`."""
        with self._busy:  # lines that pins gave back are free, or not yet
            pools = self._values.interned(
                column.type for relation in self._runtime.relations for column in relation.columns
            )
            # A chain of structs would be written once for each of its links.
            used = self._runtime.reclaim.used_directly([pool for pool in pools.values() if isinstance(pool, WordsPool)])
            self._capture = Capture(
                self.epoch,
                self._catalog,
                self._runtime.numbers,
                self._runtime.strata,
                bags_of(self._runtime.weighted, self._runtime.tables, self._runtime.strata, self._runtime.delays),
                [
                    (type_, pool.copy_values(used[pool]) if isinstance(pool, WordsPool) else pool.copy_values())
                    for type_, pool in pools.items()
                ],
            )
            return self._capture

    def release(self) -> None:
        """Ends the capture."""
        self._capture = None

    def restore(self, state: CheckpointState) -> None:
        """Continues from a captured state, whose values this engine was made with, instead of `open`."""
        load_stores(state, self._catalog, self._runtime.numbers)
        self._catalog.resized.update(self._runtime.numbers.values())
        fill_tables(state.bags(WEIGHTS), self._catalog, self._runtime.numbers, self._runtime.tables)
        for stratum in self._runtime.strata:
            stratum.instances = state.instances[min(stratum.relations)]
            stratum.resume(state.bags(GIVEN))
        self._runtime.delays.resume(state.queues())
        self.epoch = state.epoch
        self._retire_reads()

    # State

    def state_table(self, relation: str) -> pa.Table:
        """Returns all rows of a relation with their numbers; see `state_schema`."""
        return self._runtime.state_tables.table(relation)

    def state_changes(self, relation: str) -> pa.Table:
        """Returns the rows whose numbers the last epoch changed; `_total` is 0 for a deleted row."""
        return self._runtime.state_tables.changes(relation)

    def weight_changes(self, relation: str) -> pa.Table:
        """Returns the weights that the last epoch added to a weighted relation, as `_total` behind its columns."""
        return self._runtime.state_tables.weight_changes(relation)

    def inspected(self) -> Mapping[str, pa.Table]:
        """Returns the rows that `Inspect` has to show of the last epoch, by its hidden relation: `_total` is the change
        of the row's weight, `_rank` the round in which it was derived.
        """
        return self._runtime.state_tables.inspected

    def export_state(self) -> ExportedState:
        """Returns the whole state, for an engine of another kind."""
        return export_state(
            self.epoch, self.program, self._runtime.state_tables, self._runtime.strata, self._runtime.delays
        )

    def import_state(self, state: ExportedState, recompute: AbstractSet[str]) -> None:
        """Continues from the state of another engine, instead of `open`. Strata with a relation in `recompute`, whose
        numbers are unknown, are derived from scratch; that is no epoch.
        """
        given = {name: self._bag(name, table) for name, table in state.given.items()}
        self.load(state.rows, given=given)
        unknown = reset_strata(self._runtime.strata, recompute, given)
        if unknown:
            with self.replaying():
                self._run_epoch(perf_counter(), self._runtime.scheduler.starting_at(unknown), None, recompute=False)
        self._runtime.delays.resume(
            {name: [self._bag(name, table) for table in queue] for name, queue in state.waiting.items()}
        )
        self.epoch = state.epoch
        self._retire_reads()

    def load(self, states: Mapping[str, pa.Table], epoch: int = 0, given: Mapping[str, Bag] | None = None) -> None:
        """Loads the state of every relation named (the others are empty) without deriving anything.

        `given` has the facts that transactions gave, where the rows do not tell. The deltas that delayed relations wait
        for are not part of it: a program with delays cannot be loaded so.
        """
        held = [number for each in self._runtime.strata if not each.joins for number in each.relation_numbers]
        weights = self._runtime.state_tables.load(states, held)
        fill_tables(weights, self._catalog, self._runtime.numbers, self._runtime.tables)
        for name in states:
            store = self._store(name)
            store.versions.publish(store)
        for stratum in self._runtime.strata:
            totals = [each.totals_of(each.lines()).sum() for each in stratum.stores()]
            stratum.instances = int(sum(totals))
            stratum.resume(given or {})
        self._catalog.resized.update(self._runtime.numbers.values())
        self.epoch = epoch
        self._retire_reads()

    def export_counts(self, relation: str) -> list[tuple[Row, list[tuple[int, int]]]]:
        """Returns each row with its iterations, upwards, and their counts; empty except for the strategy `counting`."""
        store = self._store(relation)
        if not isinstance(store.beside, Counts):
            return []
        lines = store.lines()
        rows = self._values.words_to_rows(store.columns_of(lines), self.program.relations[relation])
        return list(zip(rows, map(store.beside.of, lines.tolist()), strict=True))

    def sizes(self, visited: Sequence[LocalStratum] = ()) -> tuple[dict[str, int], dict[str, int]]:
        """Returns the rows and the bytes of each declared relation, after an epoch that visited these strata."""
        return self._runtime.sizes.after(visited)

    def stored_rows(self) -> int:
        """Returns the number of rows of all relations, hidden ones included."""
        return sum(map(len, self._catalog.stores))

    def bytes(self, relation: str) -> int:
        """Returns the memory of a relation."""
        return self._store(relation).bytes()

    # An epoch

    def _run_epoch(
        self, started: float, strata: Iterator[LocalStratum], before_commit: BeforeCommit, *, recompute: bool
    ) -> Outcome:
        """Derives the next epoch in overlays and commits them; any failure rolls them back."""
        runtime = self._runtime
        with self._cancellation.running(), Looking(self._watch.look):
            self._watch.begin(self.spent)
            self._catalog.spare_seconds = 0.0
            runtime.state_tables.begin()
            self._copy_changed_rows()
            try:
                reports = maintain(
                    (stratum.begin() for stratum in strata),
                    recompute=recompute,
                    on_stratum=self.on_stratum,
                    strategy=self._requested.strategy,
                    switch=self._switch,
                )
                changes = self._check_and_collect()
                if before_commit is not None:
                    before_commit(self.epoch + 1, changes)
            except BaseException:
                self._roll_back()
                raise
            self._commit_overlays()
        report = EpochReport(
            self.epoch,
            reports,
            perf_counter() - started,
            sum(change.inserted_count() for change in changes.values()),
            sum(change.deleted_count() for change in changes.values()),
            *self.sizes(runtime.scheduler.visited),
            compiling=seconds_loading() - self._loading_before,
        )
        runtime.profiler.note(report)
        return Outcome(changes, report)

    def _check_and_collect(self) -> dict[str, LocalChanges]:
        """Checks functional dependencies, passes the point of no return, runs `Inspect`; returns the changes."""
        runtime, visited = self._runtime, self._runtime.scheduler.visited
        runtime.functional_dependencies.check([number for each in visited for number in each.relation_numbers])
        self._arrange_for_readers()
        changes = self._changes()
        if self._track_state:
            runtime.state_tables.collect(visited)
        self._cancellation.pass_point_of_no_return()
        runtime.inspector.show(self.epoch + 1, self._store)
        for table in runtime.tables.values():
            table.pull()
        return changes

    def _arrange_for_readers(self) -> None:
        """Gives stores that a Bootstrap has filled the arrangements that readers use: none of them is to build one."""
        for stratum in self._runtime.scheduler.visited:
            for number in stratum.relation_numbers:
                for columns in self._catalog.read_by(number):
                    self._catalog.stores[number].arrange(columns)

    def _commit_overlays(self) -> None:
        runtime, visited = self._runtime, self._runtime.scheduler.visited
        if self._capture is not None:
            self._capture.before_commit(visited)
        pins = self._catalog.pins
        for stratum in visited:
            stratum.prepare_commit()
        # What the last state held is freed after the turn: to free the memory of many rows takes a while.
        replaced = [[*stratum.replaced.values()] for stratum in visited if stratum.replaced]
        self._catalog.unfinished = []
        with pins.turning():
            runtime.delays.commit()
            if pins.is_pinned:
                pins.keeping.update(table for table in runtime.tables.values() if table.keep(pins.commits + 1))
            for table in runtime.tables.values():
                table.commit()
            for stratum in visited:
                stratum.commit()
            self.epoch += 1
            pins.commits += 1
            reads, self._found_reads = self._found_reads, None
            if runtime is not self._published:
                self._publish()
            for stratum in visited:
                for number in stratum.relation_numbers:
                    self._committed[number] = self._catalog.stores[number]
        self._catalog.finish_commits()
        del replaced
        if reads is not None:
            reads.retire()

    def _roll_back(self) -> None:
        """Returns to the last commit, and forgets the net operations of this epoch."""
        for stratum in self._runtime.scheduler.visited:
            stratum.roll_back()  # each store in a turn of its own: readers look at no other state of the epoch
            self._catalog.resized.update(stratum.relation_numbers)
        for stratum in self._runtime.strata:
            stratum.facts = {}
        for weighted in self._runtime.weighted.values():
            weighted.given = {}
        for table in self._runtime.tables.values():
            table.drop()

    def _copy_changed_rows(self) -> None:
        """Copies the rows of earlier changes that a caller still holds, before an epoch changes them."""
        if self._changed_rows:
            for rows in self._changed_rows:
                rows.words()
            self._changed_rows.clear()

    def _changes(self) -> dict[str, LocalChanges]:
        """Returns the inserted and deleted rows of output relations, in the program's order."""
        changes: dict[str, LocalChanges] = {}
        for place in sorted(
            self._runtime.places[name] for each in self._runtime.scheduler.visited for name in each.relations
        ):
            relation = self._runtime.relations[place]
            if relation.role is not Role.OUTPUT and (not self._track_state or relation.role is Role.INPUT):
                continue
            if relation.kind is not Kind.SET and relation.name in self._runtime.weighted:
                found = weight_changes(relation, self._values, self._runtime.tables[relation.name].delta)
            else:
                found = row_changes(relation, self._values, self._store(relation.name))
            if found is not None:
                changes[relation.name] = found
        for each in changes.values():
            self._changed_rows.add(each.inserted_rows)
            self._changed_rows.add(each.deleted_rows)
            self._runtime.reclaim.hold(each)
        return changes

    def _bag(self, relation: str, table: pa.Table) -> Bag:
        return table_to_bag(table, self.program.relations[relation], self._values)

    def _store(self, relation: str) -> Store:
        return self._catalog.stores[self._runtime.numbers[relation]]
