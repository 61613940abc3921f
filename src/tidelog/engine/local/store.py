"""A relation's memory: its rows, the index on whole rows, and its arrangements; all of it owned by Python.

A `Store` keeps arrays that grow (`growing`) and writes their addresses into its line of the table S that kernels read
(`layout`). The sizes in that line are the truth: kernels advance them. When a kernel says that something is full, the
method here that makes room lets it grow and writes the new address. The two hash tables, the index and an arrangement's
table, double by moving their slots, which hold the hashes, so rows and entries are not read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.arrived import Arrived
from tidelog.engine.local.growing import SMALLEST, Growing
from tidelog.engine.local.kernels import entry, settle
from tidelog.engine.local.kernels.layout import (
    ARRANGEMENT_FIELDS,
    BATCH,
    BATCH_COUNT,
    CAME,
    CAME_COUNT,
    CAPACITY,
    COLUMNS,
    ENTRIES,
    ENTRY_CAPACITY,
    ENTRY_COUNT,
    ENTRY_EXTRA,
    ENTRY_LENGTH,
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
    LOW_MASK,
    MASK,
    META,
    NEXT_ARRANGEMENT,
    PENDING_CAPACITY,
    PENDING_COUNT,
    PENDING_ROWS,
    PIECE,
    PLACE,
    POOL,
    POOL_CAPACITY,
    POOL_LISTS,
    POOL_USED,
    POOL_WASTE,
    RANK_MASK,
    RANK_SHIFT,
    RELATION,
    ROW_EXTRA,
    ROWS,
    SLOTS,
    STAMP_SHIFT,
    STORE_FIELDS,
    TABLE,
    TABLE_MASK,
    TOP,
    USED,
    WIDTH,
)
from tidelog.engine.local.lftj.trie import Trie
from tidelog.plan.estimate import Order

Words = npt.NDArray[np.int64]
Lines = npt.NDArray[np.int32]
NO_LINES: Lines = np.empty(0, dtype=np.int32)
FEW = 64
SHARED_SLOTS = 1 << 16  # an index with so many slots grows with all threads


class Helpers(Protocol):
    """Threads that share work (`team.Team`)."""

    threads: int

    def run(self, part: Callable[[int], int]) -> list[int]: ...


class Desk:
    """The tables S and A, with a line for each relation and each arrangement that any plan asks for.

    Behind the n lines of the relations S has n more, where a Bootstrap keeps the store that it is about to replace,
    and a last one for scratch.
    """

    def __init__(self, columns: Sequence[int]) -> None:
        self.S: Words = np.zeros((2 * len(columns) + 1, STORE_FIELDS), dtype=np.int64)
        self.A: Words = np.zeros((0, ARRANGEMENT_FIELDS), dtype=np.int64)
        self._arrangements: dict[tuple[int, tuple[int, ...] | Order], int] = {}
        self.stores = [Store(self, relation, width) for relation, width in enumerate(columns)]
        self.resized: set[int] = set()  # relations whose memory has changed beside an epoch, until somebody takes note
        self._scratches: dict[int, Store] = {}
        self._unused: list[int] = []
        self.helpers: Helpers | None = None  # for what is worth several threads

    def add(self, columns: Sequence[int]) -> list[int]:
        """Empty stores for more relations, and their numbers: lines that were given back, then new ones.

        Only between epochs: the lines of replaced stores move.
        """
        numbers = [self._unused.pop() for _ in range(min(len(self._unused), len(columns)))]
        count = len(columns) - len(numbers)
        if count:
            before = len(self.stores)
            lines: Words = np.zeros((2 * (before + count) + 1, STORE_FIELDS), dtype=np.int64)
            lines[:before] = self.S[:before]
            self.S = lines
            self._scratches.clear()
            numbers += range(before, before + count)
            self.stores += [Store(self, before + place, 0) for place in range(count)]
        for number, width in zip(numbers, columns, strict=True):
            self.stores[number] = Store(self, number, width)
            self.resized.add(number)
        return numbers

    def give_back(self, numbers: Iterable[int]) -> None:
        """These relations are gone; others may have their lines."""
        for number in numbers:
            self.stores[number] = Store(self, number, 0)
            self._unused.append(number)

    def arrangement(self, relation: int, keys: tuple[int, ...] | Order) -> int:
        """The line in A for an arrangement of a relation by these columns, or for a trie; it need not be built yet."""
        known = self._arrangements.get((relation, keys))
        if known is None:
            known = self._arrangements[relation, keys] = len(self._arrangements)
            if known >= len(self.A):
                self.A = np.concatenate([self.A, np.zeros((len(self.A) + 8, ARRANGEMENT_FIELDS), dtype=np.int64)])
        return known

    def grow_index(self, relation: int, old: Words) -> None:
        """Fills the empty index of a relation from the slots of its old one, with all threads if they are many."""
        if self.helpers is None or self.helpers.threads == 1 or len(old) < SHARED_SLOTS:
            entry.grow_index(self.S, relation, old, 0, 1)
            return
        entry.grow_index.load()  # the first call loads a kernel, which several threads must not do at once
        threads = self.helpers.threads
        self.helpers.run(lambda me: entry.grow_index(self.S, relation, old, me, threads))

    def shadow(self, relation: int) -> int:
        """The line of S where the replaced store of a relation is kept."""
        return relation + len(self.stores)

    def replace(self, relation: int) -> Store:
        """Puts a fresh, empty store in the relation's place, the old one in its shadow line; returns the old one."""
        old = self.stores[relation]
        old.index()
        old.detach()
        self.S[self.shadow(relation)] = old.line
        self.stores[relation] = Store(self, relation, old.columns)
        return old

    def restore(self, relation: int, old: Store) -> None:
        """Undoes `replace`."""
        self.stores[relation] = old
        old.attach()

    def close(self) -> None:
        """Gives the memory of all relations back; the desk is of no use after this."""
        self.stores.clear()
        self._scratches.clear()

    def net(self, relation: int, rows: Words, signs: Words) -> tuple[Words, Words]:
        """What inserts (+1) and deletes (-1), in order, come to: the facts to insert and the facts to delete."""
        self.stores[relation].index()
        scratch = self._scratch(rows.shape[1], len(rows))
        verdict = np.zeros(len(rows), dtype=np.int64)
        settle.net(self.S, scratch.relation, relation, rows, signs, verdict)
        return rows[verdict > 0], rows[verdict < 0]

    def _scratch(self, columns: int, rows: int) -> Store:
        """An empty store in the last line of S, with room for so many rows; that for few is kept and emptied."""
        if rows > FEW:
            scratch = Store(self, len(self.S) - 1, columns)
            scratch.make_row_room(rows)
            return scratch
        kept = self._scratches.get(columns)
        if kept is None:
            kept = self._scratches[columns] = Store(self, len(self.S) - 1, columns)
            kept.make_row_room(FEW)
            kept.detach()
        else:
            kept.empty()
        return kept


class Arrangement:
    """The memory of one arrangement; see `kernels/arrange`."""

    def __init__(self, keys: tuple[int, ...], capacity: int) -> None:
        self.keys = np.array(keys or (0,), dtype=np.int64)
        self.key_count = len(keys)
        self.place = Growing(np.int32, capacity)
        self.saved = np.zeros(ARRANGEMENT_FIELDS, dtype=np.int64)
        self.entries = Growing(np.int64, width=ENTRY_EXTRA + self.key_count)
        self.table = Growing(np.int64)
        self.pool = Growing(np.int32)

    def bucket(self, entry: int) -> Lines:
        """The lines in the bucket of an entry."""
        start, length = self.entries.array[entry, :ENTRY_EXTRA].tolist()
        lines: Lines = self.pool.array[start : start + (length & LOW_MASK)]
        return lines

    def lengths(self, count: int) -> Words:
        """How long the buckets of the first so many entries are."""
        lengths: Words = self.entries.array[:count, ENTRY_LENGTH // 2] & LOW_MASK
        return lengths


class Beside(Protocol):
    """What a strategy keeps about the rows of a relation, beside them."""

    def bytes(self) -> int: ...


class Store:
    """The rows of one relation and everything that finds them."""

    def __init__(self, desk: Desk, relation: int, columns: int) -> None:
        self.desk = desk
        self.relation = relation
        self.columns = columns
        self.width = columns + ROW_EXTRA
        self._rows = Growing(np.int64, width=self.width)
        self._slots = Growing(np.int64, 2 * SMALLEST)
        self._free = Growing(np.int64)
        self._queues = [Growing(np.int32), Growing(np.int32)]
        self._log = Growing(np.int64, width=LOG_WIDTH)
        self._came = NO_LINES
        self._left = NO_LINES
        self._is_stamped = True
        self.arrangements: dict[int, Arrangement | Trie] = {}
        self.beside: Beside | None = None
        self.saved = np.zeros(STORE_FIELDS, dtype=np.int64)
        self.is_indexed = True
        self.scans = 0  # see `look_up`
        line = self.line
        line[:] = 0
        line[WIDTH] = self.width
        line[COLUMNS] = columns
        line[SLOTS], line[MASK] = self._slots.address, len(self._slots) - 1
        line[FIRST_ARRANGEMENT] = -1

    @property
    def line(self) -> Words:
        """The store's line of S."""
        line: Words = self.desk.S[self.relation]
        return line

    @property
    def rows(self) -> Words:
        """All lines, used or not. Not to be kept: rows that grow while somebody looks at them have to be copied."""
        return self._rows.array

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

    def empty(self) -> None:
        """Goes back to the lines kept by `detach` while there were no rows."""
        self.attach()
        self._slots.array.fill(0)

    def adopt(self, rows: Words, free: Words, live: int, top: int) -> None:
        """Makes the rows (with unused lines among them: `free`) those of this empty store.

        They may be a mapped file. They are indexed when something needs it: to look at all of them takes seconds.
        """
        line = self.line
        self._rows.adopt(rows)
        self._free.adopt(free)
        line[ROWS], line[CAPACITY], line[USED] = self._rows.address, len(rows), len(rows)
        line[FREE], line[FREE_CAPACITY], line[FREE_COUNT] = self._free.address, len(free), len(free)
        line[LIVE], line[TOP] = live, top
        self.is_indexed = False

    def index(self) -> None:
        """Indexes adopted rows; to be called before a kernel looks for whole rows."""
        if not self.is_indexed:
            self.is_indexed = True
            size = 1 << (2 * len(self) + SMALLEST).bit_length()
            self._slots = Growing(np.int64, size)
            self.line[SLOTS], self.line[MASK] = self._slots.address, size - 1
            entry.reindex(self.desk.S, self.relation)

    # Room

    def make_room(self, rows: int) -> None:
        """Room for `rows` more rows in the rows, in the index, in the queues and in the log."""
        self.make_row_room(rows)
        self.make_queue_room(rows)
        line = self.line
        wanted = int(line[LOG_COUNT]) + rows
        if wanted > line[LOG_CAPACITY]:
            self._log.make_room(wanted)
            line[LOG], line[LOG_CAPACITY] = self._log.address, len(self._log)

    def make_row_room(self, rows: int) -> None:
        """Room for `rows` more rows in the rows and in the index."""
        self.index()
        line = self.line
        wanted = int(line[USED]) + rows - int(line[FREE_COUNT])
        if wanted > line[CAPACITY]:
            self._rows.make_room(wanted)
            line[ROWS], line[CAPACITY] = self._rows.address, len(self._rows)
            for number, arrangement in self.arrangements.items():
                if isinstance(arrangement, Arrangement):
                    arrangement.place.make_room(len(self._rows))
                    self.desk.A[number, PLACE] = arrangement.place.address
        if (int(line[LIVE]) + rows) * 3 > (int(line[MASK]) + 1) * 2:
            old, size = self._slots, 1 << (2 * (int(line[LIVE]) + rows) - 1).bit_length()
            self._slots = Growing(np.int64, size)
            line[SLOTS], line[MASK] = self._slots.address, size - 1
            self.desk.grow_index(self.relation, old.array)

    def make_queue_room(self, rows: int) -> None:
        """Room for `rows` more pending rows."""
        line = self.line
        wanted = int(line[PENDING_COUNT]) + rows
        if wanted > line[PENDING_CAPACITY]:
            if line[PENDING_ROWS] != self._queues[0].address:
                self._queues.reverse()
            for queue in self._queues:
                queue.make_room(wanted)
            line[PENDING_ROWS], line[BATCH] = self._queues[0].address, self._queues[1].address
            line[PENDING_CAPACITY] = len(self._queues[0])

    def make_free_room(self, rows: int) -> None:
        """Room for `rows` more lines to reuse."""
        line = self.line
        wanted = int(line[FREE_COUNT]) + rows
        if wanted > line[FREE_CAPACITY]:
            self._free.make_room(wanted)
            line[FREE], line[FREE_CAPACITY] = self._free.address, len(self._free)

    def give_lines_back(self, lines: Words) -> None:
        """Lines that were taken and hold no row may be used again."""
        self.make_free_room(len(lines))
        count = int(self.line[FREE_COUNT])
        self._free.array[count : count + len(lines)] = lines
        self.line[FREE_COUNT] = count + len(lines)

    # Arrangements

    def arrange(self, keys: tuple[int, ...] | Order) -> None:
        """Builds the arrangement by these columns, or the trie, from the rows that are there, unless there is one."""
        number = self.desk.arrangement(self.relation, keys)
        if number in self.arrangements:
            return
        self.desk.resized.add(self.relation)
        line = self.desk.A[number]
        line[:] = 0
        line[NEXT_ARRANGEMENT] = self.line[FIRST_ARRANGEMENT]
        if isinstance(keys, Order):
            trie = self.arrangements[number] = Trie(keys.columns)
            trie.build(self.desk.S, self.desk.A, number, self.relation, self.lines())
        else:
            self.arrangements[number] = Arrangement(keys, int(self.line[CAPACITY]))
            self._build(number, SMALLEST)
        self.line[FIRST_ARRANGEMENT] = number

    def disarrange(self, keys: tuple[int, ...] | Order) -> None:
        """Gives the arrangement by these columns back, if there is one: epochs no longer keep it up to date."""
        number = self.desk.arrangement(self.relation, keys)
        if self.arrangements.pop(number, None) is None:
            return
        self.desk.resized.add(self.relation)
        after = self.desk.A[number, NEXT_ARRANGEMENT]
        if self.line[FIRST_ARRANGEMENT] == number:
            self.line[FIRST_ARRANGEMENT] = after
            return
        for other in self.arrangements:
            if self.desk.A[other, NEXT_ARRANGEMENT] == number:
                self.desk.A[other, NEXT_ARRANGEMENT] = after

    def grow_arrangement(self, number: int) -> None:
        """Makes an arrangement larger in what is full, or packs it where half of it is waste."""
        arrangement, line = self.arrangements[number], self.desk.A[number]
        if isinstance(arrangement, Trie):
            arrangement.make_room(line, 2 * len(arrangement.pages))
            return
        count = int(line[ENTRY_COUNT])
        if count * 2 > line[TABLE_MASK] or count == line[ENTRY_CAPACITY]:
            if count > SMALLEST and np.count_nonzero(arrangement.lengths(count)) * 2 < count:
                self._build(number, SMALLEST)
                return
            self._make_key_room(number)
        elif int(line[POOL_WASTE]) * 2 > int(line[POOL_USED]):
            self._build(number, count)
        else:
            arrangement.pool.make_room(2 * len(arrangement.pool) + SMALLEST)
            line[POOL], line[POOL_CAPACITY] = arrangement.pool.address, len(arrangement.pool)

    def _make_key_room(self, number: int) -> None:
        """Room for more keys in the entries and in the table."""
        arrangement, line = self.arrangements[number], self.desk.A[number]
        assert isinstance(arrangement, Arrangement)
        count = int(line[ENTRY_COUNT])
        arrangement.entries.make_room(count + 1)
        line[ENTRIES], line[ENTRY_CAPACITY] = arrangement.entries.address, len(arrangement.entries)
        if count * 2 > line[TABLE_MASK]:
            old, size = arrangement.table, 2 * (int(line[TABLE_MASK]) + 1)
            arrangement.table = Growing(np.int64, size)
            line[TABLE], line[TABLE_MASK] = arrangement.table.address, size - 1
            entry.grow_table(self.desk.A, number, old.array)

    def _build(self, number: int, entries: int) -> None:
        """Builds an arrangement anew from all rows, starting with room for so many keys."""
        arrangement, line = self.arrangements[number], self.desk.A[number]
        assert isinstance(arrangement, Arrangement)
        arrangement.pool = Growing(np.int32, POOL_LISTS + len(self) + (len(self) >> 2) + SMALLEST)
        line[RELATION], line[KEYS], line[KEY_COUNT] = self.relation, arrangement.keys.ctypes.data, arrangement.key_count
        line[POOL], line[POOL_CAPACITY] = arrangement.pool.address, len(arrangement.pool)
        line[PLACE] = arrangement.place.address
        arrangement.entries = Growing(np.int64, entries, width=ENTRY_EXTRA + arrangement.key_count)
        arrangement.table = Growing(np.int64, 1 << (2 * entries).bit_length())
        line[ENTRIES], line[ENTRY_CAPACITY] = arrangement.entries.address, entries
        line[TABLE], line[TABLE_MASK] = arrangement.table.address, len(arrangement.table) - 1
        line[ENTRY_COUNT] = line[POOL_USED] = line[POOL_WASTE] = 0
        done = 0
        while (done := entry.build_arrangement(self.desk.S, self.desk.A, number, done)) < self.line[USED]:
            self._make_key_room(number)

    def arranged(self) -> list[tuple[int, ...]]:
        """The columns by which there are arrangements."""
        hashed = (each for each in self.arrangements.values() if isinstance(each, Arrangement))
        return [tuple(each.keys[: each.key_count].tolist()) for each in hashed]

    # The overlay

    def settle(self) -> bool:
        """After the stratum's waves: what came and what left, for the strata above. False: the state is broken."""
        count = int(self.line[LOG_COUNT])
        self._make_change_room(count, count)
        return bool(settle.settle(self.desk.S, self.relation, self._came, self._left) == 0)

    def compare(self, old: Store, *, is_read: bool) -> None:
        """After a Bootstrap into this fresh store: what came and what left against the store that it replaces.

        `is_read` says that rules above read the relation, and will want to know from the rows themselves.
        """
        gone = int(old.saved[LIVE])
        if not gone and not is_read:
            # The rows are now as they will be after the epoch, which saves a pass over them, and a list of them all.
            self._is_stamped = False
            settle.welcome(self.desk.S, self.relation)
            return
        before = self.desk.shadow(self.relation)
        self._make_change_room(int(self.line[USED]), gone)
        kept = np.zeros(int(old.saved[USED]), dtype=np.uint8)
        scratch = np.empty(PIECE, dtype=np.int64)
        gone -= int(settle.compare(self.desk.S, before, self.relation, kept, scratch))
        if gone:
            self.make_row_room(gone)
            while (full := int(settle.mourn(self.desk.S, self.desk.A, before, self.relation, kept))) >= 0:
                self.grow_arrangement(full)

    def _make_change_room(self, came: int, left: int) -> None:
        self._came, self._left = np.empty(came, dtype=np.int32), np.empty(left, dtype=np.int32)
        self.line[CAME], self.line[LEFT] = self._came.ctypes.data, self._left.ctypes.data

    def has_overlay(self) -> bool:
        """Whether the epoch has changed anything here."""
        line = self.line
        return bool(line[LOG_COUNT] or line[CAME_COUNT] or line[LEFT_COUNT] or line[PENDING_COUNT])

    def keep(self) -> None:
        """The overlay becomes the state."""
        self.make_free_room(int(self.line[LEFT_COUNT]))
        if not self._is_stamped:
            self.line[CAME_COUNT] = 0
            self._is_stamped = True
        settle.keep(self.desk.S, self.desk.A, self.relation)
        self._shrink_log()

    def drop(self) -> None:
        """The overlay is undone."""
        self.make_free_room(int(self.line[LOG_COUNT]))
        settle.drop(self.desk.S, self.desk.A, self.relation)
        self._shrink_log()

    def _shrink_log(self) -> None:
        """Gives back the memory of a large epoch's overlay."""
        if len(self._log) > 1 << 16:
            self._log = Growing(np.int64, width=LOG_WIDTH)
            self.line[LOG], self.line[LOG_CAPACITY] = 0, 0
        if len(self._queues[0]) > 1 << 16:
            self._queues = [Growing(np.int32), Growing(np.int32)]
            self.line[PENDING_ROWS] = self.line[BATCH] = self.line[PENDING_CAPACITY] = 0
        self._came = self._left = NO_LINES

    # Reading

    def lines_that_came(self) -> Lines:
        if self._is_stamped:
            return self._came[: int(self.line[CAME_COUNT])]
        return self.lines().astype(np.int32)

    def arrived(self) -> Arrived:
        """The rows that came, not copied yet."""
        rows = self.rows[:, : self.columns]
        if self._is_stamped:
            return Arrived(rows, self.lines_that_came())
        return Arrived.all_of(rows[: int(self.line[USED])], self.free_lines())

    def lines_that_left(self) -> Lines:
        return self._left[: int(self.line[LEFT_COUNT])]

    def batch_lines(self) -> Lines:
        """The lines that died or entered with the present wave. Not to be kept."""
        count = int(self.line[BATCH_COUNT])
        if not count:
            return NO_LINES
        (queue,) = (each for each in self._queues if each.address == self.line[BATCH])
        return queue.array[:count]

    def columns_of(self, lines: Words | Lines) -> Words:
        """The columns of some rows, copied."""
        if len(lines) <= FEW or not self.columns:
            few: Words = self.rows[lines, : self.columns]
            return few
        copied: Words = np.empty((len(lines), self.columns), dtype=np.int64)
        entry.gather(self.rows, np.ascontiguousarray(lines, dtype=np.int32), copied)
        return copied

    def ranks_of(self, lines: Words | Lines) -> Words:
        """The ranks of some rows."""
        ranks: Words = (self.rows[lines, self.columns + META] >> RANK_SHIFT) & RANK_MASK
        return ranks

    def lines(self, count: int | None = None) -> Words:
        """The lines of all rows (among the first `count`, for a store that is detached)."""
        used = self.rows[: int(self.line[USED]) if count is None else count]
        return np.flatnonzero(used[:, self.columns + META] >> STAMP_SHIFT != FREED)

    def present_lines(self) -> Words:
        """The lines of the rows that are there with the epoch's changes, once the store has settled."""
        stamps = self.rows[: int(self.line[USED]), self.columns + META] >> STAMP_SHIFT
        return np.flatnonzero((stamps >= 0) & (stamps != FREED))

    def free_lines(self) -> Words:
        """The lines to reuse, copied."""
        return self._free.array[: int(self.line[FREE_COUNT])].copy()

    def logged(self) -> Words:
        """The overlay's log: lines with their numbers before the epoch. Not to be kept."""
        return self._log.array[: int(self.line[LOG_COUNT])]

    def touched_lines(self) -> Words:
        """The lines in the overlay's log."""
        return self.logged()[:, 0].copy()

    def logged_totals(self) -> Words:
        """The totals that the lines in the overlay's log had before the epoch; 0 for a row that was not there."""
        totals: Words = np.maximum(self._log.array[: int(self.line[LOG_COUNT]), 1], 0)
        return totals

    def find(self, row: Words) -> int:
        """The line of a row, or -1."""
        self.index()
        return int(entry.look_up(self.desk.S, self.relation, row))

    def bucket(self, columns: tuple[int, ...], key: Words) -> Words:
        """The lines of the rows with these words in these columns, in the overlay also those that are leaving."""
        self.arrange(columns)
        number = self.desk.arrangement(self.relation, columns)
        arrangement = self.arrangements[number]
        assert isinstance(arrangement, Arrangement)
        row = np.zeros(self.columns + 1, dtype=np.int64)
        row[list(columns)] = key
        found = entry.find_bucket(self.desk.A, number, row)
        if found < 0:
            return np.empty(0, dtype=np.int64)
        return arrangement.bucket(found).astype(np.int64)

    def bytes(self) -> int:
        """The memory that rows, index and arrangements take, and what a strategy keeps beside them.

        Room that was never used takes none.
        """
        words = int(self.line[USED]) * self.width + len(self._slots)
        arranged = sum(map(self.arrangement_bytes, self.arrangements))
        return 8 * words + arranged + (self.beside.bytes() if self.beside else 0)

    def arrangement_bytes(self, number: int) -> int:
        """The memory that one of its arrangements takes."""
        arrangement, line = self.arrangements[number], self.desk.A[number]
        if isinstance(arrangement, Trie):
            return arrangement.bytes(line)
        words = int(line[ENTRY_COUNT]) * (ENTRY_EXTRA + arrangement.key_count) + len(arrangement.table)
        return 8 * (words + (int(self.line[USED]) + int(line[POOL_USED])) // 2)
