"""A relation's memory: its rows, the index on whole rows, and its arrangements; all of it owned by Python.

A `Store` keeps NumPy arrays and writes their addresses into its line of the table S that kernels read (`layout`). The
sizes in that line are the truth: kernels advance them. When a kernel says that something is full, the method here that
makes room copies it into a larger array and writes the new address.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.kernels import entry, settle
from tidelog.engine.local.kernels.layout import (
    ARRANGEMENT_FIELDS,
    BATCH,
    CAME,
    CAME_COUNT,
    CAPACITY,
    COLUMNS,
    ENTRIES,
    ENTRY_CAPACITY,
    ENTRY_COUNT,
    ENTRY_EXTRA,
    FIRST_ARRANGEMENT,
    FREE,
    FREE_CAPACITY,
    FREE_COUNT,
    FREED,
    KEY_COUNT,
    KEYS,
    LEFT,
    LEFT_COUNT,
    LIVE,
    LOG,
    LOG_CAPACITY,
    LOG_COUNT,
    LOG_WIDTH,
    MASK,
    META,
    NEXT_ARRANGEMENT,
    PENDING_CAPACITY,
    PENDING_COUNT,
    PENDING_ROWS,
    PLACE,
    POOL,
    POOL_CAPACITY,
    POOL_USED,
    POOL_WASTE,
    RELATION,
    ROW_EXTRA,
    ROWS,
    SLOTS,
    STAMP_SHIFT,
    STORE_FIELDS,
    TABLE,
    TABLE_MASK,
    USED,
    WIDTH,
)

Words = npt.NDArray[np.int64]
Scalar = TypeVar("Scalar", np.int64, np.int32)
SMALLEST = 16


class Desk:
    """The tables S and A, with a line for each relation and each arrangement that any plan asks for.

    Behind the n lines of the relations S has n more, where a Bootstrap keeps the store that it is about to replace,
    and a last one for scratch.
    """

    def __init__(self, columns: Sequence[int]) -> None:
        self.S: Words = np.zeros((2 * len(columns) + 1, STORE_FIELDS), dtype=np.int64)
        self.A: Words = np.zeros((0, ARRANGEMENT_FIELDS), dtype=np.int64)
        self._arrangements: dict[tuple[int, tuple[int, ...]], int] = {}
        self.stores = [Store(self, relation, width) for relation, width in enumerate(columns)]

    def arrangement(self, relation: int, keys: tuple[int, ...]) -> int:
        """The line in A for an arrangement of a relation by these columns; it need not be built yet."""
        known = self._arrangements.get((relation, keys))
        if known is None:
            known = self._arrangements[relation, keys] = len(self._arrangements)
            if known >= len(self.A):
                self.A = np.concatenate([self.A, np.zeros((len(self.A) + 8, ARRANGEMENT_FIELDS), dtype=np.int64)])
        return known

    def shadow(self, relation: int) -> int:
        """The line of S where the replaced store of a relation is kept."""
        return relation + len(self.stores)

    def replace(self, relation: int) -> Store:
        """Puts a fresh, empty store in the relation's place, the old one in its shadow line; returns the old one."""
        old = self.stores[relation]
        old.detach()
        self.S[self.shadow(relation)] = old.line
        self.stores[relation] = Store(self, relation, old.columns)
        return old

    def restore(self, relation: int, old: Store) -> None:
        """Undoes `replace`."""
        self.stores[relation] = old
        old.attach()

    def net(self, relation: int, rows: Words, signs: Words) -> tuple[Words, Words]:
        """What inserts (+1) and deletes (-1), in order, come to: the facts to insert and the facts to delete."""
        scratch = Store(self, len(self.S) - 1, rows.shape[1])
        scratch.make_room(len(rows))
        verdict = np.zeros(len(rows), dtype=np.int64)
        settle.net(self.S, scratch.relation, relation, rows, signs, verdict)
        return rows[verdict > 0], rows[verdict < 0]


class Arrangement:
    """The memory of one arrangement; see `kernels/arrange`."""

    def __init__(self, keys: tuple[int, ...], capacity: int) -> None:
        self.keys = np.array(keys or (0,), dtype=np.int64)
        self.key_count = len(keys)
        self.place = np.full(capacity, -1, dtype=np.int32)
        self.saved = np.zeros(ARRANGEMENT_FIELDS, dtype=np.int64)
        self.entries: Words = np.empty((0, ENTRY_EXTRA + self.key_count), dtype=np.int64)
        self.table: Words = np.zeros(0, dtype=np.int64)
        self.pool = np.empty(0, dtype=np.int32)

    def bytes(self) -> int:
        return self.place.nbytes + self.entries.nbytes + self.table.nbytes + self.pool.nbytes


class Store:
    """The rows of one relation and everything that finds them."""

    def __init__(self, desk: Desk, relation: int, columns: int) -> None:
        self.desk = desk
        self.relation = relation
        self.columns = columns
        self.width = columns + ROW_EXTRA
        self.rows: Words = np.empty((0, self.width), dtype=np.int64)
        self.slots: Words = np.zeros(2 * SMALLEST, dtype=np.int64)
        self.free: Words = np.empty(0, dtype=np.int64)
        self.queues: list[Words] = [np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)]
        self.log: Words = np.empty((0, LOG_WIDTH), dtype=np.int64)
        self.came: Words = np.empty(0, dtype=np.int64)
        self.left: Words = np.empty(0, dtype=np.int64)
        self.arrangements: dict[int, Arrangement] = {}
        self.saved = np.zeros(STORE_FIELDS, dtype=np.int64)
        line = self.line
        line[:] = 0
        line[WIDTH] = self.width
        line[COLUMNS] = columns
        line[SLOTS] = self.slots.ctypes.data
        line[MASK] = len(self.slots) - 1
        line[FIRST_ARRANGEMENT] = -1

    @property
    def line(self) -> Words:
        """The store's line of S."""
        line: Words = self.desk.S[self.relation]
        return line

    def __len__(self) -> int:
        return int(self.line[LIVE])

    def detach(self) -> None:
        """Keeps the store's lines, so that another store can take its place."""
        self.saved[:] = self.line
        for number, arrangement in self.arrangements.items():
            arrangement.saved[:] = self.desk.A[number]

    def attach(self) -> None:
        """Puts the lines kept by `detach` back."""
        self.line[:] = self.saved
        for number, arrangement in self.arrangements.items():
            self.desk.A[number] = arrangement.saved

    # Room

    def make_room(self, rows: int) -> None:
        """Room for `rows` more rows in the rows, in the index, in the queues and in the log."""
        self.make_row_room(rows)
        self.make_queue_room(rows)
        line = self.line
        wanted = int(line[LOG_COUNT]) + rows
        if wanted > line[LOG_CAPACITY]:
            self.log = _enlarged(self.log, int(line[LOG_COUNT]), wanted)
            line[LOG], line[LOG_CAPACITY] = self.log.ctypes.data, len(self.log)

    def make_row_room(self, rows: int) -> None:
        """Room for `rows` more rows in the rows and in the index."""
        line = self.line
        wanted = int(line[USED]) + rows - int(line[FREE_COUNT])
        if wanted > line[CAPACITY]:
            self.rows = _enlarged(self.rows, int(line[USED]), wanted)
            line[ROWS], line[CAPACITY] = self.rows.ctypes.data, len(self.rows)
            for number, arrangement in self.arrangements.items():
                place = np.full(len(self.rows), -1, dtype=np.int32)
                place[: len(arrangement.place)] = arrangement.place
                arrangement.place = place
                self.desk.A[number, PLACE] = place.ctypes.data
        if (int(line[LIVE]) + rows) * 3 > (int(line[MASK]) + 1) * 2:
            size = 1 << (2 * (int(line[LIVE]) + rows) - 1).bit_length()
            self.slots = np.zeros(size, dtype=np.int64)
            line[SLOTS], line[MASK] = self.slots.ctypes.data, size - 1
            entry.reindex(self.desk.S, self.relation)

    def make_queue_room(self, rows: int) -> None:
        """Room for `rows` more pending rows."""
        line = self.line
        wanted = int(line[PENDING_COUNT]) + rows
        if wanted > line[PENDING_CAPACITY]:
            pending = 0 if line[PENDING_ROWS] == self.queues[0].ctypes.data else 1
            self.queues = [
                _enlarged(queue, len(queue), wanted) for queue in (self.queues[pending], self.queues[1 - pending])
            ]
            line[PENDING_ROWS], line[BATCH] = self.queues[0].ctypes.data, self.queues[1].ctypes.data
            line[PENDING_CAPACITY] = len(self.queues[0])

    def make_free_room(self, rows: int) -> None:
        """Room for `rows` more lines to reuse."""
        line = self.line
        wanted = int(line[FREE_COUNT]) + rows
        if wanted > line[FREE_CAPACITY]:
            self.free = _enlarged(self.free, int(line[FREE_COUNT]), wanted)
            line[FREE], line[FREE_CAPACITY] = self.free.ctypes.data, len(self.free)

    # Arrangements

    def arrange(self, keys: tuple[int, ...]) -> None:
        """Builds the arrangement by these columns from the rows that are there, unless there is one."""
        number = self.desk.arrangement(self.relation, keys)
        if number in self.arrangements:
            return
        self.arrangements[number] = Arrangement(keys, int(self.line[CAPACITY]))
        line = self.desk.A[number]
        line[:] = 0
        line[NEXT_ARRANGEMENT] = self.line[FIRST_ARRANGEMENT]
        self._build(number, SMALLEST)
        self.line[FIRST_ARRANGEMENT] = number

    def grow_arrangement(self, number: int) -> None:
        """Makes an arrangement larger in what is full, or packs it where half of it is waste."""
        arrangement, line = self.arrangements[number], self.desk.A[number]
        count = int(line[ENTRY_COUNT])
        if count * 2 > line[TABLE_MASK] or count == line[ENTRY_CAPACITY]:
            if count > SMALLEST and np.count_nonzero(arrangement.entries[:count, 1]) * 2 < count:
                self._build(number, SMALLEST)
                return
            arrangement.entries = _enlarged(arrangement.entries, count, count + 1)
            line[ENTRIES], line[ENTRY_CAPACITY] = arrangement.entries.ctypes.data, len(arrangement.entries)
            arrangement.table = np.zeros(1 << (4 * count + SMALLEST).bit_length(), dtype=np.int64)
            line[TABLE], line[TABLE_MASK] = arrangement.table.ctypes.data, len(arrangement.table) - 1
            entry.rehash_arrangement(self.desk.A, number)
        elif int(line[POOL_WASTE]) * 2 > int(line[POOL_USED]):
            self._build(number, count)
        else:
            arrangement.pool = _enlarged(arrangement.pool, int(line[POOL_USED]), 2 * len(arrangement.pool) + SMALLEST)
            line[POOL], line[POOL_CAPACITY] = arrangement.pool.ctypes.data, len(arrangement.pool)

    def _build(self, number: int, entries: int) -> None:
        """Builds an arrangement anew from all rows, starting with room for so many keys."""
        arrangement, line = self.arrangements[number], self.desk.A[number]
        used = int(self.line[USED])
        arrangement.pool = np.empty(len(self) + (len(self) >> 2) + SMALLEST, dtype=np.int32)
        arrangement.place.fill(-1)
        scratch = np.empty(used, dtype=np.int64)
        line[RELATION], line[KEYS], line[KEY_COUNT] = self.relation, arrangement.keys.ctypes.data, arrangement.key_count
        line[POOL], line[POOL_CAPACITY] = arrangement.pool.ctypes.data, len(arrangement.pool)
        line[PLACE] = arrangement.place.ctypes.data
        while True:
            arrangement.entries = np.empty((entries, ENTRY_EXTRA + arrangement.key_count), dtype=np.int64)
            arrangement.table = np.zeros(1 << (2 * entries).bit_length(), dtype=np.int64)
            line[ENTRIES], line[ENTRY_CAPACITY] = arrangement.entries.ctypes.data, entries
            line[TABLE], line[TABLE_MASK] = arrangement.table.ctypes.data, len(arrangement.table) - 1
            line[ENTRY_COUNT] = line[POOL_USED] = line[POOL_WASTE] = 0
            if entry.build_arrangement(self.desk.S, self.desk.A, number, scratch) == used:
                return
            entries *= 4

    # The overlay

    def settle(self) -> bool:
        """After the stratum's waves: what came and what left, for the strata above. False: the state is broken."""
        count = int(self.line[LOG_COUNT])
        self.came = np.empty(count, dtype=np.int64)
        self.left = np.empty(count, dtype=np.int64)
        self.line[CAME], self.line[LEFT] = self.came.ctypes.data, self.left.ctypes.data
        return bool(settle.settle(self.desk.S, self.relation, self.came, self.left) == 0)

    def compare(self, old: Store) -> None:
        """After a Bootstrap into this fresh store: what came and what left against the store that it replaces."""
        gone = int(old.saved[LIVE])
        self.came = np.empty(int(self.line[USED]), dtype=np.int64)
        self.left = np.empty(gone, dtype=np.int64)
        self.line[CAME], self.line[LEFT] = self.came.ctypes.data, self.left.ctypes.data
        if gone:
            self.make_row_room(gone)
        while True:
            full = settle.compare(self.desk.S, self.desk.A, self.desk.shadow(self.relation), self.relation)
            if full < 0:
                return
            self.grow_arrangement(int(full))

    def has_overlay(self) -> bool:
        """Whether the epoch has changed anything here."""
        line = self.line
        return bool(line[LOG_COUNT] or line[CAME_COUNT] or line[LEFT_COUNT] or line[PENDING_COUNT])

    def keep(self) -> None:
        """The overlay becomes the state."""
        self.make_free_room(int(self.line[LEFT_COUNT]))
        settle.keep(self.desk.S, self.desk.A, self.relation)
        self._shrink_log()

    def drop(self) -> None:
        """The overlay is undone."""
        self.make_free_room(int(self.line[LOG_COUNT]))
        settle.drop(self.desk.S, self.desk.A, self.relation)
        self._shrink_log()

    def _shrink_log(self) -> None:
        """Gives back the memory of a large epoch's overlay."""
        if len(self.log) > 1 << 16:
            self.log = np.empty((0, LOG_WIDTH), dtype=np.int64)
            self.line[LOG], self.line[LOG_CAPACITY] = 0, 0
        if len(self.queues[0]) > 1 << 16:
            self.queues = [np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)]
            self.line[PENDING_ROWS] = self.line[BATCH] = self.line[PENDING_CAPACITY] = 0
        self.came = self.left = np.empty(0, dtype=np.int64)

    # Reading

    def lines_that_came(self) -> Words:
        return self.came[: int(self.line[CAME_COUNT])]

    def lines_that_left(self) -> Words:
        return self.left[: int(self.line[LEFT_COUNT])]

    def columns_of(self, lines: Words) -> Words:
        """The columns of some rows, copied."""
        copied: Words = self.rows[lines, : self.columns]
        return copied

    def lines(self, count: int | None = None) -> Words:
        """The lines of all rows (among the first `count`, for a store that is detached)."""
        used = self.rows[: int(self.line[USED]) if count is None else count]
        return np.flatnonzero(used[:, self.columns + META] >> STAMP_SHIFT != FREED)

    def present_lines(self) -> Words:
        """The lines of the rows that are there with the epoch's changes, once the store has settled."""
        stamps = self.rows[: int(self.line[USED]), self.columns + META] >> STAMP_SHIFT
        return np.flatnonzero((stamps >= 0) & (stamps != FREED))

    def touched_lines(self) -> Words:
        """The lines in the overlay's log."""
        return self.log[: int(self.line[LOG_COUNT]), 0].copy()

    def find(self, row: Words) -> int:
        """The line of a row, or -1."""
        return int(entry.look_up(self.desk.S, self.relation, row))

    def bucket(self, columns: tuple[int, ...], key: Words) -> Words:
        """The lines of the rows with these words in these columns, in the overlay also those that are leaving."""
        self.arrange(columns)
        number = self.desk.arrangement(self.relation, columns)
        arrangement = self.arrangements[number]
        row = np.zeros(self.columns + 1, dtype=np.int64)
        row[list(columns)] = key
        found = entry.find_bucket(self.desk.A, number, row)
        if found < 0:
            return np.empty(0, dtype=np.int64)
        start, length = arrangement.entries[found, :2].tolist()
        return arrangement.pool[start : start + length].astype(np.int64)

    def bytes(self) -> int:
        """The memory that rows, index and arrangements take."""
        return self.rows.nbytes + self.slots.nbytes + sum(each.bytes() for each in self.arrangements.values())


def _enlarged(array: npt.NDArray[Scalar], used: int, wanted: int) -> npt.NDArray[Scalar]:
    """A copy of the array with room for `wanted` lines and, so that growth is rare, more."""
    factor = 2.0 if len(array) < 1 << 22 else 1.5
    size = max(wanted, int(len(array) * factor), SMALLEST)
    larger = np.empty((size, *array.shape[1:]), dtype=array.dtype)
    larger[:used] = array[:used]
    return larger
