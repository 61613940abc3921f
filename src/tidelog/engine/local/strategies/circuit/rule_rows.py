"""Rules → rows: the grounding kit of the dynamic Datalog paper, which the circuit joins with facts (`rewrites`).

A body is walked literal by literal. A *prefix* is an interned number for the literals walked so far, in their order,
with variables numbered as they are bound; rules that begin alike share prefixes. (The paper adds up hashes of atoms
instead: bodies with the same atoms in another order collide then.) The rows are

    direction   prefix → next prefix, through one literal (definition 4.3)
    signal      last prefix → head (definition 4.4)
    order       a relation, and the columns by which a direction looks its rows up (definition 4.6)

    T(x, z) :- E(x, y), T(y, z).      directions 0 → 1 by E, 1 → 2 by T      signal 2 → T(x, z)
                                      orders E by (), T by (0)

A rewrite Σ is a row of words, one for each variable. Directions and orders are counted, so that the last rule that
needs one takes it along; the circuit walks a shared one once. Conditions, assignments and patterns are directions
without facts: Python says how a rewrite goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tidelog.check import typed
from tidelog.engine.local.encoding.words import Values
from tidelog.engine.local.execution.python_step import PythonStep
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.functions.scalar import compile_scalar
from tidelog.plan.statistics import FromSizes
from tidelog.plan.variant import (
    Antijoin,
    DeltaKind,
    Filter,
    Join,
    Leap,
    Let,
    Step,
    Take,
    bound_columns,
    deltas,
    plan_variant,
)
from tidelog.rules.ir import Atom, Constant, Rule, Term, Variable, Wildcard
from tidelog.rules.lower.unfold import compile_unfold
from tidelog.types import Type, is_word

K = TypeVar("K", bound=Hashable)

ROOT = 0
"""The prefix of no literal at all."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A word of a rewrite."""

    number: int


@dataclass(frozen=True, slots=True)
class Word:
    """A constant."""

    word: int


@dataclass(frozen=True, slots=True)
class Field:
    """A column of the fact."""

    column: int


@dataclass(frozen=True, slots=True)
class Order:
    """The rows of a relation by the words in some columns; `negated` are those that say no."""

    relation: int
    negated: bool
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Through:
    """A literal that facts satisfy: what each column must equal (itself, if anything will do), and what it binds.

    `binds` are the columns that become the next words of the rewrite.
    """

    order: Order
    must: tuple[Slot | Word | Field, ...]
    binds: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Computed:
    """A literal that Python evaluates; no two are the same."""

    step: PythonStep


@dataclass(frozen=True, slots=True)
class Direction:
    origin: int
    literal: Through | Computed


@dataclass(frozen=True, slots=True)
class Signal:
    """Where a prefix is the whole body of a rule, the head."""

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
    """Things with small numbers, counted; a number is used again when its thing is gone."""

    def __init__(self) -> None:
        self.of: dict[K, int] = {}
        self._counts: Counter[K] = Counter()
        self._free: list[int] = []

    def copy(self) -> Numbers[K]:
        other: Numbers[K] = Numbers()
        other.of, other._counts, other._free = dict(self.of), self._counts.copy(), list(self._free)
        return other

    def add(self, thing: K) -> tuple[int, bool]:
        """Counts the thing once more: its number, and whether it is new."""
        self._counts[thing] += 1
        known = self.of.get(thing)
        if known is not None:
            return known, False
        number = self.of[thing] = self._free.pop() if self._free else len(self.of)
        return number, True

    def remove(self, thing: K) -> int | None:
        """Counts the thing once less; its number if that was the last time."""
        self._counts[thing] -= 1
        if self._counts[thing]:
            return None
        del self._counts[thing]
        number = self.of.pop(thing)
        self._free.append(number)
        return number


class Kit:
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

    def copy(self, numbers: Mapping[str, int] | None = None, functions: CompiledFunctions | None = None) -> Kit:
        """A kit that changes by itself, maybe with more relations and functions for rules that come."""
        other = Kit(numbers or self._relations, self._values, functions or self._functions)
        other.directions, other.orders = self.directions.copy(), self.orders.copy()
        other.signals, other.walks, other.depths = list(self.signals), dict(self.walks), dict(self.depths)
        return other

    @property
    def rules(self) -> list[Rule]:
        return [walk.signal.rule for walk in self.walks.values()]

    def add(self, rule: Rule) -> tuple[Walk, list[int], list[Order]]:
        """The walk of a rule, the numbers of its directions that are new, and its orders that are new."""
        (delta,) = (each for each in deltas(rule) if each.kind is DeltaKind.RULE)
        steps = plan_variant(rule, delta, FromSizes(lambda _: 1)).steps
        prefix, slots, types = ROOT, dict[str, int](), list[Type]()
        directions, prefixes, fresh, orders, made = [], [], [], [], []
        for step in steps:
            literal = self._literal(step, slots, types)
            direction = Direction(prefix, literal)
            number, is_new = self.directions.add(direction)
            if is_new:
                fresh.append(number)
            if isinstance(literal, Through) and self.orders.add(literal.order)[1]:
                orders.append(literal.order)
            if isinstance(literal, Computed):
                first = len(types) - sum(compare is None for _, compare in literal.step.results)
                made += [(number, slot, types[slot]) for slot in range(first, len(types)) if not is_word(types[slot])]
            prefix = number + 1
            self.depths[prefix] = self.depths[direction.origin] + 1
            directions.append(direction)
            prefixes.append(prefix)
        terms = tuple(self._term(term, slots) for term in rule.head.terms)
        signal = Signal(prefix, self._relations[rule.head.relation], terms, rule)
        self.signals.append(signal)
        walk = self.walks[rule.id] = Walk(tuple(directions), tuple(prefixes), signal, tuple(made))
        return walk, fresh, orders

    def remove(self, rule: Rule) -> tuple[list[int], list[int]]:
        """Takes a rule away; the numbers of the directions and of the orders that nobody needs any more."""
        walk = self.walks.pop(rule.id)
        self.signals.remove(walk.signal)
        gone, orders = [], []
        for direction in walk.directions:
            if isinstance(direction.literal, Through):
                order = self.orders.remove(direction.literal.order)
                orders += [] if order is None else [order]
            number = self.directions.remove(direction)
            if number is not None:
                gone.append(number)
                del self.depths[number + 1]
        return gone, orders

    # Literals

    def _literal(self, step: Step, slots: dict[str, int], types: list[Type]) -> Through | Computed:
        match step:
            case Join(atom):
                return self._through(atom, False, slots, types)
            case Antijoin(atom):
                return self._through(atom, True, slots, types)
            case Filter(expression):
                holds = self._scalar(expression)
                return self._computed(expression, (), lambda *given: [()] if holds(*given) else [], slots, types)
            case Let(variable, expression):
                value = self._scalar(expression)
                return self._computed(expression, (variable,), lambda *given: [(value(*given),)], slots, types)
            case Take(unfold):
                ways = compile_unfold(unfold, self._functions).call
                return self._computed(unfold.expression, unfold.variables, ways, slots, types)
            case Leap():
                raise AssertionError("the circuit's walks have no leapfrog joins")

    def _through(self, atom: Atom, negated: bool, slots: dict[str, int], types: list[Type]) -> Through:
        order = Order(self._relations[atom.relation], negated, bound_columns(atom.terms, set(slots)))
        must: list[Slot | Word | Field] = []
        binds: dict[str, int] = {}
        for column, term in enumerate(atom.terms):
            if isinstance(term, Wildcard):
                must.append(Field(column))
            elif isinstance(term, Variable) and term.name not in slots:
                must.append(Field(binds.setdefault(term.name, column)))
            else:
                must.append(self._term(term, slots))
        for name, column in binds.items():
            term = atom.terms[column]
            assert isinstance(term, Variable)
            slots[name] = len(types)
            types.append(term.type)
        return Through(order, tuple(must), tuple(binds.values()))

    def _computed(
        self,
        expression: typed.Expression,
        variables: Sequence[Variable],
        ways: Any,
        slots: dict[str, int],
        types: list[Type],
    ) -> Computed:
        names = sorted(typed.variables(expression))
        arguments = tuple((slots[name], types[slots[name]]) for name in names)
        results = tuple((each.type, slots.get(each.name)) for each in variables)
        for each in variables:
            if each.name not in slots:
                slots[each.name] = len(types)
                types.append(each.type)
        return Computed(PythonStep(ways, arguments, results))

    def _scalar(self, expression: typed.Expression) -> Any:
        return compile_scalar(expression, sorted(typed.variables(expression)), self._functions).call

    def _term(self, term: Term, slots: Mapping[str, int]) -> Slot | Word:
        match term:
            case Variable(name):
                return Slot(slots[name])
            case Constant(value, type_):
                return Word(self._values.word(value, type_))
            case Wildcard():
                raise AssertionError("a wildcard has no value")


def width_of(kit: Kit) -> tuple[int, int]:
    """The words of the longest rewrite, and the columns of the widest literal or head."""
    slots: Iterable[int] = (sum(_bound_by(direction) for direction in walk.directions) for walk in kit.walks.values())
    columns = [len(each.literal.must) for each in kit.directions.of if isinstance(each.literal, Through)]
    return max(slots, default=0), max([*columns, *(len(each.terms) for each in kit.signals)], default=0)


def _bound_by(direction: Direction) -> int:
    literal = direction.literal
    if isinstance(literal, Through):
        return len(literal.binds)
    return sum(compare is None for _, compare in literal.step.results)
