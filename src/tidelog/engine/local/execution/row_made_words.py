"""Rules that make words (`n + 1`) → all words that they may make, before waves go head by head; and ids by words.

Ids are dense, and numbers are made of them, so all words of a domain must be known before. What rules may make is
computed column by column: the expression of each assignment is evaluated for all words of its variables, until no word
is new. The variables of one literal of a lower stratum take the words of its rows together; any other takes all words
of its domain. Conditions among these variables hold for what is made. That is more than the rules will make, and cheap
where few words make few others, as with steps, distances and remainders; where there are too many, rules do not fit.

    Way(x, z, n + 1) :- Way(x, y, n), Edge(y, z), n < 6.      n: 1 → 2 → 3 → 4 → 5 → 6, however many rows there are
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.check import typed
from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.execution.row_domains import Column, Domains, number_words
from tidelog.engine.local.execution.threads import apart
from tidelog.engine.local.execution.word_expressions import WordCompiler
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels import row_lists, row_words
from tidelog.rules.ir import Assign, Atom, Condition, Rule, Variable
from tidelog.types import Type

# An expression may be evaluated so often in all, or for so many times the rows that are numbered; and in so many
# rounds, because a deep recursion has small waves.
LEAST_EVALUATED, EVALUATED, MOST_ROUNDS = 1 << 18, 2, 1_000
# Words up to so many times the number of words are found in an array, others in a hash table.
SPARSE = 16
_Word = Callable[[Any, Type], int]


class MadeWords:
    """The words that the rules of a stratum may make. `columns` are the words in the columns that rules read.

    `look` is called between two assignments, and may raise.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        inside: Collection[str],
        domains: Domains,
        columns: Mapping[Column, Words],
        stores: Words,
        word: _Word,
        look: Callable[[], None],
    ) -> None:
        self._look = look
        self._domains = domains
        self._columns = columns
        self._stores = stores
        self._left = max(LEAST_EVALUATED, EVALUATED * sum(map(len, columns.values())))
        self._makers = [
            _Maker.of(rule, each, inside, domains, word)
            for rule in rules
            for each in rule.body
            if isinstance(each, Assign)
        ]
        read = {domain for maker in self._makers for domain in (maker.target, *maker.domains)}
        self._known = {domain: _Known(self._distinct(domain)) for domain in read}

    def find(self) -> dict[int, Words] | None:
        """Returns the words of each domain for which rules make some; None if there are too many."""
        new = {domain: known.all() for domain, known in self._known.items()}
        is_first = True
        given = [self._rows_of(maker) for maker in self._makers]
        if any(each is None for each in given):
            return None
        waiting = [*zip(self._makers, given)]
        for _ in range(MOST_ROUNDS):
            made: dict[int, list[Words]] = {}
            for maker, rows in waiting:
                assert rows is not None
                if not is_first and not any(len(new.get(domain, ())) for domain in maker.domains):
                    continue
                self._look()
                found = self._make(maker, rows, new)
                if found is None:
                    return None
                made.setdefault(maker.target, []).append(found)
            new = {}
            is_first = False
            for domain, parts in made.items():
                more = self._known[domain].add(np.concatenate(parts))
                if len(more):
                    new[domain] = more
            if not new:
                return {maker.target: self._known[maker.target].all() for maker in self._makers}
        return None

    def _distinct(self, domain: int) -> Words:
        own = [words for column, words in self._columns.items() if self._domains.of[column] == domain]
        constants = np.array([*self._domains.constants[domain]], dtype=np.int64)
        return np.sort(number_words([*own, constants])[1])

    def _rows_of(self, maker: _Maker) -> Words | None:
        """Returns all distinct combinations of the words that rows of lower strata give a maker."""
        parts = []
        for columns in maker.below:
            ids, words = zip(*(number_words([self._columns[column]]) for column in columns))
            keys = ids[0][0].astype(np.int64)
            for own, each in zip(ids[1:], words[1:]):
                keys = keys * len(each) + own[0]
            if prod(map(len, words)) >= 1 << 62:
                return None
            _, keys = number_words([keys])
            taken = []
            for each in reversed(words):
                taken.append(each[keys % max(len(each), 1)])
                keys = keys // max(len(each), 1)
            parts.append(np.stack(taken[::-1], axis=1))
        return self._product(parts)

    def _make(self, maker: _Maker, rows: Words, new: Mapping[int, Words]) -> Words | None:
        """Returns what a maker makes of the rows, and of the words of its other variables, some of which are new."""
        if len(maker.domains) == 1:
            others = [new[maker.domains[0]]]
        else:
            others = [self._known[domain].all() for domain in maker.domains]
        given = self._product([rows, *(words[:, None] for words in others)])
        return None if given is None else maker.run(given, self._stores)

    def _product(self, parts: Sequence[Words]) -> Words | None:
        """Returns all combinations of the lines of some arrays; None if there are too many."""
        lines = prod(map(len, parts))
        self._left -= lines
        if self._left < 0:
            return None
        found: Words = np.zeros((1, 0), dtype=np.int64)
        for part in parts:
            repeated = np.repeat(found, len(part), axis=0)
            found = np.concatenate([repeated, np.tile(part, (len(found), 1))], axis=1)
        return np.ascontiguousarray(found)


class _Known:
    """Distinct words in sorted runs, each far shorter than the one before: few new ones do not move all others."""

    def __init__(self, words: Words) -> None:
        self._runs = [words]

    def all(self) -> Words:
        """Returns all words, sorted."""
        if len(self._runs) > 1:
            self._runs = [np.sort(np.concatenate(self._runs))]
        return self._runs[0]

    def add(self, words: Words) -> Words:
        """Adds words; returns those that are new, sorted."""
        new = np.sort(number_words([words])[1])
        for run in self._runs:
            if len(run):
                places = np.minimum(np.searchsorted(run, new), len(run) - 1)
                new = new[run[places] != new]
        last = new
        while len(self._runs) > 1 and len(self._runs[-1]) <= 2 * len(last):
            last = np.sort(np.concatenate([self._runs.pop(), last]))
        if len(last):
            self._runs.append(last)
        return new


@dataclass(frozen=True, slots=True)
class _Maker:
    """An assignment as instructions. `targets` are the registers of the variables: those that rows `below` bind
    together, and one for each of `domains`."""

    target: int
    below: tuple[tuple[Column, ...], ...]
    domains: tuple[int, ...]
    targets: Words
    code: Words
    registers: Words
    made: int

    @staticmethod
    def of(rule: Rule, assign: Assign, inside: Collection[str], domains: Domains, word: _Word) -> _Maker:
        needed = typed.variables(assign.expression)
        compiler = WordCompiler(word, 0)
        tests = [each.expression for each in rule.body if isinstance(each, Condition)]
        early = [each for each in tests if typed.variables(each) <= needed]
        for each in early:
            compiler.add(each)
        compiler.assign(assign.variable.name, assign.expression)
        for each in tests:
            if each not in early and typed.variables(each) <= needed | {assign.variable.name}:
                compiler.add(each)
        below: list[tuple[Column, ...]] = []
        names: list[str] = []
        left = set(needed)
        for atom in rule.positives:
            own = {} if atom.relation in inside else _columns_of(atom, left)
            if own:
                below.append(tuple(own.values()))
                names += own
                left -= own.keys()
        others = sorted(left)
        registers = apart(len(compiler.registers) + 1)
        for register, constant in compiler.constants.items():
            registers[register] = constant
        return _Maker(
            domains.assigned[id(rule), assign.variable.name],
            tuple(below),
            tuple(_domain_of(rule, name, domains) for name in others),
            np.array([compiler.registers[name] for name in (*names, *others)], dtype=np.int64),
            np.array([word for each in compiler.tail for word in each], dtype=np.int64),
            registers,
            compiler.made[assign.variable.name],
        )

    def run(self, given: Words, stores: Words) -> Words:
        """Returns the words that are made of lines of words; `stores` is the kernels' table S."""
        found: Words = np.empty(len(given) + 1, dtype=np.int64)
        where = stores, self.code, len(self.code) // k.TAIL_WIDTH, given, self.targets, self.registers, self.made, found
        return found[: int(row_words.make_words(*where))]


def _columns_of(atom: Atom, names: Collection[str]) -> dict[str, Column]:
    """Returns the first column of each of these variables in an atom."""
    found: dict[str, Column] = {}
    for column, term in enumerate(atom.terms):
        if isinstance(term, Variable) and term.name in names:
            found.setdefault(term.name, (atom.relation, column))
    return found


def _domain_of(rule: Rule, name: str, domains: Domains) -> int:
    """Returns the domain of a variable."""
    if (id(rule), name) in domains.assigned:
        return domains.assigned[id(rule), name]
    return next(domains.of[found[name]] for atom in rule.positives if (found := _columns_of(atom, [name])))


class Finders:
    """The addresses of the words of all domains, and a finder of ids (`row_words`) for each in which words are made."""

    def __init__(self, words: Sequence[Words], made: Collection[int]) -> None:
        self._count = len(words)
        self._tables: list[npt.NDArray[Any]] = []  # whose addresses the finders have
        self.words: Words = np.zeros(self._count * (1 + row_words.FINDER_WORDS), dtype=np.int64)
        self.words[: self._count] = [each.ctypes.data for each in words]
        self._finders = self.words[self._count :].reshape(self._count, row_words.FINDER_WORDS)
        for domain in made:
            self._fill(self._finders[domain], words[domain])

    def have_missed(self) -> bool:
        """True if a word was made that has no id."""
        return bool(self._finders[:, row_words.FIND_MISSED].any())

    def _fill(self, finder: Words, words: Words) -> None:
        finder[row_words.FIND_IDS] = words.ctypes.data
        least = int(words.min(initial=0))
        size = int(words.max(initial=0)) - least + 1
        if size <= SPARSE * len(words) + 1024:
            dense = np.zeros(size, dtype=np.int32)
            dense[words - least] = np.arange(1, len(words) + 1, dtype=np.int32)
            finder[row_words.FIND_TABLE], finder[row_words.FIND_MASK] = dense.ctypes.data, -1
            finder[row_words.FIND_LEAST], finder[row_words.FIND_SIZE] = least, size
            self._tables.append(dense)
            return
        table: Words = np.zeros(1 << (2 * len(words) + 16).bit_length(), dtype=np.int64)
        given, again = words.copy(), np.empty(len(words) + 1, dtype=np.int64)
        row_lists.number_words(given, len(given), table, again, 0)
        finder[row_words.FIND_TABLE], finder[row_words.FIND_MASK] = table.ctypes.data, len(table) - 1
        self._tables.append(table)
