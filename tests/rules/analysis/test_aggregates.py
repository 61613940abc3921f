"""Which groups become aggregates, and which rules share them, as `tidelog show --stage rules` prints it."""

from __future__ import annotations

from typing import Any

import pytest

import tidelog
from tidelog.rules.ir import AggregateKind, Rule

HEAD = """import group
input relation Sale(shop: string, item: string, price: u32)
output relation Out(shop: string, n: u32)
"""
SALE = "Sale(shop, _, price), var g = price.group_by(shop)"


def groups(text: str, **options: Any) -> list[Rule]:
    """The rules of a program that group."""
    rules = tidelog.compile(HEAD + text, **options).stages.rules.rules
    return [rule for rule in rules if rule.group is not None]


def kinds(text: str, **options: Any) -> list[str] | None:
    """The aggregates of the only group of a program; None where it stays a group."""
    (rule,) = groups(text, **options)
    assert rule.group is not None
    found = rule.group.aggregates
    return None if found is None else [each.kind.value for each in found]


@pytest.mark.parametrize(
    ("made", "kept"),
    [
        ("g.count_distinct() as u32", ["count"]),
        ("group_count_distinct(g) as u32", ["count"]),
        ("g.min()", ["min"]),
        ("g.first()", ["min"]),
        ("g.max() - g.min()", ["max", "min"]),
        ("g.max() + g.max()", ["max"]),
        ("g.sum_of(|p| p) + g.sum_of(|q| q)", ["sum"]),
        ("g.sum_of(|p| p) + g.sum_of(|p| p + 1)", ["sum", "sum"]),
        ("g.arg_min(|p| p % 7)", ["arg_min"]),
        ("g.arg_max(|p| p & 7) + (g.count(|p| p > 3) as u32)", ["arg_max", "count_if"]),
        ("g.sum_of(double_of)", ["sum"]),
        ("g.sum_of(|p| p + (shop.len() as u32))", ["sum"]),
        ("spread(g)", ["max", "min"]),
        ("between(g, 3)", ["sum"]),
        ('if (g.key() == "a") { g.min() } else { 0 }', ["min"]),
        ("7", []),
        ("g.fold(|x, y| x + y, 0)", None),
        ("g.min() + g.fold(|x, y| x + y, 0)", None),
        ("through(g)", None),
        ("g.nth(1).unwrap_or(0)", None),
        ("[1, 2].map(|x| x + g.min()).len() as u32", None),
        ("if (g.min() > 0) { g.sum_of(|p| 100 / p) } else { 0 }", None),
        ("g.sum_of(|p| 100 / p)", ["sum"]),
    ],
)
def test_what_is_kept_of_a_group(made: str, kept: list[str] | None) -> None:
    functions = """import vec
    function double_of(x: u32): u32 { 2 * x }
    function spread(g: Group<'K, u32>): u32 { g.max() - g.min() }
    function between(g: Group<'K, u32>, n: u32): u32 { if (n > 3) { g.sum_of(|x| x * n) } else { n } }
    function through(g: Group<'K, u32>): u32 { var s = 0; for ((x, _) in g) { s = s + x }; s }
    """
    assert kinds(f"{functions}\nOut(shop, {made}) :- {SALE}.") == kept


def test_texts_are_joined() -> None:
    text = (
        "output relation T(shop: string, t: string)\nT(shop, {}) :- Sale(shop, item, _), var g = item.group_by(shop)."
    )
    assert kinds(text.format('g.to_vec().join(", ")')) == ["join"]
    assert kinds(text.format('g.map(|s| s ++ "!").join("")')) == ["join"]
    assert kinds(text.format("g.to_vec().join(shop)")) is None


def test_what_may_fail_is_not_moved_before_a_condition() -> None:
    assert kinds(f"Out(shop, g.sum_of(|p| 100 / p)) :- {SALE}, g.min() > 0.") is None
    assert kinds(f"Out(shop, g.sum_of(|p| 100 - p)) :- {SALE}, g.min() > 0.") == ["min", "sum"]
    assert kinds(f"Out(shop, n) :- {SALE}, var n = g.sum_of(|p| 100 / p), n > 0.") == ["sum"]


def test_a_group_that_is_stored_or_unfolded_or_in_a_recursion_stays_one() -> None:
    stored = "output relation G(shop: string, g: Group<string, u32>)\n"
    assert kinds(f"{stored}G(shop, g) :- {SALE}.") is None
    assert kinds(f"Out(shop, n) :- {SALE}, (var n, _) = FlatMap(g).") is None
    text = """relation Way(a: u32, n: u32)
    Way(p, p) :- Sale(_, _, p).
    Way(a, n) :- Way(a, m), var n = m.group_by(a).min()."""
    assert kinds(text) is None


def test_with_duplicates_only_what_no_order_shows_in_is_kept() -> None:
    assert kinds(f"Out(shop, g.min()) :- {SALE}.", keep_duplicates=True) == ["min"]
    assert kinds(f"Out(shop, g.sum_of(|x| x)) :- {SALE}.", keep_duplicates=True) == ["sum"]
    assert kinds(f"Out(shop, g.first()) :- {SALE}.", keep_duplicates=True) is None
    assert kinds(f"Out(shop, g.arg_min(|x| x & 1)) :- {SALE}.", keep_duplicates=True) is None


def test_groups_with_the_same_members_are_one() -> None:
    rules = f"""output relation Most(s: string, n: u32)
    output relation Other(s: string, n: u32)
    Out(shop, g.min()) :- {SALE}.
    Most(s, n) :- Sale(s, _, p), var n = p.group_by(s).max().
    Other(s, n) :- Sale(s, _, p), p > 1, var n = p.group_by(s).max()."""
    first, second = groups(rules)
    assert first.group is not None
    assert second.group is not None
    assert [each.kind for each in first.group.aggregates or ()] == [AggregateKind.MIN, AggregateKind.MAX]
    assert [each.kind for each in second.group.aggregates or ()] == [AggregateKind.MAX]
    names = tidelog.compile(HEAD + rules).stages.rules.relations
    assert sum("#members" in name for name in names) == 2


def test_an_aggregate_that_may_fail_is_not_forced_on_others_but_has_their_members() -> None:
    rules = f"""output relation Least(s: string, n: u32)
    Out(shop, g.sum_of(|p| 100 / p)) :- {SALE}.
    Least(s, n) :- Sale(s, _, p), var n = p.group_by(s).min()."""
    first, second = groups(rules)
    assert first.group is not None
    assert second.group is not None
    assert first.group.atom.relation == second.group.atom.relation
    assert first.head.relation != second.head.relation


DETAIL = """output relation All(n: u64)
output relation Shop(shop: string, most: u32)
output relation Item(item: string, shop: string, sum: u32)
All(n) :- Sale(_, _, p), var n = p.group_by(()).count_distinct().
Shop(shop, most) :- Sale(shop, _, price), var most = price.group_by(shop).max().
Item(item, s, n) :- Sale(s, item, p), var n = p.group_by((item, s)).sum_of(|x| x + (item.len() as u32)).
"""


def test_levels_of_detail_share_the_members_of_the_finest() -> None:
    rules = tidelog.compile(HEAD + DETAIL).stages.rules
    assert [name for name in rules.relations if "#members" in name] == ["Item#members4"]
    found = {rule.head.relation: rule.text for rule in rules.rules if "#" in rule.head.relation}
    assert found == {
        "All#groups1": "All#groups1(a#0) :- var a#0 = count of distinct Item#members4(_, _, _).",
        "Shop#groups3": "Shop#groups3(shop, a#0) :- var a#0 = max of distinct Item#members4(shop, _, _).",
        "Item#members4": "Item#members4(s, item, p) :- Sale(s, item, p).",
        "Item#groups5": "Item#groups5(s, item, a#0) :- var a#0 = sum of |x| x + (ddlog_std::len(item) as u32) "
        "of Item#members4(s, item, _).",
    }


def test_keys_of_which_none_is_part_of_the_other_share_nothing() -> None:
    rules = """output relation Item(item: string, n: u32)
    Out(shop, n) :- Sale(shop, _, p), var n = p.group_by(shop).min().
    Item(item, n) :- Sale(_, item, p), var n = p.group_by(item).min()."""
    assert [each.group.finer for each in groups(rules) if each.group is not None] == [0, 0]


def test_with_duplicates_the_columns_of_a_finer_key_keep_values_apart() -> None:
    found = groups(DETAIL, keep_duplicates=True)
    assert len({each.group.atom.relation for each in found if each.group is not None}) == 1
    assert [each.group.finer for each in found if each.group is not None] == [0, 0, 0]
