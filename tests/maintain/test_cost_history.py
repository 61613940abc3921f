"""What past epochs foretell: seconds per instance in spite of noise, and the impact of events by their kind."""

from __future__ import annotations

import pytest

from tidelog.maintain.cost_history import MEASURABLE, History

GONE, NEW = ("Edge", -1), ("Edge", 1)
MANY = 1_000_000


def test_nothing_is_foretold_without_a_past() -> None:
    history = History()
    assert history.bootstrap_rate is None
    assert history.update_rate is None
    assert history.expected_work({GONE: 1}, MANY) is None


def test_one_slow_measurement_changes_nothing() -> None:
    history = History()
    for seconds in (1.0, 9.0):
        history.note_bootstrap(seconds, MANY)
        history.note_update(seconds, MANY, {NEW: 1}, MANY)
    assert history.bootstrap_rate == pytest.approx(1e-6)
    assert history.update_rate == pytest.approx(1e-6)


def test_old_measurements_are_forgotten() -> None:
    history = History()
    for seconds in (1.0, 1.0, 1.0, 3.0, 3.0, 3.0, 3.0, 3.0):
        history.note_bootstrap(seconds, MANY)
    assert history.bootstrap_rate == pytest.approx(3e-6)


def test_what_is_too_small_for_the_clock_is_not_measured() -> None:
    history = History()
    history.note_bootstrap(1.0, MEASURABLE - 1)
    history.note_update(1.0, MEASURABLE - 1, {NEW: 1}, MANY)
    assert history.bootstrap_rate is None
    assert history.update_rate is None
    assert history.expected_work({NEW: 2}, MANY) == pytest.approx(2 * (MEASURABLE - 1))


def test_inserts_add_up_and_deletes_meet_the_same_instances_again() -> None:
    history = History()
    history.note_update(1.0, 1000, {NEW: 10}, MANY)
    history.note_update(1.0, 1000, {GONE: 10}, MANY)
    assert history.expected_work({NEW: 100_000}, MANY) == pytest.approx(10_000_000)
    few, many = (history.expected_work({GONE: count}, MANY) for count in (100, 100_000))
    assert few == pytest.approx(10_000, rel=0.02)
    assert many is not None
    assert MANY < many <= 1.5 * MANY


def test_a_large_delete_foretells_itself_and_smaller_ones() -> None:
    history = History()
    history.note_update(1.0, 900_000, {GONE: 1000}, MANY)
    assert history.expected_work({GONE: 1000}, MANY) == pytest.approx(900_000)
    half = history.expected_work({GONE: 500}, MANY)
    assert half is not None
    assert 450_000 < half < 900_000


def test_relations_and_signs_have_their_own_impact() -> None:
    history = History()
    history.note_update(1.0, 5000, {GONE: 1}, MANY)
    history.note_update(1.0, 10, {("Name", -1): 1}, MANY)
    assert history.expected_work({("Name", -1): 1}, MANY) == pytest.approx(10, rel=0.01)
    assert history.expected_work({GONE: 1}, MANY) == pytest.approx(5000, rel=0.01)
    assert history.expected_work({GONE: 1, NEW: 1}, MANY) is None
    # An epoch with both is divided as each is known to be.
    history.note_update(1.0, 5010, {GONE: 1, ("Name", -1): 1}, MANY)
    assert history.expected_work({("Name", -1): 1}, MANY) == pytest.approx(10, rel=0.01)


def test_an_update_that_was_given_up_foretells_that_the_next_would_lose() -> None:
    history = History()
    history.note_update(1.0, 100_000, {GONE: 50}, MANY, given_up=True)
    expected = history.expected_work({GONE: 50}, MANY)
    assert expected is not None
    assert expected > 0.99 * MANY
