"""Columns of values in the evaluation of expressions (`compile_columns`), and the variables of a batch of rows.

A column of numbers is an array of words, one of Booleans an array of Booleans. Values of other types are an array of
ids, as they come from rows, or taken out of their pool: text as a `TextColumn`, structs and tuples as a `StructColumn`.
Only what a rule stores in a row is interned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding.bare_type import bare_type
from tidelog.engine.local.encoding.row_pool import RowPool
from tidelog.engine.local.encoding.string_pool import StringPool
from tidelog.engine.local.encoding.text_column import TextColumn
from tidelog.engine.local.encoding.words import Values, Words
from tidelog.types import STRING, BoolType, StringType, Type

Column = Any  # an array, a TextColumn or a StructColumn
Places = npt.NDArray[np.intp]
Key = str | int


class NeedsPythonError(Exception):
    """Ends the evaluation of a batch: one of its values is beyond the kernels, so Python evaluates all of it."""


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


def take(column: Column, places: npt.NDArray[Any]) -> Column:
    """Returns a column of the values at some places."""
    return column[places] if isinstance(column, np.ndarray) else column.take(places)


class Frame:
    """The variables of some rows. A frame of fewer rows takes the columns of its parent when they are first read."""

    __slots__ = ("_columns", "_parent", "_places", "count", "values")

    def __init__(
        self,
        count: int,
        values: Values,
        columns: Mapping[Key, Column],
        parent: Frame | None = None,
        places: Places | None = None,
    ) -> None:
        self.count = count
        self.values = values
        self._columns: dict[Key, Column] = dict(columns)
        self._parent = parent
        self._places = places

    def get(self, key: Key) -> Column:
        found = self._columns.get(key)
        if found is None:
            assert self._parent is not None
            found = self._columns[key] = take(self._parent.get(key), self._places)  # type: ignore[arg-type]
        return found

    def bind(self, key: Key, column: Column) -> None:
        self._columns[key] = column

    def some(self, places: Places) -> Frame:
        """Returns the frame of the rows at some places."""
        return Frame(len(places), self.values, {}, self, places)


def as_text(column: Column, values: Values) -> TextColumn:
    """Returns a column of strings taken out of their pool."""
    if isinstance(column, TextColumn):
        return column
    pool = values.pool(STRING)
    assert isinstance(pool, StringPool)
    return pool.locate(column)


def as_words(column: Column, type_: Type, values: Values) -> Words:
    """Returns the words of a column, as rows store them: numbers, or ids."""
    match bare_type(type_):
        case BoolType():
            return np.asarray(column).astype(np.int64)
        case StringType() if isinstance(column, TextColumn):
            pool = values.pool(STRING)
            assert isinstance(pool, StringPool)
            return pool.intern_column(column)
    if isinstance(column, StructColumn):
        return _interned_structs(column, type_, values)
    words: Words = column
    return words


def _interned_structs(column: StructColumn, type_: Type, values: Values) -> Words:
    pool = values.pool(type_)
    if not isinstance(pool, RowPool):
        raise NeedsPythonError
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


def as_column(words: Words, type_: Type) -> Column:
    """Returns the column of some words of rows."""
    return words != 0 if isinstance(bare_type(type_), BoolType) else words


def merge(count: int, parts: Sequence[tuple[Places, Column]], values: Values, type_: Type | None = None) -> Column:
    """Returns a column from its values at some places, and at others; together they are all places.

    Without the type, structs that are ids cannot be merged with structs that are not.
    """
    (_, first), *_ = parts
    if len(parts) == 1:
        return first
    if any(isinstance(column, TextColumn) for _, column in parts):
        texts = [(places, as_text(column, values)) for places, column in parts]
        addresses, lengths = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        for places, text in texts:
            addresses[places], lengths[places] = text.addresses, text.lengths
        return TextColumn(addresses, lengths, tuple(owner for _, text in texts for owner in text.owners))
    if all(isinstance(column, StructColumn) for _, column in parts):
        return _merge_structs(count, parts, values)
    if any(isinstance(column, StructColumn) for _, column in parts):
        if type_ is None:
            raise NeedsPythonError
        parts = [(places, as_words(column, type_, values)) for places, column in parts]
    merged = np.zeros(count, dtype=parts[0][1].dtype)
    for places, column in parts:
        merged[places] = column
    return merged


def _merge_structs(count: int, parts: Sequence[tuple[Places, Column]], values: Values) -> StructColumn:
    tags = np.zeros(count, dtype=np.int64)
    for places, column in parts:
        tags[places] = column.tags
    fields: list[tuple[Column, ...] | None] = []
    for number in range(len(parts[0][1].fields)):
        own = [(places, column.fields[number]) for places, column in parts if column.fields[number] is not None]
        if not own:
            fields.append(None)
            continue
        width = len(own[0][1])
        fields.append(tuple(merge_some(count, [(at, some[i]) for at, some in own], values) for i in range(width)))
    return StructColumn(tags, tuple(fields))


def merge_some(count: int, parts: Sequence[tuple[Places, Column]], values: Values) -> Column:
    """Returns a column from its values at some places; those at other places mean nothing."""
    covered = np.ones(count, dtype=np.bool_)
    for places, _ in parts:
        covered[places] = False
    rest = np.flatnonzero(covered)
    if not len(rest):
        return merge(count, parts, values)
    _, sample = parts[0]
    if not len(sample) if not isinstance(sample, StructColumn) else not len(sample.tags):
        raise NeedsPythonError
    filler = take(sample, np.zeros(len(rest), dtype=np.intp))
    return merge(count, [*parts, (rest, filler)], values)
