"""Variant → a Python function that runs it over tables, row by row, with weights.

    P(x, z) :- A(x, y), B(y, z).    delta at A:    for each row of the delta, each row of B with its y:  emit (x, z)
                                                   with the product of the two weights

Steps become nested functions; a list of registers holds the words of the variables. What stands before the delta in the
body is taken with the epoch's changes, what stands behind it without: so every combination counts once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import mul
from typing import Any, Protocol

from tidelog.check import typed
from tidelog.check.types import Type
from tidelog.engine.local.tables import Row, Table
from tidelog.engine.local.values import Values
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.functions.scalar import compile_scalar
from tidelog.plan.variant import Antijoin, DeltaKind, Filter, Join, Leap, Let, Step, Take, Variant
from tidelog.rules.ir import Atom, Constant, Term, Variable, Wildcard
from tidelog.rules.unfold import compile_unfold

Emit = Callable[[Row, int], None]
Run = Callable[[Iterable[tuple[Row, int]]], None]
_Registers = list[int]
_Next = Callable[[_Registers, int], None]
_Read = Callable[[_Registers], int]


class Readable(Protocol):
    """What a run needs of a relation; see `Table`."""

    def weight(self, row: Row, *, new: bool) -> int: ...

    def find(self, columns: tuple[int, ...], key: Row, *, new: bool) -> Iterable[tuple[Row, int]]: ...


class Interpreter:
    """Makes runs from variants, for one engine. `combine` makes the weight of a combination from those of its rows."""

    def __init__(
        self,
        tables: Mapping[str, Readable],
        values: Values,
        functions: CompiledFunctions,
        combine: Callable[[int, int], int] = mul,
    ) -> None:
        self.tables = tables
        self.values = values
        self.functions = functions
        self.combine = combine

    def run(
        self, variant: Variant, emit: Emit, *, all_new: bool | None = None
    ) -> Callable[[Iterable[tuple[Row, int]]], None]:
        """A function that takes the rows of the delta with their weights and emits heads with theirs.

        With `all_new` everything but the delta is taken with the epoch's changes; where it is false, without them. The
        delta of a rule's own hidden fact is `[((), 1)]`.
        """
        return _Run(self, variant, emit, all_new).start()


class _Run:
    def __init__(self, interpreter: Interpreter, variant: Variant, emit: Emit, all_new: bool | None) -> None:
        self._interpreter = interpreter
        self._values = interpreter.values
        self._variant = variant
        self._emit = emit
        self._all_new = all_new
        self._places: dict[str, int] = {}

    def start(self) -> Run:
        delta = self._variant.delta
        take = self._matcher(delta.atom, ()) if delta.atom is not None else None
        makers = [self._step(step) for step in self._variant.steps]
        reads = [self._read(term) for term in self._variant.rule.head.terms]
        emit = self._emit

        def finish(registers: _Registers, weight: int) -> None:
            emit(tuple([read(registers) for read in reads]), weight)

        first: _Next = finish
        for make in reversed(makers):
            first = make(first)
        count = len(self._places)

        def run(rows: Iterable[tuple[Row, int]]) -> None:
            registers = [0] * count
            for row, weight in rows:
                if take is None or take(registers, row):
                    first(registers, weight)

        return run

    def _step(self, step: Step) -> Callable[[_Next], _Next]:
        match step:
            case Join(atom, position, keys):
                return self._join(atom, keys, self._is_new(position))
            case Antijoin(atom, position):
                return self._antijoin(atom, self._is_new(position))
            case Filter(expression):
                holds = self._scalar(expression)
                return self._call(expression, (), lambda *given: [()] if holds(*given) else [], frozenset())
            case Let(variable, expression, compare):
                value = self._scalar(expression)
                known = frozenset((variable.name,) if compare else ())
                return self._call(expression, (variable,), lambda *given: [(value(*given),)], known)
            case Take(unfold, known):
                ways = compile_unfold(unfold, self._interpreter.functions).call
                return self._call(unfold.expression, unfold.variables, ways, known)
            case Leap():
                raise AssertionError("plans for Python have no leapfrog joins")

    def _is_new(self, position: int) -> bool:
        return position < self._variant.delta.position if self._all_new is None else self._all_new

    def _join(self, atom: Atom, keys: tuple[int, ...], new: bool) -> Callable[[_Next], _Next]:
        table = self._interpreter.tables[atom.relation]
        reads = [self._read(atom.terms[column]) for column in keys]
        take = self._matcher(atom, keys)
        combine = self._interpreter.combine

        def make(then: _Next) -> _Next:
            def run(registers: _Registers, weight: int) -> None:
                key = tuple([read(registers) for read in reads])
                for row, own in table.find(keys, key, new=new):
                    if take(registers, row):
                        then(registers, combine(weight, own))

            return run

        return make

    def _antijoin(self, atom: Atom, new: bool) -> Callable[[_Next], _Next]:
        table = self._interpreter.tables[atom.relation]
        reads = [self._read(term) for term in atom.terms]

        def make(then: _Next) -> _Next:
            def run(registers: _Registers, weight: int) -> None:
                if table.weight(tuple([read(registers) for read in reads]), new=new) <= 0:
                    then(registers, weight)

            return run

        return make

    def _scalar(self, expression: typed.Expression) -> Callable[..., Any]:
        names = sorted(typed.variables(expression))
        return compile_scalar(expression, names, self._interpreter.functions).call

    def _call(
        self,
        expression: typed.Expression,
        variables: Sequence[Variable],
        ways: Callable[..., Sequence[tuple[Any, ...]]],
        known: frozenset[str],
    ) -> Callable[[_Next], _Next]:
        """Calls Python with the expression's variables and goes on for each way that comes back."""
        names = sorted(typed.variables(expression))
        types = _types(expression)
        arguments = [(self._places[name], self._values.decoder(types[name])) for name in names]
        compared = [(i, self._places[each.name]) for i, each in enumerate(variables) if each.name in known]
        bound = [(i, self._place(each.name)) for i, each in enumerate(variables) if each.name not in known]
        encoders = [self._values.encoder(each.type) for each in variables]

        def make(then: _Next) -> _Next:
            def run(registers: _Registers, weight: int) -> None:
                for way in ways(*[decode(registers[place]) for place, decode in arguments]):
                    words = [encode(value) for encode, value in zip(encoders, way)]
                    if all(words[i] == registers[place] for i, place in compared):
                        for i, place in bound:
                            registers[place] = words[i]
                        then(registers, weight)

            return run

        return make

    def _matcher(self, atom: Atom, known: tuple[int, ...]) -> Callable[[_Registers, Row], bool]:
        """Puts the columns of a row that are not `known` into registers; False where they do not fit."""
        binds: list[tuple[int, int]] = []
        equals: list[tuple[int, _Read]] = []
        for column, term in enumerate(atom.terms):
            if column in known or isinstance(term, Wildcard):
                continue
            if isinstance(term, Variable) and term.name not in self._places:
                binds.append((column, self._place(term.name)))
            else:
                equals.append((column, self._read(term)))

        def take(registers: _Registers, row: Row) -> bool:
            for column, place in binds:
                registers[place] = row[column]
            return all(row[column] == read(registers) for column, read in equals)

        return take

    def _place(self, name: str) -> int:
        return self._places.setdefault(name, len(self._places))

    def _read(self, term: Term) -> _Read:
        match term:
            case Variable(name):
                place = self._places[name]
                return lambda registers: registers[place]
            case Constant(value, type_):
                word = self._values.word(value, type_)
                return lambda _: word
            case Wildcard():
                raise AssertionError("a wildcard has no value")


def delta_rows(variant: Variant, tables: Mapping[str, Table]) -> list[tuple[Row, int]]:
    """The changed rows that a variant starts from. What comes into a negated relation takes instances away."""
    delta = variant.delta
    if delta.atom is None:
        return [((), 1)]
    table = tables[delta.atom.relation]
    if delta.kind is DeltaKind.POSITIVE:
        return list(table.delta.items())
    came, left = table.presence_changes()
    return [(row, -1) for row in came] + [(row, 1) for row in left]


def _types(expression: typed.Expression) -> dict[str, Type]:
    """The types of the variables that an expression mentions."""
    found = {node.name: node.type for node in typed.walk(expression) if isinstance(node, typed.Var)}
    for node in typed.walk(expression):
        if isinstance(node, typed.SetPlace):
            found.setdefault(node.place.variable.name, node.place.variable.type)
    return found
