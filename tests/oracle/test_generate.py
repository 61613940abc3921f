"""Random cases are worth running: they are readable, stratified, and things happen in them."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from tests.oracle.case import Case, script
from tests.oracle.evaluate import evaluate
from tests.oracle.generate import random_case
from tests.oracle.history import apply
from tests.oracle.program import Assign, Negative, Positive, Rule, Var, Wildcard
from tests.oracle.read import read
from tests.oracle.shrink import shrink
from tests.oracle.types import STRING, Relations
from tests.oracle.write import write

CASES = [random_case(random.Random(seed)) for seed in range(200)]


def test_a_written_program_reads_as_itself() -> None:
    for case in CASES:
        assert read(write(case.program)) == replace(case.program, repeated=())


def test_a_seed_makes_the_same_case_each_time() -> None:
    assert [random_case(random.Random(seed)) for seed in range(20)] == CASES[:20]


def test_most_cases_derive_rows_and_most_lose_some_again() -> None:
    deriving = losing = shrinking = transactions = 0
    for case in CASES[:100]:
        facts: Relations = {}
        before = evaluate(case.program, facts, limit=20_000)
        derives = loses = False
        for transaction in case.history:
            facts = apply(facts, transaction)
            after = evaluate(case.program, facts, limit=20_000)
            lost = any(before[name] - after[name] for name in case.program.derived)
            derives |= any(after[name] for name in case.program.derived)
            loses |= lost
            shrinking += lost
            transactions += 1
            before = after
        deriving += derives
        losing += loses
    assert deriving >= 80
    assert losing >= 70
    assert shrinking >= transactions * 0.3


def test_transactions_mix_many_inserts_and_deletes() -> None:
    mixed = fails = idle = 0
    for case in CASES:
        facts: Relations = {}
        for transaction in case.history:
            after = apply(facts, transaction)
            inserted = sum(len(after[name] - facts.get(name, frozenset())) for name in after)
            deleted = sum(len(facts[name] - after[name]) for name in facts)
            mixed += inserted >= 2 and deleted >= 2
            fails += transaction.fails
            idle += bool(transaction.writes) and not transaction.fails and after == facts
            facts = after
    assert mixed >= 150
    assert fails >= 50
    assert idle >= 20


@pytest.mark.parametrize(
    ("feature", "at_least"),
    [
        ("recursion", 100),
        ("negation", 120),
        ("negated wildcard", 30),
        ("wildcard", 30),
        ("variable twice in a literal", 20),
        ("self-join", 60),
        ("constant", 30),
        ("assignment", 20),
        ("no positive literal", 20),
        ("fact", 10),
        ("rule twice", 10),
        ("head in its own body", 10),
        ("writable derived relation", 20),
        ("nullary relation", 20),
        ("three strata", 20),
        ("wide integer", 20),
        ("string", 20),
    ],
)
def test_every_feature_of_the_language_occurs(feature: str, at_least: int) -> None:
    assert FEATURES[feature] >= at_least


def test_a_case_prints_as_a_script_that_runs() -> None:
    compile(script(CASES[0]), "<case>", "exec")
    assert repr(CASES[0]).endswith(script(CASES[0]))


def test_shrinking_keeps_only_what_the_failure_needs() -> None:
    def fails(case: Case) -> bool:
        deletes = any(write.sign < 0 and len(write.rows) >= 2 for t in case.history for write in t.writes)
        return deletes and any(isinstance(literal, Negative) for rule in case.program.rules for literal in rule.body)

    large = next(case for case in CASES if fails(case) and len(case.program.rules) > 4)
    small = shrink(large, fails, seconds=20)
    assert fails(small)
    assert [len(rule.body) for rule in small.program.rules] == [1]
    assert [[len(write.rows) for write in t.writes] for t in small.history] == [[2]]


def features(case: Case) -> set[str]:
    program = case.program
    found = {feature for rule in program.rules for feature in rule_features(rule)}
    types = {type_ for relation in program.relations for type_ in relation.columns}
    reads = {
        (rule.head.relation, literal.atom.relation)
        for rule in program.rules
        for literal in rule.body
        if isinstance(literal, Positive)
    }
    negated = {
        literal.atom.relation for rule in program.rules for literal in rule.body if isinstance(literal, Negative)
    }
    if any((a, b) in reads and (b, a) in reads for a, b in reads):
        found.add("recursion")
    if program.repeated:
        found.add("rule twice")
    if any(relation.name in program.derived for relation in program.named("input")):
        found.add("writable derived relation")
    if any(not relation.columns for relation in program.relations):
        found.add("nullary relation")
    if any(
        rule.head.relation in negated and any(isinstance(literal, Negative) for literal in rule.body)
        for rule in program.rules
    ):
        found.add("three strata")
    if any(type_.width > 64 for type_ in types):
        found.add("wide integer")
    if STRING in types:
        found.add("string")
    return found


def rule_features(rule: Rule) -> set[str]:
    positives = [literal.atom for literal in rule.body if isinstance(literal, Positive)]
    negatives = [literal.atom for literal in rule.body if isinstance(literal, Negative)]
    names = [atom.relation for atom in positives]
    tests = {
        "negation": bool(negatives),
        "negated wildcard": any(isinstance(term, Wildcard) for atom in negatives for term in atom.terms),
        "wildcard": any(isinstance(term, Wildcard) for atom in positives for term in atom.terms),
        "variable twice in a literal": any(
            isinstance(term, Var) and atom.terms.count(term) > 1 for atom in positives for term in atom.terms
        ),
        "self-join": len(set(names)) < len(names),
        "constant": any(not isinstance(term, Var | Wildcard) for atom in positives for term in atom.terms),
        "assignment": any(isinstance(literal, Assign) for literal in rule.body),
        "no positive literal": bool(rule.body) and not positives,
        "fact": not rule.body,
        "head in its own body": rule.head in positives,
    }
    return {name for name, holds in tests.items() if holds}


FEATURES = Counter(feature for case in CASES for feature in features(case))
