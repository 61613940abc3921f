"""The plan cache of a stratum: its rules → plans in bytecode, for the present sizes of the relations that they read.

Plans are made when the stratum first runs, and again when a relation has grown or shrunk by much or the rules have
changed. Plans without a choice (`fixed_plans`) are made once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tidelog.engine.local.encoding.words import Values, Words
from tidelog.engine.local.execution.bytecode import Bytecode, BytecodeCompiler, Probe
from tidelog.engine.local.execution.fixed_plans import FixedPlans, split_fixed
from tidelog.engine.local.execution.list_joins import ListJoin, may_list
from tidelog.engine.local.execution.statistics import StoreStatistics
from tidelog.engine.local.execution.threads import Executor, ReservedRows, ThreadPool
from tidelog.engine.local.execution.zones import Zones
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.storage.store import Store
from tidelog.plan.plan_rules import arrangements, plan_rules, tries
from tidelog.plan.variant import Delta, DeltaKind, Variant
from tidelog.rules.ir import Constant, Rule, RuleProgram, Stratum

# When each kind of variant runs (bits of layout.ACTIVE).
IN_UPDATE = {k.KIND_RULE: 0, k.KIND_INSIDE: 1 | 2 | 4 | 8, k.KIND_BELOW: 1 | 4, k.KIND_NEGATED: 1 | 4}
IN_BOOTSTRAP = {k.KIND_RULE: 4, k.KIND_INSIDE: 8, k.KIND_BELOW: 0, k.KIND_NEGATED: 0}
REMOVED_IN_UPDATE = {k.KIND_RULE: 1, k.KIND_INSIDE: 1, k.KIND_BELOW: 1, k.KIND_NEGATED: 1}
_ADDED, _REMOVED = 1, 2
_NO_TALLY: Words = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Reads:
    """The relations that rules read, by number: those `below` the stratum, in order, and how they are read.

    `names` has the names of all, and of the relations of the stratum. `picked`: of some relations below, only rows with
    one of these words in one of these columns matter.
    """

    below: Sequence[int]
    positive: frozenset[int]
    negated: frozenset[int]
    names: Mapping[int, str]
    picked: Mapping[int, frozenset[tuple[int, int]]]

    @classmethod
    def of(cls, rules: Sequence[Rule], relations: Sequence[str], numbers: Mapping[str, int], values: Values) -> Reads:
        """Collects the relations that the rules of a stratum with these relations read."""
        positive = frozenset(numbers[atom.relation] for rule in rules for atom in rule.positives)
        negated = frozenset(numbers[atom.relation] for rule in rules for atom in rule.negatives)
        names = {numbers[atom.relation]: atom.relation for rule in rules for atom in rule.atoms}
        inside = {numbers[name]: name for name in relations}
        return cls(
            sorted(names.keys() - inside.keys()), positive, negated, names | inside, _picked(rules, numbers, values)
        )


def _rows_of(size_class: int) -> tuple[int, int]:
    """Returns the least and the largest number of rows in a class of sizes; see `PlanCache._size_class`."""
    bits = min(3 * size_class, 60)
    return (1 << bits) >> 1 if bits else 0, (1 << bits + 2) - 1


def _picked(rules: Sequence[Rule], numbers: Mapping[str, int], values: Values) -> dict[int, frozenset[tuple[int, int]]]:
    """Returns a column and a word for each atom of a relation, if every one of them has a constant."""
    found: dict[int, list[tuple[int, int] | None]] = {}
    for atom in (atom for rule in rules for atom in rule.atoms):
        constants = ((place, term) for place, term in enumerate(atom.terms) if isinstance(term, Constant))
        picked = next(((place, values.word(term.value, term.type)) for place, term in constants), None)
        found.setdefault(numbers[atom.relation], []).append(picked)
    known = {number: [each for each in picked if each is not None] for number, picked in found.items()}
    return {number: frozenset(picked) for number, picked in known.items() if len(picked) == len(found[number])}


class PlanCache:
    """The plans of one stratum's rules.

    `planned` are the variants whose instances the kernels count, in the order of their tally; `variants` the same as
    bytecode, rules with a common prefix in one; `table` has one line for each of them. `executor` runs them.

    `rules` are the rules with plans; a subclass of stratum may run others itself, but `reads` are of all rules.
    `removed_in_update`: when Update runs the variants of a removed rule. `whole_in_update`: Update joins every rule as
    a whole, not only added and removed ones.
    """

    executor: Executor

    def __init__(
        self,
        stratum: Stratum,
        rules: tuple[Rule, ...],
        program: RuleProgram,
        numbers: Mapping[str, int],
        catalog: Catalog,
        values: Values,
        thread_pool: ThreadPool,
        *,
        removed_in_update: Mapping[int, int],
        whole_in_update: bool,
    ) -> None:
        self._relations = stratum.relations
        self.rules = rules
        self._numbers = numbers
        self._values = values
        self._catalog = catalog
        self._removed_in_update = removed_in_update
        self._whole_in_update = whole_in_update
        self._inside = tuple(numbers[name] for name in stratum.relations)
        self.inside: Words = np.array(self._inside, dtype=np.int64)
        self._thread_pool = thread_pool
        self.reserved = ReservedRows(thread_pool, catalog, self.inside)
        self.compiler = BytecodeCompiler(numbers, catalog.arrangement, values.word, program.functions)
        self.planned: list[Variant] = []
        self.variants: list[Bytecode] = []
        self.in_python = False
        self.may_list = False  # rows are counted instances, so that rules can be joined by lists
        self.list_joined: dict[int, list[ListJoin]] = {}  # by the numbers of bytecode, until a Bootstrap has run them
        self.zones = Zones(catalog)
        self._fixed = FixedPlans()
        self._changed: dict[int, int] = {}  # rules that are added or removed, by `id`
        self._planned_for: tuple[int, ...] | None = None
        self._planned_sizes: dict[int, int] = {}
        self._are_old = False
        self._earlier: PlanCache | None = None  # whose plans may be reused
        self._cursors = 0
        self._few: Words | None = None
        self._few_version = -1
        self._besides: Mapping[int, str] = {}
        self.read(stratum.rules)

    def read_besides(self, rules: Sequence[Rule], names: Mapping[int, str]) -> None:
        """Notes relations that the stratum reads beside those of its rules."""
        self._besides = names
        self.read(rules)

    def read(self, rules: Sequence[Rule]) -> None:
        """Notes the relations that the rules of the stratum read."""
        reads = Reads.of(rules, self._relations, self._numbers, self._values)
        if self._besides:
            below, names = sorted({*reads.below, *self._besides}), {**reads.names, **self._besides}
            reads = replace(reads, below=below, names=names, picked={})
        self.reads = reads
        # Each relation below, with the events of the cost history.
        self.events = [(number, (reads.names[number], 1), (reads.names[number], -1)) for number in reads.below]
        self.statistics = StoreStatistics(self._catalog, self._numbers, self.reads.below)

    def has_changed_input(self) -> bool:
        """True if this epoch has changed a relation of a lower stratum that the rules read."""
        return any(map(self._is_changed, self.reads.below))

    def _is_changed(self, relation: int) -> bool:
        lines = self._catalog.S
        return bool(lines.item(relation, k.INSERTED_COUNT) or lines.item(relation, k.DELETED_COUNT))

    @property
    def tally(self) -> Words:
        """The number of instances that each of `planned` has found in the epoch under way."""
        return self.executor.tally if self.planned else _NO_TALLY

    # Rules that change

    def continue_from(self, earlier: PlanCache, rules: Sequence[Rule]) -> None:
        """Reuses plans of the same relations with other rules; `rules` are the present and the removed ones."""
        self._earlier = earlier
        self.read(rules)

    def commit_rules(self, rules: Sequence[Rule]) -> None:
        """Makes the present rules the only ones. Plans of this epoch can be read until the next one begins."""
        self._earlier = self
        self.read(rules)
        self._are_old = True

    # When plans are good

    def are_good(self, active: Mapping[int, int]) -> bool:
        """True if the plans can run unchanged: no rule has changed, and each relation has about the same size."""
        return not self._are_old and self._planned_for == self._signature(active)

    def _signature(self, active: Mapping[int, int]) -> tuple[int, ...]:
        return (active is IN_BOOTSTRAP, *map(self._size_class, self.reads.below), *map(self._size_class, self._inside))

    def _size_class(self, relation: int) -> int:
        """Returns the same number for sizes for which the same plans are good."""
        return self._catalog.S.item(relation, k.LIVE).bit_length() // 3

    def _can_continue(self, earlier: PlanCache) -> bool:
        """True if earlier plans can be reused: they are for Update and these sizes, and most of their rules remain."""
        if not earlier._planned_for or earlier._planned_for[0]:
            return False
        if len(earlier.planned) > 4 * sum(1 + len(rule.positives) + len(rule.negatives) for rule in self.rules):
            return False
        return all(self._size_class(number) == known for number, known in earlier._planned_sizes.items())

    def for_few_rows(self, changed: Iterable[int]) -> Words | None:
        """Returns the relations that the rules read, and their own, as `kernels.waves.drive` takes them for a whole
        Update; None if the plans, or the arrangements for changes of these relations, have to be made first.
        """
        if self._few is None or self._few_version != self._catalog.version or self._are_old:
            return None
        return None if any(relation in self._not_arranged for relation in changed) else self._few

    def _note_few_rows(self, active: Mapping[int, int], wave: int) -> None:
        """Prepares `for_few_rows`, after the plans were activated."""
        self._few = None
        if active is not IN_UPDATE or wave or self._changed or self.in_python or not self._planned_for:
            return
        stores = self._catalog.stores
        self._not_arranged: set[int] = set()
        for number, bytecode in enumerate(self.variants):
            if self.table[number, k.ACTIVE] == 0 and active[bytecode.kind]:
                if all(stores[relation].is_arranged(keys) for relation, keys in bytecode.probes):
                    self.table[number, k.ACTIVE] = active[bytecode.kind]  # nothing runs without rows of its delta
                else:
                    self._not_arranged.add(bytecode.delta)
        lines = []
        for number, size_class in self._planned_sizes.items():
            how = k.READ_OWN if number in self._inside else k.READ_POSITIVE
            if number in self.reads.negated:
                how = k.READ_NEGATED
            least, most = _rows_of(size_class)
            lines.append((number, how, least, most))
        self._few = np.array(lines, dtype=np.int64).reshape(len(lines), k.READ_FIELDS)
        self._few_version = self._catalog.version

    # Planning

    def make(
        self,
        active: Mapping[int, int],
        added: tuple[Rule, ...],
        removed: tuple[Rule, ...],
        replaced: Mapping[int, Store],
    ) -> None:
        """Plans and compiles the rules for the present sizes; for Update, the removed ones too.

        `replaced` has the old stores of relations that a Bootstrap fills.
        """
        self._are_old = False
        self.statistics.expect(replaced)
        is_bootstrap = active is IN_BOOTSTRAP
        if is_bootstrap:
            removed = ()
        self._changed = {id(rule): _ADDED for rule in added} | {id(rule): _REMOVED for rule in removed}
        earlier, self._earlier = self._earlier, None
        if earlier is not None and not is_bootstrap and self._can_continue(earlier):
            self._compile_change(earlier, added, removed)
        else:
            self._compile_all(earlier or self, removed, is_bootstrap=is_bootstrap)
        self._lay_out()
        signature = self._signature(active)
        self._planned_for = signature
        self._planned_sizes = dict(zip((*self.reads.below, *self._inside), signature[1:]))

    def activate(self, active: Mapping[int, int], wave: int) -> None:
        """Marks when each variant runs from this wave on, and builds the arrangements that will be probed."""
        stores = self._catalog.stores
        for relation in (*self._inside, *(self.reads.below if self.rules else ())):
            stores[relation].index()
        for number, bytecode in enumerate(self.variants):
            when = self._when(bytecode.variants[0].rule, active)
            self.table[number, k.ACTIVE] = when[bytecode.kind] if self._may_run(bytecode, active, wave) else 0
            is_listed = active is IN_BOOTSTRAP and wave == 0 and self._make_lists(number, bytecode)
            self.table[number, k.IN_PYTHON] = int(is_listed or bytecode.in_python)
            if self.table[number, k.ACTIVE] and not is_listed:
                for relation, keys in bytecode.probes:
                    stores[relation].arrange(keys)
        self._note_few_rows(active, wave)

    def _make_lists(self, number: int, bytecode: Bytecode) -> bool:
        """True if the rules of some bytecode will be joined by lists (`list_joined`)."""
        if not self.may_list or not self.table[number, k.ACTIVE] or not all(map(may_list, bytecode.variants)):
            return False
        joins = []
        for rule in (variant.rule for variant in bytecode.variants):
            join = ListJoin(rule, self._numbers, self._catalog, self._thread_pool, self._values.word)
            if any(atom.relation in self._relations for atom in rule.positives) or not join.begin():
                return False
            joins.append(join)
        self.list_joined[number] = joins
        return True

    def probes(self) -> list[Probe]:
        """Returns the arrangements and tries that the present plans probe, each once."""
        return [*dict.fromkeys(probe for bytecode in self.variants for probe in bytecode.probes)]

    def probed_by_updates(self) -> list[Probe]:
        """Returns the arrangements and tries that the next Update will probe, if sizes and rules stay."""
        self.statistics.expect({})
        variants = plan_rules(self.rules, self.statistics, lambda _, delta: delta.kind is not DeltaKind.RULE)
        found: list[Probe] = [(self._numbers[name], keys) for name, keys in arrangements(variants)]
        return [*found, *((self._numbers[name], order) for name, order in tries(variants))]

    def make_zones(self, *, of_whole_rules: bool = False) -> None:
        """Makes zones for the bounds of active variants; they must be dropped before a relation below changes.

        `of_whole_rules`: only of variants that join a rule as a whole; others read few rows.
        """
        bits = self.table[:, k.ACTIVE].tolist()
        active = [each for number, each in enumerate(self.variants) if bits[number] and number not in self.list_joined]
        self.zones.make(
            each
            for bytecode in active
            if bytecode.bounded and (bytecode.kind == k.KIND_RULE or not of_whole_rules)
            for each in bytecode.bounded
        )

    def _may_run(self, bytecode: Bytecode, active: Mapping[int, int], wave: int) -> bool:
        """False if the variant finds nothing before the next `activate`: its arrangements can wait."""
        if wave > 0:
            return bytecode.kind == k.KIND_INSIDE
        if bytecode.kind == k.KIND_RULE and active is not IN_BOOTSTRAP:
            return True  # rows may still be inserted before the rule runs
        if bytecode.kind == k.KIND_RULE:
            # The relations of the stratum have their facts alone, mostly none.
            return not all(map(self._lacks_rows, bytecode.variants))
        if bytecode.kind == k.KIND_INSIDE:
            return active is not IN_BOOTSTRAP
        return self._is_changed(bytecode.delta)

    def _lacks_rows(self, variant: Variant) -> bool:
        """True if a literal of the rule has no rows at all."""
        return not all(len(self._catalog.stores[self._numbers[atom.relation]]) for atom in variant.rule.positives)

    def _when(self, rule: Rule, active: Mapping[int, int]) -> Mapping[int, int]:
        """Returns when the variants of a rule run."""
        change = self._changed.get(id(rule), 0)
        if active is IN_BOOTSTRAP or change == 0:
            return active
        return IN_BOOTSTRAP if change == _ADDED else self._removed_in_update

    def _compile_all(self, earlier: PlanCache, removed: tuple[Rule, ...], *, is_bootstrap: bool) -> None:
        """Compiles all rules, except for fixed plans that are known."""
        rules = (*self.rules, *removed)
        fixed = earlier._fixed.restricted_to({*map(id, self.rules)})
        joined_whole = is_bootstrap or self._whole_in_update
        whole = {id(rule) for rule in rules if joined_whole or id(rule) in self._changed}

        def runs(rule: Rule, delta: Delta) -> bool:
            if delta.kind is DeltaKind.RULE:
                return id(rule) in whole
            return (id(rule), delta.position) not in fixed.known

        planned = plan_rules(rules, self.statistics, runs) if whole or not fixed.cover(rules) else []
        more, others = split_fixed(planned, self._changed)
        fixed = fixed.extended(more, self._compile(more, len(fixed.variants), fixed.cursors))
        bytecode = self._compile(others, len(fixed.variants), fixed.cursors)
        self._fixed = fixed
        self.planned = [*fixed.variants, *others]
        self.variants = [*fixed.bytecode, *bytecode]
        self._cursors = fixed.cursors + sum(each.cursors for each in bytecode)

    def _compile(self, variants: Sequence[Variant], first_tally: int, first_cursor: int) -> list[Bytecode]:
        if not variants:
            return []
        return self.compiler.compile(
            variants, self._relations, self._lacks_rows, self._changed, first_tally, first_cursor
        )

    def _compile_change(self, earlier: PlanCache, added: tuple[Rule, ...], removed: tuple[Rule, ...]) -> None:
        """Compiles only added rules, and those that began like a removed rule."""
        stay = set(map(id, self.rules))
        known = stay.union(map(id, removed))
        same: list[Bytecode] = []
        variants: list[Variant] = []
        for each in earlier.variants:
            if stay.issuperset(id(variant.rule) for variant in each.variants):
                same.append(each)
            else:
                variants += [variant for variant in each.variants if id(variant.rule) in known]
        variants += plan_rules(added, self.statistics)
        whole = {id(each.rule) for each in variants if each.delta.kind is DeltaKind.RULE}
        unplanned = [rule for rule in removed if id(rule) not in whole]
        variants += plan_rules(unplanned, self.statistics, lambda _, delta: delta.kind is DeltaKind.RULE)
        new = self._compile(variants, len(earlier.planned), earlier._cursors)
        self._fixed = earlier._fixed.restricted_to(stay)
        self.planned = [*earlier.planned, *variants]
        self.variants = [*same, *new]
        self._cursors = earlier._cursors + sum(bytecode.cursors for bytecode in new)

    def _lay_out(self) -> None:
        """Makes the table of the variants, and the memory in which they run."""
        lines = [bytecode.line for bytecode in self.variants]
        self.table: Words = np.array(lines, dtype=np.int64).reshape(len(lines), k.VARIANT_FIELDS)
        self.in_python = any(bytecode.in_python for bytecode in self.variants)
        segments = [segment for bytecode in self.variants for segment in bytecode.segments]
        sizes = {
            "registers": max((len(s.constants) for s in segments), default=1),
            "blocks": max((int(s.code[k.CODE_ITERATORS]) for s in segments), default=1),
            "cursors": self._cursors,
            "variants": len(self.planned),
        }
        if self._planned_for is None or not self.executor.reuse(**sizes):
            self.executor = Executor(self._thread_pool, self._catalog, self.inside, self.reserved, **sizes)
