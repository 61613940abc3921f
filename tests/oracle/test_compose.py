"""The random cases of the wider language have in them what they are there for."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

from tests.oracle.compose import FEATURES, random_language_case
from tests.oracle.evaluate import weigh
from tests.oracle.history import is_an_epoch, weigh_facts
from tests.oracle.instances import TooLargeError
from tests.oracle.order import atoms, is_delayed, reach
from tests.oracle.program import GroupBy, Positive, Program, Unpack
from tests.oracle.types import Weights

CASES = 15


def features_of(program: Program) -> set[str]:
    found = {relation.kind for relation in program.relations}
    reads = reach(program)
    for rule in program.rules:
        near = {atom.relation for atom in atoms(rule) if not is_delayed(atom)}
        recursive = any(rule.head.relation in {name, *reads[name]} for name in near)
        found |= {"delay" if is_delayed(atom) else f"moment {atom.moment}" for atom in atoms(rule)}
        found |= {"recursion"} if recursive else set()
        for literal in rule.body:
            found.add(type(literal).__name__)
            match literal:
                case GroupBy() if recursive:
                    found.add("group in recursion")
                case Unpack(each=True):
                    found.add("flat map")
                case Positive(row=row) if row is not None:
                    found.add("row variable")
    return found


def events_of(program: Program, history: list[Weights]) -> set[str]:
    found = set()
    for before, after in pairwise(history):
        for relation in program.named("output"):
            old, new = before[relation.name], after[relation.name]
            changes = [new.get(row, 0) - old.get(row, 0) for row in {*old, *new}]
            found |= {f"{relation.kind} gains"} if any(n > 0 for n in changes) else set()
            found |= {f"{relation.kind} loses"} if any(n < 0 for n in changes) else set()
            found |= {f"{relation.kind} weighs"} if any(abs(n) > 1 for n in changes) else set()
    return found


def test_every_feature_occurs_and_many_cases_gain_and_lose_rows() -> None:
    counts: Counter[str] = Counter()
    for seed in range(CASES):
        for features in FEATURES:
            case = random_language_case(random.Random(seed), features)
            counts.update(features_of(case.program))
            facts: Weights = {}
            try:
                past = [weigh(case.program, facts, (), 5_000)]
                for transaction in case.history:
                    before, facts = facts, weigh_facts(case.program, facts, transaction)
                    if is_an_epoch(case.program, before, facts):
                        past.append(weigh(case.program, facts, past, 5_000))
            except TooLargeError:
                counts["too large"] += 1
                continue
            counts.update(events_of(case.program, past))
    everything = CASES * len(FEATURES)
    for feature in ("multiset", "stream", "delay", "moment '", "recursion", "flat map", "row variable", "GroupBy"):
        assert counts[feature] >= everything // 10, feature
    assert counts["group in recursion"] >= 8
    assert counts["relation gains"] >= everything // 2
    assert counts["relation loses"] >= everything // 4
    assert counts["multiset weighs"] >= everything // 10
    assert counts["stream gains"] >= everything // 20
    assert counts["too large"] <= everything // 20
