"""Vectors, sets and maps behave like Python's lists, sets and dictionaries that are copied before every change."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.values import Group, Map, Set, SizedSet, Vec
from tidelog.values import blocks as blocks_module

small = st.integers(0, 40)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a few items, so that small sets have several."""
    monkeypatch.setattr(blocks_module, "LARGEST", 4)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), small), max_size=30), st.lists(small, max_size=5))
def test_older_vectors_stay_as_they_were(steps: list[tuple[int, int]], start: list[int]) -> None:
    history: list[tuple[Vec, list[int]]] = [(Vec(start), start)]
    for kind, number in steps:
        vec, items = history[number % len(history)]
        if kind == 3 and items:
            hash(vec)
        made = vec.push(number) if kind else vec.truncate(number)
        history.append((made, [*items, number] if kind else items[:number]))
    for vec, items in history:
        assert list(vec) == items
        assert len(vec) == len(items)
        assert vec == Vec(items)
        assert vec.items == tuple(items)
        assert [vec[i] for i in range(len(items))] == items


def test_a_loop_of_pushes_is_linear() -> None:
    vec = Vec()
    for number in range(100_000):
        vec = vec.push(number)
    assert len(vec) == 100_000
    assert vec[77_777] == 77_777


def test_iterating_does_not_see_what_is_pushed_meanwhile() -> None:
    vec = Vec().push(1).push(2)
    for item in vec:
        vec = vec.push(item + 10)
    assert list(vec) == [1, 2, 11, 12]


def test_two_threads_can_push_to_one_vector() -> None:
    for _ in range(50):
        base = Vec().push(0)
        made: list[Vec] = []
        threads = [
            threading.Thread(target=lambda n, to, vec: to.append(vec.push(n)), args=(n, made, base))
            for n in range(1, 5)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(list(vec) for vec in made) == [[0, 1], [0, 2], [0, 3], [0, 4]]


def test_vectors_can_be_changed_in_the_middle() -> None:
    vec = Vec([1, 2, 3])
    assert vec.replace(1, 9) == Vec([1, 9, 3])
    assert vec.extend([4]) == Vec([1, 2, 3, 4])
    assert 2 in vec
    assert 9 not in vec
    with pytest.raises(IndexError):
        vec[3]


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), small, small), max_size=60))
def test_sets_are_sorted_and_older_ones_stay(steps: list[tuple[bool, int, int]]) -> None:
    history: list[tuple[Set, set[int]]] = [(Set(), set())]
    for adds, number, which in steps:
        made, items = history[which % len(history)]
        history.append((made.add(number), items | {number}) if adds else (made.remove(number), items - {number}))
    for made, items in history:
        assert list(made) == sorted(items)
        assert len(made) == len(items)
        assert made == Set(items)
        assert hash(made) == hash(Set(items))
        assert [number for number in range(41) if number in made] == sorted(items)
        assert made.items == tuple(sorted(items))


@settings(deadline=None)
@given(st.sets(small), st.sets(small))
def test_set_operations(left: set[int], right: set[int]) -> None:
    assert Set(left).union(Set(right)) == Set(left | right)
    assert Set(left).intersection(Set(right)) == Set(left & right)
    assert Set(left).difference(Set(right)) == Set(left - right)


def test_a_small_set_joins_a_large_one() -> None:
    large = Set(range(0, 1000, 2))
    assert large.union(Set([1, 4])).items == tuple(sorted({*range(0, 1000, 2), 1}))


def test_sorted_sets_are_ordered_by_their_items_and_sized_ones_by_their_size_first() -> None:
    assert Set([1, 2]) < Set([3])
    assert SizedSet([3]) < SizedSet([1, 2])
    assert SizedSet([1, 2]) < SizedSet([1, 3])
    assert type(SizedSet([1]).add(2)) is SizedSet
    assert SizedSet([2, 1, 2]).items == (1, 2)


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), small, small, small), max_size=60))
def test_maps_are_sorted_and_older_ones_stay(steps: list[tuple[bool, int, int, int]]) -> None:
    history: list[tuple[Map, dict[int, int]]] = [(Map(), {})]
    for adds, key, value, which in steps:
        made, items = history[which % len(history)]
        if adds:
            history.append((made.insert(key, value), {**items, key: value}))
        else:
            history.append((made.remove(key), {k: v for k, v in items.items() if k != key}))
    for made, items in history:
        assert made.items == tuple(sorted(items.items()))
        assert list(made) == sorted(items.items())
        assert made.keys == tuple(sorted(items))
        assert made.values == tuple(items[key] for key in sorted(items))
        assert made == Map(items.items())
        assert [made.get(key, -1) for key in range(41)] == [items.get(key, -1) for key in range(41)]
        assert [key in made for key in range(41)] == [key in items for key in range(41)]


def test_of_two_equal_keys_the_later_counts() -> None:
    assert Map([(1, "a"), (2, "b"), (1, "c")]).items == ((1, "c"), (2, "b"))
    assert Map([(1, "a"), (2, "b")]).union(Map([(2, "c")])).items == ((1, "a"), (2, "c"))
    assert Map((n, 0) for n in range(100)).union(Map([(3, 1)])).get(3) == 1


def test_a_group_has_a_key_and_values_with_weights() -> None:
    group = Group("k", [(1, 2), (5, 1)])
    assert list(group) == [(1, 2), (5, 1)]
    assert group.values == (1, 5)
    assert group < Group("k", [(1, 3)])
    assert group > Group("j", [(9, 9)])
    assert group != Group("j", [(1, 2), (5, 1)])


@pytest.mark.parametrize("empty", [Vec(), Set(), Map(), SizedSet()])
def test_what_is_empty_prints_as_such(empty: Any) -> None:
    assert repr(empty) == f"{type(empty).__name__}([])"
    assert not list(empty)
