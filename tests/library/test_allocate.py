"""Free numbers are searched cyclically, beginning after the largest taken one."""

from __future__ import annotations

import pytest

from tidelog.library._runtime.option_result import NONE, Some
from tidelog.library.allocate import adjust_allocation, allocate, allocate_opt, allocate_with_hint
from tidelog.values.maps import Map
from tidelog.values.sets import Set
from tidelog.values.vec import Vec

ABC = Vec(["a", "b", "c"])


def test_the_search_begins_behind_the_largest_taken() -> None:
    assert allocate(Set([3]), ABC, 1, 9) == Vec([("a", 4), ("b", 5), ("c", 6)])


def test_the_search_goes_round() -> None:
    assert allocate(Set([2, 8]), ABC, 1, 9) == Vec([("a", 9), ("b", 1), ("c", 3)])


def test_without_any_taken_it_begins_at_the_bottom() -> None:
    assert allocate(Set(), ABC, 1, 9) == Vec([("a", 1), ("b", 2), ("c", 3)])


def test_numbers_outside_do_not_count() -> None:
    assert allocate(Set([100]), ABC, 1, 9) == Vec([("a", 1), ("b", 2), ("c", 3)])


def test_when_numbers_run_out_some_get_none() -> None:
    assert allocate(Set([1]), ABC, 1, 3) == Vec([("a", 2), ("b", 3)])
    assert allocate_opt(Set([1]), ABC, 1, 3) == Vec([("a", Some(2)), ("b", Some(3)), ("c", NONE)])
    assert allocate(Set([1]), ABC, 1, 1) == Vec()
    assert allocate_opt(Set([1]), Vec(["a"]), 1, 1) == Vec([("a", NONE)])


def test_who_has_a_number_keeps_it() -> None:
    assert adjust_allocation(Map([("b", 2)]), ABC, 1, 9) == Vec([("a", 3), ("b", 2), ("c", 4)])
    assert adjust_allocation(Map([("b", 2)]), ABC, 1, 2) == Vec([("a", 1), ("b", 2)])


def test_a_hint_says_where_to_begin() -> None:
    wanted = Vec([("a", Some(5)), ("b", NONE), ("c", Some(5))])
    assert allocate_with_hint(Set([6]), wanted, 1, 9) == Vec([("a", 5), ("b", 7), ("c", 8)])


def test_without_a_hint_it_begins_at_the_largest_taken() -> None:
    assert allocate_with_hint(Set([9]), Vec([("a", NONE)]), 1, 9) == Vec([("a", 1)])
    assert allocate_with_hint(Set(), Vec([("a", NONE)]), 1, 9) == Vec([("a", 1)])


def test_hints_when_everything_is_taken() -> None:
    assert allocate_with_hint(Set([1, 2]), Vec([("a", Some(1))]), 1, 2) == Vec()


def test_a_range_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="from 5 to 1"):
        allocate(Set(), ABC, 5, 1)
