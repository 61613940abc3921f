"""A stratum that the kernels join, and the two ways to run its variants: `update` and `bootstrap`.

Both are waves driven by the kernel `drive`. Update runs RETRACT, then INSERT, over the committed rows with a log;
Bootstrap runs INSERT into fresh stores, with every rule new: each runs in wave 0 through its hidden fact alone.

That fact stands last in the body, so that an Update can add and remove rules, too. A removed rule runs in wave 0 of
RETRACT, through its hidden fact and through all else that is deleted then, and never again; an added one runs as in a
Bootstrap.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Self, TypeVar

import numpy as np

from tidelog.diagnostics.errors import EvaluationError, InternalError, OverflowedError, TidelogError
from tidelog.engine.local.encoding.words import Values, Words
from tidelog.engine.local.execution.bytecode import Bytecode, Segment
from tidelog.engine.local.execution.list_joins import ListJoin
from tidelog.engine.local.execution.plan_cache import IN_BOOTSTRAP, IN_UPDATE, REMOVED_IN_UPDATE, PlanCache
from tidelog.engine.local.execution.python_step import evaluate
from tidelog.engine.local.execution.rule_costs import RuleCosts
from tidelog.engine.local.execution.threads import NO_INPUTS, NO_READS, SegmentExecutor, ThreadPool
from tidelog.engine.local.kernels import entry_points
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.storage.load import Load, StagedRows
from tidelog.engine.local.storage.store import Store, slots_for
from tidelog.engine.local.strata.row_wise_waves import RowWiseWaves
from tidelog.engine.local.strata.scan_rules import ScanRules
from tidelog.functions.runtime_errors import ROW_ERRORS, without_result
from tidelog.maintain.cost_history import Event
from tidelog.maintain.limits import NO_LIMIT, Running, Watch
from tidelog.maintain.source_rule import written_rule
from tidelog.maintain.switch import RANK_LIMIT, Meter, Progress, Touched
from tidelog.plan.variant import Variant
from tidelog.rules.ir import Rule, RuleProgram, Stratum
from tidelog.rules.lower.program import expressions_of
from tidelog.types import Type

YIELD_INSTANCES = 2_000_000
# An Update is prepared again before waves 5, 11, 23 …, once it has met so many instances: fewer cost less than plans.
REPLAN_WAVE = 4
REPLAN_INSTANCES = 20_000
ROW_WISE_PART = 4  # of the waves so far: after so many more, a Bootstrap asks again whether to go head by head
# The seconds that Bootstraps take for each row of an arrangement for Updates, and for each of their plans; the part of
# their own seconds that they have for that, and the least of these.
ARRANGING_ROW, PLANNING, ARRANGING_PART, LEAST_ARRANGING = 12e-9, 1e-4, 0.125, 2e-3
MANY_FACTS = 20_000  # see `_only_loads_facts`
FEW_CHANGES = 2_000  # rows below: with more, the switch decides before an Update begins
NO_EVENTS: Mapping[Event, int] = {}
SMALL_UPDATE: Words = np.zeros(k.CONTROL_FIELDS, dtype=np.int64)  # the control words of a whole Update
SMALL_UPDATE[[k.STAGE, k.LOGGING, k.THREADS, k.CHUNK, k.COMBINE, k.THREADS_AVAILABLE, k.MOST_WAVES, k.MOST_RANK]] = (
    k.STAGE_BEGIN, 1, 1, k.ALL_ROWS, 1, 1, NO_LIMIT, RANK_LIMIT,
)  # fmt: skip

_Error = TypeVar("_Error", bound=Exception)


class LocalStratum:
    """The state of one stratum in the local engine; see `maintain.epoch.StratumState`.

    A subclass may set: `joins`, false if its rows are not counted instances of rules; `checked_always`, true if its
    `is_touched` looks at more than inserted and deleted rows; `runs_python`, true if Python has work in every wave; and
    `removed_in_update` and `whole_in_update`, see `PlanCache`.

    A change of rules replaces the strata that it touches by other objects. If the new one `is_new`, it is derived from
    scratch, from the facts that it `inherited`; else it continues the state of the old one, and `added` and `removed`
    are the rules to exchange. The commit of the epoch ends that.
    """

    fixed: str | None = None
    why = ""
    strategy = "elastic"
    joins = True
    checked_always = False
    runs_python = False
    removed_in_update: Mapping[int, int] = REMOVED_IN_UPDATE
    whole_in_update = False
    _phase = k.INSERT
    _row_wise: RowWiseWaves | None = None  # during a Bootstrap
    _begun: Words | None = None  # while a small Update waits for a decision: the relations that `drive` is given
    _waves_done = 0, 0  # waves of this Bootstrap that went head by head before all others, and their instances
    _is_stamped = False  # the rows of this Bootstrap have the stamps of inserted ones

    def __init__(
        self,
        stratum: Stratum,
        program: RuleProgram,
        numbers: Mapping[str, int],
        catalog: Catalog,
        values: Values,
        watch: Watch,
        thread_pool: ThreadPool,
    ) -> None:
        self.stratum = stratum
        self.program = program
        self.numbers = numbers
        self.catalog = catalog
        self.values = values
        self.watch = watch
        self._thread_pool = thread_pool
        self.instances = self._committed_instances = 0
        self.waves = 0
        self.work = 0
        self.costs = RuleCosts()
        self.facts: dict[int, tuple[Words, Words]] = {}  # relation → facts to insert, facts to delete
        self.relation_numbers = tuple(numbers[name] for name in stratum.relations)
        # The relations that other strata read; all, until the engine says which.
        self.read_above: Collection[int] = range(1 << 31)
        self.is_new = False
        self.inherited: dict[int, Words] = {}
        self.added: tuple[Rule, ...] = ()
        self.removed: tuple[Rule, ...] = ()
        self.replaced: dict[int, Store] = {}
        self._load: Load | None = None  # of the epoch that begins
        self.plans = PlanCache(
            stratum,
            self._planned_rules(stratum.rules),
            program,
            numbers,
            catalog,
            values,
            thread_pool,
            removed_in_update=self.removed_in_update,
            whole_in_update=self.whole_in_update,
        )
        self.plans.may_list = type(self) is LocalStratum
        self._inside = self.plans.inside
        self._control: Words = np.zeros(k.CONTROL_FIELDS, dtype=np.int64)
        self._hashes: Words = np.empty(k.PIECE, dtype=np.int64)

    def _planned_rules(self, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        """Returns those of the rules that plans run."""
        return rules if self.joins else ()

    # Rules that change

    @property
    def has_changed(self) -> bool:
        """True if rules were added or removed since the last epoch, or the stratum has to be derived from scratch."""
        return self.is_new or bool(self.added or self.removed)

    def continue_from(self, before: LocalStratum) -> None:
        """Continues with the state of a stratum with the same relations and other rules."""
        known, now = set(map(id, before.stratum.rules)), set(map(id, self.stratum.rules))
        self.added = tuple(rule for rule in self.stratum.rules if id(rule) not in known)
        self.removed = tuple(rule for rule in before.stratum.rules if id(rule) not in now)
        self.instances, self.costs = before.instances, before.costs
        self.plans.continue_from(before.plans, (*self.stratum.rules, *self.removed))

    def start_from(self, given: Mapping[int, Words]) -> None:
        """Lets the next epoch derive the stratum from nothing but the facts given to its relations, with weights."""
        self.is_new = True
        self.inherited = {number: words[words[:, -1] > 0, :-1] for number, words in given.items()}

    # The interface for an epoch

    @property
    def relations(self) -> tuple[str, ...]:
        return self.stratum.relations

    @property
    def recursive(self) -> bool:
        return self.stratum.recursive

    @property
    def reads(self) -> Sequence[int]:
        """The relations of lower strata that its rules read."""
        return self.plans.reads.below

    @property
    def picked_reads(self) -> Mapping[int, Collection[tuple[int, int]]]:
        """Relations of lower strata that cannot change the stratum by a row without one of these words in one of these
        columns."""
        return self.plans.reads.picked if type(self) is LocalStratum else {}

    @property
    def row_count(self) -> int:
        return sum(self.catalog.S.item(relation, k.LIVE) for relation in self.relation_numbers)

    def has_rules(self) -> bool:
        return bool(self.stratum.rules)

    def can_update(self) -> bool:
        return True

    def can_derive(self) -> bool:
        stores, numbers = self.catalog.stores, self.numbers
        return self.joins and any(
            all(len(stores[numbers[atom.relation]]) for atom in rule.positives) for rule in self.stratum.rules
        )

    def is_touched(self) -> bool:
        return self.has_changed or bool(self.facts) or self.plans.has_changed_input()

    def touched(self) -> tuple[Touched, ...]:
        names, lines = self.plans.reads.names, self.catalog.S
        below = []
        for relation in self.reads:
            inserted, deleted = lines.item(relation, k.INSERTED_COUNT), lines.item(relation, k.DELETED_COUNT)
            if inserted or deleted:
                below.append(Touched(names[relation], lines.item(relation, k.LIVE) - inserted, inserted, deleted))
        own = [
            Touched(names[relation], len(self.catalog.stores[relation]), len(to_insert), len(to_delete))
            for relation, (to_insert, to_delete) in self.facts.items()
        ]
        count = len(self.stratum.rules)
        rules = [Touched(f"rule {rule.id}", count, 1, 0, is_rule=True) for rule in self.added]
        if self.removed:
            shares = self.costs.shares()
            rules += [
                Touched(f"rule {rule.id}", count, 0, 1, is_rule=True, share=shares.get(rule.id, 0.0))
                for rule in self.removed
            ]
        return (*below, *own, *rules)

    def rows_below(self) -> int:
        rows = sum(self.catalog.S.item(relation, k.LIVE) for relation in self.reads)
        return rows + sum(len(inserted) for inserted, _ in self.facts.values())

    def top_rank(self) -> int:
        return max(self.catalog.S.item(relation, k.TOP) for relation in self.relation_numbers)

    def stores(self) -> list[Store]:
        return [self.catalog.stores[relation] for relation in self.relation_numbers]

    def end_costs(self, seconds: float) -> None:
        """Ends the costs of a committed epoch, in which the stratum took so long."""
        self.costs.end_epoch(seconds, self.plans.planned, self.plans.tally)

    def _count_costs(self) -> None:
        if self.plans.planned:
            self.costs.count(self.plans.planned, self.plans.tally)

    # State of a checkpoint beside the stores

    def given_to(self, relation: str) -> Words:
        """Returns the facts that transactions gave to a relation, each with its weight behind its columns."""
        store = self.catalog.stores[self.numbers[relation]]
        lines = store.lines()
        lines = lines[store.rows[lines, store.columns + k.META] & k.INPUT_BIT != 0]
        return np.concatenate([store.columns_of(lines), np.ones((len(lines), 1), dtype=np.int64)], axis=1)

    def net_facts(self, relation: int, rows: Words, signs: Words) -> tuple[Words, Words]:
        """Returns the net effect of inserts (+1) and deletes (-1), in order: facts to insert, and facts to delete."""
        if self._load is not None:
            if self._load.has(rows) and self._load.index(self.catalog.thread_pool):
                return rows, rows[:0]
            self._load = None
        return self.catalog.net_rows(relation, np.ascontiguousarray(rows), signs)

    def begin_load(self, rows: int, staged: StagedRows | None = None) -> Words | None:
        """Returns where to write so many facts for the only relation of the stratum, or where those that are `staged`
        lie; None if they would not stay."""
        self._load = None
        if type(self) is not LocalStratum or not self._takes_only_facts() or rows < MANY_FACTS:
            return None
        (store,) = self.stores()
        if not store.columns or len(self.inherited.get(store.relation, ())):
            return None
        is_read = store.relation in self.read_above
        self._load = Load(rows, store.columns, slots_for(rows), is_read=is_read, staged=staged)
        return self._load.words

    def made_words(self) -> Iterator[tuple[Type, Words]]:
        """Yields words that the stratum stores between epochs and that may be in no row, by their types."""
        return iter(())

    def values_swept(self) -> None:
        """Takes note that ids of interned values were freed, between epochs."""

    @property
    def internal_stores(self) -> Mapping[int, str]:
        """The stores that belong to the stratum beside those of its relations, with names for reports."""
        return {}

    @property
    def on_demand(self) -> tuple[str, ...]:
        """Hidden relations that only explanations read, and that epochs may leave empty."""
        return ()

    def given_apart(self) -> Iterator[tuple[str, dict[tuple[int, ...], int]]]:
        """Yields what `given_to` returns, for relations whose store does not say which rows are input facts."""
        return iter(())

    def resume(self, given: Mapping[str, dict[tuple[int, ...], int]]) -> None:
        """Continues from loaded stores and tables, with `given_apart` as it was."""
        self.begin()

    # The two ways

    def _prepare(self, active: Mapping[int, int], wave: int = 0) -> None:
        """Makes the plans good for the present sizes, and the arrangements that they probe.

        A Bootstrap fills relations from nothing, and an Update may, so they are prepared again between waves.
        """
        if not self.plans.are_good(active):
            self._count_costs()
            added, removed = self._planned_rules(self.added), self._planned_rules(self.removed)
            self.plans.make(active, added, removed, self.replaced)
        self.plans.activate(active, wave)

    def update(self, meter: Meter) -> bool:
        """Runs the ranked Update: RETRACT, then INSERT. False if the meter gave it up: then `roll_back` must follow."""
        if self._begun is not None:
            return self._continue_update(meter)
        if self._only_loads_facts():
            self.bootstrap()
            return True
        return self._run_update(meter)

    def small_update(self, most: int) -> Mapping[Event, int] | None:
        """See `StratumState.small_update`. One call of a kernel, if the plans of the last Update are still good."""
        if type(self) is not LocalStratum or self.has_changed or not self.watch.is_plain:
            return None
        if not self.stratum.rules:
            if self._only_loads_facts():
                return None
            self._exchange_facts(None)
            return NO_EVENTS
        if self.facts:
            return None
        lines, events, count = self.catalog.S, {}, 0
        changed = []
        for relation, inserted_event, deleted_event in self.plans.events:
            if inserted := lines.item(relation, k.INSERTED_COUNT):
                events[inserted_event] = inserted
            if deleted := lines.item(relation, k.DELETED_COUNT):
                events[deleted_event] = deleted
            if inserted or deleted:
                changed.append(relation)
                count += inserted + deleted
        reads = self.plans.for_few_rows(changed)
        if reads is None or count > FEW_CHANGES or not self._run_small_update(reads, most):
            return None
        self._look(None)
        return events

    def _run_small_update(self, reads: Words, most: int) -> bool:
        """Runs a whole Update. False if it has to be prepared, or meets more instances: then it has begun."""
        control, executor = self._control, self.plans.executor
        control[:] = SMALL_UPDATE
        control[k.YIELD_AT] = most
        executor.reset()
        while (status := executor.drive(control, self.plans.table, reads)) != k.DONE:
            if not self._make_room(control, status):
                if status == k.YIELD:
                    self._begun = reads
                elif status != k.OLD_PLANS:
                    self.roll_back()  # the usual way tells what is wrong
                return False
        self._end_update(control)
        return True

    def _make_room(self, control: Words, status: int) -> bool:
        """Makes the room that a kernel has asked for; returns False if it has returned for another reason."""
        stores, need = self.catalog.stores, control.item(k.NEED)
        if status == k.GROW:
            stores[need].make_room(control.item(k.NEED_AT), control.item(k.NEED_INSTANCES))
        elif status == k.GROW_ARRANGEMENT:
            stores[self.catalog.A.item(need, k.RELATION)].grow_arrangement(need)
        elif status == k.GROW_CHANGES:
            stores[need].make_change_room(control.item(k.NEED_AT))
        else:
            return False
        return True

    def _continue_update(self, meter: Meter | None) -> bool:
        """Continues the Update that `small_update` has begun. False if the meter gave it up."""
        assert self._begun is not None
        reads, self._begun = self._begun, None
        if self._go_on(self._control, meter, reads, logging=True, before=0) is None:
            return False
        self._end_update(self._control)
        return True

    def _end_update(self, control: Words) -> None:
        """Takes the results of a whole Update from its control words."""
        self._phase, self.waves = k.INSERT, control.item(k.WAVES_BEFORE)
        self.work = control.item(k.INSTANCES)
        self.instances += self.work - 2 * control.item(k.KILLED)

    def _run_update(self, meter: Meter | None) -> bool:
        """Runs the ranked Update, to its end if there is no meter."""
        if not self._has_waves():
            return self._exchange_facts(meter)
        self._prepare(IN_UPDATE)
        for store in self.stores():
            store.line[k.CHANGED] = 1
        for relation, (_, deleted) in self.facts.items():
            store = self.catalog.stores[relation]
            store.make_room(len(deleted))
            if entry_points.retract_facts(self.catalog.S, relation, np.ascontiguousarray(deleted)) < 0:
                raise self._broken()
        waves = killed = 0
        if self._may_kill():
            found = self._run(k.RETRACT, meter, logging=True)
            if found is None:
                return False
            waves, killed = self.waves, found
        for relation, (inserted, _) in self.facts.items():
            store = self.catalog.stores[relation]
            store.make_room(len(inserted))
            entry_points.insert_facts(self.catalog.S, relation, np.ascontiguousarray(inserted), 1)
        self.waves = born = 0
        if self._may_bear():
            try:
                if self.added:
                    self.plans.make_zones(of_whole_rules=True)
                found = self._run(k.INSERT, meter, logging=True, before=waves)
            finally:
                self.plans.zones.drop()
            if found is None:
                return False
            born = found
        self.waves += waves
        self.work = killed + born
        facts = sum(len(inserted) - len(deleted) for inserted, deleted in self.facts.values())
        self.instances += born - killed + facts
        for store in self.stores():
            if not store.finish_stratum():
                raise self._broken()
            self._mark_changed(store)
        return True

    def _has_waves(self) -> bool:
        """True if an Update has any rule to run."""
        return self.runs_python or bool(self.plans.rules or self._planned_rules(self.removed))

    def _exchange_facts(self, meter: Meter | None) -> bool:
        """Runs an Update of facts alone."""
        if meter is not None:
            meter.begin()
        catalog, changed = self.catalog, 0
        for relation, (inserted, deleted) in self.facts.items():
            store = catalog.stores[relation]
            store.make_room(len(inserted) + len(deleted))
            store.make_change_room(len(inserted) + len(deleted))
            facts = np.ascontiguousarray(deleted), np.ascontiguousarray(inserted)
            while True:
                status = entry_points.exchange_facts(
                    self._control, catalog.S, catalog.A, self._inside, relation, *facts, self._hashes
                )
                if status != k.GROW_ARRANGEMENT:
                    break
                store.grow_arrangement(int(self._control[k.NEED]))
                facts = deleted[:0], inserted[:0]
            if status != k.DONE:
                raise self._broken()
            changed += len(inserted) - len(deleted)
        self._phase, self.waves, self.work = k.INSERT, 0, 0
        self._look(None)
        if meter is not None:
            meter.end(0)
        self.instances += changed
        return True

    def _only_loads_facts(self) -> bool:
        """True if many facts come into empty relations without rules: they need no log to be rolled back."""
        if self.stratum.rules or self.row_count:
            return False
        return sum(len(inserted) for inserted, _ in self.facts.values()) >= MANY_FACTS

    def exchanged_rows(self) -> tuple[int, int]:
        """Returns the numbers of inserted and of deleted rows, once the stratum is done."""
        lines = self.catalog.S[self._inside]
        return int(lines[:, k.INSERTED_COUNT].sum()), int(lines[:, k.DELETED_COUNT].sum())

    def _may_kill(self) -> bool:
        """True if any instance can die: a rule, a fact or a row below is deleted, or a negated row is inserted."""
        if self.removed or any(len(deleted) for _, deleted in self.facts.values()):
            return True
        lines = self.catalog.S
        return any(lines.item(each, k.DELETED_COUNT) for each in self.reads) or any(
            lines.item(each, k.INSERTED_COUNT) for each in self.plans.reads.negated
        )

    def _may_bear(self) -> bool:
        """True if any instance can be born after RETRACT, or a dead row may come back."""
        if self.runs_python or self.added or any(len(inserted) for inserted, _ in self.facts.values()):
            return True
        lines = self.catalog.S
        return (
            any(lines.item(each, k.LOG_COUNT) for each in self.relation_numbers)
            or any(lines.item(each, k.INSERTED_COUNT) for each in self.reads)
            or any(lines.item(each, k.DELETED_COUNT) for each in self.plans.reads.negated)
        )

    def bootstrap(self) -> None:
        """Derives the stratum from the rows below it and its facts, into fresh stores."""
        if self._begun is not None:
            self.roll_back()
        pool = self._thread_pool
        began = pool.processor_seconds
        if self._fill_with_facts():
            self.catalog.spare_seconds += ARRANGING_PART * (pool.processor_seconds - began) / pool.threads
            return
        facts = 0
        for relation in self._inside.tolist():
            old = self.catalog.replace(relation)
            self.replaced[relation] = old
            fresh = self.catalog.stores[relation]
            fresh.line[k.CHANGED] = 1
            for rows in (self._old_facts(relation, old), self.facts.get(relation, (None, None))[0]):
                if rows is not None and len(rows):
                    fresh.make_room(len(rows))
                    self._insert_facts(relation, np.ascontiguousarray(rows))
                    facts += len(rows)
        began = pool.processor_seconds
        self._is_stamped = False
        born = self._derive_all()
        self._look_at_rows(None)
        self._prepare_for_updates((pool.processor_seconds - began) / pool.threads)
        self.work = born
        self.instances = born + facts
        for relation, old in self.replaced.items():
            fresh = self.catalog.stores[relation]
            if self._is_stamped and not old.saved[k.LIVE]:
                fresh.note_inserted(len(fresh), is_read=relation in self.read_above)
            else:
                fresh.compare_with(old, is_read=relation in self.read_above)
            self._mark_changed(fresh)

    def _derive_all(self) -> int:
        """Derives the stratum into stores that have its facts; returns the instances that it met."""
        # Only counted instances can go head by head.
        rules = self.stratum.rules if type(self) is LocalStratum else ()
        self._row_wise = RowWiseWaves(self, rules, self._thread_pool, lambda: self._look(None))
        try:
            return self._derive_in_waves(self._row_wise)
        finally:
            self._row_wise = None

    def _derive_in_waves(self, row_wise: RowWiseWaves) -> int:
        """Runs the waves of a Bootstrap: head by head as long as that pays, the others instance by instance."""
        self._waves_done = 0, 0
        if row_wise.may_start():
            control: Words = np.zeros(k.CONTROL_FIELDS, dtype=np.int64)
            self._phase = k.INSERT
            if row_wise.run(control, self._last_round()):
                self.waves = int(control[k.WAVE]) - 1
                return int(control[k.INSTANCES])
            self._waves_done = int(control[k.WAVE]), int(control[k.INSTANCES])
        self._prepare(IN_BOOTSTRAP, self._waves_done[0])
        if type(self) is LocalStratum and not self._waves_done[0]:
            scans = ScanRules(self, self._thread_pool, self._look, self._divided)
            found = scans.run(is_read=self.relation_numbers[0] in self.read_above) if scans.fit() else None
            if found is not None:
                self.waves, self._is_stamped = int(self.row_count > 0), True
                return found
        try:
            self.plans.make_zones()
            born = self._run(k.INSERT, None, logging=False)
        finally:
            self.plans.zones.drop()
            self.plans.list_joined.clear()
        assert born is not None
        return born

    def _prepare_for_updates(self, seconds: float) -> None:
        """Makes the plans of the next Update and arrangements that it will probe, the smallest first, after a Bootstrap
        of so many seconds of each processor: as many as take a small part of these, and of what earlier strata have
        left."""
        stores, catalog = self.catalog.stores, self.catalog
        catalog.spare_seconds += ARRANGING_PART * seconds
        plans = PLANNING * sum(1 + len(rule.positives) + len(rule.negatives) for rule in self.plans.rules)
        if type(self) is not LocalStratum or not plans or catalog.spare_seconds < max(LEAST_ARRANGING, plans):
            return
        catalog.spare_seconds -= plans
        if self.added or self.removed:
            # The commit of changed rules makes the plans old.
            probes = self.plans.probed_by_updates()
        else:
            self._count_costs()
            self.plans.make(IN_UPDATE, (), (), {})
            probes = self.plans.probes()
        wanted = [(relation, keys) for relation, keys in probes if len(stores[relation])]
        for relation, keys in sorted(wanted, key=lambda probe: len(stores[probe[0]])):
            if not stores[relation].is_arranged(keys):
                if catalog.spare_seconds < ARRANGING_ROW * len(stores[relation]):
                    return
                catalog.spare_seconds -= ARRANGING_ROW * len(stores[relation])
                stores[relation].arrange(keys)

    def _fill_with_facts(self) -> bool:
        """Fills an empty relation without rules with many facts; returns False if it is not one."""
        if not self._takes_only_facts():
            return False
        (relation,) = self._inside.tolist()
        rows = self.facts[relation][0] if relation in self.facts else NO_INPUTS
        if len(rows) < MANY_FACTS or len(self.inherited.get(relation, ())):
            return False
        self.replaced[relation] = self.catalog.replace(relation)
        fresh = self.catalog.stores[relation]
        load, self._load = self._load, None
        if load is not None and load.has(rows):
            fresh.take(load)
        else:
            fresh.fill(np.ascontiguousarray(rows), is_read=relation in self.read_above)
        self._look_at_rows(None)
        self.waves = self.work = 0
        self.instances = len(rows)
        self._mark_changed(fresh)
        return True

    def _takes_only_facts(self) -> bool:
        """True if its rows, of which there are none, are the facts of one relation."""
        return self._has_only_facts() and not self.row_count and len(self._inside) == 1

    def _has_only_facts(self) -> bool:
        """True if its rows are its facts, all of them different."""
        return not self.stratum.rules

    def _insert_facts(self, relation: int, rows: Words) -> None:
        """Inserts the input facts of a Bootstrap."""
        entry_points.insert_facts(self.catalog.S, relation, rows, 0)

    def _old_facts(self, relation: int, old: Store) -> Words:
        """Returns the input facts of the store that is replaced, less those that this epoch deletes."""
        deleted = self.facts.get(relation, (None, NO_INPUTS))[1]
        if self.is_new:
            return _without(self.inherited.get(relation, np.empty((0, old.columns), dtype=np.int64)), deleted)
        lines = self.catalog.facts_of(relation)
        if len(deleted):
            found = np.empty(len(deleted), dtype=np.int64)
            entry_points.look_up_many(
                self.catalog.S, self.catalog.shadow(relation), np.ascontiguousarray(deleted), found
            )
            lines = np.setdiff1d(lines, found, assume_unique=True)
        return old.columns_of(lines)

    # The end of the epoch

    def prepare_commit(self) -> None:
        """Does of a large commit what readers need not wait for."""
        for store in self.stores():
            if self.replaced or store.has_large_update():
                store.prepare_commit()

    def commit(self) -> None:
        """Makes the overlay the committed state."""
        for store in self.stores():
            if store.has_overlay() or (store.relation in self.replaced and not store.versions.is_published):
                store.commit()
            store.line[k.CHANGED] = 0
        self.replaced.clear()
        self.facts, self._load = {}, None
        self.is_new, self.inherited = False, {}
        if self.added or self.removed:
            self.added = self.removed = ()
            self.plans.commit_rules(self.stratum.rules)

    def roll_back(self) -> None:
        """Rolls back the changes of this epoch to the stratum; its facts stay, for another try."""
        self._begun = None
        if self.replaced:
            for relation, old in self.replaced.items():
                self.catalog.restore(relation, old)
            self.replaced.clear()
        else:
            for store in self.stores():
                if store.has_overlay():
                    store.roll_back()
        for store in self.stores():
            store.line[k.CHANGED] = 0
        self.instances = self._committed_instances
        self._count_costs()
        self.costs.forget()

    def begin(self) -> Self:
        """Begins an epoch: notes what `roll_back` goes back to."""
        self._committed_instances = self.instances
        self.watch.stratum = self.relations
        return self

    def _mark_changed(self, store: Store) -> None:
        store.line[k.CHANGED] = 1 if store.line[k.INSERTED_COUNT] or store.line[k.DELETED_COUNT] else 0

    def _broken(self) -> InternalError:
        names = ", ".join(self.relations)
        return InternalError(f"the counts of {names} do not add up; the last commit is intact", code="E901")

    # Waves

    def _run(self, phase: int, meter: Meter | None, *, logging: bool, before: int = 0) -> int | None:
        """Runs one phase to its end; returns the instances that it met, or None if the meter gave it up."""
        control: Words = np.zeros(k.CONTROL_FIELDS, dtype=np.int64)
        control[k.PHASE], control[k.WAVE], control[k.STATE] = phase, -1, k.STATE_END
        if not logging and self._waves_done[0]:
            control[k.WAVE], control[k.STATE], control[k.INSTANCES] = (
                self._waves_done[0],
                k.STATE_NEXT,
                self._waves_done[1],
            )
        control[k.LOGGING] = 1 if logging else 0
        control[k.LAST_WAVE] = last_round = self._last_round() - before
        if self.stratum.recursive and phase == k.INSERT:
            # It is prepared again when its relations have grown: a Bootstrap before waves 1, 3, 7, 15 …
            control[k.LAST_WAVE] = min(REPLAN_WAVE if logging else max(0, int(control[k.WAVE])), last_round)
        control[k.PYTHON_VARIANTS] = int(self.runs_python or self.plans.in_python or bool(self.plans.list_joined))
        control[k.THREADS], control[k.CHUNK], control[k.COMBINE] = 1, k.ALL_ROWS, 1
        control[k.THREADS_AVAILABLE], control[k.SHARE_FROM] = self._thread_pool.threads, self._thread_pool.share_from
        control[k.BELOW] = 0 if logging else sum(len(self.catalog.stores[relation]) for relation in self.reads)
        self.plans.executor.reset()
        self.plans.reserved.clear()
        return self._go_on(control, meter, NO_READS, logging=logging, before=before)

    def _go_on(self, control: Words, meter: Meter | None, reads: Words, *, logging: bool, before: int) -> int | None:
        """Continues a phase, or a whole Update, to its end; see `_run`."""
        stride = YIELD_INSTANCES
        if meter is not None:
            meter.begin()
            stride = min(stride, meter.stride)
        control[k.YIELD_AT] = control[k.INSTANCES] + stride
        last_round, prepared = self._last_round() - before, 0
        executor = self.plans.executor
        self._phase = control.item(k.PHASE)

        def running() -> Rule | None:
            return self._running(control)

        while True:
            if control[k.STAGE] == k.STAGE_INSERT and self.stratum.recursive and control[k.LAST_WAVE] > last_round // 2:
                control[k.LAST_WAVE] = max(REPLAN_WAVE, control.item(k.WAVE))  # see `_run`
            status = executor.drive(control, self.plans.table, reads)
            self._phase = control.item(k.PHASE)
            self._look(running)
            self.watch.at(int(control[k.WAVE]))
            if status == k.DONE:
                self.waves = int(control[k.WAVE]) - 1
                self.plans.reserved.release()
                if meter is not None:
                    meter.end(int(control[k.INSTANCES]))
                return int(control[k.INSTANCES])
            if self._make_room(control, status):
                continue
            if status == k.PYTHON:
                self._run_in_python(control)
            elif status == k.YIELD:
                control[k.YIELD_AT] = control[k.INSTANCES] + stride
                if meter is not None and not meter.goes_on(self._progress(control)):
                    meter.end(int(control[k.INSTANCES]))
                    return None
            elif status == k.ROUNDS:
                wave = int(control[k.WAVE])
                if self._row_wise is not None and self._row_wise.run(control, last_round):
                    self.waves = int(control[k.WAVE]) - 1
                    return int(control[k.INSTANCES])
                if control[k.WAVE] > wave:
                    # The arrangements are gone.
                    wave, prepared = int(control[k.WAVE]), 0
                if wave > last_round:
                    if meter is not None:
                        meter.end(int(control[k.INSTANCES]))
                    self.watch.rounds(wave + before, running)
                if wave > prepared and (not logging or control[k.INSTANCES] >= REPLAN_INSTANCES):
                    self._prepare(IN_UPDATE if logging else IN_BOOTSTRAP, wave)
                    executor = self.plans.executor
                    prepared = 2 * wave
                control[k.LAST_WAVE] = min(2 * wave if logging else wave + wave // ROW_WISE_PART, last_round)
            elif status == k.DIVISION:
                bytecode = self.plans.variants[int(control[k.VARIANT])]
                raise self._divided(control, bytecode.at[int(control[k.NODE])])
            else:
                raise self._broken()

    def _last_round(self) -> int:
        """Returns how many waves a phase may take."""
        return self.watch.last_round

    def _progress(self, control: Words) -> Progress:
        batch, waiting, rows = self.catalog.S[self._inside][:, [k.BATCH_COUNT, k.PENDING_COUNT, k.LIVE]].sum(axis=0)
        return Progress(int(control[k.INSTANCES]), int(control[k.WAVE]), int(batch), int(waiting), int(rows))

    def _running(self, control: Words) -> Rule | None:
        """Returns the rule that is running, or that will run next; at the end, the one with the most instances."""
        first, count = int(control[k.VARIANT]), len(self.plans.variants)
        phase, wave = int(control[k.PHASE]), int(control[k.WAVE])
        # At the end of a wave no variant follows the present one, but those before it have run.
        for number in (*range(first, count), *range(min(first, count))):
            if entry_points.has_delta(self.catalog.S, self.plans.table, number, phase, wave):
                bytecode = self.plans.variants[number]
                node = int(control[k.NODE]) if number == first else 0
                rule: Rule = bytecode.at[node if 0 <= node < len(bytecode.at) else 0].rule
                return rule
        return self._busiest(self.stratum.rules)

    def _busiest(self, rules: Sequence[Rule]) -> Rule | None:
        """Returns the one of these rules with the most instances in this epoch; without instances, the only rule."""
        found = self.costs.busiest(rules, self.plans.planned, self.plans.tally)
        return rules[0] if found is None and len(rules) == 1 else found

    def _look(self, rule: Running) -> None:
        """Checks the deadline, the number of rows, and cancellation."""
        self.watch.look(rule)
        self._look_at_rows(rule)

    def _look_at_rows(self, rule: Running) -> None:
        """Raises if a relation is certain to have too many rows after the epoch."""
        limit = self.watch.limits.max_rows
        if limit is None:
            return
        for name, store in zip(self.relations, self.stores()):
            # Deleted rows stay in the index until the epoch is committed, so that there may be more than will be.
            if len(store) > limit and (count := self._rows_to_be(store)) > limit:
                self.watch.rows(name, count, partial(self._deriving, name, rule))

    def _look_at_final_rows(self) -> None:
        """Raises if a relation has too many rows, once the stratum is done."""
        for name, store in zip(self.relations, self.stores()):
            self.watch.rows(name, store.rows_to_stay(), partial(self._deriving, name, None))

    def _rows_to_be(self, store: Store) -> int:
        """Returns a lower bound of the rows that a relation has after the epoch."""
        if store.relation in self.replaced:
            return len(store)
        if self._phase == k.RETRACT:
            return 0
        stamps = store.rows[store.touched_lines(), store.columns + k.META] >> k.STAMP_SHIFT
        return len(store) - int(np.count_nonzero(stamps < 0))

    def _deriving(self, name: str, running: Running) -> Rule | None:
        """Returns the rule that fills a relation: the running one, if it derives its rows."""
        rule = running() if callable(running) else running
        if rule is not None and rule.head.relation == name:
            return rule
        own = [each for each in self.stratum.rules if each.head.relation == name]
        return self._busiest(own) or rule

    def _run_in_python(self, control: Words, *, every: bool = False) -> None:
        """Runs the variants of this wave whose expressions need Python, or every variant."""
        for number, bytecode in enumerate(self.plans.variants):
            phase, wave = int(control[k.PHASE]), int(control[k.WAVE])
            if number in self.plans.list_joined and wave == 0:
                for join in self.plans.list_joined[number]:
                    self._run_by_lists(control, join)
                continue
            if not (every or bytecode.in_python) or not entry_points.has_delta(
                self.catalog.S, self.plans.table, number, phase, wave
            ):
                continue
            if not bytecode.in_python:
                self._feed_tree(control, bytecode)
                continue
            rule = bytecode.variants[0].rule
            try:
                with self.costs.measured(rule):
                    self._feed(control, bytecode, bytecode.segments, NO_INPUTS)
            except ZeroDivisionError as error:
                raise self.division(rule, self._with_row(error, control, bytecode.variants[0])) from None
            except OverflowedError as error:
                found = self._with_row(error, control, bytecode.variants[0])
                written = self._source_rule(rule)
                found.add_rule(written.text, written.span)
                raise found from None

    def _run_by_lists(self, control: Words, join: ListJoin) -> None:
        """Runs a rule that is joined by lists."""
        head = self.numbers[join.rule.head.relation]
        with self.costs.measured(join.rule):
            self.costs.emitted += join.run(
                lambda out, count: self._apply(control, head, out, count), lambda: self._look(join.rule)
            )

    def _divided(self, control: Words, variant: Variant) -> EvaluationError:
        """Returns the error of a variant in which a kernel divided by zero."""
        return self.division(variant.rule, self._with_row(ZeroDivisionError(), control, variant))

    def _with_row(self, error: _Error, control: Words, variant: Variant) -> _Error:
        """Returns the error of a variant with all variables of its row, if it is one of a row.

        Python steps have only what later ones read, and kernels name nothing. So the variant runs once more, with all
        variables, expressions that may fail in Python, and up to the error.
        """
        expressions = expressions_of((variant.rule,))
        if not isinstance(error, ROW_ERRORS) or self.program.functions.has_side_effects(*expressions):
            return error
        try:
            whole = self.plans.compiler.whole(variant, self.relations)
            self._feed(control, whole, whole.segments, NO_INPUTS, applies=False)
        except type(error) as found:
            return found
        except TidelogError:
            pass  # the time is over, for example: the first error counts
        return error

    def _feed_tree(self, control: Words, bytecode: Bytecode) -> None:
        """Runs a tree of variants and applies the instances to the stores."""
        executor = self.plans.executor
        own = executor.at_root(control, bytecode.segments[0])
        while True:
            status = executor.enumerate(own, bytecode)
            variant = bytecode.at[max(int(own[k.NODE]), 0)]
            rule = variant.rule
            if status == k.DIVISION:
                raise self._divided(control, variant)
            self._look(rule)
            for relation, out, count in executor.take():
                self._apply(control, relation, out, count)
            if status == k.DONE:
                return

    def _feed(
        self,
        control: Words,
        bytecode: Bytecode,
        segments: tuple[Segment, ...],
        inputs: Words,
        *,
        applies: bool = True,
    ) -> None:
        """Runs the first of the segments on the inputs and passes the results to the next, or to the store if it
        `applies` them."""
        segment = segments[0]
        rule = bytecode.variants[0].rule
        executor = SegmentExecutor(segment, control, inputs)
        while True:
            status = executor.enumerate(self.catalog, bytecode.kind, self.plans.executor.scratch)
            if status == k.DIVISION:
                raise ZeroDivisionError
            found = executor.take()
            self._look(rule)
            if len(found) and segment.after is not None:
                for rows in evaluate(segment.after, found[:, :-1], self.values, self.watch.pace(rule)):
                    self._feed(control, bytecode, segments[1:], rows, applies=applies)
            elif len(found) and applies:
                self._apply(control, bytecode.head, executor.out, len(found))
                self.costs.emitted += len(found)
            if status == k.DONE:
                return

    def _apply(self, control: Words, head: int, out: Words, count: int) -> None:
        """Applies `count` instances (head, level) to the store of their head."""
        applied = entry_points.apply_some(control, self.catalog.S, head, out, count)
        while applied == k.GROW:
            self.catalog.stores[head].make_room(count, int(control[k.NEED_INSTANCES]))
            applied = entry_points.apply_some(control, self.catalog.S, head, out, count)
        if applied != 0:
            raise self._broken()

    def division(self, rule: Rule, error: ZeroDivisionError | None = None) -> EvaluationError:
        """Returns the error of a rule with an expression that has no result; in kernels that is a division by zero."""
        names = ", ".join(self.relations)
        written = self._source_rule(rule)
        where = f"in the rule `{written.text}` at {written.span} (stratum {names}); the last commit is intact"
        return without_result(where, error)

    def _source_rule(self, rule: Rule) -> Rule:
        """Returns the rule of the program that a rule is part of."""
        return written_rule(rule, (each for stratum in self.program.strata for each in stratum.rules))


def _without(rows: Words, others: Words) -> Words:
    """Returns the rows that are not among the others."""
    if not len(others):
        return rows
    found = set(map(tuple, others.tolist()))
    return rows[[tuple(row) not in found for row in rows.tolist()]]
