"""`Vec`: values in a row, ordered like words in a dictionary.

A vector never changes, and yet a loop that pushes n items takes O(n): the vectors of such a loop share one growing
list, each of them knowing how much of it is its own. Only the newest can grow in place; pushing to an older one copies.
As soon as a vector is compared or hashed it takes its items as a tuple and lets go of the list.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any


class Vec:
    """Immutable; `Vec([1, 2])`. `items` is the tuple; iteration, `len`, `[i]` and `in` are as for that."""

    __slots__ = ("_hash", "_list", "_size", "_tuple")

    _tuple: tuple[Any, ...] | None
    _list: list[Any] | None
    _size: int
    _hash: int | None

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self._tuple = found = tuple(items)
        self._list = None
        self._size = len(found)
        self._hash = None

    @property
    def items(self) -> tuple[Any, ...]:
        found = self._tuple
        if found is None:
            assert self._list is not None
            # In this order, so that another thread always finds one of the two.
            found = self._tuple = tuple(islice(self._list, self._size))
            self._list = None
        return found

    def push(self, item: Any) -> Vec:
        """Returns a vector with one more item; O(1) on the newest of a chain of pushes."""
        shared, size = self._list, self._size
        if shared is None:
            shared = [*self.items, item]
        else:
            if len(shared) == size:
                shared.append(item)
            # Another thread may have pushed to this very vector in between; then the place is not ours.
            if len(shared) <= size or shared[size] is not item:
                shared = [*islice(shared, size), item]
        return _sharing(shared, size + 1)

    def extend(self, items: Iterable[Any]) -> Vec:
        """Returns a vector with the items behind its own."""
        return Vec((*self, *items))

    def replace(self, index: int, item: Any) -> Vec:
        """Returns a vector with another item at a place that exists."""
        items = list(self)
        items[index] = item
        return Vec(items)

    def truncate(self, size: int) -> Vec:
        """Returns a vector of the first `size` items, or of all if there are fewer."""
        return self if size >= self._size else Vec(islice(self, size))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        shared = self._list
        return iter(self.items) if shared is None else islice(shared, self._size)

    def __getitem__(self, index: int) -> Any:
        shared = self._list
        if shared is None or not 0 <= index < self._size:
            return self.items[index]
        return shared[index]

    def __contains__(self, item: object) -> bool:
        return item in self.items

    def __eq__(self, other: object) -> bool:
        return self.items == other.items if isinstance(other, Vec) else NotImplemented

    def __lt__(self, other: Vec) -> bool:
        return self.items < other.items

    def __le__(self, other: Vec) -> bool:
        return self.items <= other.items

    def __gt__(self, other: Vec) -> bool:
        return self.items > other.items

    def __ge__(self, other: Vec) -> bool:
        return self.items >= other.items

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self.items)
        return self._hash

    def __repr__(self) -> str:
        return f"Vec({list(self)!r})"

    def __reduce__(self) -> tuple[type[Vec], tuple[tuple[Any, ...]]]:
        return Vec, (self.items,)


def _sharing(shared: list[Any], size: int) -> Vec:
    vec = Vec.__new__(Vec)
    vec._tuple = vec._hash = None
    vec._list = shared
    vec._size = size
    return vec
