"""Recursive rules → nests of lists that go from the head's prefix to its value (`kernels/row_wise`).

A rule fits if its body is positive literals, negated literals of lower strata, and conditions and assignments of words
that cannot fail. One column of the head is its prefix; the ids of the others are the digits of its value. The literals
are put into an order that begins with the prefix and binds the value late, so that the last lists are lists of values:

    V(t; c, g) :- Load(t, b, f), V(b, c, h), F(h, f, g).
    prefix t ─ Load by t: b, f ─ V by b: c, h ─ F by (h, f): g       each g of the last list counts for the value (c, g)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from math import prod
from typing import Any

from tidelog.check import typed
from tidelog.engine.local.execution.row_domains import Domains
from tidelog.engine.local.execution.row_wise_plan import (
    NO_PREFIX,
    Absence,
    Check,
    DeltaNest,
    Digits,
    Head,
    Jobs,
    ListLiteral,
    Nest,
    Order,
    RowWisePlan,
    Tail,
)
from tidelog.engine.local.execution.word_expressions import WordCompiler
from tidelog.engine.local.kernels import row_wise as kernels
from tidelog.plan.plain import is_plain
from tidelog.rules.ir import Assign, Atom, Condition, Constant, Negative, Positive, Rule, Term, Variable, Wildcard
from tidelog.types import Type

MOST_LITERALS = 12
MOST_VALUES = 1 << 31  # that a head may have for one prefix
FEW_VALUES = 1 << 17  # of one prefix: their counters are near
# A row is looked for in a list by marks, of so many possible words, if lists have at most so many rows on average.
MOST_MARKS, LONGEST_MARKED = 1 << 22, 256
LONGEST_MARKED_AGAIN = 16  # rows of a list that is marked in each wave
_Word = Callable[[Any, Type], int]


def fits(rule: Rule) -> bool:
    """True if a rule can be a nest, whatever the sizes; one with an attribute `join` is joined as it says."""
    return (
        not rule.join
        and 0 < len(rule.positives) <= MOST_LITERALS
        and len(rule.head.terms) > 0
        and all(
            isinstance(each, Positive | Negative)
            or (
                (isinstance(each, Condition | Assign) and is_plain(each.expression))
                and not typed.may_fail(each.expression)
            )
            for each in rule.body
        )
    )


def fit_together(rules: Sequence[Rule]) -> bool:
    """True if each head relation has a column for which no rule makes words: one that may be the prefix."""
    heads: dict[str, set[int]] = {}
    for rule in rules:
        free = {column for column in range(len(rule.head.terms)) if not is_made(rule, column)}
        heads[rule.head.relation] = heads.get(rule.head.relation, free) & free
    return all(heads.values())


def is_made(rule: Rule, column: int) -> bool:
    """True if the rule makes the words in this column of its head."""
    term = rule.head.terms[column]
    return any(isinstance(each, Assign) and each.variable == term for each in rule.body)


def goes_straight(rules: Sequence[Rule], name: str) -> bool:
    """True if recursive rules lead from the new rows of a relation to rows with the same word in one column, so that a
    wave that goes head by head visits nothing but the prefixes of its new rows."""
    own = [rule for rule in rules if rule.head.relation == name]

    def keeps(rule: Rule, column: int) -> bool:
        term = rule.head.terms[column]
        found = [atom for atom in rule.positives if atom.relation == name]
        return isinstance(term, Variable) and len(found) == 1 and term in found[0].terms

    return any(all(keeps(rule, column) for rule in own) for column in range(len(own[0].head.terms))) if own else True


class Planner:
    """Plans the rules of a stratum. `rows` are the present numbers of rows of all relations. `listed` are those whose
    rows may be looked for by marks where they must not be there: all of their columns have ids."""

    def __init__(
        self,
        rules: Sequence[Rule],
        inside: Sequence[str],
        domains: Domains,
        rows: Mapping[str, int],
        numbers: Mapping[str, int],
        word: _Word,
        listed: Set[str] = frozenset(),
    ) -> None:
        self.rules = rules
        self.listed = listed
        self.inside = inside
        self.domains = domains
        self.sizes = domains.sizes
        self.numbers = numbers
        self.word = word
        most = max((rows[atom.relation] for rule in rules for atom in rule.positives), default=0)
        # A relation that is being filled will have more rows than now.
        self.rows = {name: max(count, most) if name in inside else count for name, count in rows.items()}

    def plan(self, deltas: Callable[[Rule, int], tuple[DeltaMaker, ...]] | None = None) -> RowWisePlan | None:
        """Returns the plan, or None if a relation does not fit. `deltas` makes what runs in place of a recursive rule,
        given the column of the prefix."""
        makers = [self._best_prefix(name, has_deltas=deltas is not None) for name in self.inside]
        if any(made is None for made in makers):
            return None
        found = [made for made in makers if made is not None and made.nests]
        if not found:
            return None
        others = {
            id(nest): deltas(nest.rule, made.prefix) if deltas and self.is_recursive(nest.rule) else ()
            for made in found
            for nest in made.nests
        }
        every = [nest for made in found for nest in made.nests]
        every += [each for own in others.values() for delta in own for each in delta.makers]
        most = max(nest.registers for nest in every)
        constants: dict[tuple[int, int], int] = {}
        word_constants: dict[int, int] = {}
        words = 0
        finished: dict[int, Nest] = {}
        for maker in every:
            moved = {
                register: most + constants.setdefault(key, len(constants)) for key, register in maker.constants.items()
            }
            finished[id(maker)] = maker.finish(moved, words, word_constants)
            words = maker.word_registers
        heads = [self._head(made, finished, others) for made in found]
        ids = tuple(self.domains.constants[domain][word] for domain, word in constants)
        registers = most + len(ids)
        plan = RowWisePlan(tuple(heads), (), ids, registers, word_constants, words, len(self.domains.constants))
        self._share_values(plan)
        literals = [literal for nest in plan.nests for literal in nest.literals]
        orders = [*(head.natural for head in heads), *(each.order for each in literals)]
        plan.orders = tuple(dict.fromkeys([*orders, *(each.order for each in plan.absences)]))
        return plan

    def _share_values(self, plan: RowWisePlan) -> None:
        """Lets rules read the lists of values by prefix where they read lists by the same column: other lists of these
        rows would take as much memory again, or twice as much."""
        heads = {(head.relation, head.natural.keys): head for head in plan.heads}
        for nest in plan.nests:
            for literal in nest.literals:
                head = heads.get((literal.order.relation, literal.order.keys))
                ends = literal is nest.literals[-1] and nest.ends == kernels.ENDS_IN_LIST
                if head is None or ends or literal.mark or literal.order == head.natural:
                    continue
                radix = dict(head.digits)
                columns = [column for ((column, _),) in literal.order.words]
                literal.parts = tuple((radix[column], self.sizes[head.domains[column]]) for column in columns)
                literal.order = head.natural

    def column(self, name: str, column: int) -> tuple[int, int]:
        """Returns the domain of a column, and its size."""
        domain = self.domains.of[name, column]
        return domain, self.sizes[domain]

    def digits(self, name: str, columns: Sequence[int]) -> tuple[Digits, int]:
        """Returns columns as the digits of a number, and how many such numbers there are."""
        sizes = [self.column(name, column)[1] for column in columns]
        return tuple((column, prod(sizes[place + 1 :])) for place, column in enumerate(columns)), prod(sizes)

    def _head(
        self, made: _HeadNests, finished: Mapping[int, Nest], others: Mapping[int, tuple[DeltaMaker, ...]]
    ) -> Head:
        width = len(made.nests[0].rule.head.terms)
        digits, values = self.digits(made.name, [column for column in range(width) if column != made.prefix])
        domains = [self.column(made.name, column) for column in range(width)]
        return Head(
            self.numbers[made.name],
            made.prefix,
            1 if made.prefix == NO_PREFIX else domains[made.prefix][1],
            digits,
            values,
            tuple(domain for domain, _ in domains),
            tuple(finished[id(maker)] for maker in made.nests if self.is_recursive(maker.rule)),
            tuple(finished[id(maker)] for maker in made.nests if not self.is_recursive(maker.rule)),
            tuple(
                tuple(delta.finish(finished) for delta in others[id(maker)])
                for maker in made.nests
                if self.is_recursive(maker.rule)
            ),
        )

    def is_recursive(self, rule: Rule) -> bool:
        return any(atom.relation in self.inside for atom in rule.positives)

    def _best_prefix(self, name: str, *, has_deltas: bool) -> _HeadNests | None:
        """Returns the nests of a head's rules, by the column as prefix with which most of them end in lists; of
        several, by the one from which most of the others begin with new rows; of several, by one from which all rules
        do, if waves begin with their new rows and each prefix has few values; of several, by the one with most ids.

        A head of one column has no prefix, and that column as its value, if all recursive rules begin with new rows.
        """
        own = [rule for rule in self.rules if rule.head.relation == name]
        if not own:
            return _HeadNests(name, 0, ())
        if not has_deltas and len(own[0].head.terms) == 1:
            makers = tuple(NestMaker(self, rule, NO_PREFIX) for rule in own)
            if all(maker.run() for maker in makers) and all(
                maker.begins_with_new for maker in makers if self.is_recursive(maker.rule)
            ):
                return _HeadNests(name, NO_PREFIX, makers)
        best: _HeadNests | None = None
        most = (-1, -1, -1, -1)
        width = len(own[0].head.terms)
        for prefix in range(width):
            values = self.digits(name, [column for column in range(width) if column != prefix])[1]
            if values >= MOST_VALUES:
                continue
            if any(is_made(rule, prefix) for rule in own):
                continue
            makers = tuple(NestMaker(self, rule, prefix) for rule in own)
            if all(maker.run() for maker in makers):
                recursive = [maker for maker in makers if self.is_recursive(maker.rule)] or makers
                score = (
                    sum(maker.ends != kernels.ENDS_ANYHOW for maker in recursive),
                    sum(maker.ends == kernels.ENDS_ANYHOW and maker.begins_with_new for maker in recursive),
                    has_deltas and values <= FEW_VALUES and all(maker.begins_with_new for maker in recursive),
                    self.column(name, prefix)[1],
                )
                if score > most:
                    best, most = _HeadNests(name, prefix, makers), score
        return best


@dataclass(frozen=True, slots=True)
class _HeadNests:
    name: str
    prefix: int
    nests: tuple[NestMaker, ...]


@dataclass(frozen=True, slots=True)
class DeltaMaker:
    """A delta nest before its registers are final: the nest, its gate, and the path, drivers and lists of its jobs."""

    maker: NestMaker
    gate: tuple[int, int] | None
    path: NestMaker | None = None
    drivers: tuple[int, int] = (-1, -1)
    order: Order | None = None

    @property
    def makers(self) -> list[NestMaker]:
        return [self.maker] if self.path is None else [self.maker, self.path]

    def finish(self, finished: Mapping[int, Nest]) -> DeltaNest:
        if self.path is None or self.order is None:
            return DeltaNest(finished[id(self.maker)], self.gate, None)
        return DeltaNest(finished[id(self.maker)], None, Jobs(self.drivers, finished[id(self.path)], self.order))


class NestMaker:
    """Puts the literals of one rule into an order. Constants have negative registers until all rules are planned.

    It begins with the prefix, or with a variable (`begin_with`) of a literal's column; then the nest ends with jobs.
    """

    def __init__(
        self, planner: Planner, rule: Rule, prefix: int, begin_with: tuple[str, Atom, int] | None = None
    ) -> None:
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
        # Place of a literal → conditions and assignments behind it.
        self._conditions: dict[int, list[typed.Expression | Assign]] = {}
        self._left = list(range(len(rule.positives)))
        self._negatives = list(rule.negatives)
        self._tests = [each.expression for each in rule.body if isinstance(each, Condition)]
        self._assigned = [each for each in rule.body if isinstance(each, Assign)]
        self._assigns = list(self._assigned)
        self._compared: set[str] = set()  # variables that a literal had bound before they were assigned
        self._job: list[str] | None = None
        # Literals whose row is looked for in the list of one column, once all columns are known.
        self.marked: Mapping[int, int] = {}
        if begin_with is not None:
            self._bind(*begin_with, kernels.PREFIX_REGISTER)
            return
        term = rule.head.terms[prefix]
        if prefix != NO_PREFIX and isinstance(term, Variable):
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
        atoms = self.rule.positives
        while self._left:
            self.open(min(self._left, key=lambda place: self._rank(atoms[place])))
        return self.is_complete

    @property
    def is_complete(self) -> bool:
        """True if nothing of the rule is left."""
        return not self._left and not self._negatives and not self._tests and not self._assigns

    def open(self, place: int, reads: int | None = None) -> None:
        """Adds the literal that stands at this place of the body, if it is not checked already."""
        if place not in self._left:
            return
        self._left.remove(place)
        atoms = self.rule.positives
        if place in self.marked:
            self._look_for_mark(atoms[place], self.marked[place])
            return
        conditions = [*self._tests, *(each.expression for each in self._assigns)]
        self._open(atoms[place], [atoms[other] for other in self._left], conditions, reads)
        self._tests = [each for each in self._tests if not self._test(each)]
        self._check_rows()
        # In their order: one may need the word of another one.
        self._assigns = [each for each in self._assigns if not self._assign(each)]
        self._tests = [each for each in self._tests if not self._test(each)]
        self._negatives = [
            atom for atom in self._negatives if not (self._mark_absent(atom) or self._check(atom, is_wanted=False))
        ]
        self._check_rows()

    def _check_rows(self) -> None:
        """Adds checks for the rows of lower strata whose columns are all known."""
        atoms = self.rule.positives
        self._left = [
            each
            for each in self._left
            if each in self.marked or not self._is_below(atoms[each]) or not self._check(atoms[each], is_wanted=True)
        ]

    def end_with(self, names: Sequence[str]) -> None:
        """Ends the nest with jobs that have the ids of some variables."""
        self._job = list(names)

    def end_with_job(self) -> list[str]:
        """Ends the nest once the prefix is known; returns the variables of a job that are needed behind the prefix."""
        atoms = [*(self.rule.positives[place] for place in self._left), *self._negatives, self.rule.head]
        needed = {term.name for atom in atoms for term in atom.terms if isinstance(term, Variable)}
        needed |= {name for each in self._tests for name in typed.variables(each)}
        needed |= {name for each in self._assigns for name in (each.variable.name, *typed.variables(each.expression))}
        prefix = self.rule.head.terms[self._prefix]
        assert isinstance(prefix, Variable)
        found = sorted((needed & self._bound.keys()) - {prefix.name})
        self._job = [prefix.name, *found]
        return found

    def continue_from(self, path: NestMaker, order: Order, names: Sequence[str]) -> None:
        """Begins, behind the prefix, with the lists of the jobs in which another nest ends."""
        self._left, self._negatives, self._tests = list(path._left), list(path._negatives), list(path._tests)
        self._assigns = list(path._assigns)
        binds = []
        for offset, name in enumerate(names):
            self._bound[name], self._domains[name] = self.registers, path._domains[name]
            binds.append((offset, self.registers))
            self.registers += 1
        key = ((kernels.PREFIX_REGISTER, 1),)
        self._literals.append(ListLiteral(order, key, tuple(binds), (), reads=kernels.READS_ALL))

    @property
    def ends(self) -> int:
        """How the rule ends; see `kernels.RULE_ENDS`."""
        last = self._literals[-1]
        if self._job is not None or not last.is_plain() or len(self._literals) - 1 in self._conditions:
            return kernels.ENDS_ANYHOW
        if last.order.relation < 0 and last.binds and len(self.rule.head.terms) > 2:
            return kernels.ENDS_ANYHOW  # the words of jobs are no parts of values
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
                each.reads,
                at(each.mark),
                each.mark_space,
                self._bounded(place),
                absences=[Absence(a.order, at(a.key), at(a.mark), a.space) for a in each.absences],
            )
            for place, each in enumerate(self._literals)
        ]
        if self._job is not None:
            job = tuple((self._bound[name], 1) for name in self._job)
            return Nest(self.rule, -1, job, literals, kernels.ENDS_ANYHOW)
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
            if old.relation >= 0:
                last.order = Order(old.relation, old.keys, (packed,), old.space, old.is_inside)
            last.binds = ()
        term = head.terms[self._prefix]
        prefix = -1
        if self._prefix != NO_PREFIX and isinstance(term, Constant):
            domain, _ = self._planner.column(head.relation, self._prefix)
            prefix = self._planner.domains.constants[domain][self._planner.word(term.value, term.type)]
        return Nest(self.rule, prefix, value, literals, ends, self._expected)

    def _tail(self, place: int, word_constants: dict[int, int]) -> Tail | None:
        """Compiles the conditions and assignments behind a literal."""
        if place not in self._conditions:
            return None
        compiler = WordCompiler(self._planner.word, self.word_registers)
        for each in self._conditions[place]:
            if isinstance(each, Assign) and each.variable.name in self._compared:
                compiler.compare(each.variable.name, each.expression)
            elif isinstance(each, Assign):
                compiler.assign(each.variable.name, each.expression)
            else:
                compiler.add(each)
        self.word_registers = len(compiler.registers)
        word_constants |= compiler.constants
        loads, made = (
            tuple((register, self._bound[name], self._domains[name]) for name, register in registers.items())
            for registers in (compiler.variables, compiler.made)
        )
        return Tail(loads, tuple(compiler.tail), made)

    def _bounded(self, place: int) -> int:
        """Returns by how many bounds, of columns from above or below, comparisons choose the rows of a literal."""
        own = {register for _, register in self._literals[place].binds}
        names = {name for name, register in self._bound.items() if register in own}
        conditions = [each for each in self._conditions.get(place, ()) if not isinstance(each, Assign)]
        return len({bound for each in conditions for bound in _compared(each, names)})

    def _atom(self, place: int) -> Atom:
        return self.rule.positives[place]

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

    def _open(
        self, atom: Atom, left: Sequence[Atom], conditions: Sequence[typed.Expression], reads: int | None
    ) -> None:
        """Adds the literal that reads the list of an atom by its known columns."""
        terms = atom.terms
        known = self._known(atom)
        if reads is not None and self._look_for(atom, known, reads):
            return
        digits, space = self._planner.digits(atom.relation, known)
        key = tuple((self._register(atom, column, terms[column]), factor) for column, factor in digits)
        needed = {term.name for other in (*left, *self.rule.negatives, self.rule.head) for term in other.terms
                  if isinstance(term, Variable)}  # fmt: skip
        needed |= {name for each in conditions for name in typed.variables(each)}
        needed |= {each.variable.name for each in self._assigns}
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
        self._literals.append(ListLiteral(order, key, tuple(binds), tuple(equals), reads=reads))

    def _look_for(self, atom: Atom, known: Sequence[int], reads: int) -> bool:
        """Adds the literal that looks for a row in the list of its prefix; returns False if that is not possible, or
        lists are too long."""
        terms, name = atom.terms, atom.relation
        at = [column for column in known if isinstance(term := terms[column], Variable)
              and self._bound[term.name] == kernels.PREFIX_REGISTER]  # fmt: skip
        if self._is_below(atom) or len(known) < max(len(terms), 2) or not at or self._job is not None:
            return False
        column, others = at[0], [each for each in known if each != at[0]]
        digits, values = self._planner.digits(name, others)
        key, space = self._planner.digits(name, [column])
        if values > MOST_MARKS or self._planner.rows[name] > LONGEST_MARKED * space:
            return False
        mark = tuple((self._register(atom, each, terms[each]), factor) for each, factor in digits)
        order = Order(self._planner.numbers[name], key, (digits,), space, True)
        self._literals.append(
            ListLiteral(order, ((kernels.PREFIX_REGISTER, 1),), (), (), reads=reads, mark=mark, mark_space=values)
        )
        return True

    def _look_for_mark(self, atom: Atom, column: int) -> None:
        """Adds the literal that looks for a row in the list of one of its columns, all of which are known."""
        name, number = atom.relation, self._planner.numbers[atom.relation]
        digits, values = self._planner.digits(name, [each for each in range(len(atom.terms)) if each != column])
        key, space = self._planner.digits(name, [column])
        mark = tuple((self._register(atom, each, atom.terms[each]), factor) for each, factor in digits)
        order = Order(number, key, (digits,), space, not self._is_below(atom))
        register = self._register(atom, column, atom.terms[column])
        self._literals.append(
            ListLiteral(order, ((register, 1),), (), (), reads=kernels.READS_ALL, mark=mark, mark_space=values)
        )

    def _mark_absent(self, atom: Atom) -> bool:
        """Adds marks of the rows of an atom that must not be there and whose columns are all known; returns False if
        they are not, or if marks would cost more than a search for each row.

        The key is made of what does not change for a prefix. A recursive rule comes to a prefix in each wave, so its
        lists must be short, unless there is but one.
        """
        planner, terms, name = self._planner, atom.terms, atom.relation
        if name not in planner.listed or len(self._known(atom)) < len(terms):
            return False
        made = {each.variable.name for each in self._assigned}
        if any(isinstance(term, Variable) and term.name in made for term in terms):
            return False  # a made word may have no id
        fixed = [column for column, term in enumerate(terms) if isinstance(term, Constant)
                 or (isinstance(term, Variable) and self._bound[term.name] == kernels.PREFIX_REGISTER)]  # fmt: skip
        if len(fixed) == len(terms):
            fixed = []
        key, keys = planner.digits(name, fixed)
        mark, space = planner.digits(name, [column for column in range(len(terms)) if column not in fixed])
        if space > MOST_MARKS or keys >= MOST_VALUES:
            return False
        if fixed and planner.is_recursive(self.rule) and planner.rows[name] > LONGEST_MARKED_AGAIN * keys:
            return False
        order = Order(planner.numbers[name], key, (mark,), keys, False)
        in_key, in_mark = (
            tuple((self._register(atom, column, terms[column]), factor) for column, factor in digits)
            for digits in (key, mark)
        )
        self._literals[-1].absences.append(Absence(order, in_key, in_mark, space))
        return True

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

    def _assign(self, assign: Assign) -> bool:
        """Adds an assignment whose variables are all known, and have the words that literals of lower strata let pass:
        from others, words may be made that have no id. Returns False if they are not."""
        names = typed.variables(assign.expression)
        if not names <= self._bound.keys():
            return False
        if any(self._is_below(atom) and _has_any(atom, names) for atom in map(self._atom, self._left)):
            return False
        name = assign.variable.name
        if name in self._bound:
            self._compared.add(name)
        else:
            self._bound[name], self._domains[name] = self.registers, self._planner.domains.assigned[id(self.rule), name]
            self.registers += 1
        self._conditions.setdefault(len(self._literals) - 1, []).append(assign)
        return True


def _has_any(atom: Atom, names: Set[str]) -> bool:
    return any(isinstance(term, Variable) and term.name in names for term in atom.terms)


def _compared(condition: typed.Expression, names: set[str]) -> set[tuple[str, bool]]:
    """Returns which of some variables a condition compares with what does not depend on any of them, and whether from
    above."""
    match condition:
        case typed.Binary(op="<" | "<=" | ">" | ">=" as op, left=left, right=right):
            return {
                (side.name, is_left == (op in ("<", "<=")))
                for side, other, is_left in ((left, right, True), (right, left, False))
                if isinstance(side, typed.Var) and side.name in names and not typed.variables(other) & names
            }
    return set()
