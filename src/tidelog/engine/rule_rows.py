"""The walk of one rule body, literal by literal, in terms of words: the pass behind the rule rows of both circuits.

A *rewrite* Σ has one word (a *slot*) for each variable that is bound so far, in the order in which they are bound.

    T(x, z) :- E(x, y), T(y, z).      E: its columns 0 and 1 become slots 0 and 1
                                      T: column 0 must equal slot 1, column 1 becomes slot 2      head: slots 0 and 2

An engine chooses the order of the literals and makes rows of the results: directions, orders and signals
(definitions 4.3, 4.4 and 4.6 of the dynamic Datalog paper).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tidelog.check import typed
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.functions.scalar import ScalarFunction, compile_scalar
from tidelog.rules.ir import Assign, Atom, Condition, Constant, Literal, Term, Unfold, Variable
from tidelog.rules.lower.unfold import Unfolding, compile_unfold
from tidelog.types import Type

ROOT = 0
"""The prefix of no literal at all."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A word of a rewrite."""

    number: int


@dataclass(frozen=True, slots=True)
class Word:
    """A constant, as the engine has it."""

    word: Any


@dataclass(frozen=True, slots=True)
class Field:
    """A column of the fact."""

    column: int


@dataclass(frozen=True, slots=True)
class Match:
    """An atom: what each column must equal (itself if anything will do), and the columns that become the next slots."""

    must: tuple[Slot | Word | Field, ...]
    binds: tuple[int, ...]

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns by which rows are looked up."""
        return tuple(column for column, source in enumerate(self.must) if not isinstance(source, Field))

    @property
    def equal(self) -> tuple[tuple[int, int], ...]:
        """The pairs of columns that have the same unbound variable."""
        fields = ((source.column, at) for at, source in enumerate(self.must) if isinstance(source, Field))
        return tuple((column, at) for column, at in fields if column != at)


@dataclass(frozen=True, slots=True)
class Compute:
    """An expression: its function, the slots of its arguments, and those of its results.

    A result whose flag is true has to agree with its slot; the others become the next slots. `row` are all variables
    that are bound before it, with their slots: errors name their values.
    """

    function: ScalarFunction | Unfolding
    arguments: tuple[tuple[int, Type], ...]
    results: tuple[tuple[int, Type, bool], ...]
    row: tuple[tuple[str, int, Type], ...]

    def ways(self, *arguments: Any) -> Sequence[tuple[Any, ...]]:
        """Returns the results for each way in which a rewrite goes on."""
        result = self.function.call(*arguments)
        if isinstance(self.function, Unfolding):
            return result
        return [(result,)] if self.results else [()] if result else []


class BodyWalk:
    """The slots of one rule. `word` turns a constant into the engine's word."""

    def __init__(self, word: Callable[[Any, Type], Any], functions: CompiledFunctions) -> None:
        self._word = word
        self._functions = functions
        self._slots: dict[str, tuple[int, Type]] = {}

    def __len__(self) -> int:
        return len(self._slots)

    def match(self, atom: Atom) -> Match:
        """Moves the walk past an atom, positive or negated."""
        must: list[Slot | Word | Field] = []
        binds: dict[Variable, int] = {}
        for column, term in enumerate(atom.terms):
            if isinstance(term, Constant) or (isinstance(term, Variable) and term.name in self._slots):
                must.append(self.source(term))
            else:
                must.append(Field(binds.setdefault(term, column) if isinstance(term, Variable) else column))
        for variable in binds:
            self._slots[variable.name] = (len(self._slots), variable.type)
        return Match(tuple(must), tuple(binds.values()))

    def compute(self, literal: Literal) -> Compute:
        """Moves the walk past a literal that Python evaluates."""
        match literal:
            case Condition(expression):
                variables: tuple[Variable, ...] = ()
            case Assign(variable, expression):
                variables = (variable,)
            case Unfold(variables=variables, expression=expression):
                pass
            case _:
                raise AssertionError("a literal that Python does not evaluate")
        names = sorted(typed.variables(expression))
        function = (
            compile_unfold(literal, self._functions)
            if isinstance(literal, Unfold)
            else compile_scalar(expression, names, self._functions)
        )
        arguments = tuple(self._slots[name] for name in names)
        row = tuple((name, slot, type_) for name, (slot, type_) in self._slots.items())
        results = []
        for each in variables:
            is_bound = each.name in self._slots
            slot, _ = self._slots.setdefault(each.name, (len(self._slots), each.type))
            results.append((slot, each.type, is_bound))
        return Compute(function, arguments, tuple(results), row)

    def source(self, term: Term) -> Slot | Word:
        """Returns the source of the word of a bound term."""
        if isinstance(term, Variable):
            return Slot(self._slots[term.name][0])
        assert isinstance(term, Constant)
        return Word(self._word(term.value, term.type))
