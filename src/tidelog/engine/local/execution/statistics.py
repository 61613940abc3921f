"""Statistics of the local engine's relations, for the planner (`plan.statistics`).

A sample estimates how many rows a probe finds: the rows that share the key of a random row. That is more than the rows
per key where some keys are frequent, and rightly so: frequent keys are probed more often.

A relation that a Bootstrap is filling again has the statistics of its old store, until it has more rows. If it was
empty, it counts as larger than all relations that its rules read, because a plan that takes it for small would start
from it, until it has rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from tidelog.engine.local.kernels.layout import FREED, LIVE, STAMP_SHIFT, USED
from tidelog.engine.local.kernels.memory import HASH_STEP
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.storage.store import Store, Words
from tidelog.plan.statistics import Keys, even_bucket

SAMPLE = 4096
# A relation that is empty before its Bootstrap is taken for so many times the largest one that its rules read.
SWELL = 4
# An arrangement is expected to be probed at least so often before the plan changes. Building it costs its rows.
PROBES = 4096


class StoreStatistics:
    """Statistics from the stores of a catalog, for a stratum that reads the relations `read` below it."""

    def __init__(self, catalog: Catalog, numbers: Mapping[str, int], read: Collection[int]) -> None:
        self._catalog = catalog
        self._numbers = numbers
        self._read = read
        self._replaced: Mapping[int, Store] = {}
        self._is_bootstrap = False
        self._sampled: dict[tuple[int, Keys], tuple[int, float]] = {}  # → rows at that time, rows per key

    def expect(self, replaced: Mapping[int, Store]) -> None:
        """Uses the old stores of relations that are being filled again, if they were not empty, as estimates."""
        self._replaced = {number: old for number, old in replaced.items() if old.saved[LIVE]}
        self._is_bootstrap = bool(replaced)

    def rows(self, relation: str) -> float:
        number = self._numbers[relation]
        rows = int(self._larger(number)[1][LIVE])
        if rows or number in self._read:
            return rows
        return SWELL * max((len(self._catalog.stores[each]) for each in self._read), default=0)

    def bucket(self, relation: str, keys: Keys, columns: int) -> float:
        number = self._numbers[relation]
        store, line = self._larger(number)
        rows = int(line[LIVE])
        if not rows:
            return even_bucket(self.rows(relation), keys, columns)
        known = self._sampled.get((number, keys))
        if known is None or not known[0] // 2 <= rows <= known[0] * 2:
            known = self._sampled[number, keys] = (rows, _sampled_bucket(store.rows[: int(line[USED])], keys, rows))
        return known[1]

    def setup(self, relation: str, keys: Keys) -> float:
        rows = len(self._catalog.stores[self._numbers[relation]])
        # A Bootstrap probes about once for each row that it finds, and will find more than there are.
        return rows / max(PROBES, rows) if self._is_bootstrap else rows / PROBES

    def _larger(self, number: int) -> tuple[Store, Words]:
        """Returns the store of a relation, or the one that it replaces if that has more rows; and its line."""
        store, old = self._catalog.stores[number], self._replaced.get(number)
        if old is None or len(store) > old.saved[LIVE]:
            return store, store.line
        return old, old.saved

    def arranged(self, relation: str) -> Collection[Keys]:
        return self._catalog.stores[self._numbers[relation]].arranged()


def _sampled_bucket(lines: Words, keys: Keys, rows: int) -> float:
    """Estimates how many rows have the key of a random row, including itself, from the pairs in a sample that agree."""
    sample = lines[:: max(len(lines) // SAMPLE, 1)]
    sample = sample[sample[:, -1] >> STAMP_SHIFT != FREED]
    if len(sample) < 2:
        return 1.0
    words = sample[:, keys[0]].copy()
    for column in keys[1:]:
        words = words * HASH_STEP + sample[:, column]
    _, counts = np.unique(words, return_counts=True)
    agreeing = int((counts * (counts - 1)).sum())
    return 1.0 + (rows - 1) * agreeing / (len(sample) * (len(sample) - 1))
