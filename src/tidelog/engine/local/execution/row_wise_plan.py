"""The plan of waves that go head by head: the lists that rules read, and the nests of lists that rules become.

`row_wise_rules` and `row_wise_deltas` make it, `row_wise_code` writes it down for the kernels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidelog.engine.local.execution.word_expressions import Instruction
from tidelog.engine.local.kernels import row_wise as kernels
from tidelog.rules.ir import Rule

NO_PREFIX = -1  # the column of a head whose only prefix is 0
Digits = tuple[tuple[int, int], ...]  # a number: columns, or registers, with the factor of each


@dataclass(frozen=True, slots=True)
class Order:
    """Lists of the rows of a relation: by the ids of some columns, words made of other columns.

    `space`: how many keys there may be. A negative relation stands for jobs, which have a prefix and some words each.
    """

    relation: int
    keys: Digits
    words: tuple[Digits, ...]
    space: int
    is_inside: bool


@dataclass(frozen=True, slots=True)
class Check:
    """A row of a lower stratum that has to be there, or must not be there: the register and domain of each column."""

    relation: int
    is_wanted: bool
    registers: Digits


@dataclass(frozen=True, slots=True)
class Absence:
    """A row of a lower stratum that must not be there: a word that must not be in the list of a key. The words of the
    list are marked, of which there may be `space`, so one look tells."""

    order: Order
    key: Digits
    mark: Digits
    space: int


@dataclass(frozen=True, slots=True)
class Tail:
    """Conditions on words, and words that are made: registers of words, each with the register and the domain of its
    id; and instructions. `made` are such registers, too, of words whose ids are found once the instructions ran."""

    loads: tuple[tuple[int, int, int], ...]
    instructions: tuple[Instruction, ...]
    made: tuple[tuple[int, int, int], ...] = ()


@dataclass(slots=True)
class ListLiteral:
    """A literal that reads a list: its key, and what each word of an entry binds (offset, register) or must equal."""

    order: Order
    key: Digits
    binds: tuple[tuple[int, int], ...]
    equals: tuple[tuple[int, int], ...]
    checks: list[Check] = field(default_factory=list)
    tail: Tail | None = None
    reads: int | None = None  # which rows (`kernels.LITERAL_READS`); None: the last of the stratum reads new ones
    mark: Digits = ()  # the only word that is looked for, if the list is short and all columns are known
    mark_space: int = 0  # how many such words there may be
    bounds: int = 0  # of columns, from above or below, by comparisons
    parts: Digits = ()  # an entry is one number, in which each word is a digit: its radix, and its size
    absences: list[Absence] = field(default_factory=list)

    def is_plain(self) -> bool:
        """True if nothing about an entry has to be checked."""
        return not self.equals and not self.checks and not self.absences and self.tail is None


@dataclass(slots=True)
class Nest:
    """A rule as a nest of lists. `prefix` is the id that the prefix must be, or -1; `value` is made of registers.

    Where the rule ends in a list, each of its words is a part of the value, behind what `value` says.
    """

    rule: Rule
    prefix: int
    value: Digits
    literals: list[ListLiteral]
    ends: int
    expected: float = 0.0  # instances, if all relations are as they are

    @property
    def closes_cycle(self) -> bool:
        """True if a row is looked for whose columns are bound by several others."""
        return any(check.is_wanted for literal in self.literals for check in literal.checks)

    @property
    def is_bounded(self) -> bool:
        """True if comparisons bound several columns of a literal, or one on both sides: zones may skip most of its rows
        (`zones`)."""
        return any(literal.bounds > 1 for literal in self.literals[1:])

    def leads_to_end(self, place: int) -> bool:
        """True if the entries of a literal lead to the lists in which the rule ends, and nothing has to be checked."""
        is_last = place == len(self.literals) - 2
        return is_last and self.literals[place].is_plain() and self.ends == kernels.ENDS_IN_LIST


@dataclass(frozen=True, slots=True)
class Jobs:
    """The way from new rows to prefixes (`kernels/row_jobs`).

    `path` is a nest from an id in a column of new rows to the registers of a job, `order` the lists of jobs by prefix.
    """

    drivers: tuple[int, int]  # relation, column
    path: Nest
    order: Order


@dataclass(frozen=True, slots=True)
class DeltaNest:
    """A rule for the new rows of one of its literals, from the prefix on or from `jobs`.

    Without jobs, the prefixes are the ids in the column `gate` of new rows, or a constant.
    """

    nest: Nest
    gate: tuple[int, int] | None
    jobs: Jobs | None


@dataclass(frozen=True, slots=True)
class Head:
    """The rules of one head relation: `nests` of recursive ones, `first` of others, which run in wave 0 alone.
    `deltas` has, for each of `nests`, what may run in its place: a nest for each literal of the stratum, or nothing.

    Its rows are a prefix, one column of it, and a value, made of the others. A head of one column may have no prefix:
    then all instances of a wave are gathered at once, by the value alone.
    """

    relation: int
    prefix: int
    prefixes: int
    digits: Digits
    values: int
    domains: tuple[int, ...]  # of all columns
    nests: tuple[Nest, ...]
    first: tuple[Nest, ...] = ()
    deltas: tuple[tuple[DeltaNest, ...], ...] = ()

    @property
    def later(self) -> list[Nest]:
        """What runs in waves behind wave 0."""
        if not self.deltas:
            return list(self.nests)
        return [
            each
            for nest, own in zip(self.nests, self.deltas)
            for each in ([delta.nest for delta in own] if own else [nest])
        ]

    @property
    def natural(self) -> Order:
        """The lists of values by prefix."""
        keys = () if self.prefix == NO_PREFIX else ((self.prefix, 1),)
        return Order(self.relation, keys, (self.digits,), self.prefixes, True)


@dataclass(slots=True)
class RowWisePlan:
    """The rules of a stratum as nests. `constants` are the ids of the registers behind the variables';
    `word_constants` are words in registers of words.

    `orders` are the lists that the rules read, and those by the prefix of each head. `domains`: how many there are.
    """

    heads: tuple[Head, ...]
    orders: tuple[Order, ...]
    constants: tuple[int, ...]
    registers: int
    word_constants: Mapping[int, int]
    word_registers: int
    domains: int

    @property
    def absences(self) -> tuple[Absence, ...]:
        """Those of all rules; each has marks of its own."""
        found = (each for nest in self.nests for literal in nest.literals for each in literal.absences)
        return tuple(dict.fromkeys(found))

    @property
    def nests(self) -> list[Nest]:
        deltas = [delta for head in self.heads for own in head.deltas for delta in own]
        paths = [delta.jobs.path for delta in deltas if delta.jobs is not None]
        return [
            *(nest for head in self.heads for nest in (*head.later, *head.first)),
            *paths,
        ]

    def natural(self, head: Head) -> int:
        """Returns the number of the lists of a head relation by its prefix."""
        return self.orders.index(head.natural)
