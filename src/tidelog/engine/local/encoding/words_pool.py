"""The pool of values that are rows of words: a struct is the words of its fields, a vector those of its items.

An item that is not a word is an id in the pool of its type, so a chain of values shares its rest, and equal values have
equal rows. Kernels build and read rows; Python objects are made when somebody looks, by a stack of its own, so values
may be nested as deep as memory allows. `reclaim_values` marks the values inside values that are in use.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tidelog.deep_recursion import deeply
from tidelog.engine.local.encoding import pool as pools
from tidelog.engine.local.encoding.bytes_pool import BytesPool
from tidelog.engine.local.encoding.pool import Pool, Value, Words
from tidelog.engine.local.kernels import string_pool as k
from tidelog.types import Type, is_word
from tidelog.values.definitions import Definitions

_FEW = 16
_REMEMBERED = 1 << 14


class Encoding(Protocol):
    """The conversions of words that rows are made of: `Values`."""

    definitions: Definitions

    def pool(self, type_: Type) -> Pool: ...
    def encoder(self, type_: Type) -> Callable[[Value], int]: ...
    def decoder(self, type_: Type) -> Callable[[int], Value]: ...
    def encode(self, values: list[Any], type_: Type) -> Words: ...
    def decode(self, words: npt.NDArray[Any], type_: Type) -> list[Value]: ...


class WordsPool(BytesPool, ABC):
    """The interned values of one type; see `Pool`. `is_recursive` if a value can hold another of the type."""

    def __init__(self, encoding: Encoding, *, is_recursive: bool) -> None:
        super().__init__()
        self._encoding = encoding
        self.is_recursive = is_recursive
        # Some Python objects and their ids, so that a chain is not made again, or taken apart, for each link.
        self._objects: dict[int, Value] = {}
        self._numbers: dict[int, tuple[Value, int]] = {}  # by the address of the object, which is held
        self._reserved: dict[Value, int] = {}
        self._is_filling = False

    # What a value is made of

    @abstractmethod
    def _opened(self, value: Value) -> tuple[list[int], Iterator[tuple[Type, Value]]]:
        """Returns the words before the items of a value, and the items with their types."""

    @abstractmethod
    def _typed(self, words: list[int]) -> tuple[int, list[tuple[Type, int]]]:
        """Returns the constructor of a row, and its items with their types."""

    @abstractmethod
    def _assembled(self, constructor: int, items: list[Value]) -> Value:
        """Returns the value that is made of items."""

    @abstractmethod
    def _intern_columns(self, values: Sequence[Value]) -> Words:
        """Returns the ids of values of a type that is not recursive, column by column."""

    @abstractmethod
    def _decode_columns(self, ids: npt.NDArray[Any]) -> list[Value]:
        """Returns the values of ids of a type that is not recursive, column by column."""

    @abstractmethod
    def inside(self, ids: npt.NDArray[Any]) -> Iterator[tuple[Type, Words]]:
        """Yields the words of the items of values, some at a time, with their type."""

    @abstractmethod
    def item_types(self) -> tuple[Type, ...]:
        """Returns the types of items that values can have."""

    # Values → ids

    def intern(self, value: Value) -> int:
        known = self._from_python(value, add=True)
        assert known is not None
        return known

    def find(self, value: Value) -> int | None:
        return self._from_python(value, add=False)

    def intern_all(self, values: Sequence[Value], *, distinct: bool = False) -> Words:
        if len(values) <= _FEW or self.is_recursive or self._is_filling:
            return np.array([self.intern(value) for value in values], dtype=np.int64)
        return self._intern_columns(values)

    def _from_python(self, value: Value, *, add: bool) -> int | None:
        """Returns the id of a value and interns the values inside it first; without `add`, None if any is missing."""
        known = self._known(value)
        if known is not None:
            return known
        stack = [_Making(self, value)]
        while True:
            making = stack[-1]
            inner = making.advance(add=add)
            if inner is not None:
                stack.append(inner)
                continue
            found = None if making.is_missing else making.pool._row_id(making, add=add)
            if found is None:
                return None
            making.pool._remember(making.value, found)
            stack.pop()
            if not stack:
                return found
            stack[-1].words.append(found)

    def _known(self, value: Value) -> int | None:
        """Returns the id of an object that was seen before, if it is remembered."""
        found = self._numbers.get(id(value))
        if found is not None:
            return found[1]
        if self._is_filling:
            number = self._reserved.get(value)
            if number is not None and self._spans.array[number, 1] >= 0:
                return number
        return None

    def _remember(self, value: Value, number: int) -> None:
        if len(self._objects) >= _REMEMBERED or len(self._numbers) >= _REMEMBERED:
            self._forget()
        self._objects[number] = value
        self._numbers[id(value)] = value, number

    def _row_id(self, making: _Making, *, add: bool) -> int | None:
        data = np.array(making.words, dtype=np.int64).tobytes()
        if not add:
            with self._next, self._lock:
                return self._find_bytes(data)
        with self._writing:
            if self._is_filling:
                # The next id to be used is the reserved one; there are no other free ids then.
                number = self._reserved.get(making.value)
                self._header[k.FREE] = 0 if number is None or self._spans.array[number, 1] >= 0 else number + 1
            return self._intern_bytes(data)

    # Ids → values

    def value(self, number: int) -> Value:
        known = self._objects.get(number)
        return self._to_python(number, {}) if known is None else known

    def decode(self, ids: npt.NDArray[Any]) -> list[Value]:
        if len(ids) <= _FEW:
            return [self.value(number) for number in ids.tolist()]
        distinct, codes = np.unique(ids, return_inverse=True)
        if self.is_recursive:
            known: dict[tuple[WordsPool, int], Value] = {}
            made = [self._to_python(number, known) for number in distinct.tolist()]
        else:
            made = self._decode_columns(distinct)
        return [made[code] for code in codes.tolist()]

    def _to_python(self, number: int, known: dict[tuple[WordsPool, int], Value]) -> Value:
        """Returns the value of an id; `known` has the values made so far."""
        stack: list[tuple[WordsPool, int]] = [(self, number)]
        while stack:
            pool, each = stack[-1]
            if (pool, each) in known:
                stack.pop()
                continue
            remembered = pool._objects.get(each)
            if remembered is not None:
                known[pool, each] = remembered
                continue
            own, typed = pool._typed(pool._row(each))
            inside = [(pool._inner(type_), type_, word) for type_, word in typed]
            missing = [(inner, word) for inner, _, word in inside if inner is not None and (inner, word) not in known]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            items = [
                self._encoding.decoder(type_)(word) if inner is None else known[inner, word]
                for inner, type_, word in inside
            ]
            made = pool._assembled(own, items)
            known[pool, each] = made
            pool._remember(made, each)
        return known[self, number]

    def _row(self, number: int) -> list[int]:
        """Returns the words of a value."""
        with self._next, self._lock:
            start, length = self._spans.array[number].tolist()
            words: list[int] = self._arena.array[start : start + length].view(np.int64).tolist()
        return words

    def _inner(self, type_: Type) -> WordsPool | None:
        """Returns the pool of items that are rows themselves."""
        pool = None if is_word(type_) else self._encoding.pool(type_)
        return pool if isinstance(pool, WordsPool) else None

    def inner_pools(self) -> list[Pool]:
        """Returns the pools of items that are not words."""
        return [self._encoding.pool(type_) for type_ in self.item_types() if not is_word(type_)]

    # Memory that is given back, and checkpoints

    def constant(self, value: Value) -> int:
        known = self.intern(value)
        self._constants.add(known)
        return known

    def _forget(self) -> None:
        self._objects, self._numbers = {}, {}

    def copy_values(self, used: npt.NDArray[np.bool_] | None = None) -> CapturedRows:
        """Returns the values by their ids, to be made when they are read; nothing may be swept until then.

        `used` says which ids are wanted. Values that are only inside others come back with those.
        """
        present = self._spans.array[: self.id_end, 1] >= 0
        return CapturedRows(self, present if used is None else present & used)

    def reserve(self, values: Sequence[Value]) -> None:
        """Reserves the ids of values that `fill` will add, also where they are added inside other values before."""
        self._spans.make_room(len(values))
        self._spans.array[: len(values)] = (0, -1)
        self._header[k.USED] = len(values)
        self._look_at_memory()
        self._reserved = deeply(lambda: {value: number for number, value in enumerate(values) if value is not None})
        self._is_filling = True

    def fill(self, values: Sequence[Value]) -> None:
        if not self._is_filling:
            self.reserve(values)
        deeply(self._add_all, values)  # equal values are compared to find their ids
        self._reserved, self._is_filling = {}, False
        present = np.ascontiguousarray(self._spans.array[: self.id_end, 1] >= 0)
        k.free_texts(self._header, present.view(np.uint8))
        self.limit = max(pools.SMALLEST_SWEEP, 2 * len(self))

    def _add_all(self, values: Sequence[Value]) -> None:
        for value in values:
            if value is not None:
                self._from_python(value, add=True)


class CapturedRows:
    """The values that a pool had at one moment, by their ids; None for an id that was free."""

    def __init__(self, pool: WordsPool, present: npt.NDArray[np.bool_]) -> None:
        self._pool = pool
        self._present = present.copy()

    def __len__(self) -> int:
        return len(self._present)

    def __getitem__(self, places: slice) -> list[Value]:
        present = self._present[places]
        values: list[Value] = [None] * len(present)
        numbers = np.flatnonzero(present)
        for place, value in zip(numbers.tolist(), self._pool.decode(numbers + (places.start or 0))):
            values[place] = value
        return values


class _Making:
    """A value on its way into a pool: the words of its row so far."""

    __slots__ = ("_items", "is_missing", "pool", "value", "words")

    def __init__(self, pool: WordsPool, value: Value) -> None:
        self.pool = pool
        self.value = value
        self.words, self._items = pool._opened(value)
        self.is_missing = False

    def advance(self, *, add: bool) -> _Making | None:
        """Adds words until an item is a row that has to be made first; returns that one, or None at the end."""
        encoding = self.pool._encoding
        for type_, item in self._items:
            if is_word(type_):
                self.words.append(encoding.encoder(type_)(item))
                continue
            pool = encoding.pool(type_)
            if isinstance(pool, WordsPool):
                seen = pool._known(item)
                if seen is None:
                    return _Making(pool, item)
                self.words.append(seen)
                continue
            known = pool.intern(item) if add else pool.find(item)
            if known is None:
                self.is_missing = True
                return None
            self.words.append(known)
        return None
