"""Randomness → a case in which rules of many kinds come and go, with the relations that they are the first to mention.

A random case is given more rules, above all of its own: groups of what it derives, conditions on those, and negations
of these. Relations that no rule mentions at first are not declared before a rule does that comes.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from tests.oracle.case import RuleCase
from tests.oracle.generate import random_case
from tests.oracle.history import RuleCall, RuleTransaction, Transaction
from tests.oracle.program import (
    Apply,
    Assign,
    Atom,
    Call,
    Condition,
    Const,
    GroupBy,
    Negative,
    Positive,
    Program,
    Relation,
    Rule,
    Var,
    Wildcard,
    renamed,
)
from tests.oracle.types import BOOL, Function, bit
from tests.oracle.vocabulary import group_of

U64 = bit(64)


def wider_rule_case(rng: random.Random) -> RuleCase:
    """A program with some of its rules, and a history in which others come, and all come and go."""
    case = random_case(rng)
    program = _with_more(rng, case.program)
    rules = list(program.rules)
    present = {rule for rule in rules if rng.random() < 0.5}
    mentioned = {name for rule in present for name in _mentions(rule)}
    declared = {r.name for r in program.relations if r.role == "input" or r.name in mentioned}
    start = Program(
        tuple(relation for relation in program.relations if relation.name in declared),
        tuple(rule for rule in rules if rule in present),
    )
    history = []
    for transaction in case.history:
        calls: list[RuleCall] = []
        now, known = set(present), set(declared)
        for rule in rng.sample(rules, min(len(rules), rng.choice((0, 1, 1, 2, 3)))):
            sign = -1 if rule in now else +1
            new = [each for each in program.relations if each.name in _mentions(rule) and each.name not in known]
            written = renamed(rule, lambda number: f"w{number}") if rng.random() < 0.5 else rule
            calls.append(RuleCall(sign, written, tuple(new)))
            known |= {relation.name for relation in new}
            (now.discard if sign < 0 else now.add)(rule)
        writes = transaction.writes if rng.random() < 0.7 else ()
        history.append(RuleTransaction(Transaction(writes, transaction.fails), tuple(calls)))
        if not transaction.fails:
            present, declared = now, known
    return RuleCase(start, tuple(history))


def _mentions(rule: Rule) -> set[str]:
    read = {literal.atom.relation for literal in rule.body if isinstance(literal, Positive | Negative)}
    return {rule.head.relation, *read}


def _with_more(rng: random.Random, program: Program) -> Program:
    """The program with groups of some of its relations, what is large among them, and what is not."""
    wide = [relation for relation in program.relations if len(relation.columns) > 1]
    relations: list[Relation] = []
    rules: list[Rule] = []
    for number, relation in enumerate(rng.sample(wide, min(len(wide), 2))):
        more, its_rules = _grouped(rng, relation, number)
        relations += more
        rules += its_rules
    return replace(program, relations=(*program.relations, *relations), rules=(*program.rules, *rules), repeated=())


def _grouped(rng: random.Random, relation: Relation, number: int) -> tuple[list[Relation], list[Rule]]:
    columns = relation.columns
    names = [Var(f"c{i}", type_) for i, type_ in enumerate(columns)]
    *keys, value = rng.sample(names, rng.randint(2, len(names)))
    types = tuple(key.type for key in keys)
    group, n = Var("g", group_of(value.type)), Var("n", U64)
    size = Function("{0}.count_distinct()", (group_of(value.type),), U64, lambda g: len(g.items))
    counted = Relation(f"Counted{number}", (*types, U64), rng.choice(("output", "internal")))
    large = Relation(f"Large{number}", types, "output")
    lone = Relation(f"Lone{number}", types, "output")
    read = Positive(Atom(relation.name, tuple(names)))
    ask = Positive(Atom(counted.name, (*keys, n)))
    many = Condition(Apply(">", (n, Const(1, U64)), BOOL))
    body = (read, GroupBy(group, value, tuple(keys)), Assign(n, Call(size, (group,))))
    return [counted, large, lone], [
        Rule(Atom(counted.name, (*keys, n)), body),
        Rule(Atom(large.name, tuple(keys)), (ask, many)),
        Rule(Atom(lone.name, tuple(keys)), (_only(relation, names, keys), Negative(Atom(large.name, tuple(keys))))),
        Rule(Atom(lone.name, tuple(keys)), (ask, Condition(Apply("==", (n, Const(3, U64)), BOOL)))),
    ]


def _only(relation: Relation, names: Sequence[Var], keys: Sequence[Var]) -> Positive:
    return Positive(Atom(relation.name, tuple(name if name in keys else Wildcard() for name in names)))
