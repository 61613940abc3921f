"""Zones of arrangements whose rows have bounds (`kernels/zones`), for as long as a stratum is derived.

Lines of a bucket are sorted along a curve that fills the space of the bounded columns (Morton's order of their ranks in
the bucket), so that any 16 neighbours are close in each of them, whichever bound turns out to be narrow. The relation
does not change meanwhile: it is below the stratum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels import zones as kernels
from tidelog.engine.local.storage.arrangement import Arrangement, Lines
from tidelog.engine.local.storage.catalog import Catalog

# Zones are made if a bucket that rows are looked for in has so many lines, and so many of them are looked at in all for
# each line that is put in order.
LONG_BUCKET = 64
LOOKS = 64
_RANK_BITS = 20


@dataclass(frozen=True, slots=True)
class Bounded:
    """An arrangement, or all rows of a relation (-1), with bounds: the columns, and whether their words are signed.

    `before`: the relation of the iterator from which it is opened, or -1.
    """

    arrangement: int
    relation: int
    before: int
    columns: Mapping[int, int]

    @property
    def key(self) -> tuple[int, int]:
        return self.arrangement, self.relation


@dataclass(frozen=True, slots=True)
class _Buckets:
    """Lines, bucket after bucket, and where each stands; a pool has so many places."""

    lengths: Words
    places: Words
    lines: Lines
    pool_places: int


class Zones:
    """The zones of some arrangements and relations."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._held: dict[tuple[int, int], list[npt.NDArray[Any]]] = {}

    def make(self, wanted: Iterable[Bounded]) -> None:
        """Makes the zones that are worth it, unless there are some already."""
        columns: dict[tuple[int, int], dict[int, int]] = {}
        for each in wanted:
            if each.key not in self._held and self._is_worth_it(each):
                columns[each.key] = {**columns.get(each.key, {}), **each.columns}
        for (arrangement, relation), own in columns.items():
            self._make(arrangement, relation, own)

    def drop(self) -> None:
        """Frees the zones."""
        for arrangement, relation in self._held:
            self._note(arrangement, relation, 0)
        self._held.clear()

    def _note(self, arrangement: int, relation: int, address: int) -> None:
        if arrangement >= 0:
            self._catalog.A[arrangement, k.ZONES] = address
        else:
            self._catalog.S[relation, k.SCAN_ZONES] = address

    def _starts(self, arrangement: int, relation: int) -> tuple[Words, Words]:
        """Returns where the buckets of an arrangement begin, in order, and how long they are."""
        found = self._catalog.stores[relation].arrangements[arrangement]
        assert isinstance(found, Arrangement)
        entries = found.entries.array[: int(self._catalog.A[arrangement, k.ENTRY_COUNT])]
        starts, lengths = entries[:, k.ENTRY_START], entries[:, k.ENTRY_LENGTH // 2] & k.LOW_MASK
        order = np.argsort(starts[lengths > 0])
        return starts[lengths > 0][order], lengths[lengths > 0][order]

    def _is_worth_it(self, each: Bounded) -> bool:
        if each.before < 0:
            return False
        length = rows = float(self._catalog.S[each.relation, k.LIVE])
        if each.arrangement >= 0 and rows:
            _, lengths = self._starts(each.arrangement, each.relation)
            # A key that many rows have is probably looked for by many.
            rows = float(lengths.sum())
            length = float((lengths.astype(np.float64) ** 2).sum()) / max(rows, 1.0)
        probes = int(self._catalog.S[each.before, k.LIVE])
        return length >= LONG_BUCKET and probes * length >= LOOKS * rows

    def _buckets(self, arrangement: int, relation: int) -> _Buckets:
        store = self._catalog.stores[relation]
        if arrangement < 0:
            lines = store.lines()
            count = len(lines)
            return _Buckets(np.array([count], dtype=np.int64), np.arange(count), lines.astype(np.int32), count)
        starts, lengths = self._starts(arrangement, relation)
        places = np.arange(int(lengths.sum())) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
        found = store.arrangements[arrangement]
        assert isinstance(found, Arrangement)
        return _Buckets(lengths, places, found.pool.array[places], int(self._catalog.A[arrangement, k.POOL_USED]))

    def _make(self, arrangement: int, relation: int, columns: Mapping[int, int]) -> None:
        store = self._catalog.stores[relation]
        buckets = self._buckets(arrangement, relation)
        words = {column: _ordered(store.rows[buckets.lines, column], signed) for column, signed in columns.items()}
        order = _along_curve(list(words.values()), buckets.lengths)
        pool = np.zeros(buckets.pool_places + 1, dtype=np.int32)
        pool[buckets.places] = buckets.lines[order]
        sizes = _level_sizes(buckets.pool_places)
        zones = np.zeros(kernels.ZONE_COLUMNS + store.columns * kernels.COLUMN_WORDS, dtype=np.int64)
        zones[kernels.ZONE_POOL], zones[kernels.ZONE_PLACES] = pool.ctypes.data, buckets.pool_places
        zones[kernels.ZONE_LEVELS] = len(sizes)
        zones[kernels.ZONE_STARTS : kernels.ZONE_STARTS + len(sizes)] = np.cumsum([0, *sizes[:-1]])
        held: list[npt.NDArray[Any]] = [pool, zones]
        for column, own in words.items():
            pairs = _pairs(buckets.places, own[order], sizes)
            if not columns[column]:
                pairs ^= kernels.FLIP
            field = kernels.ZONE_COLUMNS + column * kernels.COLUMN_WORDS
            zones[field + kernels.COLUMN_PAIRS] = pairs.ctypes.data
            zones[field + kernels.COLUMN_SIGNED] = columns[column]
            held.append(pairs)
        self._held[arrangement, relation] = held
        self._note(arrangement, relation, zones.ctypes.data)


def _ordered(words: Words, signed: int) -> Words:
    """Returns words that NumPy orders as their type does."""
    return words if signed else words ^ kernels.FLIP


def _along_curve(columns: list[Words], lengths: Words) -> Words:
    """Returns the order of rows, bucket by bucket, in which neighbours are close in all columns."""
    bucket = np.repeat(np.arange(len(lengths)), lengths)
    first = np.repeat(np.cumsum(lengths) - lengths, lengths)
    length = np.repeat(lengths, lengths)
    bits = min(_RANK_BITS, 60 // len(columns), int(lengths.max()).bit_length())
    curve: Words = np.zeros(len(bucket), dtype=np.int64)
    for number, words in enumerate(columns):
        rank: Words = np.empty(len(bucket), dtype=np.int64)
        rank[_order_within(bucket, words)] = np.arange(len(bucket))
        rank = ((rank - first) << bits) // length
        for bit in range(bits):
            curve |= ((rank >> bit) & 1) << (bit * len(columns) + number)
    return _order_within(bucket, curve)


def _order_within(bucket: Words, words: Words) -> Words:
    """Returns the order of rows by bucket, and in each by words. One number for both sorts faster than two."""
    least = int(words.min())
    span = int(words.max()) - least + 1
    if (int(bucket[-1]) + 1) * span < 1 << 62:
        return np.argsort(bucket * span + (words - least))
    return np.lexsort((words, bucket))


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
