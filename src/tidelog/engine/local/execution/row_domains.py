"""Rules → the domains of columns: which columns hold the same kind of ids, and the words of each id.

Two columns have one domain if a variable stands in both. A head takes its words from its body, from constants and from
what rules make (`row_made_words`), so a domain is closed: the rules never bring a word that is not in it. The words of
a domain are numbered densely, so that the ids of several columns can be the digits of one small number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.kernels import dense_ids
from tidelog.engine.local.kernels import row_lists as kernels
from tidelog.rules.ir import Assign, Constant, Rule, Variable, Wildcard
from tidelog.types import Type

Column = tuple[str, int]
Ids = npt.NDArray[np.int32]
_Place = tuple[str | int, int | str]
# Words up to so many times the number of words are numbered by an array, others by a hash table.
SPARSE = 8
_LARGEST = 1 << 31
_NO_WORDS: Words = np.empty(0, dtype=np.int64)


@dataclass(slots=True)
class Domains:
    """The domain of each column that rules look at, and of each variable that a rule assigns; and, by domain, the
    words, and the ids of constants."""

    of: Mapping[Column, int]
    assigned: Mapping[tuple[int, str], int]  # by the rule's `id`, and the name
    constants: list[dict[int, int]]  # word → id
    words: list[Words] = field(default_factory=list)

    @property
    def sizes(self) -> list[int]:
        return [max(len(words), 1) for words in self.words]

    def number(self, columns: Mapping[Column, Words], made: Mapping[int, Words] | None = None) -> dict[Column, Ids]:
        """Numbers the words of all columns and constants, and those that rules make, by domain; returns the ids in each
        column."""
        others = made or {}
        found: dict[Column, Ids] = {}
        for domain, constants in enumerate(self.constants):
            own = [column for column in columns if self.of[column] == domain]
            given = [others.get(domain, _NO_WORDS), np.array([*constants], dtype=np.int64)]
            ids, words = number_words([*(columns[column] for column in own), *given])
            self.words.append(words)
            self.constants[domain] = dict(zip(constants, ids[-1].tolist()))
            found |= zip(own, ids)
        return found


def domains_of(
    rules: Sequence[Rule], inside: Iterable[str], widths: Mapping[str, int], word: Callable[[Any, Type], int]
) -> Domains:
    """Finds the domains of the columns that rules look at, and of all columns of the relations `inside`."""
    # A place is a column, or a variable of a rule, which is one of the same place in all literals.
    columns = [(name, column) for name in inside for column in range(widths[name])]
    group: dict[_Place, _Place] = {at: at for at in columns}
    constants: list[tuple[Column, int]] = []

    def root(key: _Place) -> _Place:
        group.setdefault(key, key)
        while group[key] != key:
            key = group[key]
        return key

    for rule in rules:
        for atom in (rule.head, *rule.positives, *rule.negatives):
            for column, term in enumerate(atom.terms):
                at = (atom.relation, column)
                columns.append(at)
                if isinstance(term, Variable):
                    group[root(at)] = root((id(rule), term.name))
                elif isinstance(term, Constant):
                    constants.append((at, word(term.value, term.type)))
    numbers: dict[_Place, int] = {}
    of = {at: numbers.setdefault(root(at), len(numbers)) for at in columns}
    assigned = {
        (id(rule), each.variable.name): numbers.setdefault(root((id(rule), each.variable.name)), len(numbers))
        for rule in rules
        for each in rule.body
        if isinstance(each, Assign)
    }
    found = Domains(of, assigned, [{} for _ in numbers])
    for at, value in constants:
        found.constants[found.of[at]][value] = -1
    return found


def columns_read(rules: Iterable[Rule], inside: Iterable[str], widths: Mapping[str, int]) -> set[Column]:
    """Returns the columns whose words have ids: those of relations inside, and those that positive literals read."""
    found = {(name, column) for name in inside for column in range(widths[name])}
    for rule in rules:
        for atom in rule.positives:
            found |= {
                (atom.relation, column) for column, term in enumerate(atom.terms) if not isinstance(term, Wildcard)
            }
    return found


def number_words(columns: Sequence[Words]) -> tuple[list[Ids], Words]:
    """Numbers the words of columns; returns the ids of each column, and the word of each id."""
    assert all(column.dtype == np.int64 for column in columns)
    sizes = [len(column) for column in columns]
    filled = [column for column in columns if len(column)]
    words: Words
    if not filled:
        return [np.empty(0, dtype=np.int32) for _ in columns], _NO_WORDS
    span: Words = np.array([filled[0][0], filled[0][0]], dtype=np.int64)
    found: list[Ids] = [np.empty(size, dtype=np.int32) for size in sizes]
    for column, ids in zip(columns, found):
        dense_ids.take_words(column.ctypes.data, column.strides[0] // column.itemsize, len(column), ids, span)
    least, largest = span.tolist()
    if largest < min(SPARSE * sum(sizes), _LARGEST) and least >= 0:
        occurs = np.zeros(largest + 1, dtype=np.uint8)
        for ids in found:
            dense_ids.mark_words(ids, occurs)
        words = np.flatnonzero(occurs)
        if len(words) < len(occurs):
            places = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
            for ids in found:
                dense_ids.number_marked(ids, places)
        return found, words
    del found
    given: Words = np.concatenate(columns)
    table: Words = np.zeros(1 << (2 * len(given) + 16).bit_length(), dtype=np.int64)
    words = np.empty(len(given) + 1, dtype=np.int64)
    known = int(kernels.number_words(given, len(given), table, words, 0))
    words = words[:known].copy()
    return np.split(given.astype(np.int32), np.cumsum(sizes)[:-1]), words
