"""The pool of a struct, union or tuple type: a value is a row of words, the number of its constructor and its fields.

    Step{7, w}   of  typedef Walk = Nil | Step{at: u32, rest: Ref<Walk>}          1, 7, the id of w

A field that is not a word is an id in the pool of its type, so a chain of values shares its rest, and equal values have
equal rows. Kernels build and read rows; Python objects are made when somebody looks, by a stack of its own, so values
may be nested as deep as memory allows. `reclaim_values` marks the values inside values that are in use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tidelog.deep_recursion import deeply
from tidelog.engine.local.encoding import pool as pools
from tidelog.engine.local.encoding.bare_type import bare_type
from tidelog.engine.local.encoding.bytes_pool import BytesPool
from tidelog.engine.local.encoding.pool import Pool, Value, Words
from tidelog.engine.local.encoding.text_column import TextColumn
from tidelog.engine.local.kernels import string_pool as k
from tidelog.types import NamedType, TupleType, Type, is_word
from tidelog.values.definitions import Definitions
from tidelog.values.structs import construct

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


@dataclass(frozen=True, slots=True)
class Constructor:
    """A constructor: the types of its fields, the place of the first one in a Python value, and how to make a value."""

    fields: tuple[Type, ...]
    start: int
    make: Callable[[tuple[Any, ...]], Any]


class RowPool(BytesPool):
    """The interned values of one type; see `Pool`."""

    def __init__(self, type_: Type, encoding: Encoding) -> None:
        super().__init__()
        self._encoding = encoding
        self.constructors = _constructors(type_, encoding.definitions)
        self.is_recursive = _is_recursive(type_, encoding.definitions)
        # Some Python objects and their ids, so that a chain is not made again, or taken apart, for each link.
        self._objects: dict[int, Value] = {}
        self._numbers: dict[int, tuple[Value, int]] = {}  # by the address of the object, which is held
        self._reserved: dict[Value, int] = {}
        self._is_filling = False

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
        return None if found is None else found[1]

    def _remember(self, value: Value, number: int) -> None:
        if len(self._objects) >= _REMEMBERED or len(self._numbers) >= _REMEMBERED:
            self._forget()
        self._objects[number] = value
        self._numbers[id(value)] = value, number

    def _row_id(self, making: _Making, *, add: bool) -> int | None:
        data = np.array(making.words, dtype=np.int64).tobytes()
        with self._lock:
            if not add:
                return self._find_bytes(data)
            if self._is_filling:
                # The next id to be used is the reserved one; there are no other free ids then.
                number = self._reserved.get(making.value)
                self._header[k.FREE] = 0 if number is None or self._spans.array[number, 1] >= 0 else number + 1
            return self._intern_bytes(data)

    # Ids → values

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

    def value(self, number: int) -> Value:
        known = self._objects.get(number)
        return self._to_python(number, {}) if known is None else known

    def decode(self, ids: npt.NDArray[Any]) -> list[Value]:
        if len(ids) <= _FEW:
            return [self.value(number) for number in ids.tolist()]
        distinct, codes = np.unique(ids, return_inverse=True)
        if self.is_recursive:
            known: dict[tuple[RowPool, int], Value] = {}
            made = [self._to_python(number, known) for number in distinct.tolist()]
        else:
            made = self._decode_columns(distinct)
        return [made[code] for code in codes.tolist()]

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

    def _to_python(self, number: int, known: dict[tuple[RowPool, int], Value]) -> Value:
        """Returns the value of an id; `known` has the values made so far."""
        stack: list[tuple[RowPool, int]] = [(self, number)]
        while stack:
            pool, each = stack[-1]
            if (pool, each) in known:
                stack.pop()
                continue
            remembered = pool._objects.get(each)
            if remembered is not None:
                known[pool, each] = remembered
                continue
            own, words = pool._row(each)
            inside = list(zip(pool._inner(own), words))
            missing = [(inner, word) for inner, word in inside if inner is not None and (inner, word) not in known]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            constructor = pool.constructors[own]
            fields = [
                self._encoding.decoder(type_)(word) if inner is None else known[inner, word]
                for (inner, word), type_ in zip(inside, constructor.fields)
            ]
            made = constructor.make((own, *fields) if constructor.start else tuple(fields))
            known[pool, each] = made
            pool._remember(made, each)
        return known[self, number]

    def _row(self, number: int) -> tuple[int, list[int]]:
        """Returns the constructor of a value, and the words of its fields."""
        with self._lock:
            start, length = self._spans.array[number].tolist()
            words = self._arena.array[start : start + length].view(np.int64).tolist()
        return words[0], words[1:]

    def _inner(self, constructor: int) -> list[RowPool | None]:
        """Returns the pools of the fields of a constructor that are rows themselves."""
        found: list[RowPool | None] = []
        for type_ in self.constructors[constructor].fields:
            pool = None if is_word(type_) else self._encoding.pool(type_)
            found.append(pool if isinstance(pool, RowPool) else None)
        return found

    def inner_pools(self) -> list[list[Pool | None]]:
        """Returns the pools of the fields, constructor by constructor; None for a field that is its word."""
        return [
            [None if is_word(type_) else self._encoding.pool(type_) for type_ in own.fields]
            for own in self.constructors
        ]

    # Memory that is given back, and checkpoints

    def constant(self, value: Value) -> int:
        known = self.intern(value)
        self._constants.add(known)
        return known

    def _forget(self) -> None:
        self._objects, self._numbers = {}, {}

    def copy_values(self) -> CapturedRows:
        """Returns the values by their ids, to be made when they are read; nothing may be swept until then."""
        return CapturedRows(self, self._spans.array[: self.id_end, 1] >= 0)

    def reserve(self, values: Sequence[Value]) -> None:
        """Reserves the ids of values that `fill` will add, also where they are added inside other values before."""
        self._spans.make_room(len(values))
        self._spans.array[: len(values)] = (0, -1)
        self._header[k.USED] = len(values)
        self._look_at_memory()
        self._reserved = {value: number for number, value in enumerate(values) if value is not None}
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

    def __init__(self, pool: RowPool, present: npt.NDArray[np.bool_]) -> None:
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

    __slots__ = ("_fields", "_place", "is_missing", "pool", "value", "words")

    def __init__(self, pool: RowPool, value: Value) -> None:
        self.pool = pool
        self.value = value
        number = value[0] if len(pool.constructors) > 1 else 0
        self.words: list[int] = [number]
        self.is_missing = False
        self._fields = pool.constructors[number]
        self._place = 0

    def advance(self, *, add: bool) -> _Making | None:
        """Adds words until a field is a row that has to be made first; returns that one, or None at the end."""
        encoding, own = self.pool._encoding, self._fields
        while self._place < len(own.fields):
            type_, item = own.fields[self._place], self.value[own.start + self._place]
            self._place += 1
            if is_word(type_):
                self.words.append(encoding.encoder(type_)(item))
                continue
            pool = encoding.pool(type_)
            if isinstance(pool, RowPool):
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


def is_row_type(type_: Type, definitions: Definitions) -> bool:
    """True for tuples, structs and unions."""
    if isinstance(type_, NamedType):
        return type_.name in definitions.types and definitions.extern(type_) is None
    return isinstance(type_, TupleType)


def _constructors(type_: Type, definitions: Definitions) -> tuple[Constructor, ...]:
    if isinstance(type_, TupleType):
        return (Constructor(tuple(map(bare_type, type_.items)), 0, tuple),)
    assert isinstance(type_, NamedType)

    def maker(cls: Any) -> Callable[[tuple[Any, ...]], Any]:
        return lambda items: construct(cls, items)

    return tuple(
        Constructor(tuple(bare_type(field) for _, field in each.fields), each.start, maker(each.cls))
        for each in definitions.variants(type_)
    )


def _is_recursive(type_: Type, definitions: Definitions) -> bool:
    """True if a row of the type can hold another row of the type, however deep inside."""
    seen: set[Type] = set()
    pending = [field for own in _constructors(type_, definitions) for field in own.fields]
    while pending:
        each = pending.pop()
        if each == type_:
            return True
        if each not in seen and is_row_type(each, definitions):
            seen.add(each)
            pending.extend(field for own in _constructors(each, definitions) for field in own.fields)
            if len(seen) > 100:  # a type that holds itself with ever other arguments
                return True
    return False


def _read(addresses: Words, place: int) -> Words:
    found = np.empty_like(addresses)
    k.read_words(addresses, place, found)
    return found
