"""`Map`: distinct keys, sorted, each with a value.

It iterates as pairs, and two maps are ordered like their sorted pairs, lexicographically. Looking a key up takes
O(log n), a change about sqrt(n) (`blocks.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from tidelog.values import blocks as in_blocks
from tidelog.values.blocks import Block, Blocks


class Map:
    """Immutable; `Map([(k, v)])`, where of two equal keys the later counts. `items` are the sorted pairs."""

    __slots__ = ("_hash", "_items", "_keys", "_lasts", "_size", "_values")

    _keys: Blocks
    _values: Blocks
    _lasts: Block
    _size: int
    _items: tuple[tuple[Any, Any], ...] | None
    _hash: int | None

    def __init__(self, pairs: Iterable[tuple[Any, Any]] = ()) -> None:
        last = dict(pairs)
        keys = sorted(last)
        self._fill(keys, [last[key] for key in keys])

    @classmethod
    def of_sorted(cls, pairs: Iterable[tuple[Any, Any]]) -> Map:
        """Returns the map of pairs that are sorted by distinct keys. O(n)."""
        pairs = tuple(pairs)
        found = cls.__new__(cls)
        found._fill([key for key, _ in pairs], [value for _, value in pairs])
        return found

    def _fill(self, keys: list[Any], values: list[Any]) -> None:
        self._keys, self._values = in_blocks.cut(keys), in_blocks.cut(values)
        self._lasts = in_blocks.last_keys(self._keys)
        self._size = len(keys)
        self._items = self._hash = None

    def _changed(self, keys: Blocks, values: Blocks, index: int, size: int) -> Map:
        found = Map.__new__(Map)
        found._keys, found._values = keys, values
        found._lasts = in_blocks.update_lasts(self._lasts, self._keys, keys, index)
        found._size = size
        found._items = found._hash = None
        return found

    @property
    def items(self) -> tuple[tuple[Any, Any], ...]:
        if self._items is None:
            self._items = tuple(zip(self.keys, self.values))
        return self._items

    @property
    def keys(self) -> tuple[Any, ...]:
        return tuple(chain.from_iterable(self._keys))

    @property
    def values(self) -> tuple[Any, ...]:
        return tuple(chain.from_iterable(self._values))

    def get(self, key: Any, default: Any = None) -> Any:
        """Returns the value of the key, or the default."""
        block, position, found = in_blocks.find(self._keys, self._lasts, key)
        return self._values[block][position] if found else default

    def insert(self, key: Any, value: Any) -> Map:
        """Returns a map in which the key has this value."""
        place = in_blocks.find(self._keys, self._lasts, key)
        if place[2]:
            return self._changed(self._keys, in_blocks.replace(self._values, place, value), place[0], self._size)
        keys, values = in_blocks.insert(self._keys, place, key), in_blocks.insert(self._values, place, value)
        return self._changed(keys, values, place[0], self._size + 1)

    def remove(self, key: Any) -> Map:
        """Returns a map without the key."""
        place = in_blocks.find(self._keys, self._lasts, key)
        if not place[2]:
            return self
        keys, values = in_blocks.remove(self._keys, place), in_blocks.remove(self._values, place)
        return self._changed(keys, values, place[0], self._size - 1)

    def union(self, other: Map) -> Map:
        """Returns all keys of both, with the other's value where both have the key."""
        if other._size * 16 < self._size:
            found = self
            for key, value in other:
                found = found.insert(key, value)
            return found
        return Map(chain(self, other))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return iter(self.items)

    def __contains__(self, key: object) -> bool:
        return in_blocks.find(self._keys, self._lasts, key)[2]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Map):
            return NotImplemented
        return self._size == other._size and self.items == other.items

    def __lt__(self, other: Map) -> bool:
        return self.items < other.items

    def __le__(self, other: Map) -> bool:
        return self.items <= other.items

    def __gt__(self, other: Map) -> bool:
        return self.items > other.items

    def __ge__(self, other: Map) -> bool:
        return self.items >= other.items

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self.items)
        return self._hash

    def __repr__(self) -> str:
        return f"Map({list(self)!r})"

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return Map.of_sorted, (self.items,)
