"""Copies of relations as of one commit, with arrangements and tries that no epoch maintains: for queries.

A query may look up by columns that no plan arranges, or join by leapfrog. The rows are copied on first use, into a
catalog that only the readers of the commit share, and are freed with it. To copy and arrange many rows takes seconds,
so a query looks at its deadline meanwhile, and while it waits for another one that copies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import RLock, local

import numpy as np

from tidelog.engine.local.queries.store_at import StoreAt
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.storage.store import Store, Words
from tidelog.plan.statistics import Order

_ROWS_AT_ONCE = 1 << 18
_LOOK_EVERY = 0.02


class PrivateRows(Mapping[str, int]):
    """The numbers of relations in a catalog of copies; a relation is copied when its number is asked for."""

    def __init__(self, names: Mapping[str, int], at: Callable[[str], StoreAt]) -> None:
        self.catalog = Catalog([])
        self._names = names
        self._at = at
        self._numbers: dict[str, int] = {}
        self._lines: dict[str, Words] = {}
        self._lock = RLock()  # several readers may share the commit
        self._mine = local()

    @contextmanager
    def watched(self, look: Callable[[], None]) -> Iterator[None]:
        """Calls `look` again and again while this thread copies or arranges rows in the block; it may raise."""
        before, self._mine.look = self._look, look
        try:
            yield
        finally:
            self._mine.look = before

    @property
    def _look(self) -> Callable[[], None] | None:
        found: Callable[[], None] | None = getattr(self._mine, "look", None)
        return found

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keeps other threads from copying in the block; looks at the deadline until it may begin."""
        look = self._look
        while not self._lock.acquire(timeout=-1 if look is None else _LOOK_EVERY):
            assert look is not None
            look()
        try:
            yield
        finally:
            self._lock.release()

    def __getitem__(self, name: str) -> int:
        number = self._numbers.get(name)
        if number is None:
            with self._locked():
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
        at, look = self._at(name), self._look
        lines = at.lines()
        (number,) = self.catalog.add([at.columns])
        store = self.catalog.stores[number]
        try:
            words: Words = np.empty((len(lines), at.columns), dtype=np.int64)
            for start in range(0, len(lines), _ROWS_AT_ONCE):
                if look is not None:
                    look()
                words[start : start + _ROWS_AT_ONCE] = at.words(lines[start : start + _ROWS_AT_ONCE])
            if len(lines):
                store.fill(words, is_read=False, look=look)
                store.commit()
        except BaseException:
            self.catalog.give_back([number])
            raise
        self._lines[name] = lines
        self._numbers[name] = number
        return number

    def arrangement(self, number: int, columns: tuple[int, ...] | Order) -> int:
        """Returns the line of an arrangement in the catalog; see `Catalog.arrangement`."""
        with self._locked():
            return self.catalog.arrangement(number, columns)

    def arrange(self, number: int, columns: tuple[int, ...] | Order) -> Store:
        """Returns the copy of a relation, with an arrangement, or a trie, by these columns."""
        store = self.catalog.stores[number]
        with self._locked():
            store.arrange(columns, self._look)
        return store

    def bucket(self, name: str, columns: tuple[int, ...], key: Words) -> Words:
        """Returns the lines, in the store itself, of the rows with these words in these columns."""
        store = self.arrange(self[name], columns)
        found: Words = self._lines[name][store.bucket(columns, key)]
        return found

    def bytes(self) -> int:
        """Returns the memory of the copies."""
        return sum(store.bytes() for store in list(self.catalog.stores))
