"""The memory of a trie, owned by Python; kernels fill and read it (`pages`, `build_trie`, `iterators`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.leapfrog.build_trie import (
    DIGIT_BITS,
    DIGITS,
    FILLED,
    count_digits,
    fill_pages,
    sort_by_digit,
    take_words,
)
from tidelog.engine.local.storage.growable_array import Growing

Words = npt.NDArray[np.int64]
_AT_ONCE = FILLED << 12  # lines of one step of building, some milliseconds


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

    def build(
        self, S: Words, A: Words, number: int, relation: int, lines: Words, look: Callable[[], None] | None = None
    ) -> None:
        """Fills the trie, the arrangement with this number, from the rows at these lines.

        `look` is called again and again meanwhile; it may raise, and then the trie cannot be used.
        """
        line = A[number]
        line[k.RELATION], line[k.KEYS], line[k.KEY_COUNT] = relation, self.keys.ctypes.data, self.key_count
        line[k.SHAPE], line[k.PAGE_COUNT], line[k.PAGES_TAKEN], line[k.FREE_PAGE] = k.SORTED, 0, 0, 0
        self.make_room(line, len(lines) // FILLED + 1)
        lines = _sorted(S, A, number, self.key_count, lines, look)
        for first, end in _steps(len(lines), look):
            fill_pages(S, A, number, lines, first, end)

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


def _sorted(S: Words, A: Words, number: int, columns: int, lines: Words, look: Callable[[], None] | None) -> Words:
    """Returns the lines in the order of the trie with this number; uses their memory."""
    count = len(lines)
    words, other_words, other_lines = (np.empty(count, dtype=np.int64) for _ in range(3))
    for column in range(columns - 1, -1, -1):
        bounds: Words = np.array([(1 << 63) - 1, -(1 << 63)], dtype=np.int64)
        for first, end in _steps(count, look):
            take_words(S, A, number, column, lines, words, first, end, bounds)
        least, spread = int(bounds[0]), int(bounds[1]) - int(bounds[0])
        for shift in range(0, max(spread, 0).bit_length(), DIGIT_BITS):
            counts: Words = np.zeros(DIGITS, dtype=np.int64)
            for first, end in _steps(count, look):
                count_digits(words, first, end, least, shift, counts)
            places: Words = np.cumsum(counts) - counts
            for first, end in _steps(count, look):
                sort_by_digit(words, lines, other_words, other_lines, first, end, least, shift, places)
            words, other_words, lines, other_lines = other_words, words, other_lines, lines
    return lines


def _steps(count: int, look: Callable[[], None] | None) -> Iterator[tuple[int, int]]:
    """Yields the first line and the end of each step over so many lines, and looks before it."""
    for first in range(0, count, _AT_ONCE):
        if look is not None:
            look()
        yield first, min(first + _AT_ONCE, count)
