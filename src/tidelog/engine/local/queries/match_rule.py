"""A rule and some of its variables → its instances over the committed rows, found one by one.

    Reach(x, z) :- Reach(x, y), Edge(y, z).     x, z known:    probe Edge by z, find Reach(x, y)

The body is planned with the known variables bound, as a delta in the head would be, and runs as generated loops that
yield (`rule_loops`): the next instance is looked for when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

from tidelog.check import typed
from tidelog.engine.local.encoding.words import Values
from tidelog.engine.local.execution.rule_loops import LeapfrogStep, RuleLoops
from tidelog.engine.local.queries.leapfrog_step import LeapfrogPlanner
from tidelog.engine.local.storage.weighted_table import Row
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.plan.statistics import FromSizes
from tidelog.plan.variant import Antijoin, Delta, DeltaKind, Filter, Join, Let, Step, Take, plan_variant
from tidelog.rules.ir import Assign, Atom, Condition, Constant, Literal, Negative, Positive, Rule, Unfold, Variable

Words = dict[str, int]


class Rows(Protocol):
    """The rows to match against; see `CommittedView`."""

    def size(self, relation: str) -> int: ...

    def find(
        self, relation: str, columns: tuple[int, ...], key: Row, below: int | None = None
    ) -> Iterable[tuple[Row, int]]: ...

    def weight(self, relation: str, row: Row) -> int: ...


class Instance(NamedTuple):
    """A rule instance: the words of the rule's variables, the rows of its positive literals, and their weight."""

    words: Words
    rows: tuple[Row, ...]
    weight: int


@dataclass(frozen=True, slots=True)
class Furthest:
    """The end of the best try: the place in the body of the literal that failed, and the bindings at that point.

    `done` are the places of the literals that held. A literal that computes a value for a known variable fails with
    the computed value in `instead`.
    """

    place: int
    done: tuple[int, ...]
    words: Mapping[str, int]
    instead: Mapping[str, int]


class Matcher:
    """One rule, planned for a set of known variables of its head. `inside` are the relations to which `below` applies.

    With `absent_last`, negated literals are looked at as late as can be. With `leapfrog`, a cyclic body is joined by
    leapfrog; then only `heads` are found, not instances.
    """

    def __init__(
        self,
        rule: Rule,
        known: Iterable[str],
        rows: Rows,
        values: Values,
        functions: CompiledFunctions,
        inside: frozenset[str] = frozenset(),
        *,
        absent_last: bool = False,
        leapfrog: LeapfrogPlanner | None = None,
    ) -> None:
        self.rule = rule
        self._rows = rows
        self._inside = inside
        names = set(known)
        variables = [term for term in rule.head.terms if isinstance(term, Variable) and term.name in names]
        self._known = Atom(rule.head.relation, tuple(dict.fromkeys(variables)), rule.span)
        self.steps: Sequence[Step | LeapfrogStep]
        if leapfrog is not None:
            self.steps = leapfrog.plan(rule, self._known, FromSizes(rows.size))
        else:
            planned = plan_variant(rule, Delta(DeltaKind.POSITIVE, -1, self._known), FromSizes(rows.size)).steps
            self.steps = _absent_last(planned) if absent_last else planned
        self._loops = RuleLoops(rule, self._access, values, functions, values.temporary_word)
        self._compiled: dict[str, Callable[..., Iterator[Any]]] = {}

    def run(self, known: Mapping[str, int], below: int | None = None) -> Iterator[Instance]:
        """Yields all instances in which the known variables have these words; see `Rows.find` for `below`."""
        return self._found("yield Instance({words}, {rows}, {weight})", known, below=below)

    def heads(self, known: Mapping[str, int]) -> Iterator[tuple[Row, int]]:
        """Yields the head of each instance in which the known variables have these words, with its weight."""
        return self._found("yield {head}, {weight}", known, below=None)

    def furthest(self, known: Mapping[str, int], most: int) -> tuple[Furthest | None, bool]:
        """Returns the end of the best try, or None if there is an instance; and whether all tries were made.

        Gives up after `most` steps forward, at least one.
        """
        tries = _Tries(most)
        is_sure = True
        try:
            for _ in self._found("yield", known, below=None, tries=tries):
                return None, True
        except _EnoughError:
            is_sure = False
        places = _places(self.rule.body, self.steps)
        done = tuple(sorted(places[: tries.depth]))
        return Furthest(places[tries.depth], done, {**known, **tries.words}, tries.instead), is_sure

    def _found(self, end: str, known: Mapping[str, int], **given: object) -> Iterator[Any]:
        run = self._compiled.get(end)
        if run is None:
            run = self._loops.compile(self._known, self.steps, end, tuple(given), Instance=Instance)
            self._compiled[end] = run
        start = tuple([known[term.name] for term in self._known.terms if isinstance(term, Variable)])
        return run([(start, 1)], **given)

    def _access(self, step: Join | Antijoin) -> tuple[Callable[..., Any], str]:
        relation = step.atom.relation
        if isinstance(step, Antijoin):
            return partial(self._rows.weight, relation), ""
        return partial(self._rows.find, relation), "below" if relation in self._inside else ""


class _EnoughError(Exception):
    pass


class _Tries:
    """Remembers the furthest step that any try reached, and the words there; `reach` raises after `most` steps."""

    def __init__(self, most: int) -> None:
        self._left = most
        self._is_first = False
        self.depth = -1
        self.words: Words = {}
        self.instead: Words = {}

    def reach(self, depth: int) -> bool:
        """Notes that a try has reached a step; true if none has got as far before."""
        self._left -= 1
        if self._left < 0:
            raise _EnoughError
        self._is_first = depth > self.depth
        if self._is_first:
            self.depth, self.instead = depth, {}
        return self._is_first

    def miss(self, depth: int, found: Words) -> None:
        """Notes the results of a step that differ from known words; the first try at the furthest step counts."""
        if self._is_first and depth == self.depth:
            self.instead = found


def unify(head: Atom, row: Row, values: Values) -> Words | None:
    """Returns the words that a row gives to the variables of a head; None if the row does not fit."""
    words: Words = {}
    for term, word in zip(head.terms, row, strict=True):
        if isinstance(term, Variable):
            if words.setdefault(term.name, word) != word:
                return None
        elif isinstance(term, Constant) and values.temporary_word(term.value, term.type) != word:
            return None
    return words


def _absent_last(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Returns the steps with each antijoin at the end, or before the first expression that it may guard."""
    ordered: list[Step] = []
    waiting: list[Step] = []
    for step in steps:
        match step:
            case Antijoin():
                waiting.append(step)
                continue
            case Filter(value) | Let(expression=value) | Take(Unfold(expression=value)) if typed.may_fail(value):
                ordered, waiting = [*ordered, *waiting], []
        ordered.append(step)
    return (*ordered, *waiting)


def _places(body: Sequence[Literal], steps: Sequence[Step | LeapfrogStep]) -> list[int]:
    """Returns the place in the body of each step's literal."""
    places: dict[int, list[int]] = {}
    for place, literal in enumerate(body):
        places.setdefault(id(_part(literal)), []).append(place)
    return [places[id(_part(step))].pop(0) for step in steps]


def _part(of: Literal | Step | LeapfrogStep) -> object:
    """Returns the object that a literal and its step share."""
    match of:
        case Positive(atom) | Negative(atom) | Join(atom) | Antijoin(atom):
            return atom
        case Let(solved=condition) if condition is not None:
            return condition
        case Condition(expression) | Assign(expression=expression) | Filter(expression) | Let(expression=expression):
            return expression
        case Take(unfold):
            return unfold
        case _:
            return of
