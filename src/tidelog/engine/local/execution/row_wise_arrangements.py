"""Arranges the relations of a stratum when its row-wise waves end, from the lists of values by prefix.

A Bootstrap head by head needs no arrangement, but the next Update does. Made from the rows, an arrangement takes a
hash, a search and two waits for memory for each row; the lists have the ids of all rows, and lead to the same in two
passes over them (`kernels/list_arrangements`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.execution.row_wise_lists import Lists
from tidelog.engine.local.execution.row_wise_plan import Head
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels import list_arrangements as kernels
from tidelog.engine.local.kernels.row_lists import LARGEST_PLACE
from tidelog.engine.local.storage.catalog import Catalog

# Keys are counted in an array if so many may occur, or as many as there are rows.
FEW_KEYS = 1 << 20
_Counts = npt.NDArray[np.int32]
_Run = Callable[[Callable[[int], int]], list[int]]


class ListedRows:
    """The rows of a head relation as lists of values by prefix, in line `number` of the kernels' table L.

    `words` are the words of the ids, by column; `shape` is that of the rows (`row_lists`).
    """

    def __init__(
        self,
        catalog: Catalog,
        head: Head,
        lists: Lists,
        table: Words,
        number: int,
        shape: Words,
        words: Sequence[Words],
    ) -> None:
        self._catalog = catalog
        self._store = catalog.stores[head.relation]
        self._head = head
        self._lists = lists
        self._table = table
        self._number = number
        self._shape = shape
        self._words = words

    def arrange(self, keys: tuple[int, ...], threads: int, run: _Run) -> bool:
        """Makes the arrangement by some columns; returns False, and makes none, if too many keys may occur."""
        rows = len(self._store)
        factors: Words = np.zeros(len(self._words), dtype=np.int64)
        space = 1
        for column in keys:
            factors[column] = space
            space *= len(self._words[column])
        if not keys or space > max(FEW_KEYS, rows) or rows > LARGEST_PLACE // 2:
            return False
        bounds = self._shares(threads)
        counts: _Counts = np.zeros((threads, space), dtype=np.int32)
        for kernel in (kernels.count_keys, kernels.place_lines):
            kernel.load()  # several threads must not load a kernel at once

        def count(me: int) -> int:
            rows_of = bounds[me], bounds[me + 1]
            kernels.count_keys(self._table, self._number, self._shape, factors, *rows_of, counts[me])
            return 0

        run(count)
        lengths = counts.sum(axis=0, dtype=np.int64)
        starts = (k.POOL_LISTS + np.cumsum(lengths) - lengths).astype(np.int32)
        places: _Counts = np.ascontiguousarray(starts + np.cumsum(counts, axis=0, dtype=np.int32) - counts)
        found = np.flatnonzero(lengths)
        words = [self._words[column][found // factors[column] % len(self._words[column])] for column in keys]
        arrangement = self._store.take_arrangement(keys, starts[found], lengths[found], words)

        def place(me: int) -> int:
            where = self._table, self._number, self._catalog.A, arrangement
            rows_of = bounds[me], bounds[me + 1]
            kernels.place_lines(*where, self._shape, factors, *rows_of, starts, places[me])
            return 0

        run(place)
        kernels.find_entries(self._catalog.A, arrangement)
        self._store.end_taking(arrangement)
        return True

    def _shares(self, threads: int) -> list[int]:
        """Returns the first prefix of each thread, and behind them all, so that all have about as many rows."""
        ends = np.cumsum(self._lists.lengths[: self._head.prefixes], dtype=np.int64)
        total = int(ends[-1]) if len(ends) else 0
        inner = [int(np.searchsorted(ends, total * me // threads)) for me in range(1, threads)]
        return [0, *inner, self._head.prefixes]
