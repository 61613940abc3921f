"""Vectors, maps, sets and groups: nothing changes in place; the changed collection is returned after the result."""

from __future__ import annotations

from typing import Any

import pytest

from tests.library.declare import context, externs_of
from tidelog.library import group
from tidelog.library import map as map_module
from tidelog.library._runtime.option_result import NONE, Some
from tidelog.types import BIGINT, DOUBLE, FLOAT, S8, STRING, U8, Type
from tidelog.values.floats import NAN, single
from tidelog.values.group import Group
from tidelog.values.maps import Map
from tidelog.values.sets import Set, SizedSet
from tidelog.values.vec import Vec

c, hashset, tinyset = externs_of("ddlog_std"), externs_of("hashset"), externs_of("tinyset")
set_module, vec_module = externs_of("set"), externs_of("vec")
GROUP = Group("key", [((1, "a"), 2), ((1, "b"), 1), ((2, "a"), 1)])


def test_pushing_leaves_the_old_vector_alone() -> None:
    old = Vec([1])
    assert c.vec_push(old, 2) == ((), Vec([1, 2]))
    assert old == Vec([1])


def test_popping() -> None:
    assert c.vec_pop(Vec([1, 2])) == (Some(2), Vec([1]))
    assert c.vec_pop(Vec()) == (NONE, Vec())


def test_an_index_behind_the_end_changes_nothing() -> None:
    assert c.vec_nth(Vec([1]), 1) == NONE
    assert c.vec_nth(Vec([1]), 2**64 - 1) == NONE
    assert c.vec_swap_nth(Vec([1]), 1, 9) == (False, Vec([1]), 9)
    assert c.vec_update_nth(Vec([1]), 1, 9) == (False, Vec([1]))


def test_swapping_gives_the_old_value_back() -> None:
    assert c.vec_swap_nth(Vec([1, 2]), 1, 9) == (True, Vec([1, 9]), 2)
    assert c.vec_update_nth(Vec([1, 2]), 0, 9) == (True, Vec([9, 2]))


def test_resizing_cuts_or_fills() -> None:
    assert c.vec_resize(Vec([1, 2]), 1, 9) == ((), Vec([1]))
    assert c.vec_resize(Vec([1, 2]), 4, 9) == ((), Vec([1, 2, 9, 9]))
    assert c.vec_truncate(Vec([1, 2]), 5) == ((), Vec([1, 2]))
    assert c.vec_with_length(2, "a") == Vec(["a", "a"])


def test_sorting_puts_not_a_number_last() -> None:
    assert c.vec_sort(Vec([NAN, 1.0, -1.0])) == ((), Vec([-1.0, 1.0, NAN]))


def test_zip_is_as_long_as_the_shorter() -> None:
    pairs = c.vec_zip(Vec([1, 2]), Vec(["a"]))
    assert pairs == Vec([(1, "a")])
    assert c.vec_unzip(pairs) == (Vec([1]), Vec(["a"]))


def test_the_last_value_of_a_key_counts() -> None:
    assert c.vec_to_map(Vec([(1, "a"), (1, "b")])) == Map([(1, "b")])
    assert c.map_union(Map([(1, "a"), (2, "c")]), Map([(1, "b")])) == Map([(1, "b"), (2, "c")])


def test_getting_and_removing_from_a_map() -> None:
    m = Map([(1, "a")])
    assert c.map_get(m, 1) == Some("a")
    assert c.map_get(m, 2) == NONE
    assert c.map_remove(m, 1) == (Some("a"), Map())
    assert c.map_remove(m, 2) == (NONE, m)


def test_a_map_may_hold_none() -> None:
    assert c.map_get(Map([(1, NONE)]), 1) == Some(NONE)


def test_the_order_of_a_map_is_that_of_its_keys() -> None:
    m = Map([(2, "b"), (1, "c")])
    assert c.map_keys(m) == Vec([1, 2])
    assert c.map_values(m) == Vec(["c", "b"])
    assert (c.map_nth_key(m, 1), c.map_nth_value(m, 1), c.map_nth_key(m, 2)) == (Some(2), Some("b"), NONE)


def test_sets_of_sets() -> None:
    assert c.set_unions(Vec([Set([3, 1]), Set([2, 1])])) == Set([1, 2, 3])
    assert c.set_intersection(Set([1, 2]), Set([2, 3])) == Set([2])
    assert c.set_difference(Set([1, 2]), Set([2, 3])) == Set([1])
    assert c.set_nth(Set([5, 4]), 0) == Some(4)


def test_a_group_as_other_collections() -> None:
    assert c.group_to_vec(GROUP) == Vec([(1, "a"), (1, "b"), (2, "a")])
    assert c.group_to_map(GROUP) == Map([(1, "b"), (2, "a")])
    assert c.group_to_setmap(GROUP) == Map([(1, Set(["a", "b"])), (2, Set(["a"]))])
    assert (c.group_first(GROUP), c.group_max(GROUP), c.group_min(GROUP)) == ((1, "a"), (2, "a"), (1, "a"))
    assert (c.group_count_distinct(GROUP), c.group_nth(GROUP, 3), c.group_key(GROUP)) == (3, NONE, "key")


def test_groups_of_sets_are_united() -> None:
    assert c.group_set_unions(Group(0, [(Set([1]), 1), (Set([2]), 1)])) == Set([1, 2])
    assert c.group_setref_unions(Group(0, [(Set([1]), 1)])) == Set([1])
    assert tinyset.group_set_unions(Group(0, [(SizedSet([1]), 1), (SizedSet([2]), 1)])) == SizedSet([1, 2])


@pytest.mark.parametrize(
    ("type_", "values", "total"),
    [
        (U8, [200, 100], 44),
        (S8, [100, 100], -56),
        (BIGINT, [2**70, 1], 2**70 + 1),
        (DOUBLE, [0.1, 0.2], 0.1 + 0.2),
        (FLOAT, [single(0.1), single(0.2)], single(single(0.1) + single(0.2))),
    ],
)
def test_a_sum_wraps_and_leaves_weights_aside(type_: Type, values: list[Any], total: Any) -> None:
    g = Group("k", [(value, 3) for value in values])
    assert group.sum_of(context(), STRING, type_, type_, g, lambda x: x) == total


def test_the_first_of_the_smallest_and_the_last_of_the_largest() -> None:
    words = Vec(["bb", "a", "c", "dd"])
    assert vec_module.vec_arg_min(words, len) == Some("a")
    assert vec_module.vec_arg_max(words, len) == Some("dd")
    assert set_module.set_arg_min(Set(words), len) == Some("a")
    assert set_module.set_arg_max(Set(words), len) == Some("dd")
    assert hashset.hashset_arg_max(SizedSet(words), len) == Some("dd")
    assert vec_module.vec_arg_min(Vec(), len) == NONE
    assert vec_module.vec_arg_max(Vec(), len) == NONE


def test_sorting_by_a_key_keeps_the_order_of_equals() -> None:
    assert vec_module.vec_sort_by(Vec(["bb", "a", "cc"]), len) == ((), Vec(["a", "bb", "cc"]))


def test_a_map_is_changed_value_by_value() -> None:
    assert map_module.map_map_in_place(Map([(1, 10), (2, 20)]), lambda k, v: ((), k + v)) == (
        (),
        Map([(1, 11), (2, 22)]),
    )


def test_hash_sets_are_ordered_by_size_first() -> None:
    small, large = hashset.hashset_from_vec(Vec([9])), hashset.hashset_from_vec(Vec([2, 1]))
    assert small < large
    assert hashset.hashset_to_vec(large) == Vec([1, 2])
    assert hashset.hashset_insert(small, 9) == ((), small)
    assert hashset.hashset_remove(large, 1) == ((), SizedSet([2]))
    assert hashset.hashset_unions(Vec([small, large])) == SizedSet([1, 2, 9])


def test_small_sets() -> None:
    s = tinyset.insert_imm(tinyset.singleton(3), 1)
    assert tinyset.insert(s, 2) == ((), SizedSet([1, 2, 3]))
    assert (tinyset.nth(s, 0), tinyset.contains(s, 2), tinyset.size(s)) == (Some(1), False, 2)
    assert tinyset.is_empty(tinyset.difference(s, s))
