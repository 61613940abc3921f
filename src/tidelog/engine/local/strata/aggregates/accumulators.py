"""State of a large group's aggregates: a total, or the values in an order. Each is updated value by value.

A part turns a value into an entry (`entry`, which may fail as it runs the program's functions) and then inserts or
deletes the entry, which never fails. So an epoch can fail before anything has changed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.strata.aggregates.scan_tree import ScanTree
from tidelog.engine.local.strata.aggregates.small_group import Read
from tidelog.engine.local.strata.aggregates.sorted_pages import SortedPages
from tidelog.types import BitType, FloatType, Type
from tidelog.values.exact_sum import ExactSum

_TOP = -(1 << 63)


class Part(ABC):
    """Part of a group's state. `load` is called first, with all values: as words, a line each, and as Python values."""

    @abstractmethod
    def load(self, words: Words, values: Sequence[Any]) -> None:
        """Inserts all values at once."""

    @abstractmethod
    def entry(self, words: Sequence[int], value: Any) -> Any:
        """Returns the entry to store for a value. Raises what the program's functions raise."""

    @abstractmethod
    def change(self, inserted: Sequence[Any], deleted: Sequence[Any]) -> bool:
        """Inserts and deletes entries; False if a deleted one was absent: then the part is useless."""


class Total(Part):
    """A sum of integers: a group under addition."""

    def __init__(self, read: Read | None) -> None:
        self._read = read
        self.total = 0

    def load(self, words: Words, values: Sequence[Any]) -> None:
        self.total = sum(values if self._read is None else map(self._read, values))

    def entry(self, words: Sequence[int], value: Any) -> int:
        return int(value if self._read is None else self._read(value))

    def change(self, inserted: Sequence[Any], deleted: Sequence[Any]) -> bool:
        self.total += sum(inserted) - sum(deleted)
        return True


class FloatTotal(Part):
    """An exact sum of floating-point numbers."""

    def __init__(self, read: Read | None) -> None:
        self._read = read
        self.total = ExactSum()

    def load(self, words: Words, values: Sequence[Any]) -> None:
        self.total = ExactSum(values if self._read is None else map(self._read, values))

    def entry(self, words: Sequence[int], value: Any) -> float:
        return float(value if self._read is None else self._read(value))

    def change(self, inserted: Sequence[Any], deleted: Sequence[Any]) -> bool:
        for number in inserted:
            self.total.add(number)
        for number in deleted:
            self.total.add(number, -1)
        return True


class WordOrder(Part):
    """The values in order, if they and the sort keys are words: (sort key, value), or the value alone.

    A value may have several parts, of the given types.
    """

    def __init__(self, read: Read | None, types: Sequence[Type], read_type: Type | None) -> None:
        self._read = read
        self._flips = [_TOP if _wraps(each) else 0 for each in types]
        self._read_flip = _TOP if read_type is not None and _wraps(read_type) else 0
        self.tree = ScanTree(np.empty((0, 1), dtype=np.int64))

    def load(self, words: Words, values: Sequence[Any]) -> None:
        entries = words ^ np.array(self._flips, dtype=np.int64)
        if self._read is not None:
            read = np.array([_signed(self._read(value)) for value in values], dtype=np.int64) ^ self._read_flip
            entries = np.concatenate([read[:, None], entries], axis=1)
        self.tree = ScanTree(entries)

    def entry(self, words: Sequence[int], value: Any) -> tuple[int, ...]:
        own = [word ^ flip for word, flip in zip(words, self._flips)]
        return (*own,) if self._read is None else (_signed(self._read(value)) ^ self._read_flip, *own)

    def change(self, inserted: Sequence[Any], deleted: Sequence[Any]) -> bool:
        if inserted:
            self.tree.insert(np.array(inserted, dtype=np.int64))
        return not deleted or self.tree.remove(np.array(deleted, dtype=np.int64))

    def least(self) -> list[int]:
        """Returns the words of the value that comes first."""
        return self._own(self.tree.first())

    def most(self) -> list[int]:
        """Returns the words of the value that comes last; of several with the same sort key, the first."""
        last = self.tree.last()
        if self._read is not None:
            last = self.tree.first_from([last[0], *[_TOP] * len(self._flips)])
        return self._own(last)

    def _own(self, entry: list[int]) -> list[int]:
        return [word ^ flip for word, flip in zip(entry[-len(self._flips) :], self._flips)]


class ValueOrder(Part):
    """The values in order, as Python compares them: (sort key, value), or the value alone."""

    def __init__(self, read: Read | None) -> None:
        self._read = read
        self.pages = SortedPages(())

    def load(self, words: Words, values: Sequence[Any]) -> None:
        read = self._read
        self.pages = SortedPages(values if read is None else [(read(value), value) for value in values])

    def entry(self, words: Sequence[int], value: Any) -> Any:
        return value if self._read is None else (self._read(value), value)

    def change(self, inserted: Sequence[Any], deleted: Sequence[Any]) -> bool:
        for entry in inserted:
            self.pages.insert(entry)
        return all(self.pages.remove(entry) for entry in deleted)

    def least(self) -> Any:
        """Returns the value that comes first."""
        first = self.pages.first()
        return first if self._read is None else first[1]

    def most(self) -> Any:
        """Returns the value that comes last; of several with the same sort key, the first."""
        last = self.pages.last()
        return last if self._read is None else self.pages.first_from((last[0],))[1]


def _wraps(type_: Type) -> bool:
    """True if the order of the type is not that of its words, which have a sign."""
    return isinstance(type_, BitType) and type_.width == 64


def _signed(number: int) -> int:
    """Returns the word of a number or a Boolean."""
    return int(number) - (1 << 64) if number >= 1 << 63 else int(number)


def total_of(read: Read | None, type_: Type) -> Total | FloatTotal:
    """Returns the part for a sum of numbers of this type."""
    return FloatTotal(read) if isinstance(type_, FloatType) else Total(read)
