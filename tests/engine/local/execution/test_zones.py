"""Comparisons that bound rows: what runs once, what is a bound, and zones that never skip a row that passes."""

from __future__ import annotations

import random
from typing import Any
from unittest import mock

import pytest
from tests.engine.local.run import Rows, Running

import tidelog
from tidelog.diagnostics.errors import EvaluationError
from tidelog.engine.local.execution import zones
from tidelog.engine.local.execution.bounds import Bound, split_tail
from tidelog.engine.local.kernels import layout as k

PROGRAM = """
input relation Span(id: {0}, room: u32, start: {0}, end: {0})
output relation Overlap(a: {0}, b: {0})
output relation Inside(a: {0}, b: {0}, from: {0})
output relation After(a: {0}, b: {0})
output relation Anywhere(a: {0}, b: {0})
Overlap(a, b) :- Span(a, r, s, e), Span(b, r, t, f), a < b, s < f, t < e.
Inside(a, b, s) :- Span(a, r, s, e), Span(b, r, t, f), a != b, s >= t, e <= f, not Overlap(b, a).
After(a, b) :- Span(a, r, s, e), Span(b, r, t, f), t == e + 1, s + 2 < f.
Anywhere(a, b) :- Span(a, _, s, e), Span(b, _, t, f), t > e, t < e + 3, f - t > 2.
"""
FIRST = {"u32": 0, "s64": -300, "u64": (1 << 63) - 300}


def spans(rng: random.Random, first: int, count: int) -> Rows:
    """Spans in a few rooms, one of which has most of them."""
    starts = [rng.randrange(600) + first for _ in range(count)]
    return [
        (i + first, rng.choice((0, 0, 0, 1, rng.randrange(9))), s, s + rng.randint(1, 12)) for i, s in enumerate(starts)
    ]


def expected(rows: Rows) -> dict[str, set[tuple[Any, ...]]]:
    pairs = [(one, other) for one in rows for other in rows]
    same_room = [(one, other) for one, other in pairs if one[1] == other[1]]
    overlap: set[tuple[Any, ...]] = {(a, b) for (a, _, s, e), (b, _, t, f) in same_room if a < b and s < f and t < e}
    inside = {(a, b, s) for (a, _, s, e), (b, _, t, f) in same_room if a != b and s >= t and e <= f}
    return {
        "Overlap": overlap,
        "Inside": {(a, b, s) for a, b, s in inside if (b, a) not in overlap},
        "After": {(a, b) for (a, _, s, e), (b, _, t, f) in same_room if t == e + 1 and s + 2 < f},
        "Anywhere": {(a, b) for (a, _, s, e), (b, _, t, f) in pairs if e < t < e + 3 and f - t > 2},
    }


@pytest.mark.parametrize("type_", FIRST)
def test_zones_skip_no_row_that_passes(type_: str) -> None:
    rng = random.Random(type_)
    rows = spans(rng, FIRST[type_], 500)
    made: list[tuple[int, int]] = []
    make = zones.Zones._make

    def noted(self: zones.Zones, arrangement: int, relation: int, columns: dict[int, int]) -> None:
        made.append((arrangement, relation))
        make(self, arrangement, relation, columns)

    with mock.patch.object(zones.Zones, "_make", noted):
        running = Running(PROGRAM.format(type_), strategy="recompute")
        running.commit({"Span": rows})
    assert any(arrangement >= 0 for arrangement, _ in made)
    assert any(arrangement < 0 for arrangement, _ in made)
    for name, wanted in expected(rows).items():
        assert set(running.rows(name)) == wanted, name
    assert not running.engine._catalog.A[:, k.ZONES].any()
    assert not running.engine._catalog.S[:, k.SCAN_ZONES].any()


def test_updates_follow_a_load_with_zones() -> None:
    rng = random.Random(7)
    rows = spans(rng, 0, 400)
    running = Running(PROGRAM.format("u32"))
    running.commit({"Span": rows[:300]})
    held = rows[:300]
    for epoch in range(6):
        gone = rng.sample(held, 20)
        new = rows[300 + 15 * epoch : 315 + 15 * epoch]
        running.commit({"Span": new}, {"Span": gone})
        held = [row for row in held if row not in gone] + new
        for name, wanted in expected(held).items():
            assert set(running.rows(name)) == wanted, name


def test_an_added_rule_is_joined_with_zones() -> None:
    rows = spans(random.Random(3), 0, 500)
    rule = "Overlap(a, b) :- Span(a, r, s, e), Span(b, r, t, f), a < b, s < f, t < e."
    made: list[int] = []
    make = zones.Zones._make

    def noted(self: zones.Zones, arrangement: int, relation: int, columns: dict[int, int]) -> None:
        made.append(arrangement)
        make(self, arrangement, relation, columns)

    program = tidelog.compile(PROGRAM.format("u32").replace(rule + "\n", ""))
    with program.open() as db:
        with db.transaction() as tx:
            tx.insert("Span", rows)
        with mock.patch.object(zones.Zones, "_make", noted), db.transaction() as tx:
            tx.delete("Span", rows[:50])
            tx.add_rules(rule)
        assert made
        for name, wanted in expected(rows[50:]).items():
            assert set(db.relation(name)) == wanted, name


def test_a_failed_load_leaves_no_zones() -> None:
    text = """
    input relation Span(id: u32, start: u32, end: u32)
    output relation Bad(a: u32, q: u32)
    Bad(a, (t - t) / (f - f)) :- Span(a, s, e), Span(b, t, f), s < f, t < e.
    """
    running = Running(text)
    rows = [(i, i, i + 5) for i in range(200)]
    with pytest.raises(EvaluationError):
        running.commit({"Span": rows})
    assert not running.engine._catalog.S[:, k.SCAN_ZONES].any()


def test_a_comparison_with_a_known_word_is_a_bound_and_its_other_side_runs_once() -> None:
    add = (k.T_ADD, 10, 0, 1, 32, 0)
    compare = (k.T_LT, 11, 5, 10, 32, 0)
    found = split_tail({5: 2}, [add, compare, (k.T_FILTER, 0, 11, 0, 0, 0)], {})
    assert (found.once, found.bounds, found.tail) == ([add], [Bound(2, k.BELOW_IT, 10, 0)], [])


def test_nothing_moves_across_a_division() -> None:
    divide = (k.T_DIV, 10, 5, 1, 32, 0)
    compare = (k.T_LE, 11, 0, 5, 32, 1)
    tail = [divide, compare, (k.T_FILTER, 0, 11, 0, 0, 0)]
    assert split_tail({5: 0}, tail, {}) == ([], [], tail, {})


def test_absent_rows_keep_their_registers_behind_a_bound() -> None:
    compare = (k.T_LE, 11, 0, 5, 32, 1)
    absent = (k.T_ABSENT, 3, 1, 0, 0, 0)
    found = split_tail({5: 4}, [compare, absent, (k.T_FILTER, 0, 11, 0, 0, 0), absent], {1: [5], 3: [6]})
    assert found == ([], [Bound(4, k.AT_LEAST_IT, 0, 1)], [absent, absent], {0: [5], 1: [6]})
