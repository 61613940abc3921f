"""Rows in Python memory with a number each, and indexes on some of their columns, made on first use."""

from __future__ import annotations

from tidelog.engine.local.storage.weighted_table import Row

_Buckets = dict[Row, dict[Row, int]]


class RowIndex:
    """The rows of one relation; `numbers` has all of them, and is written through the methods only."""

    def __init__(self) -> None:
        self.numbers: dict[Row, int] = {}
        self._indexes: dict[tuple[int, ...], _Buckets] = {}

    def put(self, row: Row, number: int) -> None:
        """Inserts a row, or gives it another number."""
        self.numbers[row] = number
        for columns, buckets in self._indexes.items():
            buckets.setdefault(tuple([row[i] for i in columns]), {})[row] = number

    def remove(self, row: Row) -> None:
        """Deletes a row that is there."""
        del self.numbers[row]
        for columns, buckets in self._indexes.items():
            key = tuple([row[i] for i in columns])
            bucket = buckets[key]
            del bucket[row]
            if not bucket:
                del buckets[key]

    def rows_with(self, columns: tuple[int, ...], key: Row) -> dict[Row, int]:
        """Returns the rows with these words in these columns. Not to be held."""
        if not columns:
            return self.numbers
        buckets = self._indexes.get(columns)
        if buckets is None:
            buckets = self._indexes[columns] = {}
            for row, number in self.numbers.items():
                buckets.setdefault(tuple([row[i] for i in columns]), {})[row] = number
        return buckets.get(key, {})
