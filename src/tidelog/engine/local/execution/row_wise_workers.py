"""The memory of threads that go head by head (`kernels/row_wise`): counters, registers, and new rows."""

from __future__ import annotations

import numpy as np

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.execution.row_jobs import share_of
from tidelog.engine.local.execution.row_wise_code import absence_areas
from tidelog.engine.local.execution.row_wise_plan import NO_PREFIX, Head, RowWisePlan
from tidelog.engine.local.execution.threads import apart
from tidelog.engine.local.kernels import row_lists
from tidelog.engine.local.kernels import row_wise as kernels
from tidelog.engine.local.storage.growable_array import Growing

# A head with more values than that for one of its prefixes is counted in a hash table, which begins with so many slots.
DENSE_VALUES, HASH_SLOTS = 1 << 22, 1 << 12
MOST_INSTANCES = row_lists.LARGEST_PLACE - 1  # of one prefix, for counters of 32 bits
MOST_TOTAL = row_lists.LARGEST_PLACE  # of a row, for a total of 32 bits
_OUT_ROWS = 1 << 14
_MOST_GENERATIONS = 1 << 30  # of marks; a wave has fewer


def _has_dense_counters(head: Head) -> bool:
    """True if a head is counted in an array. One without a prefix has no more values than there are words."""
    return head.values <= DENSE_VALUES or head.prefix == NO_PREFIX


class Worker:
    """One thread's memory for one head relation; counters and registers are shared by its heads."""

    def __init__(self, head: Head, share: int) -> None:
        self.words = apart(kernels.WORKER_WORDS)
        self._values = Growing(np.int32, _OUT_ROWS)
        self._counts = Growing(np.int64, _OUT_ROWS)
        self._groups = Growing(np.int64, _OUT_ROWS, width=row_lists.GROUP_WORDS)
        self.words[kernels.PREFIXES], self.words[kernels.SHARE] = head.prefixes, share
        self.words[kernels.MOST], self.words[kernels.MOST_TOTAL] = MOST_INSTANCES, MOST_TOTAL
        self.words[kernels.IS_HASHED] = int(not _has_dense_counters(head))
        self._note()

    def _note(self) -> None:
        self.words[kernels.OUT_VALUES], self.words[kernels.ROWS_ROOM] = self._values.address, len(self._values)
        self.words[kernels.OUT_COUNTS], self.words[kernels.OUT_GROUPS] = self._counts.address, self._groups.address

    def make_room(self) -> None:
        """Makes room for the rows of the prefix that was gathered last; each group has a row, so groups fit too."""
        wanted = int(self.words[kernels.ROWS_OUT] + self.words[kernels.FOUND])
        for each in (self._values, self._counts, self._groups):
            each.make_room(wanted)
        self._note()

    def begin(self, thread: ThreadMemory) -> None:
        """Begins a wave."""
        for word in (kernels.NEXT, kernels.LAST, kernels.IS_GATHERED, kernels.INSTANCES, kernels.VISITED):
            self.words[word] = 0
        self.words[kernels.ROWS_OUT] = self.words[kernels.GROUPS_OUT] = 0
        thread.lend(self.words)

    def go_through(self, active: tuple[int, int] | None, head: Head, threads: int) -> None:
        """Sets the prefixes of the wave: some, by their number and the address of their ids, or all."""
        self.words[kernels.PREFIXES], self.words[kernels.ACTIVE] = active or (head.prefixes, 0)
        if active is not None:
            self.words[kernels.SHARE] = share_of(active[0], threads)

    @property
    def rows(self) -> int:
        return int(self.words[kernels.ROWS_OUT])

    @property
    def new_rows(self) -> Words:
        """The new rows, as `row_lists` takes them."""
        fields = (kernels.OUT_GROUPS, kernels.OUT_VALUES, kernels.GROUPS_OUT, kernels.ROWS_OUT)
        return self.words[list(fields)]


class ThreadMemory:
    """The counters, registers and stack of one thread."""

    def __init__(self, plan: RowWisePlan, scratch: int) -> None:
        values = max((head.values for head in plan.heads if _has_dense_counters(head)), default=0)
        self._counters = Growing(np.int32, values + 1)
        self._wide_counters = Growing(np.int64, values + 1)
        self._touched = Growing(np.int32, max(values, HASH_SLOTS) + 2)
        self._hash_keys = Growing(np.int32, HASH_SLOTS)
        self._hash_counts = Growing(np.int64, HASH_SLOTS)
        marked = max((literal.mark_space for nest in plan.nests for literal in nest.literals), default=0)
        self._marks = Growing(np.int32, 2 * marked + 2)
        self._absent = Growing(np.int32, absence_areas(plan.absences)[-1])
        self.registers = apart(plan.registers + 1)
        self.registers[plan.registers - len(plan.constants) : plan.registers] = plan.constants
        self.word_registers = apart(plan.word_registers + 1)
        for register, word in plan.word_constants.items():
            self.word_registers[register] = word
        literals = max(len(nest.literals) for nest in plan.nests)
        self.stack = apart(literals + 1, kernels.STACK_WIDTH)
        self.scratch = apart(scratch + 1)

    def lend(self, worker: Words) -> None:
        """Lets a worker of this thread use the counters, none of which is in use."""
        worker[kernels.COUNTERS], worker[kernels.WIDE_COUNTERS] = self._counters.address, self._wide_counters.address
        worker[kernels.TOUCHED], worker[kernels.HASH_IS_FULL] = self._touched.address, 0
        worker[kernels.HASH_KEYS], worker[kernels.HASH_COUNTS] = self._hash_keys.address, self._hash_counts.address
        worker[kernels.HASH_MASK] = len(self._hash_keys) - 1
        worker[kernels.MARKS], worker[kernels.MARKED_LIST] = self._marks.address, -1
        worker[kernels.ABSENT] = self._absent.address
        if self._marks.array[0] > _MOST_GENERATIONS:
            self._marks.array[:] = 0

    def make_room(self, worker: Words) -> None:
        """Makes the hash table of counters larger, while it is empty."""
        slots = 4 * len(self._hash_keys)
        self._hash_keys, self._hash_counts = Growing(np.int32, slots), Growing(np.int64, slots)
        self._touched.make_room(slots)
        self.lend(worker)
