"""The memory of a relation, owned by Python: its rows, the index on whole rows, and its arrangements.

A `Store` has growable arrays and writes their addresses into its line of the table S that kernels read
(`kernels.layout`). The sizes in that line are the truth: kernels advance them. When a kernel reports that an array is
full, a method here makes room and writes the new address. The two hash tables, the index (`resize_index`) and an
arrangement's table, grow by moving their slots, which contain the hashes, so rows and entries are not read again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import sleep
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.kernels import check_rows, entry_points, finish_epoch
from tidelog.engine.local.kernels.layout import (
    BATCH,
    BATCH_COUNT,
    CAPACITY,
    CHANGE_ROOM,
    COLUMNS,
    COUNT_ROOM,
    DELETED,
    DELETED_COUNT,
    FIRST_ARRANGEMENT,
    FIRST_DEEP,
    FREE,
    FREE_CAPACITY,
    FREE_COUNT,
    FREED,
    INSERTED,
    INSERTED_COUNT,
    IS_SLIM,
    IS_WIDE,
    LARGEST_SLIM,
    LIVE,
    LOG,
    LOG_CAPACITY,
    LOG_COUNT,
    LOG_WIDTH,
    MARKS,
    META,
    NEXT_ARRANGEMENT,
    PENDING_CAPACITY,
    PENDING_COUNT,
    PENDING_ROWS,
    PIECE,
    ROW_EXTRA,
    ROWS,
    SLIM_EXTRA,
    SLIM_MASK,
    SLOT_COUNT,
    SLOTS,
    STAMP_SHIFT,
    STORE_FIELDS,
    TOP,
    TOTAL,
    USED,
    WIDE,
    WIDE_EXTRA,
    WIDEN,
    WIDTH,
)
from tidelog.engine.local.storage import row_counts
from tidelog.engine.local.storage.arrangement import Arrangement
from tidelog.engine.local.storage.changed_rows import NO_LINES, ChangedRows
from tidelog.engine.local.storage.fill_index import fill
from tidelog.engine.local.storage.growable_array import SMALLEST, Growing
from tidelog.engine.local.storage.load import Load
from tidelog.engine.local.storage.resize_index import enlarge
from tidelog.engine.local.storage.trie import Trie
from tidelog.engine.local.storage.versions import Change, Versions
from tidelog.plan.statistics import Order

if TYPE_CHECKING:
    from tidelog.engine.local.storage.catalog import Catalog

Words = npt.NDArray[np.int64]
Lines = npt.NDArray[np.int32]
FEW = 64
MANY_SLOTS = 1 << 22
COPIED_SLOTS = 1 << 24
FINISHED_LATER = 1 << 12  # rows of a log: what the commit of fewer takes is no wait for readers
REMOVED_IN_A_TURN = 1 << 12
LET_READERS_IN = 5e-5  # Python's locks are not fair: a reader gets the turn only while no writer wants it
LARGE_LOG = 1 << 16
_AT_ONCE = 1 << 16


class Beside(Protocol):
    """State of a strategy beside the rows of a relation."""

    def bytes(self) -> int: ...


class Store:
    """The rows of one relation, its index and its arrangements."""

    def __init__(self, catalog: Catalog, relation: int, columns: int) -> None:
        self.catalog = catalog
        self.relation = relation
        self.columns = columns
        self.width = columns + ROW_EXTRA
        self._rows = Growing(np.int64, width=self.width)
        self._slots = Growing(np.int64, 2 * SMALLEST)
        self._free = Growing(np.int64)
        self._queues = [Growing(np.int32), Growing(np.int32)]
        self._log = Growing(np.int64, width=LOG_WIDTH)
        self._inserted = NO_LINES
        self._deleted = NO_LINES
        self._is_stamped = True
        self._deleted_from: Words | None = None  # the rows of the replaced store, if the deleted ones are only there
        self.arrangements: dict[int, Arrangement | Trie] = {}
        self.beside: Beside | None = None
        self.saved = np.zeros(STORE_FIELDS, dtype=np.int64)
        self.is_indexed = True
        self._repeated: Callable[[], Exception] | None = None  # see `adopt`
        self.scans = 0  # see `queries.lookup`
        self.line: Words = catalog.S[relation]  # the catalog sets it again when S grows
        self.versions = Versions()
        line = self.line
        line[:] = 0
        line[WIDTH] = self.width
        line[COLUMNS] = columns
        line[SLOTS], line[SLOT_COUNT] = self._slots.address, len(self._slots)
        line[FIRST_ARRANGEMENT] = -1
        line[COUNT_ROOM] = row_counts.LARGEST_NARROW

    @property
    def rows(self) -> Words:
        """All lines, used or not. Not to be held: rows that grow while another array refers to them are copied."""
        return self._rows.array

    def __len__(self) -> int:
        return int(self.line.item(LIVE))

    @property
    def is_attached(self) -> bool:
        """True if no other store has taken its place."""
        stores = self.catalog.stores
        return self.relation < len(stores) and stores[self.relation] is self

    def held_rows(self) -> Words:
        """Returns the rows for a reader beside an epoch: all that are committed, in memory that stays where it is."""
        while True:
            rows = self._rows.array
            if len(rows) >= self.versions.used:
                return rows
            sleep(0)  # a mapping is being moved

    def held_log(self) -> Words:
        """Returns the overlay's log for a reader beside an epoch."""
        while True:
            count, log = int(self.line[LOG_COUNT]), self._log.array
            if len(log) >= count:
                return log[:count]
            sleep(0)

    @property
    def slots(self) -> Words:
        """The slots of the index, for a reader beside an epoch."""
        return self._slots.array

    def detach(self) -> None:
        """Saves the store's lines, so that another store can take its place."""
        self.saved[:] = self.line
        for number, arrangement in self.arrangements.items():
            arrangement.saved[:] = self.catalog.A[number]

    def attach(self) -> None:
        """Restores the lines saved by `detach`."""
        self.line[:] = self.saved
        for number, arrangement in self.arrangements.items():
            self.catalog.A[number] = arrangement.saved

    def empty(self) -> None:
        """Restores the lines saved by `detach` while there were no rows."""
        self.attach()
        self._slots.array.fill(0)

    def adopt(
        self, rows: Words, free: Words, live: int, top: int, repeated: Callable[[], Exception] | None = None
    ) -> None:
        """Uses these rows (with unused lines among them: `free`) as those of this empty store.

        They may be a mapped file. They are indexed on first use: reading all of them takes seconds. `repeated` makes
        the error for rows from a file, if one of them is there twice; only the index can tell.
        """
        self._repeated = repeated
        line = self.line
        self._use(Growing(np.int64, width=rows.shape[1]))
        self._rows.adopt(rows)
        if not line[WIDE]:
            line[COUNT_ROOM] = 0
        self._free.adopt(free)
        line[ROWS], line[CAPACITY], line[USED] = self._rows.address, len(rows), len(rows)
        line[FREE], line[FREE_CAPACITY], line[FREE_COUNT] = self._free.address, len(free), len(free)
        line[LIVE], line[TOP] = live, top
        self.is_indexed = False
        self.versions.adopt(len(rows), live)

    def index(self) -> None:
        """Indexes adopted rows; required before a kernel looks up whole rows."""
        if not self.is_indexed:
            if self.versions.is_published:
                self.versions.settle(self)
            self._slots = Growing(np.int64)
            self._slots.resize(_slots_to_fill(len(self)))
            self.line[SLOTS], self.line[SLOT_COUNT] = self._slots.address, len(self._slots)
            fill(self.catalog, self.relation)
            if self._repeated is not None and check_rows.find_repeated(self.catalog.S, self.relation) >= 0:
                raise self._repeated()
            self._repeated = None
            self.is_indexed = True

    def clear_index(self) -> None:
        """Empties the index."""
        self._slots.array.fill(0)

    # Rows that are known to be new

    def begin_filling(self) -> None:
        """Lets the index and the arrangements go, while rows are appended that are known to be new."""
        self.is_indexed = False
        self.arrangements.clear()
        self.catalog.version += 1
        self.catalog.resized.add(self.relation)
        self._make_slim()
        line = self.line
        line[FIRST_ARRANGEMENT] = -1
        self._slots = Growing(np.int64, 2 * SMALLEST)
        line[SLOTS], line[SLOT_COUNT] = self._slots.address, len(self._slots)

    def make_line_room(self, rows: int, largest: int, rank: int) -> None:
        """Makes room for `rows` more lines, while `begin_filling` lasts; `largest` is the largest total so far, `rank`
        the highest rank of these rows."""
        line = self.line
        if self.is_slim and (largest > LARGEST_SLIM or rank >= FIRST_DEEP):
            self.widen()
        if not line[WIDE]:
            line[COUNT_ROOM] = row_counts.LARGEST_NARROW - largest
            if line[COUNT_ROOM] < 0:
                self.widen()
        self._make_lines(int(line[USED]) + rows)

    def end_filling(self, batch: Lines, *, is_last: bool) -> None:
        """Indexes all rows again; `batch` are the lines of those that enter with the present wave.

        If it is not the last wave of the stratum, others follow that threads may share: they do not write slim rows.
        """
        if self.is_slim and not is_last:
            self.widen()
        self.index()
        self.make_queue_room(len(batch))
        if len(batch):
            (queue,) = (each for each in self._queues if each.address == self.line[BATCH])
            queue.array[: len(batch)] = batch
        self.line[BATCH_COUNT] = len(batch)

    # Room

    def make_room(self, rows: int, instances: int = 0) -> None:
        """Makes room for `rows` more rows in the rows, in the index, in the queues and in the log, and for so many
        instances in the totals, at least one per row."""
        self.make_row_room(rows, instances)
        self.make_queue_room(rows)
        self.make_log_room(rows)

    def make_log_room(self, rows: int) -> None:
        """Makes room for `rows` more rows in the log."""
        line = self.line
        wanted = int(line[LOG_COUNT]) + rows
        if wanted > line[LOG_CAPACITY]:
            if not line[LOG_COUNT]:
                self._log = self.catalog.take_log(self._log)
            self._log.make_room(wanted)
            line[LOG], line[LOG_CAPACITY] = self._log.address, len(self._log)

    def make_row_room(self, rows: int, instances: int = 0) -> None:
        """Makes room for `rows` more rows in the rows and in the index, and for their instances in the totals."""
        self.index()
        line = self.line
        if max(rows, instances) > line[COUNT_ROOM]:
            self._make_count_room(max(rows, instances))
        wanted = int(line[USED]) + rows - int(line[FREE_COUNT])
        self._make_lines(wanted)
        if (int(line[LIVE]) + rows) * 4 > int(line[SLOT_COUNT]) * 3:
            self._grow_index(slots_for(int(line[LIVE]) + rows))

    def _make_lines(self, wanted: int) -> None:
        """Makes room for so many lines, and for their marks in arrangements."""
        line = self.line
        if wanted > line[CAPACITY]:
            self._rows.make_room(wanted)
            line[ROWS], line[CAPACITY] = self._rows.address, len(self._rows)
            self._make_mark_room()

    def _make_mark_room(self) -> None:
        """Makes room for a mark of each line in the arrangements."""
        for number, arrangement in self.arrangements.items():
            if isinstance(arrangement, Arrangement):
                arrangement.marks.make_room(len(self._rows))
                self.catalog.A[number, MARKS] = arrangement.marks.address

    def _make_count_room(self, instances: int) -> None:
        """Makes room for so many instances in the totals; widens the store early, so that this is rare."""
        if self.is_slim:
            self.widen()
            return
        used = self.rows[: int(self.line[USED])]
        numbers = row_counts.totals(used, self.columns), row_counts.counts(used, self.columns)
        room = row_counts.LARGEST_NARROW - max(int(each.max(initial=0)) for each in numbers)
        if room - instances > row_counts.LARGEST_NARROW // 2:
            self.line[COUNT_ROOM] = room
        else:
            self.widen()

    @property
    def is_slim(self) -> bool:
        """True if the numbers of a row share one word."""
        return bool(self.line[WIDE] == IS_SLIM)

    def widen(self) -> None:
        """Gives the numbers of each row one word more, unless each has its own. Line numbers do not change."""
        if self.is_slim:
            self._change_width(self.columns + ROW_EXTRA)
            self.line[COUNT_ROOM] = row_counts.LARGEST_NARROW - SLIM_MASK
        elif not self.line[WIDE]:
            self._change_width(self.columns + WIDE_EXTRA)

    def _make_slim(self) -> None:
        """Gives the numbers of each row one word, if they fit; no reader has seen the rows."""
        line, columns = self.line, self.columns
        if line[WIDE] or self.versions.is_published or line[TOP] >= FIRST_DEEP:
            return
        for start in range(0, int(line[USED]), _AT_ONCE):
            some = self.rows[start : min(start + _AT_ONCE, int(line[USED]))]
            if int(row_counts.totals(some, columns).max()) > LARGEST_SLIM:
                return
        self._change_width(columns + SLIM_EXTRA)
        line[COUNT_ROOM] = WIDEN >> 1

    def _change_width(self, width: int) -> None:
        """Moves the rows to lines of another width: in their memory, unless readers may be there."""
        used = int(self.line[USED])
        starts = range(0, used, _AT_ONCE)
        if self.versions.is_published:
            before, fresh = self.rows, Growing(np.int64, len(self.rows), width=width)
            for start in starts:
                some = before[start : min(start + _AT_ONCE, used)]
                fresh.array[start : start + len(some)] = row_counts.in_width(some, self.columns, width)
            self._use(fresh)
        else:
            rows, before_width = self._rows, self.width
            rows.make_room(-(-used * width // before_width) + 1)
            words = rows.array.reshape(-1)
            # Lines that become longer go to the back: the last ones first.
            for start in starts if width < before_width else reversed(starts):
                end = min(start + _AT_ONCE, used)
                some = words[start * before_width : end * before_width].reshape(-1, before_width).copy()
                moved = row_counts.in_width(some, self.columns, width)
                words[start * width : end * width] = moved.reshape(-1)
            del words
            rows.set_width(width)
            self._use(rows)
            self._make_mark_room()
        self.catalog.resized.add(self.relation)

    def _use(self, rows: Growing[np.int64]) -> None:
        """Sets the memory of the rows."""
        self._rows, self.width = rows, rows.array.shape[1]
        line = self.line
        line[ROWS], line[CAPACITY], line[WIDTH] = rows.address, len(rows), self.width
        line[WIDE] = 0
        if row_counts.is_slim(rows.array, self.columns):
            line[WIDE] = IS_SLIM
        elif row_counts.is_wide(rows.array, self.columns):
            line[WIDE] = IS_WIDE
            line[COUNT_ROOM] = 1 << 62

    def _grow_index(self, size: int) -> None:
        """Enlarges the index to so many slots. Readers of a committed index keep the old one, unless it is large."""
        before = len(self._slots)
        if self.versions.is_published and before <= COPIED_SLOTS:
            held, fresh = self._slots.array, Growing(np.int64, size)
            self.line[SLOTS], self.line[SLOT_COUNT] = fresh.address, size
            entry_points.refill_index(self.catalog.S, self.relation, held[held != 0])
            self._slots = fresh
            return
        self.versions.index_moves += 1
        self._slots.resize(size)
        self.line[SLOTS], self.line[SLOT_COUNT] = self._slots.address, size
        enlarge(self.catalog, self.relation, self._slots.array, before)
        self.versions.index_moves += 1

    def make_queue_room(self, rows: int) -> None:
        """Makes room for `rows` more pending rows."""
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
        """Makes room for `rows` more free lines."""
        line = self.line
        wanted = line.item(FREE_COUNT) + rows
        if wanted > line.item(FREE_CAPACITY):
            self._free.make_room(wanted)
            line[FREE], line[FREE_CAPACITY] = self._free.address, len(self._free)

    def give_lines_back(self, lines: Words) -> None:
        """Frees lines that were reserved and hold no row."""
        self.make_free_room(len(lines))
        count = int(self.line[FREE_COUNT])
        self._free.array[count : count + len(lines)] = lines
        self.line[FREE_COUNT] = count + len(lines)

    # Arrangements

    def arrange(self, keys: tuple[int, ...] | Order, look: Callable[[], None] | None = None) -> None:
        """Builds the arrangement by these columns, or the trie, from the present rows, unless there is one.

        `look` is called now and then meanwhile; it may raise, and then there is none.
        """
        number = self.catalog.arrangement(self.relation, keys)
        if number in self.arrangements:
            return
        self._begin_arrangement(number)
        where = self.catalog.S, self.catalog.A, number, self.relation
        try:
            if isinstance(keys, Order):
                trie = self.arrangements[number] = Trie(keys.columns)
                trie.build(*where, self.lines(), look)
            else:
                arrangement = self.arrangements[number] = Arrangement(keys, int(self.line[CAPACITY]))
                arrangement.build(*where, look=look)
        except BaseException:
            self.arrangements.pop(number, None)
            raise
        self.line[FIRST_ARRANGEMENT] = number

    def arrange_for_readers(self, keys: tuple[int, ...]) -> None:
        """Builds the arrangement by these columns, and notes that it is to stay, whatever takes this store's place."""
        self.arrange(keys)
        self.catalog.note_read_by(self.relation, keys)

    def is_arranged(self, keys: tuple[int, ...] | Order) -> bool:
        """True if there is an arrangement by these columns, or the trie."""
        return self.catalog.arrangement(self.relation, keys) in self.arrangements

    def take_arrangement(self, keys: tuple[int, ...], starts: Lines, lengths: Words, words: Sequence[Words]) -> int:
        """Makes room for the arrangement by these columns, which is not there, and returns its number; the caller fills
        it (`Arrangement.take`)."""
        number = self.catalog.arrangement(self.relation, keys)
        self._begin_arrangement(number)
        arrangement = self.arrangements[number] = Arrangement(keys, int(self.line[CAPACITY]))
        arrangement.take(self.catalog.A[number], self.relation, starts, lengths, words)
        self.line[FIRST_ARRANGEMENT] = number
        return number

    def end_taking(self, number: int) -> None:
        """Ends what `take_arrangement` began: the arrangement is filled, and readers may use it."""
        arrangement = self.arrangements[number]
        assert isinstance(arrangement, Arrangement)
        arrangement.moves += 1

    def _begin_arrangement(self, number: int) -> None:
        self.catalog.resized.add(self.relation)
        line = self.catalog.A[number]
        line[:] = 0
        line[NEXT_ARRANGEMENT] = self.line[FIRST_ARRANGEMENT]

    def disarrange(self, keys: tuple[int, ...] | Order) -> None:
        """Frees the arrangement by these columns, if there is one: epochs no longer maintain it."""
        number = self.catalog.arrangement(self.relation, keys)
        self.catalog.version += 1
        if self.arrangements.pop(number, None) is None:
            return
        self.catalog.resized.add(self.relation)
        after = self.catalog.A[number, NEXT_ARRANGEMENT]
        if self.line[FIRST_ARRANGEMENT] == number:
            self.line[FIRST_ARRANGEMENT] = after
            return
        for other in self.arrangements:
            if self.catalog.A[other, NEXT_ARRANGEMENT] == number:
                self.catalog.A[other, NEXT_ARRANGEMENT] = after

    def grow_arrangement(self, number: int) -> None:
        """Enlarges the arrays of an arrangement that are full, or packs it if half of it is waste."""
        arrangement = self.arrangements[number]
        if isinstance(arrangement, Trie):
            arrangement.make_room(self.catalog.A[number], 2 * len(arrangement.pages))
        else:
            arrangement.grow(self.catalog.S, self.catalog.A, number)

    def arranged(self) -> list[tuple[int, ...]]:
        """Returns the key columns of the hashed arrangements."""
        hashed = (each for each in self.arrangements.values() if isinstance(each, Arrangement))
        return [tuple(each.keys[: each.key_count].tolist()) for each in hashed]

    # The overlay

    def finish_stratum(self) -> bool:
        """Finds the inserted and deleted rows after the stratum's waves; returns False if the state is broken."""
        count = self.line.item(LOG_COUNT)
        if not count:
            # Most strata of a large program that a small change visits.
            self.line[INSERTED_COUNT] = self.line[DELETED_COUNT] = 0
            return True
        self.make_change_room(count)
        return bool(finish_epoch.finish_stratum(self.catalog.S, self.relation) == 0)

    def make_change_room(self, count: int) -> None:
        """Makes room for the lines of so many inserted, and of so many deleted rows."""
        if count > self.line.item(CHANGE_ROOM):
            room = max(count, SMALLEST)
            self._set_change_room(room, room)

    def compare_with(self, old: Store, *, is_read: bool) -> None:
        """Finds the inserted and deleted rows after a Bootstrap into this fresh store, against the replaced store.

        `is_read`: rules above read the relation, and need the stamps of its rows.
        """
        missing = int(old.saved[LIVE])
        if not missing and not is_read:
            # The rows are now as they will be after the epoch, which saves a pass over them, and a list of them all.
            self._is_stamped = False
            finish_epoch.mark_all_inserted(self.catalog.S, self.relation)
            return
        before = self.catalog.shadow(self.relation)
        self._set_change_room(int(self.line[USED]), missing)
        kept = np.zeros(int(old.saved[USED]), dtype=np.uint8)
        scratch = np.empty(PIECE, dtype=np.int64)
        missing -= int(finish_epoch.mark_inserted(self.catalog.S, before, self.relation, kept, scratch))
        if missing and not is_read:
            self._deleted_from = old.rows
            self.line[DELETED_COUNT] = finish_epoch.list_deleted(self.catalog.S, before, kept, self._deleted)
        elif missing:
            self.make_row_room(missing)
            while (
                full := int(finish_epoch.add_deleted(self.catalog.S, self.catalog.A, before, self.relation, kept))
            ) >= 0:
                self.grow_arrangement(full)

    def fill(self, rows: Words, *, is_read: bool, look: Callable[[], None] | None = None) -> None:
        """Inserts different rows as the facts of this fresh store, which replaces one without rows; see `compare_with`.
        All threads share many rows, unless `look` is to be called now and then, which may raise.
        """
        self.make_row_room(len(rows))
        pool = self.catalog.thread_pool
        threads = 1 if pool is None or look is not None or len(rows) < _AT_ONCE else pool.threads

        def fill(first: int, end: int) -> int:
            scratch = np.empty(PIECE, dtype=np.int64)
            done: int = finish_epoch.fill_facts(self.catalog.S, self.relation, rows, first, end, int(is_read), scratch)
            return done

        finish_epoch.fill_facts.load()  # several threads must not load it at once
        if pool is None or threads == 1:
            step = len(rows) if look is None else _AT_ONCE
            for first in range(0, len(rows), step or 1):
                if look is not None:
                    look()
                fill(first, min(first + step, len(rows)))
        else:
            starts = [len(rows) * part // threads for part in range(threads + 1)]
            pool.run(lambda me: fill(starts[me], starts[me + 1]))
        self.note_inserted(len(rows), is_read=is_read)

    def take(self, load: Load) -> None:
        """Uses the indexed rows of a load as those of this fresh store, which replaces one without rows."""
        self._use(load.lines)
        self._slots = load.slots
        line = self.line
        line[SLOTS], line[SLOT_COUNT] = self._slots.address, len(self._slots)
        self.note_inserted(len(load), is_read=load.is_read)

    def note_inserted(self, count: int, *, is_read: bool) -> None:
        """Notes so many rows, from the first line on, all that there are, as inserted; they have the stamps of such
        rows if rules above read the relation (`is_read`)."""
        self.line[USED] = self.line[LIVE] = self.line[INSERTED_COUNT] = count
        self._is_stamped = is_read
        if is_read:
            self._set_change_room(count, 0)
            self._inserted[:] = np.arange(count)

    def finish_alone(self) -> None:
        """Ends a Bootstrap into this fresh store without looking for changes: nobody asks for them."""
        finish_epoch.mark_all_inserted(self.catalog.S, self.relation)
        self.line[INSERTED_COUNT] = 0

    def _set_change_room(self, inserted: int, deleted: int) -> None:
        self._inserted, self._deleted = np.empty(inserted, dtype=np.int32), np.empty(deleted, dtype=np.int32)
        self.line[INSERTED], self.line[DELETED] = self._inserted.ctypes.data, self._deleted.ctypes.data
        self.line[CHANGE_ROOM] = min(inserted, deleted)

    def rows_to_stay(self) -> int:
        """Returns how many rows there are after the epoch, once the stratum is finished."""
        return len(self) - (self.line.item(DELETED_COUNT) if self._deleted_from is None else 0)

    def has_overlay(self) -> bool:
        """True if the epoch has changed this store."""
        item = self.line.item
        return bool(item(LOG_COUNT) or item(INSERTED_COUNT) or item(DELETED_COUNT) or item(PENDING_COUNT))

    def has_large_update(self) -> bool:
        """True if the overlay is that of a large Update, whose commit `Catalog.finish_commits` ends."""
        return self.line.item(LOG_COUNT) >= FINISHED_LATER

    def prepare_commit(self) -> None:
        """Does of a commit what readers need not wait for: all of it, for a store that they do not see yet."""
        if self.versions.is_published:
            self.versions.make_room(self)
            self.make_free_room(self.line.item(DELETED_COUNT))
        else:
            self.commit()

    def commit(self) -> None:
        """Makes the overlay the state. Of a large Update, `Catalog.finish_commits` does most of the work later."""
        if self._deleted_from is not None:
            self.line[DELETED_COUNT], self._deleted_from = 0, None
        self.make_free_room(self.line.item(DELETED_COUNT))
        if not self._is_stamped:
            self.line[INSERTED_COUNT] = 0
            self._is_stamped = True
        versions = self.versions
        if versions.is_published:
            change = versions.before_commit(self)
            is_log_held = change is not None and self.gives_overlay_away
            if self.has_large_update() and self.catalog.unfinished is not None:
                self.catalog.unfinished.append(self._show(change, is_log_held=is_log_held))
                return
            finish_epoch.commit(self.catalog.S, self.catalog.A, self.relation)
            versions.after_commit(self, change)
            if change is not None:
                self._hold_deleted(change)
            self._shrink_log(is_log_held=is_log_held)
        else:
            finish_epoch.commit(self.catalog.S, self.catalog.A, self.relation)
            versions.publish(self)
            self._shrink_log()

    def _show(self, change: Change | None, *, is_log_held: bool) -> Callable[[], None]:
        """Makes the overlay the state for readers, who look past deleted rows; returns the rest of the commit."""
        logged, deleted = self.line.item(LOG_COUNT), self.line.item(DELETED_COUNT)
        finish_epoch.show(self.catalog.S, self.relation)
        self.versions.after_commit(self, change)

        def finish() -> None:
            if not self.is_attached:
                return
            finish_epoch.clear_stamps(self.catalog.S, self.relation, 0, logged)
            for first in range(0, deleted, REMOVED_IN_A_TURN):
                if first:
                    sleep(LET_READERS_IN)
                with self.catalog.pins.turning():
                    end = min(first + REMOVED_IN_A_TURN, deleted)
                    finish_epoch.remove_deleted(self.catalog.S, self.catalog.A, self.relation, first, end)
            if change is not None:
                self._hold_deleted(change)
            self._shrink_log(is_log_held=is_log_held)

        return finish

    def _hold_deleted(self, change: Change) -> None:
        """Keeps the deleted lines of the last commit, the last ones on the list of free lines, out of it."""
        self.line[FREE_COUNT] -= len(change.deleted)

    @property
    def gives_overlay_away(self) -> bool:
        """True if the arrays of the overlay are so large that the store makes new ones after the commit."""
        return len(self._log) > LARGE_LOG and min(len(self._inserted), len(self._deleted)) > FEW

    def forget(self, oldest: int | None) -> bool:
        """See `versions.Keeper`."""
        self.versions.forget(self, oldest)
        return not self.versions.history

    def kept_bytes(self) -> int:
        """See `versions.Keeper`."""
        return self.versions.kept_bytes(8 * self.width)

    def roll_back(self) -> None:
        """Undoes the overlay."""
        self.make_free_room(int(self.line[LOG_COUNT]))
        with self.catalog.pins.turning():
            finish_epoch.roll_back(self.catalog.S, self.catalog.A, self.relation)
        self._shrink_log()

    def _shrink_log(self, *, is_log_held: bool = False) -> None:
        """Frees the memory of a large epoch's overlay; `is_log_held`: a reader may still need the log."""
        if len(self._log) > LARGE_LOG:
            if not is_log_held:
                self.catalog.keep_log(self._log)
            self._log = Growing(np.int64, width=LOG_WIDTH)
            self.line[LOG], self.line[LOG_CAPACITY] = 0, 0
        if len(self._queues[0]) > 1 << 16:
            self._queues = [Growing(np.int32), Growing(np.int32)]
            self.line[PENDING_ROWS] = self.line[BATCH] = self.line[PENDING_CAPACITY] = 0
        if len(self._inserted) > FEW or len(self._deleted) > FEW:
            self._inserted = self._deleted = NO_LINES
            self.line[CHANGE_ROOM] = 0

    # Reading

    def inserted_lines(self) -> Lines:
        if self._is_stamped:
            return self._inserted[: self.line.item(INSERTED_COUNT)]
        return self.lines().astype(np.int32)

    def inserted_rows(self) -> ChangedRows:
        """Returns the inserted rows, not copied yet."""
        rows = self.rows[:, : self.columns]
        if self._is_stamped:
            return ChangedRows(rows, self.inserted_lines())
        return ChangedRows.all_of(rows[: int(self.line[USED])], self.free_lines())

    def deleted_rows(self) -> ChangedRows:
        """Returns the deleted rows; copies them, unless they are in a store that was replaced."""
        if self._deleted_from is None:
            return ChangedRows.of(self.columns_of(self.deleted_lines()))
        return ChangedRows(self._deleted_from[:, : self.columns], self._deleted_found())

    def deleted_columns(self) -> Words:
        """Returns a copy of the columns of the deleted rows."""
        return self.deleted_rows().words()

    def deleted_numbers(self) -> Words:
        """Returns a copy of the deleted rows with their numbers."""
        rows = self.rows if self._deleted_from is None else self._deleted_from
        found: Words = rows[self._deleted_found()]
        return found

    def deleted_with_no_total(self) -> Words:
        """Returns the deleted rows after a Bootstrap, wherever they are, with a total of 0."""
        # The store that was replaced may be wide where this one is not.
        found = row_counts.in_width(self.deleted_numbers(), self.columns, self.width)
        found[:, self.columns :] = 0
        return found

    def deleted_lines(self) -> Lines:
        """Returns the lines of the deleted rows, for a relation that a stratum above reads or that was updated."""
        assert self._deleted_from is None
        return self._deleted_found()

    def _deleted_found(self) -> Lines:
        return self._deleted[: self.line.item(DELETED_COUNT)]

    def batch_lines(self) -> Lines:
        """Returns the lines that died or entered with the present wave. Not to be held."""
        count = int(self.line[BATCH_COUNT])
        if not count:
            return NO_LINES
        (queue,) = (each for each in self._queues if each.address == self.line[BATCH])
        return queue.array[:count]

    def columns_of(self, lines: Words | Lines) -> Words:
        """Returns a copy of the columns of some rows."""
        if len(lines) <= FEW or not self.columns:
            few: Words = self.rows[lines, : self.columns]
            return few
        copied: Words = np.empty((len(lines), self.columns), dtype=np.int64)
        entry_points.gather(self.rows, np.ascontiguousarray(lines, dtype=np.int32), copied)
        return copied

    def columns_in_order(self, lines: Words | Lines, order: Sequence[int]) -> Words:
        """Returns a copy of these columns of some rows."""
        copied: Words = np.empty((len(lines), len(order)), dtype=np.int64)
        columns: Words = np.array(order, dtype=np.int64)
        entry_points.gather_columns(self.rows, np.ascontiguousarray(lines, dtype=np.int32), columns, copied)
        return copied

    def ranks_of(self, lines: Words | Lines) -> Words:
        """Returns the ranks of some rows."""
        return row_counts.ranks(self.rows[lines], self.columns)

    def totals_of(self, lines: Words | Lines | slice) -> Words:
        """Returns the totals of some rows: how many instances each has."""
        return row_counts.totals(self.rows[lines], self.columns)

    def counts_of(self, lines: Words | Lines | slice) -> Words:
        """Returns the counts of some rows: how many instances over lower ranks each has."""
        return row_counts.counts(self.rows[lines], self.columns)

    def set_numbers(self, lines: Words | Lines | slice, total: Words, count: Words) -> None:
        """Sets the totals and counts of some rows."""
        if self.is_slim:
            self.widen()
        most = max(int(each.max(initial=0)) for each in (total, count))
        if most > row_counts.LARGEST_NARROW:
            self.widen()
        wide = bool(self.line[WIDE])
        self.rows[lines, self.columns + TOTAL :] = row_counts.together(total, count, wide=wide)
        if not wide:
            self.line[COUNT_ROOM] = min(int(self.line[COUNT_ROOM]), row_counts.LARGEST_NARROW - most)

    def lines(self, count: int | None = None) -> Words:
        """Returns the lines of all rows (among the first `count`, for a store that is detached)."""
        used = self.rows[: int(self.line[USED]) if count is None else count]
        return np.flatnonzero(used[:, self.columns + META] >> STAMP_SHIFT != FREED)

    def present_lines(self) -> Words:
        """Returns the lines of the rows that are present with the epoch's changes, once the stratum is finished."""
        if self.line[LIVE] == self.line[USED] and not self.line[DELETED_COUNT]:
            return np.arange(int(self.line[USED]))
        stamps = self.rows[: int(self.line[USED]), self.columns + META] >> STAMP_SHIFT
        return np.flatnonzero((stamps >= 0) & (stamps != FREED))

    def free_lines(self) -> Words:
        """Returns the lines without rows, also those that a pin keeps from being used again."""
        free = self._free.array[: int(self.line[FREE_COUNT])]
        return np.concatenate([free, self.versions.held_lines()])

    def logged(self) -> Words:
        """Returns the overlay's log: lines with their numbers before the epoch. Not to be held."""
        return self._log.array[: int(self.line[LOG_COUNT])]

    def touched_lines(self) -> Words:
        """Returns the lines in the overlay's log."""
        return self.logged()[:, 0].copy()

    def logged_totals(self) -> Words:
        """Returns the totals before the epoch of the lines in the overlay's log; 0 for a row that was absent."""
        totals: Words = np.maximum(self._log.array[: int(self.line[LOG_COUNT]), 1], 0)
        return totals

    def find(self, row: Words) -> int:
        """Returns the line of a row, or -1."""
        self.index()
        return int(entry_points.look_up(self.catalog.S, self.relation, row))

    def bucket(self, columns: tuple[int, ...], key: Words) -> Words:
        """Returns the lines of the rows with these words in these columns; in the overlay, of deleted rows too."""
        self.arrange(columns)
        number = self.catalog.arrangement(self.relation, columns)
        arrangement = self.arrangements[number]
        assert isinstance(arrangement, Arrangement)
        row = np.zeros(self.columns + 1, dtype=np.int64)
        row[list(columns)] = key
        found = entry_points.find_bucket(self.catalog.A, number, row)
        if found < 0:
            return np.empty(0, dtype=np.int64)
        return arrangement.bucket(found).astype(np.int64)

    def bytes(self) -> int:
        """Returns the bytes of rows, index, arrangements and the strategy's state beside them.

        Room that was never used takes none.
        """
        words = int(self.line[USED]) * self.width + len(self._slots)
        arranged = sum(map(self.arrangement_bytes, self.arrangements))
        return 8 * words + arranged + (self.beside.bytes() if self.beside else 0)

    def memory(self) -> int:
        """Returns the bytes of rows and index; also for a store whose place another one has taken."""
        return 8 * (self.versions.used * self.width + len(self._slots))

    def arrangement_bytes(self, number: int) -> int:
        """Returns the bytes of memory of one arrangement."""
        arrangement, line = self.arrangements[number], self.catalog.A[number]
        if isinstance(arrangement, Trie):
            return arrangement.bytes(line)
        return arrangement.bytes(line, int(self.line[USED]))


def slots_for(rows: int) -> int:
    """Returns how many slots an index for so many rows gets, with room for more.

    A small index doubles, because time matters more than memory; a large one grows by half.
    """
    doubled = 1 << (2 * rows + SMALLEST - 1).bit_length()
    return doubled if doubled <= MANY_SLOTS else rows * 2


def _slots_to_fill(rows: int) -> int:
    """Returns how many slots an index gets that is filled at once: a large one is two thirds full, and grows late."""
    return min(slots_for(rows), max(MANY_SLOTS, rows + rows // 2))
