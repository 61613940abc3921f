"""Randomness → a case that is all about aggregates over rows: wildcards, joins, items of vectors, weights, `None`."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tests.oracle import vocabulary as words
from tests.oracle.aggregates import history
from tests.oracle.case import Case
from tests.oracle.program import (
    Apply,
    Assign,
    Atom,
    Condition,
    Const,
    Expression,
    Literal,
    Negative,
    Over,
    OverRows,
    Positive,
    Program,
    Relation,
    Rule,
    Term,
    Unpack,
    Var,
    Wildcard,
)
from tests.oracle.types import BOOL, STRING, Type, signed
from tests.oracle.vocabulary import N

S64, WIDE = signed(64), signed(128)
TYPES = (N, words.U64, words.BIG, words.DOUBLE, STRING, words.OPTION, words.VEC, S64)
NUMBERS = (N, words.U64, words.BIG, words.DOUBLE, words.OPTION, S64)
LARGE: dict[Type, list[int]] = {S64: [-(2**63), 2**63 - 1, -1, 0, 3, 2**40]}
FIRST, SECOND, THIRD = Var("k", N), Var("l", N), Var("m", N)


def random_row_aggregates(rng: random.Random, *, multisets: bool = False) -> Case:
    """Three relations of two keys and a value, an internal set that two rules derive, and rules that aggregate."""
    relations: list[Relation] = []
    rules: list[Rule] = []
    for number, type_ in enumerate(rng.sample(TYPES, 3)):
        kind = "multiset" if multisets and rng.random() < 0.5 else "relation"
        relations.append(Relation(f"E{number}", (N, N, type_), "input", kind))
    given = tuple(relations)
    twice = Relation("Twice", (N, N), "internal")
    relations.append(twice)
    for place in (0, 1):
        atom = Atom(given[0].name, (FIRST, SECOND, Wildcard()))
        head = Atom(twice.name, (FIRST, SECOND) if place else (SECOND, FIRST))
        rules.append(Rule(head, (Positive(atom),)))
    if multisets:
        # It makes the engine count how often the rows of the set are derived.
        relations.append(Relation("Weighed", (N,), "output", "multiset"))
        rules.append(Rule(Atom("Weighed", (FIRST,)), (Positive(Atom(twice.name, (FIRST, Wildcard()))),)))
    for number in range(rng.choice((3, 4, 5))):
        made, rule = _rule(rng, f"P{number}", given, twice)
        relations.append(made)
        rules.append(rule)
    program = Program(tuple(relations), tuple(rules))
    return Case(program, tuple(history(rng, program, LARGE)))


def _rule(rng: random.Random, name: str, given: Sequence[Relation], twice: Relation) -> tuple[Relation, Rule]:
    read = rng.choice(given)
    value = Var("v", read.columns[-1])
    numbers: list[Expression] = [FIRST, SECOND]
    terms: list[Term] = [FIRST, SECOND, value]
    if rng.random() < 0.3:
        terms[1] = Wildcard()
        numbers.remove(SECOND)
    body: list[Literal] = [Positive(Atom(read.name, tuple(terms)))]
    others: list[Expression] = [value]
    if rng.random() < 0.2:
        terms[2] = Wildcard()
        body, others = [Positive(Atom(read.name, tuple(terms)))], []
    elif value.type == words.VEC:
        item = Var("i", N)
        body.append(Unpack(item if rng.random() < 0.8 else Wildcard(), value, each=True))
        if isinstance(body[-1], Unpack) and isinstance(body[-1].pattern, Var):
            numbers.append(item)
    _join(rng, body, numbers, given, twice)
    if rng.random() < 0.2:
        doubled = Var("d", N)
        body.append(Assign(doubled, Apply("+", (FIRST, FIRST), N)))
        numbers.append(doubled)
    keys = tuple(each for each in numbers if isinstance(each, Var) and rng.random() < 0.35)
    values = tuple(_over(rng, f"a{place}", [*numbers, *others]) for place in range(rng.choice((1, 1, 2, 3))))
    body.append(OverRows(values, keys))
    counted = next((each.variable for each in values if each.variable.type == words.U64), None)
    if counted is not None and rng.random() < 0.3:
        body.append(Condition(Apply(">", (counted, Const(1, words.U64)), BOOL)))
    head: tuple[Var, ...] = (*keys, *(each.variable for each in values))
    return Relation(name, tuple(term.type for term in head), "output"), Rule(Atom(name, head), tuple(body))


def _join(
    rng: random.Random, body: list[Literal], numbers: list[Expression], given: Sequence[Relation], twice: Relation
) -> None:
    """Adds a second atom, or a negated one, or a condition, or nothing."""
    match rng.randrange(5):
        case 0:
            body.append(Positive(Atom(twice.name, (FIRST, THIRD))))
            numbers.append(THIRD)
        case 1:
            body.append(Positive(Atom(rng.choice(given).name, (FIRST, Wildcard(), Wildcard()))))
        case 2:
            body.append(Negative(Atom(twice.name, (FIRST, FIRST))))
        case 3:
            body.append(Condition(Apply("<", (FIRST, Const(2, N)), BOOL)))


def _over(rng: random.Random, name: str, values: Sequence[Expression]) -> Over:
    function = rng.choice(("count", "count", "sum", "sum", "avg", "min", "max"))
    chosen = rng.choice(values)
    if function in ("sum", "avg"):
        chosen = rng.choice([each for each in values if each.type in NUMBERS])
        if chosen.type == N and rng.random() < 0.3:
            chosen = Apply("*", (chosen, rng.choice([each for each in values if each.type == N])), N)
    match function:
        case "count":
            return Over(Var(name, words.U64), function, chosen if rng.random() < 0.3 else None)
        case "avg":
            is_option = chosen.type == words.OPTION
            return Over(Var(name, words.OPTION_DOUBLE if is_option else words.DOUBLE), function, chosen)
        case "sum":
            return Over(Var(name, _sum_type(rng, chosen.type)), function, chosen)
    return Over(Var(name, chosen.type), function, chosen)


def _sum_type(rng: random.Random, type_: Type) -> Type:
    """A type that holds every sum of such values that a case has."""
    if type_ in (N, words.OPTION):
        return rng.choice((words.U64, S64, words.BIG))
    return type_ if type_ == words.DOUBLE else rng.choice((words.BIG, WIDE)) if type_ != words.BIG else words.BIG
