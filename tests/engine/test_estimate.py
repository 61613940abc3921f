"""What the engine tells its planner, and that its plans stay when nothing has changed."""

from __future__ import annotations

import pytest

import tidelog
from tidelog.engine.interface import Operation
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.estimate import StoreEstimates

PAIRS = "input relation A(x: u32, y: u32)"
CLOSURE = """
input relation Edge(a: u32, b: u32)
output relation Reach(a: u32, b: u32)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Reach(y, z).
"""


def opened(text: str) -> LocalEngine:
    engine = LocalEngine(tidelog.compile(text).stages.rules)
    engine.open()
    return engine


def bucket(rows: list[tuple[int, int]], keys: tuple[int, ...]) -> float:
    engine = opened(PAIRS)
    engine.commit([Operation("A", 1, rows)])
    return StoreEstimates(engine._desk, {"A": 0}, [0]).bucket("A", keys, 2)


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
    engine._desk.replace(1)
    estimates = StoreEstimates(engine._desk, numbers, [0])
    assert estimates.rows("Reach") > estimates.rows("Edge") == 100
    assert estimates.bucket("Reach", (0,), 2) > 1


def test_updates_after_a_bootstrap_build_no_arrangement() -> None:
    engine = opened(CLOSURE)
    engine.commit([Operation("Edge", 1, [(i, i + 1) for i in range(60)])])
    reach = engine._desk.stores[engine._laid.numbers["Reach"]]
    built = list(reach.arranged())
    assert sorted(built) == [(0,), (1,)]
    engine.commit([Operation("Edge", -1, [(59, 60)])])
    assert engine._desk.stores[engine._laid.numbers["Reach"]] is reach
    assert reach.arranged() == built
