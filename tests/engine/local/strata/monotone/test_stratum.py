"""`min` and `max` through recursion, repaired: what is reported, what falls back to rounds, what leaves no trace."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from tests.engine.local.run import Running
from tests.engine.local.strata.monotone.recount import mistakes_in_improving

import tidelog
from tidelog.diagnostics.errors import EvaluationError
from tidelog.engine.local.strata.monotone import stratum
from tidelog.maintain.limits import Limits

SHORTEST = """
    input relation Edge(from: string, to: string, length: {0})
    input relation Source(n: string)
    relation Way(n: string, d: {0})
    output relation Best(n: string, d: {0})
    Way(n, 0) :- Source(n).
    Way(m, d + l) :- Best(n, d), Edge(n, m, l).
    Best(n, m) :- Way(n, d), var m = d.group_by(n).min().
"""
RING = [("a", "b", 1), ("b", "c", 0), ("c", "b", 0), ("c", "d", 2)]


def how(run: Running) -> list[tuple[str, str]]:
    return [(each.strategy, each.reason.partition(";")[0]) for each in run.report.strata]


def test_a_circle_of_weight_zero_does_not_keep_itself() -> None:
    run = Running(SHORTEST.format("u64"))
    run.commit({"Source": [("a",)], "Edge": RING})
    assert run.rows("Best") == {("a", 0): 1, ("b", 1): 1, ("c", 1): 1, ("d", 3): 1}
    assert run.commit(delete={"Edge": [("a", "b", 1)]}) == {"Best": {("b", 1): -1, ("c", 1): -1, ("d", 3): -1}}
    assert how(run) == [("monotone", stratum.UPDATED)]
    assert mistakes_in_improving(run.engine) == []


def test_a_value_does_not_keep_itself_through_its_own_earlier_value() -> None:
    # 5 makes Far, Far makes 3, and 3 makes Far as well: without 5 there is neither.
    run = Running("""
        input relation Given(n: u32, d: bigint)
        relation Way(n: u32, d: bigint)
        relation Far(n: u32)
        output relation Best(n: u32, d: bigint)
        Way(n, d) :- Given(n, d).
        Best(n, m) :- Way(n, d), var m = d.group_by(n).min().
        Far(n) :- Best(n, d), d < 10.
        Way(n, 3) :- Far(n).
    """)
    assert run.commit({"Given": [(1, 5)]}) == {"Best": {(1, 3): 1}}
    assert run.commit(delete={"Given": [(1, 5)]}) == {"Best": {(1, 3): -1}}


def test_a_better_way_replaces_what_followed_from_the_worse_one() -> None:
    run = Running(SHORTEST.format("bigint"))
    run.commit({"Source": [("a",)], "Edge": [("a", "b", 5), ("b", "c", 1)]})
    assert run.commit({"Edge": [("a", "b", 2)]}) == {"Best": {("b", 5): -1, ("b", 2): 1, ("c", 6): -1, ("c", 3): 1}}
    assert run.rows("Way") == {("a", 0): 1, ("b", 5): 1, ("b", 2): 1, ("c", 3): 1}
    assert run.commit({"Edge": [("a", "c", -4)]}, {"Edge": [("a", "b", 2)]}) == {
        "Best": {("b", 2): -1, ("b", 5): 1, ("c", 3): -1, ("c", -4): 1}
    }


def test_the_report_tells_the_waves_and_the_instances_of_a_repair() -> None:
    run = Running(SHORTEST.format("u64"))
    chain = [(str(i), str(i + 1), 1) for i in range(200)]
    run.commit({"Source": [("0",)], "Edge": chain})
    run.commit(delete={"Edge": [("198", "199", 1)]})
    (report,) = run.report.strata
    assert (report.strategy, report.events) == ("monotone", 1)
    assert 1 < report.instances < 20
    assert report.rounds > 1


def test_a_sum_that_may_run_over_its_type_is_left_to_the_rounds() -> None:
    text = SHORTEST.format("u8")
    run = Running(text)
    run.commit({"Source": [("a",)], "Edge": [("a", "b", 200), ("b", "c", 100), ("a", "c", 60)]})
    assert run.rows("Best") == {("a", 0): 1, ("b", 200): 1, ("c", 44): 1}
    assert how(run) == [("rounds", stratum.OVER)]
    run.commit(delete={"Edge": [("a", "b", 200)]})
    run.commit(delete={"Edge": [("b", "c", 100)]})
    assert run.rows("Best") == {("a", 0): 1, ("c", 60): 1}
    run.commit(delete={"Edge": [("a", "c", 60)]})
    run.commit({"Edge": [("a", "c", 1)]})
    assert how(run) == [("monotone", stratum.UPDATED)], "where there is room again, changes are followed again"


def test_infinite_lengths_are_left_to_the_rounds() -> None:
    run = Running(SHORTEST.format("double"))
    run.commit({"Source": [("a",)], "Edge": [("a", "b", 0.5), ("b", "c", 0.25)]})
    assert run.rows("Best") == {("a", 0.0): 1, ("b", 0.5): 1, ("c", 0.75): 1}
    assert how(run)[0][0] == "monotone"
    run.commit({"Edge": [("a", "d", float("inf"))]})
    assert how(run)[0][0] == "rounds"
    assert run.rows("Best") == {("a", 0.0): 1, ("b", 0.5): 1, ("c", 0.75): 1, ("d", float("inf")): 1}


def test_limits_stop_a_way_that_gets_ever_shorter_and_name_a_rule() -> None:
    run = Running(SHORTEST.format("bigint"), limits=Limits(max_rounds=50))
    run.commit({"Source": [("a",)], "Edge": [("a", "b", 1)]})
    before = run.rows("Best")
    with pytest.raises(EvaluationError, match=r"more than 50 rounds.*while the rule"):
        run.commit({"Edge": [("b", "a", -2)]})
    assert run.rows("Best") == before
    assert mistakes_in_improving(run.engine) == []
    assert run.commit({"Edge": [("b", "c", 1)]}) == {"Best": {("c", 2): 1}}
    assert how(run) == [("monotone", stratum.UPDATED)]


def test_too_many_rows_are_an_error() -> None:
    run = Running(SHORTEST.format("u64"), limits=Limits(max_rows=10))
    with pytest.raises(EvaluationError, match=r"`\w+` would have more than 10 rows.*while the rule"):
        run.commit({"Source": [(str(i),) for i in range(5)], "Edge": [("0", str(i), 1) for i in range(10, 18)]})


def test_a_repair_that_needs_too_many_rounds_is_not_the_end() -> None:
    run = Running(SHORTEST.format("u64"), limits=Limits(max_rounds=22))
    chain = [(str(i), str(i + 1), 1) for i in range(10)]
    run.commit({"Source": [("0",)], "Edge": chain})
    needed = run.report.strata[-1].rounds
    assert 10 <= needed <= 22
    # Rows that go and rows that come: twice as many rounds, which are too many.
    run = Running(SHORTEST.format("u64"), limits=Limits(max_rounds=needed))
    run.commit({"Source": [("0",)], "Edge": chain})
    run.commit({"Edge": [("0", "1", 2)]}, {"Edge": [("0", "1", 1)]})
    assert how(run) == [("monotone", stratum.TOO_LONG)]
    assert run.report.strata[-1].rounds == needed
    assert run.rows("Best")[("10", 11)] == 1
    assert mistakes_in_improving(run.engine) == []


def test_many_surpassed_values_are_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stratum, "FEW_SURPASSED", 5)
    run = Running(SHORTEST.format("u64"))
    run.commit({"Source": [("a",)]})
    reasons = set()
    for length in range(30, 0, -1):
        run.commit({"Edge": [("a", "b", length)]})
        reasons |= {reason for _, reason in how(run)}
        assert run.rows("Best") == {("a", 0): 1, ("b", length): 1}
    assert reasons == {stratum.UPDATED, stratum.SURPASSED}


def test_an_input_fact_of_the_recursion_is_told_from_an_equal_derived_row() -> None:
    run = Running("""
        input relation Cost(n: u32, c: u32)
        input relation Next(o: u32, n: u32)
        Cost(n, m + 1) :- Cost(o, c), var m = c.group_by(o).min(), Next(o, n).
        output relation Best(n: u32, c: u32)
        Best(n, m) :- Cost(n, c), var m = c.group_by(n).min().
    """)
    run.commit({"Cost": [(1, 5)], "Next": [(1, 2)]})
    assert run.commit(delete={"Cost": [(2, 6)]}) is None, "a derived row is no fact that could be deleted"
    run.commit({"Cost": [(2, 6)]})
    assert run.commit(delete={"Next": [(1, 2)]}) == {}
    assert run.rows("Best") == {(1, 5): 1, (2, 6): 1}
    assert run.commit(delete={"Cost": [(2, 6)]}) == {"Best": {(2, 6): -1}}


def test_rules_that_come_and_go_and_a_reopening(tmp_path: Path) -> None:
    program = tidelog.compile(SHORTEST.format("u64"))
    with program.open(path=tmp_path / "db") as db:
        with db.transaction() as tx:
            tx.insert("Source", [("a",)])
            tx.insert("Edge", RING)
        with db.transaction() as tx:
            tx.add_rules("Way(n, d + l) :- Best(m, d), Edge(n, m, l).")
        assert sorted(tx.changes["Best"].inserted) == []
        with db.transaction() as tx:
            tx.insert("Source", [("d",)])
        assert sorted(db.relation("Best").rows()) == [("a", 0), ("b", 1), ("c", 1), ("d", 0)]
        with db.transaction() as tx:
            tx.delete("Source", [("a",)])
        assert sorted(db.relation("Best").rows()) == [("a", 3), ("b", 2), ("c", 2), ("d", 0)]
    with tidelog.open(tmp_path / "db") as db:
        with db.transaction() as tx:
            tx.remove_rules("Way(n, d + l) :- Best(m, d), Edge(n, m, l).")
        assert sorted(db.relation("Best").rows()) == [("d", 0)]
        with db.transaction() as tx:
            tx.insert("Edge", [("d", "a", 7)])
        assert sorted(tx.changes["Best"].inserted) == [("a", 7), ("b", 8), ("c", 8)]


def test_a_rule_that_is_not_monotone_comes_and_goes() -> None:
    worse = "Way(n, d) :- Best(n, d), d > 100."
    with tidelog.compile(SHORTEST.format("u64")).open() as db:
        with db.transaction() as tx:
            tx.insert("Source", [("a",)])
            tx.insert("Edge", RING)
        for way in ("rounds", "monotone"):
            with db.transaction() as tx:
                tx.add_rules(worse) if way == "rounds" else tx.remove_rules(worse)
                tx.insert("Edge", [("d", way, 1)])
            assert tx.report is not None
            assert [each.strategy for each in tx.report.strata] == [way]
            assert list(tx.changes["Best"].inserted) == [(way, 4)]
        with suppress(KeyboardInterrupt), db.transaction() as tx:
            tx.add_rules(worse)
            raise KeyboardInterrupt
        with db.transaction() as tx:
            tx.delete("Edge", [("c", "d", 2)])
        assert sorted(db.relation("Best").rows()) == [("a", 0), ("b", 1), ("c", 1)]


def test_a_best_value_is_explained() -> None:
    with tidelog.compile(SHORTEST.format("u64")).open() as db:
        with db.transaction() as tx:
            tx.insert("Source", [("a",)])
            tx.insert("Edge", RING)
        text = str(db.explain("Best", ("d", 3)))
        assert 'Edge("c", "d", 2)' in text
        assert 'Source("a")' in text


def test_values_of_surpassed_rows_are_not_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.engine.local.encoding.pool.SMALLEST_SWEEP", 4)
    run = Running(SHORTEST.format("bigint"))
    run.commit({"Source": [("a",)]})
    for length in range(60, 0, -1):
        run.commit({"Edge": [("a", f"n{length}", length), ("a", "b", length), ("b", "c", 1)]})
        if length % 3:
            run.commit(delete={"Edge": [("a", f"n{length}", length)]})
    for length in range(1, 60):
        run.commit(delete={"Edge": [("a", "b", length)]})
        assert dict(run.rows("Best")).keys() >= {("b", length + 1), ("c", length + 2)}
        assert mistakes_in_improving(run.engine) == []


def test_the_best_values_come_first_so_that_few_are_surpassed() -> None:
    # Every node is reached at once, and then ever better along the chain: wave by wave that is 300 * 300 / 2 instances.
    nodes = 300
    edges = [("0", str(i), 10_000 - i) for i in range(1, nodes)] + [(str(i), str(i + 1), 1) for i in range(nodes)]
    run = Running(SHORTEST.format("u64"))
    run.commit({"Source": [("0",)], "Edge": edges})
    assert run.rows("Best") == {(str(i), i): 1 for i in range(nodes + 1)}
    (report,) = run.report.strata
    assert report.instances < 20 * nodes
    assert mistakes_in_improving(run.engine) == []


def test_a_first_load_is_not_a_repair() -> None:
    run = Running(SHORTEST.format("u64"))
    run.commit({"Edge": [(str(i), str(i + 1), 1) for i in range(2000)]})
    run.commit({"Source": [("0",)]})
    assert how(run) == [("monotone", stratum.UPDATED)]
    anew = Running(SHORTEST.format("u64"))
    anew.commit({"Edge": [(str(i), str(i + 1), 1) for i in range(2000)], "Source": [("0",)]})
    assert how(anew) == [("monotone", stratum.RECOMPUTED)]
    assert anew.rows("Best") == run.rows("Best")
    assert anew.commit(delete={"Edge": [("1990", "1991", 1)]}) == run.commit(delete={"Edge": [("1990", "1991", 1)]})
    assert mistakes_in_improving(anew.engine) == []
