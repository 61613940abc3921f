"""Arrangements that come from lists are those that the rows have, and the first Update needs no others."""

from __future__ import annotations

import random
from typing import Any
from unittest import mock

import numpy as np
import pytest
from tests.engine.local.execution.test_row_wise import INPUTS, Facts, going_head_by_head, insert, running

from tidelog.engine.interface import Operation
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.execution import row_wise_arrangements
from tidelog.engine.local.kernels import arrange
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.arrangement import Arrangement
from tidelog.engine.local.strata import joins

GENERATION = """
output relation P(a: s64, b: s64)
P(x, y) :- A(p, x), A(p, y).
P(x, y) :- A(a, x), P(a, b), A(b, y).
"""
LABELLED = """
output relation P(a: s64, b: s64, c: s64)
P(x, y, z) :- D(x, y, z).
P(x, y, w) :- P(x, y, z), A(z, w).
P(x, v, w) :- P(x, y, z), P(y, v, w), C(v), v < 3.
"""


def loaded(rules: str, threads: int) -> tuple[LocalEngine, list[tuple[int, ...]]]:
    rng = random.Random(threads)
    edges: list[tuple[int, ...]] = [(rng.randrange(40), rng.randrange(40)) for _ in range(70)]
    facts: Facts = {"A": edges, "C": [(i,) for i in range(30)], "D": [(i % 9, a, b) for i, (a, b) in enumerate(edges)]}
    with going_head_by_head():
        engine = running(INPUTS + rules, threads)
        engine.commit(insert(facts))
    return engine, edges


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("rules", [GENERATION, LABELLED])
def test_each_row_is_marked_in_the_bucket_of_its_key(rules: str, threads: int) -> None:
    engine, _ = loaded(rules, threads)
    store = engine._store("P")
    assert len(store) > 100
    assert store.arrangements
    for number, arrangement in store.arrangements.items():
        assert isinstance(arrangement, Arrangement)
        columns = arrangement.keys.tolist()
        lines = store.lines()
        rows = store.columns_of(lines)
        for key in np.unique(rows[:, columns], axis=0):
            bucket = store.bucket(tuple(columns), key)
            assert sorted(bucket.tolist()) == lines[(rows[:, columns] == key).all(axis=1)].tolist()
            assert [arrange.mark_of(place) for place in range(len(bucket))] == arrangement.marks.array[bucket].tolist()
        assert engine._catalog.A[number, k.ENTRY_COUNT] == len(np.unique(rows[:, columns], axis=0))


@pytest.mark.parametrize("rules", [GENERATION, LABELLED])
def test_the_first_update_arranges_nothing_that_a_bootstrap_derived(rules: str) -> None:
    engine, edges = loaded(rules, 2)
    build = Arrangement.build

    def small(self: Arrangement, stores: Any, lines: Any, number: int, relation: int, *more: Any, **rest: Any) -> None:
        assert relation != engine._store("P").relation
        build(self, stores, lines, number, relation, *more, **rest)

    with mock.patch.object(Arrangement, "build", small):
        for sign in (-1, 1):
            outcome = engine.commit([Operation("A", sign, edges[:1])])
            assert outcome is not None
            assert {each.strategy for each in outcome.report.strata} == {"update"}


def test_rows_that_are_too_many_are_left_to_the_first_update() -> None:
    with mock.patch.object(row_wise_arrangements, "LARGEST_PLACE", 0), mock.patch.object(joins, "ARRANGING_PART", 0.0):
        engine, edges = loaded(LABELLED, 1)
    before = sorted(engine.rows("P"))
    assert not engine._store("P").arrangements
    engine.commit([Operation("A", -1, [edges[0]])])
    assert sorted(engine.rows("P")) != before
    engine.commit([Operation("A", 1, [edges[0]])])
    assert sorted(engine.rows("P")) == before
