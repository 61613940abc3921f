"""Explanations of aggregates over rows, and the error of a sum that is too large."""

from __future__ import annotations

import pytest

import tidelog

SALES = """
input relation Sale(id: u32, shop: string, price: u8)
output relation Turnover(shop: string, total: u16)
Turnover(shop, total) :- Sale(_, shop, price), var total = sum(price) by (shop).
output relation All(n: u64)
All(n) :- Sale(_, _, _), var n = count() by ().
"""


def test_an_aggregate_rests_on_its_largest_contributions_and_says_how_many_there_are() -> None:
    with tidelog.compile(SALES).open() as db:
        with db.transaction() as tx:
            tx.insert("Sale", [(id_, "a", id_) for id_ in range(1, 21)])
        text = str(db.explain("Turnover", ("a", 210)))
        assert 'var total = sum(price) by (shop), shop = "a": of 20 rows, the 5 largest contributions:' in text
        inputs = [line for line in text.splitlines() if line.endswith("input")]
        shown = [line.partition("Sale(")[2].split(",")[0] for line in inputs]
        assert shown == ["20", "19", "18", "17", "16"]


def test_the_total_of_nothing_is_explained() -> None:
    with tidelog.compile(SALES).open() as db:
        assert "no rows for var n = count() by ()" in str(db.explain("All", (0,)))
        with db.transaction() as tx:
            tx.insert("Sale", [(1, "a", 1)])
        assert "of 1 row" in str(db.explain("All", (1,)))


def test_another_total_is_not_there() -> None:
    with tidelog.compile(SALES).open() as db:
        with db.transaction() as tx:
            tx.insert("Sale", [(1, "a", 1)])
        found = str(db.why_not("Turnover", ("a", 2)))
        assert 'nothing reaches `var total = sum(price) by (shop)` with shop = "a", total = 2' in found


@pytest.mark.parametrize("strategy", ["elastic", "recompute", "update"])
def test_a_sum_that_does_not_fit_fails_and_names_its_key(strategy: str) -> None:
    with tidelog.compile(SALES).open(strategy=strategy) as db:
        with db.transaction() as tx:
            tx.insert("Sale", [(id_, "a", 255) for id_ in range(257)])
        assert sorted(db.relation("Turnover").rows()) == [("a", 65535)]
        message = r'the sum of the key \(shop = "a"\) does not fit into `u16`'
        with pytest.raises(tidelog.EvaluationError, match=message), db.transaction() as tx:
            tx.insert("Sale", [(1000, "a", 1), (1001, "b", 1)])
        assert sorted(db.relation("Turnover").rows()) == [("a", 65535)]
        with db.transaction() as tx:
            tx.insert("Sale", [(1000, "a", 5)])
            tx.delete("Sale", [(0, "a", 255)])
        assert sorted(db.relation("Turnover").rows()) == [("a", 65285)]


RECURSIVE = """
input relation Uses(part: string, of: string, n: s32)
input relation Bought(part: string, cost: s8)
output relation Cost(part: string, cost: s8)
Cost(part, cost) :- Bought(part, cost).
Cost(part, total) :- Uses(part, of, n), Cost(of, cost), var total = sum(n * (cost as s32)) by (part).
"""


@pytest.mark.parametrize("strategy", ["elastic", "recompute"])
def test_inside_recursion_only_the_last_sum_has_to_fit(strategy: str) -> None:
    with tidelog.compile(RECURSIVE).open(strategy=strategy) as db:
        with db.transaction() as tx:
            # The first round that has `a` has not yet the part that makes it cheap.
            tx.insert("Bought", [("x", 100), ("y", -100)])
            tx.insert("Uses", [("a", "x", 2), ("a", "b", 1), ("b", "y", 1)])
        assert ("a", 100) in set(db.relation("Cost").rows())
        with pytest.raises(tidelog.EvaluationError, match="E613"), db.transaction() as tx:
            tx.insert("Uses", [("c", "a", 2)])
        with pytest.raises(tidelog.EvaluationError, match="E613"), db.transaction() as tx:
            tx.insert("Uses", [("b", "a", 2)])
        assert len(set(db.relation("Cost").rows())) == 4
