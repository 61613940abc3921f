"""What the switch decides: from the change alone, from the past, and while an Update runs, by a clock of the test's."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

import tidelog
from tidelog.engine.interface import EpochReport, Operation
from tidelog.engine.local.engine import LocalEngine
from tidelog.maintain.report import regret
from tidelog.maintain.switch import (
    ALWAYS_UPDATE,
    NO_LIMIT,
    OVERRUN,
    RANK_LIMIT,
    SKIPS_IN_A_ROW,
    UPDATE_RATE,
    Decision,
    Meter,
    Progress,
    Switch,
    Touched,
    events_of,
)

MANY = 1_000_000
STRATUM = ("Reach",)


def edges(*, came: int = 0, left: int = 0, rows: int = 1000) -> list[Touched]:
    return [Touched("Edge", rows, came, left)]


def decide(
    switch: Switch, touched: Sequence[Touched], *, instances: int = MANY, rows: int = 1000, rank: int = 5
) -> Decision:
    came = sum(each.inserted for each in touched)
    return switch.decide(STRATUM, instances, 0, rows + came, touched, rank)


def measured(bootstrap: float = 1.0, update: float = 1.0) -> Switch:
    """A switch that has seen a Bootstrap and an Update of a million instances in so many seconds."""
    switch = Switch(0.2, Clock())
    switch.history(STRATUM).note_bootstrap(bootstrap, MANY)
    switch.history(STRATUM).note_update(update, MANY, {("Seen", 1): MANY}, MANY)
    return switch


class Clock:
    """Time passes when the test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


# The change alone


def test_an_empty_stratum_and_high_ranks_start_anew() -> None:
    assert decide(Switch(), edges(came=10, rows=0), instances=0, rows=0).strategy == "bootstrap"
    assert decide(Switch(), edges(came=1), rank=RANK_LIMIT).strategy == "bootstrap"


def test_what_is_small_update_without_a_budget() -> None:
    decision = decide(Switch(), edges(left=900), instances=ALWAYS_UPDATE)
    assert decision.strategy == "update"
    assert Switch().meter(decision, ALWAYS_UPDATE, recursive=True).stride == NO_LIMIT


def test_where_much_is_gone_the_stratum_starts_anew_without_a_try() -> None:
    decision = decide(Switch(), edges(left=250))
    assert (decision.strategy, decision.reason) == ("bootstrap", "25% of the rows that the rules read are deleted")
    # New rows do not count among those that were there.
    assert decide(Switch(), edges(came=500, left=250)).is_full
    assert not decide(Switch(), edges(came=500, left=249)).is_full


def test_a_relation_that_is_replaced_starts_the_stratum_anew() -> None:
    replaced = [Touched("Edge", 100, 100, 100)]
    decision = decide(Switch(), replaced)
    assert (decision.strategy, decision.reason) == ("bootstrap", "100% of `Edge` is deleted")
    # Not so a relation that is next to nothing of what the rules read.
    assert not decide(Switch(), [Touched("Edge", 10, 10, 10)]).is_full


def test_the_past_can_say_that_it_is_harmless_that_much_is_gone() -> None:
    switch = measured()
    switch.history(STRATUM).note_update(0.1, 10, {("Edge", -1): 10}, MANY)
    decision = decide(switch, edges(left=400))
    assert decision.strategy == "update"
    assert decision.expected_update == pytest.approx(400e-6, rel=0.01)
    assert decision.expected_bootstrap == pytest.approx(0.6)


# The past


def test_without_a_past_the_budget_is_a_share_of_a_bootstrap() -> None:
    decision = decide(measured(bootstrap=2.0), edges(left=10))
    assert decision.reason == "no such change was measured yet"
    assert decision.expected_update is None
    assert decision.expected_bootstrap == pytest.approx(1.98)
    assert decision.budget == pytest.approx(0.2 * 1.98)
    unmeasured = decide(Switch(0.3), edges(came=10))
    assert unmeasured.expected_bootstrap is None
    assert unmeasured.budget == pytest.approx(0.3 * MANY)


def test_an_update_that_is_expected_to_lose_is_not_tried_but_now_and_then() -> None:
    switch = measured()
    switch.history(STRATUM).note_update(1.3, 1_300_000, {("Edge", -1): 100}, MANY)
    found = [decide(switch, edges(left=100)) for _ in range(SKIPS_IN_A_ROW + 1)]
    assert [each.strategy for each in found] == ["bootstrap"] * SKIPS_IN_A_ROW + ["update"]
    assert found[0].reason == "an Update was expected to cost 1.4 Bootstraps"
    assert found[-1].budget == pytest.approx(0.2 * 0.9)
    switch.history(STRATUM).note_update(0.2, 200_000, {("Edge", -1): 100}, MANY, given_up=True)
    assert decide(switch, edges(left=100)).is_full


def test_an_update_that_is_expected_to_win_may_take_half_as_much_again() -> None:
    switch = measured()
    switch.history(STRATUM).note_update(0.5, 500_000, {("Edge", 1): 100}, MANY)
    decision = decide(switch, edges(came=100))
    assert decision.strategy == "update"
    assert decision.budget == pytest.approx(0.75)
    assert decision.bootstrap == pytest.approx(1.5)


def test_rows_to_be_replaced_make_a_bootstrap_dearer() -> None:
    switch = measured()
    found = [switch.decide(STRATUM, MANY, rows, 1000, edges(left=10), 5) for rows in (0, MANY)]
    assert [each.expected_bootstrap for each in found] == [pytest.approx(0.99), pytest.approx(1.99)]
    # What a Bootstrap that replaced rows took foretells one that replaces none.
    history = switch.history(("Other",))
    history.note_bootstrap(2.0, MANY, MANY)
    assert history.bootstrap_rate == pytest.approx(1e-6)


def test_cheap_updates_win_where_dear_ones_lose() -> None:
    events = edges(left=100)
    for seconds, strategy in ((0.5, "update"), (1.5, "bootstrap")):
        switch = measured(update=seconds)
        switch.history(STRATUM).note_update(seconds, MANY, {("Edge", -1): 100}, MANY)
        assert decide(switch, events).strategy == strategy


# The Update while it runs


def running(budget: float = 0.2, clock: Clock | None = None) -> tuple[Meter, Clock]:
    clock = clock or Clock()
    meter = Meter(Decision("update", "", budget=budget, bootstrap=1.0), MANY, clock, by_clock=True)
    meter.begin()
    return meter, clock


def test_within_its_budget_an_update_goes_on() -> None:
    meter, clock = running()
    clock.now = 0.2
    assert meter.goes_on(Progress(200_000, 3, batch=1000, waiting=1000, rows=MANY))


def test_beyond_its_budget_it_goes_on_only_near_its_end() -> None:
    for waiting, goes_on in ((100_000, False), (1_000, True)):
        meter, clock = running()
        meter.goes_on(Progress(100_000, 3, batch=100_000, waiting=0, rows=MANY))
        clock.now = 0.21
        assert meter.goes_on(Progress(200_000, 3, batch=100_000, waiting=waiting, rows=MANY)) == goes_on
    assert "Bootstrap" not in meter.why


def test_waves_that_do_not_shrink_are_not_near_their_end() -> None:
    meter, clock = running()
    clock.now = 0.21
    assert not meter.goes_on(Progress(200_000, 20, batch=100_000, waiting=100_000, rows=MANY))
    assert meter.why == "it was not near its end after 200000 rule instances, 21% of a Bootstrap"


def test_deep_recursion_in_thin_waves_goes_on_until_the_rest_would_cost_a_bootstrap() -> None:
    # A chain: every wave has a few rows, and there have been many.
    for waves, goes_on in ((200, True), (2000, False)):
        meter, clock = running()
        clock.now = waves / 1000
        assert meter.goes_on(Progress(1000 * waves, waves, batch=1000, waiting=1000, rows=MANY)) == goes_on


def test_what_an_update_may_cost_beyond_its_budget_is_bounded() -> None:
    # Each wave seems to be the last but a few, and none is.
    ends = {}
    for batch, waves in ((50_000, 3), (20_000, 3), (500, 3)):
        meter, clock = running()
        wave, instances = waves, 0
        while instances < 3 * MANY:
            instances += 2 * batch
            clock.now = instances / MANY
            if not meter.goes_on(Progress(instances, wave, batch=batch, waiting=batch // 2, rows=MANY)):
                break
            wave += 1
        ends[batch, waves] = clock.now
    assert ends[50_000, 3] == pytest.approx(OVERRUN, abs=0.11)
    assert OVERRUN < ends[20_000, 3] < 1
    # With next to nothing to do, it goes on.
    assert ends[500, 3] == 3.0


def test_what_waits_for_the_next_wave_can_be_too_much_at_once() -> None:
    meter, clock = running(budget=5.0)
    clock.now = 0.01
    assert not meter.goes_on(Progress(5_000, 0, batch=0, waiting=600_000, rows=MANY))
    assert meter.why == "the rest would cost more, after 5000 rule instances"


def test_both_phases_count_and_preparing_them_does_not() -> None:
    clock = Clock()
    meter = Meter(Decision("update", "", budget=0.2, bootstrap=1.0), MANY, clock, by_clock=True)
    clock.now = 7.0  # arrangements are built
    meter.begin()
    clock.now = 7.15
    meter.end(100_000)
    meter.begin()
    clock.now = 7.25
    assert not meter.goes_on(Progress(50_000, 5, batch=50_000, waiting=50_000, rows=MANY))
    meter.end(50_000)
    assert meter.work == 150_000
    assert meter.seconds == pytest.approx(0.25)


def test_without_a_clock_instances_are_counted() -> None:
    for instances, goes_on in ((int(0.19 * MANY / UPDATE_RATE), True), (int(0.21 * MANY / UPDATE_RATE), False)):
        meter = Meter(Decision("update", "", budget=0.2 * MANY, bootstrap=MANY), MANY)
        meter.begin()
        assert meter.goes_on(Progress(instances, 40, batch=9000, waiting=9000, rows=MANY)) == goes_on


def test_without_recursion_nothing_is_to_come() -> None:
    clock = Clock()
    decision = Decision("update", "", budget=0.2, bootstrap=1.0)
    for recursive in (True, False):
        meter = Meter(decision, MANY, clock, by_clock=True, recursive=recursive)
        clock.now = 0.0
        meter.begin()
        clock.now = 0.5
        assert meter.goes_on(Progress(400_000, 0, batch=0, waiting=400_000, rows=MANY)) == (not recursive)


def test_a_change_larger_than_what_there_is_to_derive_is_not_an_update() -> None:
    small = [Touched("Edge", 300_000, 0, 1_000)]
    large = [Touched("Edge", 300_000, 100_000, 60_000), Touched("Off", 100_000, 100_000, 0)]
    for touched, strategy in ((small, "update"), (large, "bootstrap")):
        decision = Switch().decide(STRATUM, 150_000, 0, 500_000, touched, 5)
        assert decision.strategy == strategy
    assert decision.reason == "260000 changed rows are more than the instances to derive"


# In the engine

PROGRAM = """
    input relation Edge(a: u32, b: u32)
    output relation Reach(a: u32, b: u32)
    Reach(x, y) :- Edge(x, y).
    Reach(x, z) :- Reach(x, y), Edge(y, z).
"""
CHAIN = [(at, at + 1) for at in range(400)]


class Ticking:
    """A clock that goes a second at each look at it."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


def engine(strategy: str = "elastic") -> LocalEngine:
    opened = LocalEngine(tidelog.compile(PROGRAM).stages.rules, strategy=strategy, clock=Ticking())
    opened.open()
    return opened


def commit(engine: LocalEngine, *operations: tuple[int, list[tuple[int, int]]]) -> EpochReport:
    outcome = engine.commit([Operation("Edge", sign, rows) for sign, rows in operations])
    assert outcome is not None
    return outcome.report


def test_the_report_says_what_was_decided_and_why() -> None:
    db = engine()
    dense = [(a, b) for a in range(40) for b in range(40)]
    random.Random(1).shuffle(dense)
    (first,) = commit(db, (+1, dense)).strata
    assert (first.strategy, first.expected_update, first.regret) == ("bootstrap", None, None)
    found = [commit(db, (-1, gone)).strata[0] for gone in (dense[:10], dense[10:500], dense[500:510])]
    assert [each.strategy for each in found] == ["update", "bootstrap", "update"]
    assert found[0].reason == "no such change was measured yet"
    assert found[1].reason == "31% of the rows that the rules read are deleted"
    assert found[2].reason.startswith("an Update was expected to cost")
    assert found[2].expected_bootstrap is not None
    assert all(each.given_up == 0 for each in found)


def test_an_update_that_is_given_up_is_reported_and_remembered() -> None:
    db = engine()
    numbers = random.Random(2)
    graph = sorted({(numbers.randrange(150), numbers.randrange(150)) for _ in range(700)})
    commit(db, (+1, graph))
    middle = graph[::7]
    (given_up,) = commit(db, (-1, middle)).strata
    assert given_up.strategy == "bootstrap"
    assert given_up.reason.startswith("Update was given up: it was not near its end")
    assert 0 < given_up.given_up < given_up.seconds
    assert 0 < given_up.given_up_instances < given_up.instances
    assert given_up.expected_bootstrap is not None
    assert given_up.regret == regret(given_up.seconds, given_up.expected_bootstrap)
    commit(db, (+1, middle))
    (next_time,) = commit(db, (-1, middle)).strata
    assert next_time.strategy == "bootstrap"
    assert next_time.reason.startswith("an Update was expected to cost")
    assert next_time.given_up == 0
    other = engine("recompute")
    commit(other, (+1, [edge for edge in graph if edge not in middle]))
    assert db.count("Reach") == other.count("Reach")


def test_the_strategy_update_never_gives_up() -> None:
    db = engine("update")
    commit(db, (+1, CHAIN))
    for rows in ([CHAIN[200]], CHAIN[:200], CHAIN[201:]):
        (report,) = commit(db, (-1, rows)).strata
        assert (report.strategy, report.reason) == ("update", "requested by `strategy=`")
    assert db.count("Reach") == 0


def test_a_relation_that_is_replaced_is_derived_anew_at_once() -> None:
    db = engine()
    commit(db, (+1, CHAIN))
    (report,) = commit(db, (-1, CHAIN), (+1, [(a + 1000, b + 1000) for a, b in CHAIN])).strata
    assert (report.strategy, report.reason) == ("bootstrap", "100% of the rows that the rules read are deleted")


def test_regret_is_what_was_taken_above_the_better_expectation() -> None:
    assert regret(3.0, None, None) is None
    assert regret(3.0, 2.0, None) == 1.0
    assert regret(3.0, 2.0, 0.5) == 2.5
    assert regret(1.0, 2.0, 3.0) == 0.0


def test_events_are_counted_by_relation_and_sign() -> None:
    touched = [Touched("A", 5, 2, 0), Touched("B", 5, 1, 3)]
    assert events_of(touched) == {("A", 1): 2, ("B", 1): 1, ("B", -1): 3}


def test_an_added_rule_is_watched_even_in_a_small_stratum() -> None:
    """It may have any number of instances, and a Bootstrap would derive them faster."""
    added = Touched("rule 1", 2, 1, 0, is_rule=True)
    assert decide(measured(), edges(came=1), instances=100).budget == float("inf")
    assert decide(measured(), [added], instances=100).budget < 1.0


def test_a_removed_rule_with_most_instances_is_a_bootstrap() -> None:
    most = Touched("rule 1", 2, 0, 1, is_rule=True, share=0.99)
    few = Touched("rule 1", 2, 0, 1, is_rule=True, share=0.01)
    unknown = Touched("rule 1", 2, 0, 1, is_rule=True)
    assert decide(measured(), [most]).is_full
    assert not decide(measured(), [few]).is_full
    assert not decide(measured(), [unknown]).is_full
