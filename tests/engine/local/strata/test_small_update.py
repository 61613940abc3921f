"""Strata of which few rows have changed are updated by one call of a kernel; that ends as the usual way does."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import pytest
from tests.engine.local.run import Running
from tests.maintain.giving_up import giving_up
from tests.oracle.generate import random_case
from tests.oracle.instances import TooLargeError
from tests.properties.check import agrees_with_oracle

from tidelog.engine.interface import Operation
from tidelog.engine.local.execution.plan_cache import PlanCache, _rows_of
from tidelog.engine.local.strata import joins
from tidelog.engine.local.strata.joins import LocalStratum
from tidelog.maintain import epoch, switch
from tidelog.maintain.epoch import FEW_ROWS
from tidelog.maintain.limits import Limits
from tidelog.rules.ir import Rule

STRATA = """
input relation Edge(a: u32, b: u32)
input relation Closed(a: u32)
relation Reach(a: u32, b: u32)
relation Open(a: u32, b: u32)
output relation Ends(b: u32)
Reach(a, b) :- Edge(a, b).
Reach(a, c) :- Reach(a, b), Edge(b, c).
Open(a, b) :- Reach(a, b), not Closed(a).
Ends(b) :- Open(_, b).
"""


@contextmanager
def usual_ways() -> Iterator[list[tuple[str, ...]]]:
    """In here, the list has the relations of each stratum that was prepared for an Update in the usual way."""
    prepared: list[tuple[str, ...]] = []
    usual = LocalStratum._prepare

    def noted(self: LocalStratum, active: object, wave: int = 0) -> None:
        prepared.append(self.relations)
        usual(self, active, wave)  # type: ignore[arg-type]

    with mock.patch.object(LocalStratum, "_prepare", noted):
        yield prepared


def loaded(text: str = STRATA, nodes: int = 40) -> Running:
    run = Running(text)
    run.commit({"Edge": [(x, x + 1) for x in range(nodes)], "Closed": [(1,), (2,)]})
    for _ in range(2):  # plans and arrangements
        run.commit(delete={"Edge": [(20, 21)], "Closed": [(1,)]})
        run.commit({"Edge": [(20, 21)], "Closed": [(1,)]})
    return run


def test_a_changed_row_prepares_nothing_once_plans_and_arrangements_are_there() -> None:
    run = loaded()
    with usual_ways() as prepared:
        run.commit(delete={"Edge": [(39, 40)]})
        assert {each.reason for each in run.report.strata} == {FEW_ROWS}
        assert run.rows("Ends") == {(b,): 1 for b in range(1, 40)}
        run.commit({"Edge": [(39, 40)]})
    assert prepared == []
    assert run.rows("Ends") == {(b,): 1 for b in range(1, 41)}


def test_the_report_has_the_instances_and_rounds_of_the_usual_way() -> None:
    reports = []
    for usual in (False, True):
        run = loaded()
        found = []
        with mock.patch.object(LocalStratum, "small_update", return_value=None) if usual else mock.MagicMock():
            for delete, insert in (([(10, 11)], []), ([], [(10, 11)]), ([(5, 6)], [(4, 6)])):
                run.commit({"Edge": insert}, {"Edge": delete})
                found.append([(each.relations, each.instances, each.rounds, each.events) for each in run.report.strata])
        assert [each.reason == FEW_ROWS for each in run.report.strata] == [not usual] * len(run.report.strata)
        reports.append(found)
    assert reports[0] == reports[1]


def test_relations_that_have_grown_are_planned_again() -> None:
    run = loaded()
    with usual_ways() as prepared:
        run.commit({"Edge": [(x, x + 1) for x in range(100, 3_000, 2)]})
        run.commit({"Edge": [(5_000, 5_001)]})
    assert ("Reach",) in prepared
    assert len(run.rows("Reach")) == 40 * 41 // 2 + 1_450 + 1


def test_an_arrangement_that_nobody_needed_yet_is_made() -> None:
    run = Running(STRATA)
    run.commit({"Edge": [(x, x + 1) for x in range(40)], "Closed": [(1,)]})
    run.commit(delete={"Edge": [(20, 21)]})
    run.commit(delete={"Closed": [(1,)]})  # the first change of `Closed`
    assert run.rows("Ends") == {(b,): 1 for b in range(1, 41) if b != 21}
    assert (1, 2) in run.rows("Open")


def test_an_update_of_many_instances_continues_under_the_switch() -> None:
    run = loaded(nodes=120)
    with usual_ways() as prepared:
        run.commit(delete={"Edge": [(60, 61)]})
        reach = next(each for each in run.report.strata if each.relations == ("Reach",))
    assert ("Reach",) not in prepared
    assert reach.instances > switch.FEW_INSTANCES
    assert (reach.strategy, reach.reason != FEW_ROWS, reach.given_up) == ("update", True, 0.0)
    assert len(run.rows("Reach")) == 60 * 61 // 2 + 59 * 60 // 2


def test_an_update_that_has_begun_is_dropped_for_a_bootstrap() -> None:
    run = loaded(nodes=120)
    with giving_up(0.0):
        run.commit(delete={"Edge": [(60, 61)]})
    assert "bootstrap" in {each.strategy for each in run.report.strata}
    assert len(run.rows("Reach")) == 60 * 61 // 2 + 59 * 60 // 2
    run.commit({"Edge": [(60, 61)]})
    assert len(run.rows("Reach")) == 120 * 121 // 2


def test_an_update_that_has_begun_is_rolled_back_with_the_epoch() -> None:
    run = loaded(nodes=120)
    before = run.rows("Reach")

    def fail(self: LocalStratum, rule: Rule | None) -> None:
        raise ZeroDivisionError

    with mock.patch.object(LocalStratum, "_look", fail), pytest.raises(ZeroDivisionError):
        run.engine.commit([Operation("Edge", -1, [(60, 61)])])
    assert run.rows("Reach") == before
    run.commit(delete={"Edge": [(60, 61)]})
    assert len(run.rows("Reach")) == 60 * 61 // 2 + 59 * 60 // 2


def test_limits_of_rows_and_rounds_hold() -> None:
    run = Running(STRATA, Limits(max_rounds=50))
    run.commit({"Edge": [(x, x + 1) for x in range(20)]})
    run.commit({"Edge": [(20, 21)]})
    assert FEW_ROWS not in {each.reason for each in run.report.strata}


def test_changes_that_a_caller_holds_stay_as_they_are() -> None:
    run = loaded()
    held = []
    for x in range(50, 60):
        outcome = run.engine.commit([Operation("Edge", 1, [(x, x + 50)])])
        assert outcome is not None
        held.append((x, outcome.changes["Ends"]))
    for x, changes in held:
        assert dict(changes.weights()) == {(x + 50,): 1}


def _few(instances: int) -> mock._patch[int]:
    return mock.patch.object(epoch, "FEW_INSTANCES", instances)


@pytest.mark.parametrize("instances", [0, 1, 5, 2_000])
def test_oracle_small_updates_agree_however_early_they_ask(instances: int) -> None:
    done = 0
    for seed in range(40):
        case = random_case(random.Random(1_000 * instances + seed))
        try:
            with _few(instances):
                replay = agrees_with_oracle(case, recounted=True)
        except TooLargeError:
            continue
        done += sum(each.reason == FEW_ROWS for report in replay.reports for each in report.strata)
    assert done >= 5


def test_oracle_the_usual_way_agrees_where_small_updates_are_never_ready() -> None:
    for seed in range(30):
        case = random_case(random.Random(70_000 + seed))
        try:
            with mock.patch.object(PlanCache, "for_few_rows", return_value=None):
                replay = agrees_with_oracle(case, recounted=True)
        except TooLargeError:
            continue
        assert all(each.reason != FEW_ROWS or not each.instances for report in replay.reports for each in report.strata)


def test_more_changed_rows_than_few_are_left_to_the_switch() -> None:
    run = loaded()
    with mock.patch.object(joins, "FEW_CHANGES", 1):
        run.commit(delete={"Edge": [(39, 40), (38, 39)]})
    assert next(each for each in run.report.strata if each.relations == ("Reach",)).reason != FEW_ROWS
    assert run.rows("Ends") == {(b,): 1 for b in range(1, 39)}


@pytest.mark.parametrize("rows", [0, 1, 3, 4, 31, 32, 255, 256, 1 << 20, (1 << 31) - 1])
def test_plans_fit_the_numbers_of_rows_of_their_class(rows: int) -> None:
    least, most = _rows_of(rows.bit_length() // 3)
    assert least <= rows <= most
    assert {least.bit_length() // 3, most.bit_length() // 3} == {rows.bit_length() // 3}
    assert (most + 1).bit_length() // 3 == rows.bit_length() // 3 + 1
