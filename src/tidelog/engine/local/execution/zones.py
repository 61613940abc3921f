"""Zones of arrangements whose rows have bounds (`kernels/zones`), for as long as a stratum is derived.

Lines of a bucket are sorted along a curve that fills the space of the bounded columns (Morton's order of their ranks in
the bucket), so that any 16 neighbours are close in each of them, whichever bound turns out to be narrow. The relation
does not change meanwhile: it is below the stratum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels import zones as kernels
from tidelog.engine.local.storage.arrangement import Arrangement
from tidelog.engine.local.storage.catalog import Catalog

# Zones are made if a bucket that rows are looked for in has so many lines, and so many of them are looked at in all for
# each line that is put in order.
LONG_BUCKET = 64
LOOKS = 16
_RANK_BITS = 20


@dataclass(frozen=True, slots=True)
class Bounded:
    """An arrangement whose rows have bounds: the bounded columns, and whether their words are signed.

    `before`: the relation of the iterator from which it is probed, or -1.
    """

    arrangement: int
    relation: int
    before: int
    columns: Mapping[int, int]


class Zones:
    """The zones of some arrangements."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._held: dict[int, tuple[list[Words], Words]] = {}

    def make(self, wanted: Iterable[Bounded]) -> None:
        """Makes the zones that are worth it; an arrangement has those of one set of columns."""
        columns: dict[int, dict[int, int]] = {}
        for each in wanted:
            if each.arrangement not in self._held and self._is_worth_it(each):
                columns[each.arrangement] = {**columns.get(each.arrangement, {}), **each.columns}
        for number, own in columns.items():
            self._make(number, own)

    def drop(self) -> None:
        """Frees the zones."""
        for number in self._held:
            self._catalog.A[number, k.ZONES] = 0
        self._held.clear()

    def _arrangement(self, number: int) -> Arrangement | None:
        store = self._catalog.stores[int(self._catalog.A[number, k.RELATION])]
        found = store.arrangements.get(number)
        return found if isinstance(found, Arrangement) else None

    def _buckets(self, number: int, arrangement: Arrangement) -> tuple[Words, Words]:
        """Returns where the buckets begin, in order, and how long they are."""
        entries = arrangement.entries.array[: int(self._catalog.A[number, k.ENTRY_COUNT])]
        starts, lengths = entries[:, k.ENTRY_START], entries[:, k.ENTRY_LENGTH // 2] & k.LOW_MASK
        order = np.argsort(starts[lengths > 0])
        return starts[lengths > 0][order], lengths[lengths > 0][order]

    def _is_worth_it(self, each: Bounded) -> bool:
        found = self._arrangement(each.arrangement)
        if found is None or each.before < 0:
            return False
        _, lengths = self._buckets(each.arrangement, found)
        rows = int(lengths.sum())
        if not rows:
            return False
        # A key that many rows have is probably looked for by many.
        length = float((lengths.astype(np.float64) ** 2).sum()) / rows
        probes = int(self._catalog.S[each.before, k.LIVE])
        return length >= LONG_BUCKET and probes * length >= LOOKS * rows

    def _make(self, number: int, columns: Mapping[int, int]) -> None:
        arrangement = self._arrangement(number)
        assert arrangement is not None
        store = self._catalog.stores[int(self._catalog.A[number, k.RELATION])]
        starts, lengths = self._buckets(number, arrangement)
        places = np.arange(int(lengths.sum())) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
        lines = arrangement.pool.array[places]
        words = {column: _ordered(store.rows[lines, column], signed) for column, signed in columns.items()}
        order = _along_curve(list(words.values()), lengths)
        used = int(self._catalog.A[number, k.POOL_USED])
        pool = arrangement.pool.array[:used].copy()
        pool[places] = lines[order]
        sizes = _level_sizes(used)
        at = np.cumsum([0, *sizes]).tolist()
        zones = np.zeros(kernels.ZONE_COLUMNS + store.columns * kernels.COLUMN_WORDS, dtype=np.int64)
        zones[kernels.ZONE_POOL], zones[kernels.ZONE_LEVELS] = pool.ctypes.data, len(sizes)
        zones[kernels.ZONE_STARTS : kernels.ZONE_STARTS + len(sizes)] = at[:-1]
        held: list[Words] = []
        for column, own in words.items():
            pairs = _pairs(places, own[order], sizes)
            if not columns[column]:
                pairs ^= kernels.FLIP
            field = kernels.ZONE_COLUMNS + column * kernels.COLUMN_WORDS
            zones[field + kernels.COLUMN_PAIRS], zones[field + kernels.COLUMN_SIGNED] = (
                pairs.ctypes.data,
                columns[column],
            )
            held.append(pairs)
        self._held[number] = [pool, *held], zones
        self._catalog.A[number, k.ZONES] = zones.ctypes.data


def _ordered(words: Words, signed: int) -> Words:
    """Returns words that NumPy orders as their type does."""
    return words if signed else words ^ kernels.FLIP


def _along_curve(columns: list[Words], lengths: Words) -> Words:
    """Returns the order of rows, bucket by bucket, in which neighbours are close in all columns."""
    bucket = np.repeat(np.arange(len(lengths)), lengths)
    first = np.repeat(np.cumsum(lengths) - lengths, lengths)
    length = np.repeat(lengths, lengths)
    bits = min(_RANK_BITS, 60 // len(columns))
    curve: Words = np.zeros(len(bucket), dtype=np.int64)
    for number, words in enumerate(columns):
        rank: Words = np.empty(len(bucket), dtype=np.int64)
        rank[np.lexsort((words, bucket))] = np.arange(len(bucket))
        rank = ((rank - first) << bits) // length
        for bit in range(bits):
            curve |= ((rank >> bit) & 1) << (bit * len(columns) + number)
    return np.lexsort((curve, bucket))


def _level_sizes(places: int) -> list[int]:
    """Returns how many zones each level has, for so many places of a pool."""
    sizes = [(places >> kernels.ZONE_SHIFT) + 1]
    while sizes[-1] > 1 and len(sizes) < kernels.MOST_LEVELS:
        sizes.append((sizes[-1] - 1 >> kernels.ZONE_SHIFT) + 1)
    return sizes


def _pairs(places: Words, words: Words, sizes: list[int]) -> Words:
    """Returns the least and the greatest word of each zone, level after level; `places` ascend."""
    info = np.iinfo(np.int64)
    least, greatest = np.full(sizes[0], info.max), np.full(sizes[0], info.min)
    zone = places >> kernels.ZONE_SHIFT
    firsts = np.flatnonzero(np.diff(zone, prepend=-1))
    least[zone[firsts]] = np.minimum.reduceat(words, firsts)
    greatest[zone[firsts]] = np.maximum.reduceat(words, firsts)
    levels = [np.stack([least, greatest], axis=1)]
    for _ in sizes[1:]:
        firsts = np.arange(0, len(least), 1 << kernels.ZONE_SHIFT)
        least, greatest = np.minimum.reduceat(least, firsts), np.maximum.reduceat(greatest, firsts)
        levels.append(np.stack([least, greatest], axis=1))
    return np.ascontiguousarray(np.concatenate(levels))
