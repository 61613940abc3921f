"""Fixed plans: variants with only one possible plan, so that their bytecode is good for relations of any size.

    Δ Professor(x) → Person(x)                          nothing is joined
    Δ Works(x, y), probe Part(y, z) → Works(x, z)       one literal, and one way to its rows

Most rules of an ontology have fixed plans. They are compiled once, by the first Bootstrap or Update; only the other
plans of the stratum are made again when sizes or rules change. Fixed plans have the first tallies and cursors; those of
the other plans follow.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from tidelog.engine.local.execution.bytecode import Bytecode
from tidelog.plan.variant import Antijoin, DeltaKind, Join, Leap, Variant
from tidelog.rules.ir import Rule


@dataclass(frozen=True, slots=True)
class FixedPlans:
    """Fixed plans of a stratum. `variants` are all variants with a tally, including those of removed rules. `bytecode`
    can run; `known` are its variants as pairs: `id` of the rule object, position of the delta."""

    variants: tuple[Variant, ...] = ()
    bytecode: tuple[Bytecode, ...] = ()
    cursors: int = 0
    known: frozenset[tuple[int, int]] = frozenset()

    def restricted_to(self, rules: Collection[int]) -> FixedPlans:
        """Returns the plans of these rules only, each given as the `id` of the object."""
        if all(rule in rules for rule, _ in self.known):
            return self
        kept = tuple(each for each in self.bytecode if all(id(variant.rule) in rules for variant in each.variants))
        known = frozenset((id(each.rule), each.delta.position) for bytecode in kept for each in bytecode.variants)
        if 2 * len(known) < len(self.variants):
            return FixedPlans()
        return FixedPlans(self.variants, kept, self.cursors, known)

    def cover(self, rules: Sequence[Rule]) -> bool:
        """True if these are all variants of the rules that have a delta."""
        return len(self.known) == sum(len(rule.positives) + len(rule.negatives) for rule in rules)

    def extended(self, variants: Sequence[Variant], bytecode: Sequence[Bytecode]) -> FixedPlans:
        """Returns these plans and more, whose tallies and cursors follow these."""
        if not variants:
            return self
        cursors = self.cursors + sum(each.cursors for each in bytecode)
        known = self.known.union((id(each.rule), each.delta.position) for each in variants)
        return FixedPlans((*self.variants, *variants), (*self.bytecode, *bytecode), cursors, known)


def split_fixed(variants: Sequence[Variant], apart: Collection[int]) -> tuple[list[Variant], list[Variant]]:
    """Splits variants into those with a fixed plan and the others.

    The others have a choice, or share their delta with a variant that has one, or belong to a rule that is `apart` (by
    the `id` of the object).
    """
    open_ = {_beginning(each) for each in variants if not _is_fixed(each)}
    fixed: list[Variant] = []
    others: list[Variant] = []
    for each in variants:
        stays = _is_fixed(each) and id(each.rule) not in apart and _beginning(each) not in open_
        (fixed if stays else others).append(each)
    return fixed, others


def _is_fixed(variant: Variant) -> bool:
    """True if no other plan is possible. A row of two columns is looked up by its known columns; with more columns, a
    key of fewer known columns is possible, and a negated literal may become part of the join before it."""
    if variant.delta.atom is None:
        return False
    joins = [step for step in variant.steps if isinstance(step, Join | Leap)]
    if not joins:
        return True
    (first, *more), steps = joins, variant.steps
    if more or isinstance(first, Leap) or any(isinstance(step, Antijoin) for step in steps):
        return False
    return len(first.atom.terms) <= 2 or len(first.keys) == len(first.atom.terms)


def _beginning(variant: Variant) -> tuple[DeltaKind, Any]:
    atom = variant.delta.atom
    return variant.delta.kind, None if atom is None else atom.relation
