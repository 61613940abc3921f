"""The columns that aggregates read: members as rows of words → the same rows with a column for each function.

Functions that kernels can evaluate run as bytecode; others run in Python, once for each distinct argument. Values whose
order is not that of their words get a column of ranks, which hold among the given rows only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tidelog.check import typed
from tidelog.engine.local.encoding.words import Values, Words
from tidelog.engine.local.execution.bytecode import BytecodeCompiler, Segment, VariantCompiler
from tidelog.engine.local.execution.threads import SegmentExecutor
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.functions.runtime_errors import ROW_ERRORS, name_row
from tidelog.functions.scalar import ScalarFunction, compile_scalar
from tidelog.plan.plain import is_plain
from tidelog.plan.variant import Let, Variant, deltas
from tidelog.rules.ir import Aggregate, Rule, RuleProgram, Variable
from tidelog.types import BitType, FloatType, Type, is_word

TOP = -(1 << 63)
Pace = Callable[[], None]
Operand = tuple[int, int]
"""A column to compare, and the word by which its words are flipped, so that they compare as words with a sign."""

Partial = tuple[int, int, Collection[int]]
"""Rows from a place to another, and the columns that matter in them."""


@dataclass(frozen=True, slots=True)
class _Ranks:
    """Ranks of the values in a column, among those of all rows."""

    column: int
    type: Type


@dataclass(frozen=True, slots=True)
class _Floats:
    """The bits of the floating-point numbers in a column."""

    column: int


@dataclass(frozen=True, slots=True)
class _Called:
    """A function of all parameters, of which it reads some columns; the result as words, or as ranks. `row` are the
    columns of all parameters: errors name their values."""

    function: ScalarFunction
    columns: tuple[int | None, ...]
    type: Type
    ranked: bool
    row: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class _Plain:
    """An expression as bytecode, of some columns. `called` finds the row in which it fails."""

    segment: Segment
    columns: tuple[int, ...]
    called: _Called


_Computed = _Ranks | _Floats | _Plain | _Called


class Columns:
    """The columns of one group's aggregates, computed ones behind those of the members."""

    def __init__(self, rule: Rule, program: RuleProgram, values: Values, catalog: Catalog) -> None:
        assert rule.group is not None
        group = rule.group
        self._rule = rule
        self._values = values
        self._catalog = catalog
        self._functions = program.functions
        self.types: Sequence[Type] = [column.type for column in program.relations[group.atom.relation].columns]
        self.keys = sum(isinstance(term, Variable) for term in group.atom.terms)
        self.first_part = len(self.types) - group.parts
        self._names = {term.name: place for place, term in enumerate(group.atom.terms) if isinstance(term, Variable)}
        self._computed: dict[_Computed | tuple[str, int], tuple[int, _Computed]] = {}
        self._scratch: Words = np.zeros(k.PIECE, dtype=np.int64)

    # What an aggregate reads

    @property
    def are_computed(self) -> bool:
        """True if there are columns behind those of the members."""
        return bool(self._computed)

    @property
    def is_single(self) -> bool:
        """True if a value is one column."""
        return self.first_part == len(self.types) - 1

    def part(self, aggregate: Aggregate) -> int:
        """Returns the column of the part that is all that an aggregate reads."""
        assert isinstance(aggregate.of, typed.Var)
        return self._places(aggregate)[aggregate.of.name]

    def value(self) -> list[Operand]:
        """Returns what compares whole values."""
        return [self._compared(column) for column in range(self.first_part, len(self.types))]

    def sort_key(self, aggregate: Aggregate) -> list[Operand]:
        """Returns what compares what an aggregate's function makes of values."""
        assert aggregate.of is not None
        return self._sort_key(aggregate, aggregate.of)

    def number(self, aggregate: Aggregate) -> int:
        """Returns the column of the numbers that an aggregate adds; the words of floats are their bits."""
        if aggregate.of is None or isinstance(aggregate.of, typed.Var):
            column = self.first_part if aggregate.of is None else self.part(aggregate)
            if is_word(self.types[column]):
                return column
            return self._add(_Floats(column))
        return self._column(aggregate, aggregate.of, ranked=False)

    def _sort_key(self, aggregate: Aggregate, of: typed.Expression) -> list[Operand]:
        if isinstance(of, typed.MakeTuple):
            return [operand for item in of.items for operand in self._sort_key(aggregate, item)]
        if isinstance(of, typed.Var):
            return [self._compared(self._places(aggregate)[of.name])]
        column = self._column(aggregate, of, ranked=True)
        return [(column, _flip(of.type) if is_word(of.type) else 0)]

    def _compared(self, column: int) -> Operand:
        type_ = self.types[column]
        return (column, _flip(type_)) if is_word(type_) else (self._add(_Ranks(column, type_)), 0)

    def _column(self, aggregate: Aggregate, of: typed.Expression, *, ranked: bool) -> int:
        places = self._places(aggregate)
        names = sorted(typed.variables(of))
        if isinstance(of, typed.Var) and is_word(of.type):
            return places[of.name]
        types = dict(zip(places, (self.types[column] for column in places.values())))
        if is_plain(of) and is_word(of.type):
            read = tuple(places[name] for name in names)
            row = tuple(places.items())
            called = _Called(compile_scalar(of, names, self._functions), read, of.type, ranked=False, row=row)
            return self._add(_Plain(self._segment(of, types, names), read, called))
        assert aggregate.read is not None
        function = aggregate.read
        if of is not aggregate.of:
            function = compile_scalar(of, function.parameters, self._functions)
        columns = tuple(places[name] if name in names else None for name in function.parameters)
        is_ranked = ranked and not is_word(of.type)
        return self._add(_Called(function, columns, of.type, ranked=is_ranked, row=tuple(places.items())))

    def _places(self, aggregate: Aggregate) -> dict[str, int]:
        own = {each.name: self.first_part + place for place, each in enumerate(aggregate.parameters)}
        return {**self._names, **own}

    def _segment(self, of: typed.Expression, types: Mapping[str, Type], names: Sequence[str]) -> Segment:
        compiler = BytecodeCompiler({}, lambda relation, keys: 0, self._values.word, self._functions)
        result = Variable("result#", of.type)
        let = Let(result, of, compare=False)
        variant = Variant(self._rule, deltas(self._rule)[-1], (let,))
        known = [Variable(name, types[name]) for name in names]
        return VariantCompiler(compiler, variant, frozenset()).piece(known, (let,), [result.name])

    def _add(self, computed: _Computed) -> int:
        key = computed if isinstance(computed, _Ranks | _Floats) else ("", len(self._computed))
        return self._computed.setdefault(key, (len(self.types) + len(self._computed), computed))[0]

    # Rows

    def of(self, rows: Words, pace: Pace, partial: Sequence[Partial] = ()) -> Words:
        """Returns the rows with all columns. Raises what the program's functions raise.

        `partial` are spans of rows at the end, each with the only columns that matter there: others are not computed.
        """
        if not self._computed:
            return rows
        given = len(self.types)
        wide = np.zeros((len(rows), given + len(self._computed)), dtype=np.int64)
        wide[:, :given] = rows[:, :given]
        whole = partial[0][0] if partial else len(rows)
        for column, computed in self._computed.values():
            spans = [range(whole), *(range(start, end) for start, end, columns in partial if column in columns)]
            if sum(map(len, spans)) == len(rows):
                wide[:, column] = self._compute(computed, rows, pace)
            else:
                places = np.concatenate([np.arange(span.start, span.stop) for span in spans])
                wide[places, column] = self._compute(computed, rows[places], pace)
        return wide

    def _compute(self, computed: _Computed, rows: Words, pace: Pace) -> Words:
        match computed:
            case _Ranks(column, type_):
                return self._ranks(rows[:, column], type_)
            case _Floats(column):
                return self._floats(rows[:, column], self.types[column])
            case _Plain():
                return self._evaluated(computed, rows, pace)
            case _Called():
                return self._called(computed, rows, pace)

    def _ranks(self, words: Words, type_: Type) -> Words:
        distinct, codes = np.unique(words, return_inverse=True)
        return _ranked(self._values.decode(distinct, type_))[codes.reshape(-1)]

    def _floats(self, words: Words, type_: Type) -> Words:
        distinct, codes = np.unique(words, return_inverse=True)
        numbers = np.array(self._values.decode(distinct, type_), dtype=np.float64)
        return numbers.view(np.int64)[codes.reshape(-1)]

    def _evaluated(self, computed: _Plain, rows: Words, pace: Pace) -> Words:
        columns = computed.columns
        control: Words = np.zeros(k.CONTROL_FIELDS, dtype=np.int64)
        control[k.PHASE], control[k.THREADS], control[k.CHUNK] = k.INSERT, 1, k.ALL_ROWS
        inputs = np.zeros((len(rows), len(columns) + 1), dtype=np.int64)
        inputs[:, :-1] = rows[:, list(columns)]
        executor = SegmentExecutor(computed.segment, control, inputs)
        found = np.empty(len(rows), dtype=np.int64)
        done, status = 0, k.FULL
        while status != k.DONE:
            pace()
            status = executor.enumerate(self._catalog, k.KIND_RULE, self._scratch)
            if status == k.DIVISION:
                return self._called(computed.called, rows, pace)  # raises with the row
            some = executor.take()
            found[done : done + len(some)] = some[:, 0]
            done += len(some)
        return found

    def _called(self, computed: _Called, rows: Words, pace: Pace) -> Words:
        """Calls the function once for each distinct argument."""
        read = [column for column in computed.columns if column is not None]
        codes, count = np.zeros(len(rows), dtype=np.intp), min(len(rows), 1)
        columns: list[list[Any]] = []
        if read:
            words, axis = (rows[:, read[0]], None) if len(read) == 1 else (rows[:, read], 0)
            distinct, codes = np.unique(words, axis=axis, return_inverse=True)
            distinct, codes, count = distinct.reshape(-1, len(read)), codes.reshape(-1), len(distinct)
            columns = [self._values.decode(distinct[:, i].copy(), self.types[at]) for i, at in enumerate(read)]
        given = iter(columns)
        arguments = [[None] * count if column is None else next(given) for column in computed.columns]
        results = []
        for each in zip(*arguments, strict=True) if arguments else [()] * count:
            pace()
            try:
                results.append(computed.function.call(*each))
            except ROW_ERRORS as error:
                row = rows[np.argmax(codes == len(results))]
                decode = self._values.decode
                name_row(error, {name: decode(row[[at]], self.types[at])[0] for name, at in computed.row})
                raise
        if computed.ranked:
            return _ranked(results)[codes] if count else np.empty(0, dtype=np.int64)
        if isinstance(computed.type, FloatType):
            return np.array(results, dtype=np.float64).view(np.int64)[codes]
        return self._values.encode(results, computed.type)[codes]


def _ranked(values: Sequence[Any]) -> Words:
    """Returns the rank of each value; equal values have equal ranks."""
    ranks = np.empty(len(values), dtype=np.int64)
    rank, last = -1, None
    for place in sorted(range(len(values)), key=values.__getitem__):
        if rank < 0 or values[place] != last:
            rank, last = rank + 1, values[place]
        ranks[place] = rank
    return ranks


def _flip(type_: Type) -> int:
    """Returns the word by which the words of a type are flipped to compare in the order of its values."""
    return TOP if isinstance(type_, BitType) and type_.width == 64 else 0
