"""`Set`: distinct values, sorted; and `SizedSet`, the same with another order between sets.

Two sets are ordered like their sorted items, lexicographically; sized sets (the language's `HashSet` and `Set64`) by
their sizes first. Looking an item up takes O(log n), adding or removing one about sqrt(n) (`blocks.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from typing import Any, Self

from tidelog.values import blocks as in_blocks
from tidelog.values.blocks import Block, Blocks


class Set:
    """Immutable; `Set([2, 1, 2])`. `items` is the sorted tuple; iteration, `len`, `[i]` follow it."""

    __slots__ = ("_blocks", "_hash", "_items", "_lasts", "_size")

    _blocks: Blocks
    _lasts: Block
    _size: int
    _items: tuple[Any, ...] | None
    _hash: int | None

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self._fill(in_blocks.cut(sorted(set(items))))

    @classmethod
    def of_sorted(cls, items: Iterable[Any]) -> Self:
        """Returns the set of items that are already sorted; equal ones may stand side by side. O(n)."""
        found = cls.__new__(cls)
        found._fill(in_blocks.cut([item for item, _ in groupby(items)]))
        return found

    def _fill(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._lasts = in_blocks.last_keys(blocks)
        self._size = sum(map(len, blocks))
        self._items = self._hash = None

    def _changed(self, blocks: Blocks, index: int, size: int) -> Self:
        found = type(self).__new__(type(self))
        found._blocks = blocks
        found._lasts = in_blocks.update_lasts(self._lasts, self._blocks, blocks, index)
        found._size = size
        found._items = found._hash = None
        return found

    @property
    def items(self) -> tuple[Any, ...]:
        if self._items is None:
            self._items = tuple(chain.from_iterable(self._blocks))
        return self._items

    def add(self, item: Any) -> Self:
        """Returns a set that has the item."""
        place = in_blocks.find(self._blocks, self._lasts, item)
        if place[2]:
            return self
        return self._changed(in_blocks.insert(self._blocks, place, item), place[0], self._size + 1)

    def remove(self, item: Any) -> Self:
        """Returns a set that does not have the item."""
        place = in_blocks.find(self._blocks, self._lasts, item)
        if not place[2]:
            return self
        return self._changed(in_blocks.remove(self._blocks, place), place[0], self._size - 1)

    def union(self, other: Set) -> Self:
        """Returns the items of both; O(n) of the two together, less where one is far smaller."""
        if other._size * 16 < self._size:
            found = self
            for item in other:
                found = found.add(item)
            return found
        # Two sorted runs are merged in linear time.
        return self.of_sorted(sorted((*self, *other)))

    def intersection(self, other: Set) -> Self:
        """Returns the items that are in both, O(n log n) of the smaller."""
        few, many = (self, other) if self._size <= other._size else (other, self)
        return self.of_sorted(item for item in few if item in many)

    def difference(self, other: Set) -> Self:
        """Returns the items that the other does not have."""
        return self.of_sorted(item for item in self if item not in other)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self._blocks)

    def __getitem__(self, index: int) -> Any:
        return self.items[index]

    def __contains__(self, item: object) -> bool:
        return in_blocks.find(self._blocks, self._lasts, item)[2]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Set):
            return NotImplemented
        return self._size == other._size and self.items == other.items

    def _key(self) -> tuple[Any, ...]:
        return self.items

    def __lt__(self, other: Set) -> bool:
        return self._key() < other._key()

    def __le__(self, other: Set) -> bool:
        return self._key() <= other._key()

    def __gt__(self, other: Set) -> bool:
        return self._key() > other._key()

    def __ge__(self, other: Set) -> bool:
        return self._key() >= other._key()

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self.items)
        return self._hash

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self)!r})"

    def __reduce__(self) -> tuple[Any, tuple[tuple[Any, ...]]]:
        return type(self).of_sorted, (self.items,)


class SizedSet(Set):
    """A set that comes before every larger one; sets of one size are ordered like their items."""

    __slots__ = ()

    def _key(self) -> tuple[Any, ...]:
        return (self._size, *self.items)
