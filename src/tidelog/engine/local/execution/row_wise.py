"""Runs waves of a Bootstrap head by head (`kernels/row_wise`), while that is faster than instance by instance.

A Bootstrap starts as always. Once a wave has many rows, and all recursive rules fit (`row_wise_rules`), a `RowWise`
takes over between two waves: it numbers the words that occur, makes the lists, and lets the index and the arrangements
of the stratum's relations go. Each wave then has two steps: threads gather the instances of their prefixes and write
out new rows; then these are written into the stores and added to the lists. In the end the index is built in one pass.
When most work of a wave is looking for few instances (deep recursion), the next waves begin with their new rows
(`row_jobs`), which takes other lists; and if that is not enough, the usual waves continue from the same state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.diagnostics.errors import InternalError
from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.execution.bytecode import Probe
from tidelog.engine.local.execution.row_domains import columns_read, domains_of
from tidelog.engine.local.execution.row_jobs import Deltas, JobLists
from tidelog.engine.local.execution.row_made_words import Finders, MadeWords
from tidelog.engine.local.execution.row_wise_arrangements import ListedRows
from tidelog.engine.local.execution.row_wise_code import head_code, head_shape, order_factors
from tidelog.engine.local.execution.row_wise_deltas import DeltaPlanner, RowCounts
from tidelog.engine.local.execution.row_wise_lists import Lists
from tidelog.engine.local.execution.row_wise_plan import NO_PREFIX, Head, Nest, RowWisePlan
from tidelog.engine.local.execution.row_wise_rules import Planner, fit_together
from tidelog.engine.local.execution.row_wise_workers import ThreadMemory, Worker
from tidelog.engine.local.execution.threads import ThreadPool, apart
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels import row_jobs, row_lists
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
# Processor seconds, which are the cost on a busy machine too: of an instance in a usual wave, and of a new row;
# for a change to usual waves, of each row, and beside that. Usual waves follow when as much is lost; and then only a
# wave with so many times as many rows goes head by head again. A wave that begins with its new rows costs what these
# lead to; only small ones are slow, so they may take longer: where others use the caches, all waves are slow.
USUAL, USUAL_ROW, CHANGE, MOST_LOSS = 70e-9, 150e-9, 60e-9, 0.03
SHARED = 0.3  # threads to the power of that: how much more an instance costs when they share a wave
WITH_DELTAS = 4.0
AGAIN = 4
# Seconds of an instance in a wave that is worth going through all prefixes. Once as much is lost as new lists cost, for
# each row, and beside that, waves begin with their new rows.
SWEPT, LISTED, MOST_WASTE = 15e-9, 60e-9, 0.003
# It begins when a wave has this part of the rows that are read, or there were as many instances, or are expected in the
# next wave: the last one's, times how its rows have grown, but not more than so many times. And when the next wave is
# expected to have instances for this part of all rows that have to be numbered, or all waves behind wave 0 had them for
# so many times these, and the last ones so many each. With fewer, a recursion ends before it pays. If a wave has this
# part of all rows, it begins with new rows.
PART, MOST_GROWTH = 32, 32.0
MET, MET_BEFORE, BUSY, BUSY_STRAIGHT = 0.25, 1.0, 20_000, 3_000
SPARSE = 16
YIELD_AFTER = 200_000_000
# Where rows are is noted for each prefix and value, at most so many or twice as many as there are rows, once so many
# times as many rows were looked at in vain as there are rows, or a part of the places.
MOST_PLACES, PLACES_A_SCAN = 1 << 24, 8
SHARES = 64


class RowWise:
    """Waves of one Bootstrap, head by head, from the present wave on.

    `inside` are the relations of the stratum; `rules` all of its rules, or those that are recursive if wave 0 is done.
    All of them fit (`row_wise_rules.fits`). `look` may raise, before anything is changed.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        inside: Sequence[str],
        numbers: Mapping[str, int],
        catalog: Catalog,
        pool: ThreadPool,
        word: Callable[[Any, Type], int],
        look: Callable[[], None],
    ) -> None:
        self._rules = rules
        self._look = look
        self._names = inside
        self._numbers = numbers
        self._catalog = catalog
        self._pool = pool
        self._word = word
        self.threads = pool.threads
        self._inside = [numbers[name] for name in inside]
        self._lists: dict[int, Lists] = {}
        self.last_rows: dict[int, tuple[int, int]] = {}  # relation → lines of the rows of the present wave
        self._starts: dict[int, list[int]] = {}  # relation → the first line of each thread's new rows
        self._loss = self._waste = 0.0
        self._once = 0.0  # seconds of the present wave for what later waves need not do again
        self._has_begun = True  # since the last wave: memory and code are new
        self._counted: list[tuple[Rule, int]] = []
        self._deltas: Deltas | None = None
        self._places: dict[int, Growing[np.int32]] = {}  # by the place of a head
        self._may_begin_with_new = True
        self._made: dict[int, Words] | None = None  # the words that the rules may make, by domain
        self.plan: RowWisePlan | None = None

    # Ids and lists

    def begin(self, *, from_start: bool = False, with_deltas: bool = False) -> bool:
        """Numbers the words, plans the rules and makes the lists; returns False, and changes nothing, if rules or words
        do not fit. `from_start`: wave 0 comes next, and is worth it only if its rules have many instances.
        `with_deltas`: waves begin with their new rows, where rules can."""
        is_first = self.plan is None
        names = dict.fromkeys([*self._names, *(atom.relation for rule in self._rules for atom in rule.atoms)])
        stores = {name: self._catalog.stores[self._numbers[name]] for name in names}
        widths = {name: store.columns for name, store in stores.items()}
        if not all(widths[name] for name in self._names):
            return False
        if not fit_together(self._rules):
            return False
        domains = domains_of(self._rules, self._names, widths, self._word)
        counts = {name: len(store) for name, store in stores.items()}
        listed = _listed_negatives(self._rules, counts)
        read = columns_read(self._rules, self._names, widths)
        read |= {(name, column) for name in listed for column in range(widths[name])}
        rows = {name: self._rows_of(name) for name in dict.fromkeys([*self._names, *_read_by(self._rules), *listed])}
        columns = {(name, column): self._words_of(name, column, rows[name][0]) for name, column in sorted(read)}
        if self._made is None:
            given = self._rules, self._names, domains, columns, self._catalog.S, self._word
            self._made = MadeWords(*given, self._look).find()
            if self._made is None:
                return False
        ids = domains.number(columns, self._made)
        del columns
        if max(domains.sizes, default=0) > MOST_IDS:
            return False
        planner = Planner(self._rules, self._names, domains, counts, self._numbers, self._word, listed.keys())
        sizes = {(name, column): planner.column(name, column)[1] for name, column in read}
        plan = planner.plan(DeltaPlanner(planner, RowCounts(ids, sizes)) if with_deltas else None)
        if plan is None or (from_start and not _is_worth_it(plan, counts, _read_by(self._rules))):
            return False
        for nest in plan.nests:
            for check in (check for literal in nest.literals for check in literal.checks):
                self._catalog.stores[check.relation].index()
        self.plan = plan
        self._domains = domains
        self._finders = Finders(domains.words, set(domains.assigned.values()))
        self._L: Words = np.zeros((len(plan.orders), k.ARRANGEMENT_FIELDS), dtype=np.int64)
        by_number = {self._numbers[name]: name for name in rows}
        naturals = {plan.natural(head) for head in plan.heads}
        for number, order in enumerate(plan.orders):
            if order.relation < 0:
                continue
            name = by_number[order.relation]
            lines, is_new = rows[name]
            own = {column: ids[name, column] for column in range(widths[name]) if (name, column) in ids}
            lists = Lists(order, self._L, number, len(lines), with_lines=number in naturals)
            lists.fill(own, len(lines), is_new, lines)
            self._lists[number] = lists
        if is_first:
            for relation in self._inside:
                self._catalog.stores[relation].begin_filling()
        self._begin_threads(plan)
        if with_deltas:
            numbered = {(self._numbers[name], column): size for (name, column), size in sizes.items()}
            self._deltas = Deltas(plan, self._L, numbered, self.threads)
            new = {name: is_new != 0 for name, (_, is_new) in rows.items()}
            self._deltas.begin(lambda relation, column: ids[by_number[relation], column][new[by_number[relation]]])
        return True

    def _begin_again(self, *, with_deltas: bool) -> None:
        """Makes other lists, between two waves."""
        self._counted = self.counts
        self._has_begun = True
        self._waste = self._loss = 0.0
        self._lists.clear()
        self._memory.clear()
        self._places.clear()
        self._deltas = None
        fits = self.begin(with_deltas=with_deltas)
        assert fits

    def _words_of(self, name: str, column: int, lines: Words) -> Words:
        """Returns the words in one column of some rows. Not to be held: see `Store.rows`."""
        words = self._catalog.stores[self._numbers[name]].rows[:, column]
        return words[: len(lines)] if _are_first(lines) else words[lines]

    def _rows_of(self, name: str) -> tuple[Words, npt.NDArray[np.uint8]]:
        """Returns the lines of the rows of a relation that are there, and which of them came with the present wave."""
        store = self._catalog.stores[self._numbers[name]]
        lines = store.present_lines()
        is_new = np.zeros(int(store.line[k.USED]) + 1, dtype=np.uint8)
        if name in self._names and self.plan is not None:
            is_new[slice(*self.last_rows.get(store.relation, (0, 0)))] = 1
        elif name in self._names:
            is_new[store.batch_lines()] = 1
        return lines, is_new[: len(lines)] if _are_first(lines) else is_new[lines]

    def _begin_threads(self, plan: RowWisePlan) -> None:
        scratch = int(self._catalog.S[:, k.COLUMNS].max())
        memory = [ThreadMemory(plan, max(scratch, k.PIECE)) for _ in range(self.threads)]
        self._memory = memory
        self._workers = [
            [Worker(head, max(1, min(head.prefixes // (SHARES * self.threads), 256))) for _ in memory]
            for head in plan.heads
        ]
        self._words = self._finders.words
        # In wave 0, and later.
        self._nests = [[list(head.first) for head in plan.heads], [head.later for head in plan.heads]]
        self._codes = [[head_code(plan, nests) for nests in of_wave] for of_wave in self._nests]
        self._shapes = [head_shape(head, self._domains.sizes) for head in plan.heads]
        self._tallies = [[np.zeros(len(nests), dtype=np.int64) for nests in of_wave] for of_wave in self._nests]

    @property
    def counts(self) -> list[tuple[Rule, int]]:
        """How many instances each rule had."""
        return [
            *self._counted,
            *(
                (nest.rule, count)
                for of_wave, tallies in zip(self._nests, self._tallies)
                for nests, tally in zip(of_wave, tallies)
                for nest, count in zip(nests, tally.tolist())
            ),
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
        began = self._pool.processor_seconds
        if wave and self._deltas is not None and not self._make_jobs(self._deltas, look):
            self._may_begin_with_new = False
            self._begin_again(with_deltas=False)
            return self.run_wave(wave, look)
        for place, head in enumerate(heads):
            self._gather(place, head, min(wave, 1), look)
        if self._finders.have_missed():
            raise InternalError("a rule made a word that was not expected; the last commit is intact", code="E901")
        seconds = self._pool.processor_seconds - began
        rows = sum(self._write(place, head, wave) for place, head in enumerate(heads))
        if is_recursive:
            self._add_to_lists(heads)
            for place, head in enumerate(heads):
                self._note_places(place, head)
        workers = [worker.words for of_head in self._workers for worker in of_head]
        instances = sum(int(words[kernels.INSTANCES]) for words in workers)
        if self._deltas is not None:
            for jobs in self._deltas.lists.values():
                jobs.clear()
            for place, head in enumerate(heads):
                new = [worker.new_rows for worker in self._workers[place]]
                self._deltas.note(head.relation, new, self._shapes[place])
        elif wave and rows and self._may_begin_with_new and self._is_wasteful(instances, seconds):
            self._begin_again(with_deltas=True)
        return instances, rows

    def _is_wasteful(self, instances: int, seconds: float) -> bool:
        """True if the last waves spent more time on prefixes without instances than new lists cost."""
        self._waste = max(0.0, self._waste + seconds - SWEPT * instances)
        read = dict.fromkeys([*self._names, *_read_by(self._rules)])
        rows = sum(len(self._catalog.stores[self._numbers[name]]) for name in read)
        return self._waste > MOST_WASTE + LISTED * rows

    def _make_jobs(self, deltas: Deltas, look: Callable[[], None]) -> bool:
        """Makes the jobs of a wave; returns False if there are too many."""
        for jobs in deltas.lists.values():
            self._emit(deltas, jobs, look)
            if jobs.are_too_many:
                return False
        tasks = list(deltas.lists.values())

        def part(me: int) -> int:
            for jobs in tasks[me :: self.threads]:
                jobs.fill()
            return 0

        self._run(part)
        return True

    def _emit(self, deltas: Deltas, jobs: JobLists, look: Callable[[], None]) -> None:
        """Writes down the jobs of one delta nest."""
        cursor: Words = np.zeros(1, dtype=np.int64)
        new = deltas.new_ids[jobs.drivers]
        for me, memory in enumerate(self._memory):
            jobs.begin(me, new.count, memory.lend)
            jobs.workers[me][kernels.YIELD_AT] = YIELD_AFTER

        def part(me: int) -> int:
            memory, words = self._memory[me], jobs.workers[me]
            while True:
                status: int = row_jobs.emit_jobs(
                    words,
                    cursor,
                    new.ids,
                    new.count,
                    self._catalog.S,
                    self._L,
                    jobs.code,
                    memory.registers,
                    memory.word_registers,
                    memory.stack,
                    self._words,
                    memory.scratch,
                )
                if status != kernels.OUT_FULL:
                    return status
                jobs.make_room(me)

        while any(status != kernels.GATHERED for status in self._run(part)):
            look()
            for words in jobs.workers:
                words[kernels.YIELD_AT] = words[kernels.INSTANCES] + words[kernels.VISITED] + YIELD_AFTER

    def pays(self, instances: int, new_rows: int, seconds: float) -> bool:
        """True unless the last waves, and the very last one with so many instances and new rows, took so much longer
        than usual waves that a change to these, which need the index and arrangements, would have cost less. Before
        that, waves that went through all prefixes begin with their new rows instead."""
        usual = USUAL * self.threads**SHARED * instances + USUAL_ROW * new_rows
        if self._deltas is not None:
            usual *= WITH_DELTAS
        self._loss = max(0.0, self._loss + seconds - self._once - usual)
        self._once = 0.0
        if self._has_begun:
            self._has_begun = False
            self._loss = 0.0
        rows = sum(len(self._catalog.stores[relation]) for relation in self._inside)
        assert self.plan is not None
        if not any(head.nests for head in self.plan.heads):
            return True  # no wave is left
        if self._loss < MOST_LOSS + CHANGE * rows:
            return True
        if self._deltas is not None or not self._may_begin_with_new:
            return False
        if new_rows:
            self._begin_again(with_deltas=True)
            self._has_begun = False
        return True

    def _gather(self, place: int, head: Head, later: int, look: Callable[[], None]) -> None:
        """Gathers the instances of one head in wave 0, or in a later one."""
        assert self.plan is not None
        cursor: Words = np.zeros(1, dtype=np.int64)
        natural = self.plan.natural(head)
        workers = self._workers[place]
        store = self._catalog.stores[head.relation]
        active = self._deltas.active(place, head) if self._deltas is not None and later else None
        for memory, worker in zip(self._memory, workers):
            worker.begin(memory)
            worker.words[kernels.YIELD_AT] = YIELD_AFTER
            worker.go_through(active, head, self.threads)
        total = self._tallies[later][place]
        tallies = [apart(3 * len(total)) for _ in workers]
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
        store.make_line_room(rows, largest, wave + 1)
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

    def _note_places(self, place: int, head: Head) -> None:
        """Notes where the rows of a head are, by prefix and value, once waves have looked at many more rows than had
        instances: so waves of a deep recursion cost what they meet, not what is there."""
        cells, rows = head.prefixes * head.values, len(self._catalog.stores[head.relation])
        scanned = sum(int(worker.words[kernels.SCANNED]) for worker in self._workers[place])
        if (
            place in self._places
            or scanned < cells // PLACES_A_SCAN + rows
            or cells > max(MOST_PLACES, 2 * rows)
            or self._workers[place][0].words[kernels.IS_HASHED]
        ):
            return
        assert self.plan is not None
        began = self._pool.processor_seconds
        places = self._places[place] = Growing(np.int32, cells)
        for worker in self._workers[place]:
            worker.words[kernels.PLACES], worker.words[kernels.PLACE_VALUES] = places.address, head.values
        kernels.note_places(self._L, self.plan.natural(head), head.prefixes, places.address, head.values)
        self._once += self._pool.processor_seconds - began

    def _add_to_lists(self, heads: Sequence[Head]) -> None:
        """Adds the new rows to the lists; threads take whole orders."""
        tasks = [
            (number, lists, place)
            for number, lists in self._lists.items()
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
        self._places.clear()
        self._deltas = None
        naturals = {self.plan.natural(head) for head in self.plan.heads}
        self._lists = {number: lists for number, lists in self._lists.items() if number in naturals}
        for place, head in enumerate(self.plan.heads if any(head.nests for head in self.plan.heads) else ()):
            if head.prefix == NO_PREFIX:
                continue
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
        self._places.clear()
        self._deltas = None
        is_last = all(first == last for first, last in self.last_rows.values())
        for relation in self._inside:
            batch = np.arange(*self.last_rows.get(relation, (0, 0)), dtype=np.int32)
            self._catalog.stores[relation].end_filling(batch, is_last=is_last)


def _are_first(lines: Words) -> bool:
    """True if these lines, in their order, are all up to the last one."""
    return len(lines) > 0 and bool(lines[-1] == len(lines) - 1)


def _read_by(rules: Sequence[Rule]) -> list[str]:
    """Returns the relations of positive literals."""
    return [atom.relation for rule in rules for atom in rule.positives]


def _listed_negatives(rules: Sequence[Rule], counts: Mapping[str, int]) -> dict[str, None]:
    """Returns the relations of negated literals that do not have more rows than those of positive ones: it costs less
    to number their rows, too, and to put them into lists, than to look for a row for each instance."""
    most = sum(counts[name] for name in dict.fromkeys(_read_by(rules)))
    return dict.fromkeys(atom.relation for rule in rules for atom in rule.negatives if counts[atom.relation] <= most)


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
