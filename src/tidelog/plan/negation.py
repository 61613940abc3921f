"""A variant → the same one, with negated literals as parts of the leapfrog joins before them.

    Todo(d, x) :- Day(d), Task(x), not Done(d, x).      Δ Day(d)    leap x over Task(x) without Done(d, x)

A negated literal is checked for every value. If it has the rows of nearly all values, most checks are in vain: as a
part of the join, it skips the values that it covers run by run (`engine.local.leapfrog.negation`), at the price of a
trie. This pays if the values are many, nearly all are expected to be covered, and the join runs again and again: for
deltas, or below another join. The joined variable is the last variable of the negated literal.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from tidelog.plan.statistics import Keys, Order, Statistics
from tidelog.plan.variant import (
    Antijoin,
    DeltaKind,
    Filter,
    Join,
    Leap,
    Let,
    Part,
    Step,
    Take,
    Variant,
    bound_columns,
)
from tidelog.rules.ir import Atom, Variable

# From so many values on, of which at least this share is covered, a trie of the negated relation is worth its upkeep.
MANY = 4096.0
COVERED = 0.9


def with_complements(
    variant: Variant, statistics: Statistics, growing: Collection[str], *, requested: bool = False
) -> Variant:
    """Returns the variant with negated literals in its leapfrog joins where that pays; in all of them, if the rule
    `requested` leapfrog joins. Relations in `growing` get no tries.
    """
    if variant.rule.join == "hash":
        return variant
    steps: list[Step] = list(variant.steps)
    for step in variant.steps:
        if isinstance(step, Antijoin):
            at = steps.index(step)
            joined = _Place(variant, steps[:at], statistics, growing).joined(step, requested=requested)
            if joined is not None:
                place, leap = joined
                steps[place] = leap
                del steps[at]
    return replace(variant, steps=tuple(steps))


class _Place:
    """The last join before a negated literal, and the variables known before it."""

    def __init__(
        self, variant: Variant, steps: Sequence[Step], statistics: Statistics, growing: Collection[str]
    ) -> None:
        self._statistics = statistics
        self._growing = growing
        self._place = max((at for at, step in enumerate(steps) if isinstance(step, Join | Leap | Take)), default=-1)
        self._join = steps[self._place] if self._place >= 0 else None
        before = steps[: max(self._place, 0)]
        atom = variant.delta.atom
        self._bound = {term.name for term in (() if atom is None else atom.terms) if isinstance(term, Variable)}
        self._bound.update(name for step in before for name in _binds(step))
        is_repeated = any(isinstance(step, Join | Leap | Take) for step in before)
        self._runs_often = variant.delta.kind is not DeltaKind.RULE or is_repeated

    def joined(self, step: Antijoin, *, requested: bool) -> tuple[int, Leap] | None:
        """Returns the place of the join, and the leapfrog join with the negated literal; None if it stays apart."""
        leap = self._leap(requested)
        if leap is None or leap.variable is None or step.atom.relation in self._growing:
            return None
        part = self._part(step.atom, step.position, leap.variable)
        if part is None or not (requested or self._wins(leap, part)):
            return None
        return self._place, replace(leap, without=(*leap.without, part))

    def _leap(self, requested: bool) -> Leap | None:
        """Returns the join as a leapfrog join, if it is one or scans a bucket for the values of one variable."""
        join = self._join
        if not isinstance(join, Join) or requested:
            return join if isinstance(join, Leap) else None
        free = [term for term in join.atom.terms if isinstance(term, Variable) and term.name not in self._bound]
        if len(free) != 1 or join.atom.relation in self._growing:
            return None
        part = self._part(join.atom, join.position, free[0])
        return None if part is None else Leap(free[0], (part,))

    def _part(self, atom: Atom, position: int, variable: Variable) -> Part | None:
        """Returns the literal's trie at the variable, if that is the only unknown column."""
        columns = [at for at, term in enumerate(atom.terms) if isinstance(term, Variable) and term == variable]
        known = bound_columns(atom.terms, self._bound)
        if len(columns) != 1 or len(known) + 1 != len(atom.terms):
            return None
        return Part(atom, position, Order((*known, *columns)), len(known))

    def _wins(self, leap: Leap, part: Part) -> bool:
        values = min(self._rows(each) for each in leap.parts)
        return self._runs_often and values >= MANY and self._rows(part) >= COVERED * values

    def _rows(self, part: Part) -> float:
        """Returns the expected number of rows of a part below what is known."""
        relation, known = part.atom.relation, part.order.columns[: part.level]
        keys: Keys = tuple(sorted(known))
        return (
            self._statistics.bucket(relation, keys, len(part.atom.terms)) if keys else self._statistics.rows(relation)
        )


def _binds(step: Step) -> Collection[str]:
    """Returns the variables that are known after a step."""
    match step:
        case Join(atom):
            return [term.name for term in atom.terms if isinstance(term, Variable)]
        case Leap(variable):
            return [] if variable is None else [variable.name]
        case Let(variable):
            return [variable.name]
        case Take(unfold):
            return [each.name for each in unfold.variables]
        case Antijoin() | Filter():
            return []
