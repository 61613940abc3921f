"""The rows of a relation with their totals and depths, as the rules of an acyclic recursion see them.

A row's *total* is the number of its rule instances, its *depth* is greater than that of every row of the stratum in
their bodies. A rule reads a row together with its depth. While a batch of rows is inserted or deleted, literals before
the delta in the body see the relation with the batch applied, those after it without: so every instance counts once.

The rows of the last Bootstrap are in a store, with a depth for each line. One is copied into Python memory when an
Update first looks at it, and from then on the copy counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.storage.store import Store
from tidelog.engine.local.storage.weighted_table import Row
from tidelog.engine.local.strata.row_index import RowIndex


class StoredRows:
    """The rows of a store, which does not change any more, and which of them are still to be copied."""

    def __init__(self, store: Store, depths: npt.NDArray[np.int32]) -> None:
        """Takes over the rows of a store; `depths` has that of each line."""
        self.store = store
        self._depths = depths
        self._waits = np.zeros(len(depths), dtype=np.bool_)
        self._waits[store.lines()] = True
        self.count = int(self._waits.sum())

    def take(self, columns: tuple[int, ...], key: Row) -> Iterator[tuple[Row, int, int]]:
        """Yields the rows with these words in these columns that wait, with totals and depths; they wait no more."""
        if len(columns) == self.store.columns:
            line = self.store.find(np.array([*key, 0], dtype=np.int64))
            return self._taken(np.array([line] if line >= 0 else [], dtype=np.int64))
        return self._taken(self.store.bucket(columns, np.array(key, dtype=np.int64)))

    def take_all(self) -> Iterator[tuple[Row, int, int]]:
        """Does the same for all rows."""
        return self._taken(np.flatnonzero(self._waits))

    def waiting(self) -> Words:
        """Returns the rows that wait."""
        return self.store.columns_of(np.flatnonzero(self._waits))

    def _taken(self, lines: Words) -> Iterator[tuple[Row, int, int]]:
        lines = lines[self._waits[lines]]
        self._waits[lines] = False
        self.count -= len(lines)
        rows = map(tuple, self.store.columns_of(lines).tolist())
        return zip(rows, self.store.totals_of(lines).tolist(), self._depths[lines].tolist(), strict=True)


class RowsByDepth:
    """The rows of one relation of the stratum."""

    def __init__(self, stored: StoredRows | None = None) -> None:
        self._stored = stored
        self._asked: dict[tuple[int, ...], set[Row]] = {}
        self._present = RowIndex()
        self._totals: dict[Row, int] = {}
        self._before: dict[Row, tuple[int, int]] = {}
        self._batch: frozenset[Row] = frozenset()
        self._is_inserting = False
        self._every: tuple[int, ...] = () if stored is None else tuple(range(stored.store.columns))

    # Reading

    def __len__(self) -> int:
        """Number of present rows."""
        return len(self._present.numbers) + (0 if self._stored is None else self._stored.count)

    def find(self, columns: tuple[int, ...], key: Row, *, new: bool) -> Iterable[tuple[Row, int]]:
        """Returns the present rows with these words in these columns, with their depths."""
        found = self.rows_with(columns, key).items()
        if self._batch and new != self._is_inserting:
            batch = self._batch
            return [each for each in found if each[0] not in batch]
        # A copy: rows may become deeper while a rule goes through them.
        return list(found)

    def weight(self, row: Row, *, new: bool) -> int:
        """Returns the depth of a present row, 0 for another one; no rule negates a relation of its own stratum."""
        return self.depth(row)

    def depth(self, row: Row) -> int:
        """Returns the depth of a present row, 0 for another one."""
        if self._stored is not None:
            self._take(self._every, row)
        return self._present.numbers.get(row, 0)

    def total(self, row: Row) -> int:
        """Returns the number of instances of a row."""
        if self._stored is not None:
            self._take(self._every, row)
        return self._totals.get(row, 0)

    def rows_with(self, columns: tuple[int, ...], key: Row) -> dict[Row, int]:
        """Returns the present rows with these words in these columns, batch included. Not to be held."""
        if self._stored is not None:
            self._take(columns, key)
        return self._present.rows_with(columns, key)

    def all_rows(self) -> list[Row]:
        """Returns the present rows."""
        return [*self.rows_with((), ())]

    def words(self) -> Words:
        """Returns the present rows as lines of words."""
        rows = np.array([*self._present.numbers], dtype=np.int64)
        if self._stored is None:
            return rows
        waiting = self._stored.waiting()
        return np.concatenate([rows.reshape(len(rows), waiting.shape[1]), waiting])

    def changes(self) -> tuple[list[Row], list[Row]]:
        """Returns the rows that this epoch inserted, and those that it deleted."""
        inserted: list[Row] = []
        deleted: list[Row] = []
        for row, (_, depth) in self._before.items():
            if (row in self._present.numbers) != (depth > 0):
                (deleted if depth > 0 else inserted).append(row)
        return inserted, deleted

    # Writing

    def set_total(self, row: Row, total: int) -> None:
        """Sets the number of instances of a row."""
        self._note(row)
        if total:
            self._totals[row] = total
        else:
            self._totals.pop(row, None)

    def set_depth(self, row: Row, depth: int) -> None:
        """Inserts a row, or makes a present one deeper."""
        self._note(row)
        self._present.put(row, depth)

    def remove(self, row: Row) -> None:
        """Deletes a present row."""
        self._note(row)
        self._present.remove(row)

    def begin_batch(self, rows: Iterable[Row], *, inserting: bool) -> None:
        """Begins to insert or delete rows, all of which are present while the batch lasts."""
        self._batch, self._is_inserting = frozenset(rows), inserting

    def end_batch(self) -> None:
        """Ends the batch."""
        self._batch = frozenset()

    # The end of an epoch

    def commit(self) -> None:
        """Commits the changes of the epoch."""
        self._before.clear()

    def roll_back(self) -> None:
        """Rolls back the changes of the epoch."""
        self.end_batch()
        for row, (total, depth) in list(self._before.items()):
            self.set_total(row, total)
            if depth > 0:
                self.set_depth(row, depth)
            elif row in self._present.numbers:
                self.remove(row)
        self._before.clear()

    def _note(self, row: Row) -> None:
        if row not in self._before:
            self._before[row] = (self.total(row), self.depth(row))

    def _take(self, columns: tuple[int, ...], key: Row) -> None:
        """Copies the stored rows with these words in these columns, unless somebody has asked for them."""
        assert self._stored is not None
        if not self._stored.count:
            return
        asked = self._asked.setdefault(columns, set())
        if key in asked:
            return
        asked.add(key)
        for row, total, depth in self._stored.take(columns, key) if columns else self._stored.take_all():
            self._totals[row] = total
            self._present.put(row, depth)
