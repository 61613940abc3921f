"""Randomness → a case in which the best way itself goes through recursion, not only its length.

A way is a pair of a cost and of what belongs to it: the node before, the origin, the number of steps, or all nodes as
text. Pairs are columns or tuples, and `min`, `max`, `arg_min` or `arg_max` chooses one. Some of the programs are not
monotone; most are.
"""

from __future__ import annotations

from random import Random
from typing import Any

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
    Positive,
    Program,
    Relation,
    Rule,
    Term,
    Var,
    Wildcard,
)
from tests.oracle.types import BOOL, STRING, Function, Row, Type, Value, bit, signed
from tests.oracle.vocabulary import DOUBLE, group_of

NODE = bit(8)
BIGINT = Type("bigint")
COSTS = (bit(8), bit(32), signed(32), BIGINT, DOUBLE)
NODES = 5


def random_ways(rng: Random) -> Case:
    """A program and its history."""
    return _Ways(rng).case()


class _Ways:
    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._cost = rng.choice(COSTS)
        self._kind = rng.choice(("before", "origin", "steps", "nodes"))
        self._more = {"steps": bit(8), "nodes": STRING}.get(self._kind, NODE)
        self._place = rng.choice((0, 0, 1))  # of the cost in the pair
        self._in_columns = rng.random() < 0.5
        items = (self._cost, self._more) if self._place == 0 else (self._more, self._cost)
        self._pair = Type("tuple", items=items, text=f"({_text(items[0])}, {_text(items[1])})")
        self._x, self._y = Var("x", NODE), Var("y", NODE)
        self._d, self._l, self._p = Var("d", self._cost), Var("l", self._cost), Var("p", self._more)
        self._t, self._e = Var("t", self._pair), Var("e", self._pair)

    def case(self) -> Case:
        own = (self._cost, self._more) if self._in_columns else (self._pair,)
        relations = (
            Relation("Edge", (NODE, NODE, self._cost), "input"),
            Relation("Start", (NODE, self._cost), "input"),
            Relation("Way", (NODE, *own), self._rng.choice(("internal", "output"))),
            Relation("Best", (NODE, *own), "output"),
            Relation("Near", (NODE,), "output"),
            Relation("Found", (NODE, self._pair), "output"),
        )
        rules = [self._start(), self._group("Best")]
        rules += [self._step() for _ in range(self._rng.choice((1, 1, 2)))]
        if self._rng.random() < 0.4:
            rules += self._near()
        if self._rng.random() < 0.3:
            rules.append(self._group("Found"))  # outside the recursion, of the same group
        program = Program(relations, tuple(rules))
        history = tuple(self._transaction() for _ in range(self._rng.randint(4, 8)))
        return Case(program, history)

    def _start(self) -> Rule:
        """`Way(x, (d, first)) :- Start(x, d).`"""
        first: dict[str, Expression] = {"steps": Const(0, self._more), "nodes": Const("", STRING)}
        made = self._made(self._d, first.get(self._kind, self._x))
        return Rule(Atom("Way", (self._x, *made)), (Positive(Atom("Start", (self._x, self._d))),))

    def _step(self) -> Rule:
        """`Way(y, (d + l, p)) :- Best(x, (d, p)), Edge(x, y, l).`"""
        rng = self._rng
        body: list[Literal] = [
            Positive(Atom("Best", self._read())),
            Positive(Atom("Edge", (self._x, self._y, self._l))),
        ]
        rng.shuffle(body)
        if rng.random() < 0.2:
            body.append(Condition(_call("({0} < {1})", BOOL, lambda a, b: a < b, self._cost_of(), self._constant())))
        if rng.random() < 0.2:
            body.append(Positive(Atom("Near", (self._x,))))
        return Rule(Atom("Way", (self._y, *self._made(self._longer(), self._gone()))), tuple(body))

    def _read(self) -> tuple[Term, ...]:
        return (self._x, self._d, self._p) if self._in_columns else (self._x, self._t)

    def _cost_of(self) -> Expression:
        return self._d if self._in_columns else self._item(self._place)

    def _more_of(self) -> Expression:
        return self._p if self._in_columns else self._item(1 - self._place)

    def _item(self, place: int, of: Var | None = None) -> Expression:
        return _call(f"{{0}}.{place}", self._pair.items[place], lambda t: t[place], of or self._t)

    def _made(self, cost: Expression, more: Expression) -> tuple[Expression, ...]:
        if self._in_columns:
            return cost, more
        return (self._paired(cost, more),)

    def _paired(self, cost: Expression, more: Expression) -> Expression:
        parts = (cost, more) if self._place == 0 else (more, cost)
        return _call("({0}, {1})", self._pair, lambda a, b: (a, b), *parts)

    def _longer(self) -> Expression:
        """The cost of a way with one more edge."""
        added: Expression = self._l
        if self._rng.random() < 0.3:
            added = self._sum(self._l, self._constant()) if self._rng.random() < 0.5 else self._twice(self._l)
        if self._rng.random() < 0.15:
            return self._cost_of()
        return self._sum(self._cost_of(), added)

    def _sum(self, left: Expression, right: Expression) -> Expression:
        if self._cost == DOUBLE:
            return _call("({0} + {1})", DOUBLE, lambda a, b: a + b, left, right)
        return Apply("+", (left, right), self._cost)

    def _twice(self, each: Expression) -> Expression:
        if self._cost == DOUBLE:
            return _call("({0} * 2.0)", DOUBLE, lambda a: a * 2.0, each)
        return Apply("*", (each, Const(2, self._cost)), self._cost)

    def _gone(self) -> Expression:
        """What belongs to a way with one more node."""
        match self._kind:
            case "before":
                return self._x
            case "origin":
                return self._more_of()
            case "steps":
                return Apply("+", (self._more_of(), Const(1, self._more)), self._more)
            case _:
                template = '"${{{0}}} ${{{1}}}"' if self._rng.random() < 0.8 else '"${{{1}}} ${{{0}}}"'
                is_behind = template.startswith('"${{{0}')
                return _call(
                    template, STRING, lambda x, p: f"{x} {p}" if is_behind else f"{p} {x}", self._x, self._more_of()
                )

    def _group(self, head: str) -> Rule:
        """`Best(x, e) :- Way(x, t), var e = t.group_by(x).arg_min(|t| t.0).`"""
        group = Var("g", group_of(self._pair))
        terms = (self._x, self._d, self._p) if self._in_columns else (self._x, self._t)
        value = self._paired(self._d, self._p) if self._in_columns else self._t
        body = (
            Positive(Atom("Way", terms)),
            GroupBy(group, value, (self._x,)),
            Assign(self._e, Call(self._chosen(group.type), (group,))),
        )
        whole = head == "Found" or not self._in_columns
        items: tuple[Term, ...] = tuple(self._item(place, self._e) for place in (self._place, 1 - self._place))
        made = (self._e,) if whole else items
        return Rule(Atom(head, (self._x, *made)), body)

    def _chosen(self, group: Type) -> Function:
        """The choice of one pair; mostly of the smallest cost."""
        place = self._place if self._rng.random() < 0.9 else 1 - self._place
        ways: list[tuple[str, Any]] = [
            (f"{{0}}.arg_min(|t| t.{place})", lambda values: min(values, key=lambda t: t[place])),
        ] * 3
        ways.append((f"{{0}}.arg_max(|t| t.{place})", lambda values: max(values, key=lambda t: t[place])))
        if self._place == 0:
            ways += [("{0}.min()", min), ("{0}.min()", min), ("{0}.max()", max)]
        template, choose = self._rng.choice(ways)
        declaration = "import group" if "arg" in template else ""
        return Function(template, (group,), self._pair, lambda g: choose([value for value, _ in g.items]), declaration)

    def _near(self) -> list[Rule]:
        wild: tuple[Term, ...] = (Wildcard(),) * (2 if self._in_columns else 1)
        rules = [Rule(Atom("Near", (self._x,)), (Positive(Atom("Best", (self._x, *wild))),))]
        if self._rng.random() < 0.5:
            body = (Positive(Atom("Near", (self._x,))), Positive(Atom("Edge", (self._x, self._y, Wildcard()))))
            rules.append(Rule(Atom("Near", (self._y,)), body))
        return rules

    def _constant(self) -> Expression:
        number = self._number()
        return _call(f"{number}", DOUBLE, lambda: number) if self._cost == DOUBLE else Const(number, self._cost)

    def _number(self) -> Value:
        least = 1 if self._kind == "nodes" else 0
        number = self._rng.choice((least, least + 1, self._rng.randint(least, 9)))
        return number / 2 + least / 2 if self._cost == DOUBLE else number

    def _transaction(self) -> Transaction:
        rng = self._rng
        writes = []
        for _ in range(rng.choice((1, 1, 2, 3))):
            name = rng.choice(("Start", "Edge", "Edge", "Edge"))
            sign = rng.choice((1, 1, -1))
            rows = {self._row(name) for _ in range(rng.choice((1, 2, 6)) + (12 if sign < 0 else 0))}
            writes.append(Write(sign, name, tuple(sorted(rows))))
        return Transaction(tuple(writes))

    def _row(self, name: str) -> Row:
        nodes = [self._rng.randrange(NODES) for _ in range(1 if name == "Start" else 2)]
        return (*nodes, self._number())


def _call(template: str, result: Type, python: Any, *arguments: Expression) -> Call:
    return Call(Function(template, tuple(each.type for each in arguments), result, python), arguments)


def _text(type_: Type) -> str:
    return {"bit": f"bit<{type_.width}>", "signed": f"signed<{type_.width}>"}.get(type_.kind, type_.kind)
