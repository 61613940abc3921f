"""The rows of one commit, looked up by any columns: the input of explanations and queries.

A look-up by columns that an epoch's plans arrange reads that arrangement, beside the epochs that run. By other columns
it scans. When the scans of one commit have taken as long as a copy, it reads a copy of the relation with an arrangement
of its own (`private_rows`): no epoch pays for a query that was run once. Columns by which queries look up again and
again, over many commits, get an arrangement at the next commit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from threading import Lock

import numpy as np

from tidelog.engine.local.encoding.words import Values, Words
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.queries.lookup import Indexer
from tidelog.engine.local.queries.private_rows import PrivateRows
from tidelog.engine.local.queries.store_at import StoreAt
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.storage.versions import Pins
from tidelog.engine.local.storage.weighted_table import Bag, Row, Table, add_weight
from tidelog.plan.statistics import Order
from tidelog.rules.analysis.copies import Copies, Copy
from tidelog.rules.ir import RuleProgram

_FIRST_CHUNK, _LARGEST_CHUNK = 64, 65_536
_SCANS = 32  # look-ups by other columns that scan: to copy and arrange the rows takes about as long
_MANY_USES = 256  # look-ups by other columns, of all commits, before the next commit arranges the rows
_UNKNOWN_SIZE = 1000
_Index = dict[Row, list[tuple[Row, int]]]
Derive = Callable[[str, tuple[int, ...], Row], Iterator[Row]]


class CommittedView:
    """Rows are tuples of words. `at` returns the store of a relation as of the commit; `tables` are those of the
    relations whose rows have weights. `on_demand` are hidden relations that no epoch derives, and `derive` does.
    """

    def __init__(
        self,
        program: RuleProgram,
        commit: int,
        pins: Pins,
        names: Mapping[str, int],
        at: Callable[[str], StoreAt],
        values: Values,
        tables: Mapping[str, Table],
        copies: Copies,
        indexer: Indexer,
        on_demand: Collection[str] = (),
    ) -> None:
        self.program = program
        self.values = values
        self.at = at
        self._pins = pins
        self._commit = commit
        self._tables = tables
        self._copies = copies.places
        self._indexer = indexer
        self._on_demand = on_demand
        self.derive: Derive | None = None
        self.sizes: Mapping[str, int] = {}
        self.private = PrivateRows(names, at)
        self._scans: dict[tuple[str, tuple[int, ...]], int] = {}
        self._lock = Lock()
        self._bags: dict[str, Bag] = {}
        self._indexes: dict[tuple[str, tuple[int, ...]], _Index] = {}

    @property
    def catalog(self) -> Catalog:
        """The catalog of the copies, for kernels."""
        return self.private.catalog

    @property
    def numbers(self) -> Mapping[str, int]:
        """The numbers of relations in `catalog`."""
        return self.private

    @property
    def weighted(self) -> Collection[str]:
        """The relations whose rows have weights."""
        return self._tables.keys()

    def arrange(self, number: int, columns: tuple[int, ...] | Order) -> None:
        """Arranges the copy with this number, unless it is arranged so."""
        self.private.arrange(number, columns)

    def size(self, relation: str) -> int:
        """Returns the number of rows of a relation."""
        if relation in self._copies:
            relation = self._copies[relation].of
        if relation in self.sizes:
            return self.sizes[relation]
        return _UNKNOWN_SIZE if self._is_on_demand(relation) else len(self.at(relation))

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
        if self._is_on_demand(relation):
            assert self.derive is not None
            for row in self.derive(relation, columns, key):
                yield row, 1
            return
        at = self.at(relation)
        if len(columns) == at.columns:
            # The columns of a plan come in their order: the key is the row.
            line = self._find_line(at, key)
            if line >= 0 and (below is None or int(at.ranks(np.array([line]))[0]) < below):
                yield key, 1
            return
        lines = self._lines(relation, at, columns, key)
        start, size = 0, _FIRST_CHUNK
        while start < len(lines):
            chunk = lines[start : start + size]
            start, size = start + size, min(size * 4, _LARGEST_CHUNK)
            if below is not None:
                chunk = chunk[at.ranks(chunk) < below]
            for row in at.words(chunk).tolist():
                yield tuple(row), 1

    def weight(self, relation: str, row: Row) -> int:
        """Returns the weight of a row, 0 if it is absent; in a set it is 1."""
        if relation in self._tables:
            return self._pins.steady(lambda: self._weight(self._tables[relation], row))
        if relation in self._copies or self._is_on_demand(relation):
            return len(list(self.find(relation, tuple(range(len(row))), row)))
        return 1 if self._find_line(self.at(relation), row) >= 0 else 0

    def rank(self, relation: str, row: Row) -> int:
        """Returns the rank of a present row."""
        at = self.at(relation)
        return int(at.ranks(np.array([self._find_line(at, row)]))[0])

    def is_input(self, relation: str, row: Row) -> bool:
        """True if a present row was given as a fact (or is held like one)."""
        return self._numbers(relation, row)[1] & k.INPUT_BIT != 0

    def total(self, relation: str, row: Row) -> int:
        """Counts the rule instances that derive a present row, one more if it is an input fact."""
        return self._numbers(relation, row)[0]

    def decode(self, relation: str, row: Row) -> tuple[object, ...]:
        """Decodes a row of words to Python values."""
        columns = self.program.relations[relation].columns
        return tuple(self.values.decoder(column.type)(word) for column, word in zip(columns, row))

    def bag(self, relation: str) -> Bag:
        """Returns the rows of a weighted relation with their weights. Not to be changed."""
        with self._lock:
            found = self._bags.get(relation)
        if found is None:
            found = self._pins.steady(lambda: self._bag(self._tables[relation]))
            with self._lock:
                self._bags[relation] = found
        return found

    def _is_on_demand(self, relation: str) -> bool:
        return relation in self._on_demand and not len(self.at(relation))

    def _numbers(self, relation: str, row: Row) -> tuple[int, int]:
        at = self.at(relation)
        totals, metas = at.numbers(np.array([self._find_line(at, row)]))
        return int(totals[0]), int(metas[0])

    @staticmethod
    def _find_line(at: StoreAt, row: Sequence[int]) -> int:
        return at.find(np.array([*row, 0], dtype=np.int64))

    def _lines(self, relation: str, at: StoreAt, columns: tuple[int, ...], key: Row) -> Words:
        if not columns:
            return at.lines()
        words = np.array(key, dtype=np.int64)
        found = at.bucket(columns, words)
        if found is not None:
            return found
        store = at.store
        if at.arrangement(columns) is None and store.catalog.note_use(store.relation, columns) >= _MANY_USES:
            self._indexer.want(store, columns)
        scans = self._scans[relation, columns] = self._scans.get((relation, columns), 0) + 1
        return at.scan(columns, words) if scans <= _SCANS else self.private.bucket(relation, columns, words)

    def _copied(self, copy: Copy, columns: tuple[int, ...], key: Row) -> Iterator[tuple[Row, int]]:
        """Yields the rows of a relation that is not stored, from the one that has them."""
        own = sorted(zip((copy.columns[column] for column in columns), key))
        for row, weight in self.find(copy.of, tuple(column for column, _ in own), tuple(word for _, word in own)):
            yield tuple(row[column] for column in copy.columns), weight

    # Rows with weights

    def _weight(self, table: Table, row: Row) -> int:
        later = sum(delta.get(row, 0) for commit, delta in table.history if commit > self._commit)
        return table.weights.get(row, 0) - later

    def _bag(self, table: Table) -> Bag:
        bag = dict(table.weights)
        for commit, delta in table.history:
            if commit > self._commit:
                for row, weight in delta.items():
                    add_weight(bag, row, -weight)
        return bag

    def _weighted(self, relation: str, columns: tuple[int, ...], key: Row) -> list[tuple[Row, int]]:
        index = self._indexes.get((relation, columns))
        if index is None:
            index = self._indexes[relation, columns] = _indexed(self.bag(relation), columns)
        return index.get(key, [])


def _indexed(rows: Bag, columns: tuple[int, ...]) -> _Index:
    index: _Index = {}
    for row, weight in rows.items():
        index.setdefault(tuple(row[column] for column in columns), []).append((row, weight))
    return index
