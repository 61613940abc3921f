"""Rules with a cyclic body, joined by lists of ids in a Bootstrap, where that is cheaper than a leapfrog join.

A leapfrog join never looks at more than it must, whatever the skew, but each step of it costs as much as many rows of a
list. So the rule becomes a nest of lists (`row_wise_plan`), in the cheapest order by measured list lengths, from the
ids of one variable on. A literal whose columns are all known is looked up, or, once in a nest, looked for by marks: all
words of the list of a key are marked, and the key changes seldom.

    Triangle(a, b, c) :- Edge(a, b), Edge(b, c), Edge(a, c).
    from each a: mark Edge by a ─ Edge by a: b ─ Edge by b: c ─ is c marked?
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tidelog.check import typed
from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.execution.row_domains import Column, columns_read, domains_of
from tidelog.engine.local.execution.row_jobs import share_of
from tidelog.engine.local.execution.row_wise_code import head_code
from tidelog.engine.local.execution.row_wise_deltas import RowCounts
from tidelog.engine.local.execution.row_wise_lists import Lists
from tidelog.engine.local.execution.row_wise_plan import Nest, RowWisePlan
from tidelog.engine.local.execution.row_wise_rules import MOST_MARKS, NestMaker, Planner, fits
from tidelog.engine.local.execution.threads import ThreadPool, apart
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels import row_jobs
from tidelog.engine.local.kernels import row_wise as kernels
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.storage.growable_array import Growing
from tidelog.plan.variant import DeltaKind, Leap, Variant
from tidelog.rules.ir import Assign, Condition, Constant, Rule, Term, Variable
from tidelog.types import Type

# What it costs to open a list, to go on from an entry, to mark one, to look for a mark, to look a row up in the index;
# and a value of a leapfrog join.
OPEN, ENTRY, MARKING, MARK, LOOK_UP, LEAPT = 8.0, 8.0, 2.0, 2.0, 40.0, 40.0
HALF = 0.5  # of the rows pass a comparison
LEAST_ROWS = 5_000  # fewer are not worth the ids
FEW_LITERALS, FEW_BRANCHES = 5, 2  # of more literals, so many are tried at each place
MOST_IDS = 1 << 26
_BUFFER_WORDS, _YIELD_AFTER = 1 << 16, 200_000_000
_Bound = Mapping[str, tuple[Column | None, float]]  # variable → the column that bound it, how often it changes


@dataclass(frozen=True, slots=True)
class _Order:
    """The literals in their order, from a variable in a column of one of them on; `marked`: by which column."""

    begin: tuple[str, int, int]  # variable, place of the literal, column
    places: tuple[int, ...]
    marked: tuple[tuple[int, int], ...]
    cost: float
    leapt: float  # what a leapfrog join would cost


def may_list(variant: Variant) -> bool:
    """True if a variant is a whole rule, joined by leapfrog because of the shape of its body, that can be a nest.

    A join that skips what a negated literal covers stays as it is: a list would look at every value.
    """
    rule = variant.rule
    return (
        variant.delta.kind is DeltaKind.RULE
        and any(isinstance(step, Leap) for step in variant.steps)
        and not any(isinstance(step, Leap) and step.without for step in variant.steps)
        and fits(rule)
        and not any(isinstance(each, Assign) for each in rule.body)
        and any(isinstance(term, Variable) for term in rule.head.terms)
    )


class ListJoin:
    """One rule whose body has no relation of its own stratum."""

    def __init__(
        self,
        rule: Rule,
        numbers: Mapping[str, int],
        catalog: Catalog,
        pool: ThreadPool,
        word: Callable[[Any, Type], int],
    ) -> None:
        self.rule = rule
        self._numbers = numbers
        self._catalog = catalog
        self._pool = pool
        self._word = word

    def begin(self) -> bool:
        """Numbers the words, plans the rule and makes the lists; returns False if a leapfrog join is better."""
        rule, rules = self.rule, [self.rule]
        names = dict.fromkeys(atom.relation for atom in rule.atoms)
        stores = {name: self._catalog.stores[self._numbers[name]] for name in names}
        read = {name: stores[name] for name in dict.fromkeys(atom.relation for atom in rule.positives)}
        if sum(map(len, read.values())) < LEAST_ROWS or not all(map(len, read.values())):
            return False
        widths = {name: store.columns for name, store in stores.items()}
        domains = domains_of(rules, (), widths, self._word)
        rows = {}
        for name, store in read.items():
            lines = store.present_lines()
            rows[name] = store.columns_of(lines), lines
        columns = sorted(columns_read(rules, (), widths))
        ids = domains.number({(name, column): rows[name][0][:, column] for name, column in columns})
        if max(domains.sizes, default=0) > MOST_IDS:
            return False
        counts = {name: len(store) for name, store in stores.items()}
        planner = Planner(rules, (), domains, counts, self._numbers, self._word)
        sizes = {(name, column): planner.column(name, column)[1] for name, column in columns}
        order = _Search(RowCounts(ids, sizes), planner, rule).run()
        if order is None or order.cost > order.leapt:
            return False
        plan = self._plan(planner, order)
        if plan is None:
            return False
        nest = self._nest
        self._domains = domains
        self._code = head_code(plan, [nest])
        self._L: Words = np.zeros((len(plan.orders), k.ARRANGEMENT_FIELDS), dtype=np.int64)
        self._lists = []
        by_number = {self._numbers[name]: name for name in rows}
        for number, each in enumerate(plan.orders):
            name = by_number[each.relation]
            lines = rows[name][1]
            own = {column: ids[name, column] for column in range(widths[name]) if (name, column) in ids}
            lists = Lists(each, self._L, number, len(lines), with_lines=False)
            lists.fill(own, len(lines), None, lines)
            self._lists.append(lists)
        for check in (check for literal in nest.literals for check in literal.checks):
            self._catalog.stores[check.relation].index()
        self._words: Words = np.array([words.ctypes.data for words in domains.words], dtype=np.int64)
        name, place, column = order.begin
        driven = np.unique(ids[rule.positives[place].relation, column])
        self._drivers = driven.astype(np.int32)
        self._threads = [
            _Thread(plan, nest, int(self._catalog.S[:, k.COLUMNS].max())) for _ in range(self._pool.threads)
        ]
        return True

    def _plan(self, planner: Planner, order: _Order) -> RowWisePlan | None:
        """Returns the plan of the nest in this order; None if something of the rule is left."""
        rule = self.rule
        name, place, column = order.begin
        maker = NestMaker(planner, rule, 0, (name, rule.positives[place], column))
        maker.marked = dict(order.marked)
        for each in order.places:
            maker.open(each, kernels.READS_ALL)
        if not maker.is_complete:
            return None
        names = list(dict.fromkeys(term.name for term in rule.head.terms if isinstance(term, Variable)))
        maker.end_with(names)
        constants = {key: maker.registers + place for place, key in enumerate(maker.constants)}
        moved = {register: constants[key] for key, register in maker.constants.items()}
        word_constants: dict[int, int] = {}
        self._nest: Nest = maker.finish(moved, 0, word_constants)
        ids = tuple(planner.domains.constants[domain][word] for domain, word in constants)
        orders = tuple(dict.fromkeys(literal.order for literal in self._nest.literals))
        head = [self._column(planner, names, column, term) for column, term in enumerate(rule.head.terms)]
        self._head: Words = np.array(head, dtype=np.int64).reshape(len(head), 2)
        registers = maker.registers + len(ids)
        return RowWisePlan(
            (), orders, ids, registers, word_constants, maker.word_registers, len(planner.domains.constants)
        )

    def _column(self, planner: Planner, names: Sequence[str], column: int, term: Term) -> tuple[int, int]:
        """Returns how a column of the head is made of a job; see `row_jobs.write_instances`."""
        if isinstance(term, Variable):
            return names.index(term.name), planner.column(self.rule.head.relation, column)[0]
        assert isinstance(term, Constant)
        return -1, self._word(term.value, term.type)

    def run(self, apply: Callable[[Words, int], None], look: Callable[[], None]) -> int:
        """Applies all instances of the rule, some at a time; returns how many there were. `look` may raise."""
        cursor: Words = np.zeros(1, dtype=np.int64)
        width = len(self._nest.value)
        for thread in self._threads:
            thread.words[kernels.SHARE] = share_of(len(self._drivers), len(self._threads))

        def part(me: int) -> int:
            return self._threads[me].emit(cursor, self._drivers, self._catalog.S, self._L, self._code, self._words)

        found = 0
        is_done = False
        while not is_done:
            statuses = self._pool.run(part) if len(self._threads) > 1 else [part(0)]
            is_done = all(status == kernels.GATHERED for status in statuses)
            for thread in self._threads:
                count = int(thread.words[kernels.FOUND]) // width
                if count:
                    out: Words = np.empty(count * (len(self._head) + k.INSTANCE_EXTRA), dtype=np.int64)
                    row_jobs.write_instances(thread.jobs.array, count, width, self._head, self._words, out)
                    apply(out, count)
                    found += count
                thread.take()
            look()
        return found


class _Thread:
    """The memory of one thread."""

    def __init__(self, plan: RowWisePlan, nest: Nest, scratch: int) -> None:
        self.words = apart(kernels.WORKER_WORDS)
        self.jobs = Growing(np.int32, _BUFFER_WORDS)
        self._registers = apart(plan.registers + 1)
        self._registers[plan.registers - len(plan.constants) : plan.registers] = plan.constants
        self._word_registers = apart(plan.word_registers + 1)
        for register, word in plan.word_constants.items():
            self._word_registers[register] = word
        self._stack = apart(len(nest.literals) + 1, kernels.STACK_WIDTH)
        self._scratch = apart(max(scratch, k.PIECE) + 1)
        marked = max(literal.mark_space for literal in nest.literals)
        self._marks = Growing(np.int32, 2 * marked + 2)
        self.words[kernels.MODE] = kernels.JOBS
        self.words[kernels.MARKS], self.words[kernels.MARKED_LIST] = self._marks.address, -1
        self.words[kernels.YIELD_AT] = _YIELD_AFTER
        self._note()

    def _note(self) -> None:
        self.words[kernels.OUT_VALUES], self.words[kernels.ROWS_ROOM] = self.jobs.address, len(self.jobs)

    def emit(self, cursor: Words, drivers: Any, stores: Words, lists: Words, code: Words, words: Words) -> int:
        """Calls `row_jobs.emit_jobs`; makes room where one driver has more jobs than fit."""
        while True:
            status: int = row_jobs.emit_jobs(
                self.words,
                cursor,
                drivers,
                len(drivers),
                stores,
                lists,
                code,
                self._registers,
                self._word_registers,
                self._stack,
                words,
                self._scratch,
            )
            if status != kernels.OUT_FULL or self.words[kernels.FOUND]:
                return status
            self.jobs.make_room(2 * len(self.jobs))
            self._note()

    def take(self) -> None:
        """Notes that the jobs were taken."""
        self.words[kernels.FOUND] = 0
        self.words[kernels.YIELD_AT] = self.words[kernels.INSTANCES] + self.words[kernels.VISITED] + _YIELD_AFTER


class _Search:
    """Looks for the cheapest order of the literals of a rule."""

    def __init__(self, counts: RowCounts, planner: Planner, rule: Rule) -> None:
        self._counts = counts
        self._planner = planner
        self._atoms = rule.positives
        self._width = len(self._atoms) if len(self._atoms) <= FEW_LITERALS else FEW_BRANCHES
        # The variables of each comparison.
        self._bounds = [
            typed.variables(each.expression)
            for each in rule.body
            if isinstance(each, Condition)
            and isinstance(each.expression, typed.Binary)
            and each.expression.op in ("<", "<=", ">", ">=")
        ]
        self._found: _Order | None = None

    def run(self) -> _Order | None:
        begun = set()
        for place, atom in enumerate(self._atoms):
            for column, term in enumerate(atom.terms):
                if isinstance(term, Variable) and (term.name, atom.relation, column) not in begun:
                    begun.add((term.name, atom.relation, column))
                    drivers = float(np.count_nonzero(self._counts.by_id((atom.relation, column))))
                    empty = _Order((term.name, place, column), (), (), 0.0, 0.0)
                    # A literal that the ids are from is opened at once: then all of them have rows.
                    self._open(empty, {term.name: (None, drivers)}, drivers, place)
        return self._found

    def _continue(self, order: _Order, bound: _Bound, matches: float) -> None:
        """Tries the literals that may follow."""
        if self._found is not None and order.cost >= self._found.cost:
            return
        left = [place for place in range(len(self._atoms)) if place not in order.places]
        if not left:
            self._found = order
            return
        known = [place for place in left if all(self._is_known(term, bound) for term in self._atoms[place].terms)]
        if known:
            self._check(order, bound, matches, known[0])
            return
        connected = [
            place
            for place in left
            if any(isinstance(term, Variable) and term.name in bound for term in self._atoms[place].terms)
        ] or left
        lengths = sorted((self._length(place, bound), place) for place in connected)
        for _, place in lengths[: self._width]:
            self._open(order, bound, matches, place)

    def _open(self, order: _Order, bound: _Bound, matches: float, place: int) -> None:
        """Goes on from all entries of a literal's list."""
        atom = self._atoms[place]
        entries = matches * self._length(place, bound)
        new = {term.name for term in atom.terms if isinstance(term, Variable) and term.name not in bound}
        # A leapfrog join would meet the shortest of the lists of a variable.
        shortest = min(
            (
                self._length(other, bound)
                for other in range(len(self._atoms))
                if other not in order.places
                and any(isinstance(term, Variable) and term.name in new for term in self._atoms[other].terms)
                and (not order.places or any(self._is_known(term, bound) for term in self._atoms[other].terms))
            ),
            default=entries / max(matches, 1e-9),
        )
        columns = {term.name: column for column, term in enumerate(atom.terms) if isinstance(term, Variable)}
        passing = entries * HALF ** sum(1 for names in self._bounds if names & new and names <= new | bound.keys())
        known = dict(bound)
        for name, column in columns.items():
            known[name] = (atom.relation, column), known[name][1] if name in known else passing
        more = _Order(
            order.begin,
            (*order.places, place),
            order.marked,
            order.cost + matches * OPEN + entries * ENTRY,
            order.leapt + matches * shortest * LEAPT,
        )
        self._continue(more, known, passing)

    def _check(self, order: _Order, bound: _Bound, matches: float, place: int) -> None:
        """Goes on if the row of a literal is there, all of whose columns are known."""
        atom = self._atoms[place]
        cost, marked = matches * LOOK_UP, order.marked
        for column, term in enumerate(atom.terms) if not order.marked and len(atom.terms) > 1 else ():
            others = [each for each in range(len(atom.terms)) if each != column]
            if not isinstance(term, Variable) or self._planner.digits(atom.relation, others)[1] > MOST_MARKS:
                continue
            changes = min(bound[term.name][1], matches)
            by_marks = matches * MARK + changes * self._counts.length((atom.relation, column), None) * MARKING
            if by_marks < cost:
                cost, marked = by_marks, ((place, column),)
        found = min(self._length(place, bound), 1.0)
        more = _Order(order.begin, (*order.places, place), marked, order.cost + cost, order.leapt)
        self._continue(more, bound, matches * found)

    def _is_known(self, term: Term, bound: _Bound) -> bool:
        return isinstance(term, Constant) or (isinstance(term, Variable) and term.name in bound)

    def _length(self, place: int, bound: _Bound) -> float:
        """Returns how many entries of a literal's list there are, on average, given what is bound."""
        atom = self._atoms[place]
        rows = float(self._planner.rows[atom.relation])
        found = rows
        for column, term in enumerate(atom.terms):
            if isinstance(term, Constant):
                found *= self._counts.length((atom.relation, column), None) / rows
            elif isinstance(term, Variable) and term.name in bound:
                found *= self._counts.length((atom.relation, column), bound[term.name][0]) / rows
        return found
