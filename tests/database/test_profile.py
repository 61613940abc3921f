"""`db.profile`: what epochs cost, and what the state takes."""

from __future__ import annotations

import json
from time import perf_counter
from typing import Any

import pytest

import tidelog
from tests.database.queries.test_explain import REACH, opened
from tidelog.engine.local.kernels import waves
from tidelog.engine.local.machine_code import load, workers
from tidelog.engine.local.machine_code.declare import EntryPoint


def test_a_profile_counts_the_last_epoch_and_all_of_them() -> None:
    with opened(REACH, Edge=[("a", "b"), ("b", "c")]) as db:
        first = db.profile()
        with db.transaction() as tx:
            tx.insert("Edge", [("c", "d")])
        second = db.profile()
        with db.transaction() as tx:
            tx.insert("Blocked", [("z",)])
        third = db.profile()
    (before,) = first.strata
    (after,) = second.strata
    assert before.relations == ("Reach",)
    assert (before.last.instances, before.total.instances, before.epochs) == (3, 3, 1)
    assert (after.last.instances, after.total.instances, after.epochs) == (3, 6, 2)
    assert after.total.seconds >= after.last.seconds > 0
    assert (second.epoch, third.epoch) == (2, 3)
    assert second.total_seconds >= first.total_seconds + second.last_seconds


def test_a_profile_counts_the_instances_of_each_rule() -> None:
    with opened(REACH, Edge=[("a", "b"), ("b", "c"), ("c", "d")]) as db:
        with db.transaction() as tx:
            tx.delete("Edge", [("c", "d")])
        profile = db.profile()
    direct, further = profile.rules
    assert (direct.rule, direct.relation, direct.place) == ("Reach(x, y) :- Edge(x, y).", "Reach", "<text>:5:1")
    assert (direct.last.instances, direct.total.instances) == (1, 4)
    assert (further.last.instances, further.total.instances) == (2, 5)
    (stratum,) = profile.strata
    assert sum(rule.last.instances for rule in profile.rules) == stratum.last.instances
    assert sum(rule.last.seconds for rule in profile.rules) == pytest.approx(stratum.last.seconds)


@pytest.mark.parametrize("strategy", ["recompute", "counting", "elastic-paper", "circuit"])
def test_every_strategy_counts_the_instances_of_its_rules(strategy: str) -> None:
    with tidelog.compile(REACH).open(strategy=strategy) as db:
        for edge in (("a", "b"), ("b", "c"), ("c", "d")):
            with db.transaction() as tx:
                tx.insert("Edge", [edge])
        assert all(rule.total.instances >= 3 and rule.total.seconds > 0 for rule in db.profile().rules)
        assert len(db.profile().rules) == 2


def test_rules_that_python_runs_are_measured() -> None:
    text = """
    input relation A(x: string)
    input multiset M(x: u8)
    output relation Long(x: string)
    output multiset Twice(x: u8)
    output relation N(n: usize)
    Long(x) :- A(x), x.len() > 1.
    Twice(x) :- M(x).
    Twice(x) :- M(x), x > 1.
    N(n) :- A(x), var n = x.group_by(()).count_distinct().
    """
    with opened(text, A=[("a",), ("bb",), ("cc",)], M=[(1,), (2,)]) as db:
        costs = {rule.rule.partition(" ")[0]: rule.total for rule in db.profile().rules if "#" not in rule.rule}
        twice = [rule.total.instances for rule in db.profile().rules if rule.relation == "Twice"]
    assert costs["Long(x)"].instances == 2
    assert costs["Long(x)"].seconds > 0
    assert twice == [2, 1]
    assert costs["N(n)"].instances == 1


def test_an_epoch_that_fails_costs_nothing() -> None:
    text = "input relation A(x: u8)\noutput relation B(x: u8)\nB(10 / x) :- A(x)."
    with opened(text, A=[(1,)]) as db:
        before = db.profile()
        with pytest.raises(tidelog.EvaluationError), db.transaction() as tx:
            tx.insert("A", [(5,), (0,)])
        assert db.profile().rules == before.rules
        with db.transaction() as tx:
            tx.insert("A", [(2,)])
        (rule,) = db.profile().rules
    assert (rule.last.instances, rule.total.instances) == (1, 2)


def test_a_profile_has_the_sizes_of_relations_and_arrangements() -> None:
    with opened(REACH, Edge=[("a", "b"), ("b", "c"), ("a", "c")]) as db:
        with db.transaction() as tx:
            tx.insert("Edge", [("c", "d")])
        profile = db.profile()
        sizes = db.report.bytes
    rows = {each.name: each.rows for each in profile.relations}
    assert rows == {"Edge": 4, "Reach": 6}
    assert {each.name: each.bytes for each in profile.relations}.items() <= sizes.items()
    by_source = next(each for each in profile.arrangements if each.relation == "Edge")
    assert (by_source.columns, by_source.keys, by_source.rows) == (("src",), 3, 4)
    assert 0 < by_source.bytes < sizes["Edge"]


def test_a_profile_is_text_and_json() -> None:
    with opened(REACH, Edge=[("a", "b")]) as db:
        profile = db.profile()
    assert str(profile).startswith("epoch 1: ")
    assert "\nrelation  rows  bytes\n" in str(profile)
    assert "Edge" in profile.sizes_text()
    assert json.loads(profile.to_json())["strata"][0]["relations"] == ["Reach"]


def test_compiling_is_said_and_booked_for_no_rule(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The kernel is compiled as Numba does where machine code cannot be loaded: with processor time of this process."""
    program = tidelog.compile(
        "input relation A(x: u8, y: u8)\noutput relation B(x: u8)\nB(x) :- A(x, y), B(y).\nB(x) :- A(x, x)."
    )
    loaded, load_from_disk = waves.drive.load(), load.load_entry_point

    def numba_entry_point() -> Any:
        until = perf_counter() + 0.7
        while perf_counter() < until:
            pass
        return loaded

    def load_entry_point(entry_point: EntryPoint) -> Any:
        return workers.announced(numba_entry_point) if entry_point is waves.drive else load_from_disk(entry_point)

    monkeypatch.setattr(load, "load_entry_point", load_entry_point)
    monkeypatch.setattr(workers, "PATIENCE", 0.05)
    workers._announce.cache_clear()
    with program.open() as db:
        monkeypatch.setattr(waves.drive, "_loaded", None)
        with db.transaction() as tx:
            tx.insert("A", [(1, 2), (2, 2)])
        report, profile = tx.report, db.profile()
        assert report is not None
        assert report.seconds > report.compiling >= 0.7
        assert sum(each.seconds for each in report.strata) < 0.6
        assert 0 < sum(rule.total.seconds for rule in profile.rules) < 0.6
        assert (profile.last_compiling, profile.total_compiling) == (report.compiling, report.compiling)
        assert "s to compile kernels" in str(report)
        assert "s to compile kernels" in str(profile)
        with db.transaction() as tx:
            tx.insert("A", [(3, 2)])
        assert tx.report is not None
        assert "to compile kernels" not in str(tx.report)
    assert capsys.readouterr().err.count("tidelog: compiling kernels for this machine") == 1
