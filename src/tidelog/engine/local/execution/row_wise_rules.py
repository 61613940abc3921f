"""Recursive rules → nests of lists that go from the head's prefix to its value (`kernels/row_wise`).

A rule fits if its body is positive literals, negated literals of lower strata, and conditions on words that cannot
fail. One column of the head is its prefix; the ids of the others are the digits of its value. The literals are put
into an order that begins with the prefix and binds the value late, so that the last lists are lists of values:

    V(t; c, g) :- Load(t, b, f), V(b, c, h), F(h, f, g).
    prefix t ─ Load by t: b, f ─ V by b: c, h ─ F by (h, f): g       each g of the last list counts for the value (c, g)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from tidelog.check import typed
from tidelog.engine.local.execution.row_domains import Domains
from tidelog.engine.local.execution.word_expressions import FilterCompiler, Instruction
from tidelog.engine.local.kernels import row_wise as kernels
from tidelog.plan.plain import is_plain
from tidelog.rules.ir import Atom, Condition, Constant, Negative, Positive, Rule, Term, Variable, Wildcard
from tidelog.types import Type

MOST_LITERALS = 12
MOST_VALUES = 1 << 31  # that a head may have for one prefix
_Word = Callable[[Any, Type], int]
Digits = tuple[tuple[int, int], ...]  # a number: columns, or registers, with the factor of each


@dataclass(frozen=True, slots=True)
class Order:
    """Lists of the rows of a relation: by the ids of some columns, words made of other columns.

    `space`: how many keys there may be.
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
class Tail:
    """Conditions on words: registers of words, each with the register and the domain of its id; and instructions."""

    loads: tuple[tuple[int, int, int], ...]
    instructions: tuple[Instruction, ...]


@dataclass(slots=True)
class ListLiteral:
    """A literal that reads a list: its key, and what each word of an entry binds (offset, register) or must equal."""

    order: Order
    key: Digits
    binds: tuple[tuple[int, int], ...]
    equals: tuple[tuple[int, int], ...]
    checks: list[Check] = field(default_factory=list)
    tail: Tail | None = None
    bounded: int = 0  # columns that comparisons bound

    def is_plain(self) -> bool:
        """True if nothing about an entry has to be checked."""
        return not self.equals and not self.checks and self.tail is None


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
        """True if comparisons bound a literal in several columns: zones may skip most of its rows (`zones`)."""
        return any(literal.bounded > 1 for literal in self.literals[1:])

    def leads_to_end(self, place: int) -> bool:
        """True if the entries of a literal lead to the lists in which the rule ends, and nothing has to be checked."""
        is_last = place == len(self.literals) - 2
        return is_last and self.literals[place].is_plain() and self.ends == kernels.ENDS_IN_LIST


@dataclass(frozen=True, slots=True)
class Head:
    """The rules of one head relation: `nests` of recursive ones, `first` of others, which run in wave 0 alone.

    Its rows are a prefix, one column of it, and a value, made of the others.
    """

    relation: int
    prefix: int
    prefixes: int
    digits: Digits
    values: int
    domains: tuple[int, ...]  # of all columns
    nests: tuple[Nest, ...]
    first: tuple[Nest, ...] = ()

    @property
    def natural(self) -> Order:
        """The lists of values by prefix."""
        return Order(self.relation, ((self.prefix, 1),), (self.digits,), self.prefixes, True)


@dataclass(slots=True)
class RowWisePlan:
    """The rules of a stratum as nests. `constants` are the ids of the registers behind the variables';
    `word_constants` are words in registers of words.

    `orders` are the lists that the rules read, and those by the prefix of each head.
    """

    heads: tuple[Head, ...]
    orders: tuple[Order, ...]
    constants: tuple[int, ...]
    registers: int
    word_constants: Mapping[int, int]
    word_registers: int

    @property
    def nests(self) -> list[Nest]:
        return [nest for head in self.heads for nest in (*head.nests, *head.first)]

    def natural(self, head: Head) -> int:
        """Returns the number of the lists of a head relation by its prefix."""
        return self.orders.index(head.natural)


def fits(rule: Rule) -> bool:
    """True if a rule can be a nest, whatever the sizes; one with an attribute `join` is joined as it says."""
    return (
        not rule.join
        and 0 < len(rule.positives) <= MOST_LITERALS
        and len(rule.head.terms) > 0
        and all(
            isinstance(each, Positive | Negative)
            or (isinstance(each, Condition) and is_plain(each.expression) and not typed.may_fail(each.expression))
            for each in rule.body
        )
    )


class Planner:
    """Plans the rules of a stratum. `rows` are the present numbers of rows of all relations."""

    def __init__(
        self,
        rules: Sequence[Rule],
        inside: Sequence[str],
        domains: Domains,
        rows: Mapping[str, int],
        numbers: Mapping[str, int],
        word: _Word,
    ) -> None:
        self.rules = rules
        self.inside = inside
        self.domains = domains
        self.sizes = domains.sizes
        self.numbers = numbers
        self.word = word
        most = max((rows[atom.relation] for rule in rules for atom in rule.positives), default=0)
        # A relation that is being filled will have more rows than now.
        self.rows = {name: max(count, most) if name in inside else count for name, count in rows.items()}

    def plan(self) -> RowWisePlan | None:
        """Returns the plan, or None if a relation does not fit."""
        makers = [self._best_prefix(name) for name in self.inside]
        if any(made is None for made in makers):
            return None
        found = [made for made in makers if made is not None and made.nests]
        if not found:
            return None
        most = max(nest.registers for made in found for nest in made.nests)
        constants: dict[tuple[int, int], int] = {}
        word_constants: dict[int, int] = {}
        words = 0
        heads = []
        for made in found:
            nests = []
            for nest in made.nests:
                moved = {
                    register: most + constants.setdefault(key, len(constants))
                    for key, register in nest.constants.items()
                }
                nests.append(nest.finish(moved, words, word_constants))
                words = nest.word_registers
            heads.append(self._head(made, tuple(nests)))
        orders = dict.fromkeys(
            [head.natural for head in heads]
            + [literal.order for head in heads for nest in (*head.nests, *head.first) for literal in nest.literals]
        )
        ids = tuple(self.domains.constants[domain][word] for domain, word in constants)
        return RowWisePlan(tuple(heads), tuple(orders), ids, most + len(ids), word_constants, words)

    def column(self, name: str, column: int) -> tuple[int, int]:
        """Returns the domain of a column, and its size."""
        domain = self.domains.of[name, column]
        return domain, self.sizes[domain]

    def digits(self, name: str, columns: Sequence[int]) -> tuple[Digits, int]:
        """Returns columns as the digits of a number, and how many such numbers there are."""
        sizes = [self.column(name, column)[1] for column in columns]
        return tuple((column, prod(sizes[place + 1 :])) for place, column in enumerate(columns)), prod(sizes)

    def _head(self, made: _HeadNests, nests: tuple[Nest, ...]) -> Head:
        width = len(made.nests[0].rule.head.terms)
        digits, values = self.digits(made.name, [column for column in range(width) if column != made.prefix])
        domains = [self.column(made.name, column) for column in range(width)]
        return Head(
            self.numbers[made.name],
            made.prefix,
            domains[made.prefix][1],
            digits,
            values,
            tuple(domain for domain, _ in domains),
            tuple(nest for nest in nests if self.is_recursive(nest.rule)),
            tuple(nest for nest in nests if not self.is_recursive(nest.rule)),
        )

    def is_recursive(self, rule: Rule) -> bool:
        return any(atom.relation in self.inside for atom in rule.positives)

    def _best_prefix(self, name: str) -> _HeadNests | None:
        """Returns the nests of a head's rules, by the column as prefix with which most of them end in lists; of
        several, by the one from which most of the others begin with new rows; of several, by the one with most ids."""
        own = [rule for rule in self.rules if rule.head.relation == name]
        if not own:
            return _HeadNests(name, 0, ())
        best: _HeadNests | None = None
        most = (-1, -1, -1)
        width = len(own[0].head.terms)
        for prefix in range(width):
            if self.digits(name, [column for column in range(width) if column != prefix])[1] >= MOST_VALUES:
                continue
            makers = tuple(_NestMaker(self, rule, prefix) for rule in own)
            if all(maker.run() for maker in makers):
                recursive = [maker for maker in makers if self.is_recursive(maker.rule)] or makers
                score = (
                    sum(maker.ends != kernels.ENDS_ANYHOW for maker in recursive),
                    sum(maker.ends == kernels.ENDS_ANYHOW and maker.begins_with_new for maker in recursive),
                    self.column(name, prefix)[1],
                )
                if score > most:
                    best, most = _HeadNests(name, prefix, makers), score
        return best


@dataclass(frozen=True, slots=True)
class _HeadNests:
    name: str
    prefix: int
    nests: tuple[_NestMaker, ...]


class _NestMaker:
    """Puts the literals of one rule into an order. Constants have negative registers until all rules are planned."""

    def __init__(self, planner: Planner, rule: Rule, prefix: int) -> None:
        self.rule = rule
        self._planner = planner
        self._prefix = prefix
        self._bound: dict[str, int] = {}
        self._domains: dict[str, int] = {}
        self._expected = 1.0
        self.registers = 1
        self.word_registers = 0
        self.constants: dict[tuple[int, int], int] = {}  # domain, word → register
        self._literals: list[ListLiteral] = []
        self._conditions: dict[int, list[typed.Expression]] = {}  # place of a literal → conditions behind it
        term = rule.head.terms[prefix]
        if isinstance(term, Variable):
            self._bind(term.name, rule.head, prefix, kernels.PREFIX_REGISTER)
            self._expected = float(planner.column(rule.head.relation, prefix)[1])
        for column, each in enumerate(rule.head.terms):
            if column != prefix and isinstance(each, Constant):
                self._register(rule.head, column, each)
        self._value_names = {
            each.name
            for column, each in enumerate(rule.head.terms)
            if column != prefix and isinstance(each, Variable) and each.name not in self._bound
        }

    def run(self) -> bool:
        """Orders the literals; returns False if the rule does not fit."""
        left = list(self.rule.positives)
        negatives = list(self.rule.negatives)
        conditions = [each.expression for each in self.rule.body if isinstance(each, Condition)]
        while left:
            chosen = min(left, key=self._rank)
            left.remove(chosen)
            self._open(chosen, left, conditions)
            negatives = [atom for atom in negatives if not self._check(atom, is_wanted=False)]
            conditions = [each for each in conditions if not self._test(each)]
            left = [atom for atom in left if not self._is_below(atom) or not self._check(atom, is_wanted=True)]
        return not negatives and not conditions

    @property
    def ends(self) -> int:
        """How the rule ends; see `kernels.RULE_ENDS`."""
        last = self._literals[-1]
        if not last.is_plain() or len(self._literals) - 1 in self._conditions:
            return kernels.ENDS_ANYHOW
        return kernels.ENDS_IN_LIST if last.binds else kernels.ENDS_IN_LENGTH

    @property
    def begins_with_new(self) -> bool:
        """True if the first list is the only one of the stratum, so that a wave reads nothing but its new rows."""
        return [place for place, each in enumerate(self._literals) if each.order.is_inside] == [0]

    def finish(self, moved: Mapping[int, int], first_word: int, word_constants: dict[int, int]) -> Nest:
        """Returns the nest, with other registers for constants, and its registers of words from `first_word` on."""

        def at(digits: Digits) -> Digits:
            return tuple((moved.get(register, register), factor) for register, factor in digits)

        self.word_registers = first_word
        literals = [
            ListLiteral(
                each.order,
                at(each.key),
                each.binds,
                each.equals,
                [Check(c.relation, c.is_wanted, at(c.registers)) for c in each.checks],
                self._tail(place, word_constants),
                self._bounded(place),
            )
            for place, each in enumerate(self._literals)
        ]
        head = self.rule.head
        factors, _ = self._planner.digits(
            head.relation, [column for column in range(len(head.terms)) if column != self._prefix]
        )
        value = at(tuple((self._register(head, column, head.terms[column]), factor) for column, factor in factors))
        ends = self.ends
        if ends == kernels.ENDS_IN_LIST:
            # The words of the last list become one: their part of the value.
            last = literals[-1]
            columns = {register: last.order.words[offset][0][0] for offset, register in last.binds}
            packed = tuple((columns[register], factor) for register, factor in value if register in columns)
            value = tuple(pair for pair in value if pair[0] not in columns)
            old = last.order
            last.order = Order(old.relation, old.keys, (packed,), old.space, old.is_inside)
            last.binds = ()
        term = head.terms[self._prefix]
        prefix = -1
        if isinstance(term, Constant):
            domain, _ = self._planner.column(head.relation, self._prefix)
            prefix = self._planner.domains.constants[domain][self._planner.word(term.value, term.type)]
        return Nest(self.rule, prefix, value, literals, ends, self._expected)

    def _tail(self, place: int, word_constants: dict[int, int]) -> Tail | None:
        """Compiles the conditions behind a literal."""
        if place not in self._conditions:
            return None
        compiler = FilterCompiler(self._planner.word, self.word_registers)
        for condition in self._conditions[place]:
            compiler.add(condition)
        self.word_registers = len(compiler.registers)
        word_constants |= compiler.constants
        loads = [(target, self._bound[name], self._domains[name]) for name, target in compiler.variables.items()]
        return Tail(tuple(loads), tuple(compiler.tail))

    def _bounded(self, place: int) -> int:
        """Returns in how many columns comparisons bound the rows of a literal."""
        own = {register for _, register in self._literals[place].binds}
        names = {name for name, register in self._bound.items() if register in own}
        return len({name for each in self._conditions.get(place, ()) for name in _compared(each, names)})

    def _is_below(self, atom: Atom) -> bool:
        return atom.relation not in self._planner.inside

    def _bind(self, name: str, atom: Atom, column: int, register: int) -> None:
        self._bound[name] = register
        self._domains[name] = self._planner.column(atom.relation, column)[0]

    def _known(self, atom: Atom) -> list[int]:
        """Returns the columns of an atom whose ids are known."""
        return [
            column
            for column, term in enumerate(atom.terms)
            if isinstance(term, Constant) or (isinstance(term, Variable) and term.name in self._bound)
        ]

    def _rank(self, atom: Atom) -> tuple[bool, bool, float, bool]:
        """Returns what to open first: what is connected, does not bind the value, has short lists, and is below."""
        known = self._known(atom)
        names = {term.name for term in atom.terms if isinstance(term, Variable)}
        is_apart = not names & self._bound.keys() and bool(names)
        rows = max(self._planner.rows[atom.relation], 1)
        length = rows / min(self._planner.digits(atom.relation, known)[1], rows)
        binds_value = bool(names & self._value_names - self._bound.keys())
        return is_apart, binds_value, length, not self._is_below(atom)

    def _register(self, atom: Atom, column: int, term: Term) -> int:
        """Returns the register of a constant or of a bound variable, in a column of an atom."""
        if isinstance(term, Constant):
            domain, _ = self._planner.column(atom.relation, column)
            key = domain, self._planner.word(term.value, term.type)
            return self.constants.setdefault(key, -2 - len(self.constants))
        assert isinstance(term, Variable)
        return self._bound[term.name]

    def _open(self, atom: Atom, left: Sequence[Atom], conditions: Sequence[typed.Expression]) -> None:
        """Adds the literal that reads the list of an atom by its known columns."""
        terms = atom.terms
        known = self._known(atom)
        digits, space = self._planner.digits(atom.relation, known)
        key = tuple((self._register(atom, column, terms[column]), factor) for column, factor in digits)
        needed = {term.name for other in (*left, *self.rule.negatives, self.rule.head) for term in other.terms
                  if isinstance(term, Variable)}  # fmt: skip
        needed |= {name for each in conditions for name in typed.variables(each)}
        words: list[Digits] = []
        binds: list[tuple[int, int]] = []
        equals: list[tuple[int, int]] = []
        for column, term in enumerate(terms):
            if column in known or isinstance(term, Wildcard):
                continue
            assert isinstance(term, Variable)
            if term.name in self._bound:
                equals.append((len(words), self._bound[term.name]))
            elif term.name in needed or terms.count(term) > 1:
                self._bind(term.name, atom, column, self.registers)
                binds.append((len(words), self.registers))
                self.registers += 1
            else:
                continue
            words.append(((column, 1),))
        rows = self._planner.rows[atom.relation]
        self._expected *= rows / max(min(space, rows), 1)
        order = Order(self._planner.numbers[atom.relation], digits, tuple(words), space, not self._is_below(atom))
        self._literals.append(ListLiteral(order, key, tuple(binds), tuple(equals)))

    def _check(self, atom: Atom, *, is_wanted: bool) -> bool:
        """Adds a check for an atom whose columns are all known; returns False if they are not."""
        if len(self._known(atom)) < len(atom.terms):
            return False
        registers = tuple(
            (self._register(atom, column, term), self._planner.column(atom.relation, column)[0])
            for column, term in enumerate(atom.terms)
        )
        relation = self._planner.numbers[atom.relation]
        self._literals[-1].checks.append(Check(relation, is_wanted, registers))
        return True

    def _test(self, condition: typed.Expression) -> bool:
        """Adds a condition whose variables are all known; returns False if they are not."""
        if not typed.variables(condition) <= self._bound.keys():
            return False
        self._conditions.setdefault(len(self._literals) - 1, []).append(condition)
        return True


def _compared(condition: typed.Expression, names: set[str]) -> set[str]:
    """Returns which of some variables a condition compares with what does not depend on any of them."""
    match condition:
        case typed.Binary(op="<" | "<=" | ">" | ">=", left=left, right=right):
            return {
                side.name
                for side, other in ((left, right), (right, left))
                if isinstance(side, typed.Var) and side.name in names and not typed.variables(other) & names
            }
    return set()
