"""A row that a better one dominates is not there, and returns when the better one leaves."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.souffle.running import compiled

Row = tuple[Any, ...]
Better = Callable[[Row, Row], bool]

DECLARED = """
.decl given(k: number, a: number, b: number)
.input given
.decl best(k: number, a: number, b: number)
.output best
best(k, a, b) :- given(k, a, b).
best(k, b, a) :- given(k, a, b), a > 3.
"""
CASES: dict[str, tuple[str, Better, bool]] = {
    "the least": ("best(k, a, b) <= best(k, c, b) :- c < a.", lambda w, b: b[0::2] == w[0::2] and b[1] < w[1], True),
    "the greatest": ("best(k, a, b) <= best(k, a, c) :- b <= c.", lambda w, b: b[:2] == w[:2] and b[2] > w[2], True),
    "both columns": (
        "best(k, a, b) <= best(k, c, d) :- a >= c, d <= b.",
        lambda w, b: b[0] == w[0] and b[1] <= w[1] and b[2] <= w[2] and b != w,
        True,
    ),
    "one of them strictly": (
        "best(k, a, b) <= best(k, c, d) :- c < a, d >= b.",
        lambda w, b: b[0] == w[0] and b[1] < w[1] and b[2] >= w[2],
        True,
    ),
    "a sum": (
        "best(k, a, b) <= best(k, c, d) :- c + d < a + b.",
        lambda w, b: b[0] == w[0] and b[1] + b[2] < w[1] + w[2],
        False,
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", range(2))
def test_what_no_row_dominates_is_there_after_every_epoch(name: str, seed: int) -> None:
    clause, better, is_incremental = CASES[name]
    chance = random.Random(f"{name} {seed}")
    program = compiled(DECLARED + clause)
    assert program.stages.souffle is not None
    assert bool(program.stages.souffle.recomputed) is not is_incremental
    held: set[Row] = set()
    with program.open() as database:
        for _ in range(10):
            gone = {row for row in sorted(held) if chance.random() < 0.3}
            new = {(chance.randrange(3), chance.randrange(7), chance.randrange(7)) for _ in range(chance.randrange(6))}
            with database.transaction() as tx:
                tx.delete("given", sorted(gone))
                tx.insert("given", sorted(new))
            held = (held - gone) | new
            candidates = held | {(k, b, a) for k, a, b in held if a > 3}
            expected = {row for row in candidates if not any(better(row, other) for other in candidates)}
            assert set(map(tuple, database.relation("best").rows())) == expected


def test_clauses_with_candidates_come_and_go() -> None:
    text = ".decl best(k: number, a: number)\n.input best\n.output best\nbest(k, a) <= best(k, b) :- b < a.\n"
    with compiled(text).open() as database:
        with database.transaction() as tx:
            tx.insert("best.facts", [(1, 5), (1, 4), (2, 7)])
            tx.add_rules("best(2, 3).")
        assert sorted(database.relation("best").rows()) == [(1, 4), (2, 3)]
        with database.transaction() as tx:
            tx.remove_rules("best(2, 3).")
            tx.delete("best.facts", [(1, 4)])
        assert sorted(database.relation("best").rows()) == [(1, 5), (2, 7)]


def test_rows_that_dominate_each_other_leave_one() -> None:
    text = ".decl g(a: number)\n.input g\n.decl r(a: number)\n.output r\nr(a) :- g(a).\nr(a) <= r(b) :- true.\n"
    with compiled(text).open() as database:
        with database.transaction() as tx:
            tx.insert("g", [(1,), (2,), (3,)])
        assert len(database.relation("r")) == 1


def test_a_blank_in_the_better_row_stands_for_any_value() -> None:
    text = """
    .decl g(a: number, b: number)
    .input g
    .decl r(a: number, b: number)
    .output r
    r(a, b) :- g(a, b).
    r(_, b) <= r(_, c) :- c < b.
    """
    with compiled(text).open() as database:
        with database.transaction() as tx:
            tx.insert("g", [(1, 5), (2, 3), (7, 3), (4, 9)])
        assert sorted(database.relation("r").rows()) == [(2, 3), (7, 3)]
