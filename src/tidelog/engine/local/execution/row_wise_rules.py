"""Recursive rules → nests of lists that go from the head's prefix to its value (`kernels/row_wise`).

A rule fits if its head has two columns and its body is positive literals and literals of lower strata that are negated,
each connected to the ones before it. The literals are put into an order that begins with the prefix, the first column
of the head or the second, and binds the other column as late as possible, so that the last lists are lists of values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.kernels import row_wise as kernels
from tidelog.rules.ir import Atom, Constant, Negative, Positive, Rule, Term, Variable, Wildcard
from tidelog.types import Type

COLUMNS = 2  # of a head
MOST_LITERALS = 12
_Word = Callable[[Any, Type], int]


@dataclass(frozen=True, slots=True)
class Order:
    """Lists of the rows of a relation: by one column, the ids of some other columns."""

    relation: int
    key: int
    values: tuple[int, ...]
    is_inside: bool


@dataclass(frozen=True, slots=True)
class Check:
    """A row of a lower stratum that has to be there, or must not be there."""

    relation: int
    is_wanted: bool
    registers: tuple[int, ...]


@dataclass(slots=True)
class ListLiteral:
    """A literal that reads a list: its key's register, and what each entry binds (offset, register) or must equal."""

    order: Order
    key: int
    binds: tuple[tuple[int, int], ...]
    equals: tuple[tuple[int, int], ...]
    checks: list[Check] = field(default_factory=list)

    def is_plain(self) -> bool:
        """True if each entry is one id that is bound to a register, and nothing else."""
        return len(self.order.values) == len(self.binds) == 1 and not self.equals and not self.checks


@dataclass(slots=True)
class Nest:
    """A rule as a nest of lists. `prefix` is the register of the constant that the prefix must be, or -1."""

    rule: Rule
    prefix: int
    value: int
    literals: list[ListLiteral]

    @property
    def ends_in_list(self) -> bool:
        last = self.literals[-1]
        return last.is_plain() and last.binds[0][1] == self.value

    def leads_to_end(self, place: int) -> bool:
        """True if each entry of a literal is the key of the list in which the rule ends."""
        literal, end = self.literals[place], self.literals[-1]
        return (
            place == len(self.literals) - 2
            and literal.is_plain()
            and self.ends_in_list
            and end.key == literal.binds[0][1]
        )


@dataclass(frozen=True, slots=True)
class Head:
    """The rules of one head relation, and which of its columns is the prefix."""

    relation: int
    prefix: int
    nests: tuple[Nest, ...]


@dataclass(slots=True)
class RowWisePlan:
    """The recursive rules of a stratum as nests. `constants` are the words of the registers behind the variables'.

    `orders` are the lists that the rules read, and those by the prefix of each head.
    """

    heads: tuple[Head, ...]
    orders: tuple[Order, ...]
    constants: tuple[int, ...]
    registers: int

    def natural(self, head: Head) -> int:
        """Returns the number of the lists of a head relation by its prefix."""
        return self.orders.index(Order(head.relation, head.prefix, (1 - head.prefix,), True))

    def code(self, head: Head, constant_ids: Words) -> Words:
        """Returns the code of a head's rules for `kernels.row_wise`."""
        words: list[int] = [len(head.nests), *([0] * len(head.nests))]
        first_constant = self.registers - len(self.constants)
        for number, nest in enumerate(head.nests):
            words[1 + number] = at = len(words)
            prefix = -1 if nest.prefix < 0 else int(constant_ids[nest.prefix - first_constant])
            words += [len(nest.literals), prefix, nest.value, int(nest.ends_in_list)]
            words += [0] * (len(nest.literals) * kernels.LITERAL_WIDTH)
            inside = [place for place, each in enumerate(nest.literals) if each.order.is_inside]
            for place, literal in enumerate(nest.literals):
                line = at + kernels.RULE_WIDTH + place * kernels.LITERAL_WIDTH
                fields = {
                    kernels.LITERAL_LIST: self.orders.index(literal.order),
                    kernels.LITERAL_KEY: literal.key,
                    kernels.LITERAL_INSIDE: int(literal.order.is_inside),
                    kernels.LITERAL_LAST_INSIDE: int(place == inside[-1]),
                    kernels.LITERAL_LEADS: int(nest.leads_to_end(place)),
                }
                for count, where, pairs in (
                    (kernels.LITERAL_BIND_N, kernels.LITERAL_BIND_AT, literal.binds),
                    (kernels.LITERAL_EQUAL_N, kernels.LITERAL_EQUAL_AT, literal.equals),
                ):
                    fields |= {count: len(pairs), where: len(words)}
                    words += [word for pair in pairs for word in pair]
                fields |= {kernels.LITERAL_CHECK_N: len(literal.checks), kernels.LITERAL_CHECK_AT: len(words)}
                for check in literal.checks:
                    words += [check.relation, int(check.is_wanted), len(check.registers), *check.registers]
                for place_of, word in fields.items():
                    words[line + place_of] = word
        return np.array(words, dtype=np.int64)


def plan_row_wise(
    rules: Sequence[Rule], inside: Sequence[str], columns: Mapping[str, int], numbers: Mapping[str, int], word: _Word
) -> RowWisePlan | None:
    """Plans the recursive rules of a stratum, or returns None if one of them does not fit.

    `columns` are the numbers of columns of all relations, `word` makes the word of a constant.
    """
    if any(columns[name] != COLUMNS for name in inside):
        return None
    recursive = [rule for rule in rules if any(atom.relation in inside for atom in rule.positives)]
    if not recursive:
        return None
    makers = {name: _best_prefix(name, recursive, inside, numbers) for name in inside}
    if any(made is None for made in makers.values()):
        return None
    found = [made for made in makers.values() if made is not None and made.nests]
    most = max((nest.registers for made in found for nest in made.nests), default=1)
    constants: dict[tuple[int, ...], int] = {}
    heads = []
    for made in found:
        nests = []
        for nest in made.nests:
            moved = {}
            for constant, register in nest.constants.items():
                key = (word(constant.value, constant.type),)
                moved[register] = most + constants.setdefault(key, len(constants))
            nests.append(nest.finish(moved))
        heads.append(Head(numbers[made.name], made.prefix, tuple(nests)))
    orders = dict.fromkeys(
        [Order(head.relation, head.prefix, (1 - head.prefix,), True) for head in heads]
        + [literal.order for head in heads for nest in head.nests for literal in nest.literals]
    )
    words = tuple(key[0] for key in constants)
    return RowWisePlan(tuple(heads), tuple(orders), words, most + len(words))


@dataclass(frozen=True, slots=True)
class _HeadNests:
    name: str
    prefix: int
    nests: tuple[_NestMaker, ...]


def _best_prefix(
    name: str, rules: Sequence[Rule], inside: Sequence[str], numbers: Mapping[str, int]
) -> _HeadNests | None:
    """Returns the nests of a head's rules, by the column as prefix with which more of them end in lists."""
    own = [rule for rule in rules if rule.head.relation == name]
    best: _HeadNests | None = None
    most = -1
    for prefix in range(COLUMNS):
        makers = [_NestMaker(rule, prefix, inside, numbers) for rule in own]
        if all(maker.run() for maker in makers):
            count = sum(maker.ends_in_list() for maker in makers)
            if count > most:
                best, most = _HeadNests(name, prefix, tuple(makers)), count
    return best


class _NestMaker:
    """Puts the literals of one rule into an order. Constants have negative registers until all rules are planned."""

    def __init__(self, rule: Rule, prefix: int, inside: Sequence[str], numbers: Mapping[str, int]) -> None:
        self.rule = rule
        self._inside = inside
        self._numbers = numbers
        self._bound: dict[str, int] = {}
        self.registers = 1
        self.constants: dict[Constant, int] = {}
        self._literals: list[ListLiteral] = []
        self._prefix_term, self._value_term = rule.head.terms[prefix], rule.head.terms[1 - prefix]
        if isinstance(self._prefix_term, Variable):
            self._bound[self._prefix_term.name] = kernels.PREFIX_REGISTER

    def run(self) -> bool:
        """Orders the literals; returns False if the rule does not fit."""
        body = self.rule.body
        if not all(isinstance(each, Positive | Negative) for each in body) or len(body) > MOST_LITERALS:
            return False
        left = list(self.rule.positives)
        waiting = list(self.rule.negatives)
        while left:
            ready = [atom for atom in left if self._can_open(atom)]
            if not ready:
                return False
            chosen = min(ready, key=self._rank)
            left.remove(chosen)
            self._open(chosen, left)
            waiting = [atom for atom in waiting if not self._check(atom, is_wanted=False)]
            left = [atom for atom in left if not self._is_below(atom) or not self._check(atom, is_wanted=True)]
        return not waiting

    def ends_in_list(self) -> bool:
        return self.finish({}).ends_in_list

    def finish(self, moved: Mapping[int, int]) -> Nest:
        """Returns the nest, with other registers for constants."""

        def at(register: int) -> int:
            return moved.get(register, register)

        literals = [
            ListLiteral(
                each.order,
                at(each.key),
                tuple((offset, at(register)) for offset, register in each.binds),
                tuple((offset, at(register)) for offset, register in each.equals),
                [Check(c.relation, c.is_wanted, tuple(map(at, c.registers))) for c in each.checks],
            )
            for each in self._literals
        ]
        is_constant = isinstance(self._prefix_term, Constant)
        prefix = at(self._register(self._prefix_term)) if is_constant else -1
        return Nest(self.rule, prefix, at(self._register(self._value_term)), literals)

    def _is_below(self, atom: Atom) -> bool:
        return atom.relation not in self._inside

    def _can_open(self, atom: Atom) -> bool:
        """True if a variable of the atom is bound, so that a list can be looked up."""
        return any(isinstance(term, Variable) and term.name in self._bound for term in atom.terms)

    def _rank(self, atom: Atom) -> tuple[bool, int, bool]:
        """Returns what to open first: what does not bind the value, binds few variables, and is below the stratum."""
        names = {term.name for term in atom.terms if isinstance(term, Variable)} - self._bound.keys()
        binds_value = isinstance(self._value_term, Variable) and self._value_term.name in names
        return binds_value, len(names), not self._is_below(atom)

    def _register(self, term: Term) -> int:
        """Returns the register of a constant or of a bound variable."""
        if isinstance(term, Constant):
            return self.constants.setdefault(term, -2 - len(self.constants))
        assert isinstance(term, Variable)
        return self._bound[term.name]

    def _open(self, atom: Atom, left: Sequence[Atom]) -> None:
        """Adds the literal that reads the list of an atom by one of its bound columns."""
        terms = atom.terms
        key = next(i for i, term in enumerate(terms) if isinstance(term, Variable) and term.name in self._bound)
        key_register = self._register(terms[key])
        needed = {term.name for other in (*left, *self.rule.negatives, self.rule.head) for term in other.terms
                  if isinstance(term, Variable)}  # fmt: skip
        values: list[int] = []
        binds: list[tuple[int, int]] = []
        equals: list[tuple[int, int]] = []
        for column, term in enumerate(terms):
            if column == key or isinstance(term, Wildcard):
                continue
            if isinstance(term, Variable) and term.name not in self._bound:
                again = any(other == term for i, other in enumerate(terms) if i != column)
                if term.name not in needed and not again:
                    continue
                self._bound[term.name] = self.registers
                binds.append((len(values), self.registers))
                self.registers += 1
            else:
                equals.append((len(values), self._register(term)))
            values.append(column)
        is_inside = atom.relation in self._inside
        if is_inside and not values:
            values = [1 - key]
        order = Order(self._numbers[atom.relation], key, tuple(values), is_inside)
        self._literals.append(ListLiteral(order, key_register, tuple(binds), tuple(equals)))

    def _check(self, atom: Atom, *, is_wanted: bool) -> bool:
        """Adds a check for an atom whose columns are all known; returns False if they are not."""
        known = all(
            isinstance(term, Constant) or (isinstance(term, Variable) and term.name in self._bound)
            for term in atom.terms
        )
        if known:
            registers = tuple(map(self._register, atom.terms))
            self._literals[-1].checks.append(Check(self._numbers[atom.relation], is_wanted, registers))
        return known
