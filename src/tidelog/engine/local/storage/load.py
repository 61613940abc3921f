"""Rows that come into an empty relation, written where they will stay, and indexed while repeated ones are looked for.

A large load is then one pass that writes words and one that indexes them: no copy of the words, and no second table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.kernels import finish_epoch
from tidelog.engine.local.kernels.layout import PIECE, ROW_EXTRA
from tidelog.engine.local.storage.growable_array import Growing

if TYPE_CHECKING:
    from tidelog.engine.local.storage.catalog import Threads

Words = npt.NDArray[np.int64]
SHARED_FROM = 1 << 16


class StagedRows:
    """The rows of one operation that comes in parts, as words in the layout of a store.

    Each part is converted when it comes, so that its Arrow memory serves the next one: fresh memory costs more time
    than the conversion. A load uses the lines as they are.
    """

    def __init__(self, columns: int) -> None:
        self.lines = Growing(np.int64, width=columns + ROW_EXTRA)
        self._columns = columns
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def words(self) -> Words:
        """The columns of all rows; the memory cannot grow in place while they are held."""
        return self.lines.array[: self._count, : self._columns]

    def add(self, rows: int, write: Callable[[Words], object]) -> None:
        """Adds so many rows, whose words `write` sets; if it raises, the rows stay as they were."""
        self.lines.make_room(self._count + rows)
        write(self.lines.array[self._count : self._count + rows, : self._columns])
        self._count += rows


class Load:
    """The rows of a relation with so many columns, and the slots of their index. `words` are the columns, to be set
    unless they are those of `staged` rows.

    `is_read`: rules above read the relation, and need the stamps of its rows.
    """

    def __init__(self, rows: int, columns: int, slots: int, *, is_read: bool, staged: StagedRows | None = None) -> None:
        self.lines = Growing(np.int64, rows, width=columns + ROW_EXTRA) if staged is None else staged.lines
        self.slots = Growing(np.int64, slots)
        self.is_read = is_read
        self._rows = rows
        self._columns = columns

    def __len__(self) -> int:
        return self._rows

    @property
    def words(self) -> Words:
        """The columns of all rows; see `StagedRows.words`."""
        return self.lines.array[: self._rows, : self._columns]

    def has(self, rows: Words) -> bool:
        """True if these are the rows of the load."""
        return len(rows) == len(self) and int(rows.ctypes.data) == self.lines.address

    def index(self, pool: Threads | None) -> bool:
        """Completes the rows as facts and fills the index; all threads share many rows. False if any row is repeated:
        then the load cannot be used."""
        threads = 1 if pool is None or len(self) < SHARED_FROM else pool.threads
        starts = [len(self) * part // threads for part in range(threads + 1)]

        def part(me: int) -> int:
            scratch = np.empty(PIECE, dtype=np.int64)
            found: int = finish_epoch.index_facts(
                self.lines.array, self.slots.array, starts[me], starts[me + 1], int(self.is_read), scratch
            )
            return found

        finish_epoch.index_facts.load()  # several threads must not load it at once
        repeated = sum(pool.run(part)) if pool is not None and threads > 1 else part(0)
        return not repeated
