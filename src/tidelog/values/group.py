"""`Group`: what `group_by` gives: a key, and the values that have it, each with its weight."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import total_ordering
from typing import Any


@total_ordering
class Group:
    """Immutable. `items` are pairs of a value and its weight, in the order of the values; it iterates as those.

    Values are distinct, except where a program keeps the duplicates of its groups.
    """

    __slots__ = ("_hash", "items", "key")

    key: Any
    items: tuple[tuple[Any, int], ...]
    _hash: int | None

    def __init__(self, key: Any, items: Iterable[tuple[Any, int]]) -> None:
        self.key = key
        self.items = tuple(items)
        self._hash = None

    @property
    def values(self) -> tuple[Any, ...]:
        return tuple(value for value, _ in self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[tuple[Any, int]]:
        return iter(self.items)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Group):
            return NotImplemented
        return bool(self.key == other.key) and self.items == other.items

    def __lt__(self, other: Group) -> bool:
        return (self.key, self.items) < (other.key, other.items)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.key, self.items))
        return self._hash

    def __repr__(self) -> str:
        return f"Group({self.key!r}, {list(self.items)!r})"

    def __reduce__(self) -> tuple[type[Group], tuple[Any, ...]]:
        return Group, (self.key, self.items)
