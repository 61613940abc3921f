"""Bodies → the variables that are joined by leapfrog, and their order.

A body is cyclic if ear removal (Graham, Yu and Özsoyoğlu) leaves a core: it repeatedly removes variables that only one
literal has, and literals whose variables are all in another one. In the core, binary joins may make far more
intermediate rows than there are results. Its literals are joined variable by variable, all others as usual.

    T(x, y, z) :- E(x, y), E(y, z), E(z, x), Colour(x, c).      core: the three E; Colour is an ear

The order of the variables is greedy, like that of the literals: next is the variable with the fewest values to look
at, never one that is not connected while another is. If a delta does not fix the first one, each variable of the core
is tried, and the order that looks at the fewest values in all is taken. A literal whose columns are all known is
looked up, and so is one that is not worth leaping for: if a bucket is known to be short, scanning it is faster.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from tidelog.plan.statistics import Keys, Order, Statistics
from tidelog.plan.variant import Delta, Leap, Part, Step, Variant, bound_columns, plan_variant, positions_of
from tidelog.rules.ir import Atom, Positive, Rule, Variable, Wildcard

# A bucket that is expected to be no longer than this is scanned, not leapt over.
SHORT_BUCKET = 8.0
# So many variables are tried as the first.
MOST_TRIED = 8


def cyclic_core(atoms: Sequence[Atom]) -> list[int]:
    """Returns the places of the literals that ear removal leaves; empty if the body is acyclic."""
    edges = {
        place: {term.name for term in atom.terms if isinstance(term, Variable)} for place, atom in enumerate(atoms)
    }
    while True:
        shared = {
            name
            for place, edge in edges.items()
            for name in edge
            if any(name in other for at, other in edges.items() if at != place)
        }
        smaller = {place: edge & shared for place, edge in edges.items()}
        ear = next(
            (
                place
                for place, edge in smaller.items()
                if any(edge <= other for at, other in smaller.items() if at != place)
            ),
            None,
        )
        if ear is None and smaller == edges:
            return list(edges) if len(edges) > 1 else []
        if ear is not None:
            del smaller[ear]
        edges = smaller


@dataclass(slots=True)
class _Trie:
    """A literal in a leapfrog join: the columns of its trie's order that are fixed so far."""

    atom: Atom
    position: int
    order: list[int] = field(default_factory=list)

    def wildcards(self) -> list[int]:
        """Returns the columns that nothing reads; they are last, one right after the other."""
        return [column for column, term in enumerate(self.atom.terms) if isinstance(term, Wildcard)]

    def finished(self) -> Order:
        rest = (column for column in range(len(self.atom.terms)) if column not in self.order)
        return Order((*self.order, *rest))


class LeapfrogPlan:
    """The leapfrog joins of one variant; see `variant.Leaps`.

    `core` are the places in the body of the literals that are joined so. `forced`: they are, whatever the estimates.
    `first` is the variable to begin with, if any. `cost` is the expected number of values looked at.
    """

    def __init__(
        self, rule: Rule, core: Collection[int], statistics: Statistics, *, forced: bool, first: str | None = None
    ) -> None:
        positions = positions_of(rule)
        self._tries: dict[int, _Trie] = {}
        for place, literal in enumerate(rule.body):
            if place in core and isinstance(literal, Positive):
                self._tries[place] = _Trie(literal.atom, positions[place])
        self._statistics = statistics
        self._forced = forced
        self._first = first
        self._prefixes = 1.0
        self.cost = 0.0
        self._chosen: list[list[tuple[_Trie, int]]] = []

    def choose(
        self, waiting: Sequence[int], bound: set[str], cheapest: int, rows: float
    ) -> tuple[Variable | None, list[int]] | None:
        found = []
        for place in waiting:
            trie = self._tries.get(place)
            if trie is None:
                continue
            known, wild = self._known(trie, bound), trie.wildcards()
            rest = [column for column in range(len(trie.atom.terms)) if column not in known]
            begun = any(column in trie.order for column in wild)
            named = [column for column in rest if column not in wild]
            for column in named or rest:
                values, connected = self._values(trie, column, bound)
                term = trie.atom.terms[column]
                is_first = isinstance(term, Variable) and term.name == self._first
                found.append((not begun, not is_first, not connected, column in wild, values, place, column))
        if not found:
            return None
        not_begun, *_, place, column = min(found)
        # A literal that is open at a wildcard has to be scanned to its end: no look-up could continue from there.
        if not_begun and (self._is_known(cheapest, bound) if self._forced else rows <= SHORT_BUCKET):
            return None
        return self._take(waiting, bound, place, column)

    def finish(self, steps: Sequence[Step]) -> tuple[Step, ...]:
        leaps = iter(self._chosen)
        finished: list[Step] = []
        for step in steps:
            if isinstance(step, Leap):
                parts = (Part(trie.atom, trie.position, trie.finished(), level) for trie, level in next(leaps))
                # The first part is the one that goes on where all have met: best one with rows of its own.
                step = Leap(step.variable, tuple(sorted(parts, key=lambda part: not part.is_last)))
            finished.append(step)
        return tuple(finished)

    def _is_known(self, place: int, bound: set[str]) -> bool:
        """True if a literal has only known columns, so that it can be looked up."""
        trie = self._tries.get(place)
        return trie is not None and len(bound_columns(trie.atom.terms, bound)) == len(trie.atom.terms)

    def _known(self, trie: _Trie, bound: set[str]) -> Keys:
        known = bound_columns(trie.atom.terms, bound)
        return tuple(sorted({*known, *trie.order}))

    def _values(self, trie: _Trie, column: int, bound: set[str]) -> tuple[float, bool]:
        """Returns the expected number of values of the column below what is known, and whether anything is known."""
        known, columns = self._known(trie, bound), len(trie.atom.terms)
        relation = trie.atom.relation
        rows = self._statistics.bucket(relation, known, columns) if known else self._statistics.rows(relation)
        within = tuple(sorted({*known, column}))
        each = 1.0 if len(within) == columns else self._statistics.bucket(relation, within, columns)
        return max(rows / max(each, 1.0), 1.0), bool(known)

    def _take(
        self, waiting: Sequence[int], bound: set[str], place: int, column: int
    ) -> tuple[Variable | None, list[int]]:
        """Joins the variable in this column of this literal, with all literals of the core that have it."""
        term = self._tries[place].atom.terms[column]
        parts, done = [], []
        fewest = self._values(self._tries[place], column, bound)[0]
        for each in waiting:
            trie = self._tries.get(each)
            if trie is None:
                continue
            if isinstance(term, Variable):
                columns = [at for at, other in enumerate(trie.atom.terms) if _is_same(term, other)]
            else:
                columns = [column] if each == place else []
            if columns:
                fewest = min(fewest, self._values(trie, columns[0], bound)[0])
                trie.order += [at for at in self._known(trie, bound) if at not in trie.order]
                trie.order.append(columns[0])
                parts.append((trie, len(trie.order) - 1))
                if len(trie.order) == len(trie.atom.terms):
                    done.append(each)
        self._chosen.append(parts)
        self._prefixes *= fewest
        if done and self._first is not None:
            # There is one for each row of a literal that is bound, at least: most of them are met somewhere.
            bound_rows = min(self._statistics.rows(self._tries[each].atom.relation) for each in done)
            self._prefixes = max(self._prefixes, bound_rows)
        self.cost += self._prefixes
        return (term if isinstance(term, Variable) else None), done


def _is_same(variable: Variable, term: object) -> bool:
    return isinstance(term, Variable) and term.name == variable.name


def plan_leapfrog(
    rule: Rule, delta: Delta, statistics: Statistics, growing: Collection[str], *, begins_with_literal: bool = False
) -> Variant:
    """Returns the steps for a delta at one position; by leapfrog if the rule requests it or its body is cyclic.

    In the latter case relations that are derived together with the rule's head (`growing`) are excluded: rows are
    inserted into them all the time, and maintaining a trie is more expensive than an arrangement. See
    `plan_variant` for `begins_with_literal`.
    """
    core, forced = _joined_by_leapfrog(rule, growing)
    if not core:
        return plan_variant(rule, delta, statistics, begins_with_literal=begins_with_literal)
    atoms = [literal.atom for literal in (rule.body[place] for place in core) if isinstance(literal, Positive)]
    names = dict.fromkeys(term.name for atom in atoms for term in atom.terms if isinstance(term, Variable))
    firsts: tuple[str | None, ...] = (None,)
    if delta.atom is None and names:
        firsts = tuple(names)[:MOST_TRIED]
    plans = [LeapfrogPlan(rule, core, statistics, forced=forced, first=first) for first in firsts]
    variants = [plan_variant(rule, delta, statistics, plan, begins_with_literal=begins_with_literal) for plan in plans]
    return min(zip(plans, variants), key=lambda planned: planned[0].cost)[1]


def _joined_by_leapfrog(rule: Rule, growing: Collection[str]) -> tuple[list[int], bool]:
    """Returns the places in the body of the literals that are joined by leapfrog, and whether the rule requests it."""
    places = [place for place, literal in enumerate(rule.body) if isinstance(literal, Positive) and literal.atom.terms]
    if rule.join == "hash":
        return [], False
    if rule.join == "leapfrog":
        return places, True
    if len(places) < 3:  # two cannot make a circle
        return [], False
    atoms = [literal.atom for literal in (rule.body[place] for place in places) if isinstance(literal, Positive)]
    if any(atom.relation in growing for atom in atoms):
        return [], False
    return [places[at] for at in cyclic_core(atoms)], False
