"""The rows of a relation with their totals and depths, in Python memory, as the rules of an acyclic recursion see them.

A row's *total* is the number of its rule instances, its *depth* is greater than that of every row of the stratum in
their bodies. A rule reads a row together with its depth. While a batch of rows is inserted or deleted, literals before
the delta in the body see the relation with the batch applied, those after it without: so every instance counts once.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.engine.local.storage.weighted_table import Row, Table

_Index = dict[Row, dict[Row, int]]


class RowsByDepth:
    """The rows of one relation of the stratum. `depths` has the present ones; `totals` has all with an instance."""

    def __init__(self) -> None:
        self.depths: dict[Row, int] = {}
        self.totals: dict[Row, int] = {}
        self._indexes: dict[tuple[int, ...], _Index] = {}
        self._before: dict[Row, tuple[int, int]] = {}
        self._batch: frozenset[Row] = frozenset()
        self._is_inserting = False

    # Reading

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
        return self.depths.get(row, 0)

    def rows_with(self, columns: tuple[int, ...], key: Row) -> dict[Row, int]:
        """Returns the present rows with these words in these columns, batch included. Not to be held."""
        return self._index(columns).get(key, {}) if columns else self.depths

    def changes(self) -> tuple[list[Row], list[Row]]:
        """Returns the rows that this epoch inserted, and those that it deleted."""
        inserted: list[Row] = []
        deleted: list[Row] = []
        for row, (_, depth) in self._before.items():
            if (row in self.depths) != (depth >= 0):
                (deleted if depth >= 0 else inserted).append(row)
        return inserted, deleted

    # Writing

    def set_total(self, row: Row, total: int) -> None:
        """Sets the number of instances of a row."""
        self._note(row)
        if total:
            self.totals[row] = total
        else:
            self.totals.pop(row, None)

    def set_depth(self, row: Row, depth: int) -> None:
        """Inserts a row, or makes a present one deeper."""
        self._note(row)
        self.depths[row] = depth
        for columns, index in self._indexes.items():
            index.setdefault(tuple([row[i] for i in columns]), {})[row] = depth

    def remove(self, row: Row) -> None:
        """Deletes a present row."""
        self._note(row)
        del self.depths[row]
        for columns, index in self._indexes.items():
            key = tuple([row[i] for i in columns])
            bucket = index[key]
            del bucket[row]
            if not bucket:
                del index[key]

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
            if depth >= 0:
                self.set_depth(row, depth)
            elif row in self.depths:
                self.remove(row)
        self._before.clear()

    def _note(self, row: Row) -> None:
        if row not in self._before:
            self._before[row] = (self.totals.get(row, 0), self.depths.get(row, -1))

    def _index(self, columns: tuple[int, ...]) -> _Index:
        found = self._indexes.get(columns)
        if found is None:
            found = self._indexes[columns] = {}
            for row, depth in self.depths.items():
                found.setdefault(tuple([row[i] for i in columns]), {})[row] = depth
        return found


class AfterEpoch:
    """A relation of a lower stratum as it is after the epoch; its rows have depth 1."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def find(self, columns: tuple[int, ...], key: Row, *, new: bool) -> Iterable[tuple[Row, int]]:
        """Returns the rows with these words in these columns."""
        return self._table.find(columns, key, new=True)

    def weight(self, row: Row, *, new: bool) -> int:
        """Returns a number above 0 if the row is present."""
        return self._table.weight(row, new=True)
