"""Threads of an engine, and the memory in which kernels run the bytecode of a stratum.

A `ThreadPool` lives as long as the engine; the thread that commits is the first of its threads. An `Executor` belongs
to one stratum: it has registers, iterators and buffers for each thread, and runs the waves. A large wave of a Bootstrap
is shared by all threads (see `kernels/parallel_wave`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from time import thread_time

import numpy as np

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.execution.bytecode import Bytecode, Segment
from tidelog.engine.local.kernels import entry_points, waves
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels import parallel_wave as kernels
from tidelog.engine.local.storage.catalog import Catalog

NO_INPUTS: Words = np.empty((0, 1), dtype=np.int64)
NO_READS: Words = np.empty((0, k.READ_FIELDS), dtype=np.int64)
MOST_THREADS = 16
# Waking the other threads costs some 0.1 ms; one thread processes about this many rows in that time.
SHARE_FROM = 8192
# A thread takes the rows of a delta in shares: so many per thread, with sizes within these bounds.
SHARES, SMALLEST_SHARE, LARGEST_SHARE = 16, 128, 2048
APART = 16  # words between the memory that one thread writes often and that of another thread


def apart(*shape: int) -> Words:
    """Returns zeroed words that share no cache line with other memory: threads that write to the same line slow each
    other down."""
    count = math.prod(shape)
    found: Words = np.zeros(count + 2 * APART, dtype=np.int64)[APART : APART + count].reshape(shape)
    return found


def processors() -> int:
    """Returns how many processors this process may use, at most `MOST_THREADS`."""
    return min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, MOST_THREADS)


class ThreadPool:
    """`threads` threads, including the calling one; the others start at the first call of `run`, and again in a child
    of a fork, which has none of them."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.share_from = SHARE_FROM
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0
        self._spent = [0.0] * threads  # processor seconds of each other thread

    @property
    def processor_seconds(self) -> float:
        """Processor seconds of the calling thread, and of the others in `run`. Differences are work, however busy the
        machine is."""
        return thread_time() + sum(self._spent)

    def run(self, part: Callable[[int], int]) -> list[int]:
        """Runs `part(i)` on every thread i, part 0 on the calling thread; returns their results."""
        if self._pool is None or self._process != os.getpid():
            # The first call of a kernel loads it; several threads must not load it at once.
            kernels.share_wave.load()
            kernels.share_arranging.load()
            self._pool = ThreadPoolExecutor(self.threads - 1, "tidelog")
            self._process = os.getpid()
        others = [self._pool.submit(self._timed, part, me) for me in range(1, self.threads)]
        return [part(0), *(other.result() for other in others)]

    def _timed(self, part: Callable[[int], int], me: int) -> int:
        """Runs a part, and notes the processor time that its thread spends."""
        began = thread_time()
        try:
            return part(me)
        finally:
            self._spent[me] += thread_time() - began

    def close(self) -> None:
        """Ends the other threads."""
        if self._pool is not None:
            if self._process == os.getpid():
                self._pool.shutdown()
            self._pool = None


class ThreadBuffers:
    """Memory of one thread: control words, registers, iterators, and in each batch a buffer for each relation of the
    stratum and each thread that applies its instances. `addresses` has a line for each batch (see `_addresses`)."""

    def __init__(
        self, catalog: Catalog, inside: Words, registers: int, blocks: int, *, threads: int, batches: int
    ) -> None:
        self.control = apart(k.CONTROL_FIELDS)
        self.registers = apart(registers)
        self.iterators = apart(blocks, k.ITERATOR_WORDS)
        self.scratch = apart(max(int(catalog.S[:, k.COLUMNS].max()) + 1, k.PIECE))
        self.fresh = apart(k.PIECE)
        widths = [catalog.stores[relation].columns + k.INSTANCE_EXTRA for relation in inside.tolist()]
        self.memory = [
            [np.zeros(k.buffer_words(width), dtype=np.int64) for width in widths for _ in range(threads)]
            for _ in range(batches)
        ]
        self._tables = apart(len(widths) * threads, k.RECENT_WORDS)
        self._staged = apart(k.STAGED_WORDS)
        tables = [table.ctypes.data for table in self._tables]
        self.addresses: Words = np.array(
            [_addresses(batch, tables, self._staged) for batch in self.memory], dtype=np.int64
        )
        self.first_addresses: Words = self.addresses[0]


def _addresses(buffers: Iterable[Words], tables: Iterable[int], staged: Words) -> list[int]:
    """Returns the addresses that a kernel gets: of buffers, of the table of recent heads of each, of staged rows."""
    return [*(buffer.ctypes.data for buffer in buffers), *tables, staged.ctypes.data]


class ReservedRows:
    """Rows of the stratum's relations that threads reserved in the present phase and have not used: from, to."""

    def __init__(self, pool: ThreadPool, catalog: Catalog, inside: Words) -> None:
        self._catalog = catalog
        self._inside = inside
        self.lines = apart(pool.threads, len(inside) + APART, 2)
        self.are_used = False

    def clear(self) -> None:
        """Drops all reservations. The rows that an aborted phase reserved were rolled back with it."""
        if self.are_used:
            self.lines[:] = 0
            self.are_used = False

    def release(self) -> None:
        """Returns the reserved rows to their stores at the end of a phase."""
        for reserved in self.lines if self.are_used else ():
            for relation, (first, end) in zip(self._inside.tolist(), reserved.tolist()):
                if first < end:
                    self._catalog.stores[relation].give_lines_back(np.arange(first, end, dtype=np.int64))
        self.clear()


class Executor:
    """Runs the bytecode of one stratum. `tally` counts the instances that each variant found."""

    def __init__(
        self,
        pool: ThreadPool,
        catalog: Catalog,
        inside: Words,
        reserved: ReservedRows,
        *,
        registers: int,
        blocks: int,
        cursors: int,
        variants: int,
    ) -> None:
        self._pool = pool
        self._catalog = catalog
        self._inside = inside
        self._reserved = reserved
        self._registers, self._blocks = registers, blocks
        self._cursors: Words = np.zeros(cursors + 1, dtype=np.int64)
        self.tally: Words = np.zeros(variants + 1, dtype=np.int64)
        self._single = ThreadBuffers(catalog, inside, registers, blocks, threads=1, batches=1)
        self._counts: Words = np.zeros(2 * len(inside), dtype=np.int64)
        self._per_thread: list[ThreadBuffers] = []
        self._sharing = False

    def reuse(self, *, registers: int, blocks: int, cursors: int, variants: int) -> bool:
        """Clears all memory for other bytecode; returns False if that does not fit."""
        if (
            registers > self._registers
            or blocks > self._blocks
            or cursors >= len(self._cursors)
            or variants >= len(self.tally)
        ):
            return False
        self.reset()
        self._per_thread = []
        for words in (self._cursors, self.tally, self._single.iterators):
            words[:] = 0
        return True

    @property
    def scratch(self) -> Words:
        return self._single.scratch

    def reset(self) -> None:
        """Drops instances that an aborted phase left in the buffers."""
        self._counts[:] = 0
        self._sharing = False

    def drive(self, control: Words, table: Words, reads: Words = NO_READS) -> int:
        """Runs waves as `kernels.waves.drive` does; all threads share a large wave of a Bootstrap."""
        while True:
            status = self._share(control, table) if self._sharing else self._drive(control, table, reads)
            if status == k.SHARE:
                self._begin(control)
            elif status == k.SHARE_ARRANGING:
                self._arrange()
            elif self._sharing and status == k.DONE:
                self._sharing = False
                control[k.VARIANT], control[k.STATE], control[k.SHARED] = len(table), k.STATE_NEXT, 1
                return k.YIELD
            else:
                return status

    def _drive(self, control: Words, table: Words, reads: Words) -> int:
        own = self._single
        status: int = waves.drive(
            control,
            self._catalog.S,
            self._catalog.A,
            table,
            self._inside,
            reads,
            own.registers,
            own.iterators,
            own.first_addresses,
            self._counts,
            self.tally,
            self._cursors,
            NO_INPUTS,
            own.scratch,
        )
        return status

    # One tree at a time, for strategies that apply instances in their own way

    def at_root(self, control: Words, segment: Segment) -> Words:
        """Returns the control words with which `enumerate` starts a tree from its root."""
        root = control.copy()
        root[k.THREADS], root[k.CHUNK], root[k.NODE], root[k.COMBINE] = 1, k.ALL_ROWS, 0, 0
        self._single.registers[: len(segment.constants)] = segment.constants
        self._single.iterators[0, k.ITER_STARTED] = 0
        self._cursors[:] = 0
        self._counts[:] = 0
        return root

    def enumerate(self, control: Words, bytecode: Bytecode) -> int:
        """Enumerates until a buffer is full or nothing is left (see `kernels.join.enumerate_instances`)."""
        own = self._single
        status: int = entry_points.enumerate_some(
            control,
            self._catalog.S,
            self._catalog.A,
            bytecode.segments[0].code.ctypes.data,
            bytecode.kind,
            own.registers,
            own.iterators,
            own.addresses[0],
            self._counts,
            self.tally,
            self._cursors,
            NO_INPUTS,
            own.scratch,
        )
        return status

    def take(self) -> Iterator[tuple[int, Words, int]]:
        """Yields the instances found: relation, buffer and count. Empties the buffers."""
        for slot, relation in enumerate(self._inside.tolist()):
            count = int(self._counts[slot])
            self._counts[slot] = 0
            if count:
                yield relation, self._single.memory[0][slot], count

    def take_counted(self) -> Iterator[tuple[int, Words]]:
        """Yields the instances found, some of which repeat: relation, and a view of the buffer (columns, level, hash)
        that is valid until the next `enumerate`. Empties the buffers."""
        for slot, relation in enumerate(self._inside.tolist()):
            count = int(self._counts[slot])
            self._counts[slot] = self._counts[len(self._inside) + slot] = 0
            if count:
                width = self._catalog.stores[relation].columns + k.INSTANCE_EXTRA
                yield relation, self._single.memory[0][slot][: count * width].reshape(count, width)

    # Waves for several threads

    def _begin(self, control: Words) -> None:
        """Sets all threads to the start of the wave."""
        threads = self._pool.threads
        if not self._per_thread:
            self._per_thread = [
                ThreadBuffers(
                    self._catalog, self._inside, self._registers, self._blocks, threads=threads, batches=kernels.BATCHES
                )
                for _ in range(threads)
            ]
            self._buffers = np.stack([each.addresses for each in self._per_thread])
            counts = len(self._inside) * (threads + 1)
            self._shared_counts = apart(threads, kernels.BATCHES, counts + APART)
            self._tallies = apart(threads, len(self.tally) + APART)
            self._words: Words = np.zeros(kernels.pool_words(threads, len(self._inside)), dtype=np.int64)
        self._words[:] = 0
        self._words[kernels.FOUND] = control[k.INSTANCES]
        # Neighbouring rows have heads in common, so a share is not small; but all threads should end together.
        rows = int(control[k.BELOW] if control[k.WAVE] == 0 else self._catalog.S[self._inside, k.BATCH_COUNT].sum())
        share = min(max(rows // (SHARES * threads), SMALLEST_SHARE), LARGEST_SHARE)
        for each in self._per_thread:
            each.control[:] = control
            each.control[k.THREADS], each.control[k.CHUNK] = threads, share
        self._sharing = self._reserved.are_used = True

    def _share(self, control: Words, table: Words) -> int:
        """Continues the wave on all threads (see `kernels.parallel_wave.share_wave`)."""
        self._words[kernels.STOP] = self._words[kernels.ARRIVALS] = 0
        for each in self._per_thread:
            each.control[k.YIELD_AT], each.control[k.STOPPED] = control[k.YIELD_AT], 0

        def part(me: int) -> int:
            own = self._per_thread[me]
            status: int = kernels.share_wave(
                me,
                self._words,
                own.control,
                self._catalog.S,
                self._catalog.A,
                table,
                self._inside,
                own.registers,
                own.iterators,
                self._buffers,
                self._shared_counts,
                self._tallies[me],
                self._cursors,
                self._reserved.lines[me],
                NO_INPUTS,
                own.scratch,
                own.fresh,
            )
            return status

        status = self._pool.run(part)[0]
        self.tally += self._tallies.sum(axis=0)[: len(self.tally)]
        self._tallies[:] = 0
        # The thread that stopped all others says why; if none did, the first thread reports.
        reporter = next(
            (each.control for each in self._per_thread if each.control[k.STOPPED]), self._per_thread[0].control
        )
        for word in (k.VARIANT, k.NODE, k.NEED, k.NEED_AT, k.NEED_INSTANCES, k.INSTANCES):
            control[word] = reporter[word]
        return status

    def _arrange(self) -> None:
        """Adds the rows that the wave found to the arrangements, on all threads, one whole arrangement at a time."""
        stores = self._catalog.stores
        tasks = [(relation, number) for relation in self._inside.tolist() for number in stores[relation].arrangements]
        if len(tasks) < 2:
            return
        # The longest tasks first, so that all threads end together.
        tasks.sort(key=lambda task: -int(stores[task[0]].line[k.PENDING_COUNT]))
        table: Words = np.array(tasks, dtype=np.int64)
        words: Words = np.zeros(kernels.NEXT_TASK + 1, dtype=np.int64)
        needs: Words = np.zeros((self._pool.threads, k.CONTROL_FIELDS), dtype=np.int64)

        def part(me: int) -> int:
            scratch: Words = np.empty(k.PIECE, dtype=np.int64)
            status: int = kernels.share_arranging(words, needs[me], self._catalog.S, self._catalog.A, table, scratch)
            return status

        while True:
            full = [int(needs[me, k.NEED]) for me, status in enumerate(self._pool.run(part)) if status != k.DONE]
            if not full:
                return
            for number in full:
                stores[int(self._catalog.A[number, k.RELATION])].grow_arrangement(number)
            words[:] = 0


class SegmentExecutor:
    """Runs one segment of a variant with Python steps, in registers, iterators and a buffer of its own."""

    def __init__(self, segment: Segment, control: Words, inputs: Words) -> None:
        self._segment = segment
        self._control = control.copy()
        self._control[k.NODE], self._control[k.INPUT_COUNT], self._control[k.COMBINE] = 0, len(inputs), 0
        self._inputs = inputs
        self._registers = segment.constants.copy()
        self._iterators: Words = np.zeros((int(segment.code[k.CODE_ITERATORS]), k.ITERATOR_WORDS), dtype=np.int64)
        self._width = segment.emits + k.INSTANCE_EXTRA
        self.out: Words = np.empty(k.buffer_words(self._width), dtype=np.int64)
        self._staged: Words = np.zeros(k.STAGED_WORDS, dtype=np.int64)
        self._addresses: Words = np.array(_addresses([self.out], [0], self._staged), dtype=np.int64)
        self._counts: Words = np.zeros(1, dtype=np.int64)
        self._words: Words = np.zeros(1, dtype=np.int64)

    def restart(self, line: tuple[int, ...]) -> None:
        """Starts again from one line of inputs, in level 0."""
        self._inputs[0, :-1] = line
        self._control[k.NODE] = 0
        self._registers[:] = self._segment.constants
        self._iterators[:] = 0
        self._counts[0] = 0

    def enumerate(self, catalog: Catalog, kind: int, scratch: Words) -> int:
        """Enumerates until the buffer is full or nothing is left (see `kernels.join.enumerate_instances`)."""
        status: int = entry_points.enumerate_some(
            self._control,
            catalog.S,
            catalog.A,
            self._segment.code.ctypes.data,
            kind,
            self._registers,
            self._iterators,
            self._addresses,
            self._counts,
            self._words,
            self._words,
            self._inputs,
            scratch,
        )
        return status

    def looked_at(self) -> int:
        """Returns how many rows and words were read since the last call."""
        looked_at = int(self._control[k.LOOKED_AT])
        self._control[k.LOOKED_AT] = 0
        return looked_at

    def take(self) -> Words:
        """Returns the instances found (columns, level, hash), a view that is valid until the next `enumerate`."""
        count = int(self._counts[0])
        self._counts[0] = 0
        return self.out[: count * self._width].reshape(count, self._width)
