"""Rules → rows: the grounding kit of the dynamic Datalog paper, which the circuit joins with facts (`interpreter`).

A body is walked literal by literal. A *prefix* is an interned number for the literals walked so far, in their order,
with variables numbered as they are bound; rules with a common prefix share it. (The paper adds up hashes of atoms
instead: bodies with the same atoms in another order collide then.) The rows are

    direction   prefix → next prefix, through one literal (definition 4.3)
    signal      last prefix → head (definition 4.4)
    order       a relation, and the columns by which a direction looks its rows up (definition 4.6)

    T(x, z) :- E(x, y), T(y, z).      directions 0 → 1 by E, 1 → 2 by T      signal 2 → T(x, z)
                                      orders E by (), T by (0)

A rewrite Σ is a row of words, one for each variable. Directions and orders have reference counts: each is removed with
the last rule that needs it, and the circuit walks a shared one once. Conditions, assignments and patterns are
directions without facts: Python computes how a rewrite goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from tidelog.engine.local.encoding.words import Values
from tidelog.engine.local.execution.python_step import PythonStep
from tidelog.engine.rule_rows import ROOT, BodyWalk, Field, Slot, Word
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.plan.statistics import FromSizes
from tidelog.plan.variant import Antijoin, DeltaKind, Filter, Join, Leap, Let, Step, Take, deltas, plan_variant
from tidelog.rules.ir import Assign, Condition, Literal, Rule
from tidelog.types import Type, is_word

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Order:
    """The rows of a relation by the words in some columns; `negated`: for negated literals."""

    relation: int
    negated: bool
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Through:
    """A literal that facts satisfy: the required value of each column (itself, if any value will do).

    `binds` are the columns that become the next words of the rewrite.
    """

    order: Order
    must: tuple[Slot | Word | Field, ...]
    binds: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Computed:
    """A literal that Python evaluates; no two are equal. `made`: slots and types of results that may be in no row."""

    step: PythonStep
    made: tuple[tuple[int, Type], ...]


@dataclass(frozen=True, slots=True)
class Direction:
    origin: int
    literal: Through | Computed


@dataclass(frozen=True, slots=True)
class Signal:
    """The head of a rule whose whole body is the prefix."""

    prefix: int
    relation: int
    terms: tuple[Slot | Word, ...]
    rule: Rule


@dataclass(frozen=True, slots=True)
class Walk:
    """The rows of one rule: its directions, first to last, the prefixes that they lead to, and its signal."""

    directions: tuple[Direction, ...]
    prefixes: tuple[int, ...]
    signal: Signal
    made: tuple[tuple[int, int, Type], ...]
    """(direction, slot, type): the words that Python made and that may be in no row of a relation."""


class Numbers(Generic[K]):
    """Small numbers for things, with reference counts; the number of a removed thing is used again."""

    def __init__(self) -> None:
        self.of: dict[K, int] = {}
        self._counts: Counter[K] = Counter()
        self._free: list[int] = []

    def copy(self) -> Numbers[K]:
        other: Numbers[K] = Numbers()
        other.of, other._counts, other._free = dict(self.of), self._counts.copy(), list(self._free)
        return other

    def add(self, thing: K) -> tuple[int, bool]:
        """Adds a reference; returns the number of the thing, and whether it is new."""
        self._counts[thing] += 1
        known = self.of.get(thing)
        if known is not None:
            return known, False
        number = self.of[thing] = self._free.pop() if self._free else len(self.of)
        return number, True

    def remove(self, thing: K) -> int | None:
        """Removes a reference; returns the number of the thing if that was the last one."""
        self._counts[thing] -= 1
        if self._counts[thing]:
            return None
        del self._counts[thing]
        number = self.of.pop(thing)
        self._free.append(number)
        return number


class RuleRows:
    """The rows of all rules. `directions` lead to the prefix with their number + 1; the root is 0."""

    def __init__(self, numbers: Mapping[str, int], values: Values, functions: CompiledFunctions) -> None:
        self._relations = numbers
        self._values = values
        self._functions = functions
        self.directions: Numbers[Direction] = Numbers()
        self.orders: Numbers[Order] = Numbers()
        self.signals: list[Signal] = []
        self.walks: dict[int, Walk] = {}
        self.depths: dict[int, int] = {ROOT: 0}

    def copy(self, numbers: Mapping[str, int] | None = None, functions: CompiledFunctions | None = None) -> RuleRows:
        """Returns an independent copy, for added rules that may need more relations and functions."""
        other = RuleRows(numbers or self._relations, self._values, functions or self._functions)
        other.directions, other.orders = self.directions.copy(), self.orders.copy()
        other.signals, other.walks, other.depths = list(self.signals), dict(self.walks), dict(self.depths)
        return other

    def add(self, rule: Rule) -> tuple[Walk, list[int], list[Order]]:
        """Adds a rule; returns its walk, the numbers of its new directions, and its new orders."""
        (delta,) = (each for each in deltas(rule) if each.kind is DeltaKind.RULE)
        steps = plan_variant(rule, delta, FromSizes(lambda _: 1)).steps
        prefix, body = ROOT, BodyWalk(self._values.word, self._functions)
        directions, prefixes, fresh, orders, made = [], [], [], [], []
        for step in steps:
            literal = self._literal(step, body)
            direction = Direction(prefix, literal)
            number, is_new = self.directions.add(direction)
            if is_new:
                fresh.append(number)
            if isinstance(literal, Through) and self.orders.add(literal.order)[1]:
                orders.append(literal.order)
            if isinstance(literal, Computed):
                made += [(number, slot, type_) for slot, type_ in literal.made]
            prefix = number + 1
            self.depths[prefix] = self.depths[direction.origin] + 1
            directions.append(direction)
            prefixes.append(prefix)
        terms = tuple(map(body.source, rule.head.terms))
        signal = Signal(prefix, self._relations[rule.head.relation], terms, rule)
        self.signals.append(signal)
        walk = self.walks[rule.id] = Walk(tuple(directions), tuple(prefixes), signal, tuple(made))
        return walk, fresh, orders

    def remove(self, rule: Rule) -> tuple[list[int], list[int]]:
        """Removes a rule; returns the numbers of the directions and of the orders that no rule needs any more."""
        walk = self.walks.pop(rule.id)
        self.signals.remove(walk.signal)
        unused, orders = [], []
        for direction in walk.directions:
            if isinstance(direction.literal, Through):
                order = self.orders.remove(direction.literal.order)
                orders += [] if order is None else [order]
            number = self.directions.remove(direction)
            if number is not None:
                unused.append(number)
                del self.depths[number + 1]
        return unused, orders

    def _literal(self, step: Step, walk: BodyWalk) -> Through | Computed:
        match step:
            case Join(atom) | Antijoin(atom):
                found = walk.match(atom)
                order = Order(self._relations[atom.relation], isinstance(step, Antijoin), found.columns)
                return Through(order, found.must, found.binds)
            case Filter(expression):
                literal: Literal = Condition(expression)
            case Let(variable, expression):
                literal = Assign(variable, expression)
            case Take(unfold):
                literal = unfold
            case Leap():
                raise AssertionError("the circuit's walks have no leapfrog joins")
        computed = walk.compute(literal)
        results = tuple((type_, slot if is_bound else None) for slot, type_, is_bound in computed.results)
        made = tuple((slot, type_) for slot, type_, is_bound in computed.results if not is_bound and not is_word(type_))
        return Computed(PythonStep(computed.ways, computed.arguments, results, row=computed.row), made)


def width_of(rows: RuleRows) -> tuple[int, int]:
    """Returns the words of the longest rewrite, and the columns of the widest literal or head."""
    slots: Iterable[int] = (sum(bound_by(direction) for direction in walk.directions) for walk in rows.walks.values())
    columns = [len(each.literal.must) for each in rows.directions.of if isinstance(each.literal, Through)]
    return max(slots, default=0), max([*columns, *(len(each.terms) for each in rows.signals)], default=0)


def bound_by(direction: Direction) -> int:
    """Returns the number of words that a direction adds to a rewrite."""
    literal = direction.literal
    if isinstance(literal, Through):
        return len(literal.binds)
    return sum(compare is None for _, compare in literal.step.results)
