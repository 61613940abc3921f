"""Plans that are good for relations of any size: those in which there was nothing to choose.

    Δ Professor(x) → Person(x)                          nothing is joined
    Δ Works(x, y), probe Part(y, z) → Works(x, z)       one literal, and one way to its rows

Most rules of an ontology are such. They are encoded once, by whichever comes first, Bootstrap or Update; only the other
plans of their stratum are made again when sizes or rules are others. Their tallies and cursors are the first ones, so
that those of the other plans can follow.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from tidelog.engine.local.execution.bytecode import Encoded
from tidelog.plan.variant import Antijoin, DeltaKind, Join, Leap, Variant
from tidelog.rules.ir import Rule


@dataclass(frozen=True, slots=True)
class Settled:
    """`planned` are the variants that have tallies, also of rules that are gone; `encoded` those that can run, and
    `known` the same as pairs: rule (by the `id` of the object) and position of the delta."""

    planned: tuple[Variant, ...] = ()
    encoded: tuple[Encoded, ...] = ()
    cursors: int = 0
    known: frozenset[tuple[int, int]] = frozenset()

    def of(self, rules: Collection[int]) -> Settled:
        """What is of these rules alone, each given as the `id` of the object."""
        if all(rule in rules for rule, _ in self.known):
            return self
        kept = tuple(each for each in self.encoded if all(id(variant.rule) in rules for variant in each.variants))
        known = frozenset((id(each.rule), each.delta.position) for encoded in kept for each in encoded.variants)
        return Settled(self.planned, kept, self.cursors, known) if 2 * len(known) >= len(self.planned) else Settled()

    def is_all_of(self, rules: Sequence[Rule]) -> bool:
        """Whether every variant of these rules but the one as a whole is known, and no other."""
        return len(self.known) == sum(len(rule.positives) + len(rule.negatives) for rule in rules)

    def and_more(self, planned: Sequence[Variant], encoded: Sequence[Encoded]) -> Settled:
        """With variants that were encoded behind these."""
        if not planned:
            return self
        cursors = self.cursors + sum(each.cursors for each in encoded)
        known = self.known.union((id(each.rule), each.delta.position) for each in planned)
        return Settled((*self.planned, *planned), (*self.encoded, *encoded), cursors, known)


def split_settled(variants: Sequence[Variant], apart: Collection[int]) -> tuple[list[Variant], list[Variant]]:
    """The variants that stay whatever the sizes are, and the others: those with a choice, those that share a beginning
    with one that has, and those of rules that are `apart` (by the `id` of the object)."""
    open_ = {_beginning(each) for each in variants if not _is_settled(each)}
    settled: list[Variant] = []
    others: list[Variant] = []
    for each in variants:
        stays = _is_settled(each) and id(each.rule) not in apart and _beginning(each) not in open_
        (settled if stays else others).append(each)
    return settled, others


def _is_settled(variant: Variant) -> bool:
    """Whether the plan is the only one. With two columns a row is looked up by what is known of it; with more, fewer of
    the known columns may do, and a negated literal may become part of the join before it."""
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
