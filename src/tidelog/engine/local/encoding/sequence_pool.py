"""The pool of a `Vec`, `Set` or `Map` type: a value is the words of its items, in their order.

    Vec<u8>     [7, 9]             7, 9
    Map<K, V>   [k -> v, l -> w]   k, v, l, w      (keys and values in turns)

The items of a set and the keys of a map are sorted and distinct, so equal collections have equal words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, cycle
from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding.bare_type import bare_type
from tidelog.engine.local.encoding.pool import Value, Words
from tidelog.engine.local.encoding.row_pool import constructors, is_row_type
from tidelog.engine.local.encoding.text_column import TextColumn
from tidelog.engine.local.encoding.words_pool import Encoding, WordsPool
from tidelog.types import NamedType, Type
from tidelog.values.definitions import Definitions
from tidelog.values.maps import Map
from tidelog.values.sets import Set
from tidelog.values.vec import Vec

VEC, SET, MAP = "ddlog_std::Vec", "ddlog_std::Set", "ddlog_std::Map"
_MAKERS: dict[str, Callable[[Iterable[Any]], Any]] = {VEC: Vec, SET: Set.of_sorted, MAP: Map.of_sorted}
_MANY = 16


class SequencePool(WordsPool):
    """The interned collections of one type; see `Pool`. `types` are those of an item, or of a key and a value."""

    def __init__(self, type_: NamedType, encoding: Encoding, *, is_recursive: bool) -> None:
        super().__init__(encoding, is_recursive=is_recursive)
        self.types = tuple(map(bare_type, type_.arguments))
        self.width = len(self.types)
        self._make = _MAKERS[type_.name]

    def _opened(self, value: Value) -> tuple[list[int], Iterator[tuple[Type, Value]]]:
        return [], zip(cycle(self.types), value if self.width == 1 else chain.from_iterable(value))

    def _typed(self, words: list[int]) -> tuple[int, list[tuple[Type, int]]]:
        return 0, list(zip(cycle(self.types), words))

    def _assembled(self, constructor: int, items: list[Value]) -> Value:
        return self._make(items if self.width == 1 else zip(items[::2], items[1::2]))

    def item_types(self) -> tuple[Type, ...]:
        return self.types

    def intern(self, value: Value) -> int:
        if self.is_recursive or self._is_filling or len(value) <= _MANY:
            return super().intern(value)
        known = self._known(value)
        if known is None:
            known = int(self._intern_columns([value])[0])
            self._remember(value, known)
        return known

    def _intern_columns(self, values: Sequence[Value]) -> Words:
        lengths = np.fromiter(map(len, values), np.int64, len(values))
        items: list[Any] = list(chain.from_iterable(values))
        if self.width == 1:
            columns = [self._encoding.encode(items, self.types[0])]
        else:
            columns = [self._encoding.encode([item[i] for item in items], type_) for i, type_ in enumerate(self.types)]
        return self.intern_rows(lengths, columns)

    def intern_rows(self, lengths: Words, columns: Sequence[Words]) -> Words:
        """Returns the ids of collections of so many items each; the words of all items are one after the other."""
        rows = np.empty((max(len(columns[0]), 1), self.width), dtype=np.int64)
        for i, words in enumerate(columns):
            rows[: len(words), i] = words
        sizes = lengths * (8 * self.width)
        return self.intern_column(TextColumn(rows.ctypes.data + np.cumsum(sizes) - sizes, sizes, (rows,)))

    def apart(self, ids: npt.NDArray[Any]) -> tuple[Words, list[Words]]:
        """Returns the number of items of each collection, and the words of all items, a column for each type."""
        found = self.locate(ids)
        words = found.gathered().view(np.int64).reshape(-1, self.width)
        return found.lengths // (8 * self.width), [np.ascontiguousarray(words[:, i]) for i in range(self.width)]

    def _decode_columns(self, ids: npt.NDArray[Any]) -> list[Value]:
        lengths, columns = self.apart(ids)
        decoded = [self._encoding.decode(words, type_) for words, type_ in zip(columns, self.types)]
        items: list[Any] = decoded[0] if self.width == 1 else list(zip(*decoded))
        ends = np.cumsum(lengths).tolist()
        return [self._make(items[start:end]) for start, end in zip([0, *ends], ends)]

    def inside(self, ids: npt.NDArray[Any]) -> Iterator[tuple[Type, Words]]:
        _, columns = self.apart(ids)
        yield from zip(self.types, columns)


def is_sequence_type(type_: Type) -> bool:
    """True for `Vec`, `Set` and `Map`."""
    return isinstance(type_, NamedType) and type_.name in _MAKERS


def is_recursive_type(type_: Type, definitions: Definitions) -> bool:
    """True if a value of the type can hold another of the type, however deep inside."""
    seen: set[Type] = set()
    pending = list(_items(type_, definitions))
    while pending:
        each = pending.pop()
        if each == type_:
            return True
        if each not in seen:
            seen.add(each)
            pending.extend(_items(each, definitions))
            if len(seen) > 100:  # a type that holds itself with ever other arguments
                return True
    return False


def _items(type_: Type, definitions: Definitions) -> Iterable[Type]:
    """Returns the types of the values inside a value."""
    if isinstance(type_, NamedType) and is_sequence_type(type_):
        return map(bare_type, type_.arguments)
    if is_row_type(type_, definitions):
        return [field for own in constructors(type_, definitions) for field in own.fields]
    return ()
