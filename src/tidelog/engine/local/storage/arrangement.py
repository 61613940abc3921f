"""The memory of one arrangement, which kernels read and fill (`kernels/arrange`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.kernels import dense_keys, entry_points
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.growable_array import SMALLEST, Growing

Words = npt.NDArray[np.int64]
Lines = npt.NDArray[np.int32]
_AT_ONCE = 1 << 20
_SAMPLE = 1 << 12
DENSE_FROM = 1 << 12
"""With fewer lines, an arrangement is built as new rows are arranged."""

DENSE = 2
"""Keys are dense if they have at most so many times as many numbers as there are lines."""


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
        found = np.empty(used, dtype=np.int32)
        if used >= DENSE_FROM and self._build_dense(stores, lines, number, relation, found, look):
            self.moves += 1
            return
        self._note_room(lines[number], relation, int(stores[relation, k.LIVE]), entries)
        done = 0
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
        self, stores: Words, lines: Words, number: int, relation: int, found: Lines, look: Callable[[], None] | None
    ) -> bool:
        """Builds the arrangement if the words of the key columns are dense (`kernels/dense_keys`); returns False, and
        has done nothing, if they are not, or too sparse for an array. `found` is scratch."""
        keys, used = self.keys[: self.key_count], len(found)

        def in_pieces(run: Callable[[int, int], object], count: int) -> None:
            step = max(count, 1) if look is None else _AT_ONCE
            for first in range(0, count, step):
                if look is not None:
                    look()
                run(first, min(first + step, count))

        spans: Words = np.empty((len(keys), 2), dtype=np.int64)
        spans[:, 0], spans[:, 1] = np.iinfo(np.int64).max, np.iinfo(np.int64).min
        few = min(used, _SAMPLE)  # mostly enough to see that words are sparse
        dense_keys.span_keys(stores, relation, keys, 0, few, spans, found)
        if not len(keys) or _numbers(spans) > DENSE * used:
            return False
        in_pieces(lambda first, end: dense_keys.span_keys(stores, relation, keys, first, end, spans, found), used)
        size = _numbers(spans)
        if size > DENSE * used:
            return False
        factors: Words = np.ones(len(keys), dtype=np.int64)
        for place in range(len(keys) - 1, 0, -1):
            factors[place - 1] = factors[place] * (int(spans[place, 1]) - int(spans[place, 0]) + 1)
        places: Lines = np.zeros(size, dtype=np.int32)
        starts: Lines = np.empty(size, dtype=np.int32)
        of_rows = stores, relation, keys
        in_pieces(
            lambda first, end: dense_keys.count_numbers(*of_rows, first, end, spans, factors, found, places), used
        )
        count = int(np.count_nonzero(places))
        self._note_room(lines[number], relation, int(stores[relation, k.LIVE]), max(count, SMALLEST))
        dense_keys.add_buckets(lines, number, spans, factors, places, starts)
        hashes: Words = np.empty(k.PIECE, dtype=np.int64)
        in_pieces(lambda first, end: dense_keys.fill_table(lines, number, first, end, hashes), count)
        in_pieces(lambda first, end: dense_keys.put_lines(lines, number, first, end, found, starts, places), used)
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


def _numbers(spans: Words) -> int:
    """Returns how many different keys words within these spans can make."""
    return prod(most - least + 1 for least, most in spans.tolist())
