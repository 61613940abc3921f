"""The threads of an engine, and the memory that the kernels work in while they run a stratum's plans.

A `Team` is there for the whole life of an engine: its threads wait in a pool, and the one that commits is the first of
them. A `Crew` is a team with what the plans of one stratum need: registers, iterators and buffers, for each thread. It
runs the waves; those that are worth it with all threads (see `kernels/team`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.execution.bytecode import Encoded, Segment
from tidelog.engine.local.kernels import entry_points, waves
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels import parallel_wave as kernels
from tidelog.engine.local.storage.catalog import Catalog

NO_INPUTS: Words = np.empty((0, 1), dtype=np.int64)
MOST_THREADS = 16
# Calling the others costs some 0.1 ms, in which one thread deals with about this many rows.
SHARE_FROM = 8192
# The rows of a delta that a thread takes at a time: so that each takes so many shares, within these bounds.
SHARES, SMALLEST_SHARE, LARGEST_SHARE = 16, 128, 2048


APART = 16  # words between what one thread writes to all the time and what another one does


def apart(*shape: int) -> Words:
    """Zeroed words that share no cache line with anything else: two threads that write to one line wait for each other
    at every word."""
    count = math.prod(shape)
    found: Words = np.zeros(count + 2 * APART, dtype=np.int64)[APART : APART + count].reshape(shape)
    return found


def processors() -> int:
    """The processors that this process may use."""
    return min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, MOST_THREADS)


class Team:
    """`threads` threads, the calling one among them; the others start when they are first needed."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.share_from = SHARE_FROM
        self._pool: ThreadPoolExecutor | None = None

    def run(self, part: Callable[[int], int]) -> list[int]:
        """Runs every thread's part, the first one here; their results."""
        if self._pool is None:
            # Kernels are loaded by their first call, which must not be several at once.
            kernels.share_wave.load()
            kernels.share_arranging.load()
            self._pool = ThreadPoolExecutor(self.threads - 1, "tidelog")
        others = [self._pool.submit(part, me) for me in range(1, self.threads)]
        return [part(0), *(other.result() for other in others)]

    def close(self) -> None:
        """Ends the threads."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None


class Hand:
    """What one thread works with. In each batch a buffer for each relation inside the stratum and each thread that may
    apply it; `buffers` has the addresses of a batch's buffers, of the tables for them, and of the rows staged."""

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
        self._staged = apart(2 * k.STAGED_ROWS)
        common = [*_addresses(self._tables), self._staged.ctypes.data]
        self.buffers: Words = np.array([[*_addresses(batch), *common] for batch in self.memory], dtype=np.int64)


def _addresses(arrays: Iterable[Words]) -> list[int]:
    return [array.ctypes.data for array in arrays]


class Reserves:
    """Lines of the stratum's relations that threads took in the present phase and have not used: from, to."""

    def __init__(self, team: Team, catalog: Catalog, inside: Words) -> None:
        self._catalog = catalog
        self._inside = inside
        self.lines = apart(team.threads, len(inside) + APART, 2)
        self.are_used = False

    def forget(self) -> None:
        """A phase begins; what one that was broken off had taken is gone with its rows."""
        if self.are_used:
            self.lines[:] = 0
            self.are_used = False

    def give_back(self) -> None:
        """The phase is over: others may use them."""
        for reserved in self.lines if self.are_used else ():
            for relation, (first, end) in zip(self._inside.tolist(), reserved.tolist()):
                if first < end:
                    self._catalog.stores[relation].give_lines_back(np.arange(first, end, dtype=np.int64))
        self.forget()


class Crew:
    """The memory in which a team runs the plans of one stratum.

    `tally` counts, per variant, the instances that it found.
    """

    def __init__(
        self,
        team: Team,
        catalog: Catalog,
        inside: Words,
        reserves: Reserves,
        *,
        registers: int,
        blocks: int,
        cursors: int,
        variants: int,
    ) -> None:
        self._team = team
        self._catalog = catalog
        self._inside = inside
        self._reserves = reserves
        self._registers, self._blocks = registers, blocks
        self._cursors: Words = np.zeros(cursors + 1, dtype=np.int64)
        self.tally: Words = np.zeros(variants + 1, dtype=np.int64)
        self._alone = Hand(catalog, inside, registers, blocks, threads=1, batches=1)
        self._counts: Words = np.zeros(2 * len(inside), dtype=np.int64)
        self._hands: list[Hand] = []
        self._sharing = False

    def take_up(self, *, registers: int, blocks: int, cursors: int, variants: int) -> bool:
        """Goes over to other plans, with nothing left of the earlier ones; False where they do not fit."""
        if (
            registers > self._registers
            or blocks > self._blocks
            or cursors >= len(self._cursors)
            or variants >= len(self.tally)
        ):
            return False
        self.reset()
        self._hands = []
        for words in (self._cursors, self.tally, self._alone.iterators):
            words[:] = 0
        return True

    @property
    def scratch(self) -> Words:
        return self._alone.scratch

    def reset(self) -> None:
        """Forgets what a phase that was broken off left in the buffers."""
        self._counts[:] = 0
        self._sharing = False

    def drive(self, control: Words, table: Words) -> int:
        """See `kernels.waves.drive`; a wave that is worth it is shared by all threads."""
        while True:
            status = self._share(control, table) if self._sharing else self._drive(control, table)
            if status == k.SHARE:
                self._begin(control)
            elif status == k.SHARE_END:
                self._arrange()
            elif self._sharing and status == k.DONE:
                self._sharing = False
                control[k.VARIANT], control[k.STATE], control[k.SHARED] = len(table), k.STATE_NEXT, 1
                return k.YIELD
            else:
                return status

    def _drive(self, control: Words, table: Words) -> int:
        hand = self._alone
        status: int = waves.drive(
            control,
            self._catalog.S,
            self._catalog.A,
            table,
            self._inside,
            hand.registers,
            hand.iterators,
            hand.buffers[0],
            self._counts,
            self.tally,
            self._cursors,
            NO_INPUTS,
            hand.scratch,
        )
        return status

    # One tree by itself, for strategies that apply instances in their own way

    def at_root(self, control: Words, segment: Segment) -> Words:
        """The control words with which `enumerate` starts a tree from its beginning."""
        own = control.copy()
        own[k.THREADS], own[k.CHUNK], own[k.NODE], own[k.COMBINE] = 1, k.ALL_ROWS, 0, 0
        self._alone.registers[: len(segment.constants)] = segment.constants
        self._alone.iterators[0, 0] = 0
        self._cursors[:] = 0
        self._counts[:] = 0
        return own

    def enumerate(self, own: Words, encoded: Encoded) -> int:
        """Goes on until a buffer is full or nothing is left; see `kernels.join.enumerate_instances`."""
        hand = self._alone
        status: int = entry_points.enumerate_some(
            own,
            self._catalog.S,
            self._catalog.A,
            encoded.segments[0].code.ctypes.data,
            encoded.kind,
            hand.registers,
            hand.iterators,
            hand.buffers[0],
            self._counts,
            self.tally,
            self._cursors,
            NO_INPUTS,
            hand.scratch,
        )
        return status

    def take(self) -> Iterator[tuple[int, Words, int]]:
        """What was found: the relation, the buffer, and how many instances it has."""
        for slot, relation in enumerate(self._inside.tolist()):
            count = int(self._counts[slot])
            self._counts[slot] = 0
            if count:
                yield relation, self._alone.memory[0][slot], count

    # Waves for several threads

    def _begin(self, control: Words) -> None:
        """Everybody to the beginning of the wave."""
        threads = self._team.threads
        if not self._hands:
            self._hands = [
                Hand(
                    self._catalog, self._inside, self._registers, self._blocks, threads=threads, batches=kernels.BATCHES
                )
                for _ in range(threads)
            ]
            self._buffers = np.stack([hand.buffers for hand in self._hands])
            counts = len(self._inside) * (threads + 1)
            self._shared_counts = apart(threads, kernels.BATCHES, counts + APART)
            self._tallies = apart(threads, len(self.tally) + APART)
            self._words: Words = np.zeros(kernels.team_words(threads, len(self._inside)), dtype=np.int64)
        self._words[:] = 0
        self._words[kernels.FOUND] = control[k.INSTANCES]
        # Rows that follow each other have heads in common, so a share is not small; but all are to end together.
        rows = int(control[k.BELOW] if control[k.WAVE] == 0 else self._catalog.S[self._inside, k.BATCH_COUNT].sum())
        share = min(max(rows // (SHARES * threads), SMALLEST_SHARE), LARGEST_SHARE)
        for hand in self._hands:
            hand.control[:] = control
            hand.control[k.THREADS], hand.control[k.CHUNK] = threads, share
        self._sharing = self._reserves.are_used = True

    def _share(self, control: Words, table: Words) -> int:
        """All threads go on with the wave; see `kernels.team.share_wave`."""
        self._words[kernels.STOP] = self._words[kernels.ARRIVALS] = 0
        for hand in self._hands:
            hand.control[k.YIELD_AT], hand.control[k.STOPPED] = control[k.YIELD_AT], 0

        def part(me: int) -> int:
            hand = self._hands[me]
            status: int = kernels.share_wave(
                me,
                self._words,
                hand.control,
                self._catalog.S,
                self._catalog.A,
                table,
                self._inside,
                hand.registers,
                hand.iterators,
                self._buffers,
                self._shared_counts,
                self._tallies[me],
                self._cursors,
                self._reserves.lines[me],
                NO_INPUTS,
                hand.scratch,
                hand.fresh,
            )
            return status

        status = self._team.run(part)[0]
        self.tally += self._tallies.sum(axis=0)[: len(self.tally)]
        self._tallies[:] = 0
        # What the run is told about: by the thread that stopped all, or by the first, which speaks for all.
        speaker = next((hand.control for hand in self._hands if hand.control[k.STOPPED]), self._hands[0].control)
        for word in (k.VARIANT, k.NODE, k.NEED, k.NEED_AT, k.NEED_INSTANCES, k.INSTANCES):
            control[word] = speaker[word]
        return status

    def _arrange(self) -> None:
        """All threads arrange what the wave found, each whole arrangements."""
        stores = self._catalog.stores
        tasks = [(relation, number) for relation in self._inside.tolist() for number in stores[relation].arrangements]
        if len(tasks) < 2:
            return
        # The longest first, so that all end together.
        tasks.sort(key=lambda task: -int(stores[task[0]].line[k.PENDING_COUNT]))
        table: Words = np.array(tasks, dtype=np.int64)
        words: Words = np.zeros(kernels.TASK + 1, dtype=np.int64)
        needs: Words = np.zeros((self._team.threads, k.CONTROL_FIELDS), dtype=np.int64)

        def part(me: int) -> int:
            scratch: Words = np.empty(k.PIECE, dtype=np.int64)
            status: int = kernels.share_arranging(words, needs[me], self._catalog.S, self._catalog.A, table, scratch)
            return status

        while True:
            full = [int(needs[me, k.NEED]) for me, status in enumerate(self._team.run(part)) if status != k.DONE]
            if not full:
                return
            for number in full:
                stores[int(self._catalog.A[number, k.RELATION])].grow_arrangement(number)
            words[:] = 0


class Nest:
    """One segment of a variant that Python runs: its own registers, iterators and buffer."""

    def __init__(self, segment: Segment, control: Words, inputs: Words) -> None:
        self._segment = segment
        self._control = control.copy()
        self._control[k.NODE], self._control[k.INPUT_COUNT], self._control[k.COMBINE] = 0, len(inputs), 0
        self._inputs = inputs
        self._registers = segment.constants.copy()
        self._iterators: Words = np.zeros((int(segment.code[k.CODE_ITERATORS]), k.ITERATOR_WORDS), dtype=np.int64)
        self._width = segment.emits + k.INSTANCE_EXTRA
        self.out: Words = np.empty(k.buffer_words(self._width), dtype=np.int64)
        self._staged: Words = np.empty(2 * k.STAGED_ROWS, dtype=np.int64)
        self._buffers: Words = np.array([self.out.ctypes.data, 0, self._staged.ctypes.data], dtype=np.int64)
        self._counts: Words = np.zeros(1, dtype=np.int64)
        self._words: Words = np.zeros(1, dtype=np.int64)

    def restart(self, line: list[int]) -> None:
        """Begins anew from one line of inputs, in the level 0."""
        self._inputs[0, :-1] = line
        self._control[k.NODE] = 0
        self._registers[:] = self._segment.constants
        self._iterators[:] = 0
        self._counts[0] = 0

    def enumerate(self, catalog: Catalog, kind: int, scratch: Words) -> int:
        """Goes on until the buffer is full or nothing is left; see `kernels.join.enumerate_instances`."""
        status: int = entry_points.enumerate_some(
            self._control,
            catalog.S,
            catalog.A,
            self._segment.code.ctypes.data,
            kind,
            self._registers,
            self._iterators,
            self._buffers,
            self._counts,
            self._words,
            self._words,
            self._inputs,
            scratch,
        )
        return status

    def looked_at(self) -> int:
        """The rows and words that were looked at since the last time."""
        looked_at = int(self._control[k.LOOKED_AT])
        self._control[k.LOOKED_AT] = 0
        return looked_at

    def take(self) -> Words:
        """What was found, which stays in the buffer until `enumerate` is called again: columns, level, hash."""
        count = int(self._counts[0])
        self._counts[0] = 0
        return self.out[: count * self._width].reshape(count, self._width)
