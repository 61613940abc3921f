"""Levels of detail: aggregates by keys that are part of one another, over the same members."""

from __future__ import annotations

import random
from math import fsum
from typing import Any

import pytest
from tests.engine.local.run import Running
from tests.engine.local.strata.aggregates.history import change_at_random

import tidelog
from tidelog.engine.local.strata.aggregates import stratum

PROGRAM = """import group
input relation D(x: u32, y: u32, z: u32, s: s64)
output relation All(n: u64, sum: s64, mean: double, texts: string)
output relation X(x: u32, n: u64, sum: s64, least: s64, most: s64, first: s64, last: s64)
output relation XY(y: u32, x: u32, n: u64, odd: u64, least: s64)
output relation XYZ(x: u32, y: u32, z: u32, n: u64, sum: s64)
All(g.count_distinct(), g.sum_of(|s| s), g.sum_of(|s| (s as double) / 7.0), g.map(|s| "${s}").join(" ")) :-
    D(_, _, _, s), var g = s.group_by(()).
X(x, g.count_distinct(), g.sum_of(|s| s), g.min(), g.max(), g.arg_min(|s| s & 3), g.arg_max(|s| s & 3)) :-
    D(x, _, _, s), var g = s.group_by(x).
XY(y, x, g.count_distinct(), g.count(|s| (s & 1) == 1), g.min()) :- D(x, y, _, s), var g = s.group_by((y, x)).
XYZ(x, y, z, g.count_distinct(), g.sum_of(|s| s + (z as u64 as s64))) :- D(x, y, z, s), var g = s.group_by((x, y, z)).
"""
Row = tuple[int, int, int, int]


def expected(rows: set[Row]) -> dict[str, set[tuple[Any, ...]]]:
    found: dict[str, set[tuple[Any, ...]]] = {"All": set(), "X": set(), "XY": set(), "XYZ": set()}
    if rows:
        own = sorted({row[3] for row in rows})
        texts = " ".join(map(str, own))
        found["All"].add((len(own), sum(own), fsum(s / 7.0 for s in own), texts))
    for x in {row[0] for row in rows}:
        own = sorted({row[3] for row in rows if row[0] == x})
        ends = min(own), max(own), min(own, key=lambda s: s & 3), max(own, key=lambda s: s & 3)
        found["X"].add((x, len(own), sum(own), *ends))
    for x, y in {row[:2] for row in rows}:
        own = sorted({row[3] for row in rows if row[:2] == (x, y)})
        found["XY"].add((y, x, len(own), sum(s & 1 for s in own), min(own)))
    for key in {row[:3] for row in rows}:
        own = sorted({row[3] for row in rows if row[:3] == key})
        found["XYZ"].add((*key, len(own), sum(own) + len(own) * key[2]))
    return found


def random_row(rng: random.Random) -> Row:
    return rng.randrange(3), rng.randrange(3), rng.randrange(3), rng.randrange(-12, 12)


@pytest.mark.parametrize("kept_from", [1, 32])
def test_a_history_of_values_that_several_finer_keys_have(kept_from: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stratum, "KEPT_FROM", kept_from)
    rng = random.Random(kept_from)
    with tidelog.compile(PROGRAM).open() as db:
        held: set[Row] = set()
        for number in range(50):
            counts = (200,) if number == 0 else (1, 1, 2, 30)
            held = change_at_random(db, "D", held, rng, random_row, counts, fails=number % 7 == 3)
            assert {name: set(db.relation(name).rows()) for name in ("All", "X", "XY", "XYZ")} == expected(held)


def test_a_value_goes_with_the_last_finer_key_that_has_it() -> None:
    running = Running(PROGRAM)
    running.commit({"D": [*((1, 1, 1, number) for number in range(40)), (1, 2, 1, 7)]})
    assert [row[1] for row in running.rows("X")] == [40]
    running.commit(delete={"D": [(1, 1, 1, 7)]})
    assert [row[1] for row in running.rows("X")] == [40]
    running.commit(delete={"D": [(1, 2, 1, 7)]})
    assert [row[1] for row in running.rows("X")] == [39]


def test_an_explanation_has_each_value_once() -> None:
    with tidelog.compile(PROGRAM).open() as db:
        with db.transaction() as tx:
            tx.insert("D", [(1, 1, 1, 5), (1, 2, 1, 5), (1, 2, 2, 6)])
        text = str(db.explain("X", (1, 2, 11, 5, 6, 5, 6)))
        assert "group by x = 1 of 2 values" in text
        assert text.count("value 5") == text.count("value 6") == 1


def test_a_function_that_fails_leaves_every_level_as_it_was() -> None:
    running = Running("""import group
    input relation D(x: u32, y: u32, s: u32)
    output relation X(x: u32, n: u32)
    output relation XY(x: u32, y: u32, n: u64)
    X(x, n) :- D(x, _, s), var n = s.group_by(x).sum_of(|s| 100 / s).
    XY(x, y, n) :- D(x, y, s), var n = s.group_by((x, y)).count_distinct().
    """)
    running.commit({"D": [*((1, y, s) for y in (1, 2) for s in range(1, 41)), (1, 3, 100)]})
    before = running.rows("X")
    with pytest.raises(tidelog.EvaluationError, match="division by zero"):
        running.commit({"D": [(1, 3, 0), (1, 3, 50)]})
    assert running.rows("X") == before
    running.commit({"D": [(1, 3, 50)]})
    running.commit(delete={"D": [(1, 3, 50)]})
    assert running.rows("X") == before
