"""Which hidden relations are copies of others, and where their rows are."""

from __future__ import annotations

import pytest

import tidelog
from tidelog.rules.analysis.copies import Copies, Copy, find_copies

HEAD = """import group
input relation Sale(id: u32, shop: string, price: u64)
output relation Sum(shop: string, sum: u64)
"""
SUM = "Sum(s, g.sum_of(|t| t.1)) :- Sale(i, s, p), var g = (i, p).group_by(s).\n"


def found(rules: str) -> Copies:
    return find_copies(tidelog.compile(HEAD + rules).stages.rules)


def test_members_with_all_columns_of_a_relation_and_groups_that_a_rule_takes_as_they_are() -> None:
    copies = found(SUM)
    assert copies.places == {"Sum#members0": Copy("Sale", (1, 0, 2)), "Sum#groups1": Copy("Sum", (0, 1))}
    assert copies.grouping["Sum"].head.relation == "Sum#groups1"


def test_levels_of_detail_read_the_same_relation() -> None:
    copies = found(
        "output relation Most(shop: string, id: u32, p: u64)\n"
        "Sum(s, g.sum_of(|p| p)) :- Sale(i, s, p), var g = p.group_by(s).\n"
        "Most(s, i, g.max()) :- Sale(i, s, p), var g = p.group_by((s, i)).\n"
    )
    assert [each.of for each in copies.places.values()].count("Sale") == 1
    assert copies.grouping.keys() == {"Sum", "Most"}


@pytest.mark.parametrize(
    "body",
    [
        "Sale(i, s, p), p > 3, var g = (i, p).group_by(s)",
        "Sale(i, s, p), var g = (p, p).group_by(s)",
        "Sale(i, s, p), Sale(i, _, _), var g = (i, p).group_by(s)",
        "Sale(i, s, p), var g = (i, p + 1).group_by(s)",
        'Sale(i, "x", p), var s = "x", var g = (i, p).group_by(s)',
    ],
)
def test_other_members_are_stored(body: str) -> None:
    copies = found(f"Sum(s, g.sum_of(|t| t.1 as u64)) :- {body}.\n")
    assert [copy.of for copy in copies.places.values()] == ["Sum"]


@pytest.mark.parametrize(
    "rules",
    [
        SUM + 'Sum("none", 0).\n',
        "Sum(s, g.sum_of(|t| t.1) + 1) :- Sale(i, s, p), var g = (i, p).group_by(s).\n",
        "Sum(s, n) :- Sale(i, s, p), var g = (i, p).group_by(s), var n = g.sum_of(|t| t.1), n > 3.\n",
        'Sum("all", n) :- Sale(i, s, p), var g = (i, p).group_by(s), var n = g.sum_of(|t| t.1).\n',
        "Sum(s, g.sum_of(|t| t.1) + g.count_distinct()) :- Sale(i, s, p), var g = (i, p).group_by(s).\n",
    ],
)
def test_other_groups_are_stored(rules: str) -> None:
    assert [copy.of for copy in found(rules).places.values()] == ["Sale"]


def test_rows_with_weights_are_no_copies() -> None:
    text = (HEAD + SUM).replace("input relation", "input multiset").replace("output relation", "output multiset")
    assert not find_copies(tidelog.compile(text).stages.rules).places


def test_groups_of_groups_are_each_somewhere() -> None:
    copies = found(
        "output relation Least(sum: u64)\n"
        "Least(m) :- Sale(i, s, p), var n = (i, p).group_by(s).sum_of(|t| t.1), var m = (s, n).group_by(()).min().1.\n"
    )
    assert not {copy.of for copy in copies.places.values()} & copies.places.keys()
