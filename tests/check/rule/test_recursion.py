"""Recursion: what may stand on a circle, and what is worth a warning."""

from __future__ import annotations

import random

import pytest

from tests.check.programs import checked, wrong
from tidelog.check.check import rules_of
from tidelog.check.rule.recursion import Recursion, Tree
from tidelog.diagnostics.report import Diagnostic
from tidelog.diagnostics.spans import Source
from tidelog.syntax.parse import parse

COSTS = """
input relation Cost(a: string, b: string, cost: u64)
relation Way(a: string, b: string, cost: u64)
relation Best(a: string, b: string, cost: u64)
Way(a, b, c) :- Cost(a, b, c).
"""


def warned(rules: str) -> list[str]:
    return [f"{warning.code} {warning.message}" for warning in checked(COSTS + rules).warnings]


def test_a_group_by_in_a_circle_is_right_and_is_warned_of() -> None:
    assert warned(
        """
        Best(a, b, m) :- Way(a, b, c), var m = c.group_by((a, b)).min().
        Way(a, c, x + y) :- Best(a, b, x), Cost(b, c, y).
        """
    ) == ["W301 `group_by` is inside the recursion of `Best`"]


@pytest.mark.parametrize(
    "literal",
    [
        "var m = c.group_by((a, b)).min()",
        "var m = Aggregate((a, b), group_min(c))",
        "var g = c.group_by((a, b)), var m = g.min()",
        "var m = FlatMap(c.group_by((a, b)).to_vec())",
        "Some{var m} = Some{c.group_by((a, b)).min()}",
    ],
)
def test_every_way_to_group_is_seen(literal: str) -> None:
    assert warned(f"Way(a, b, m) :- Way(a, b, c), {literal}.") == ["W301 `group_by` is inside the recursion of `Way`"]


@pytest.mark.parametrize(
    "rule",
    [
        "Best(a, b, m) :- Way(a, b, c), var m = c.group_by((a, b)).min().",
        "Way(a, b, m) :- Cost(a, b, c), var m = c.group_by((a, b)).min(), Way(b, a, _).",
        "Way(a, b, m) :- Way-1(a, b, c), var m = c.group_by((a, b)).min().",
        "Way(a, b, c) :- Way(b, a, c).",
    ],
    ids=["no circle", "grouped before the circle", "delayed", "no group"],
)
def test_a_group_by_that_depends_on_nothing_behind_it_is_not(rule: str) -> None:
    assert warned(rule) == []


def test_negation_in_a_circle_is_wrong_even_beside_a_group() -> None:
    rules = "Way(a, b, m) :- Way(a, b, c), var m = c.group_by((a, b)).min(), not Way(b, a, m)."
    assert wrong(COSTS + rules) == ["E307 relation `Way` depends on its own negation"]


CIRCLES = "relation A(x: u8)\nrelation B(x: u8)\nrelation C(x: u8)\nrelation D(x: u8)\n"
RULES = [
    *(f"{head}(x) :- {body}(x).\n" for head in "ABCD" for body in "ABCD"),
    *(f"{head}(x) :- A(x), not {body}(x).\n" for head, body in ("BC", "CB", "DB")),
    *(f"{head}(m) :- {body}(x), var m = x.group_by(1).max().\n" for head, body in ("AB", "DA", "CD")),
]


@pytest.mark.parametrize("seed", range(30))
def test_rules_that_come_and_go_are_judged_as_all_rules_together_are(seed: int) -> None:
    chance = random.Random(seed)
    modules = checked(CIRCLES).environment
    assert modules is not None
    trees = [(rule, modules.modules[""]) for text in RULES for rule in rules_of(parse(Source("r.dl", text)))]
    recursion = Recursion(())
    present: list[Tree] = []
    for _ in range(40):
        gone = chance.sample(present, min(len(present), chance.choice((0, 1, 1, 3))))
        rest = [tree for tree in present if tree not in gone]
        absent = [tree for tree in trees if tree not in present]
        come = chance.sample(absent, min(len(absent), chance.choice((0, 1, 1, 2))))
        changed, expected = recursion.changed(come, gone), Recursion([*rest, *come])
        assert _judged(changed) == _judged(expected)
        now = [*rest, *come]
        assert [changed.is_recursive(*tree) for tree in now] == [expected.is_recursive(*tree) for tree in now]
        if not _judged(expected)[0]:
            recursion, present = changed, now


def _judged(recursion: Recursion) -> tuple[list[Diagnostic], list[Diagnostic]]:
    """What is wrong, and what is worth a warning."""
    wrong_ones: list[Diagnostic] = []
    recursion.report(wrong_ones)
    return wrong_ones, recursion.warnings()
