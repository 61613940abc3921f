"""Rows that would be the best of their keys, in the order of their values: the best first, as in Dijkstra's algorithm.

Any order is exact: a row that is inserted too early is surpassed later. But a surpassed row has fired its rules in
vain, and stays. If sums only make values worse, a row that is inserted when no better one is waiting is the best of its
key for good. A share of the waiting rows is inserted at once, since a wave has a cost of its own; few of them surpass
one another.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

from tidelog.engine.local.storage.weighted_table import Row
from tidelog.engine.local.strata.monotone.group_best import BestRows

SHARE = 16
FEW = 16


class Waiting:
    """The waiting rows of one group."""

    def __init__(self, best: BestRows) -> None:
        self.best = best
        self._rows: list[tuple[Any, Row]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, row: Row) -> None:
        value = self.best.value(row)
        heappush(self._rows, (value if self.best.smallest else _Falling(value), row))

    def take(self) -> list[Row]:
        """Removes and returns the best of the waiting rows."""
        rows = self._rows
        count = min(len(rows), max(FEW, len(rows) // SHARE))
        return [heappop(rows)[1] for _ in range(count)]

    def clear(self) -> None:
        self._rows.clear()


class _Falling:
    """A value that sorts before smaller ones."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def __lt__(self, other: _Falling) -> bool:
        return bool(other._value < self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Falling) and bool(other._value == self._value)

    __hash__ = None  # type: ignore[assignment]
