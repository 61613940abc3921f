"""The jobs of a wave (`kernels/row_jobs`): which ids its new rows have, and to which prefixes they lead.

A wave that begins with its new rows, not with all prefixes, has three steps: the ids in those columns of new rows from
which rules begin; the jobs of all rules, in lists by prefix; the prefixes of each head that have any instance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.execution.row_wise_code import head_code
from tidelog.engine.local.execution.row_wise_plan import DeltaNest, Head, Jobs, RowWisePlan
from tidelog.engine.local.execution.threads import apart
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels import row_jobs, row_lists
from tidelog.engine.local.kernels import row_wise as kernels
from tidelog.engine.local.storage.growable_array import Growing

Ids = npt.NDArray[np.int32]
_BUFFER_WORDS = 1 << 14
# A thread takes at most so many ids at a time, and has at least so many turns.
_LARGEST_SHARE, _TURNS = 256, 16


class NotedIds:
    """A set of ids below `size`, in the order in which they were added; it is emptied in no time."""

    def __init__(self, size: int) -> None:
        self._noted: Ids = np.zeros(size, dtype=np.int32)
        self.ids: Ids = np.zeros(size + 1, dtype=np.int32)
        self._stamp = 0
        self.count = 0

    def clear(self) -> None:
        self._stamp += 1
        self.count = 0

    def add(self, words: Ids, count: int, width: int = 1) -> None:
        """Adds the first of each `width` words."""
        self.count = int(row_jobs.note_ids(words, count, width, self._noted, self._stamp, self.ids, self.count))

    def add_column(self, rows: Words, shape: Words, column: int) -> None:
        """Adds the ids in one column of the new rows of one thread."""
        where = self._noted, self._stamp, self.ids
        self.count = int(row_jobs.note_column(rows, shape, column, *where, self.count))


class JobLists:
    """The jobs of one delta nest in the present wave. `table` is the kernels' table L; the lists have line `number`."""

    def __init__(self, plan: RowWisePlan, jobs: Jobs, table: Words, number: int, threads: int) -> None:
        self.drivers = jobs.drivers
        self.code = head_code(plan, [jobs.path])
        self.width = len(jobs.path.value)
        self._table = table
        self._number = number
        self._records = Growing(np.int32, jobs.order.space, width=row_lists.RECORD_PLACES)
        self._pool = Growing(np.int32)
        self._buffers = [Growing(np.int32, _BUFFER_WORDS) for _ in range(threads)]
        self.workers = [apart(kernels.WORKER_WORDS) for _ in range(threads)]
        line = table[number]
        line[row_lists.LIST_STRIDE] = self._stride = max(self.width - 1, 1)
        line[row_lists.LIST_RECORDS], line[row_lists.LIST_COUNT] = self._records.address, jobs.order.space

    def begin(self, me: int, drivers: int, lend: Callable[[Words], None]) -> None:
        """Lets one thread begin with the jobs of a wave."""
        words = self.workers[me]
        for word in (kernels.NEXT, kernels.LAST, kernels.FOUND, kernels.INSTANCES, kernels.VISITED):
            words[word] = 0
        lend(words)
        words[kernels.MODE] = kernels.JOBS
        words[kernels.SHARE] = share_of(drivers, len(self.workers))
        self._note(me)

    def make_room(self, me: int) -> None:
        """Makes room for more jobs of one thread."""
        self._buffers[me].make_room(2 * len(self._buffers[me]))
        self._note(me)

    def _note(self, me: int) -> None:
        buffer, words = self._buffers[me], self.workers[me]
        words[kernels.OUT_VALUES], words[kernels.ROWS_ROOM] = buffer.address, len(buffer)

    @property
    def found(self) -> list[tuple[Ids, int]]:
        """The jobs of each thread: their words, and how many jobs they are."""
        return [
            (buffer.array, int(words[kernels.FOUND]) // self.width)
            for buffer, words in zip(self._buffers, self.workers)
        ]

    @property
    def are_too_many(self) -> bool:
        """True if lists cannot have so many words."""
        return sum(count for _, count in self.found) * self._stride + k.POOL_LISTS > row_lists.LARGEST_PLACE

    def fill(self) -> None:
        """Puts the jobs into lists by prefix."""
        line = self._table[self._number]
        self._pool.make_room(k.POOL_LISTS + self._stride * sum(count for _, count in self.found))
        line[k.POOL], line[k.POOL_USED] = self._pool.address, k.POOL_LISTS
        for kernel in (row_jobs.count_jobs, row_jobs.fill_jobs):
            for words, count in self.found:
                kernel(self._table, self._number, words, count, self.width)

    def clear(self) -> None:
        """Empties the lists after the wave."""
        for words, count in self.found:
            row_jobs.clear_jobs(self._table, self._number, words, count, self.width)


class Deltas:
    """What the waves need that begin with their new rows. `sizes` are those of the domains of each head's columns."""

    def __init__(self, plan: RowWisePlan, table: Words, sizes: Mapping[tuple[int, int], int], threads: int) -> None:
        deltas = [delta for head in plan.heads for own in head.deltas for delta in own]
        self.lists = {
            delta.jobs.order: JobLists(plan, delta.jobs, table, plan.orders.index(delta.jobs.order), threads)
            for delta in deltas
            if delta.jobs is not None
        }
        columns = {delta.gate for delta in deltas} | {each.drivers for each in self.lists.values()}
        self.new_ids = {column: NotedIds(sizes[column]) for column in columns if column is not None}
        self._active = [NotedIds(head.prefixes) for head in plan.heads]

    def begin(self, new: Callable[[int, int], Ids]) -> None:
        """Notes the ids of the present wave's rows, by relation and column."""
        for column, noted in self.new_ids.items():
            noted.clear()
            ids = new(*column)
            noted.add(ids, len(ids))

    def note(self, relation: int, rows: Sequence[Words], shape: Words) -> None:
        """Notes the ids of new rows of one relation."""
        for (each, column), noted in self.new_ids.items():
            if each == relation:
                noted.clear()
                for own in rows:
                    noted.add_column(own, shape, column)

    def active(self, place: int, head: Head) -> tuple[int, int] | None:
        """Returns how many prefixes of a head have instances, and the address of their ids; None if any may."""
        if not all(head.deltas):
            return None
        found = self._active[place]
        found.clear()
        for delta in (delta for own in head.deltas for delta in own):
            self._add_prefixes(found, delta)
        return found.count, found.ids.ctypes.data

    def _add_prefixes(self, found: NotedIds, delta: DeltaNest) -> None:
        if delta.jobs is not None:
            jobs = self.lists[delta.jobs.order]
            for words, count in jobs.found:
                found.add(words, count, jobs.width)
        elif delta.gate is not None:
            new = self.new_ids[delta.gate]
            found.add(new.ids, new.count)
        else:
            found.add(np.array([delta.nest.prefix], dtype=np.int32), 1)


def share_of(count: int, threads: int) -> int:
    """Returns how many of some ids a thread takes at a time."""
    return max(1, min(count // (_TURNS * threads), _LARGEST_SHARE))
