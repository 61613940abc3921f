"""The committed rows of a local engine, looked up by any columns: the input of explanations and queries.

A look-up by columns that no plan arranges needs an arrangement of its own. It is built on first use, serves all
look-ups until the next epoch begins, and is freed then: no epoch pays for a query that was run once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np

from tidelog.engine.local.encoding.words import Values, Words
from tidelog.engine.local.epoch.cancellation import Cancellation
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.storage.store import Store
from tidelog.engine.local.storage.weighted_table import Bag, Row, Table
from tidelog.plan.statistics import Order
from tidelog.rules.analysis.copies import Copies, Copy
from tidelog.rules.ir import RuleProgram

_FIRST_CHUNK, _LARGEST_CHUNK = 64, 65_536
_Index = dict[Row, list[tuple[Row, int]]]


class CommittedView:
    """Rows are tuples of words. `tables` are those of the relations whose rows have weights."""

    def __init__(
        self,
        program: RuleProgram,
        catalog: Catalog,
        numbers: Mapping[str, int],
        values: Values,
        tables: Mapping[str, Table],
        copies: Copies,
    ) -> None:
        self.program = program
        self.values = values
        self.catalog = catalog
        self.numbers = numbers
        self._tables = tables
        self._copies = copies.places
        self.sizes: Mapping[str, int] = {}
        self._built: list[tuple[Store, tuple[int, ...] | Order]] = []
        self._indexes: dict[tuple[str, tuple[int, ...]], _Index] = {}

    def release(self) -> None:
        """Frees the arrangements built for look-ups; called before the next epoch."""
        for store, columns in self._built:
            store.disarrange(columns)
        self._built.clear()
        self._indexes.clear()

    @property
    def weighted(self) -> Collection[str]:
        """The relations whose rows have weights."""
        return self._tables.keys()

    def arrange(self, number: int, columns: tuple[int, ...] | Order) -> None:
        """Builds an arrangement, or a trie, of the relation with this number, unless there is one."""
        store = self.catalog.stores[number]
        if self.catalog.arrangement(number, columns) not in store.arrangements:
            # An interrupt must not leave half an arrangement behind.
            with Cancellation().held():
                store.arrange(columns)
                self._built.append((store, columns))

    def index(self, relation: str) -> None:
        """Builds the index on whole rows of a relation, unless there is one."""
        store = self._store(relation)
        if not store.is_indexed:
            with Cancellation().held():
                store.index()

    def size(self, relation: str) -> int:
        """Returns the number of rows of a relation."""
        if relation in self._copies:
            relation = self._copies[relation].of
        return self.sizes.get(relation, len(self._store(relation)))

    def find(
        self, relation: str, columns: tuple[int, ...], key: Row, below: int | None = None
    ) -> Iterator[tuple[Row, int]]:
        """Yields the rows with these words in these columns, each with its weight (1 in a set).

        With `below`, only those of lower rank. Rows of negative weight, which a multiset may have, are among them.
        """
        if relation in self._tables:
            yield from self._weighted(relation, columns, key)
            return
        if relation in self._copies:
            yield from self._copied(self._copies[relation], columns, key)
            return
        store = self._store(relation)
        if len(columns) == store.columns:
            # The columns of a plan come in their order: the key is the row.
            line = self._find_line(store, key)
            if line >= 0 and (below is None or self._rank_at(store, line) < below):
                yield key, 1
            return
        lines = self._lines(store, columns, key)
        start, size = 0, _FIRST_CHUNK
        while start < len(lines):
            chunk = lines[start : start + size]
            start, size = start + size, min(size * 4, _LARGEST_CHUNK)
            if below is not None:
                chunk = chunk[store.ranks_of(chunk) < below]
            for row in store.columns_of(chunk).tolist():
                yield tuple(row), 1

    def weight(self, relation: str, row: Row) -> int:
        """Returns the weight of a row, 0 if it is absent; in a set it is 1."""
        if relation in self._tables:
            return self._tables[relation].weight(row, new=False)
        if relation in self._copies:
            return len(list(self.find(relation, tuple(range(len(row))), row)))
        return 1 if self._find_line(self._store(relation), row) >= 0 else 0

    def rank(self, relation: str, row: Row) -> int:
        """Returns the rank of a present row."""
        store = self._store(relation)
        return self._rank_at(store, self._find_line(store, row))

    def is_input(self, relation: str, row: Row) -> bool:
        """True if a present row was given as a fact (or is held like one)."""
        return self._meta(relation, row) & k.INPUT_BIT != 0

    def total(self, relation: str, row: Row) -> int:
        """Counts the rule instances that derive a present row, one more if it is an input fact."""
        store = self._store(relation)
        return int(store.totals_of(np.array([self._find_line(store, row)]))[0])

    def decode(self, relation: str, row: Row) -> tuple[object, ...]:
        """Decodes a row of words to Python values."""
        columns = self.program.relations[relation].columns
        return tuple(self.values.decoder(column.type)(word) for column, word in zip(columns, row))

    def _rank_at(self, store: Store, line: int) -> int:
        return int(store.rows[line, store.columns + k.META]) >> k.RANK_SHIFT & k.RANK_MASK

    def _meta(self, relation: str, row: Row) -> int:
        store = self._store(relation)
        return int(store.rows[self._find_line(store, row), store.columns + k.META])

    def _store(self, relation: str) -> Store:
        return self.catalog.stores[self.numbers[relation]]

    def _find_line(self, store: Store, row: Row) -> int:
        if not store.is_indexed:
            with Cancellation().held():
                store.index()
        return store.find(np.array([*row, 0], dtype=np.int64))

    def _lines(self, store: Store, columns: tuple[int, ...], key: Row) -> Words:
        if not columns:
            return store.lines()
        self.arrange(store.relation, columns)
        return store.bucket(columns, np.array(key, dtype=np.int64))

    def _copied(self, copy: Copy, columns: tuple[int, ...], key: Row) -> Iterator[tuple[Row, int]]:
        """Yields the rows of a relation that is not stored, from the one that has them."""
        own = sorted(zip((copy.columns[column] for column in columns), key))
        for row, weight in self.find(copy.of, tuple(column for column, _ in own), tuple(word for _, word in own)):
            yield tuple(row[column] for column in copy.columns), weight

    def _weighted(self, relation: str, columns: tuple[int, ...], key: Row) -> list[tuple[Row, int]]:
        index = self._indexes.get((relation, columns))
        if index is None:
            index = self._indexes[relation, columns] = _indexed(self._tables[relation].weights, columns)
        return index.get(key, [])


def _indexed(rows: Bag, columns: tuple[int, ...]) -> _Index:
    index: _Index = {}
    for row, weight in rows.items():
        index.setdefault(tuple(row[column] for column in columns), []).append((row, weight))
    return index
