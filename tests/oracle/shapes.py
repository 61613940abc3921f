"""Randomness → programs of the classical shapes, with facts that make them run deep.

A shape is written over nodes of type `u8` whose constants 0 and 1 stand for two of the nodes; then the nodes become
values of some other type. Rules that would close a cycle through negation are left out.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from typing import cast

from tests.oracle.order import NotStratifiedError, check_stratified
from tests.oracle.program import (
    Apply,
    Atom,
    Condition,
    Const,
    Expression,
    Literal,
    Negative,
    Positive,
    Program,
    Relation,
    Rule,
    Term,
    Var,
)
from tests.oracle.read import read
from tests.oracle.types import STRING, Row, Type, Value, bit, signed

Fact = tuple[str, Row]

CLASSICAL = {
    "left linear": ["A(x, y) :- E(x, y).", "A(x, z) :- A(x, y), E(y, z)."],
    "right linear": ["A(x, y) :- E(x, y).", "A(x, z) :- E(x, y), A(y, z)."],
    "non-linear": ["A(x, y) :- E(x, y).", "A(x, z) :- A(x, y), A(y, z)."],
    "both": ["A(x, y) :- E(x, y).", "A(x, z) :- A(x, y), A(y, z).", "A(x, z) :- A(x, y), F(y, z).", "A(x, x) :- N(x)."],
    "mutual": [
        "A(x, y) :- E(x, y).",
        "A(x, z) :- B(x, y), E(y, z).",
        "B(x, z) :- A(x, y), F(y, z).",
        "B(x, y) :- F(x, y), N(x).",
        "B(x, y) :- A(y, x), x < y.",
    ],
    "triple": [
        "A(x, y) :- E(x, y).",
        "A(x, w) :- A(x, y), F(y, z), A(z, w).",
        "A(x, w) :- A(x, y), A(y, z), A(z, w), x != w.",
    ],
    "same generation": ["A(x, y) :- E(z, x), E(z, y), x != y.", "A(x, y) :- E(u, x), A(u, v), E(v, y)."],
    "points-to": [
        "A(v, o) :- E(v, o).",
        "A(v, o) :- F(v, w), A(w, o).",
        "A(v, o) :- Load(v, u, h), Store(q, h, w), A(w, o), A(u, k), A(q, k).",
    ],
    "negation in recursion": [
        "A(x, y) :- E(x, y).",
        "A(x, z) :- A(x, y), E(y, z), not F(x, z).",
        "A(x, z) :- A(x, y), A(y, z), not N(y).",
    ],
    "reachability": [
        "R(x) :- N(x).",
        "R(y) :- R(x), E(x, y), not F(x, y).",
        "A(x, y) :- R(x), R(y), E(x, y).",
        "A(x, z) :- A(x, y), A(y, z).",
    ],
    "mutual with negation": [
        "A(x, y) :- E(x, y), not F(y, x).",
        "B(x, z) :- A(x, y), A(y, z).",
        "A(x, z) :- B(x, z), not N(x).",
        "B(x, z) :- B(x, y), F(y, z), A(x, x).",
    ],
}
EXTRAS = [
    "C(x, y) :- A(x, y), not A(y, x).",
    "C(x, y) :- A(x, y), not E(x, y).",
    "C(x, z) :- C(x, y), E(y, z), not A(z, z).",
    "C(x, z) :- C(x, y), C(y, z).",
    "C(x, x) :- N(x), not F(x, x).",
    "C(x, y) :- E(x, y), not A(y, _).",
    "C(x, y) :- E(x, y), not B(_, _), not F(_, x).",
    "C(x, y) :- C(y, x), D(x), x <= y.",
    "C(x, y) :- Z(), F(x, y).",
    "D(x) :- A(x, x).",
    "D(x) :- A(x, _), F(_, x).",
    "D(x) :- N(x), not C(x, x).",
    "D(y) :- D(x), C(x, y), not E(x, y).",
    "D(1) :- not A(1, 0).",
    "D(0).",
    "Z() :- A(x, y), A(y, x), not N(x).",
    "Z() :- not R(_).",
    "A(x, 0) :- N(x), E(x, x).",
    "A(x, y) :- A(y, x), N(x), N(y).",
    "A(y, y) :- A(x, x), A(x, y).",
    "A(x, y) :- A(x, y), E(x, y).",
    "A(x, y) :- A(x, y), A(x, y).",
    "A(0, 1).",
    "E(x, y) :- F(x, y), N(y).",
]
HYPER_START = ["A(x) :- Seed(x).", "A(y) :- A(x), E(x, y)."]
HYPER_MORE = [
    "A(z) :- A(x), A(y), T(x, y, z).",
    "A(w) :- A(x), A(y), A(z), Q(x, y, z, w).",
    "B(x) :- A(x), N(x).",
    "A(y) :- B(x), E(x, y), not M(y).",
    "B(z) :- A(x), B(y), T(x, y, z).",
    "A(y) :- A(x), F(x, y), not M(x).",
    "A(z) :- A(x), A(y), A(x), T(x, y, z), not M(z), x != y.",
    "B(y) :- B(x), F(x, y).",
    "A(x) :- B(x).",
]
HYPER_TOP = [
    "G(x) :- N(x), not A(x).",
    "G(y) :- G(x), E(x, y), not B(y).",
    "G(z) :- G(x), G(y), T(x, y, z).",
    "H(x, y) :- G(x), A(y), E(x, y).",
    "H(x, z) :- H(x, y), H(y, z).",
    "G(x) :- H(x, x), not M(x).",
]
ARITIES = {"E": 2, "F": 2, "N": 1, "M": 1, "Seed": 1, "Load": 3, "Store": 3, "T": 3, "Q": 4}
DERIVED_ARITIES = {"A": 2, "B": 2, "C": 2, "D": 1, "R": 1, "Z": 0}
HYPER_ARITIES = {"A": 1, "B": 1, "G": 1, "H": 2}
NODE_TYPES = (bit(8), bit(64), bit(5), bit(70), signed(8), signed(64), signed(100), STRING, STRING)

ARITHMETIC: dict[str, tuple[str, dict[str, list[Row]]]] = {
    "distances": (
        """input relation Edge(x: u8, y: u8)  input relation Start(x: u8)  output relation Distance(x: u8, d: u8)
        output relation Far(x: u8)
        Distance(x, 0) :- Start(x).
        Distance(y, d + 1) :- Distance(x, d), Edge(x, y), d < 7.
        Far(x) :- Distance(x, d), d > 2, not Start(x).""",
        {"Edge": [(x, y) for x in range(6) for y in (x + 1, x + 2)], "Start": [(0,), (1,), (5,)]},
    ),
    "a ring of bytes": (
        """input relation Seed(x: u8)  output relation Ring(x: u8)  output relation Gap(x: u8)
        Ring(x) :- Seed(x).
        Ring(x + 48) :- Ring(x).
        Gap(x) :- Seed(y), var x = y - 1, not Ring(x).""",
        {"Seed": [(0,), (1,), (2,), (34,), (49,), (255,)]},
    ),
    "shifting until it is gone": (
        """input relation Seed(x: u64)  output relation Shifted(x: u64)  output relation Even(b: bool)
        Shifted(x) :- Seed(x).
        Shifted(x * 8) :- Shifted(x), x != 0.
        Even(x % 2 == 0) :- Shifted(x).""",
        {"Seed": [(0,), (1,), (3,), (2**63,), (2**64 - 1,), (6,)]},
    ),
    "wide steps": (
        """input relation Seed(x: bit<100>)  output relation Up(x: bit<100>)  output relation Wrapped(x: bit<100>)
        Up(x) :- Seed(x).
        Up(x + 633825300114114700748351602688) :- Up(x).
        Wrapped(y) :- Up(x), var y = x + 1, y < x.""",
        {"Seed": [(0,), (1,), (2**100 - 1,), (2**99 - 1,)]},
    ),
    "signed countdown": (
        """input relation Seed(x: s8)  input relation Stop(x: s8)  output relation Down(x: s8)
        Down(x) :- Seed(x).
        Down(x - 17) :- Down(x), not Stop(x), x > -110.
        Down(-x) :- Down(x), x < -100.""",
        {"Seed": [(0,), (100,), (-128,), (127,)], "Stop": [(0,), (-17,), (-51,), (100,), (76,)]},
    ),
    "paths as text": (
        """input relation Edge(x: string, y: string)  output relation Path(y: string, text: string, n: bit<3>)
        output relation Shown(text: string)
        Path(y, x ++ "/" ++ y, 1) :- Edge(x, y).
        Path(z, text ++ "/" ++ z, n + 1) :- Path(y, text, n), Edge(y, z), n < 4.
        Shown(text ++ ":" ++ n) :- Path(_, text, n), text < "b", not Edge(text, _).""",
        {"Edge": [(x, y) for x in "abc" for y in "abcd" if x != y]},
    ),
}


def classical(rng: random.Random) -> tuple[Program, list[Fact]]:
    """Closures, same generation, points-to and their like, over a graph that is often a long chain."""
    lines = list(CLASSICAL[rng.choice(sorted(CLASSICAL))])
    lines += rng.sample(EXTRAS, rng.randint(0, 6))
    size = rng.randint(3, 9)
    shape = rng.choice(("chain", "chain", "ring", "random", "random"))
    facts: set[Fact] = set()
    if shape != "random":
        facts |= {("E", (x, (x + 1) % size)) for x in range(size - (shape == "chain"))}
    for _ in range(rng.randint(3, 16)):
        x = rng.randrange(size)
        y = min(size - 1, x + rng.randint(1, 3)) if shape == "chain" else rng.randrange(size)
        facts.add((rng.choice("EEF"), (x, y)))
    facts |= {("N", (x,)) for x in rng.sample(range(size), size // 2)}
    for _ in range(rng.randint(0, 6) if any("Load" in line for line in lines) else 0):
        x, y, name = rng.randrange(size), rng.randrange(size), rng.randrange(2)
        facts.add(("Load", (x, y, name)) if rng.random() < 0.5 else ("Store", (x, name, y)))
    written = rng.choice((None, None, None, "A", "C"))
    if written:
        facts |= {(written, (rng.randrange(size), rng.randrange(size))) for _ in range(3)}
    return _program(rng, lines, DERIVED_ARITIES, facts, written, size)


def hyper(rng: random.Random) -> tuple[Program, list[Fact]]:
    """And/or graphs over a forward order: many ranks, rows that can be derived early or late, joins of three."""
    lines = HYPER_START + rng.sample(HYPER_MORE, rng.randint(1, 5))
    if rng.random() < 0.4:
        lines += rng.sample(HYPER_TOP, rng.randint(1, 4))
    size = rng.randint(6, 14)
    stride = rng.choice((2, 3, 5))
    cyclic = rng.random() < 0.4

    def onward(x: int) -> int:
        return rng.randrange(size) if cyclic and rng.random() < 0.2 else min(size - 1, x + rng.randint(1, stride))

    facts: set[Fact] = {("E", (x, x + 1)) for x in range(size - 1)} | {("Seed", (0,)), ("Seed", (1,))}
    for relation, arity, most in (("E", 1, size), ("F", 1, size), ("T", 2, 2 * size), ("Q", 3, size), ("Seed", 0, 1)):
        for _ in range(rng.randint(0, most)):
            start = [rng.randrange(size) for _ in range(arity)]
            facts.add((relation, (*start, onward(max(start, default=0)))))
    for relation in "MN":
        facts |= {(relation, (x,)) for x in rng.sample(range(size), size // 3)}
    written = rng.choice((None, None, None, "A"))
    if written:
        facts |= {(written, (x,)) for x in rng.sample(range(size), 3)}
    return _program(rng, lines, HYPER_ARITIES, facts, written, size)


def arithmetic(rng: random.Random) -> tuple[Program, list[Fact]]:
    """Recursion through numbers that wrap or are bounded, and through text of bounded length."""
    text, rows = ARITHMETIC[rng.choice(sorted(ARITHMETIC))]
    return read(text), [(name, row) for name, of_relation in rows.items() for row in of_relation]


def _program(
    rng: random.Random, lines: list[str], derived: dict[str, int], facts: set[Fact], written: str | None, size: int
) -> tuple[Program, list[Fact]]:
    """The program of these lines with its nodes in a type of their own, and its facts."""
    if rng.random() < 0.2:
        lines = [*lines, rng.choice(lines)]
    declarations = [_declaration("input", name, arity) for name, arity in ARITIES.items()]
    declarations += [_declaration("input" if name == written else "output", name, n) for name, n in derived.items()]
    program = read("\n".join(declarations + lines))
    while not _is_stratified(program):
        program = replace(program, rules=program.rules[:-1])
    mentioned = {written, *(name for rule in program.rules for name in _mentioned(rule))}
    program = replace(program, relations=tuple(r for r in program.relations if r.name in mentioned))
    type_ = rng.choice([type_ for type_ in NODE_TYPES if type_.width == 0 or 1 << type_.width >= size])
    nodes = _nodes(rng, type_, size)
    kept = sorted((name, row) for name, row in facts if name in mentioned)
    return _retype(program, type_, nodes), [(name, tuple(nodes[cast(int, x)] for x in row)) for name, row in kept]


def _declaration(role: str, name: str, arity: int) -> str:
    return f"{role} relation {name}({', '.join(f'c{i}: u8' for i in range(arity))})"


def _is_stratified(program: Program) -> bool:
    try:
        check_stratified(program)
    except NotStratifiedError:
        return False
    return True


def _mentioned(rule: Rule) -> Iterable[str]:
    yield rule.head.relation
    for literal in rule.body:
        if isinstance(literal, Positive | Negative):
            yield literal.atom.relation


def _nodes(rng: random.Random, type_: Type, size: int) -> list[Value]:
    if type_ == STRING:
        return [f"n{x}" for x in range(size)]
    start = rng.choice((0, -size // 2)) + (
        (1 << (type_.width - 1)) if type_.kind == "bit" and rng.random() < 0.5 else 0
    )
    lowest = 0 if type_.kind == "bit" else -(1 << (type_.width - 1))
    return [max(start, lowest) + x for x in range(size)]


def _retype(program: Program, type_: Type, nodes: list[Value]) -> Program:
    """The program with every type replaced, and each constant by the node that it numbers."""

    def term(old: Term) -> Term:
        match old:
            case Var(name):
                return Var(name, type_)
            case Const(number):
                return Const(nodes[cast(int, number)], type_)
            case Apply(op, args, result):
                return Apply(op, tuple(cast(Expression, term(arg)) for arg in args), result)
            case _:
                return old

    def atom(old: Atom) -> Atom:
        return Atom(old.relation, tuple(map(term, old.terms)))

    def literal(old: Literal) -> Literal:
        match old:
            case Positive(inner):
                return Positive(atom(inner))
            case Negative(inner):
                return Negative(atom(inner))
            case Condition(expression):
                return Condition(cast(Expression, term(expression)))
            case _:
                raise ValueError("the classical shapes compute nothing")

    relations = tuple(Relation(r.name, (type_,) * len(r.columns), r.role) for r in program.relations)
    return Program(relations, tuple(Rule(atom(r.head), tuple(map(literal, r.body))) for r in program.rules))
