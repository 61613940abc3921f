"""The memory of one arrangement, which kernels read and fill (`kernels/arrange`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.kernels import dense_arrangement, entry_points
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.growable_array import SMALLEST, Growing

Words = npt.NDArray[np.int64]
Lines = npt.NDArray[np.int32]
_AT_ONCE = 1 << 20
# So many rows are arranged by counting if there are not so many times as many numbers that their keys may be.
MANY_ROWS, SPARSE = 1 << 12, 2
_SAMPLE = 1 << 10
MOST_ROWS = (1 << 31) - k.POOL_LISTS - 1


class Arrangement:
    """`marks` has a mark for each line of the relation and grows with its rows; the other arrays grow when they are
    full."""

    def __init__(self, keys: tuple[int, ...], capacity: int) -> None:
        self.keys = np.array(keys or (0,), dtype=np.int64)
        self.key_count = len(keys)
        self.marks = Growing(np.uint16, capacity)
        self.saved = np.zeros(k.ARRANGEMENT_FIELDS, dtype=np.int64)
        self.entries = Growing(np.int64, width=k.ENTRY_EXTRA + self.key_count)
        self.table = Growing(np.int64)
        self.pool = Growing(np.int32)
        self.moves = 1  # odd while the arrays do not belong together, so that no reader may use them

    def bucket(self, entry: int) -> Lines:
        """Returns the lines in the bucket of an entry."""
        start, length = self.entries.array[entry, : k.ENTRY_EXTRA].tolist()
        lines: Lines = self.pool.array[start : start + (length & k.LOW_MASK)]
        return lines

    def bytes(self, line: Words, rows: int) -> int:
        """Returns the bytes of memory in use, for a relation of so many lines."""
        words = int(line[k.ENTRY_COUNT]) * (k.ENTRY_EXTRA + self.key_count) + len(self.table)
        return 8 * words + 4 * int(line[k.POOL_USED]) + 2 * rows

    def take(self, line: Words, relation: int, starts: Lines, lengths: Words, words: Sequence[Words]) -> None:
        """Makes room for the buckets of all rows: where each starts, its length, and, by key column, its words.

        The kernel of the caller fills the buckets and the table.
        """
        count, rows = len(starts), int(lengths.sum())
        self._note_room(line, relation, rows, max(count, SMALLEST))
        entries = self.entries.array[:count]
        entries[:, k.ENTRY_START] = starts
        entries[:, k.ENTRY_START + 1] = lengths << k.HASH_SHIFT | lengths
        for place, column in enumerate(words):
            entries[:, k.ENTRY_EXTRA + place] = column
        line[k.ENTRY_COUNT], line[k.POOL_USED] = count, k.POOL_LISTS + rows

    def build(
        self,
        stores: Words,
        lines: Words,
        number: int,
        relation: int,
        entries: int = SMALLEST,
        look: Callable[[], None] | None = None,
    ) -> None:
        """Builds the arrangement from all rows of the relation, starting with room for so many keys.

        `look` is called now and then meanwhile; it may raise, and then the arrangement cannot be used.
        """
        self.moves |= 1
        used = int(stores[relation, k.USED])
        if (
            self.key_count
            and MANY_ROWS <= used <= MOST_ROWS
            and self._build_dense(stores, lines, number, relation, look)
        ):
            self.moves += 1
            return
        self._note_room(lines[number], relation, int(stores[relation, k.LIVE]), entries)
        done, found = 0, np.empty(used, dtype=np.int32)
        while True:
            limit = used if look is None else min(done + _AT_ONCE, used)
            done = entry_points.build_arrangement(stores, lines, number, done, limit, found)
            if done == used:
                break
            if done < limit:
                self._make_key_room(lines, number)
            if look is not None:
                look()
        self.moves += 1

    def _build_dense(
        self, stores: Words, lines: Words, number: int, relation: int, look: Callable[[], None] | None
    ) -> bool:
        """Builds the arrangement by counting the rows of each key; returns False, and changes nothing, if the numbers
        that keys may be are too many."""
        used, keys = int(stores[relation, k.USED]), self.keys[: self.key_count]
        spans: Words = np.array([(1 << 63) - 1, -(1 << 63)] * self.key_count, dtype=np.int64)
        numbers: Lines = np.empty(used, dtype=np.int32)
        most = min(SPARSE * used, MOST_ROWS)
        sampled = min(_SAMPLE, used)
        dense_arrangement.measure_keys(stores, relation, keys, 0, sampled, spans, numbers)
        if _numbers_within(spans) > most:
            return False
        for first, end in _steps(used, look):
            dense_arrangement.measure_keys(stores, relation, keys, first, end, spans, numbers)
        size = _numbers_within(spans)
        if not 0 < size <= most:
            return False
        state: Words = np.zeros(size, dtype=np.int64)
        for first, end in _steps(used, look):
            dense_arrangement.count_rows(stores, relation, keys, first, end, spans, numbers, state)
        entries = int(np.count_nonzero(state))
        self._note_room(lines[number], relation, int(stores[relation, k.LIVE]), entries + (entries >> 3) + SMALLEST)
        lines[number, k.POOL_USED] = k.POOL_LISTS
        hashes: Words = np.empty(k.PIECE, dtype=np.int64)
        for first, end in _steps(size, look):
            dense_arrangement.make_buckets(lines, number, spans, first, end, state, hashes)
        for first, end in _steps(used, look):
            dense_arrangement.fill_buckets(lines, number, first, end, used, numbers, state)
        return True

    def _note_room(self, line: Words, relation: int, rows: int, entries: int) -> None:
        """Makes room for so many rows and keys, and writes the line of the empty arrangement."""
        self.pool = Growing(np.int32, k.POOL_LISTS + rows + (rows >> 2) + SMALLEST)
        line[k.RELATION], line[k.KEYS], line[k.KEY_COUNT] = relation, self.keys.ctypes.data, self.key_count
        line[k.POOL], line[k.POOL_CAPACITY] = self.pool.address, len(self.pool)
        line[k.MARKS] = self.marks.address
        self.entries = Growing(np.int64, entries, width=k.ENTRY_EXTRA + self.key_count)
        self.table = Growing(np.int64, 1 << (2 * entries).bit_length())
        line[k.ENTRIES], line[k.ENTRY_CAPACITY] = self.entries.address, entries
        line[k.TABLE], line[k.TABLE_MASK] = self.table.address, len(self.table) - 1
        line[k.ENTRY_COUNT] = line[k.POOL_USED] = line[k.POOL_WASTE] = 0

    def grow(self, stores: Words, lines: Words, number: int) -> None:
        """Enlarges the arrays that are full, or builds the arrangement again if half of it is waste."""
        line = lines[number]
        count, relation = int(line[k.ENTRY_COUNT]), int(line[k.RELATION])
        if count * 2 > line[k.TABLE_MASK] or count == line[k.ENTRY_CAPACITY]:
            if count > SMALLEST and np.count_nonzero(self._lengths(count)) * 2 < count:
                self.build(stores, lines, number, relation)
            else:
                self.moves += 1
                self._make_key_room(lines, number)
                self.moves += 1
        elif int(line[k.POOL_WASTE]) * 2 > int(line[k.POOL_USED]):
            self.build(stores, lines, number, relation, count)
        else:
            self.moves += 1
            self.pool.make_room(2 * len(self.pool) + SMALLEST)
            line[k.POOL], line[k.POOL_CAPACITY] = self.pool.address, len(self.pool)
            self.moves += 1

    def _make_key_room(self, lines: Words, number: int) -> None:
        """Makes room for more keys in the entries and in the table."""
        line = lines[number]
        count = int(line[k.ENTRY_COUNT])
        self.entries.make_room(count + 1)
        line[k.ENTRIES], line[k.ENTRY_CAPACITY] = self.entries.address, len(self.entries)
        if count * 2 > line[k.TABLE_MASK]:
            old, size = self.table, 2 * (int(line[k.TABLE_MASK]) + 1)
            self.table = Growing(np.int64, size)
            line[k.TABLE], line[k.TABLE_MASK] = self.table.address, size - 1
            entry_points.grow_table(lines, number, old.array)

    def _lengths(self, count: int) -> Words:
        """Returns the lengths of the buckets of the first `count` entries."""
        lengths: Words = self.entries.array[:count, k.ENTRY_LENGTH // 2] & k.LOW_MASK
        return lengths


def _steps(count: int, look: Callable[[], None] | None) -> Iterator[tuple[int, int]]:
    """Yields the first line and the end of each step over so many lines; looks before each, if there are several."""
    step = count if look is None else _AT_ONCE
    for first in range(0, count, step):
        if look is not None:
            look()
        yield first, min(first + step, count)


def _numbers_within(spans: Words) -> int:
    """Returns how many keys there may be, given the least and the greatest word of each column; 0 without rows."""
    return prod(max(most - least + 1, 0) for least, most in zip(spans[::2].tolist(), spans[1::2].tolist()))
