"""Rule → variants: for each position of the body where a delta may stand, the order in which the rest is joined.

The positions of a body are its positive literals, then its negated ones, then the rule's own hidden fact. A variant
starts from a delta at one position and joins forward: first the literals that cost nothing (conditions, assignments,
negations whose variables are bound, equalities of which one variable is left: `solve`), then the literal with the
fewest rows to look at, as far as is known (`statistics`), never through a cross product while a literal is connected.
Planning is quadratic in the length of the body.

    P(x, z) :- P(x, y), E(y, z).      delta at E(y, z):   batch of E, probe P by column 1, emit P(x, z)

An expression that may fail (a division) runs only after every literal that stands before it in the rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from tidelog.check import typed
from tidelog.plan.solve import solved
from tidelog.plan.statistics import Keys, Order, Statistics
from tidelog.rules import ir


class DeltaKind(Enum):
    """The place of the delta: a positive literal, a negated one, or the rule's hidden fact."""

    POSITIVE = "positive"
    NEGATIVE = "negative"
    RULE = "rule"


@dataclass(frozen=True, slots=True)
class Delta:
    """`position` counts through positives, then negatives, then the hidden fact."""

    kind: DeltaKind
    position: int
    atom: ir.Atom | None


@dataclass(frozen=True, slots=True)
class Join:
    """Looks up the rows of a positive literal by columns that are bound so far (`keys`: none means a scan).

    `keys` are all bound columns, or fewer if an arrangement is shared; then the others are compared.
    """

    atom: ir.Atom
    position: int
    keys: Keys


@dataclass(frozen=True, slots=True)
class Part:
    """A trie of a positive literal's relation in a leapfrog join: at this level of the order stands the variable.

    The columns before it in the order are known by then.
    """

    atom: ir.Atom
    position: int
    order: Order
    level: int

    @property
    def is_last(self) -> bool:
        """True if this is the last level, where each vertex is a row."""
        return self.level == len(self.order.columns) - 1


@dataclass(frozen=True, slots=True)
class Leap:
    """Continues for each value at which all parts meet: a leapfrog join. The variable is None for a wildcard.

    `without` are parts of negated literals (`plan.negation`), at the last level: their values are skipped.
    """

    variable: ir.Variable | None
    parts: tuple[Part, ...]
    without: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Antijoin:
    """Continues if no row of a negated literal matches; all its terms are bound."""

    atom: ir.Atom
    position: int


@dataclass(frozen=True, slots=True)
class Let:
    """Binds a variable to the value of an expression; compares if it is bound already (by a delta).

    `solved` is the condition of the rule that says so, if it is not an assignment that does (`solve`).
    """

    variable: ir.Variable
    expression: typed.Expression
    compare: bool
    solved: typed.Expression | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Filter:
    """Continues if the Boolean expression is true."""

    expression: typed.Expression


@dataclass(frozen=True, slots=True)
class Take:
    """Matches a value against a pattern and continues for each match; `known` variables are compared, others bound."""

    unfold: ir.Unfold
    known: frozenset[str]


Step = Join | Leap | Antijoin | Let | Filter | Take


@dataclass(frozen=True, slots=True)
class Variant:
    """One rule, one position of the delta, and the steps after it; then the head is emitted."""

    rule: ir.Rule
    delta: Delta
    steps: tuple[Step, ...]


def deltas(rule: ir.Rule) -> tuple[Delta, ...]:
    """Returns all positions of a rule's body, in their order."""
    positives = [Delta(DeltaKind.POSITIVE, i, atom) for i, atom in enumerate(rule.positives)]
    offset = len(positives)
    negatives = [Delta(DeltaKind.NEGATIVE, offset + i, atom) for i, atom in enumerate(rule.negatives)]
    return (*positives, *negatives, Delta(DeltaKind.RULE, offset + len(negatives), None))


class Leaps(Protocol):
    """Decides that a variable is joined by leapfrog next (`plan.leapfrog`)."""

    def choose(
        self, waiting: Sequence[int], bound: set[str], cheapest: int, rows: float
    ) -> tuple[ir.Variable | None, list[int]] | None:
        """Returns the variable, and the literals that are done with it; None if it is better to join the cheapest
        literal, which has so many rows."""

    def finish(self, steps: Sequence[Step]) -> tuple[Step, ...]:
        """Returns the steps, with the leapfrog joins that were chosen."""


def plan_variant(
    rule: ir.Rule,
    delta: Delta,
    statistics: Statistics,
    leaps: Leaps | None = None,
    *,
    begins_with_literal: bool = False,
) -> Variant:
    """Returns the steps for a delta at one position.

    With `begins_with_literal`, no condition says what a variable is (`x == 3`) before a literal has bound another.
    """
    positions = positions_of(rule)
    bound = set() if delta.atom is None else {term.name for term in delta.atom.terms if isinstance(term, ir.Variable)}
    waiting = [i for i in range(len(rule.body)) if positions.get(i) != delta.position]
    steps: list[Step] = []
    while waiting:
        may_solve = bool(bound) or not begins_with_literal
        ready = next((i for i in waiting if _is_ready(rule.body, i, waiting, bound, may_solve=may_solve)), None)
        if ready is not None:
            steps.append(_step(rule.body[ready], positions.get(ready, -1), bound))
            waiting.remove(ready)
            continue
        ready, keys, rows = _cheapest(rule.body, waiting, bound, statistics)
        leap = None if leaps is None else leaps.choose(waiting, bound, ready, rows)
        if leap is None:
            steps.append(_join(rule.body[ready], positions[ready], keys, bound))
            waiting.remove(ready)
        else:
            variable, done = leap
            steps.append(Leap(variable, ()))
            bound.update(() if variable is None else (variable.name,))
            waiting = [i for i in waiting if i not in done]
    return Variant(rule, delta, tuple(steps) if leaps is None else leaps.finish(steps))


def bound_columns(terms: tuple[ir.Term, ...], bound: set[str]) -> Keys:
    """Returns the columns of an atom with known values: constants, and bound variables."""
    return tuple(
        i
        for i, term in enumerate(terms)
        if isinstance(term, ir.Constant) or (isinstance(term, ir.Variable) and term.name in bound)
    )


def positions_of(rule: ir.Rule) -> dict[int, int]:
    """Returns the position of each literal that has one, by its index in the body."""
    positives = [i for i, literal in enumerate(rule.body) if isinstance(literal, ir.Positive)]
    negatives = [i for i, literal in enumerate(rule.body) if isinstance(literal, ir.Negative)]
    return {index: position for position, index in enumerate(positives + negatives)}


def _is_ready(
    body: tuple[ir.Literal, ...], index: int, waiting: list[int], bound: set[str], *, may_solve: bool
) -> bool:
    """True if a literal can run now without enumerating anything."""
    literal = body[index]
    match literal:
        case ir.Condition(expression) if may_solve and solved(expression, bound) is not None:
            return True
        case ir.Positive():
            return False
        case ir.Negative(atom):
            return len(bound_columns(atom.terms, bound)) == len(atom.terms)
        case ir.Condition(expression) | ir.Assign(expression=expression) | ir.Unfold(expression=expression):
            if not typed.variables(expression) <= bound:
                return False
            return not typed.may_fail(expression) or waiting[0] == index
        case ir.Group() | ir.Transform():
            raise AssertionError("a rule that groups or transforms has no join plan")


def _cheapest(
    body: tuple[ir.Literal, ...], waiting: list[int], bound: set[str], statistics: Statistics
) -> tuple[int, Keys, float]:
    """Returns the positive literal to join next, the columns to look its rows up by, and the number of rows."""
    found = []
    for index in waiting:
        literal = body[index]
        if isinstance(literal, ir.Positive):
            rows, keys = _access(literal.atom, bound, statistics)
            is_product = not keys and len(literal.atom.terms) > 0
            found.append((is_product, rows, index, keys))
    _, rows, index, keys = min(found)
    return index, keys, rows


def _access(atom: ir.Atom, bound: set[str], statistics: Statistics) -> tuple[float, Keys]:
    """Returns the cheapest access to the rows of a literal: how many rows it looks at, and by which columns."""
    known, columns = bound_columns(atom.terms, bound), len(atom.terms)
    if not known or len(known) == columns:
        rows = statistics.rows(atom.relation)
        return (min(rows, 1.0) if len(known) == columns else rows), known
    ways = [known, *(keys for keys in statistics.arranged(atom.relation) if set(keys) < set(known))]
    return min(
        (statistics.bucket(atom.relation, keys, columns) + statistics.setup(atom.relation, keys), keys) for keys in ways
    )


def _join(literal: ir.Literal, position: int, keys: Keys, bound: set[str]) -> Join:
    assert isinstance(literal, ir.Positive)
    bound.update(term.name for term in literal.atom.terms if isinstance(term, ir.Variable))
    return Join(literal.atom, position, keys)


def _step(literal: ir.Literal, position: int, bound: set[str]) -> Step:
    """Returns the step of a literal that is ready."""
    match literal:
        case ir.Negative(atom):
            return Antijoin(atom, position)
        case ir.Condition(expression):
            solution = solved(expression, bound)
            if solution is None:
                return Filter(expression)
            bound.add(solution[0].name)
            return Let(*solution, compare=False, solved=expression)
        case ir.Assign(variable, expression):
            compare = variable.name in bound
            bound.add(variable.name)
            return Let(variable, expression, compare)
        case ir.Unfold(variables):
            names = {variable.name for variable in variables}
            known = frozenset(names & bound)
            bound.update(names)
            return Take(literal, known)
        case ir.Positive() | ir.Group() | ir.Transform():
            raise AssertionError("a join is planned by its cost; a rule that groups or transforms has no join plan")
