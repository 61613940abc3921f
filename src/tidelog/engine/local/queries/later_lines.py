"""The lines of rows that came after a commit, for readers of that commit.

A commit that inserts many rows writes most of them behind the others. So these are all lines from the first new one on,
and the lines before it that were used again: in order while they are few, and as a byte for each line otherwise. To add
those of another commit takes time in proportion to the lines that were used again, whatever the number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.storage.versions import Change

Words = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
_NO_LINES: Words = np.empty(0, dtype=np.int64)
_FEW = 1 << 15


class LaterLines:
    """A set of lines; false while nothing has come. It grows while readers use it: what is added is theirs no more
    than what was in it.
    """

    def __init__(self) -> None:
        self._first_new = -1
        self._reused = _NO_LINES
        self._flags: Flags | None = None

    def __bool__(self) -> bool:
        return self._first_new >= 0

    def add(self, changes: Sequence[Change]) -> None:
        """Adds the rows that some later commits inserted, in the order of the commits."""
        if self._first_new < 0:
            self._first_new = changes[0].used
        reused: Words = np.concatenate([change.reused for change in changes]).astype(np.int64)
        reused = reused[reused < self._first_new]
        if self._flags is None and len(self._reused) + len(reused) <= _FEW:
            self._reused = np.union1d(self._reused, reused)
            return
        if self._flags is None:
            flags: Flags = np.zeros(self._first_new, dtype=np.bool_)
            flags[self._reused] = True
            self._flags = flags
        self._flags[reused] = True

    def has(self, lines: Words) -> Flags:
        """Tells which of some lines are in the set."""
        if self._first_new < 0:
            return np.zeros(len(lines), dtype=np.bool_)
        new: Flags = lines >= self._first_new
        flags, reused = self._flags, self._reused
        if flags is not None and len(flags):
            new |= flags[np.where(new, 0, lines)]
        elif len(reused):
            new |= reused[np.minimum(np.searchsorted(reused, lines), len(reused) - 1)] == lines
        return new

    def remove_from(self, present: Flags) -> None:
        """Sets the bytes of these lines to zero."""
        if self._first_new < 0:
            return
        present[self._first_new :] = False
        flags = self._flags
        present[self._reused] = False
        if flags is not None:
            present[: len(flags)] &= ~flags
