"""First loads by scans and chains of look-ups leave the state of usual waves, number by number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.engine.local.run import Running

import tidelog
from tidelog.engine.local.strata import joins, scan_rules
from tidelog.engine.local.strata.scan_rules import ScanRules
from tidelog.maintain.limits import Limits

INPUTS = """
input relation A(x: s64, y: s64)
input relation B(x: s64, y: s64, t: string)
input relation C(y: s64)
"""
RULES = {
    "projection": ("P(y: s64)", "P(y) :- A(_, y)."),
    "columns in another order, and a constant": ("P(y: s64, n: s64, x: s64)", "P(y, 7, x) :- A(x, y)."),
    "equal columns": ("P(x: s64)", "P(x) :- A(x, x)."),
    "a constant that a column equals": ("P(x: s64)", "P(x) :- A(x, y), C(y), B(3, y, _)."),
    "arithmetic and a filter": ("P(x: s64)", "P(z) :- A(x, y), x % 5 != 1, var z = x * y - 3."),
    "bounds": ("P(x: s64)", "P(x) :- A(x, y), y > 4, y < 11."),
    "text": ("P(t: string, y: s64)", "P(t, y) :- B(_, y, t)."),
    "negation": ("P(x: s64, y: s64)", "P(x, y) :- A(x, y), not C(y)."),
    "several rules": ("P(x: s64)", "P(x) :- A(x, _).\nP(z) :- B(z, y, _), C(y)."),
    "rules that share a literal": ("P(x: s64)", "P(x) :- A(x, _).\nP(y) :- A(_, y).\nP(x) :- A(x, y), C(y)."),
    "join": ("P(x: s64, z: s64)", "P(x, z) :- A(x, y), A(y, z)."),
    "look-up of whole rows": ("P(x: s64, y: s64)", "P(x, y) :- A(x, y), A(y, x)."),
    "three literals": ("P(x: s64, t: string, y: s64)", "P(x, t, y) :- A(x, y), B(y, z, t), C(z), z != x."),
    "join with arithmetic": ("P(x: s64, n: s64)", "P(x, n) :- A(x, y), var n = x + y, B(y, z, _), A(z, n)."),
    "join on equal columns": ("P(x: s64)", "P(x) :- A(x, y), B(y, y, _)."),
    "rules above": ("P(x: s64)", "relation M(x: s64, y: s64)\nM(y, x) :- A(x, y), C(x).\nP(x) :- M(x, y), M(y, x)."),
    "groups": (
        "P(y: s64, n: u64, s: s64)",
        "P(y, n, s) :- A(x, y), B(x, z, _), var g = (x, z).group_by(y), var n = g.count_distinct(),"
        " var s = g.sum_of(|t| t.1).",
    ),
}

WAVES = ("a constant that a column equals", "rules that share a literal")  # they begin with a look-up, or branch


def program(name: str) -> str:
    head, rules = RULES[name]
    imported = "import group\n" if "group_by" in rules else ""
    return f"{imported}{INPUTS}output relation {head}\n{rules}"


def facts(seed: int, count: int, limit: int) -> dict[str, list[tuple[Any, ...]]]:
    rng = np.random.default_rng(seed)

    def some(columns: int, many: int) -> list[tuple[int, ...]]:
        return sorted({tuple(map(int, row)) for row in rng.integers(-2, limit, (many, columns))})

    return {
        "A": some(2, count),
        "B": [(x, y, f"t{(x * y) % 7}") for x, y in some(2, count)],
        "C": some(1, limit // 2),
    }


def state(running: Running) -> dict[str, list[str]]:
    """Returns the rows of all relations with their ranks, counts and totals."""
    names = list(running.engine.program.relations)
    return {name: sorted(map(repr, running.engine.state_table(name).to_pylist())) for name in names}


def wave_by_wave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan_rules, "LEAST_ROWS", 1 << 40)


def by_scans(monkeypatch: pytest.MonkeyPatch, repeated: float = 0.0) -> list[bool]:
    """Lets all strata that fit go by scans; returns, as they go, whether they did."""
    went: list[bool] = []
    run = ScanRules.run

    def noted(self: ScanRules, *, is_read: bool) -> int | None:
        found = run(self, is_read=is_read)
        went.append(found is not None)
        return found

    monkeypatch.setattr(scan_rules, "LEAST_ROWS", 0)
    monkeypatch.setattr(scan_rules, "TRIED", 10)
    monkeypatch.setattr(scan_rules, "REPEATED", repeated)
    monkeypatch.setattr(scan_rules, "AT_ONCE", 50)
    monkeypatch.setattr(ScanRules, "run", noted)
    return went


@pytest.mark.parametrize("limit", [9, 60])
@pytest.mark.parametrize("name", RULES)
def test_the_state_is_that_of_waves_then_and_after_changes(
    name: str, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, later = facts(1, 700, limit), facts(2, 90, limit)
    with monkeypatch.context() as patched:
        wave_by_wave(patched)
        usual = Running(program(name))
        usual.commit(given)
    went = by_scans(monkeypatch)
    running = Running(program(name))
    changes = running.commit(given)
    assert all(went)
    assert went or name in WAVES
    assert state(running) == state(usual)
    assert changes["P"] == dict.fromkeys(running.rows("P"), 1)
    for insert, delete in (({}, {"A": given["A"][::3]}), (later, {}), ({"A": given["A"][::6]}, {"C": given["C"]})):
        assert running.commit(insert, delete) == usual.commit(insert, delete)
        assert state(running) == state(usual)


@pytest.mark.parametrize("name", ["join", "three literals", "rules above"])
def test_a_join_with_many_repeats_is_left_to_waves(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = facts(3, 700, 12)
    usual = Running(program(name))
    usual.commit(given)
    went = by_scans(monkeypatch, repeated=1.1)
    running = Running(program(name))
    running.commit(given)
    assert not all(went)
    assert state(running) == state(usual)


def test_a_bootstrap_over_earlier_rows_finds_the_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    by_scans(monkeypatch)
    monkeypatch.setattr(joins, "FEW_CHANGES", 0)
    for name in ("join", "rules above", "several rules"):
        given, later = facts(4, 300, 40), facts(5, 300, 40)
        running = Running(program(name), strategy="recompute")
        running.commit(given)
        before = set(running.rows("P"))
        changes = (running.commit(later, given) or {}).get("P", {})
        after = set(running.rows("P"))
        assert changes == dict.fromkeys(after - before, 1) | dict.fromkeys(before - after, -1)
        fresh = Running(program(name))
        fresh.commit(later)
        assert set(fresh.rows("P")) == after


@pytest.mark.parametrize(
    "rule", ["P(12 / x) :- A(x, _).", "P(12 / y) :- A(x, y), C(y).", "P(z) :- A(x, y), var z = 1 / x, C(y)."]
)
def test_a_division_by_zero_names_the_row_and_leaves_nothing(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    went = by_scans(monkeypatch)
    running = Running(f"{INPUTS}output relation P(x: s64)\n{rule}")
    rows = [(x, y) for x in range(1, 30) for y in range(1, 30)]
    with pytest.raises(tidelog.EvaluationError, match="division by zero"):
        running.commit({"A": [*rows, (0, 0)], "C": [(0,), (4,)]})
    assert running.rows("P") == running.rows("A") == {}
    running.commit({"A": rows, "C": [(4,)]})
    assert running.rows("P")
    assert all(went)


def test_limits_stop_a_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    by_scans(monkeypatch)
    running = Running(program("join"), limits=Limits(max_rows=500))
    with pytest.raises(tidelog.TidelogError, match="max_rows"):
        running.commit(facts(6, 400, 30))
    assert running.rows("P") == {}
    running.commit({"A": [(1, 2), (2, 3)]})
    assert running.rows("P") == {(1, 3): 1}


def test_instances_are_counted_by_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    by_scans(monkeypatch)
    running = Running(program("several rules"))
    given = facts(7, 200, 30)
    running.commit(given)
    expected = len(given["A"]) + sum((y,) in set(given["C"]) for _, y, _ in given["B"])
    (stratum,) = (each for each in running.report.strata if "P" in each.relations)
    assert stratum.instances == expected
    assert sum(rule.last.instances for rule in running.engine.profile().rules) == expected
