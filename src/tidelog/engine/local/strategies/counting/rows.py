"""The memory of the counts per row and iteration, beside the rows of one relation; see `kernel`.

Like a `Store`, it has growable arrays and writes their addresses into the words that kernels read.
"""

from __future__ import annotations

import numpy as np

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.growable_array import Growing
from tidelog.engine.local.storage.store import Store
from tidelog.engine.local.strategies.counting import kernel as c

LARGEST_COUNT = (1 << 31) - 1  # of an entry; what is larger takes several
LARGE = 1 << 16


class Counts:
    """The number of rule instances of each row of a store in each iteration."""

    def __init__(self, store: Store) -> None:
        self.line: Words = np.zeros(c.COUNTS_FIELDS, dtype=np.int64)
        self.line[c.ENTRY_FREE] = self.line[c.EVENT_FREE] = -1
        self.line[c.COUNT_LIMIT] = LARGEST_COUNT
        self._store = store
        self._last = Growing(np.int32)
        self._entries = Growing(np.int32, width=c.ENTRY_WORDS)
        self._buckets = Growing(np.int32)
        self._events = Growing(np.int32, width=c.EVENT_WORDS)
        self._undo = Growing(np.int64)

    def make_room(self, count: int) -> None:
        """Makes room for `count` more instances, in the store too."""
        self._store.make_room(count)
        line = self.line
        self._last.make_room(int(self._store.line[k.CAPACITY]))
        line[c.LAST], line[c.LAST_CAPACITY] = self._last.address, len(self._last)
        self._entries.make_room(int(line[c.ENTRY_COUNT]) - int(line[c.ENTRY_FREE_COUNT]) + count)
        line[c.ENTRIES], line[c.ENTRY_CAPACITY] = self._entries.address, len(self._entries)
        self.make_event_room(count)
        self._undo.make_room(int(line[c.UNDO_COUNT]) + count)
        line[c.UNDO], line[c.UNDO_CAPACITY] = self._undo.address, len(self._undo)

    def make_event_room(self, count: int) -> None:
        """Makes room for `count` more events."""
        line = self.line
        self._events.make_room(int(line[c.EVENT_COUNT]) - int(line[c.EVENT_FREE_COUNT]) + count)
        line[c.EVENTS], line[c.EVENT_CAPACITY] = self._events.address, len(self._events)

    def make_step_room(self, steps: int) -> None:
        """Makes room for events of the iterations below `steps`."""
        if steps > len(self._buckets):
            self._buckets.make_room(steps)
            self.line[c.BUCKETS], self.line[c.BUCKET_CAPACITY] = self._buckets.address, len(self._buckets)

    def commit(self) -> None:
        """Commits the changes since the last commit."""
        self.line[c.UNDO_COUNT] = 0
        self._shrink()

    def roll_back(self) -> None:
        """Rolls back the changes since the last commit, and removes the waiting events."""
        c.roll_back(self.line)
        self._buckets.array.fill(0)
        self.line[c.EVENT_COUNT] = self.line[c.EVENT_FREE_COUNT] = 0
        self.line[c.EVENT_FREE] = -1
        self._shrink()

    def of(self, line: int) -> list[tuple[int, int]]:
        """Returns the iterations of a row, upwards, each with its count."""
        found: dict[int, int] = {}
        last = int(self._last.array[line]) - 1
        entry = last
        while last >= 0:
            entry = int(self._entries.array[entry, c.NEXT])
            iteration, number = self._entries.array[entry, : c.NEXT].tolist()
            found[iteration] = found.get(iteration, 0) + number
            if entry == last:
                break
        return list(found.items())

    def bytes(self) -> int:
        """Returns the memory that the counts take; room that was never used takes none."""
        numbers = int(self._store.line[k.USED]) + int(self.line[c.ENTRY_COUNT]) * c.ENTRY_WORDS
        return 4 * (numbers + len(self._buckets))

    def _shrink(self) -> None:
        """Frees the memory of a large epoch."""
        line = self.line
        if len(self._undo) > LARGE:
            self._undo = Growing(np.int64)
            line[c.UNDO] = line[c.UNDO_CAPACITY] = 0
        if len(self._events) > LARGE:
            self._events = Growing(np.int32, width=c.EVENT_WORDS)
            line[c.EVENTS] = line[c.EVENT_CAPACITY] = line[c.EVENT_COUNT] = line[c.EVENT_FREE_COUNT] = 0
            line[c.EVENT_FREE] = -1
