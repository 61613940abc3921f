"""The state of one large group: a few parts that its aggregates share, updated value by value.

    min, max, join          one order of the values
    arg_min, arg_max        one order for each function
    sum_of, count           one total for each function
    count_distinct          the number of values

Values that several members have, as those of a finer key may, count once (`distinct`); for an order it does not matter
how often a value occurs.

The groups of one stratum have one `Shape`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tidelog.engine.local.encoding.words import Values, Words
from tidelog.engine.local.strata.aggregates.accumulators import FloatTotal, Part, Total, ValueOrder, WordOrder, total_of
from tidelog.engine.local.strata.aggregates.distinct import Distinct
from tidelog.engine.local.strata.aggregates.small_group import fitting, reader, wrapped
from tidelog.functions.scalar import ScalarFunction
from tidelog.rules.ir import Aggregate, AggregateKind
from tidelog.types import FloatType, ScaledType, Type, is_word

Row = tuple[int, ...]
_Result = Callable[["GroupState"], int]
_TOTALS = (AggregateKind.SUM, AggregateKind.TOTAL, AggregateKind.COUNT_IF)
_OF_THE_VALUES = (AggregateKind.MIN, AggregateKind.MAX, AggregateKind.JOIN)
_LEAST = (AggregateKind.MIN, AggregateKind.ARG_MIN)
_ENDS = (*_LEAST, AggregateKind.MAX, AggregateKind.ARG_MAX)


class Shape:
    """The parts that the aggregates of a group need, and how each aggregate is read from them."""

    def __init__(
        self, aggregates: Sequence[Aggregate], types: Sequence[Type], values: Values, *, finer: bool = False
    ) -> None:
        """Makes the shape; `types` are those of the parts of a value. `finer`: several members may have one value."""
        self.aggregates = aggregates
        self.is_distinct = finer and any(each.kind not in _ENDS for each in aggregates)
        self.types = types
        self.values = values
        self._places: dict[tuple[str, ScalarFunction | None], int] = {}
        self._makers: list[Callable[[Sequence[Any]], Part]] = []
        joins = any(each.kind is AggregateKind.JOIN for each in aggregates)
        self._in_words = all(map(is_word, types)) and not joins
        self.results = [self._result(number, each) for number, each in enumerate(aggregates)]

    def parts(self, key: Sequence[Any]) -> list[Part]:
        """Returns fresh parts for the group with this key."""
        return [make(key) for make in self._makers]

    def decode(self, words: Words) -> list[Any]:
        """Returns the Python values of some lines of words."""
        columns = [self.values.decode(words[:, i].copy(), type_) for i, type_ in enumerate(self.types)]
        return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))

    def _place(self, kind: str, read: ScalarFunction | None, make: Callable[[Sequence[Any]], Part]) -> int:
        """Returns the place of a part, shared by all aggregates that read the same values in the same way."""
        known = self._places.setdefault((kind, read), len(self._makers))
        if known == len(self._makers):
            self._makers.append(make)
        return known

    def _result(self, number: int, aggregate: Aggregate) -> _Result:
        encode = self.values.encoder(aggregate.variable.type)
        kind = aggregate.kind
        if kind is AggregateKind.COUNT:
            return lambda state: encode(state.size)
        if kind in _TOTALS:
            return self._total(aggregate, encode)
        if kind in _OF_THE_VALUES and (kind is AggregateKind.JOIN or aggregate.of is None):
            place = self._order(aggregate, None)
        else:
            place = self._order(aggregate, None if aggregate.of is None else aggregate.of.type)
        if kind is AggregateKind.JOIN:
            return self._joined(number, aggregate, place, encode)
        part = aggregate if kind in (AggregateKind.MIN, AggregateKind.MAX) and aggregate.of is not None else None
        return self._end(place, encode, part, is_least=kind in _LEAST)

    def _total(self, aggregate: Aggregate, encode: Callable[[Any], int]) -> _Result:
        type_ = aggregate.variable.type
        place = self._place("total", aggregate.read, lambda key: total_of(reader(aggregate, key), type_))
        if isinstance(type_, FloatType):
            width = type_.width

            def rounded(state: GroupState) -> int:
                part = state.parts[place]
                assert isinstance(part, FloatTotal)
                return encode(part.total.rounded(width))

            return rounded

        def total(state: GroupState) -> int:
            part = state.parts[place]
            assert isinstance(part, Total)
            if aggregate.kind is AggregateKind.TOTAL:
                return encode(fitting(part.total, type_, state.key))
            return encode(wrapped(part.total, type_))

        return total

    def _order(self, aggregate: Aggregate, read_type: Type | None) -> int:
        """Returns the place of an order: by the sort key, or by the values themselves if that has no type."""

        def make(key: Sequence[Any]) -> Part:
            read = None if read_type is None else reader(aggregate, key)
            if self._in_words and (read_type is None or _is_number(read_type)):
                return WordOrder(read, self.types, read_type)
            return ValueOrder(read)

        return self._place("order", None if read_type is None else aggregate.read, make)

    def _joined(self, number: int, aggregate: Aggregate, place: int, encode: Callable[[Any], int]) -> _Result:
        def joined(state: GroupState) -> int:
            part = state.parts[place]
            assert isinstance(part, ValueOrder)
            return encode(part.pages.joined(number, aggregate.separator, reader(aggregate, state.key)))

        return joined

    def _end(self, place: int, encode: Callable[[Any], int], part_of: Aggregate | None, *, is_least: bool) -> _Result:
        """Returns how to read the first or the last value of an order, or what `part_of` reads of it."""

        def end(state: GroupState) -> int:
            part = state.parts[place]
            assert isinstance(part, WordOrder | ValueOrder)
            found = part.least() if is_least else part.most()
            if isinstance(part, WordOrder):
                if len(found) == 1:
                    return int(found[0])
                found = self.decode(np.array([found], dtype=np.int64))[0]
            read = None if part_of is None else reader(part_of, state.key)
            return encode(found if read is None else read(found))

        return end


@dataclass(frozen=True, slots=True)
class Done:
    """A change: the words of inserted and deleted members, the growth of the group, and the inserted and deleted
    entries of each part.
    """

    inserted: Words
    deleted: Words
    growth: int
    entries: list[tuple[list[Any], list[Any]]]


class GroupState:
    """One group. `key` are the values of its keys; the members' rows are those behind the key columns."""

    __slots__ = ("_distinct", "_shape", "key", "parts", "size")

    def __init__(self, shape: Shape, key: Sequence[Any], members: Words) -> None:
        """Builds the state from all members. Raises what the program's functions raise."""
        self._shape = shape
        self.key = key
        self.parts = shape.parts(key)
        words = members[:, members.shape[1] - len(shape.types) :].copy()
        self._distinct = Distinct(words) if shape.is_distinct else None
        if self._distinct is not None:
            words = np.unique(words, axis=0)
        self.size = len(words)
        values = shape.decode(words)
        for part in self.parts:
            part.load(words, values)

    def change(self, inserted: Words, deleted: Words) -> Done | None:
        """Inserts and deletes members; returns the change, or None if the state has become useless.

        Raises what the program's functions raise; then nothing has changed.
        """
        first = inserted.shape[1] - len(self._shape.types)
        members = inserted[:, first:], deleted[:, first:]
        words: tuple[Words, Words] | None = members
        if self._distinct is not None:
            words = self._distinct.change(*members)
        if words is None:
            return None
        try:
            entries = [(self._entries(part, words[0]), self._entries(part, words[1])) for part in self.parts]
        except BaseException:
            self._take_back(*members)
            raise
        done = Done(*members, len(words[0]) - len(words[1]), entries)
        return done if self._do(done.growth, entries) else None

    def undo(self, done: Done) -> None:
        """Undoes the last change."""
        self._take_back(done.inserted, done.deleted)
        self._do(-done.growth, [(inserted, deleted) for deleted, inserted in done.entries])

    def results(self) -> Row:
        """Returns the word of each aggregate; the group is not empty."""
        return tuple([result(self) for result in self._shape.results])

    def _take_back(self, inserted: Words, deleted: Words) -> None:
        if self._distinct is not None:
            self._distinct.change(deleted, inserted)

    def _do(self, growth: int, entries: list[tuple[list[Any], list[Any]]]) -> bool:
        self.size += growth
        return all(part.change(*each) for part, each in zip(self.parts, entries, strict=True))

    def _entries(self, part: Part, words: Words) -> list[Any]:
        return [part.entry(*each) for each in zip(words.tolist(), self._shape.decode(words), strict=True)]


def _is_number(type_: Type) -> bool:
    """True if what a function gives is a word itself."""
    return is_word(type_) and not isinstance(type_, ScaledType)
