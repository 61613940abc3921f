"""Runs waves of a Bootstrap head by head (`kernels/row_wise`), while that is faster than instance by instance.

A Bootstrap starts as always. Once a wave has many rows, and all recursive rules fit (`row_wise_rules`), a `RowWise`
takes over between two waves: it numbers the words that occur, makes the lists, and lets the index and the arrangements
of the stratum's relations go. Each wave then has two steps: threads gather the instances of their prefixes and write
out new rows; then these are written into the stores and added to the lists. In the end the index is built in one pass.
When most work of a wave is looking for few instances (deep recursion), the usual waves continue from the same state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.execution.bytecode import Probe
from tidelog.engine.local.execution.row_domains import columns_read, domains_of
from tidelog.engine.local.execution.row_wise_arrangements import ListedRows
from tidelog.engine.local.execution.row_wise_code import head_code, head_shape, order_factors
from tidelog.engine.local.execution.row_wise_lists import Lists, number_of
from tidelog.engine.local.execution.row_wise_rules import Head, Nest, Planner, RowWisePlan
from tidelog.engine.local.execution.threads import ThreadPool, apart
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels import row_lists
from tidelog.engine.local.kernels import row_wise as kernels
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.storage.growable_array import Growing
from tidelog.plan.negation import COVERED
from tidelog.rules.ir import Rule
from tidelog.types import Type

# Wave 0 begins head by head if it reads so many rows, and is expected to have so many times as many instances.
START_ROWS, EXPECTED = 20_000, 2
FIRST_ROWS = 1_000  # a wave with fewer rows is not worth the lists
MOST_IDS = 1 << 26
# A head with more values than that is counted in a hash table, which begins with so many slots.
DENSE_VALUES, HASH_SLOTS = 1 << 22, 1 << 12
# Seconds: of an instance in a usual wave, and of a new row; for a change to usual waves, of each row, and beside that.
# Usual waves follow when as much is lost; and then only a wave with so many times as many rows goes head by head again.
USUAL, USUAL_ROW, CHANGE, MOST_LOSS = 70e-9, 150e-9, 60e-9, 0.01
AGAIN = 4
# It begins when a wave has this part of the rows that are read, or there were as many instances; and when the wave
# before had instances for this part of all rows that have to be numbered. With fewer, a recursion ends before it pays.
PART = 32
MET = 0.25
YIELD_AFTER = 200_000_000
MOST_INSTANCES = row_lists.LARGEST_PLACE - 1  # of one prefix, for counters of 32 bits
MOST_TOTAL = row_lists.LARGEST_PLACE  # of a row, for a total of 32 bits
SHARES = 64
_OUT_ROWS = 1 << 14


class _Worker:
    """One thread's memory for one head relation; counters and registers are shared by its heads."""

    def __init__(self, head: Head, share: int) -> None:
        self.words = apart(kernels.WORKER_WORDS)
        self._values = Growing(np.int32, _OUT_ROWS)
        self._counts = Growing(np.int64, _OUT_ROWS)
        self._groups = Growing(np.int64, _OUT_ROWS, width=row_lists.GROUP_WORDS)
        self.words[kernels.PREFIXES], self.words[kernels.SHARE] = head.prefixes, share
        self.words[kernels.MOST], self.words[kernels.MOST_TOTAL] = MOST_INSTANCES, MOST_TOTAL
        self.words[kernels.IS_HASHED] = int(head.values > DENSE_VALUES)
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

    def begin(self, thread: _ThreadMemory) -> None:
        """Begins a wave."""
        for word in (kernels.NEXT, kernels.LAST, kernels.IS_GATHERED, kernels.INSTANCES, kernels.VISITED):
            self.words[word] = 0
        self.words[kernels.ROWS_OUT] = self.words[kernels.GROUPS_OUT] = 0
        thread.lend(self.words)

    @property
    def rows(self) -> int:
        return int(self.words[kernels.ROWS_OUT])

    @property
    def new_rows(self) -> Words:
        """The new rows, as `row_lists` takes them."""
        fields = (kernels.OUT_GROUPS, kernels.OUT_VALUES, kernels.GROUPS_OUT, kernels.ROWS_OUT)
        return self.words[list(fields)]


class _ThreadMemory:
    """The counters, registers and stack of one thread."""

    def __init__(self, plan: RowWisePlan, scratch: int) -> None:
        values = max((head.values for head in plan.heads if head.values <= DENSE_VALUES), default=0)
        self._counters = Growing(np.int32, values + 1)
        self._wide_counters = Growing(np.int64, values + 1)
        self._touched = Growing(np.int32, max(values, HASH_SLOTS) + 2)
        self._hash_keys = Growing(np.int32, HASH_SLOTS)
        self._hash_counts = Growing(np.int64, HASH_SLOTS)
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

    def make_room(self, worker: Words) -> None:
        """Makes the hash table of counters larger, while it is empty."""
        slots = 4 * len(self._hash_keys)
        self._hash_keys, self._hash_counts = Growing(np.int32, slots), Growing(np.int64, slots)
        self._touched.make_room(slots)
        self.lend(worker)


class RowWise:
    """Waves of one Bootstrap, head by head, from the present wave on.

    `inside` are the relations of the stratum; `rules` all of its rules, or those that are recursive if wave 0 is done.
    All of them fit (`row_wise_rules.fits`).
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        inside: Sequence[str],
        numbers: Mapping[str, int],
        catalog: Catalog,
        pool: ThreadPool,
        word: Callable[[Any, Type], int],
    ) -> None:
        self._rules = rules
        self._names = inside
        self._numbers = numbers
        self._catalog = catalog
        self._pool = pool
        self._word = word
        self.threads = pool.threads
        self._inside = [numbers[name] for name in inside]
        self._lists: list[Lists] = []
        self.last_rows: dict[int, tuple[int, int]] = {}  # relation → lines of the rows of the present wave
        self._starts: dict[int, list[int]] = {}  # relation → the first line of each thread's new rows
        self._loss = 0.0
        self.plan: RowWisePlan | None = None

    # Ids and lists

    def begin(self, *, from_start: bool = False) -> bool:
        """Numbers the words, plans the rules and makes the lists; returns False, and changes nothing, if rules or words
        do not fit. `from_start`: wave 0 comes next, and is worth it only if its rules have many instances."""
        names = dict.fromkeys([*self._names, *(atom.relation for rule in self._rules for atom in rule.atoms)])
        stores = {name: self._catalog.stores[self._numbers[name]] for name in names}
        widths = {name: store.columns for name, store in stores.items()}
        if not all(widths[name] for name in self._names):
            return False
        domains = domains_of(self._rules, self._names, widths, self._word)
        read = columns_read(self._rules, self._names, widths)
        rows = {name: self._rows_of(name) for name in dict.fromkeys([*self._names, *_read_by(self._rules)])}
        ids = domains.number({(name, column): rows[name][0][:, column] for name, column in sorted(read)})
        if max(domains.sizes, default=0) > MOST_IDS:
            return False
        counts = {name: len(store) for name, store in stores.items()}
        plan = Planner(self._rules, self._names, domains, counts, self._numbers, self._word).plan()
        if plan is None or (from_start and not _is_worth_it(plan, counts, _read_by(self._rules))):
            return False
        for nest in plan.nests:
            for check in (check for literal in nest.literals for check in literal.checks):
                self._catalog.stores[check.relation].index()
        self.plan = plan
        self._domains = domains
        self._L: Words = np.zeros((len(plan.orders), k.ARRANGEMENT_FIELDS), dtype=np.int64)
        by_number = {self._numbers[name]: name for name in rows}
        naturals = {plan.natural(head) for head in plan.heads}
        for number, order in enumerate(plan.orders):
            name = by_number[order.relation]
            _, lines, is_new = rows[name]
            own = {column: ids[name, column] for column in range(widths[name]) if (name, column) in ids}
            lists = Lists(order, self._L, number, len(lines), with_lines=number in naturals)
            words = [number_of(digits, own, len(lines)) for digits in order.words or ((),)]
            lists.fill(
                number_of(order.keys, own, len(lines)), np.ascontiguousarray(np.stack(words, axis=1)), is_new, lines
            )
            self._lists.append(lists)
        for relation in self._inside:
            self._catalog.stores[relation].begin_filling()
        self._begin_threads(plan)
        return True

    def _rows_of(self, name: str) -> tuple[Words, Words, npt.NDArray[np.uint8]]:
        """Returns the rows of a relation that are there, their lines, and which of them came with the present wave."""
        store = self._catalog.stores[self._numbers[name]]
        lines = store.present_lines()
        is_new = np.zeros(int(store.line[k.USED]) + 1, dtype=np.uint8)
        if name in self._names:
            is_new[store.batch_lines()] = 1
        return store.columns_of(lines), lines, is_new[lines]

    def _begin_threads(self, plan: RowWisePlan) -> None:
        scratch = int(self._catalog.S[:, k.COLUMNS].max())
        memory = [_ThreadMemory(plan, max(scratch, k.PIECE)) for _ in range(self.threads)]
        self._memory = memory
        self._workers = [
            [_Worker(head, max(1, min(head.prefixes // (SHARES * self.threads), 256))) for _ in memory]
            for head in plan.heads
        ]
        self._words: Words = np.array([words.ctypes.data for words in self._domains.words], dtype=np.int64)
        # In wave 0, and later.
        self._nests = [[head.first for head in plan.heads], [head.nests for head in plan.heads]]
        self._codes = [[head_code(plan, nests) for nests in of_wave] for of_wave in self._nests]
        self._shapes = [head_shape(head, self._domains.sizes) for head in plan.heads]
        self._tallies = [[np.zeros(len(nests), dtype=np.int64) for nests in of_wave] for of_wave in self._nests]

    @property
    def counts(self) -> list[tuple[Rule, int]]:
        """How many instances each rule had."""
        return [
            (nest.rule, count)
            for of_wave, tallies in zip(self._nests, self._tallies)
            for nests, tally in zip(of_wave, tallies)
            for nest, count in zip(nests, tally.tolist())
        ]

    # Waves

    def run_wave(self, wave: int, look: Callable[[], None]) -> tuple[int, int]:
        """Runs one wave; returns how many instances there were, and how many rows enter with the next wave.

        `look` is called from time to time, and may raise.
        """
        assert self.plan is not None
        heads = self.plan.heads
        is_recursive = any(head.nests for head in heads)
        if wave and not is_recursive:
            self.last_rows.clear()
            return 0, 0
        for place, head in enumerate(heads):
            self._gather(place, head, min(wave, 1), look)
        rows = sum(self._write(place, head, wave) for place, head in enumerate(heads))
        if is_recursive:
            self._add_to_lists(heads)
        workers = [worker.words for of_head in self._workers for worker in of_head]
        return sum(int(words[kernels.INSTANCES]) for words in workers), rows

    def pays(self, instances: int, new_rows: int, seconds: float) -> bool:
        """True unless the last waves, and the very last one with so many instances and new rows, took so much longer
        than usual waves that a change to these, which need the index and arrangements, would have cost less."""
        # Threads do not share the time in which the system finds memory for rows.
        usual = USUAL / self.threads * instances + USUAL_ROW * new_rows
        self._loss = max(0.0, self._loss + seconds - usual)
        rows = sum(len(self._catalog.stores[relation]) for relation in self._inside)
        return self._loss < MOST_LOSS + CHANGE / self.threads * rows

    def _gather(self, place: int, head: Head, later: int, look: Callable[[], None]) -> None:
        """Gathers the instances of one head in wave 0, or in a later one."""
        assert self.plan is not None
        cursor: Words = np.zeros(1, dtype=np.int64)
        natural = self.plan.natural(head)
        workers = self._workers[place]
        store = self._catalog.stores[head.relation]
        for memory, worker in zip(self._memory, workers):
            worker.begin(memory)
            worker.words[kernels.YIELD_AT] = YIELD_AFTER
        total = self._tallies[later][place]
        tallies = [apart(2 * len(total)) for _ in workers]
        if not len(total):
            return

        def part(me: int) -> int:
            memory, worker = self._memory[me], workers[me]
            while True:
                status: int = kernels.gather_prefixes(
                    worker.words,
                    cursor,
                    self._catalog.S,
                    self._L,
                    self._codes[later][place],
                    head.relation,
                    natural,
                    memory.registers,
                    memory.word_registers,
                    memory.stack,
                    self._words,
                    memory.scratch,
                    tallies[me],
                )
                if status == kernels.OUT_FULL:
                    worker.make_room()
                elif status == kernels.COUNTERS_FULL:
                    memory.make_room(worker.words)
                else:
                    return status

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
        for tally in tallies:
            total += tally[: len(total)]

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
        words = self._words[list(head.domains)]

        def part(me: int) -> int:
            shape = self._shapes[place]
            where = workers[me].words, self._catalog.S, head.relation, starts[me]
            kernels.write_rows(*where, wave + 1, wave + 1, shape, words)
            return 0

        if rows:
            self._run(part)
            store.line[k.USED] += rows
            store.line[k.LIVE] += rows
            store.line[k.TOP] = wave + 1
        self._starts[head.relation] = starts
        return int(rows)

    def _add_to_lists(self, heads: Sequence[Head]) -> None:
        """Adds the new rows to the lists; threads take whole orders."""
        tasks = [
            (number, lists, place)
            for number, lists in enumerate(self._lists)
            if lists.order.is_inside
            for place, head in enumerate(heads)
            if head.relation == lists.order.relation
        ]

        def part(me: int) -> int:
            for number, lists, place in tasks[me :: self.threads]:
                row_lists.make_old(self._L, number)
                for start, worker in zip(self._starts[heads[place].relation], self._workers[place]):
                    self._append(number, lists, heads[place], place, worker.new_rows, start)
            return 0

        self._run(part)

    def _append(self, number: int, lists: Lists, head: Head, place: int, rows: Words, start: int) -> None:
        """Adds the new rows of one thread to lists."""
        done: Words = np.zeros(3, dtype=np.int64)
        columns = len(head.domains)
        by_value = columns == 2 and lists.order.keys == ((1 - head.prefix, 1),)
        factors = order_factors(lists.order, columns)
        ids: Words = np.zeros(columns, dtype=np.int64)
        status = -1
        while status != row_lists.ADDED:
            if status >= 0:
                lists.grow(status)
            if lists.order == head.natural:
                status = row_lists.append_by_prefix(rows, self._L, number, start, done)
            elif by_value and lists.order.words == (((head.prefix, 1),),):
                status = row_lists.append_by_value(rows, self._L, number, done)
            else:
                shape = self._shapes[place]
                status = row_lists.append_by_columns(rows, self._L, number, shape, factors, ids, done)

    def arrange(self, wanted: Sequence[Probe]) -> None:
        """Makes those of the arrangements that the lists lead to, once no wave is left: of relations of the stratum, by
        keys that are not too many."""
        assert self.plan is not None
        self._workers.clear()
        self._memory.clear()
        for place, head in enumerate(self.plan.heads if any(head.nests for head in self.plan.heads) else ()):
            number = self.plan.natural(head)
            words = [self._domains.words[domain] for domain in head.domains]
            where = self._catalog, head, self._lists[number], self._L, number
            listed = ListedRows(*where, self._shapes[place], words)
            for relation, keys in wanted:
                if relation == head.relation and isinstance(keys, tuple):
                    listed.arrange(keys, self.threads, self._run)

    def end(self) -> None:
        """Gives the stores back: with an index, and the rows of the present wave as their batch."""
        # The index takes the memory of the lists.
        self._lists.clear()
        self._workers.clear()
        self._memory.clear()
        for relation in self._inside:
            first, last = self.last_rows.get(relation, (0, 0))
            self._catalog.stores[relation].end_filling(np.arange(first, last, dtype=np.int32))


def _read_by(rules: Sequence[Rule]) -> list[str]:
    """Returns the relations of positive literals."""
    return [atom.relation for rule in rules for atom in rule.positives]


def _is_worth_it(plan: RowWisePlan, counts: Mapping[str, int], read: Sequence[str]) -> bool:
    """True if the rules of wave 0 have many more instances than there are rows to number and to put into lists.

    A rule that closes a cycle looks for the last row of each cycle, and one with a negated literal that most values
    have looks at those in vain: a leapfrog join does neither. One with several bounds is left to zones.
    """
    first = [nest for head in plan.heads for nest in head.first]
    if sum(nest.expected for nest in first) < EXPECTED * sum(counts[name] for name in read):
        return False
    return not any(nest.closes_cycle or nest.is_bounded or _is_covered(nest, counts) for nest in first)


def _is_covered(nest: Nest, counts: Mapping[str, int]) -> bool:
    """True if a negated literal may have the rows of most instances (`plan.negation`)."""
    return any(counts[atom.relation] >= COVERED * nest.expected for atom in nest.rule.negatives)
