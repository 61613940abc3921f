"""Rows with ranks, counts and totals in Python memory, and how the waves of an Update see them.

The numbers are those of the ranked Update (`docs/decisions/0002-ranked-update.md`). In a wave the rows of its batch
are seen from one side of the delta only, so that every instance is met once: RETRACT finds dying rows after the delta
and not before it, INSERT finds entering rows before the delta and not after it. Rows of lower strata are seen as they
were, as they are, or as those that are present both before and after the epoch.

All changes of the numbers in an epoch are logged, so that a roll back costs no more than the changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tidelog.engine.local.storage.weighted_table import Row, Table

_Index = dict[Row, dict[Row, int]]


class Numbers(NamedTuple):
    """See `kernels.layout`."""

    rank: int
    count: int  # type: ignore[assignment]  # the paper's word; nobody needs a tuple's own
    total: int


class RankedRows:
    """The rows of one relation. `ranks` has the present rows; of a row that has died only the numbers remain."""

    def __init__(self) -> None:
        self.ranks: dict[Row, int] = {}
        self.numbers: dict[Row, Numbers] = {}
        self.batch: dict[Row, int] = {}
        self.hidden_if_new = False  # on which side of the delta the batch is not seen
        self._indexes: dict[tuple[int, ...], _Index] = {}
        self._noted: dict[Row, Numbers | None] = {}

    def find(self, columns: tuple[int, ...], key: Row, *, new: bool) -> Iterable[tuple[Row, int]]:
        """Returns the rows with these words in these columns, with their ranks."""
        found = self._index(columns).get(key) if columns else self.ranks
        if not found:
            return ()
        if self.batch and new is self.hidden_if_new:
            batch = self.batch
            return [each for each in found.items() if each[0] not in batch]
        return found.items()

    def weight(self, row: Row, *, new: bool) -> int:
        raise AssertionError("nothing inside a recursion is negated")

    def enter(self, row: Row, numbers: Numbers) -> None:
        """Makes the row visible from now on."""
        self._note(row)
        self.numbers[row] = numbers
        self._add(row, numbers.rank)

    def enter_all(self, coming: Mapping[Row, list[int]]) -> None:
        """Makes rows with instances of these levels visible from now on, and puts them into the batch."""
        batch, numbers, noted, ranks = self.batch, self.numbers, self._noted, self.ranks
        for row, levels in coming.items():
            if row not in noted:
                noted[row] = numbers.get(row)
            least, total = min(levels), len(levels)
            batch[row] = ranks[row] = least + 1
            numbers[row] = Numbers(least + 1, 1 if total == 1 else levels.count(least), total)
        for columns, index in self._indexes.items():
            for row in coming:
                index.setdefault(tuple([row[i] for i in columns]), {})[row] = ranks[row]

    def set(self, row: Row, numbers: Numbers) -> None:
        """Sets other numbers of the same rank, for a row that is present or has died."""
        self._note(row)
        self.numbers[row] = numbers

    def die(self, row: Row) -> None:
        """Hides the row; its numbers stay."""
        self._note(row)
        self._remove(row)

    def forget(self, row: Row) -> None:
        """Removes all traces of a row that has died."""
        self._note(row)
        del self.numbers[row]

    def noted(self) -> Iterable[tuple[Row, bool, bool]]:
        """Yields the rows that the epoch has touched: whether each was present before, and whether it is now."""
        return [(row, old is not None, row in self.ranks) for row, old in self._noted.items()]

    def commit(self) -> None:
        """Commits the changes of the epoch."""
        self._noted.clear()
        self.batch = {}

    def roll_back(self) -> None:
        """Rolls back the changes of the epoch."""
        for row, old in self._noted.items():
            if row in self.ranks:
                self._remove(row)
            if old is None:
                self.numbers.pop(row, None)
            else:
                self.numbers[row] = old
                self._add(row, old.rank)
        self.commit()

    def _note(self, row: Row) -> None:
        if row not in self._noted:
            self._noted[row] = self.numbers.get(row)

    def _add(self, row: Row, rank: int) -> None:
        self.ranks[row] = rank
        for columns, index in self._indexes.items():
            index.setdefault(tuple([row[i] for i in columns]), {})[row] = rank

    def _remove(self, row: Row) -> None:
        del self.ranks[row]
        for columns, index in self._indexes.items():
            key = tuple([row[i] for i in columns])
            bucket = index[key]
            del bucket[row]
            if not bucket:
                del index[key]

    def _index(self, columns: tuple[int, ...]) -> _Index:
        found = self._indexes.get(columns)
        if found is None:
            found = self._indexes[columns] = {}
            for row, rank in self.ranks.items():
                found.setdefault(tuple([row[i] for i in columns]), {})[row] = rank
        return found


WAS, STAYS, IS = range(3)
"""The rows before the epoch, those present both before and after it, and the rows after it."""


class RowsBelow:
    """A relation of a lower stratum, seen through its table. `seen` is the state seen after the delta and before it.

    Its rows have rank 1: that is the lowest level.
    """

    def __init__(self, table: Table, *, weighted: bool) -> None:
        self.table = table
        self.weighted = weighted
        self.seen = (IS, IS)
        self.inserted: frozenset[Row] = frozenset()
        self.deleted: frozenset[Row] = frozenset()

    def begin(self) -> None:
        """Reads the changes of the epoch."""
        inserted, deleted = self.table.presence_changes() if self.table.delta else ((), ())
        self.inserted, self.deleted = frozenset(inserted), frozenset(deleted)

    def find(self, columns: tuple[int, ...], key: Row, *, new: bool) -> Iterable[tuple[Row, int]]:
        state = self.seen[new]
        found = self.table.find(columns, key, new=state == IS)
        if self.weighted:
            found = [(row, 1) for row, weight in found if weight > 0]
        if state == STAYS and self.deleted:
            deleted = self.deleted
            return [each for each in found if each[0] not in deleted]
        return found

    def weight(self, row: Row, *, new: bool) -> int:
        """Returns a number above 0 if a negated literal fails; one holds throughout if neither state has the row."""
        state = self.seen[new]
        if state == STAYS:
            return max(self.table.weight(row, new=False), self.table.weight(row, new=True))
        return self.table.weight(row, new=state == IS)
