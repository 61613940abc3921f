"""Randomness → a case that is all about groups: few relations, every kind of aggregate, rows that come and go."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from tests.oracle import vocabulary as words
from tests.oracle.case import Case
from tests.oracle.history import Transaction, Write
from tests.oracle.program import Assign, Atom, Call, GroupBy, Literal, Positive, Program, Relation, Rule, Var
from tests.oracle.types import STRING, Function, Row, Type, Value
from tests.oracle.vocabulary import N

TYPES = (N, words.U64, words.BIG, words.DOUBLE, STRING, words.PAIR, words.FIGURE, words.INTERNED)
KEYS = 3
FIRST, SECOND = Var("k", N), Var("l", N)
LEVELS: tuple[tuple[Var, ...], ...] = ((), (FIRST,), (SECOND,), (FIRST, SECOND), (SECOND, FIRST))
MORE: dict[Type, list[Value]] = {
    N: list(range(0, 256, 17)),
    words.U64: [2**63 + 1, 2**63 - 1, 10, 20, 30],
    words.BIG: [2**64, -(2**63), 5, 6],
    words.DOUBLE: [0.1, 0.2, 0.3, 1e16, -1e16, 5e-324, 1e308, -1e308],
    STRING: [f"w{number}" for number in range(8)],
    words.PAIR: [(number % 4, f"p{number}") for number in range(8)],
}


def functions_of(type_: Type) -> list[Function]:
    """All that is done with groups of such values."""
    return [each for each in (*words.GROUPED, *words.AGGREGATED) if each.parameters == (words.group_of(type_),)]


def random_aggregates(rng: random.Random, *, multisets: bool = False) -> Case:
    """Two or three relations of keys and values, each with rules that group it by some of its keys, in some order."""
    relations: list[Relation] = []
    rules: list[Rule] = []
    for number, type_ in enumerate(rng.sample(TYPES, rng.choice((2, 3)))):
        kind = "multiset" if multisets and rng.random() < 0.5 else "relation"
        given = Relation(f"E{number}", (N, N, type_), "input", kind)
        relations.append(given)
        # Twice the same members, with other aggregates, are kept once, and so are those of keys in one another.
        for keys in rng.choices((*LEVELS, (FIRST,)), k=rng.choice((1, 2, 3, 4))):
            made, rule = _rule(rng, given, f"P{len(rules)}", keys)
            relations.append(made)
            rules.append(rule)
    program = Program(tuple(relations), tuple(rules))
    return Case(program, tuple(history(rng, program)))


def _rule(rng: random.Random, given: Relation, name: str, keys: tuple[Var, ...]) -> tuple[Relation, Rule]:
    value = Var("v", given.columns[-1])
    group = Var("g", words.group_of(value.type))
    functions = functions_of(value.type)
    chosen = rng.sample(functions, min(len(functions), rng.choice((1, 2, 3))))
    results = [Var(f"a{place}", function.result) for place, function in enumerate(chosen)]
    body: list[Literal] = [Positive(Atom(given.name, (FIRST, SECOND, value))), GroupBy(group, value, keys)]
    body += [Assign(result, Call(function, (group,))) for result, function in zip(results, chosen)]
    terms = (*keys, *results)
    made = Relation(name, tuple(term.type for term in terms), "output")
    return made, Rule(Atom(name, terms), tuple(body))


def history(
    rng: random.Random, program: Program, more: Mapping[Type, Sequence[Value]] | None = None
) -> list[Transaction]:
    """A load, then small transactions; `more` has further values for the last column of a relation."""
    held: dict[tuple[str, Row], int] = {}
    made = []
    inputs = program.named("input")
    for number in range(rng.randint(5, 9)):
        writes: dict[tuple[str, Row], int] = {}
        for _ in range(40 if number == 0 else rng.choice((1, 1, 2, 4, 8))):
            relation = rng.choice(inputs)
            last = relation.columns[-1]
            pool = [*words.SAMPLES.get(last, ()), *MORE.get(last, ()), *(more or {}).get(last, ())]
            keys = rng.randrange(KEYS), rng.randrange(KEYS)
            row: tuple[str, Row] = (relation.name, (*keys, rng.choice(pool)))
            if held and rng.random() < 0.5:
                row = rng.choice(sorted(held, key=repr))
            if row in writes:
                continue
            writes[row] = -1 if held.get(row) and rng.random() < 0.7 else 1
        fails = number > 0 and rng.random() < 0.1
        made.append(Transaction(tuple(Write(sign, name, (row,)) for (name, row), sign in writes.items()), fails))
        for row, sign in () if fails else writes.items():
            kind = next(each.kind for each in inputs if each.name == row[0])
            held[row] = held.get(row, 0) + sign if kind == "multiset" else max(sign, 0)
        held = {row: weight for row, weight in held.items() if weight > 0}
    return made
