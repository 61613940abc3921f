"""One stratum at work: its variants in code, and the two ways to run them, `update` and `bootstrap`.

Both are waves driven by the kernel `drive`. Update runs RETRACT, then INSERT, over the committed rows with a log;
Bootstrap runs INSERT into fresh stores, with every rule new: each is met in wave 0 through its hidden fact alone.

That fact stands last in the body, so that an Update can take a rule or give it up, too. A rule that goes is met in wave
0 of RETRACT, through its hidden fact and through all else that leaves then, and never again; one that comes is met as
in a Bootstrap.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Self

import numpy as np

from tidelog.check.types import Type
from tidelog.diagnostics.errors import EvaluationError, InternalError
from tidelog.engine.local.costs import RuleCosts
from tidelog.engine.local.encode import Encoded, Encoder, Segment
from tidelog.engine.local.estimate import StoreEstimates
from tidelog.engine.local.kernels import entry
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.python_step import evaluate
from tidelog.engine.local.store import Desk, Store
from tidelog.engine.local.team import NO_INPUTS, Crew, Nest, Reserves, Team
from tidelog.engine.local.values import Values, Words
from tidelog.maintain.limits import Watch
from tidelog.maintain.switch import Meter, Progress, Touched
from tidelog.plan.plan_rules import plan_rules
from tidelog.plan.variant import Variant
from tidelog.rules.ir import Rule, RuleProgram, Stratum

YIELD_INSTANCES = 2_000_000
# When each kind of variant runs (bits of layout.ACTIVE).
IN_UPDATE = {k.KIND_RULE: 0, k.KIND_INSIDE: 1 | 2 | 4 | 8, k.KIND_BELOW: 1 | 4, k.KIND_NEGATED: 1 | 4}
IN_BOOTSTRAP = {k.KIND_RULE: 4, k.KIND_INSIDE: 8, k.KIND_BELOW: 0, k.KIND_NEGATED: 0}
REMOVED_IN_UPDATE = {k.KIND_RULE: 1, k.KIND_INSIDE: 1, k.KIND_BELOW: 1, k.KIND_NEGATED: 1}
_COMES, _GOES = 1, 2
_NO_TALLY: Words = np.empty(0, dtype=np.int64)


class LocalStratum:
    """The state of one stratum in the local engine; see `maintain.epoch.StratumState`.

    `joins` is false in subclasses whose rules the kernels do not run. `asked_always`: a subclass whose
    `is_touched` looks at more than rows that come and go. `removed_in_update`: when Update runs the variants of a rule
    that goes.

    After a change of rules a stratum that is not what it was is another object. If it `is_new`, it is derived anew,
    from the facts that it `inherited`; else it goes on with the state of the one before it, and `added` and `removed`
    are the rules to exchange. All of that is over when an epoch is kept.
    """

    fixed: str | None = None
    joins = True
    keeps = "elastic"
    asked_always = False
    removed_in_update: Mapping[int, int] = REMOVED_IN_UPDATE

    def __init__(
        self,
        stratum: Stratum,
        program: RuleProgram,
        numbers: Mapping[str, int],
        desk: Desk,
        values: Values,
        watch: Watch,
        team: Team,
    ) -> None:
        self.stratum = stratum
        self.desk = desk
        self.values = values
        self.instances = 0
        self.waves = 0
        self.work = 0
        self.costs = RuleCosts()
        self._planned: list[Variant] = []
        self.facts: dict[int, tuple[Words, Words]] = {}  # relation → facts to insert, facts to delete
        self.watch = watch
        self._team = team
        self.numbers = numbers
        self.program = program
        self._rules = stratum.rules if self.joins else ()
        self.relation_numbers = tuple(numbers[name] for name in stratum.relations)
        self._inside = np.array(self.relation_numbers, dtype=np.int64)
        self.read_above: Collection[int] = ()  # set by the engine: what other strata read
        self.is_new = False
        self.inherited: dict[int, Words] = {}
        self.added: tuple[Rule, ...] = ()
        self.removed: tuple[Rule, ...] = ()
        self._reserves = Reserves(team, desk, self._inside)
        self._encoder = Encoder(numbers, desk.arrangement, values, program.functions)
        self._variants: list[Encoded] = []
        self._apart: dict[int, int] = {}
        self._planned_for: tuple[int, ...] | None = None
        self._planned_sizes: dict[int, int] = {}
        self._plans_are_old = False
        self._earlier: LocalStratum | None = None  # whose plans may go on
        self._cursors = 0
        self.replaced: dict[int, Store] = {}
        self._committed_instances = 0
        self._learn_reads(stratum.rules)

    def _learn_reads(self, rules: Sequence[Rule]) -> None:
        """Notes the relations that rules read."""
        numbers = self.numbers
        self._below = sorted(
            {numbers[atom.relation] for rule in rules for atom in rule.atoms} - {*self.relation_numbers}
        )
        self._negated = {numbers[atom.relation] for rule in rules for atom in rule.negatives}
        self._names = {numbers[name]: name for rule in rules for name in (atom.relation for atom in rule.atoms)}
        self._names |= {numbers[name]: name for name in self.stratum.relations}
        self._estimates = StoreEstimates(self.desk, numbers, self._below)

    # Rules that change

    @property
    def has_changed(self) -> bool:
        """Whether rules came or went since the last epoch, or the stratum has to be derived anew."""
        return self.is_new or bool(self.added or self.removed)

    def go_on(self, before: LocalStratum) -> None:
        """Takes over the state of a stratum with the same relations and other rules."""
        known, now = set(map(id, before.stratum.rules)), set(map(id, self.stratum.rules))
        self.added = tuple(rule for rule in self.stratum.rules if id(rule) not in known)
        self.removed = tuple(rule for rule in before.stratum.rules if id(rule) not in now)
        self.instances, self.costs = before.instances, before.costs
        self._earlier = before
        self._learn_reads((*self.stratum.rules, *self.removed))

    def begin_anew(self, given: Mapping[int, Words]) -> None:
        """Is to be derived from nothing but the facts that its relations were given, each with its weight."""
        self.is_new = True
        self.inherited = {number: words[words[:, -1] > 0, :-1] for number, words in given.items()}

    def _rules_are_kept(self) -> None:
        """The rules of now are those of the state."""
        self.is_new, self.inherited = False, {}
        if self.added or self.removed:
            self.added = self.removed = ()
            self._earlier = self
            # What other plans say of this epoch is read before the next one begins.
            self._learn_reads(self.stratum.rules)
            self._plans_are_old = True

    @property
    def relations(self) -> tuple[str, ...]:
        return self.stratum.relations

    @property
    def reads(self) -> Sequence[int]:
        """The relations of lower strata that its rules read."""
        return self._below

    def end_costs(self, seconds: float) -> None:
        """An epoch is committed in which the stratum took so long."""
        self.costs.end_epoch(seconds, self._planned, self._crew.tally if self._planned else _NO_TALLY)

    def _count_costs(self) -> None:
        if self._planned:
            self.costs.count(self._planned, self._crew.tally)

    @property
    def row_count(self) -> int:
        return int(self.desk.S[self._inside, k.LIVE].sum())

    @property
    def recursive(self) -> bool:
        return self.stratum.recursive

    def has_rules(self) -> bool:
        return bool(self.stratum.rules)

    def can_update(self) -> bool:
        return True

    def can_derive(self) -> bool:
        stores = self.desk.stores
        return any(all(len(stores[self.numbers[atom.relation]]) for atom in rule.positives) for rule in self._rules)

    def is_touched(self) -> bool:
        return self.has_changed or bool(self.facts) or any(self._is_changed(relation) for relation in self._below)

    def touched(self) -> tuple[Touched, ...]:
        below = []
        for relation in self._below:
            line = self.desk.S[relation]
            came, left = int(line[k.CAME_COUNT]), int(line[k.LEFT_COUNT])
            if came or left:
                below.append(Touched(self._names[relation], int(line[k.LIVE]) - came, came, left))
        own = [
            Touched(self._names[relation], len(self.desk.stores[relation]), len(inserted), len(deleted))
            for relation, (inserted, deleted) in self.facts.items()
        ]
        count = len(self.stratum.rules)
        rules = [Touched(f"rule {rule.id}", count, 1, 0) for rule in self.added]
        rules += [Touched(f"rule {rule.id}", count, 0, 1) for rule in self.removed]
        return (*below, *own, *rules)

    def rows_below(self) -> int:
        rows = sum(len(self.desk.stores[relation]) for relation in self._below)
        return rows + sum(len(inserted) for inserted, _ in self.facts.values())

    def top_rank(self) -> int:
        return int(self.desk.S[self._inside, k.TOP].max())

    def stores(self) -> list[Store]:
        return [self.desk.stores[relation] for relation in self.relation_numbers]

    # What a snapshot holds beside the stores

    def given_to(self, relation: str) -> Words:
        """The facts that transactions gave to a relation, each with its weight behind its columns."""
        store = self.desk.stores[self.numbers[relation]]
        lines = store.lines()
        lines = lines[store.rows[lines, store.columns + k.META] & k.INPUT_BIT != 0]
        return np.concatenate([store.columns_of(lines), np.ones((len(lines), 1), dtype=np.int64)], axis=1)

    def made_words(self) -> Iterator[tuple[Type, Words]]:
        """Words that it keeps between epochs and that may be in no row, by their types."""
        return iter(())

    def given_apart(self) -> Iterator[tuple[str, dict[tuple[int, ...], int]]]:
        """What `given_to` gives for the relations whose rows in the store do not tell it."""
        return iter(())

    def resume(self, given: Mapping[str, dict[tuple[int, ...], int]]) -> None:
        """The stores and tables were loaded, with `given_apart` as it was: goes on from there."""
        self.begin()

    # The two ways

    def update(self, meter: Meter) -> bool:
        """The ranked Update: RETRACT, then INSERT. False when the meter had it given up: then `drop` must follow."""
        self._prepare(IN_UPDATE)
        for store in self.stores():
            store.line[k.CHANGED] = 1
        for relation, (_, deleted) in self.facts.items():
            store = self.desk.stores[relation]
            store.make_room(len(deleted))
            if entry.retract_facts(self.desk.S, relation, np.ascontiguousarray(deleted)) < 0:
                raise self._broken()
        waves = killed = 0
        if self._may_kill():
            found = self._run(k.RETRACT, meter, logging=True)
            if found is None:
                return False
            waves, killed = self.waves, found
        for relation, (inserted, _) in self.facts.items():
            store = self.desk.stores[relation]
            store.make_room(len(inserted))
            entry.insert_facts(self.desk.S, relation, np.ascontiguousarray(inserted), 1)
        born = self._run(k.INSERT, meter, logging=True)
        if born is None:
            return False
        self.waves += waves
        self.work = killed + born
        facts = sum(len(inserted) - len(deleted) for inserted, deleted in self.facts.values())
        self.instances += born - killed + facts
        for store in self.stores():
            if not store.settle():
                raise self._broken()
            self._mark_changed(store)
        return True

    def _may_kill(self) -> bool:
        """Whether any instance can die: a rule or a fact is deleted, a row below left, or one came that was negated."""
        if self.removed or any(len(deleted) for _, deleted in self.facts.values()):
            return True
        lines = self.desk.S
        return any(lines[each, k.LEFT_COUNT] for each in self._below) or any(
            lines[each, k.CAME_COUNT] for each in self._negated
        )

    def bootstrap(self) -> None:
        """Derives the stratum from the rows below it and its facts, into fresh stores."""
        facts = 0
        for relation in self._inside.tolist():
            old = self.desk.replace(relation)
            self.replaced[relation] = old
            fresh = self.desk.stores[relation]
            fresh.line[k.CHANGED] = 1
            for rows in (self._old_facts(relation, old), self.facts.get(relation, (None, None))[0]):
                if rows is not None and len(rows):
                    fresh.make_room(len(rows))
                    self._insert_facts(relation, np.ascontiguousarray(rows))
                    facts += len(rows)
        self._prepare(IN_BOOTSTRAP)
        born = self._run(k.INSERT, None, logging=False)
        assert born is not None
        self.work = born
        self.instances = born + facts
        for relation, old in self.replaced.items():
            fresh = self.desk.stores[relation]
            fresh.compare(old, is_read=relation in self.read_above)
            self._mark_changed(fresh)

    def _insert_facts(self, relation: int, rows: Words) -> None:
        """The facts of a Bootstrap."""
        entry.insert_facts(self.desk.S, relation, rows, 0)

    def _old_facts(self, relation: int, old: Store) -> Words:
        """The input facts of the store that is replaced, less those that this epoch deletes."""
        deleted = self.facts.get(relation, (None, NO_INPUTS))[1]
        if self.is_new:
            return _without(self.inherited.get(relation, np.empty((0, old.columns), dtype=np.int64)), deleted)
        lines = old.lines(int(old.saved[k.USED]))
        lines = lines[old.rows[lines, old.columns + k.META] & k.INPUT_BIT != 0]
        if len(deleted):
            gone = np.empty(len(deleted), dtype=np.int64)
            entry.look_up_many(self.desk.S, self.desk.shadow(relation), np.ascontiguousarray(deleted), gone)
            lines = np.setdiff1d(lines, gone, assume_unique=True)
        return old.columns_of(lines)

    # The end of the epoch

    def keep(self) -> None:
        """Makes the overlay the state."""
        for store in self.stores():
            if store.relation in self.replaced or store.has_overlay():
                store.keep()
            store.line[k.CHANGED] = 0
        self.replaced.clear()
        self.facts = {}
        self._rules_are_kept()

    def drop(self) -> None:
        """Undoes what this epoch did to the stratum (its facts stay, for another try)."""
        if self.replaced:
            for relation, old in self.replaced.items():
                self.desk.restore(relation, old)
            self.replaced.clear()
        else:
            for store in self.stores():
                if store.has_overlay():
                    store.drop()
        for store in self.stores():
            store.line[k.CHANGED] = 0
        self.instances = self._committed_instances
        self._count_costs()
        self.costs.forget()

    def begin(self) -> Self:
        """Before an epoch: notes what `drop` goes back to."""
        self._committed_instances = self.instances
        return self

    def _mark_changed(self, store: Store) -> None:
        store.line[k.CHANGED] = 1 if store.line[k.CAME_COUNT] or store.line[k.LEFT_COUNT] else 0

    def _is_changed(self, relation: int) -> bool:
        line = self.desk.S[relation]
        return bool(line[k.CAME_COUNT] or line[k.LEFT_COUNT])

    def _broken(self) -> InternalError:
        names = ", ".join(self.relations)
        return InternalError(f"the counts of {names} do not add up; the last commit is intact", code="E901")

    # Plans

    def _prepare(self, active: Mapping[int, int], wave: int = 0) -> None:
        """Plans and encodes the variants for the present sizes, and builds the arrangements that will be probed.

        A Bootstrap fills relations from nothing, so it is prepared anew while it runs, between its waves.
        """
        read = (*self._below, *self._inside.tolist())
        signature = (active is IN_BOOTSTRAP, *map(self._size_class, read))
        if self._planned_for != signature or self._plans_are_old:
            self._plans_are_old = False
            self._plan(() if active is IN_BOOTSTRAP else self.removed, is_bootstrap=active is IN_BOOTSTRAP)
            self._planned_for = signature
            self._planned_sizes = dict(zip(read, signature[1:]))
        for relation in (*self._inside.tolist(), *(self._below if self._rules else ())):
            self.desk.stores[relation].index()
        self._active = active
        for number, encoded in enumerate(self._variants):
            when = self._when(encoded.variants[0].rule, active)
            self._table[number, k.ACTIVE] = when[encoded.kind] if self._may_run(encoded, wave) else 0
            if self._table[number, k.ACTIVE]:
                for relation, keys in encoded.probes:
                    self.desk.stores[relation].arrange(keys)

    def _may_run(self, encoded: Encoded, wave: int) -> bool:
        """False where the variant finds nothing before this stratum is prepared again: its arrangements can wait."""
        if encoded.kind == k.KIND_RULE and self._active is not IN_BOOTSTRAP:
            return True  # rows may still come before the rule runs
        if encoded.kind == k.KIND_RULE:
            # It runs in wave 0, where the relations of the stratum have their facts alone, mostly none.
            return wave == 0 and not all(map(self._lacks_rows, encoded.variants))
        if encoded.kind == k.KIND_INSIDE:
            return wave > 0 or self._active is not IN_BOOTSTRAP
        return self._is_changed(encoded.delta)

    def _lacks_rows(self, variant: Variant) -> bool:
        """Whether a literal of the rule has no rows at all."""
        return not all(len(self.desk.stores[self.numbers[atom.relation]]) for atom in variant.rule.positives)

    def _when(self, rule: Rule, active: Mapping[int, int]) -> Mapping[int, int]:
        """When the variants of a rule run."""
        part = self._apart.get(id(rule), 0)
        if active is IN_BOOTSTRAP or part == 0:
            return active
        return IN_BOOTSTRAP if part == _COMES else self.removed_in_update

    def _size_class(self, relation: int) -> int:
        """Plans are good for as long as this stays the same for all relations."""
        return len(self.desk.stores[relation]).bit_length() // 3

    def _plan(self, removed: tuple[Rule, ...], *, is_bootstrap: bool) -> None:
        """Plans and encodes the rules of the stratum, and those that it gives up."""
        self._estimates.expect(self.replaced)
        self._count_costs()
        self._apart = {id(rule): _COMES for rule in self.added} | {id(rule): _GOES for rule in removed}
        earlier, self._earlier = self._earlier, None
        if earlier is not None and not is_bootstrap and self._are_good(earlier):
            self._encode_change(earlier, removed)
        else:
            planned = plan_rules((*self._rules, *removed), self._estimates)
            self._variants = self._encoder.encode(planned, self.relations, self._lacks_rows, self._apart)
            self._planned = planned
            self._cursors = sum(encoded.cursors for encoded in self._variants)
        self._lay_out()

    def _are_good(self, earlier: LocalStratum) -> bool:
        """Whether the plans of before other rules can go on: they are for Update, for relations of these sizes, and
        most of them are of rules that are still there."""
        if not earlier._planned_for or earlier._planned_for[0]:
            return False
        if len(earlier._planned) > 4 * sum(1 + len(rule.positives) + len(rule.negatives) for rule in self._rules):
            return False
        return all(self._size_class(number) == known for number, known in earlier._planned_sizes.items())

    def _encode_change(self, earlier: LocalStratum, removed: tuple[Rule, ...]) -> None:
        """Encodes only rules that come, and those that began like a rule that goes."""
        stay = set(map(id, self._rules))
        known = stay.union(map(id, removed))
        kept: list[Encoded] = []
        variants: list[Variant] = []
        for each in earlier._variants:
            if stay.issuperset(id(variant.rule) for variant in each.variants):
                kept.append(each)
            else:
                variants += [variant for variant in each.variants if id(variant.rule) in known]
        variants += plan_rules(self.added, self._estimates)
        new = self._encoder.encode(
            variants, self.relations, self._lacks_rows, self._apart, len(earlier._planned), earlier._cursors
        )
        self._planned = [*earlier._planned, *variants]
        self._variants = [*kept, *new]
        self._cursors = earlier._cursors + sum(encoded.cursors for encoded in new)

    def _lay_out(self) -> None:
        """Makes the table of the variants, and the memory in which they run."""
        self._table: Words = np.zeros((len(self._variants), k.VARIANT_FIELDS), dtype=np.int64)
        for number, encoded in enumerate(self._variants):
            first = encoded.segments[0]
            line = self._table[number]
            line[k.CODE], line[k.CONSTANTS] = first.code.ctypes.data, first.constants.ctypes.data
            line[k.REGISTERS] = len(first.constants)
            line[k.KIND], line[k.DELTA] = encoded.kind, encoded.delta
            line[k.IN_PYTHON] = 1 if encoded.in_python else 0
        self._in_python = int(any(encoded.in_python for encoded in self._variants))
        segments = [segment for encoded in self._variants for segment in encoded.segments]
        self._crew = Crew(
            self._team,
            self.desk,
            self._inside,
            self._reserves,
            registers=max((len(s.constants) for s in segments), default=1),
            blocks=max((int(s.code[k.CODE_ITERATORS]) for s in segments), default=1),
            cursors=self._cursors,
            variants=len(self._planned),
        )

    # Waves

    def _run(self, phase: int, meter: Meter | None, *, logging: bool) -> int | None:
        """Runs one phase to its end; the instances that it met, or None when the meter had it given up."""
        stride = YIELD_INSTANCES
        if meter is not None:
            meter.begin()
            stride = min(stride, meter.stride)
        control: Words = np.zeros(k.CONTROL_FIELDS, dtype=np.int64)
        control[k.PHASE], control[k.WAVE], control[k.STATE] = phase, -1, k.STATE_END
        control[k.YIELD_AT] = stride
        control[k.LOGGING] = 1 if logging else 0
        # The Bootstrap of a recursion is prepared again after waves 0, 1, 3, 7 …, when its relations have grown.
        control[k.LAST_WAVE] = 0 if self.stratum.recursive and not logging else self.watch.last_round
        control[k.PYTHON_VARIANTS] = self._in_python
        control[k.THREADS], control[k.CHUNK] = 1, k.ALL_ROWS
        control[k.THREADS_THERE], control[k.SHARE_FROM] = self._team.threads, self._team.share_from
        control[k.BELOW] = 0 if logging else sum(len(self.desk.stores[relation]) for relation in self._below)
        desk = self.desk
        crew = self._crew
        crew.reset()
        self._reserves.forget()
        while True:
            status = crew.drive(control, self._table)
            rule = None if status == k.DONE else self._running(control)
            self._look(rule)
            self.watch.at(int(control[k.WAVE]))
            if status == k.DONE:
                self.waves = int(control[k.WAVE])
                self._reserves.give_back()
                if meter is not None:
                    meter.end(int(control[k.INSTANCES]))
                return int(control[k.INSTANCES])
            if status == k.GROW:
                desk.stores[int(control[k.NEED])].make_room(int(control[k.NEED_AT]))
            elif status == k.GROW_ARRANGEMENT:
                number = int(control[k.NEED])
                desk.stores[int(desk.A[number, k.RELATION])].grow_arrangement(number)
            elif status == k.PYTHON:
                self._run_in_python(control)
            elif status == k.YIELD:
                control[k.YIELD_AT] = control[k.INSTANCES] + stride
                if meter is not None and not meter.goes_on(self._progress(control)):
                    meter.end(int(control[k.INSTANCES]))
                    return None
            elif status == k.ROUNDS:
                wave = int(control[k.WAVE])
                if wave > self.watch.last_round:
                    self.watch.rounds(wave, rule)
                self._prepare(IN_BOOTSTRAP, wave)
                crew = self._crew
                control[k.LAST_WAVE] = min(2 * wave, self.watch.last_round)
            elif status == k.DIVISION:
                encoded = self._variants[int(control[k.VARIANT])]
                raise self.division(encoded.at[int(control[k.NODE])].rule)
            else:
                raise self._broken()

    def _progress(self, control: Words) -> Progress:
        batch, waiting, rows = self.desk.S[self._inside][:, [k.BATCH_COUNT, k.PENDING_COUNT, k.LIVE]].sum(axis=0)
        return Progress(int(control[k.INSTANCES]), int(control[k.WAVE]), int(batch), int(waiting), int(rows))

    def _running(self, control: Words) -> Rule | None:
        """The rule that is running, or that will run next."""
        first, count = int(control[k.VARIANT]), len(self._variants)
        phase, wave = int(control[k.PHASE]), int(control[k.WAVE])
        # At the end of a wave nothing is left behind the present variant, but those before it have run.
        for number in (*range(first, count), *range(min(first, count))):
            if entry.has_delta(self.desk.S, self._table, number, phase, wave):
                encoded = self._variants[number]
                node = int(control[k.NODE]) if number == first else 0
                rule: Rule = encoded.at[node if 0 <= node < len(encoded.at) else 0].rule
                return rule
        return None

    def _look(self, rule: Rule | None) -> None:
        """Looks at the clock, at the rows, and for interrupts."""
        self.watch.look(rule)
        if self.watch.limits.max_rows is not None:
            for name, store in zip(self.relations, self.stores()):
                self.watch.rows(name, len(store), rule)

    def _run_in_python(self, control: Words, *, every: bool = False) -> None:
        """The variants of this wave whose expressions need Python, or every one."""
        for number, encoded in enumerate(self._variants):
            phase, wave = int(control[k.PHASE]), int(control[k.WAVE])
            if not (every or encoded.in_python) or not entry.has_delta(self.desk.S, self._table, number, phase, wave):
                continue
            if not encoded.in_python:
                self._feed_tree(control, encoded)
                continue
            rule = encoded.variants[0].rule
            try:
                with self.costs.measured(rule):
                    self._feed(control, encoded, encoded.segments, NO_INPUTS)
            except ZeroDivisionError:
                raise self.division(rule) from None

    def _feed_tree(self, control: Words, encoded: Encoded) -> None:
        """Runs a tree of variants and hands what it finds to the stores."""
        crew = self._crew
        own = crew.at_root(control, encoded.segments[0])
        while True:
            status = crew.enumerate(own, encoded)
            rule = encoded.at[max(int(own[k.NODE]), 0)].rule
            if status == k.DIVISION:
                raise self.division(rule)
            self.watch.look(rule)
            for relation, out, count in crew.take():
                self._apply(control, relation, out, count)
            if status == k.DONE:
                return

    def _feed(self, control: Words, encoded: Encoded, segments: tuple[Segment, ...], inputs: Words) -> None:
        """Runs the first of the segments on the inputs and hands what it finds to the next, or to the store."""
        segment = segments[0]
        rule = encoded.variants[0].rule
        nest = Nest(segment, control, inputs)
        while True:
            status = nest.enumerate(self.desk, encoded.kind, self._crew.scratch)
            if status == k.DIVISION:
                raise self.division(rule)
            found = nest.take()
            self.watch.look(rule)
            if len(found) and segment.after is not None:
                self._feed(control, encoded, segments[1:], evaluate(segment.after, found[:, :-1], self.values))
            elif len(found):
                self._apply(control, encoded.head, nest.out, len(found))
                self.costs.emitted += len(found)
            if status == k.DONE:
                return

    def _apply(self, control: Words, head: int, out: Words, count: int) -> None:
        """Hands `count` instances (head, level) to the store of their head."""
        applied = entry.apply_some(control, self.desk.S, head, out, count)
        if applied == k.GROW:
            self.desk.stores[head].make_room(count)
            applied = entry.apply_some(control, self.desk.S, head, out, count)
        if applied != 0:
            raise self._broken()

    def division(self, rule: Rule) -> EvaluationError:
        names = ", ".join(self.relations)
        return EvaluationError(
            f"division by zero in the rule `{rule.text}` at {rule.span} (stratum {names}); the last commit is intact",
            code="E601",
            help="guard it with a condition before it, for example `y != 0, var q = x / y`",
        )


def _without(rows: Words, others: Words) -> Words:
    """The rows that are not among the others."""
    if not len(others):
        return rows
    gone = set(map(tuple, others.tolist()))
    return rows[[tuple(row) not in gone for row in rows.tolist()]]
