"""Algorithm 3 of "Towards Elastic Incrementalization for Datalog", corrected: a program and its facts, epoch by epoch →
for each row the iteration in which it is found first, and the number of its instances there.

It is written to be compared with the paper and says nothing of cost: sets of facts, one line a formula, every instance
enumerated in every round. A stratum's state is N#, a list of rounds, each with a count per row. With o for the epoch
before, round k makes

    N#(k) = N#o(k) - DEL + INS + RED, without the rows of I+(k-1)

    DEL   what was found and is not: it has lost a row of the body, or met a negated one
    INS   what is found and was not: with a new row in the body, or with a negated one that left
    RED   what holds in both epochs and whose head has lost an earlier round

As printed the algorithm is wrong in eight ways, C1 to C8; each can be asked for, to show what it does.

What a Bootstrap would find is what it has after every epoch: no row is in two rounds, and none is kept by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Set
from dataclasses import dataclass, replace
from itertools import count

from tests.oracle.instances import instances
from tests.oracle.order import in_order
from tests.oracle.program import Atom, Negative, Positive, Program, Relation, Rule, Var, Wildcard
from tests.oracle.types import Relations, Row

Fact = tuple[str, Row]
Facts = Set[Fact]
Rounds = list[Counter[Fact]]
Numbers = dict[str, dict[Row, tuple[int, int]]]

AS_PRINTED = {
    "C1": "the deletion term looks for deleted negated rows, not for inserted ones",
    "C2": "a negated row that is inserted now does not block re-discovery",
    "C3": "a negated row that is deleted now does not block re-discovery, which then counts what insertion counts",
    "C4": "re-discovery is a set",
    "C5": "rounds after the first empty one stay as they were",
    "C6": "the strata above get the deletion set of the last round",
    "C7": "the strata above get the insertion set of the last round",
    "C8": "a rule has no hidden fact",
}


class Algorithm3:
    """One program through its epochs. `printed` are the mistakes to make, of `AS_PRINTED`."""

    def __init__(self, program: Program, printed: Collection[str] = (), limit: int | None = None) -> None:
        """Opens without input facts. `limit` is that of `instances`: beyond it, TooLargeError."""
        self._relations = [relation.name for relation in program.relations]
        self._printed, self._limit = printed, limit
        program, self._hidden = _with_hidden_facts(_with_projections(program), "C8" not in printed)
        self._facts: Facts = frozenset()
        self._strata = [
            _Stratum(names, [_apart(rule) for rule in program.rules if rule.head.relation in names])
            for names in in_order(program)
        ]
        self.update({})

    def update(self, facts: Relations) -> None:
        """The epoch in which the input facts become these."""
        before = self._facts
        self._facts = {(name, row) for name, rows in facts.items() for row in rows} | self._hidden
        lower_o: set[Fact] = set()
        lower: set[Fact] = set()
        gone: set[Fact] = set()
        came: set[Fact] = set()
        for stratum in self._strata:
            own, own_o = stratum.own(self._facts), stratum.own(before)
            was = stratum.rows()
            minus, plus = self._update(stratum, lower_o, lower, gone | (own_o - own), came | (own - own_o), own)
            now = stratum.rows()
            gone |= stratum.own(minus) if "C6" in self._printed else was - now
            came |= stratum.own(plus) if "C7" in self._printed else now - was
            lower_o |= was
            lower |= now

    def relations(self) -> Relations:
        """The rows of every relation."""
        return {name: frozenset(rows) for name, rows in self.numbers().items()}

    def numbers(self) -> Numbers:
        """Iteration and count of every row; of input facts and of what they hide, 0 and 1."""
        found: Numbers = {name: {} for name in self._relations}
        for stratum in self._strata:
            for k, counts in enumerate(stratum.rounds):
                for (name, row), counted in counts.items():
                    if name in found:
                        found[name][row] = (k, counted)
        return found

    def _update(
        self, stratum: _Stratum, lower_o: Facts, lower: Facts, minus0: Facts, plus0: Facts, own: Facts
    ) -> tuple[Facts, Facts]:
        """Algorithm 3: N#o becomes N#. Returns I- and I+ as they are at the end."""
        printed, rounds_o, rounds = self._printed, stratum.rounds, [Counter(own)]
        rows_o, rows = set(rounds_o[0]) | lower_o, own | lower  # Io(k-1) and I(k-1)
        delta_o, delta = set(rows_o), set(rows)  # No(k-1) and N(k-1)
        minus, plus = minus0, plus0  # I-(k-1) and I+(k-1)
        blocks = lower_o | lower
        blocks -= (plus0 if "C2" in printed else set()) | (minus0 if "C3" in printed else set())
        for k in count(1):
            found_o = rounds_o[k] if k < len(rounds_o) else Counter[Fact]()
            met = minus0 if "C1" in printed else plus0
            deleted = Counter(
                each.head
                for each in self._instances(stratum, rows_o, delta_o)
                if each.head not in rows_o and not each.negated & lower_o and (each.body & minus or each.negated & met)
            )
            inserted = Counter(
                each.head
                for each in self._instances(stratum, rows, delta)
                if each.head not in rows and not each.negated & lower and (each.body & plus or each.negated & minus0)
            )
            again = Counter(
                each.head
                for each in self._instances(stratum, rows_o & rows, delta)
                if each.head in minus and not each.negated & blocks
            )
            if "C4" in printed:
                again = Counter(set(again))
            found = found_o - deleted + inserted + again
            found = Counter({head: counted for head, counted in found.items() if head not in plus})
            delta_o, delta = set(found_o), set(found)
            rows_o, rows = rows_o | delta_o, rows | delta
            minus, plus = (minus - delta) | (delta_o - rows), (plus - delta_o) | (delta - rows_o)
            rounds.append(found)
            if not found:
                break
        if "C5" in printed:
            later = rounds_o[len(rounds) :]
            rounds += [Counter({head: n for head, n in counts.items() if head not in rows}) for counts in later]
        stratum.rounds = rounds
        return minus, plus

    def _instances(self, stratum: _Stratum, rows: Facts, delta: Facts) -> Iterator[_Instance]:
        """The instances whose body is in `rows` and meets `delta`, whatever they negate."""
        if not delta & rows:
            return
        read: dict[str, dict[Row, int]] = {name: {} for rule in stratum.rules for name in rule.reads}
        for name, row in rows:
            if name in read:
                read[name][row] = 1
        for rule in stratum.rules:
            for found in instances(rule.positive, read, self._limit):
                if not delta.isdisjoint(found.body):
                    yield rule.instance(found.row, frozenset(found.body))


@dataclass(frozen=True, slots=True)
class _Instance:
    """One way in which a body may hold: if none of the negated rows is there."""

    head: Fact
    body: frozenset[Fact]
    negated: frozenset[Fact]


@dataclass(frozen=True, slots=True)
class _Apart:
    """A rule without its negated atoms; their terms stand after those of the head."""

    positive: Rule
    head: str
    width: int
    negated: tuple[tuple[str, int], ...]

    @property
    def reads(self) -> list[str]:
        return [literal.atom.relation for literal in self.positive.body if isinstance(literal, Positive)]

    def instance(self, row: Row, body: frozenset[Fact]) -> _Instance:
        negated, at = [], self.width
        for name, width in self.negated:
            negated.append((name, row[at : at + width]))
            at += width
        return _Instance((self.head, row[: self.width]), body, frozenset(negated))


class _Stratum:
    """Relations that are computed together: their rules, and their rows round by round. Round 0 has the facts."""

    def __init__(self, names: frozenset[str], rules: list[_Apart]) -> None:
        self.names, self.rules = names, rules
        self.rounds: Rounds = [Counter()]

    def own(self, facts: Facts) -> set[Fact]:
        return {fact for fact in facts if fact[0] in self.names}

    def rows(self) -> set[Fact]:
        return {fact for counts in self.rounds for fact in counts}


def _apart(rule: Rule) -> _Apart:
    negated = [literal.atom for literal in rule.body if isinstance(literal, Negative)]
    terms = tuple(term for atom in (rule.head, *negated) for term in atom.terms)
    body = tuple(literal for literal in rule.body if not isinstance(literal, Negative))
    return _Apart(
        Rule(Atom(rule.head.relation, terms), body),
        rule.head.relation,
        len(rule.head.terms),
        tuple((atom.relation, len(atom.terms)) for atom in negated),
    )


def _with_projections(program: Program) -> Program:
    """The program in which `not R(x, _)` reads a relation of its own, which has what R has without that column."""
    columns = {relation.name: relation.columns for relation in program.relations}
    made: dict[str, tuple[Relation, Rule]] = {}

    def projected(atom: Atom) -> Atom:
        kept = [i for i, term in enumerate(atom.terms) if not isinstance(term, Wildcard)]
        if len(kept) == len(atom.terms):
            return atom
        name = f"{atom.relation} by {kept}"
        types = tuple(columns[atom.relation][i] for i in kept)
        all_terms = tuple(
            Var(f"x{i}", type_) if i in kept else Wildcard() for i, type_ in enumerate(columns[atom.relation])
        )
        head = Atom(name, tuple(term for term in all_terms if isinstance(term, Var)))
        made[name] = Relation(name, types, "internal"), Rule(head, (Positive(Atom(atom.relation, all_terms)),))
        return Atom(name, tuple(atom.terms[i] for i in kept))

    rules = tuple(
        replace(rule, body=tuple(Negative(projected(e.atom)) if isinstance(e, Negative) else e for e in rule.body))
        for rule in program.rules
    )
    relations, projections = (relation for relation, _ in made.values()), (rule for _, rule in made.values())
    return Program((*program.relations, *relations), (*rules, *projections))


def _with_hidden_facts(program: Program, hidden: bool) -> tuple[Program, Facts]:
    """The program in which every rule reads a fact of its own, and these facts."""
    if not hidden:
        return program, frozenset()
    names = [f"rule {number}" for number in range(len(program.rules))]
    rules = tuple(
        replace(rule, body=(*rule.body, Positive(Atom(name, ())))) for name, rule in zip(names, program.rules)
    )
    relations = tuple(Relation(name, (), "input") for name in names)
    return Program((*program.relations, *relations), rules), {(name, ()) for name in names}
