"""The pool of a struct, union or tuple type: a value is a row of words, the number of its constructor and its fields.

    Step{7, w}   of  typedef Walk = Nil | Step{at: u32, rest: Ref<Walk>}          1, 7, the id of w

`apart` gives kernels the fields as columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding.bare_type import bare_type
from tidelog.engine.local.encoding.pool import Value, Words
from tidelog.engine.local.encoding.text_column import TextColumn
from tidelog.engine.local.encoding.words_pool import Encoding, WordsPool
from tidelog.engine.local.kernels import string_pool as k
from tidelog.types import NamedType, TupleType, Type
from tidelog.values.definitions import Definitions
from tidelog.values.structs import construct


@dataclass(frozen=True, slots=True)
class Constructor:
    """A constructor: the types of its fields, the place of the first one in a Python value, and how to make a value."""

    fields: tuple[Type, ...]
    start: int
    make: Callable[[tuple[Any, ...]], Any]


class RowPool(WordsPool):
    """The interned values of one type; see `Pool`."""

    def __init__(self, type_: Type, encoding: Encoding, *, is_recursive: bool) -> None:
        super().__init__(encoding, is_recursive=is_recursive)
        self.constructors = constructors(type_, encoding.definitions)

    def _opened(self, value: Value) -> tuple[list[int], Iterator[tuple[Type, Value]]]:
        number = value[0] if len(self.constructors) > 1 else 0
        own = self.constructors[number]
        return [number], zip(own.fields, value[own.start :] if own.start else value)

    def _typed(self, words: list[int]) -> tuple[int, list[tuple[Type, int]]]:
        return words[0], list(zip(self.constructors[words[0]].fields, words[1:]))

    def _assembled(self, constructor: int, items: list[Value]) -> Value:
        own = self.constructors[constructor]
        return own.make((constructor, *items) if own.start else tuple(items))

    def item_types(self) -> tuple[Type, ...]:
        return tuple(field for own in self.constructors for field in own.fields)

    def _intern_columns(self, values: Sequence[Value]) -> Words:
        ids: Words = np.empty(len(values), dtype=np.int64)
        tags = np.zeros(len(values), dtype=np.int64)
        if len(self.constructors) > 1:
            tags = np.fromiter((value[0] for value in values), np.int64, len(values))
        for number, own in enumerate(self.constructors):
            places = np.flatnonzero(tags == number)
            if not len(places):
                continue
            some = [values[place] for place in places.tolist()]
            fields = [
                self._encoding.encode([value[own.start + i] for value in some], type_)
                for i, type_ in enumerate(own.fields)
            ]
            ids[places] = self.intern_rows(number, fields, len(some))
        return ids

    def intern_rows(self, constructor: int, fields: Sequence[Words], count: int) -> Words:
        """Returns the ids of the values of one constructor with these words as fields."""
        rows = np.empty((count, 1 + len(fields)), dtype=np.int64)
        rows[:, 0] = constructor
        for i, words in enumerate(fields, 1):
            rows[:, i] = words
        size = rows.shape[1] * 8
        addresses = rows.ctypes.data + size * np.arange(count, dtype=np.int64)
        return self.intern_column(TextColumn(addresses, np.full(count, size, np.int64), (rows,)))

    def apart(self, ids: npt.NDArray[Any]) -> tuple[Words, list[tuple[npt.NDArray[np.intp], list[Words]]]]:
        """Returns the constructors of ids; and for each constructor its places, and the words of its fields there."""
        found = self.locate(ids)
        tags = _read(found.addresses, 0)
        parts = []
        for number, own in enumerate(self.constructors):
            places = np.flatnonzero(tags == number) if len(self.constructors) > 1 else np.arange(len(tags))
            at = found.addresses if len(places) == len(tags) else found.addresses[places]
            parts.append((places, [_read(at, 1 + i) for i in range(len(own.fields))]))
        return tags, parts

    def _decode_columns(self, ids: npt.NDArray[Any]) -> list[Value]:
        made: list[Value] = [None] * len(ids)
        _, parts = self.apart(ids)
        for number, (own, (places, words)) in enumerate(zip(self.constructors, parts)):
            fields = [self._encoding.decode(column, type_) for column, type_ in zip(words, own.fields)]
            head = [[number] * len(places)] if own.start else []
            items: Iterator[tuple[Any, ...]] = zip(*head, *fields) if head or fields else iter([()] * len(places))
            for place, each in zip(places.tolist(), items):
                made[place] = own.make(each)
        return made

    def inside(self, ids: npt.NDArray[Any]) -> Iterator[tuple[Type, Words]]:
        _, parts = self.apart(ids)
        for own, (_, words) in zip(self.constructors, parts):
            yield from zip(own.fields, words)


def is_row_type(type_: Type, definitions: Definitions) -> bool:
    """True for tuples, structs and unions."""
    if isinstance(type_, NamedType):
        return type_.name in definitions.types and definitions.extern(type_) is None
    return isinstance(type_, TupleType)


def constructors(type_: Type, definitions: Definitions) -> tuple[Constructor, ...]:
    """Returns the constructors of a tuple, struct or union type."""
    if isinstance(type_, TupleType):
        return (Constructor(tuple(map(bare_type, type_.items)), 0, tuple),)
    assert isinstance(type_, NamedType)

    def maker(cls: Any) -> Callable[[tuple[Any, ...]], Any]:
        return lambda items: construct(cls, items)

    return tuple(
        Constructor(tuple(bare_type(field) for _, field in each.fields), each.start, maker(each.cls))
        for each in definitions.variants(type_)
    )


def _read(addresses: Words, place: int) -> Words:
    found = np.empty_like(addresses)
    k.read_words(addresses, place, found)
    return found
