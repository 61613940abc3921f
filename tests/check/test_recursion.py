"""Recursion: what may stand on a circle, and what is worth a warning."""

from __future__ import annotations

import pytest

from tests.check.programs import checked, wrong

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
    ) == ["W301 `group_by` stands in the recursion of `Best`"]


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
    assert warned(f"Way(a, b, m) :- Way(a, b, c), {literal}.") == ["W301 `group_by` stands in the recursion of `Way`"]


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
