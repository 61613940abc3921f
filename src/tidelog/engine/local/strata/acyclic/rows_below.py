"""A relation of a lower stratum, as the rules of an acyclic recursion read it: in its store, with depth 1 for each row.

Its stratum is finished: a row that this epoch inserts has the stamp 1, one that it deletes the stamp -1.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.storage.store import Store
from tidelog.engine.local.storage.weighted_table import Row


class RowsBelow:
    """The rows of one relation. With `always_new` every reader sees them as they are after the epoch."""

    def __init__(self, catalog: Catalog, number: int, *, always_new: bool = False) -> None:
        self._catalog = catalog
        self._number = number
        self._always_new = always_new

    @property
    def store(self) -> Store:
        return self._catalog.stores[self._number]

    def find(self, columns: tuple[int, ...], key: Row, *, new: bool) -> Iterable[tuple[Row, int]]:
        """Returns the rows with these words in these columns, after the epoch (`new`) or before it."""
        store = self.store
        lines = store.bucket(columns, np.array(key, dtype=np.int64)) if columns else store.lines()
        found = store.rows[lines, : store.columns + 1].tolist()
        sign = 1 if new or self._always_new else -1
        return [(tuple(row[:-1]), 1) for row in found if (row[-1] >> k.STAMP_SHIFT) * sign >= 0]

    def weight(self, row: Row, *, new: bool) -> int:
        """Returns 1 if the row is present, else 0."""
        store = self.store
        line = store.find(np.array([*row, 0], dtype=np.int64))
        if line < 0:
            return 0
        sign = 1 if new or self._always_new else -1
        return int((int(store.rows[line, store.columns + k.META]) >> k.STAMP_SHIFT) * sign >= 0)

    def changes(self) -> tuple[list[Row], list[Row]]:
        """Returns the rows that this epoch inserted, and those that it deleted."""
        store = self.store
        if not store.line[k.INSERTED_COUNT] and not store.line[k.DELETED_COUNT]:
            return [], []
        inserted, deleted = store.inserted_lines(), store.deleted_lines()
        return [*map(tuple, store.columns_of(inserted).tolist())], [*map(tuple, store.columns_of(deleted).tolist())]
