"""The memory of a trie, owned by Python; kernels fill and read it (`pages`, `build_trie`, `iterators`)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.leapfrog.build_trie import DIGITS, FILLED, build_trie
from tidelog.engine.local.storage.growable_array import Growing

Words = npt.NDArray[np.int64]


class Trie:
    """One sorted arrangement and its line of A; with a scan tree of counts if it `is_counted`."""

    def __init__(self, order: tuple[int, ...], *, is_counted: bool = True) -> None:
        self.is_counted = is_counted
        self.keys = np.array(order, dtype=np.int64)
        self.key_count = len(order)
        self.saved: Words = np.zeros(k.ARRANGEMENT_FIELDS, dtype=np.int64)
        self.pages = Growing(np.int64, width=(self.key_count + 1) * k.PAGE_ROWS)
        self.directory = Growing(np.int64, width=k.DIRECTORY_ENTRY)
        self.counts = Growing(np.int64)

    def build(self, S: Words, A: Words, number: int, relation: int, lines: Words) -> None:
        """Fills the trie, the arrangement with this number, from the rows at these lines."""
        line = A[number]
        line[k.RELATION], line[k.KEYS], line[k.KEY_COUNT] = relation, self.keys.ctypes.data, self.key_count
        line[k.SHAPE], line[k.PAGE_COUNT], line[k.PAGES_TAKEN], line[k.FREE_PAGE] = k.SORTED, 0, 0, 0
        self.make_room(line, len(lines) // FILLED + 1)
        scratch: Words = np.empty((3, len(lines)), dtype=np.int64)
        build_trie(S, A, number, lines, *scratch, np.empty(DIGITS, dtype=np.int64))

    def make_room(self, line: Words, pages: int) -> None:
        """Makes room for so many pages, and updates the trie's line of A."""
        self.pages.make_room(max(pages, 1))
        self.directory.make_room(len(self.pages))
        line[k.PAGES], line[k.PAGE_CAPACITY] = self.pages.address, len(self.pages)
        line[k.DIRECTORY], line[k.DIRECTORY_CAPACITY] = self.directory.address, len(self.directory)
        if self.is_counted:
            self.counts.make_room(len(self.directory) + 1)
            line[k.COUNTS] = self.counts.address

    def bytes(self, line: Words) -> int:
        """Returns the bytes of memory in use."""
        words = int(line[k.PAGES_TAKEN]) * (self.key_count + 1) * k.PAGE_ROWS
        return 8 * (words + (k.DIRECTORY_ENTRY + int(self.is_counted)) * int(line[k.PAGE_COUNT]))
