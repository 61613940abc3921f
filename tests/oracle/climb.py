"""Randomness → a case in which `min` and `max` go through recursion, with costs that mostly only get better.

Ways through a small graph: candidates, their best, relations without costs, several groups in one circle, negation of
what lies below, weights of 0 and below 0, sums that run over the end of a byte. Some of the programs are not monotone.
"""

from __future__ import annotations

from random import Random

from tests.oracle.case import Case
from tests.oracle.history import Transaction, Write
from tests.oracle.program import (
    Apply,
    Assign,
    Atom,
    Call,
    Condition,
    Const,
    Expression,
    GroupBy,
    Literal,
    Negative,
    Positive,
    Program,
    Relation,
    Rule,
    Var,
    Wildcard,
)
from tests.oracle.types import BOOL, Function, Row, Type, bit, signed
from tests.oracle.vocabulary import group_of

NODE = bit(8)
BIGINT = Type("bigint")
COSTS = (bit(8), bit(32), signed(32), BIGINT, BIGINT)
WIDE_COSTS = (bit(64), signed(64))
NODES = 5


def random_climb(rng: Random, *, runs_over: bool = False, wide: bool = False) -> Case:
    """A program and its history. `runs_over`: with large weights, whose sums run over the end of a byte. `wide`: with
    costs of 64 bits."""
    return _Climb(rng, runs_over, WIDE_COSTS if wide else COSTS).case()


class _Climb:
    def __init__(self, rng: Random, runs_over: bool, costs: tuple[Type, ...]) -> None:
        self._rng = rng
        self._cost = bit(8) if runs_over else rng.choice(costs)
        self._count = rng.choice((1, 1, 2))
        self._highest = 90 if runs_over else rng.choice((2, 5, 90))
        self._smallest = [rng.random() < 0.7] * self._count
        if self._count > 1 and rng.random() < 0.2:
            self._smallest[1] = not self._smallest[0]
        self._x, self._y, self._z = (Var(name, NODE) for name in "xyz")
        self._d, self._e, self._l = (Var(name, self._cost) for name in "del")

    def case(self) -> Case:
        roles = [self._rng.choice(("input", "internal", "output")) for _ in range(self._count)]
        relations = [
            Relation("Edge", (NODE, NODE, self._cost), "input"),
            Relation("Start", (NODE, self._cost), "input"),
            Relation("Block", (NODE,), "input"),
            *(Relation(f"Way{i}", (NODE, self._cost), role) for i, role in enumerate(roles)),
            *(Relation(f"Best{i}", (NODE, self._cost), "output") for i in range(self._count)),
            Relation("Near", (NODE,), "output"),
        ]
        rules: list[Rule] = []
        for place in range(self._count):
            rules += self._rules_of(place)
        if self._rng.random() < 0.4:
            rules += self._plain()
        program = Program(tuple(relations), tuple(rules))
        history = tuple(self._transaction(program) for _ in range(self._rng.randint(4, 9)))
        return Case(program, history)

    def _rules_of(self, place: int) -> list[Rule]:
        rng, x, d = self._rng, self._x, self._d
        way, best = f"Way{place}", f"Best{place}"
        rules = [Rule(Atom(way, (x, d)), (Positive(Atom("Start", (x, d))),)), self._group(place)]
        rules += [self._step(way) for _ in range(rng.choice((1, 1, 2)))]
        if rng.random() < 0.3:
            rules.append(self._inner_group(best, place))
        if rng.random() < 0.2:
            rules.append(Rule(Atom(best, (x, d)), (Positive(Atom("Start", (x, d))),)))
        return rules

    def _best(self) -> str:
        return f"Best{self._rng.randrange(self._count)}"

    def _group(self, place: int) -> Rule:
        """`Best(x, m) :- Way(x, d), var m = d.group_by(x).min().`"""
        body: list[Literal] = [Positive(Atom(f"Way{place}", (self._x, self._d)))]
        return Rule(Atom(f"Best{place}", (self._x, self._e)), (*body, *self._asked(self._d, self._x, place)))

    def _inner_group(self, best: str, place: int) -> Rule:
        """`Best(y, m) :- Best(x, d), Edge(x, y, l), var m = (d + l).group_by(y).min().`"""
        body = (
            Positive(Atom(self._best(), (self._x, self._d))),
            Positive(Atom("Edge", (self._x, self._y, self._l))),
            *self._asked(Apply("+", (self._d, self._l), self._cost), self._y, place),
        )
        return Rule(Atom(best, (self._y, self._e)), body)

    def _asked(self, value: Expression, key: Var, place: int) -> tuple[Literal, ...]:
        group = Var("g", group_of(self._cost))
        name = "min" if self._smallest[place] else "max"
        if self._rng.random() < 0.05:
            name = "max" if name == "min" else "min"
        index = 0 if name == "min" else -1
        function = Function(f"{{0}}.{name}()", (group.type,), self._cost, lambda g: g.items[index][0])
        asked: tuple[Literal, ...] = (GroupBy(group, value, (key,)), Assign(self._e, Call(function, (group,))))
        return asked

    def _step(self, way: str) -> Rule:
        """`Way(y, f(d, l)) :- Best(x, d), Edge(x, y, l), …`"""
        rng = self._rng
        body: list[Literal] = [Positive(Atom(self._best(), (self._x, self._d)))]
        body.append(Positive(Atom("Edge", (self._x, self._y, self._l))))
        rng.shuffle(body)
        made = self._made()
        if rng.random() < 0.15:
            body.append(Positive(Atom(self._best(), (self._y, self._e))))
            made = rng.choice((made, Apply("+", (self._d, self._e), self._cost)))
        if rng.random() < 0.3:
            body.append(Negative(Atom("Block", (rng.choice((self._x, self._y)),))))
        if rng.random() < 0.3:
            body.append(Condition(self._condition()))
        if rng.random() < 0.3:
            body.append(Positive(Atom("Near", (rng.choice((self._x, self._y)),))))
        return Rule(Atom(way, (self._y, made)), tuple(body))

    def _made(self) -> Expression:
        """What becomes of a cost on its way."""
        rng, d, length = self._rng, self._d, self._l
        plus = Apply("+", (d, length), self._cost)
        ways: list[Expression] = [d, plus, plus, plus, Apply("+", (plus, self._constant()), self._cost)]
        for name, python in (("min", min), ("max", max)):
            function = Function(f"{name}({{0}}, {{1}})", (self._cost, self._cost), self._cost, python)
            ways += [Call(function, (d, length)), Call(function, (d, self._constant()))]
        if self._cost == BIGINT:
            ways += [Apply("*", (d, Const(2, BIGINT)), BIGINT), Apply("-", (d, Const(1, BIGINT)), BIGINT), plus]
        return rng.choice(ways)

    def _condition(self) -> Expression:
        falling = self._rng.random() < 0.8 if self._smallest[0] else self._rng.random() < 0.2
        return Apply("<" if falling else ">=", (self._d, self._constant()), BOOL)

    def _constant(self) -> Const:
        return Const(self._rng.randrange(self._highest + 2), self._cost)

    def _plain(self) -> list[Rule]:
        """A relation without costs in the midst of the circle."""
        rng, x, y, d, wild = self._rng, self._x, self._y, self._d, Wildcard()
        condition = [Condition(self._condition())] if rng.random() < 0.5 else []
        rules = [Rule(Atom("Near", (x,)), (Positive(Atom(self._best(), (x, d))), *condition))]
        if rng.random() < 0.7:
            rules.append(Rule(Atom("Near", (y,)), (Positive(Atom("Near", (x,))), Positive(Atom("Edge", (x, y, wild))))))
        if rng.random() < 0.7:
            way = f"Way{rng.randrange(self._count)}"
            body = (Positive(Atom("Near", (x,))), Positive(Atom("Edge", (y, x, wild))))
            rules.append(Rule(Atom(way, (y, self._constant())), body))
        return rules

    def _transaction(self, program: Program) -> Transaction:
        rng = self._rng
        writes = []
        for _ in range(rng.choice((1, 1, 2, 4))):
            names = [relation.name for relation in program.relations if relation.role == "input"]
            name = rng.choice((*names, "Edge", "Edge", "Edge"))
            sign = rng.choice((1, 1, -1))
            rows = {self._row(program, name) for _ in range(rng.choice((1, 2, 6)))}
            if sign < 0:
                rows |= {self._row(program, name) for _ in range(12)}
            writes.append(Write(sign, name, tuple(sorted(rows))))
        return Transaction(tuple(writes))

    def _row(self, program: Program, name: str) -> Row:
        (relation,) = (relation for relation in program.relations if relation.name == name)
        return tuple(
            self._rng.randrange(NODES) if column == NODE and place < 2 else self._weight()
            for place, column in enumerate(relation.columns)
            if place < 2 or column == self._cost
        )

    def _weight(self) -> int:
        if self._rng.random() < 0.4:
            return self._rng.randrange(2)
        low = -1 if self._cost == BIGINT and self._rng.random() < 0.05 else 0
        return self._rng.randint(low, self._highest)
