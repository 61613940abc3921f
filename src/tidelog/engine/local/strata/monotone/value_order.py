"""Interned values → labels: words with the order of the values, for the groups of `best_rows`.

    bigint 7, 10**30, -2   ids 0, 1, 2   →   labels 5, 8, 2

The id of an interned value says nothing about its order. A float has a label of its own: its bits, in the order of
numbers. All other values are sorted once, when they are first met, and labelled with gaps between them; one that is
met later gets a label from the gap that it falls into. Where a gap is full, all values are labelled again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from itertools import groupby
from typing import Any

import numpy as np

from tidelog.deep_recursion import deeply
from tidelog.engine.local.encoding.pool import Pool
from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.kernels.best_rows import UNKNOWN
from tidelog.rules.analysis.expression_direction import FALLS, Order
from tidelog.types import FloatType, Type

GAP = 1 << 32
_END = 1 << 62
_Entry = tuple[Any, int]
"""What a value is sorted by, and its id."""


class _Descending:
    """A value that is sorted the other way round."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def __lt__(self, other: _Descending) -> bool:
        return bool(other._value < self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Descending) and bool(self._value == other._value)

    __hash__ = None  # type: ignore[assignment]  # only to be sorted


def key_of(order: Order | None) -> Callable[[Any], Any] | None:
    """Returns what tuples of this order are sorted by; None for the tuples themselves."""
    if order is None:
        return None

    def key(value: Any) -> Any:
        return tuple(value[index] if direction == FALLS else _Descending(value[index]) for index, direction in order)

    return key


class ValueOrder:
    """The labels of the values of one group, by id. `order` is that of its tuples, if it is not the usual one."""

    def __init__(self, type_: Type, pool: Pool, order: Order | None = None) -> None:
        self._pool = pool
        self._is_float = isinstance(type_, FloatType)
        self._key = key_of(order)
        self.forget()

    def forget(self) -> None:
        """Forgets all labels: ids may belong to other values now."""
        self.labels: Words = np.full(64, UNKNOWN, dtype=np.int64)
        self._entries: list[_Entry] = []

    def make_room(self) -> None:
        """Makes room for the labels of all values of the pool."""
        if self._pool.id_end > len(self.labels):
            larger = np.full(2 * self._pool.id_end, UNKNOWN, dtype=np.int64)
            larger[: len(self.labels)] = self.labels
            self.labels = larger

    def add(self, ids: Words) -> bool:
        """Labels values that have no label; returns True if others got another label."""
        self.make_room()
        if self._is_float:
            self.labels[ids] = _float_labels(np.array(self._pool.decode(ids), dtype=np.float64))
            return False
        return deeply(self._sort_in, ids)

    def _sort_in(self, ids: Words) -> bool:
        values = self._pool.decode(ids)
        new = sorted(zip(values if self._key is None else map(self._key, values), ids.tolist()))
        known = self._entries
        if len(new) > len(known) // 8:
            self._entries = sorted([*known, *new])  # two sorted runs, which are merged
            self._label_all()
            return bool(known)
        is_full = False
        # From the end, so that the places of the others stay.
        places = [(bisect_left(known, (key,)), (key, number)) for key, number in new]
        for place, some in groupby(reversed(places), key=lambda each: each[0]):
            entries = [entry for _, entry in some][::-1]
            is_full = not self._fill_gap(place, entries) or is_full
            known[place:place] = entries
        if is_full:
            self._label_all()
        return is_full

    def _fill_gap(self, place: int, entries: list[_Entry]) -> bool:
        """Labels entries that fall between two neighbours; returns False if there is no room."""
        known, count = self._entries, len(entries)
        low = int(self.labels[known[place - 1][1]]) if place else None
        high = int(self.labels[known[place][1]]) if place < len(known) else None
        if low is None:
            assert high is not None
            low = high - (count + 1) * GAP
        elif high is None:
            high = low + (count + 1) * GAP
        step = (high - low) // (count + 1)
        if step < 1 or low < -_END or high > _END:
            return False
        self.labels[[number for _, number in entries]] = low + step * np.arange(1, count + 1)
        return True

    def _label_all(self) -> None:
        """Labels all values, with equal gaps."""
        count = len(self._entries)
        step = min(GAP, _END // max(count, 1))
        ids = np.fromiter((number for _, number in self._entries), np.int64, count)
        self.labels[ids] = step * (np.arange(count) - count // 2)


def _float_labels(numbers: np.ndarray[Any, np.dtype[np.float64]]) -> Words:
    """Returns the bits of numbers in their order; a NaN is above all."""
    bits = numbers.view(np.int64)
    ordered = np.where(bits < 0, bits ^ np.int64(np.iinfo(np.int64).max), bits)
    return np.where(np.isnan(numbers), np.iinfo(np.int64).max, ordered)
