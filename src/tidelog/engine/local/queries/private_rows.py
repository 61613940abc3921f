"""Copies of relations as of one commit, with arrangements and tries that no epoch maintains: for queries.

A query may look up by columns that no plan arranges, or join by leapfrog. The rows are copied on first use, into a
catalog that only the readers of the commit share, and are freed with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from threading import RLock

import numpy as np

from tidelog.engine.local.queries.store_at import StoreAt
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.storage.store import Store, Words
from tidelog.plan.statistics import Order


class PrivateRows(Mapping[str, int]):
    """The numbers of relations in a catalog of copies; a relation is copied when its number is asked for."""

    def __init__(self, names: Mapping[str, int], at: Callable[[str], StoreAt]) -> None:
        self.catalog = Catalog([])
        self._names = names
        self._at = at
        self._numbers: dict[str, int] = {}
        self._lines: dict[str, Words] = {}
        self._lock = RLock()  # several readers may share the commit

    def __getitem__(self, name: str) -> int:
        number = self._numbers.get(name)
        if number is None:
            with self._lock:
                number = self._numbers.get(name)
                if number is None:
                    number = self._copied(name)
        return number

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def _copied(self, name: str) -> int:
        at = self._at(name)
        lines = at.lines()
        (number,) = self.catalog.add([at.columns])
        store = self.catalog.stores[number]
        if len(lines):
            store.fill(np.ascontiguousarray(at.words(lines)), is_read=False)
            store.commit()
        self._lines[name] = lines
        self._numbers[name] = number
        return number

    def arrangement(self, number: int, columns: tuple[int, ...] | Order) -> int:
        """Returns the line of an arrangement in the catalog; see `Catalog.arrangement`."""
        with self._lock:
            return self.catalog.arrangement(number, columns)

    def arrange(self, number: int, columns: tuple[int, ...] | Order) -> Store:
        """Returns the copy of a relation, with an arrangement, or a trie, by these columns."""
        store = self.catalog.stores[number]
        with self._lock:
            store.arrange(columns)
        return store

    def bucket(self, name: str, columns: tuple[int, ...], key: Words) -> Words:
        """Returns the lines, in the store itself, of the rows with these words in these columns."""
        store = self.arrange(self[name], columns)
        found: Words = self._lines[name][store.bucket(columns, key)]
        return found

    def bytes(self) -> int:
        """Returns the memory of the copies."""
        return sum(store.bytes() for store in list(self.catalog.stores))
