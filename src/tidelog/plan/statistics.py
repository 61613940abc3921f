"""Statistics of relations for the planner: how many rows there are, how many share a key, and the cost of an index.

Everything is counted in rows looked at per probe, so that a short bucket behind an arrangement that must first be built
can be compared with a longer one behind an arrangement that exists.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

Keys = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Order:
    """All columns of a relation in the order of a trie."""

    columns: Keys


class Statistics(Protocol):
    """Statistics of the present relations, or estimates."""

    def rows(self, relation: str) -> float:
        """Returns the number of rows."""

    def bucket(self, relation: str, keys: Keys, columns: int) -> float:
        """Returns how many rows, on average, have the same words in these of its `columns` columns."""

    def setup(self, relation: str, keys: Keys) -> float:
        """Returns the cost of building the arrangement by these columns, per probe; 0 if it exists."""

    def arranged(self, relation: str) -> Collection[Keys]:
        """Returns the keys by which the relation is arranged."""


@dataclass(frozen=True, slots=True)
class FromSizes:
    """Statistics from the numbers of rows alone: all columns are equally selective."""

    sizes: Callable[[str], int]

    def rows(self, relation: str) -> float:
        return self.sizes(relation)

    def bucket(self, relation: str, keys: Keys, columns: int) -> float:
        return even_bucket(self.sizes(relation), keys, columns)

    def setup(self, relation: str, keys: Keys) -> float:
        return 0.0

    def arranged(self, relation: str) -> Collection[Keys]:
        return ()


def even_bucket(rows: float, keys: Keys, columns: int) -> float:
    """Returns the rows that share a key if nothing is known but their number."""
    return float(max(rows, 1) ** (1.0 - len(keys) / columns))
