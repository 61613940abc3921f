"""Runs waves of a Bootstrap head by head (`kernels/row_wise`), while that is faster than instance by instance.

A Bootstrap starts as always. Once a wave has many rows, and all recursive rules fit (`row_wise_rules`), a `RowWise`
takes over between two waves: it numbers the words that occur, makes the lists, and lets the index and the arrangements
of the stratum's relations go. Each wave then has two steps: threads gather the instances of their prefixes and write
out new rows; then these are written into the stores and added to the lists. In the end the index is built in one pass.
When most work of a wave is looking for few instances (deep recursion), the usual waves continue from the same state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.execution.row_wise_rules import Head, Order, RowWisePlan
from tidelog.engine.local.execution.threads import ThreadPool, apart
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels import row_wise as kernels
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.storage.growable_array import Growing

FIRST_ROWS = 2_000  # a wave with fewer rows is not worth the lists
MOST_IDS = 1 << 26
# Words up to so many times the number of words are their own ids.
SPARSE = 8
# A list that is opened costs about as much as so many instances; a usual wave takes so many times as long for each.
OPENING, USUAL = 3, 15
YIELD_AFTER = 200_000_000
MOST_INSTANCES = kernels.LARGEST_PLACE - 1  # of one prefix, for counters of 32 bits
MOST_TOTAL = kernels.LARGEST_PLACE  # of a row, for a total of 32 bits
SHARES = 64
_OUT_ROWS = 1 << 14
_NO_WORDS: Words = np.empty(0, dtype=np.int64)


class _Lists:
    """The memory of one order: a record for each id, and the ids of all lists."""

    def __init__(self, order: Order, keys: int, *, with_lines: bool) -> None:
        self.order = order
        self.keys = keys
        self.records: npt.NDArray[np.int32] = np.zeros((keys, kernels.RECORD_PLACES), dtype=np.int32)
        self.stride = max(len(order.values), 1)
        self.pool = Growing(np.int32)
        self.lines = Growing(np.int32) if with_lines else None

    def fill(
        self, table: Words, number: int, keys: Words, values: Words, is_new: npt.NDArray[np.uint8], lines: Words
    ) -> None:
        """Makes the lists of some rows: the ids of their keys and other columns, and the rows' lines."""
        lengths = np.bincount(keys, minlength=self.keys)
        ends = k.POOL_LISTS + np.cumsum(lengths)
        self.records[:, kernels.RECORD_START] = ends - lengths
        self.records[:, kernels.RECORD_ROOM] = lengths
        room = int(ends[-1]) if len(ends) else k.POOL_LISTS
        self._make_room(table[number], room * self.stride if not self.order.is_inside else room + room // 4)
        line = table[number]
        line[kernels.LIST_RECORDS], line[kernels.LIST_STRIDE] = self.records.ctypes.data, self.stride
        line[k.POOL_USED] = room
        kernels.fill_lists(table, number, keys, values, is_new, lines)

    def grow(self, line: Words) -> None:
        """Makes room for longer lists."""
        self._make_room(line, 2 * len(self.pool))

    def _make_room(self, line: Words, places: int) -> None:
        self.pool.make_room(places)
        line[k.POOL], line[k.POOL_CAPACITY] = self.pool.address, len(self.pool)
        if self.lines is not None:
            self.lines.make_room(len(self.pool))
            line[kernels.LIST_LINES] = self.lines.address


class _Worker:
    """One thread's memory for one head relation; counters and registers are shared by its heads."""

    def __init__(self, thread: _ThreadMemory, prefixes: int, share: int) -> None:
        self.words = apart(kernels.WORKER_WORDS)
        self._values = Growing(np.int32, _OUT_ROWS)
        self._counts = Growing(np.int64, _OUT_ROWS)
        self._groups = Growing(np.int64, _OUT_ROWS, width=kernels.GROUP_WORDS)
        self.words[kernels.COUNTERS] = thread.counters.address
        self.words[kernels.WIDE_COUNTERS] = thread.wide_counters.address
        self.words[kernels.TOUCHED] = thread.touched.address
        self.words[kernels.PREFIXES], self.words[kernels.SHARE] = prefixes, share
        self.words[kernels.MOST], self.words[kernels.MOST_TOTAL] = MOST_INSTANCES, MOST_TOTAL
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

    def begin(self) -> None:
        """Begins a wave."""
        for word in (kernels.NEXT, kernels.LAST, kernels.IS_GATHERED, kernels.INSTANCES, kernels.VISITED):
            self.words[word] = 0
        self.words[kernels.ROWS_OUT] = self.words[kernels.GROUPS_OUT] = 0

    @property
    def rows(self) -> int:
        return int(self.words[kernels.ROWS_OUT])


class _ThreadMemory:
    """The counters, registers and stack of one thread."""

    def __init__(self, ids: int, registers: int, literals: int, scratch: int) -> None:
        self.counters = Growing(np.int32, ids + 1)
        self.wide_counters = Growing(np.int64, ids + 1)
        self.touched = Growing(np.int32, ids + 2)
        self.registers = apart(registers + 1)
        self.stack = apart(literals + 1, kernels.STACK_WIDTH)
        self.scratch = apart(scratch + 1)


class RowWise:
    """Waves of one Bootstrap, head by head, from the present wave on. `tallies` are instances by head and rule."""

    def __init__(self, plan: RowWisePlan, catalog: Catalog, pool: ThreadPool, inside: Sequence[int]) -> None:
        self.plan = plan
        self._catalog = catalog
        self._pool = pool
        self._inside = inside
        self.threads = pool.threads
        self._lists: list[_Lists] = []
        self._L: Words = np.zeros((len(plan.orders), k.ARRANGEMENT_FIELDS), dtype=np.int64)
        self.tallies: list[Words] = [np.zeros(len(head.nests), dtype=np.int64) for head in plan.heads]
        self._starts: dict[int, list[int]] = {}  # relation → the first line of each thread's new rows
        self.last_rows: dict[int, tuple[int, int]] = {}  # relation → lines of the rows of the present wave

    # Ids and lists

    def begin(self) -> bool:
        """Numbers the words and makes the lists; returns False, and changes nothing, if there are too many words."""
        rows = {order.relation: self._rows_of(order.relation) for order in self.plan.orders}
        columns = {
            (order.relation, column): rows[order.relation][0][:, column]
            for order in self.plan.orders
            for column in (order.key, *order.values)
        }
        constants: Words = np.array(self.plan.constants, dtype=np.int64)
        ids, self._words = _number([*columns.values(), constants])
        if len(self._words) > MOST_IDS:
            return False
        by_column = dict(zip(columns, ids))
        count = max(len(self._words), 1)
        for number, order in enumerate(self.plan.orders):
            _, lines, is_new = rows[order.relation]
            naturals = [self.plan.natural(head) for head in self.plan.heads]
            lists = _Lists(order, count, with_lines=number in naturals)
            values = [by_column[order.relation, column] for column in order.values] or [np.zeros(len(lines), np.int64)]
            lists.fill(
                self._L,
                number,
                np.ascontiguousarray(by_column[order.relation, order.key]),
                np.ascontiguousarray(np.stack(values, axis=1)),
                is_new,
                lines,
            )
            self._lists.append(lists)
        for relation in self._inside:
            self._catalog.stores[relation].begin_filling()
        self._begin_threads(ids[-1], count)
        return True

    def _rows_of(self, relation: int) -> tuple[Words, Words, npt.NDArray[np.uint8]]:
        """Returns the rows of a relation that are there, their lines, and which of them came with the present wave."""
        store = self._catalog.stores[relation]
        lines = store.present_lines()
        is_new = np.zeros(int(store.line[k.USED]) + 1, dtype=np.uint8)
        if relation in self._inside:
            is_new[store.batch_lines()] = 1
        return store.columns_of(lines), lines, is_new[lines]

    def _begin_threads(self, constants: Words, ids: int) -> None:
        literals = max(len(nest.literals) for head in self.plan.heads for nest in head.nests)
        scratch = int(self._catalog.S[:, k.COLUMNS].max())
        memory = [_ThreadMemory(ids, self.plan.registers, literals, scratch) for _ in range(self.threads)]
        for each in memory:
            each.registers[self.plan.registers - len(constants) : self.plan.registers] = constants
        self._memory = memory
        share = max(1, min(ids // (SHARES * self.threads), 256))
        self._workers = [[_Worker(each, ids, share) for each in memory] for _ in self.plan.heads]
        self._codes = [self.plan.code(head, constants) for head in self.plan.heads]
        self._thread_tallies = [[apart(2 * len(tally)) for _ in memory] for tally in self.tallies]

    # Waves

    def run_wave(self, wave: int, look: Callable[[], None]) -> tuple[int, int]:
        """Runs one wave; returns how many instances there were, and how many rows enter with the next wave.

        `look` is called from time to time, and may raise.
        """
        for place, head in enumerate(self.plan.heads):
            self._gather(place, head, look)
        rows = sum(self._write(place, head, wave) for place, head in enumerate(self.plan.heads))
        self._add_to_lists()
        workers = [worker.words for of_head in self._workers for worker in of_head]
        self._visited = sum(int(words[kernels.VISITED]) for words in workers)
        return sum(int(words[kernels.INSTANCES]) for words in workers), rows

    def pays(self, instances: int, rows: int) -> bool:
        """True if the last wave, with so many instances, was faster than a usual wave, and the next one, with so many
        new rows, is not small."""
        return rows >= FIRST_ROWS and OPENING * self._visited < USUAL * instances

    def _gather(self, place: int, head: Head, look: Callable[[], None]) -> None:
        cursor: Words = np.zeros(1, dtype=np.int64)
        natural = self.plan.natural(head)
        workers = self._workers[place]
        store = self._catalog.stores[head.relation]
        for worker in workers:
            worker.begin()
            worker.words[kernels.YIELD_AT] = YIELD_AFTER

        def part(me: int) -> int:
            memory, worker = self._memory[me], workers[me]
            while True:
                status: int = kernels.gather_prefixes(
                    worker.words,
                    cursor,
                    self._catalog.S,
                    self._L,
                    self._codes[place],
                    head.relation,
                    natural,
                    memory.registers,
                    memory.stack,
                    self._words,
                    memory.scratch,
                    self._thread_tallies[place][me],
                )
                if status != kernels.OUT_FULL:
                    return status
                worker.make_room()

        while True:
            found = self._run(part)
            look()
            if all(status == kernels.GATHERED for status in found):
                break
            if kernels.TOO_LARGE in found:
                store.widen()
            for worker in workers:
                done = int(worker.words[kernels.INSTANCES] + worker.words[kernels.VISITED])
                worker.words[kernels.YIELD_AT] = done + YIELD_AFTER
        for tally in self._thread_tallies[place]:
            self.tallies[place] += tally[: len(self.tallies[place])]
            tally[:] = 0

    def _run(self, part: Callable[[int], int]) -> list[int]:
        return self._pool.run(part) if self.threads > 1 else [part(0)]

    def _write(self, place: int, head: Head, wave: int) -> int:
        """Writes the new rows of a head into its store; returns how many there are."""
        store = self._catalog.stores[head.relation]
        workers = self._workers[place]
        starts = np.cumsum([int(store.line[k.USED]), *(worker.rows for worker in workers)]).tolist()
        rows = starts[-1] - starts[0]
        self.last_rows[head.relation] = (starts[0], starts[-1])
        largest = max(int(worker.words[kernels.LARGEST]) for worker in workers)
        store.make_line_room(rows, largest)

        def part(me: int) -> int:
            kernels.write_rows(
                workers[me].words,
                self._catalog.S,
                head.relation,
                starts[me],
                head.prefix,
                wave + 1,
                wave + 1,
                self._words,
            )
            return 0

        if rows:
            self._run(part)
            store.line[k.USED] += rows
            store.line[k.LIVE] += rows
            store.line[k.TOP] = wave + 1
        self._starts[head.relation] = starts
        return int(rows)

    def _add_to_lists(self) -> None:
        """Adds the new rows to the lists; threads take whole orders."""
        tasks = [
            (number, lists, head, place)
            for number, lists in enumerate(self._lists)
            if lists.order.is_inside
            for place, head in enumerate(self.plan.heads)
            if head.relation == lists.order.relation
        ]

        def part(me: int) -> int:
            for number, lists, head, place in tasks[me :: self.threads]:
                kernels.make_old(self._L, number, lists.keys)
                by_prefix = lists.order.key == head.prefix
                for start, worker in zip(self._starts[head.relation], self._workers[place]):
                    done: Words = np.zeros(3, dtype=np.int64)
                    while True:
                        if by_prefix:
                            is_full = kernels.append_by_prefix(worker.words, self._L, number, start, done)
                        else:
                            is_full = kernels.append_by_value(worker.words, self._L, number, done)
                        if not is_full:
                            break
                        lists.grow(self._L[number])
            return 0

        self._run(part)

    def end(self) -> None:
        """Gives the stores back: with an index, and the rows of the present wave as their batch."""
        for relation in self._inside:
            first, last = self.last_rows.get(relation, (0, 0))
            self._catalog.stores[relation].end_filling(np.arange(first, last, dtype=np.int32))


def _number(columns: list[Words]) -> tuple[list[Words], Words]:
    """Numbers the words of columns; returns the ids of each column, and the word of each id."""
    sizes = [len(column) for column in columns]
    given: Words = np.concatenate([np.ascontiguousarray(column) for column in columns]) if columns else _NO_WORDS
    if len(given) and given.min() >= 0 and given.max() < SPARSE * len(given):
        words: Words = np.arange(int(given.max()) + 1, dtype=np.int64)
    else:
        table: Words = np.zeros(1 << (2 * len(given) + 16).bit_length(), dtype=np.int64)
        words = np.empty(len(given) + 1, dtype=np.int64)
        known = int(kernels.number_words(given, len(given), table, words, 0))
        words = words[:known].copy()
    return np.split(given, np.cumsum(sizes)[:-1]), words
