"""Relations in Python memory, for rules that Python runs row by row: rows of words, each with a weight.

A table has the weights of the last commit and the delta of the epoch. A row is present while its weight is above 0. The
table of a set relation mirrors the relation's store; tables of weighted relations are the only place of their weights.
A stream's table is empty between epochs: all its rows are in the epoch's delta.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.storage.store import Store, Words
from tidelog.rules.ir import Kind, RuleProgram

Row = tuple[int, ...]
Bag = dict[Row, int]
_Index = dict[Row, Bag]
_BYTES_OF_A_ROW = 200  # in a bag: the tuple, its numbers and its place


class Table:
    """The rows of one relation. `read` returns the delta of a mirrored store, once its stratum is finished."""

    def __init__(self, *, is_stream: bool = False, read: Callable[[], Bag] | None = None) -> None:
        self.is_stream = is_stream
        self.weights: Bag = {}
        self.history: tuple[tuple[int, Bag], ...] = ()  # later commits than the oldest pinned one, with their deltas
        self._delta: Bag | None = None if read else {}
        self._read = read
        self._indexes: dict[tuple[int, ...], _Index] = {}
        self._delta_indexes: dict[tuple[int, ...], _Index] = {}

    @property
    def is_mirror(self) -> bool:
        """True if the rows are those of a store."""
        return self._read is not None

    @property
    def delta(self) -> Bag:
        """The changes of the weights in this epoch; no zeros."""
        if self._delta is None:
            assert self._read is not None
            self._delta = self._read()
        return self._delta

    def pull(self) -> None:
        """Reads the delta of a mirrored store, while the store still has it."""
        _ = self.delta

    def add(self, row: Row, weight: int) -> None:
        """Adds to the weight of a row in this epoch."""
        add_weight(self.delta, row, weight)
        self._delta_indexes.clear()

    def weight(self, row: Row, *, new: bool) -> int:
        """Returns the weight of a row, with the epoch's delta (`new`) or without."""
        old = self.weights.get(row, 0)
        return old + self.delta.get(row, 0) if new else old

    def find(self, columns: tuple[int, ...], key: Row, *, new: bool) -> Iterable[tuple[Row, int]]:
        """Returns the rows with these words in these columns, with their weights; no zeros."""
        if columns:
            old = self._index(columns).get(key, {})
            delta = self._delta_index(columns).get(key) if new else None
        else:
            old, delta = self.weights, self.delta if new else None
        if not delta:
            return old.items()
        return _sum(old, delta).items() if old else delta.items()

    def presence_changes(self) -> tuple[list[Row], list[Row]]:
        """Returns the rows that this epoch inserted, and those that it deleted."""
        inserted: list[Row] = []
        deleted: list[Row] = []
        for row, change in self.delta.items():
            old = self.weights.get(row, 0)
            if (old > 0) != (old + change > 0):
                (deleted if old > 0 else inserted).append(row)
        return inserted, deleted

    def replace(self, rows: Bag) -> None:
        """Sets the rows of the table, with no delta."""
        self.weights = rows
        self._indexes.clear()
        self.drop()

    def keep(self, commit: int) -> bool:
        """Keeps the delta of the commit that follows, for pins; False if there is none to keep."""
        if self.is_mirror or self.is_stream or not self.delta:
            return False
        self.history = (*self.history, (commit, self.delta))
        return True

    def forget(self, oldest: int | None) -> bool:
        """See `versions.Keeper`."""
        self.history = () if oldest is None else tuple(each for each in self.history if each[0] > oldest)
        return not self.history

    def kept_bytes(self) -> int:
        """See `versions.Keeper`."""
        return sum(_BYTES_OF_A_ROW * len(delta) for _, delta in self.history)

    def commit(self) -> None:
        """Adds the delta to the weights; a stream drops it."""
        if not self.is_stream and not self.weights:
            # Others may hold the delta.
            self.weights, self._indexes, self._delta_indexes = dict(self.delta), self._delta_indexes, {}
        elif not self.is_stream:
            for row, change in self.delta.items():
                add_weight(self.weights, row, change)
            for columns, index in self._indexes.items():
                for row, change in self.delta.items():
                    key = tuple(row[i] for i in columns)
                    bucket = index.setdefault(key, {})
                    add_weight(bucket, row, change)
                    if not bucket:
                        del index[key]
        self.drop()

    def drop(self) -> None:
        """Drops the epoch's delta."""
        self._delta = None if self._read else {}
        self._delta_indexes.clear()

    def _index(self, columns: tuple[int, ...]) -> _Index:
        found = self._indexes.get(columns)
        if found is None:
            found = self._indexes[columns] = _indexed(self.weights, columns)
        return found

    def _delta_index(self, columns: tuple[int, ...]) -> _Index:
        found = self._delta_indexes.get(columns)
        if found is None:
            found = self._delta_indexes[columns] = _indexed(self.delta, columns)
        return found


class Tables(Mapping[str, Table]):
    """The tables of a program's relations, made on first use, between epochs, with the present rows.

    `before` are the tables of the program before a change of rules; tables of unchanged relations are used again.
    """

    def __init__(
        self, program: RuleProgram, catalog: Catalog, numbers: Mapping[str, int], before: Tables | None = None
    ) -> None:
        self._program = program
        self._catalog = catalog
        self._numbers = numbers
        self._tables: dict[str, Table] = {}
        for name, table in () if before is None else before.items():
            relation = program.relations.get(name)
            if relation is not None and relation.weighted != table.is_mirror:
                self._tables[name] = table

    def __getitem__(self, name: str) -> Table:
        found = self._tables.get(name)
        if found is None:
            relation = self._program.relations[name]
            if relation.weighted:
                found = Table(is_stream=relation.kind is Kind.STREAM)
            else:
                number = self._numbers[name]
                found = Table(read=lambda: _changes(self._catalog.stores[number]))
            store = self._catalog.stores[self._numbers[name]]
            if len(store):
                found.replace(dict.fromkeys(map(tuple, store.columns_of(store.lines()).tolist()), 1))
            self._tables[name] = found
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)


def _changes(store: Store) -> Bag:
    """Returns the changes of an epoch in a store whose stratum is finished."""
    if not store.line[k.INSERTED_COUNT] and not store.line[k.DELETED_COUNT]:
        return {}
    inserted = store.columns_of(store.inserted_lines()).tolist()
    deleted = store.deleted_columns().tolist()
    return {**{tuple(row): 1 for row in inserted}, **{tuple(row): -1 for row in deleted}}


def _indexed(rows: Bag, columns: tuple[int, ...]) -> _Index:
    index: _Index = {}
    for row, weight in rows.items():
        index.setdefault(tuple(row[i] for i in columns), {})[row] = weight
    return index


def _sum(old: Bag, delta: Bag) -> Bag:
    total = dict(old)
    for row, change in delta.items():
        add_weight(total, row, change)
    return total


def add_weight(bag: Bag, row: Row, weight: int) -> None:
    """Adds to the weight of a row; removes a row of weight zero."""
    total = bag.get(row, 0) + weight
    if total:
        bag[row] = total
    else:
        bag.pop(row, None)


def bag_to_words(bag: Bag, columns: int) -> Words:
    """Returns a line for each row: its words, then its weight."""
    words = np.empty((len(bag), columns + 1), dtype=np.int64)
    words[:, :columns] = np.array(list(bag), dtype=np.int64).reshape(len(bag), columns)
    words[:, columns] = np.fromiter(bag.values(), np.int64, len(bag))
    return words


def words_to_bag(words: Words) -> Bag:
    """Returns the bag from the result of `bag_to_words`."""
    return {tuple(row[:-1]): row[-1] for row in words.tolist()}
