"""The rules of a stratum → all their variants, planned together for few arrangements.

Every arrangement costs memory, and work for each new row. So a variant uses an arrangement that exists or that another
one wants, if it serves almost as well as one of its own; the columns that it lacks are compared row by row.

    Δ Has(x, r, y): probe Some(what, role) …     each `what` has one or two roles, and another rule wants Some(what):
                    probe Some(what) …           one arrangement less
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial

from tidelog.plan.leapfrog import plan_leapfrog
from tidelog.plan.negation import with_complements
from tidelog.plan.statistics import Keys, Order, Statistics
from tidelog.plan.variant import Delta, Join, Leap, Step, Variant, deltas
from tidelog.rules.ir import Rule

# The cost of one more arrangement, in rows looked at per probe: as much as two rows more in every bucket.
UPKEEP = 2.0


def plan_rules(
    rules: Sequence[Rule], statistics: Statistics, runs: Callable[[Rule, Delta], bool] = lambda *_: True
) -> list[Variant]:
    """Returns the variants of all rules that are to run, in the order of the rules and of `deltas`."""
    wanted = _Wanted(statistics)
    variants = []
    growing = {rule.head.relation for rule in rules}
    for rule in rules:
        for delta in filter(partial(runs, rule), deltas(rule)):
            variant = plan_leapfrog(rule, delta, wanted, growing)
            variant = with_complements(variant, wanted, growing, requested=rule.join == "leapfrog")
            wanted.add(variant)
            variants.append(variant)
    return [wanted.coarsen(variant) for variant in variants]


def arrangements(variants: Sequence[Variant]) -> list[tuple[str, Keys]]:
    """Returns the arrangements that variants probe, each once, in the order of first use."""
    return list(dict.fromkeys((step.atom.relation, step.keys) for each in variants for step in _probes(each)))


def tries(variants: Sequence[Variant]) -> list[tuple[str, Order]]:
    """Returns the tries that variants leap over, each once, in the order of first use."""
    leaps = (step for each in variants for step in each.steps if isinstance(step, Leap))
    parts = (part for leap in leaps for part in (*leap.parts, *leap.without))
    return list(dict.fromkeys((part.atom.relation, part.order) for part in parts))


def _probes(variant: Variant) -> list[Join]:
    return [s for s in variant.steps if isinstance(s, Join) and 0 < len(s.keys) < len(s.atom.terms)]


class _Wanted:
    """Statistics in which the arrangements that earlier variants want count as existing."""

    def __init__(self, statistics: Statistics) -> None:
        self._statistics = statistics
        self._keys: dict[str, set[Keys]] = {}

    def rows(self, relation: str) -> float:
        return self._statistics.rows(relation)

    def bucket(self, relation: str, keys: Keys, columns: int) -> float:
        return self._statistics.bucket(relation, keys, columns)

    def setup(self, relation: str, keys: Keys) -> float:
        if keys in self._keys.get(relation, ()) or keys in self._statistics.arranged(relation):
            return 0.0
        return UPKEEP + self._statistics.setup(relation, keys)

    def arranged(self, relation: str) -> Collection[Keys]:
        return self._keys.get(relation, set()) | set(self._statistics.arranged(relation))

    def add(self, variant: Variant) -> None:
        for step in _probes(variant):
            self._keys.setdefault(step.atom.relation, set()).add(step.keys)

    def coarsen(self, variant: Variant) -> Variant:
        """Returns the variant with missing arrangements replaced by wanted ones with fewer columns, if that pays."""
        probes = _probes(variant)
        if not probes:
            return variant
        steps: list[Step] = [self._coarsened(step) if step in probes else step for step in variant.steps]
        return replace(variant, steps=tuple(steps))

    def _coarsened(self, step: Step) -> Step:
        assert isinstance(step, Join)
        relation, columns = step.atom.relation, len(step.atom.terms)
        if step.keys in self._statistics.arranged(relation):
            return step
        limit = UPKEEP + self.bucket(relation, step.keys, columns)
        fewer = [
            (bucket, keys)
            for keys in sorted(self.arranged(relation))
            if set(keys) < set(step.keys) and (bucket := self.bucket(relation, keys, columns)) <= limit
        ]
        return replace(step, keys=min(fewer)[1]) if fewer else step
