"""Randomness → a case: a program and a history for it.

Bodies are safe and stratified by construction. A relation has a level; a rule reads levels up to its own and negates
only lower ones. New values (arithmetic, `++`) are made only from lower levels, or in types so narrow that the
recursion ends by itself; so every program has a finite answer. The values of a type come from a small pool with its
edge values in it: small enough that rows meet, odd enough that wrapping, widths and signs matter.

All randomness comes from a `random.Random`: a seeded one in soak runs, Hypothesis's in the property tests, where it
also shrinks.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from tests.oracle import shapes
from tests.oracle.case import Case, RuleCase
from tests.oracle.expressions import Scope, comparison, expression, guarded_division, values
from tests.oracle.history import History, RuleCall, RuleTransaction, Transaction, Write
from tests.oracle.program import (
    Assign,
    Atom,
    Condition,
    Const,
    Literal,
    Negative,
    Positive,
    Program,
    Relation,
    Rule,
    Term,
    Var,
    Wildcard,
    renamed,
)
from tests.oracle.types import BOOL, STRING, Row, Type, Value, bit, signed

Fact = tuple[str, Row]
TYPES = (
    bit(8),
    bit(64),
    signed(8),
    signed(64),
    STRING,
    bit(3),
    bit(12),
    bit(70),
    bit(200),
    signed(5),
    signed(100),
    BOOL,
)
MOST_ROWS = 40
NARROW = 4
VARIABLE_LETTERS = "xyz"


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Cases for Hypothesis."""
    return random_case(draw(st.randoms(use_true_random=False)))


def random_case(rng: random.Random) -> Case:
    """A program of one of the kinds, with a history."""
    kind = rng.choice(("free", "free", "shape", "shape", "hyper", "arithmetic"))
    if kind == "free":
        program, universe = random_program(rng)
        density = rng.choice((0.3, 0.5, 0.7))
    else:
        program, universe = {"shape": shapes.classical, "hyper": shapes.hyper, "arithmetic": shapes.arithmetic}[kind](
            rng
        )
        density = rng.choice((0.6, 0.8, 0.95))
    return Case(program, random_history(rng, universe, density))


def random_program(rng: random.Random) -> tuple[Program, list[Fact]]:
    """A program without any plan behind it, and the facts that its histories may touch."""
    types = rng.sample(TYPES, rng.choice((1, 2, 2, 3)))
    if types[0] == BOOL:
        types.append(rng.choice(TYPES[:-1]))  # booleans alone leave nothing to join
    pools = {type_: values(rng, type_, rng.randint(3, 6)) for type_ in types}
    maker = _Maker(rng, types, pools)
    for i in range(rng.randint(1, 3)):
        maker.add_relation(f"E{i}", 0)
    top = rng.randint(1, 3)
    for i in range(rng.randint(1, 4)):
        maker.add_relation(f"P{i}", rng.randint(1, top))
    rules = [
        maker.rule(relation)
        for relation in maker.relations
        if maker.level[relation.name]
        for _ in range(rng.choice((1, 2, 2, 3)))
    ]
    rng.shuffle(rules)
    repeated = [renamed(rng.choice(rules), lambda number: f"same{number}")] if rng.random() < 0.15 else []
    universe: list[Fact] = []
    for relation in maker.relations:
        if relation.role == "input":
            rows = list(itertools.product(*(pools[type_] for type_ in relation.columns)))
            kept = rng.sample(rows, min(MOST_ROWS, len(rows)))
            universe += [(relation.name, row) for row in kept]
    return Program(tuple(maker.relations), tuple(rules), tuple(repeated)), universe


@dataclass
class _Maker:
    """Relations made so far, each with its level, and the rules that fit them."""

    rng: random.Random
    types: Sequence[Type]
    pools: dict[Type, list[Value]]
    relations: list[Relation] = field(default_factory=list)
    level: dict[str, int] = field(default_factory=dict)

    def add_relation(self, name: str, level: int) -> None:
        rng = self.rng
        arity = rng.choice((1, 2, 2, 2, 3)) if level == 0 else rng.choice((0, 1, 1, 2, 2, 2, 2, 3))
        columns = tuple(self.types[0] if rng.random() < 0.7 else rng.choice(self.types) for _ in range(arity))
        role = "input" if level == 0 else rng.choice(("output", "output", "output", "output", "internal", "input"))
        self.relations.append(Relation(name, columns, role))
        self.level[name] = level

    def rule(self, head: Relation) -> Rule:
        rng = self.rng
        level = self.level[head.name]
        lower = [relation for relation in self.relations if self.level[relation.name] < level]
        upto = [relation for relation in self.relations if self.level[relation.name] <= level]
        same = [relation for relation in self.relations if self.level[relation.name] == level]
        reads_lower_only = rng.random() < 0.35
        scope = Scope(rng, self.pools, makes_values=self._invents if reads_lower_only else self._is_narrow)
        names = {
            type_: [Var(f"{letter}{i}", type_) for i in range(rng.randint(2, 4))]
            for type_, letter in zip(self.types, VARIABLE_LETTERS + "w")
        }
        body: list[Literal] = []
        previous: Relation | None = None
        for _ in range(rng.choice((0, 1, 1, 2, 2, 2, 2, 3, 3))):
            if previous is not None and rng.random() < 0.2:
                relation = previous
            elif reads_lower_only:
                relation = rng.choice(lower)
            else:
                relation = rng.choice(same if rng.random() < 0.45 else upto)
            previous = relation
            body.append(
                Positive(Atom(relation.name, tuple(self._match(type_, names, scope) for type_ in relation.columns)))
            )
            scope.bind(body[-1])
            if rng.random() < 0.25:
                body += self._extra(scope, lower)
        for _ in range(rng.choice((0, 0, 1, 1, 2)) if body else rng.choice((0, 1, 1, 2))):
            body += self._extra(scope, lower)
        for place, literal in enumerate(body):
            if isinstance(literal, Condition | Negative) and rng.random() < 0.15:
                body.insert(rng.randint(0, place), body.pop(place))  # it may stand before what binds its variables
        terms = tuple(self._produce(type_, scope, 0.2) for type_ in head.columns)
        return Rule(Atom(head.name, terms), tuple(body))

    @staticmethod
    def _invents(type_: Type) -> bool:
        return True

    @staticmethod
    def _is_narrow(type_: Type) -> bool:
        return type_ == BOOL or 0 < type_.width <= NARROW

    def _match(self, type_: Type, names: dict[Type, list[Var]], scope: Scope) -> Term:
        """A term of a positive atom."""
        dice = self.rng.random()
        if dice < 0.08:
            return Const(self.rng.choice(self.pools[type_]), type_)
        if dice < 0.16:
            return Wildcard()
        if dice < 0.20 and scope.of_type(type_):
            return expression(scope, type_, 1)
        return self.rng.choice(names[type_])

    def _produce(self, type_: Type, scope: Scope, chance_of_expression: float) -> Var | Const | Term:
        """A term whose value is known: in the head and in negated atoms."""
        bound = scope.of_type(type_)
        dice = self.rng.random()
        if scope.makes_values(type_) and scope.variables and dice < chance_of_expression:
            return expression(scope, type_, 2)
        if not bound or dice > 0.92:
            return Const(self.rng.choice(self.pools[type_]), type_)
        return self.rng.choice(bound)

    def _extra(self, scope: Scope, lower: Sequence[Relation]) -> list[Literal]:
        """A negated atom, a condition or an assignment over what is bound so far; none when nothing fits."""
        rng = self.rng
        kind = rng.choice(("negative", "negative", "negative", "condition", "condition", "assign", "division"))
        if kind == "negative" or not scope.variables:
            relation = rng.choice(lower)
            terms = tuple(
                Wildcard() if rng.random() < 0.15 else self._produce(type_, scope, 0.1) for type_ in relation.columns
            )
            return [Negative(Atom(relation.name, terms))]
        if kind == "condition":
            return [Condition(comparison(scope, 1))]
        made = [type_ for type_ in self.types if scope.makes_values(type_)]
        if not made:
            return []
        type_ = rng.choice(made)
        fresh = Var(f"v{len(scope.variables)}", type_)
        if kind == "division" and type_.is_integer and scope.of_type(type_):
            literals = guarded_division(scope, fresh)
        else:
            made_of = expression(scope, type_, 2)
            if isinstance(made_of, Const):
                return []  # nothing would say which type the literal has
            literals = [Assign(fresh, made_of)]
        scope.bind(literals[-1])
        return literals


def random_rule_case(rng: random.Random) -> RuleCase:
    """A program with some of the rules of a case, and its history with the others: they come and go."""
    case = random_case(rng)
    rules = list(case.program.rules)
    present = {rule for rule in rules if rng.random() < 0.6}
    start = replace(case.program, rules=tuple(rule for rule in rules if rule in present), repeated=())
    history = []
    for transaction in case.history:
        calls: list[RuleCall] = []
        now = set(present)
        for rule in rng.sample(rules, min(len(rules), rng.choice((0, 1, 1, 1, 2, 3)))):
            sign = -1 if rule in now else +1
            calls.append(RuleCall(sign, renamed(rule, lambda number: f"w{number}") if rng.random() < 0.5 else rule))
            (now.discard if sign < 0 else now.add)(rule)
            if sign > 0 and rng.random() < 0.2:
                calls.append(RuleCall(+1, rule))  # it is there already
            if rng.random() < 0.1:
                calls += [RuleCall(-sign, rule), RuleCall(sign, rule)]
        writes = transaction.writes if rng.random() < 0.7 else ()
        history.append(RuleTransaction(Transaction(writes, transaction.fails), tuple(calls)))
        if not transaction.fails:
            present = now
    return RuleCase(start, tuple(history))


def random_history(rng: random.Random, universe: Sequence[Fact], density: float) -> History:
    """A load, then up to six transactions that mix inserts and deletes; some fail, some come to nothing."""
    present: set[Fact] = set()
    loaded = rng.sample(universe, round(len(universe) * density)) if universe else []
    history = [Transaction(_writes(rng, universe, present, loaded))]
    present.update(loaded)
    for _ in range(rng.randint(2, 6)):
        kind = rng.choice(("single", "few", "many", "many", "most", "clear", "nothing"))
        size = {"single": 1, "few": 3, "many": len(universe) // 3, "most": len(universe) // 2}.get(kind, 0)
        touched = rng.sample(universe, min(size, len(universe)))
        if kind == "clear":
            relation = rng.choice(sorted({name for name, _ in universe})) if universe else ""
            touched = sorted(fact for fact in present if fact[0] == relation)
        writes = _writes(rng, universe, present, touched)
        fails = rng.random() < 0.1
        history.append(Transaction(writes, fails))
        if not fails:
            present.symmetric_difference_update(touched)
    return tuple(history)


def _writes(
    rng: random.Random, universe: Sequence[Fact], present: set[Fact], touched: Sequence[Fact]
) -> tuple[Write, ...]:
    """Calls, in an order of their own, that toggle the touched facts, with calls between them that change nothing."""
    calls: dict[tuple[int, str], list[Row]] = {}
    for name, row in touched:
        calls.setdefault((-1 if (name, row) in present else +1, name), []).append(row)
    writes = [Write(sign, name, tuple(rows)) for (sign, name), rows in calls.items()]
    rng.shuffle(writes)
    for name, row in rng.sample(universe, min(len(universe), rng.choice((0, 0, 1, 2)))):
        before = +1 if (name, row) in present else -1
        after = -before if (name, row) in touched else before
        idle = rng.choice(("before", "back and forth", "after"))
        if idle == "before":  # insert what is there, delete what is not
            writes.insert(0, Write(before, name, (row, row)))
        elif idle == "back and forth":
            writes[:0] = [Write(-before, name, (row,)), Write(before, name, (row,))]
        else:
            writes.append(Write(after, name, (row,)))
    return tuple(writes)
