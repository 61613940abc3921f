"""How many members have each value of a coarser group, so that a value counts once (`kernels/value_counts`).

A group by shop whose members are by shop and day adds a price when the first day has it, and takes it away with the
last one. The table has its own copy of the words, so the lines of members do not matter.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.kernels import value_counts as kernels
from tidelog.engine.local.storage.growable_array import Growing

_SMALLEST = 64
Turns = npt.NDArray[np.int8]


class ValueCounts:
    """The numbers of members by so many words: the key of a group, and a value."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._header: Words = np.zeros(kernels.HEADER_WORDS, dtype=np.int64)
        self._slots: Growing[np.int64] = Growing(np.int64, 2 * _SMALLEST)
        self._entries: Growing[np.int64] = Growing(np.int64, _SMALLEST, width=width + 1)
        self._changed: list[tuple[Words, int]] = []

    def bytes(self) -> int:
        """Returns the bytes of memory in use."""
        return 8 * (len(self._slots) + (self._width + 1) * int(self._header[kernels.ENTRIES_USED]))

    def start(self, words: Words) -> Turns:
        """Inserts members for good, into the empty table. Returns 1 for each that is the first one with its value."""
        turned: Turns = np.zeros(len(words), dtype=np.int8)
        self._add(words, 1, turned)
        return turned

    def change(self, inserted: Words, deleted: Words) -> Turns:
        """Inserts and deletes members. Returns 1 for each that is the first one with its value, -1 for each that was
        the last one, inserted ones first.
        """
        turned: Turns = np.zeros(len(inserted) + len(deleted), dtype=np.int8)
        # No value turns twice, because those that are deleted were there before.
        for words, change, own in ((inserted, 1, turned[: len(inserted)]), (deleted, -1, turned[len(inserted) :])):
            self._changed.append((words, change))
            self._add(words, change, own)
        return turned

    def _add(self, words: Words, change: int, turned: Turns) -> None:
        done = 0
        while done < len(words):
            done = kernels.count_values(
                words, self._header, self._slots.array, self._entries.array, done, change, turned
            )
            if done < len(words):
                used = int(self._header[kernels.ENTRIES_USED])
                # As many as there will be if it goes on like this, but not too many at a time.
                self._grow(min(max(used * len(words) // max(done, 1), 2 * used), 8 * used))

    def _grow(self, values: int) -> None:
        old, used = self._entries.array, int(self._header[kernels.ENTRIES_USED])
        self._entries = Growing(np.int64, values, width=self._width + 1)
        self._slots = Growing(np.int64, 3 * (values + 1) // 2)
        kernels.move_values(old, used, self._header, self._slots.array, self._entries.array)

    def commit(self) -> None:
        """Ends the epoch."""
        self._changed.clear()

    def roll_back(self) -> None:
        """Undoes the changes of the epoch."""
        for words, change in reversed(self._changed):
            self._add(words, -change, np.zeros(len(words), dtype=np.int8))
        self._changed.clear()
