"""The strategy `recompute`: the same rows and changes as `elastic`, with the state of a Bootstrap after every epoch."""

from __future__ import annotations

import random

import pytest

import tidelog
from tidelog.engine.interface import Operation
from tidelog.engine.local.engine import LocalEngine

PROGRAM = """
    input relation Edge(a: u32, b: u32)
    input relation Closed(a: u32)
    relation Open(a: u32, b: u32)
    Open(a, b) :- Edge(a, b), not Closed(a).
    output relation Reach(a: u32, b: u32)
    Reach(a, b) :- Open(a, b).
    Reach(a, c) :- Reach(a, b), Open(b, c).
    output relation Far(a: u32, n: u64)
    Far(a, n) :- Reach(a, b), var n = b.group_by(a).count_distinct().
"""


@pytest.mark.parametrize("seed", range(4))
def test_both_strategies_give_the_same_changes(seed: int) -> None:
    rng = random.Random(seed)
    rules = tidelog.compile(PROGRAM).stages.rules
    elastic, anew = LocalEngine(rules), LocalEngine(rules, strategy="recompute")
    elastic.open()
    anew.open()
    for _ in range(25):
        operations = [
            Operation("Edge", rng.choice((1, 1, -1)), [(rng.randrange(12), rng.randrange(12))])
            for _ in range(rng.randrange(1, 6))
        ]
        operations.append(Operation("Closed", rng.choice((1, -1)), [(rng.randrange(12),)]))
        first, second = elastic.commit(operations), anew.commit(operations)
        assert (first is None) == (second is None)
        if first is None or second is None:
            continue
        assert first.changes.keys() == second.changes.keys()
        for name, changes in first.changes.items():
            assert sorted(changes.weights()) == sorted(second.changes[name].weights())
        assert {report.strategy for report in second.report.strata} <= {"recompute", "groups"}
        fresh = LocalEngine(rules)
        fresh.open()
        fresh.commit([Operation(name, +1, [row for row, _ in anew.rows(name)]) for name in ("Edge", "Closed")])
        assert sorted(anew.state_table("Reach").to_pylist(), key=str) == sorted(
            fresh.state_table("Reach").to_pylist(), key=str
        )


def test_a_report_says_what_happened_and_how_much_of_the_stratum_it_was() -> None:
    db = tidelog.compile(PROGRAM).open()
    with db.transaction() as tx:
        tx.insert("Edge", [(1, 2), (2, 3), (3, 4)])
    with db.transaction() as tx:
        tx.insert("Edge", [(4, 5)])
    assert tx.report is not None
    reach = next(report for report in tx.report.strata if "Reach" in report.relations)
    # One row of `Open` came; four instances joined the six (three edges, two paths of two, one of three).
    assert (reach.strategy, reach.events, reach.instances) == ("update", 1, 4)
    assert reach.impact == pytest.approx(4 / 6)
    assert tx.report.bytes.keys() == tx.report.rows.keys()
    assert all(size > 0 for size in tx.report.bytes.values())


def test_the_impact_of_an_epoch_that_derives_anew_is_what_came_and_went() -> None:
    db = tidelog.compile(PROGRAM).open(strategy="recompute")
    edges = [(n, n + 1) for n in range(0, 2000, 2)]

    def impact_of(inserted: list[tuple[int, int]], deleted: list[tuple[int, int]]) -> float:
        with db.transaction() as tx:
            tx.delete("Edge", deleted)
            tx.insert("Edge", inserted)
        assert tx.report is not None
        (reach,) = (report for report in tx.report.strata if "Reach" in report.relations)
        assert reach.strategy == "recompute"
        return reach.impact

    impact_of(edges, [])
    assert impact_of([], edges[100:]) == pytest.approx(0.9)
    assert impact_of(edges[100:], []) == pytest.approx(9)
    assert impact_of([(5001, 5002)], [(0, 1)]) == pytest.approx(2 / 1000)


def test_an_unknown_strategy_is_refused_with_the_one_that_was_meant() -> None:
    with pytest.raises(tidelog.UsageError, match="did you mean 'recompute'"):
        tidelog.compile(PROGRAM).open(strategy="recomputed")
