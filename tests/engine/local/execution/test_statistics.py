"""What the engine tells its planner, and that its plans stay when nothing has changed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tidelog
from tidelog.engine.interface import Operation
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.execution import plan_cache
from tidelog.engine.local.execution.statistics import StoreStatistics
from tidelog.engine.local.kernels.entry_points import insert_facts
from tidelog.engine.local.kernels.layout import LIVE
from tidelog.engine.local.strata import joins
from tidelog.plan.plan_rules import plan_rules

PAIRS = "input relation A(x: u32, y: u32)"
CLOSURE = """
input relation Edge(a: u32, b: u32)
output relation Reach(a: u32, b: u32)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Reach(y, z).
"""


def opened(text: str, strategy: str = "elastic") -> LocalEngine:
    engine = LocalEngine(tidelog.compile(text).stages.rules, strategy=strategy)
    engine.open()
    return engine


def bucket(rows: list[tuple[int, int]], keys: tuple[int, ...]) -> float:
    engine = opened(PAIRS)
    engine.commit([Operation("A", 1, rows)])
    return StoreStatistics(engine._catalog, {"A": 0}, [0]).bucket("A", keys, 2)


def test_the_rows_of_a_key_are_counted_where_all_are_looked_at() -> None:
    rows = [(i // 10, i) for i in range(1000)]
    assert bucket(rows, (0,)) == pytest.approx(10)
    assert bucket(rows, (1,)) == pytest.approx(1)


def test_a_sample_tells_how_many_rows_share_a_key() -> None:
    rows = [(i // 500, i) for i in range(60_000)]
    assert bucket(rows, (0,)) == pytest.approx(500, rel=0.2)
    assert bucket(rows, (1,)) == pytest.approx(1, abs=0.01)


def test_a_frequent_key_weighs_more_than_the_many_that_are_rare() -> None:
    rows = [(0 if i < 500 else i, i) for i in range(1000)]
    assert bucket(rows, (0,)) > 200


def test_a_relation_that_is_still_empty_counts_as_larger_than_what_its_rules_read() -> None:
    engine = opened(CLOSURE)
    engine.commit([Operation("Edge", 1, [(i, i) for i in range(100)])])
    numbers = {"Edge": 0, "Reach": 1}
    engine._catalog.replace(1)
    statistics = StoreStatistics(engine._catalog, numbers, [0])
    assert statistics.rows("Reach") > statistics.rows("Edge") == 100
    assert statistics.bucket("Reach", (0,), 2) > 1


def test_a_relation_that_is_filled_anew_counts_as_before_until_it_has_more_rows() -> None:
    engine = opened(CLOSURE)
    engine.commit([Operation("Edge", 1, [(i, i + 1) for i in range(4)])])
    numbers = {"Edge": 0, "Reach": 1}
    old = engine._catalog.replace(1)
    statistics = StoreStatistics(engine._catalog, numbers, [0])
    statistics.expect({1: old})
    assert statistics.rows("Reach") == 10
    assert statistics.bucket("Reach", (0,), 2) == pytest.approx(3)  # the rows of 0 to 3 are 4, 3, 2 and 1
    fresh = engine._catalog.stores[1]
    fresh.make_room(50)
    insert_facts(engine._catalog.S, 1, np.array([(0, i) for i in range(50)], dtype=np.int64), 0)
    assert statistics.rows("Reach") == 50
    assert statistics.bucket("Reach", (0,), 2) == pytest.approx(50)


# Edges or open nodes first: that is a choice.
OPEN = """
input relation Edge(a: u32, b: u32)
input relation Open(a: u32)
output relation Reach(a: u32, b: u32)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z), Open(x).
"""
GROWN = [(i, i + 1) for i in range(100)]


@pytest.mark.parametrize("strategy", ["recompute", "update"])
def test_plans_follow_the_rows_of_an_epoch_that_makes_many(strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joins, "REPLAN_INSTANCES", 1_000)
    engine = opened(OPEN, strategy)
    engine.commit([Operation("Open", 1, [(i,) for i in range(100)]), Operation("Edge", 1, GROWN[:4])])
    expected: list[float] = []

    def watched(rules: Any, statistics: StoreStatistics, *more: Any) -> Any:
        expected.append(statistics.rows("Reach"))
        return plan_rules(rules, statistics, *more)

    monkeypatch.setattr(plan_cache, "plan_rules", watched)
    engine.commit([Operation("Edge", 1, GROWN[4:])])
    assert engine._catalog.stores[engine._runtime.numbers["Reach"]].line[LIVE] == 5050
    assert expected[0] == 10
    assert expected[-1] > 600


def test_a_small_update_is_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = opened(OPEN)
    engine.commit([Operation("Open", 1, [(i,) for i in range(201)]), Operation("Edge", 1, GROWN)])
    engine.commit([Operation("Edge", 1, [(200, 0)])])

    def never(*_: Any) -> Any:
        raise AssertionError("planned again")

    monkeypatch.setattr(plan_cache, "plan_rules", never)
    outcome = engine.commit([Operation("Edge", -1, [(200, 0)])])
    assert outcome is not None
    assert outcome.report.strata[0].rounds > 4


def test_updates_after_a_bootstrap_build_no_arrangement() -> None:
    engine = opened(CLOSURE)
    engine.commit([Operation("Edge", 1, [(i, i + 1) for i in range(60)])])
    reach = engine._catalog.stores[engine._runtime.numbers["Reach"]]
    built = list(reach.arranged())
    assert sorted(built) == [(0,), (1,)]
    engine.commit([Operation("Edge", -1, [(59, 60)])])
    assert engine._catalog.stores[engine._runtime.numbers["Reach"]] is reach
    assert reach.arranged() == built
