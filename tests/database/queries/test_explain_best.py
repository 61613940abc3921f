"""Proofs of recursive `min`, `max` and `arg_min`, on graphs with cycles: finite, down to facts, and right.

Every proof is checked by code of its own: each step must follow from the rows that it rests on, by the meaning of its
rule written down here in Python, and each value must be the one that a plain fixpoint over the graph finds.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import tidelog
from tests.engine.spark.in_process import NoSpark, run_tasks_here
from tidelog.database.queries.explain import Explanation, Step
from tidelog.engine.spark.epoch import run_epoch

HEAD = """
input relation Edge(a: u8, b: u8, w: u32)
input relation Start(a: u8)
"""
SHORTEST = """
output relation Best(a: u8, d: u32)
relation Cand(a: u8, d: u32)
Cand(a, 0) :- Start(a).
Cand(b, d + w) :- Best(a, d), Edge(a, b, w).
Best(a, d) :- Cand(a, x), var d = x.group_by(a).min().
"""
BY_ROWS = """
output relation Best(a: u8, d: u32)
relation Cand(a: u8, d: u32)
Cand(a, 0) :- Start(a).
Cand(b, d + w) :- Best(a, d), Edge(a, b, w).
Best(a, d) :- Cand(a, x), var d = min(x) by (a).
"""
WIDEST = """
output relation Best(a: u8, d: u32)
relation Cand(a: u8, d: u32)
Cand(a, 100) :- Start(a).
Cand(b, if (d < w) d else w) :- Best(a, d), Edge(a, b, w).
Best(a, d) :- Cand(a, x), var d = x.group_by(a).max().
"""
CAPPED = """
output relation Best(a: u8, d: u32)
relation Cand(a: u8, d: u32)
Cand(a, 50) :- Start(a).
Cand(b, if (d < w) d else w) :- Best(a, d), Edge(a, b, w).
Best(a, d) :- Cand(a, x), var d = x.group_by(a).min().
"""
WITH_LAST = """
import group
output relation Best(a: u8, p: (u32, u8))
relation Cand(a: u8, p: (u32, u8))
Cand(a, (0, a)) :- Start(a).
Cand(b, (d + w, a)) :- Best(a, (d, _)), Edge(a, b, w).
Best(a, p) :- Cand(a, x), var p = x.group_by(a).arg_min(|q| q.0).
"""
Edge = tuple[int, int, int]
Program = tuple[str, Callable[[int], int], Callable[[int, int], int], Callable[..., int]]
PROGRAMS: dict[str, Program] = {
    "min": (SHORTEST, lambda a: 0, lambda d, w: d + w, min),
    "min over rows": (BY_ROWS, lambda a: 0, lambda d, w: d + w, min),
    "max": (WIDEST, lambda a: 100, min, max),
    "capped min": (CAPPED, lambda a: 50, min, min),
    "arg_min": (WITH_LAST, lambda a: 0, lambda d, w: d + w, min),
}


@pytest.fixture(autouse=True)
def tasks_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_epoch, "run_tasks", run_tasks_here(lambda: False))


def fixpoint(program: Program, edges: set[Edge], starts: set[int]) -> dict[int, int]:
    """The best value of each node, by going around until nothing gets better."""
    _, first, step, best = program
    values = {a: first(a) for a in starts}
    while True:
        found = dict(values)
        for a, b, w in edges:
            if a in values:
                made = step(values[a], w)
                found[b] = best(found[b], made) if b in found else made
        if found == values:
            return values
        values = found


def cost(value: Any) -> int:
    return int(value[0]) if isinstance(value, tuple) else int(value)


def check(proof: Explanation, program: Program, edges: set[Edge], starts: set[int], past_is_fine: bool) -> None:
    """Raises AssertionError where the proof does not follow, rests on itself, or does not end at facts."""
    _, first, step, best = program
    order: list[int] = []
    state: dict[int, int] = {}

    def visit(number: int) -> None:
        assert state.get(number) != 1, f"step {number} rests on itself"
        if number in state:
            return
        state[number] = 1
        for premise in proof[number].premises:
            if premise.step is not None:
                visit(premise.step)
        state[number] = 2
        order.append(number)

    visit(0)
    assert sorted(order) == list(range(len(proof)))
    for number in order:
        found: Step = proof[number]
        below = [proof[premise.step] for premise in found.premises if premise.step is not None]
        assert past_is_fine or not found.is_past
        if found.relation == "Edge":
            assert found.row in edges
            assert (found.origin, below) == ("input", [])
        elif found.relation == "Start":
            assert found.row[0] in starts
            assert (found.origin, below) == ("input", [])
        elif found.relation == "Cand":
            assert found.origin == "rule"
            if below[0].relation == "Start":
                assert (found.row[0], cost(found.row[1])) == (below[0].row[0], first(below[0].row[0]))
            else:
                source, edge = below
                assert (source.relation, edge.relation) == ("Best", "Edge")
                assert (source.row[0], found.row[0]) == edge.row[:2]
                assert cost(found.row[1]) == step(cost(source.row[1]), edge.row[2])
                assert not isinstance(found.row[1], tuple) or found.row[1][1] == source.row[0]
        elif found.relation == "Best":
            assert found.origin == "rule"
            (group,) = below
            assert group.origin == "group"
            members = [proof[premise.step] for premise in group.premises if premise.step is not None]
            values = {cost(proof[each.premises[0].step].row[1]) for each in members}
            assert best(values) == cost(found.row[1])
            assert {proof[each.premises[0].step].row[0] for each in members} == {found.row[0]}
        else:
            assert found.origin in ("group", "rule"), found


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("engine", ["elastic", "recompute", "spark"])
def test_every_proof_of_a_best_value_is_finite_and_right(name: str, engine: str) -> None:
    program = PROGRAMS[name]
    compiled = tidelog.compile(HEAD + program[0])
    proofs = 0
    for seed in range(3 if engine == "spark" else 12):
        rng = random.Random(f"best {name} {seed}")
        options: dict[str, Any] = {"engine": "spark", "spark": NoSpark()} if engine == "spark" else {"strategy": engine}
        with compiled.open(**options) as db:
            edges: set[Edge] = set()
            starts: set[int] = set()
            for _ in range(4):
                nodes = rng.randint(2, 7)
                added = {
                    (rng.randrange(nodes), rng.randrange(nodes), rng.choice((0, 0, 1, 2, 5)))
                    for _ in range(rng.randint(1, 12))
                }
                removed = set(rng.sample(sorted(edges), len(edges) // 3))
                began = {rng.randrange(nodes)} - starts
                with db.transaction() as tx:
                    tx.delete("Edge", list(removed - added))
                    tx.insert("Edge", list(added))
                    tx.insert("Start", list(began))
                edges, starts = (edges - removed) | added, starts | began
                expected = fixpoint(program, edges, starts)
                rows = db.relation("Best").rows()
                assert {row[0]: cost(row[1]) for row in rows} == expected
                for row in rows:
                    for shortest in (False, True):
                        proof = db.explain("Best", row, shortest=shortest)
                        assert proof[0].row == row
                        check(proof, program, edges, starts, past_is_fine=name in ("arg_min", "capped min"))
                        assert str(proof)
                        proofs += 1
    assert proofs > 50


def test_a_value_that_only_its_own_circle_supports_now_is_proved_by_the_rounds_that_made_it() -> None:
    text = """
input relation In(x: string, n: u32)
output relation A(x: string, n: u32)
output relation B(x: string, n: u32)
relation Ca(x: string, n: u32)
Ca(x, n) :- In(x, n).
Ca(x, n) :- B(x, n).
A(x, n) :- Ca(x, m), var n = m.group_by(x).min().
B(x, if (n < 10) n else 10) :- A(x, n).
"""
    with tidelog.compile(text).open() as db:
        with db.transaction() as tx:
            tx.insert("In", [("x", 20)])
        proof = db.explain("A", ("x", 10))
        assert [step.row for step in proof if step.is_past and step.relation == "A"] == [("x", 20)]
        assert {step.origin for step in proof} == {"rule", "group", "input"}
        assert 'A("x", 20)   in an early round; a later one has another value' in str(proof)
        assert proof.to_dict()["steps"][0]["is_past"] is False
        assert not db.explain("A", ("x", 10), shortest=True).is_shortest


def test_the_text_says_of_how_many_values_one_decides() -> None:
    with tidelog.compile(HEAD + SHORTEST).open() as db:
        with db.transaction() as tx:
            tx.insert("Start", [0])
            tx.insert("Edge", [(0, 1, 4), (0, 2, 1), (2, 1, 1), (1, 0, 0)])
        text = str(db.explain("Best", (1, 2)))
    assert "group by a = 1 of 2 values, the one that decides:" in text
    assert "Edge(0, 1, 4)" not in text


def test_inside_recursion_a_least_value_over_rows_rests_on_the_row_that_decides() -> None:
    text = (
        HEAD
        + """
output relation Best(a: u8, d: u32)
Best(a, 0) :- Start(a).
Best(b, d) :- Best(a, x), Edge(a, b, w), var d = min(x + w) by (b).
"""
    )
    with tidelog.compile(text).open() as db:
        with db.transaction() as tx:
            tx.insert("Start", [0])
            tx.insert("Edge", [(0, 1, 4), (0, 2, 1), (2, 1, 1), (1, 0, 0), (1, 1, 0)])
        for row in db.relation("Best").rows():
            proof = db.explain("Best", row)
            assert {step.origin for step in proof} <= {"rule", "group", "input"}
            assert not any(step.is_past for step in proof)
