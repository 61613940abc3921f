"""A trace: the sum of all deltas so far, found by key. It is what the integral of a stream is to a join.

The rows lie in a few sorted batches, each at least twice as long as the next, so that a delta costs its own length and
a share of the merges, whatever the length of the trace. A trace never changes: to add a delta gives another one, which
shares the batches that the delta did not touch. Whoever wants to take an epoch back keeps the old trace.

    old = Trace.empty(2)
    new = old.add(keys, rows, weights)      old is as it was

The caller gives keys as hashes, and compares the rows that are found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tidelog.dbsp.row_hashes import Hashes, Places, Words, consolidate, marks_of, places_of, run_of, spread


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows sorted by their marks. A weight may be 0: the row is gone, and its place waits for the next merge."""

    marks: Hashes
    rows: Words
    weights: Words

    def __len__(self) -> int:
        return len(self.marks)


@dataclass(frozen=True, slots=True)
class Found:
    """Rows of a trace: `probe` says for which of the keys that were asked for, `rows` and `weights` what was found."""

    probe: Places
    rows: Words
    weights: Words


@dataclass(frozen=True, slots=True)
class Trace:
    """The rows of all batches are different rows."""

    width: int
    batches: tuple[Batch, ...] = ()

    @classmethod
    def empty(cls, width: int) -> Trace:
        """Returns the trace of nothing, for rows of so many columns."""
        return cls(width)

    def __len__(self) -> int:
        """Returns the rows whose weight is not 0."""
        return sum(int(np.count_nonzero(batch.weights)) for batch in self.batches)

    def add(self, keys: Hashes, rows: Words, weights: Words) -> Trace:
        """Returns the trace with a delta added: rows, each with the hash of its key and its weight."""
        if not len(rows):
            return self
        marks, rows, weights = consolidate(marks_of(keys, rows), rows, weights)
        batches = list(self.batches)
        for number, batch in enumerate(batches):
            if not len(rows):
                break
            delta, places = _locate(batch, marks, rows)
            if len(delta):
                changed = batch.weights.copy()
                changed[places] += weights[delta]
                batches[number] = Batch(batch.marks, batch.rows, changed)
                rest = np.ones(len(rows), dtype=np.bool_)
                rest[delta] = False
                marks, rows, weights = marks[rest], rows[rest], weights[rest]
        if len(rows):
            batches.append(Batch(marks, rows, weights))
        return Trace(self.width, _merged(batches))

    def find(self, keys: Hashes) -> Found:
        """Returns the rows whose keys have one of these hashes, and maybe a few others."""
        parts = []
        for batch in self.batches:
            probe, places = spread(*run_of(batch.marks, keys))
            weights = batch.weights[places]
            if not weights.all():
                there = np.flatnonzero(weights)
                probe, places, weights = probe[there], places[there], weights[there]
            if len(places):
                parts.append(Found(probe, batch.rows[places], weights))
        return _together(parts, self.width)

    def fanout(self, keys: Hashes) -> Places:
        """Returns for each key the number of rows that `find` may return."""
        counts = np.zeros(len(keys), dtype=np.intp)
        for batch in self.batches:
            starts, ends = run_of(batch.marks, keys)
            counts += ends - starts
        return counts

    def everything(self) -> tuple[Words, Words]:
        """Returns all rows, with their weights."""
        rows = np.concatenate([np.empty((0, self.width), dtype=np.int64), *(batch.rows for batch in self.batches)])
        weights = np.concatenate([np.empty(0, dtype=np.int64), *(batch.weights for batch in self.batches)])
        there = np.flatnonzero(weights)
        return rows[there], weights[there]

    def without(self, column: int, words: Words) -> Trace:
        """Returns the trace without the rows that have one of the words in a column."""
        kept = []
        for batch in self.batches:
            there = np.flatnonzero(~np.isin(batch.rows[:, column], words) & (batch.weights != 0))
            kept.append(Batch(batch.marks[there], batch.rows[there], batch.weights[there]))
        return Trace(self.width, tuple(batch for batch in kept if len(batch)))

    def bytes(self) -> int:
        """Returns the memory that the batches take."""
        return sum(each.marks.nbytes + each.rows.nbytes + each.weights.nbytes for each in self.batches)


def _locate(batch: Batch, marks: Hashes, rows: Words) -> tuple[Places, Places]:
    """Returns which of the rows are in the batch, and where."""
    delta, places = places_of(batch.marks, marks)
    same = np.flatnonzero((batch.rows[places] == rows[delta]).all(axis=1))
    return delta[same], places[same]


def _merged(batches: list[Batch]) -> tuple[Batch, ...]:
    """Batches of which each is at least twice as long as the next, and less than half full of rows that are gone."""
    batches = [each for each in map(_packed, batches) if len(each)]
    batches.sort(key=len, reverse=True)
    while (near := _near_in_length(batches)) is not None:
        longer, shorter = batches.pop(near), batches.pop(near)
        merged = consolidate(
            np.concatenate([longer.marks, shorter.marks]),
            np.concatenate([longer.rows, shorter.rows]),
            np.concatenate([longer.weights, shorter.weights]),
        )
        batches.append(Batch(*merged))
        batches.sort(key=len, reverse=True)
    return tuple(batches)


def _near_in_length(batches: list[Batch]) -> int | None:
    """Returns the last place at which a batch is less than twice as long as the next."""
    return next((i for i in reversed(range(len(batches) - 1)) if len(batches[i]) < 2 * len(batches[i + 1])), None)


def _packed(batch: Batch) -> Batch:
    there = np.flatnonzero(batch.weights)
    if 2 * len(there) > len(batch):
        return batch
    return Batch(batch.marks[there], batch.rows[there], batch.weights[there])


def _together(parts: list[Found], width: int) -> Found:
    if len(parts) == 1:
        return parts[0]
    return Found(
        np.concatenate([np.empty(0, dtype=np.intp), *(each.probe for each in parts)]),
        np.concatenate([np.empty((0, width), dtype=np.int64), *(each.rows for each in parts)]),
        np.concatenate([np.empty(0, dtype=np.int64), *(each.weights for each in parts)]),
    )
