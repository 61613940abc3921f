"""The rows that an epoch inserted or deleted, in their store until they are read or the next epoch begins.

After a Bootstrap the inserted rows are the whole relation, and the deleted ones are in the store that was replaced: a
copy that nobody reads would be expensive.
"""

from __future__ import annotations

from threading import Lock

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.int64]
Lines = npt.NDArray[np.int32]
NO_LINES: Lines = np.empty(0, dtype=np.int32)


class ChangedRows:
    """Some rows of a store, given by their lines; `words` copies them, and must be called before they change."""

    __slots__ = ("__weakref__", "_count", "_holes", "_lines", "_lock", "_rows", "_words")

    def __init__(self, rows: Words, lines: Lines) -> None:
        self._rows = rows
        self._lines: Lines | None = lines
        self._holes: Words | None = None
        self._count = len(lines)
        self._words: Words | None = None
        self._lock = Lock()

    @staticmethod
    def all_of(rows: Words, holes: Words) -> ChangedRows:
        """Returns all of these rows but those in some lines."""
        made = ChangedRows(rows, NO_LINES)
        made._lines, made._holes, made._count = None, holes, len(rows) - len(holes)
        return made

    @staticmethod
    def of(words: Words) -> ChangedRows:
        """Returns rows that are copies already."""
        made = ChangedRows(words, NO_LINES)
        made._words, made._count = words, len(words)
        return made

    @property
    def are_in_store(self) -> bool:
        """True if the rows were not copied yet: no epoch has changed them."""
        return self._words is None

    def words(self) -> Words:
        with self._lock:
            if self._words is None:
                if self._lines is not None:
                    self._words = self._rows[self._lines]
                else:
                    assert self._holes is not None
                    self._words = np.delete(self._rows, self._holes, axis=0)
                self._rows, self._lines, self._holes = self._words, None, None
            return self._words

    def __len__(self) -> int:
        return self._count
