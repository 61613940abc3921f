"""Rows of words → marks: one number per row that puts equal rows side by side, and rows with equal keys too.

A mark has the hash of the row's key above the hash of the whole row, 32 bits each. Sorted by it, the rows of a key are
a run, and a row is a place in that run: both are found by binary search in one array. Different rows may share a mark,
so a search compares the words as well: no hash stands for its row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]
Places = npt.NDArray[np.intp]

_START = np.uint64(0x9E3779B97F4A7C15)
_FACTOR = np.uint64(0xFF51AFD7ED558CCD)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


def hash_start(count: int) -> Hashes:
    """Returns the hashes of rows without columns."""
    return np.full(count, _START, dtype=np.uint64)


def hash_on(hashes: Hashes, column: Words) -> Hashes:
    """Returns the hashes with one more column."""
    mixed = (hashes ^ column.view(np.uint64)) * _FACTOR
    mixed ^= mixed >> _HALF
    return mixed * _START


def hash_rows(rows: Words) -> Hashes:
    """Returns a hash for each row."""
    hashes = hash_start(len(rows))
    for column in range(rows.shape[1]):
        hashes = hash_on(hashes, np.ascontiguousarray(rows[:, column]))
    return hashes


def marks_of(keys: Hashes, rows: Words) -> Hashes:
    """Returns the mark of each row, from the hash of its key."""
    return (keys & ~_LOW) | (hash_rows(rows) >> _HALF)


def run_of(marks: Hashes, keys: Hashes) -> tuple[Places, Places]:
    """Returns for each key the run of sorted marks that may have it: its start and its end."""
    starts = np.searchsorted(marks, keys & ~_LOW, side="left")
    return starts, np.searchsorted(marks, keys | _LOW, side="right")


def spread(starts: Places, ends: Places) -> tuple[Places, Places]:
    """Returns all pairs of a run and a place in it: the number of the run, and the place."""
    lengths = ends - starts
    runs = np.repeat(np.arange(len(lengths)), lengths)
    before = np.cumsum(lengths) - lengths
    return runs, np.arange(len(runs)) - np.repeat(before - starts, lengths)


def places_of(words: npt.NDArray[Any], wanted: npt.NDArray[Any]) -> tuple[Places, Places]:
    """Returns all pairs of a wanted word and a place of it among sorted words: the number of the former, the place."""
    return spread(np.searchsorted(words, wanted, side="left"), np.searchsorted(words, wanted, side="right"))


def consolidate(marks: Hashes, rows: Words, weights: Words) -> tuple[Hashes, Words, Words]:
    """Sorted by mark, each row once, with the sum of its weights; no zeros."""
    if len(rows) == 0:
        return marks, rows, weights
    order = np.argsort(marks, kind="stable")
    marks, rows, weights = marks[order], rows[order], weights[order]
    same = marks[1:] == marks[:-1]
    if same.any():
        equal = same & (rows[1:] == rows[:-1]).all(axis=1)
        if (same & ~equal).any():
            # Different rows under one mark: equal ones may stand apart.
            order = np.lexsort((*rows.T[::-1], marks))
            marks, rows, weights = marks[order], rows[order], weights[order]
            equal = (marks[1:] == marks[:-1]) & (rows[1:] == rows[:-1]).all(axis=1)
        first = np.flatnonzero(np.concatenate([[True], ~equal]))
        marks, rows, weights = marks[first], rows[first], np.add.reduceat(weights, first)
    if not weights.all():
        left = np.flatnonzero(weights)
        marks, rows, weights = marks[left], rows[left], weights[left]
    return marks, rows, weights
