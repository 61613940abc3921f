"""Sums through recursion: updated while the data has no cycle, in rounds or refused while it has one."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import pytest
from tests.engine.local.run import Rows, Running
from tests.engine.local.strata.acyclic.programs import BILL, PROGRAMS, random_row

import tidelog
from tidelog.diagnostics.errors import EvaluationError, ProgramError
from tidelog.engine.local.strata.acyclic import stratum
from tidelog.maintain.limits import Limits
from tidelog.maintain.switch import Decision

CAR: dict[str, Rows] = {"Bought": [(1, 5), (2, 7)], "Uses": [(3, 1, 4), (3, 2, 1), (4, 3, 2), (4, 1, 1)]}


def how(run: Running) -> list[tuple[str, str]]:
    return [(each.strategy, each.reason) for each in run.report.strata if "Cost" in each.relations]


def test_a_part_deleted_changes_what_contains_it_and_nothing_else() -> None:
    run = Running(BILL.format(""))
    run.commit(CAR)
    assert run.rows("Cost") == {(1, 5): 1, (2, 7): 1, (3, 27): 1, (4, 59): 1}
    assert run.commit(delete={"Uses": [(3, 2, 1)]}) == {"Cost": {(3, 27): -1, (3, 20): 1, (4, 59): -1, (4, 45): 1}}
    assert how(run) == [("acyclic", stratum.UPDATED)]
    (report,) = (each for each in run.report.strata if "Cost" in each.relations)
    assert report.instances < 20


def test_an_edge_turned_around_in_one_epoch_is_no_cycle() -> None:
    run = Running(BILL.format('#[cycle = "error"] '))
    run.commit({"Bought": [(1, 5), (9, 1)], "Uses": [(2, 1, 1), (3, 2, 1)]})
    run.commit({"Uses": [(2, 3, 1), (3, 9, 1)]}, {"Uses": [(3, 2, 1)]})
    assert run.rows("Cost") == {(1, 5): 1, (9, 1): 1, (3, 1): 1, (2, 6): 1}
    assert how(run) == [("acyclic", stratum.UPDATED)]


def test_a_cycle_in_the_data_is_left_to_the_rounds_until_it_is_gone() -> None:
    run, rounds = Running(BILL.format("")), Running(BILL.format(""), strategy="recompute")
    ends_at_zero: dict[str, Rows] = {"Bought": [(1, 1 << 40)], "Uses": [(2, 1, 1), (3, 2, 1 << 20), (2, 3, 1 << 20)]}
    assert run.commit(ends_at_zero) == rounds.commit(ends_at_zero)
    assert how(run) == [("rounds", stratum.CYCLE)]
    assert run.commit(delete={"Uses": [(2, 3, 1 << 20)]}) == rounds.commit(delete={"Uses": [(2, 3, 1 << 20)]})
    assert how(run) == [("acyclic", stratum.RECOMPUTED)]
    assert run.rows("Cost") == rounds.rows("Cost")


def test_a_cycle_is_refused_where_the_rule_says_so() -> None:
    run = Running(BILL.format('#[cycle = "error"] '))
    run.commit(CAR)
    with pytest.raises(EvaluationError, match=r"Cost\(3, .*→ Cost\(4, .*depend on themselves") as raised:
        run.commit({"Uses": [(3, 4, 1)]})
    assert raised.value.code == "E611"
    assert run.rows("Cost") == {(1, 5): 1, (2, 7): 1, (3, 27): 1, (4, 59): 1}
    assert run.commit({"Bought": [(5, 1)]}) == {"Cost": {(5, 1): 1}}
    assert how(run) == [("acyclic", stratum.UPDATED)]


def test_the_warning_speaks_of_cycles_in_the_data_until_they_are_errors() -> None:
    (warning,) = tidelog.compile(BILL.format("")).stages.typed.warnings
    assert warning.code == "W301"
    assert any("#[cycle" in note for note in warning.notes)
    assert not tidelog.compile(BILL.format('#[cycle = "error"] ')).stages.typed.warnings


def test_max_rounds_counts_the_rounds() -> None:
    run = Running(BILL.format(""), Limits(max_rounds=3))
    run.commit({"Bought": [(0, 1)], "Uses": [(1, 0, 1), (2, 1, 1)]})
    assert how(run) == [("rounds", stratum.LIMITED)]
    with pytest.raises(EvaluationError):
        run.commit({"Uses": [(3, 2, 1)]})


def test_the_attribute_takes_only_error() -> None:
    with pytest.raises(ProgramError, match="error"):
        tidelog.compile(BILL.format('#[cycle = "rounds"] '))


def test_a_value_that_decides_a_key_is_left_to_the_rounds() -> None:
    run = Running(
        BILL.format("")
        + """
        Uses2(p, q) :- Cost(p, c), c > 10, Uses(p, q, _).
        relation Uses2(p: u32, q: u32)
        Cost(p, 0) :- Uses2(_, p).
    """
    )
    run.commit(CAR)
    assert how(run)[0][0] == "rounds"


def test_a_cycle_with_a_row_that_the_epoch_deletes_is_no_cycle() -> None:
    run = Running("""
        import group
        input relation Bought(p: u32, c: u64)
        input relation Uses(p: u32, q: u32, r: u32)
        relation Link(p: u32, q: u32)
        output relation Cost(p: u32, c: u64)
        Cost(p, c) :- Bought(p, c).
        Link(p, q) :- Uses(p, q, r), Cost(r, _).
        #[cycle = "error"] Cost(p, s) :- Link(p, q), Cost(q, c), var s = c.group_by(p).sum_of(|x| x).
    """)
    # Link(3, 2) is deep: it goes after Link(2, 3) has come.
    chain = [(i + 1, i, 1) for i in range(10, 20)]
    run.commit({"Bought": [(1, 7), (10, 1)], "Uses": [*chain, (2, 1, 1), (3, 1, 1), (3, 2, 20)]})
    run.commit({"Uses": [(2, 3, 1)]}, {"Bought": [(10, 1)]})
    assert run.rows("Cost") == {(1, 7): 1, (2, 7): 1, (3, 7): 1}
    with pytest.raises(EvaluationError, match="depend on themselves"):
        run.commit({"Bought": [(10, 1)]})
    run.commit({"Bought": [(8, 1)]})
    assert how(run) == [("acyclic", stratum.UPDATED)]


def test_a_named_function_of_values_may_fail_in_a_round() -> None:
    text = """
        import group
        function share(t: (u32, u64)): u64 { 100 / t.1 }
        input relation Bought(p: u32, c: u64)
        input relation Uses(p: u32, q: u32, n: u64)
        output relation Cost(p: u32, c: u64)
        Cost(p, c) :- Bought(p, c).
        Cost(p, s) :- Uses(p, q, n), Cost(q, c), p < 5, var s = (q, n * c).group_by(p).sum_of(|t| t.1).
        Cost(p, s) :- Uses(p, q, n), Cost(q, c), p == 5, var s = (q, n * c).group_by(p).sum_of(share).
    """
    for run in (Running(text), Running(text, strategy="recompute")):
        run.commit({"Bought": [(1, 5), (2, 0)], "Uses": [(3, 1, 1), (4, 3, 1), (5, 4, 1)]})
        # Cost(4, 0) is there for one round.
        with pytest.raises(EvaluationError, match="division by zero"):
            run.commit({"Uses": [(4, 2, 1)]})


def test_counts_are_updated_like_sums() -> None:
    run = Running("""
        input relation Uses(p: u32, q: u32)
        output relation Cost(p: u32, n: usize)
        Cost(q, 1) :- Uses(_, q).
        Cost(p, n) :- Uses(p, q), Cost(q, m), var n = (q, m).group_by(p).count_distinct().
    """)
    run.commit({"Uses": [(2, 1), (3, 2)]})
    run.commit({"Uses": [(3, 1)]})
    assert run.rows("Cost") == {(1, 1): 1, (2, 1): 1, (3, 2): 1}
    assert how(run) == [("acyclic", stratum.UPDATED)]


@pytest.fixture(params=["row by row", "level by level"])
def bootstrap(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How everything is derived from scratch."""
    if request.param == "level by level":
        monkeypatch.setattr(stratum, "FEW_ROWS", 0)
        monkeypatch.setattr(stratum, "LEVEL_COST", 0)
    return str(request.param)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("seed", range(6))
def test_random_histories_end_where_the_rounds_end(
    name: str, seed: int, bootstrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(f"{name} {seed}")
    cost = "Cost(_, _, _)" if "Cost(kind" in PROGRAMS[name] else "Cost(_, _)"
    failing = f"input relation Stop(z: u64)\noutput relation Stopped(z: u64)\nStopped(1 / z) :- {cost}, Stop(z).\n"
    run = Running(PROGRAMS[name] + failing)
    rounds = Running(PROGRAMS[name], strategy="recompute")
    facts: dict[str, set[tuple[int, ...]]] = {"Bought": set(), "Uses": set()}
    ways = set()
    for epoch in range(25):
        if bootstrap == "level by level" and chance.random() < 0.3:
            # As if the change were large.
            monkeypatch.setattr(stratum.AcyclicStratum, "_decide", lambda *_: Decision("bootstrap", "asked for"))
        else:
            monkeypatch.undo()
            if bootstrap == "level by level":
                monkeypatch.setattr(stratum, "FEW_ROWS", 0)
                monkeypatch.setattr(stratum, "LEVEL_COST", 0)
        changes: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
        for relation, rows in facts.items():
            deleted = chance.sample(sorted(rows), min(len(rows), chance.randrange(3)))
            cycles = name == "bill" and seed < 3
            inserted = {random_row(chance, relation, cycles=cycles) for _ in range(chance.choice((0, 1, 2, 9)))}
            changes[0][relation], changes[1][relation] = sorted(inserted - rows), deleted
        if chance.random() < 0.3:
            # The epoch fails after the recursion, and leaves nothing.
            with suppress(EvaluationError):
                run.commit({**changes[0], "Stop": [(0,)]}, changes[1])
                run.commit(changes[1], {**changes[0], "Stop": [(0,)]})
        for relation, rows in facts.items():
            rows -= set(changes[1][relation])
            rows |= set(changes[0][relation])
        expected, found = rounds.commit(*changes), run.commit(*changes)
        assert (found or {}) == (expected or {}), f"epoch {epoch}"
        assert {n: run.rows(n) for n in rounds.program.stages.rules.relations if "#" not in n} == {
            n: rounds.rows(n) for n in rounds.program.stages.rules.relations if "#" not in n
        }
        ways |= {strategy for strategy, _ in how(run)}
    assert "acyclic" in ways
