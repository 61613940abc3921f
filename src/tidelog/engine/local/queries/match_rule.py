"""A rule and some of its variables → its instances over the committed rows, found one by one.

    Reach(x, z) :- Reach(x, y), Edge(y, z).     x, z known:    probe Edge by z, find Reach(x, y)

The body is planned with the known variables bound, as a delta in the head would be. A step is a function that yields
the ways in which a match can continue; a match is a depth-first walk through the steps that backtracks where a step
has no further way. Words of variables are stored by name; a step overwrites those that it bound before, and no step
reads a variable before it is bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tidelog.check import typed
from tidelog.engine.local.encoding.words import Values
from tidelog.engine.local.queries.leapfrog_step import LeapfrogPlanner, LeapfrogStep
from tidelog.engine.local.storage.weighted_table import Row
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.functions.scalar import compile_scalar
from tidelog.plan.statistics import FromSizes
from tidelog.plan.variant import Antijoin, Delta, DeltaKind, Filter, Join, Leap, Let, Step, Take, plan_variant
from tidelog.rules.ir import (
    Assign,
    Atom,
    Condition,
    Constant,
    Literal,
    Negative,
    Positive,
    Rule,
    Term,
    Variable,
    Wildcard,
)
from tidelog.rules.lower.unfold import compile_unfold
from tidelog.rules.variables import variable_types

Words = dict[str, int]
Way = tuple[Row, int] | None
"""The row that a literal matches, with its weight; None from a literal without rows."""
_Ways = Callable[[Words, int | None], Iterator[Way]]

_NO_LEAPS = "plans for Python have no leapfrog joins"


class Rows(Protocol):
    """The rows to match against; see `CommittedView`."""

    def size(self, relation: str) -> int: ...

    def find(
        self, relation: str, columns: tuple[int, ...], key: Row, below: int | None = None
    ) -> Iterator[tuple[Row, int]]: ...

    def weight(self, relation: str, row: Row) -> int: ...


@dataclass(frozen=True, slots=True)
class Instance:
    """A rule instance: the words of the rule's variables, and the row of each positive literal, by place in the body.

    `weight` is the product of the weights of the rows.
    """

    rule: Rule
    words: Mapping[str, int]
    rows: tuple[tuple[int, Row], ...]
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
    """One rule, planned for a set of known variables. `inside` are the relations to which `below` applies.

    With `absent_last`, negated literals are looked at as late as can be. With `leapfrog`, a cyclic body is joined by
    leapfrog; then an instance lacks the rows of the literals that kernels join.
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
        self._values = values
        self._functions = functions
        self._inside = inside
        names = sorted(set(known))
        types = variable_types(rule)
        start = Atom(rule.head.relation, tuple(Variable(name, types[name]) for name in names), rule.span)
        self._leapfrog = leapfrog
        self.steps: tuple[Step | LeapfrogStep, ...]
        if leapfrog is not None:
            self.steps = leapfrog.plan(rule, start, FromSizes(rows.size))
        else:
            planned = plan_variant(rule, Delta(DeltaKind.POSITIVE, -1, start), FromSizes(rows.size)).steps
            self.steps = _absent_last(planned) if absent_last else planned
        self.places = _places(rule.body, self.steps)
        self.known = frozenset(names)
        self._bound = set(names)
        self._instead: Words = {}
        self._ways = [self._step(step) for step in self.steps]

    def run(self, known: Mapping[str, int], below: int | None = None) -> Iterator[Instance]:
        """Yields all instances in which the known variables have these words; see `Rows.find` for `below`."""
        words: Words = dict(known)
        for taken in self._walk(words, below, None):
            rows = sorted((place, way[0]) for place, way in zip(self.places, taken) if way is not None)
            weight = 1
            for way in taken:
                weight *= 1 if way is None else way[1]
            yield Instance(self.rule, dict(words), tuple(rows), weight)

    def furthest(self, known: Mapping[str, int], most: int) -> tuple[Furthest | None, bool]:
        """Returns the end of the best try, or None if there is an instance; and whether all tries were made.

        Gives up after `most` steps forward.
        """
        words: Words = dict(known)
        best = _Best(self, most)
        try:
            for _ in self._walk(words, None, best):
                return None, True
        except _EnoughError:
            return best.found, False
        return best.found, True

    def _walk(self, words: Words, below: int | None, best: _Best | None) -> Iterator[list[Way]]:
        """Yields the ways through all steps, once for each match; `words` has the variables of the current one."""
        if not self._ways:
            yield []
            return
        self._instead = {}
        stack = [self._ways[0](words, below)]
        taken: list[Way] = [None] * len(self._ways)
        if best is not None:
            best.look(0, words)
        while stack:
            depth = len(stack) - 1
            try:
                taken[depth] = next(stack[-1])
            except StopIteration:
                if best is not None:
                    best.fail(depth, self._instead)
                stack.pop()
                continue
            if depth + 1 == len(self._ways):
                yield taken
                continue
            if best is not None:
                best.look(depth + 1, words)
            self._instead = {}
            stack.append(self._ways[depth + 1](words, below))

    # Steps

    def _step(self, step: Step | LeapfrogStep) -> _Ways:
        match step:
            case LeapfrogStep():
                assert self._leapfrog is not None, "only queries plan leapfrog steps"
                run = self._leapfrog.ways(step, self._bound)
                return lambda words, _: run(words)
            case Join(atom, _, keys):
                return self._join(atom, keys)
            case Antijoin(atom):
                return self._antijoin(atom)
            case Filter(expression):
                holds = self._scalar(expression)
                return self._call(expression, (), lambda *given: [()] if holds(*given) else [], frozenset())
            case Let(variable, expression, compare):
                value = self._scalar(expression)
                known = frozenset((variable.name,) if compare else ())
                return self._call(expression, (variable,), lambda *given: [(value(*given),)], known)
            case Take(unfold, known):
                ways = compile_unfold(unfold, self._functions).call
                return self._call(unfold.expression, unfold.variables, ways, known)
            case Leap():
                raise AssertionError(_NO_LEAPS)

    def _join(self, atom: Atom, keys: tuple[int, ...]) -> _Ways:
        rows, relation = self._rows, atom.relation
        is_inside = relation in self._inside
        reads = [self._read(atom.terms[column]) for column in keys]
        binds: list[tuple[int, str]] = []
        equals: list[tuple[int, Callable[[Words], int]]] = []
        for column, term in enumerate(atom.terms):
            if column in keys or isinstance(term, Wildcard):
                continue
            if isinstance(term, Variable) and term.name not in self._bound:
                self._bound.add(term.name)
                binds.append((column, term.name))
            else:
                equals.append((column, self._read(term)))

        def ways(words: Words, below: int | None) -> Iterator[Way]:
            key = tuple([read(words) for read in reads])
            for way in rows.find(relation, keys, key, below if is_inside else None):
                row = way[0]
                for column, name in binds:
                    words[name] = row[column]
                if all(row[column] == read(words) for column, read in equals):
                    yield way

        return ways

    def _antijoin(self, atom: Atom) -> _Ways:
        rows = self._rows
        reads = [self._read(term) for term in atom.terms]

        def ways(words: Words, below: int | None) -> Iterator[Way]:
            if rows.weight(atom.relation, tuple([read(words) for read in reads])) <= 0:
                yield None

        return ways

    def _scalar(self, expression: typed.Expression) -> Callable[..., Any]:
        return compile_scalar(expression, sorted(typed.variables(expression)), self._functions).call

    def _call(
        self,
        expression: typed.Expression,
        variables: Sequence[Variable],
        call: Callable[..., Sequence[tuple[Any, ...]]],
        known: frozenset[str],
    ) -> _Ways:
        types = variable_types(self.rule)
        arguments = [(name, self._values.decoder(types[name])) for name in sorted(typed.variables(expression))]
        results = [(each.name, self._values.encoder(each.type), each.name in known) for each in variables]
        self._bound.update(each.name for each in variables)

        def ways(words: Words, below: int | None) -> Iterator[Way]:
            for way in call(*[decode(words[name]) for name, decode in arguments]):
                found = {name: encode(value) for (name, encode, _), value in zip(results, way)}
                if all(words[name] == found[name] for name, _, is_known in results if is_known):
                    words.update(found)
                    yield None
                else:
                    self._instead = found

        return ways

    def _read(self, term: Term) -> Callable[[Words], int]:
        match term:
            case Variable(name):
                return lambda words: words[name]
            case Constant(value, type_):
                word = self._values.encoder(type_)(value)
                return lambda _: word
            case Wildcard():
                raise AssertionError("a wildcard has no value")


class _EnoughError(Exception):
    pass


class _Best:
    """Remembers the furthest step that any try reached."""

    def __init__(self, matcher: Matcher, most: int) -> None:
        self._matcher = matcher
        self._left = most
        self._depth = -1
        self._open = False
        self.found: Furthest | None = None

    def look(self, depth: int, words: Words) -> None:
        """Notes that a try has reached a step, with these words."""
        self._left -= 1
        if self._left < 0:
            raise _EnoughError
        self._open = depth > self._depth
        if self._open:
            self._depth = depth
            matcher = self._matcher
            bound = {*matcher.known, *(name for step in matcher.steps[:depth] for name in _binds(step))}
            known = {name: word for name, word in words.items() if name in bound}
            self.found = Furthest(matcher.places[depth], tuple(sorted(matcher.places[:depth])), known, {})

    def fail(self, depth: int, instead: Words) -> None:
        """Notes that a step has no further way. The first failure at the furthest step sets `instead`."""
        if depth == self._depth and self._open and self.found is not None:
            self._open = False
            found = self.found
            self.found = Furthest(found.place, found.done, found.words, dict(instead))


def unify(head: Atom, row: Row, values: Values) -> Words | None:
    """Returns the words that a row gives to the variables of a head; None if the row does not fit."""
    words: Words = {}
    for term, word in zip(head.terms, row, strict=True):
        if isinstance(term, Variable):
            if words.setdefault(term.name, word) != word:
                return None
        elif isinstance(term, Constant) and values.encoder(term.type)(term.value) != word:
            return None
    return words


def _absent_last(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Returns the steps with each antijoin at the end, or before the first expression that it may guard."""
    ordered: list[Step] = []
    waiting: list[Step] = []
    for step in steps:
        if isinstance(step, Antijoin):
            waiting.append(step)
            continue
        if not isinstance(step, Join | Leap) and typed.may_fail(_expression(step)):
            ordered += waiting
            waiting = []
        ordered.append(step)
    return (*ordered, *waiting)


def _expression(step: Filter | Let | Take) -> typed.Expression:
    return step.unfold.expression if isinstance(step, Take) else step.expression


def _binds(step: Step | LeapfrogStep) -> Iterator[str]:
    match step:
        case Join(atom):
            yield from (term.name for term in atom.terms if isinstance(term, Variable))
        case Let(variable):
            yield variable.name
        case Take(unfold):
            yield from (variable.name for variable in unfold.variables)
        case _:
            return


def _places(body: Sequence[Literal], steps: Sequence[Step | LeapfrogStep]) -> list[int]:
    """Returns the place in the body of each step's literal; -1 for a `LeapfrogStep`, which has several."""
    places: dict[int, list[int]] = {}
    for place, literal in enumerate(body):
        places.setdefault(id(_part(literal)), []).append(place)
    return [-1 if isinstance(step, LeapfrogStep) else places[id(_step_part(step))].pop(0) for step in steps]


def _part(literal: Literal) -> object:
    """Returns the object that a literal and its step share."""
    match literal:
        case Positive(atom) | Negative(atom):
            return atom
        case Condition(expression) | Assign(expression=expression):
            return expression
        case _:
            return literal


def _step_part(step: Step) -> object:
    match step:
        case Join(atom) | Antijoin(atom):
            return atom
        case Filter(expression) | Let(expression=expression):
            return expression
        case Take(unfold):
            return unfold
        case Leap():
            raise AssertionError(_NO_LEAPS)
