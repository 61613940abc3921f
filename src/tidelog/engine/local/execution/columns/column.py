"""Columns of values in the evaluation of expressions (`compile_expression`).

A column of numbers is an array of words, one of Booleans an array of Booleans. Values of other types are an array of
ids, as they come from rows, or taken out of their pool:

    text                       a `TextColumn`
    `float`, `double`          an array of 64-bit floats
    integers of other widths   an `IntegerColumn`
    structs, tuples            a `StructColumn`
    `Vec`, `Set`, `Map`        a `SequenceColumn`

Only what a rule stores in a row is interned. Types are bare (`encoding.bare_type`) here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding.bare_type import bare_type
from tidelog.engine.local.encoding.number_pools import NumberPool, Numbers
from tidelog.engine.local.encoding.row_pool import RowPool
from tidelog.engine.local.encoding.sequence_pool import MAP, SequencePool, is_sequence_type
from tidelog.engine.local.encoding.string_pool import StringPool
from tidelog.engine.local.encoding.text_column import TextColumn
from tidelog.engine.local.encoding.words import Values, Words
from tidelog.types import STRING, BoolType, FloatType, NamedType, StringType, TupleType, Type

Column = Any  # an array, or one of the columns below
Places = npt.NDArray[np.intp]


class NeedsPythonError(Exception):
    """Ends the evaluation of a batch: one of its values is beyond the kernels, so Python evaluates all of it."""


class FewRowsError(NeedsPythonError):
    """Ends the evaluation of a batch whose loops have so few rows that Python is faster."""


class TooManyError(Exception):
    """Ends the evaluation of a batch that makes too many items; it is evaluated in `parts`, some rows at a time."""

    def __init__(self, parts: int) -> None:
        super().__init__(parts)
        self.parts = parts


MOST_ITEMS = 1 << 16
"""The number of items that one evaluation lists, unless they are of one row."""


def require_few(items: int, rows: int, most: int) -> None:
    """Raises TooManyError if several rows have more items than that together."""
    if items > most and rows > 1:
        raise TooManyError(min(rows, -(-items // most)))


@dataclass(frozen=True, slots=True)
class IntegerColumn:
    """Integers of a type that is wider than a word: words if all of them fit, Python integers otherwise."""

    numbers: Numbers

    def take(self, places: npt.NDArray[Any]) -> IntegerColumn:
        """Returns the values at some places."""
        return IntegerColumn(self.numbers[places])


@dataclass(frozen=True, slots=True)
class StructColumn:
    """Structs or tuples taken apart: the number of each one's constructor, and for each constructor its fields.

    A field is a column with a value in every row, meaningless in rows of other constructors; None if no row has the
    constructor.
    """

    tags: Words
    fields: tuple[tuple[Column, ...] | None, ...]

    def take(self, places: npt.NDArray[Any]) -> StructColumn:
        """Returns the values at some places."""
        fields = (None if own is None else tuple(take(field, places) for field in own) for own in self.fields)
        return StructColumn(self.tags[places], tuple(fields))


@dataclass(frozen=True, slots=True)
class SequenceColumn:
    """Collections: where the items of each one start in `items`, and how many there are. Items of maps are pairs."""

    starts: Words
    lengths: Words
    items: Column

    def take(self, places: npt.NDArray[Any]) -> SequenceColumn:
        """Returns the values at some places."""
        return SequenceColumn(self.starts[places], self.lengths[places], self.items)

    def places(self) -> Places:
        """Returns the places of all items, collection by collection."""
        return spread(self.starts, self.lengths)

    def rows(self) -> Places:
        """Returns, for each item in that order, the row of its collection."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)


def spread(starts: Words, lengths: Words) -> Places:
    """Returns the numbers from each start on, as many as the length says, one after the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(total)


def take(column: Column, places: npt.NDArray[Any]) -> Column:
    """Returns a column of the values at some places."""
    return column[places] if isinstance(column, np.ndarray) else column.take(places)


def item_type(type_: Type) -> Type:
    """Returns the type of the items of a collection."""
    assert isinstance(type_, NamedType)
    return TupleType(type_.arguments) if type_.name == MAP else type_.arguments[0]


def unit_column(count: int) -> StructColumn:
    """Returns the value `()` as a column."""
    return StructColumn(np.zeros(count, dtype=np.int64), ((),))


def empty_column(type_: Type) -> Column:
    """Returns a column without values."""
    return np.empty(0, dtype=np.bool_ if isinstance(type_, BoolType) else np.int64)


def sequences(lengths: Words, items: Column) -> SequenceColumn:
    """Returns collections whose items are one after the other."""
    return SequenceColumn(np.cumsum(lengths) - lengths, lengths, items)


# Out of a pool


def as_column(words: Words, type_: Type) -> Column:
    """Returns the column of some words of rows."""
    return words != 0 if isinstance(bare_type(type_), BoolType) else words


def as_text(column: Column, values: Values) -> TextColumn:
    """Returns a column of strings taken out of their pool."""
    if isinstance(column, TextColumn):
        return column
    pool = values.pool(STRING)
    assert isinstance(pool, StringPool)
    return pool.locate(column)


def as_floats(column: Column, type_: Type, values: Values) -> Numbers:
    """Returns a column of floating-point numbers taken out of their pool."""
    if column.dtype == np.float64:
        numbers: Numbers = column
        return numbers
    pool = values.pool(type_)
    assert isinstance(pool, NumberPool)
    return pool.numbers(column)


def as_integers(column: Column, type_: Type, values: Values) -> Numbers:
    """Returns a column of wide integers taken out of their pool."""
    if isinstance(column, IntegerColumn):
        return column.numbers
    pool = values.pool(type_)
    assert isinstance(pool, NumberPool)
    return pool.numbers(column)


def as_struct(column: Column, type_: Type, values: Values) -> StructColumn:
    """Returns a column of structs or tuples taken apart."""
    if isinstance(column, StructColumn):
        return column
    pool = values.pool(type_)
    if not isinstance(pool, RowPool):
        raise NeedsPythonError
    tags, parts = pool.apart(column)
    fields: list[tuple[Column, ...] | None] = []
    for own, (places, words) in zip(pool.constructors, parts):
        if not len(places):
            fields.append(None)
            continue
        if len(places) < len(tags):
            words = [_scattered(each, places, len(tags)) for each in words]
        fields.append(tuple(as_column(each, field) for each, field in zip(words, own.fields)))
    return StructColumn(tags, tuple(fields))


def _scattered(words: Words, places: Places, count: int) -> Words:
    found = np.zeros(count, dtype=np.int64)
    found[places] = words
    return found


def as_sequence(column: Column, type_: Type, values: Values) -> SequenceColumn:
    """Returns a column of collections taken apart; equal ones share their items."""
    if isinstance(column, SequenceColumn):
        return column
    pool = values.pool(type_)
    if not isinstance(pool, SequencePool):
        raise NeedsPythonError
    distinct, codes = np.unique(column, return_inverse=True)
    lengths, words = pool.apart(distinct)
    columns = tuple(as_column(each, own) for each, own in zip(words, pool.types))
    items = columns[0]
    if pool.width == 2:
        items = StructColumn(np.zeros(len(columns[0]), dtype=np.int64), (columns,))
    return sequences(lengths, items).take(codes.reshape(-1))


# Into a pool


def as_words(column: Column, type_: Type, values: Values) -> Words:
    """Returns the words of a column, as rows store them: numbers, or ids."""
    if isinstance(column, np.ndarray):
        if column.dtype == np.bool_:
            return column.astype(np.int64)
        if column.dtype == np.float64:
            pool = values.pool(type_)
            assert isinstance(pool, NumberPool)
            return pool.intern_numbers(column)
        words: Words = column
        return words
    match column, values.pool(type_):
        case TextColumn(), StringPool() as pool:
            return pool.intern_column(column)
        case IntegerColumn(numbers), NumberPool() as pool:
            return pool.intern_numbers(numbers)
        case StructColumn(), RowPool() as pool:
            return _interned_structs(column, pool, values)
        case SequenceColumn(), SequencePool() as pool:
            return _interned_sequences(column, pool, type_, values)
    raise NeedsPythonError


def _interned_structs(column: StructColumn, pool: RowPool, values: Values) -> Words:
    ids: Words = np.empty(len(column.tags), dtype=np.int64)
    for number, own in enumerate(pool.constructors):
        fields = column.fields[number]
        places = np.flatnonzero(column.tags == number)
        if fields is None or not len(places):
            continue
        if len(places) < len(ids):
            fields = tuple(take(field, places) for field in fields)
        words = [as_words(field, own.fields[i], values) for i, field in enumerate(fields)]
        ids[places] = pool.intern_rows(number, words, len(places))
    return ids


def _interned_sequences(column: SequenceColumn, pool: SequencePool, type_: Type, values: Values) -> Words:
    items = take(column.items, column.places())
    columns: Sequence[Column] = (items,)
    if pool.width == 2:
        columns = as_struct(items, item_type(type_), values).fields[0] or ()
    words = [as_words(each, own, values) for each, own in zip(columns, pool.types)]
    return pool.intern_rows(column.lengths, words or [np.empty(0, np.int64)] * pool.width)


# Columns from parts

Parts = Sequence[tuple[Places, Column]]


def merge(count: int, parts: Parts, type_: Type, values: Values) -> Column:
    """Returns a column from its values at some places, and at others.

    At places of no part it has one of the values, which means nothing.
    """
    if len(parts) == 1 and len(parts[0][0]) == count:
        return parts[0][1]
    covered = sum(len(places) for places, _ in parts)
    if covered < count:
        is_open = np.ones(count, dtype=np.bool_)
        for places, _ in parts:
            is_open[places] = False
        rest = np.flatnonzero(is_open)
        sample = next(column for places, column in parts if len(places))
        parts = [*parts, (rest, take(sample, np.zeros(len(rest), dtype=np.intp)))]
    return _merged(count, [part for part in parts if len(part[0])] or parts[:1], type_, values)


def _merged(count: int, parts: Parts, type_: Type, values: Values) -> Column:
    if all(isinstance(column, np.ndarray) and column.dtype == parts[0][1].dtype for _, column in parts):
        return _scatter(count, parts)
    if isinstance(type_, StringType):
        texts = [(places, as_text(column, values)) for places, column in parts]
        addresses = _scatter(count, [(places, text.addresses) for places, text in texts])
        lengths = _scatter(count, [(places, text.lengths) for places, text in texts])
        return TextColumn(addresses, lengths, tuple({id(each): each for _, t in texts for each in t.owners}.values()))
    if isinstance(type_, FloatType):
        return _scatter(count, [(places, as_floats(column, type_, values)) for places, column in parts])
    if any(isinstance(column, IntegerColumn) for _, column in parts):
        return IntegerColumn(_scatter(count, [(places, as_integers(each, type_, values)) for places, each in parts]))
    if is_sequence_type(type_):
        return _merge_sequences(count, parts, type_, values)
    if all(isinstance(column, StructColumn) for _, column in parts):
        return _merge_structs(count, parts, type_, values)
    return _scatter(count, [(places, as_words(column, type_, values)) for places, column in parts])


def _scatter(count: int, parts: Sequence[tuple[Places, npt.NDArray[Any]]]) -> npt.NDArray[Any]:
    dtype = np.result_type(*(array.dtype for _, array in parts))
    merged = np.zeros(count, dtype=dtype)
    for places, array in parts:
        merged[places] = array
    return merged


def _merge_structs(count: int, parts: Parts, type_: Type, values: Values) -> Column:
    pool = values.pool(type_)
    assert isinstance(pool, RowPool)
    tags = _scatter(count, [(places, column.tags) for places, column in parts])
    fields: list[tuple[Column, ...] | None] = []
    for number, constructor in enumerate(pool.constructors):
        own: list[tuple[Places, tuple[Column, ...]]] = []
        for places, column in parts:
            found = column.fields[number]
            # Only rows of this constructor: in others a field may be no value at all.
            rows = np.flatnonzero(column.tags == number)
            if found is None or not len(rows):
                continue
            if len(rows) < len(places):
                places, found = places[rows], tuple(take(each, rows) for each in found)
            own.append((places, found))
        if not own:
            fields.append(None)
            continue
        merged = (
            merge(count, [(places, some[i]) for places, some in own], field, values)
            for i, field in enumerate(constructor.fields)
        )
        fields.append(tuple(merged))
    return StructColumn(tags, tuple(fields))


def _merge_sequences(count: int, parts: Parts, type_: Type, values: Values) -> SequenceColumn:
    taken = [(places, as_sequence(column, type_, values)) for places, column in parts]
    starts, at = [], 0
    items: list[Column] = []
    for places, column in taken:
        shared = next((i for i, each in enumerate(items) if each is column.items), None)
        if shared is None:
            starts.append((places, column.starts + at))
            items.append(column.items)
            at += size(column.items)
        else:
            starts.append((places, column.starts + sum(size(each) for each in items[:shared])))
    joined = concatenated(items, item_type(type_), values)
    return SequenceColumn(_scatter(count, starts), _scatter(count, [(p, c.lengths) for p, c in taken]), joined)


def size(column: Column) -> int:
    """Returns the number of values of a column."""
    match column:
        case StructColumn(tags):
            return len(tags)
        case SequenceColumn(_, lengths):
            return len(lengths)
        case IntegerColumn(numbers):
            return len(numbers)
        case _:
            return len(column)


def concatenated(columns: Sequence[Column], type_: Type, values: Values) -> Column:
    """Returns the values of several columns, one behind the other."""
    if len(columns) == 1:
        return columns[0]
    parts, at = [], 0
    for column in columns:
        count = size(column)
        parts.append((np.arange(at, at + count), column))
        at += count
    return merge(at, parts, type_, values) if at else columns[0]
