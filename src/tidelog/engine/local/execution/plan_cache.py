"""What a stratum is before it runs: its rules, what they read, which of them came and went, and their plans in code.

Plans are for the present sizes of the relations; they are made when the stratum is first run, and again when a size has
changed by much or the rules are others.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from tidelog.engine.local.encoding.words import Values, Words
from tidelog.engine.local.execution.bytecode import Bytecode, BytecodeCompiler
from tidelog.engine.local.execution.fixed_plans import FixedPlans, split_fixed
from tidelog.engine.local.execution.statistics import StoreStatistics
from tidelog.engine.local.execution.threads import Executor, ReservedRows, ThreadPool
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.metrics.rule_costs import RuleCosts
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.storage.store import Store
from tidelog.maintain.limits import Watch
from tidelog.maintain.switch import Touched
from tidelog.plan.plan_rules import plan_rules
from tidelog.plan.variant import Delta, DeltaKind, Variant
from tidelog.rules.ir import Rule, RuleProgram, Stratum

# When each kind of variant runs (bits of layout.ACTIVE).
IN_UPDATE = {k.KIND_RULE: 0, k.KIND_INSIDE: 1 | 2 | 4 | 8, k.KIND_BELOW: 1 | 4, k.KIND_NEGATED: 1 | 4}
IN_BOOTSTRAP = {k.KIND_RULE: 4, k.KIND_INSIDE: 8, k.KIND_BELOW: 0, k.KIND_NEGATED: 0}
REMOVED_IN_UPDATE = {k.KIND_RULE: 1, k.KIND_INSIDE: 1, k.KIND_BELOW: 1, k.KIND_NEGATED: 1}
_COMES, _GOES = 1, 2
_NO_TALLY: Words = np.empty(0, dtype=np.int64)


class PlannedStratum:
    """The rules of a stratum, in code for the kernels.

    `joins` is false in subclasses whose rules the kernels do not run. `removed_in_update`: when Update runs the
    variants of a rule that goes.

    After a change of rules a stratum that is not what it was is another object. If it `is_new`, it is derived anew,
    from the facts that it `inherited`; else it goes on with the state of the one before it, and `added` and `removed`
    are the rules to exchange. All of that is over when an epoch is kept.
    """

    joins = True
    removed_in_update: Mapping[int, int] = REMOVED_IN_UPDATE
    _executor: Executor

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
        self.catalog = catalog
        self.values = values
        self.instances = 0
        self.waves = 0
        self.work = 0
        self.costs = RuleCosts()
        self._planned: list[Variant] = []
        self.facts: dict[int, tuple[Words, Words]] = {}  # relation → facts to insert, facts to delete
        self.watch = watch
        self._thread_pool = thread_pool
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
        self._reserved = ReservedRows(thread_pool, catalog, self._inside)
        self._compiler = BytecodeCompiler(numbers, catalog.arrangement, values, program.functions)
        self._variants: list[Bytecode] = []
        self._fixed = FixedPlans()
        self._apart: dict[int, int] = {}
        self._planned_for: tuple[int, ...] | None = None
        self._planned_sizes: dict[int, int] = {}
        self._plans_are_old = False
        self._earlier: PlannedStratum | None = None  # whose plans may go on
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
        self._statistics = StoreStatistics(self.catalog, numbers, self._below)

    # Rules that change

    @property
    def has_changed(self) -> bool:
        """Whether rules came or went since the last epoch, or the stratum has to be derived anew."""
        return self.is_new or bool(self.added or self.removed)

    def go_on(self, before: PlannedStratum) -> None:
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
        self.costs.end_epoch(seconds, self._planned, self.tally)

    @property
    def tally(self) -> Words:
        """How many instances each of the plans has found in the epoch under way."""
        return self._executor.tally if self._planned else _NO_TALLY

    def _count_costs(self) -> None:
        if self._planned:
            self.costs.count(self._planned, self._executor.tally)

    @property
    def row_count(self) -> int:
        return int(self.catalog.S[self._inside, k.LIVE].sum())

    @property
    def recursive(self) -> bool:
        return self.stratum.recursive

    def has_rules(self) -> bool:
        return bool(self.stratum.rules)

    def can_update(self) -> bool:
        return True

    def can_derive(self) -> bool:
        stores = self.catalog.stores
        return any(all(len(stores[self.numbers[atom.relation]]) for atom in rule.positives) for rule in self._rules)

    def is_touched(self) -> bool:
        return self.has_changed or bool(self.facts) or any(self._is_changed(relation) for relation in self._below)

    def _is_changed(self, relation: int) -> bool:
        line = self.catalog.S[relation]
        return bool(line[k.INSERTED_COUNT] or line[k.DELETED_COUNT])

    def touched(self) -> tuple[Touched, ...]:
        below = []
        for relation in self._below:
            line = self.catalog.S[relation]
            came, left = int(line[k.INSERTED_COUNT]), int(line[k.DELETED_COUNT])
            if came or left:
                below.append(Touched(self._names[relation], int(line[k.LIVE]) - came, came, left))
        own = [
            Touched(self._names[relation], len(self.catalog.stores[relation]), len(inserted), len(deleted))
            for relation, (inserted, deleted) in self.facts.items()
        ]
        count = len(self.stratum.rules)
        rules = [Touched(f"rule {rule.id}", count, 1, 0) for rule in self.added]
        rules += [Touched(f"rule {rule.id}", count, 0, 1) for rule in self.removed]
        return (*below, *own, *rules)

    def rows_below(self) -> int:
        rows = sum(len(self.catalog.stores[relation]) for relation in self._below)
        return rows + sum(len(inserted) for inserted, _ in self.facts.values())

    def top_rank(self) -> int:
        return int(self.catalog.S[self._inside, k.TOP].max())

    def stores(self) -> list[Store]:
        return [self.catalog.stores[relation] for relation in self.relation_numbers]

    # Plans

    def _prepare(self, active: Mapping[int, int], wave: int = 0) -> None:
        """Plans and compiles the variants for the present sizes, and builds the arrangements that will be probed.

        A Bootstrap fills relations from nothing, and an Update may, so they are prepared anew while they run, between
        their waves.
        """
        read = (*self._below, *self._inside.tolist())
        signature = (active is IN_BOOTSTRAP, *map(self._size_class, read))
        if self._planned_for != signature or self._plans_are_old:
            self._plans_are_old = False
            self._plan(() if active is IN_BOOTSTRAP else self.removed, is_bootstrap=active is IN_BOOTSTRAP)
            self._planned_for = signature
            self._planned_sizes = dict(zip(read, signature[1:]))
        for relation in (*self._inside.tolist(), *(self._below if self._rules else ())):
            self.catalog.stores[relation].index()
        self._active = active
        for number, bytecode in enumerate(self._variants):
            when = self._when(bytecode.variants[0].rule, active)
            self._table[number, k.ACTIVE] = when[bytecode.kind] if self._may_run(bytecode, wave) else 0
            if self._table[number, k.ACTIVE]:
                for relation, keys in bytecode.probes:
                    self.catalog.stores[relation].arrange(keys)

    def _may_run(self, bytecode: Bytecode, wave: int) -> bool:
        """False where the variant finds nothing before this stratum is prepared again: its arrangements can wait."""
        if wave > 0:
            return bytecode.kind == k.KIND_INSIDE
        if bytecode.kind == k.KIND_RULE and self._active is not IN_BOOTSTRAP:
            return True  # rows may still come before the rule runs
        if bytecode.kind == k.KIND_RULE:
            # The relations of the stratum have their facts alone, mostly none.
            return not all(map(self._lacks_rows, bytecode.variants))
        if bytecode.kind == k.KIND_INSIDE:
            return self._active is not IN_BOOTSTRAP
        return self._is_changed(bytecode.delta)

    def _lacks_rows(self, variant: Variant) -> bool:
        """Whether a literal of the rule has no rows at all."""
        return not all(len(self.catalog.stores[self.numbers[atom.relation]]) for atom in variant.rule.positives)

    def _when(self, rule: Rule, active: Mapping[int, int]) -> Mapping[int, int]:
        """When the variants of a rule run."""
        part = self._apart.get(id(rule), 0)
        if active is IN_BOOTSTRAP or part == 0:
            return active
        return IN_BOOTSTRAP if part == _COMES else self.removed_in_update

    def _size_class(self, relation: int) -> int:
        """Plans are good for as long as this stays the same for all relations."""
        return len(self.catalog.stores[relation]).bit_length() // 3

    def _plan(self, removed: tuple[Rule, ...], *, is_bootstrap: bool) -> None:
        """Plans and compiles the rules of the stratum, and those that it gives up."""
        self._statistics.expect(self.replaced)
        self._count_costs()
        added, removed = (self.added, removed) if self.joins else ((), ())
        self._apart = {id(rule): _COMES for rule in added} | {id(rule): _GOES for rule in removed}
        earlier, self._earlier = self._earlier, None
        if earlier is not None and not is_bootstrap and self._are_good(earlier):
            self._compile_change(earlier, added, removed)
        else:
            self._compile_all(earlier or self, removed, is_bootstrap=is_bootstrap)
        self._lay_out()

    def _is_joined_in_update(self, rule: Rule) -> bool:
        """Whether an Update may join a rule as a whole: only one that comes or goes."""
        return id(rule) in self._apart

    def _are_good(self, earlier: PlannedStratum) -> bool:
        """Whether the plans of before other rules can go on: they are for Update, for relations of these sizes, and
        most of them are of rules that are still there."""
        if not earlier._planned_for or earlier._planned_for[0]:
            return False
        if len(earlier._planned) > 4 * sum(1 + len(rule.positives) + len(rule.negatives) for rule in self._rules):
            return False
        return all(self._size_class(number) == known for number, known in earlier._planned_sizes.items())

    def _compile_all(self, earlier: PlannedStratum, removed: tuple[Rule, ...], *, is_bootstrap: bool) -> None:
        """Compiles all rules, but for plans that stay as they are."""
        rules = (*self._rules, *removed)
        fixed = earlier._fixed.restricted_to({*map(id, self._rules)})
        whole = {id(rule) for rule in rules if is_bootstrap or self._is_joined_in_update(rule)}

        def runs(rule: Rule, delta: Delta) -> bool:
            if delta.kind is DeltaKind.RULE:
                return id(rule) in whole
            return (id(rule), delta.position) not in fixed.known

        planned = plan_rules(rules, self._statistics, runs) if whole or not fixed.cover(rules) else []
        more, others = split_fixed(planned, self._apart)
        fixed = fixed.extended(more, self._compile(more, len(fixed.variants), fixed.cursors))
        bytecode = self._compile(others, len(fixed.variants), fixed.cursors)
        self._fixed = fixed
        self._planned = [*fixed.variants, *others]
        self._variants = [*fixed.bytecode, *bytecode]
        self._cursors = fixed.cursors + sum(each.cursors for each in bytecode)

    def _compile(self, variants: Sequence[Variant], first_tally: int, first_cursor: int) -> list[Bytecode]:
        if not variants:
            return []
        return self._compiler.compile(
            variants, self.relations, self._lacks_rows, self._apart, first_tally, first_cursor
        )

    def _compile_change(self, earlier: PlannedStratum, added: tuple[Rule, ...], removed: tuple[Rule, ...]) -> None:
        """Compiles only rules that come, and those that began like a rule that goes."""
        stay = set(map(id, self._rules))
        known = stay.union(map(id, removed))
        kept: list[Bytecode] = []
        variants: list[Variant] = []
        for each in earlier._variants:
            if stay.issuperset(id(variant.rule) for variant in each.variants):
                kept.append(each)
            else:
                variants += [variant for variant in each.variants if id(variant.rule) in known]
        variants += plan_rules(added, self._statistics)
        whole = {id(each.rule) for each in variants if each.delta.kind is DeltaKind.RULE}
        unplanned = [rule for rule in removed if id(rule) not in whole]
        variants += plan_rules(unplanned, self._statistics, lambda _, delta: delta.kind is DeltaKind.RULE)
        new = self._compile(variants, len(earlier._planned), earlier._cursors)
        self._fixed = earlier._fixed.restricted_to(stay)
        self._planned = [*earlier._planned, *variants]
        self._variants = [*kept, *new]
        self._cursors = earlier._cursors + sum(bytecode.cursors for bytecode in new)

    def _lay_out(self) -> None:
        """Makes the table of the variants, and the memory in which they run."""
        lines = [bytecode.line for bytecode in self._variants]
        self._table: Words = np.array(lines, dtype=np.int64).reshape(len(lines), k.VARIANT_FIELDS)
        self._in_python = int(any(bytecode.in_python for bytecode in self._variants))
        segments = [segment for bytecode in self._variants for segment in bytecode.segments]
        sizes = {
            "registers": max((len(s.constants) for s in segments), default=1),
            "blocks": max((int(s.code[k.CODE_ITERATORS]) for s in segments), default=1),
            "cursors": self._cursors,
            "variants": len(self._planned),
        }
        if self._planned_for is None or not self._executor.reuse(**sizes):
            self._executor = Executor(self._thread_pool, self.catalog, self._inside, self._reserved, **sizes)
