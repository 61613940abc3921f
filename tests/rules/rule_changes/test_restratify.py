"""The strata of a program after other rules, found by difference: a right order of the right strata."""

from __future__ import annotations

import random

import pytest

from tidelog.compile_program import compile_program
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.spans import Source
from tidelog.rules.ir import Rule, RuleProgram, Stratum
from tidelog.rules.rule_changes.restratify import restratify
from tidelog.rules.stratify import find_strata

NAMES = "ABCDEFGH"


def program(rules: str) -> RuleProgram:
    declarations = "".join(f"relation {name}(x: u8)\n" for name in NAMES)
    return compile_program(Source("p.dl", declarations + rules)).rules


def after(before: RuleProgram, added: str = "", removed: tuple[int, ...] = ()) -> tuple[Stratum, ...]:
    come = _numbered(before, program(added).rules)
    gone = [rule for rule in before.rules if rule.id in removed]
    rules = [rule for rule in before.rules if rule.id not in removed] + come
    return restratify(before.strata, before.relations, rules, come, gone)


def _numbered(before: RuleProgram, rules: tuple[Rule, ...]) -> list[Rule]:
    first = len(before.rules)
    return [Rule(first + place, each.head, each.body, each.text, each.span) for place, each in enumerate(rules)]


def names(strata: tuple[Stratum, ...]) -> str:
    return " ".join("".join(stratum.relations) for stratum in strata)


def test_a_rule_that_reads_what_stands_before_its_head_changes_one_stratum() -> None:
    before = program("B(x) :- A(x).")
    found = after(before, "C(x) :- B(x).")
    assert names(found) == names(before.strata) == "A B C D E F G H"
    assert [one is other for one, other in zip(found, before.strata)] == [each != "C" for each in NAMES]


def test_what_stands_behind_the_head_moves_before_it_with_all_that_it_needs() -> None:
    before = program("F(x) :- D(x), A(x). D(x) :- C(x).")
    assert names(before.strata) == "A B C D E F G H"
    assert names(after(before, "B(x) :- F(x).")) == "A C D F B E G H"


def test_a_rule_that_closes_a_circle_makes_one_stratum_of_several() -> None:
    before = program("B(x) :- A(x). C(x) :- B(x).")
    found = after(before, "A(x) :- C(x).")
    assert (found[0].relations, found[0].recursive) == (("A", "B", "C"), True)


def test_a_rule_that_goes_may_split_a_stratum() -> None:
    before = program("A(x) :- B(x). B(x) :- A(x).")
    assert names(before.strata) == "AB C D E F G H"
    assert names(after(before, removed=(0,))) == "A B C D E F G H"


def test_a_relation_that_no_longer_reads_itself_is_not_recursive() -> None:
    before = program("A(x) :- A(x), B(x). A(x) :- B(x).")
    assert [each.recursive for each in before.strata if "A" in each.relations] == [True]
    assert [each.recursive for each in after(before, removed=(0,)) if "A" in each.relations] == [False]


@pytest.mark.parametrize("rule", ["A(x) :- B(x), not A(x).", "A(x) :- B(x), not C(x)."])
def test_negation_on_a_circle_is_refused(rule: str) -> None:
    with pytest.raises(ProgramError, match="depends on its own negation"):
        after(program("C(x) :- A(x)."), rule)


@pytest.mark.parametrize("seed", range(40))
def test_a_history_of_changes_gives_the_strata_that_a_look_at_all_rules_gives(seed: int) -> None:
    chance = random.Random(seed)
    now = program("")
    strata, rules, number = now.strata, list(now.rules), 0
    for _ in range(40):
        gone = chance.sample(rules, min(len(rules), chance.choice((0, 0, 1, 2))))
        come = [_random_rule(chance, number := number + 1) for _ in range(chance.choice((0, 1, 1, 2)))]
        others = [rule for rule in rules if rule not in gone] + come
        try:
            expected = find_strata(now.relations, others)
        except ProgramError:
            with pytest.raises(ProgramError):
                restratify(strata, now.relations, others, come, gone)
            continue
        strata, rules = restratify(strata, now.relations, others, come, gone), others
        assert {*strata} == {*expected}
        _is_in_order(strata)


def _random_rule(chance: random.Random, number: int) -> Rule:
    head, one = chance.choice(NAMES), chance.choice(NAMES)
    two = chance.choice([name for name in NAMES if name != head])
    negated = "not " if chance.random() < 0.2 else ""
    (rule,) = program(f"{head}(x) :- {one}(x), {negated}{two}(x).").rules
    return Rule(number, rule.head, rule.body, rule.text, rule.span)


def _is_in_order(strata: tuple[Stratum, ...]) -> None:
    done: set[str] = set()
    for stratum in strata:
        for rule in stratum.rules:
            assert {atom.relation for atom in rule.positives} <= done | {*stratum.relations}
            assert {atom.relation for atom in rule.negatives} <= done
        done |= {*stratum.relations}
