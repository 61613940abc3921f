"""Rules joined by leapfrog on relations of many pages, with one thread and with several, repaired and derived."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

import tidelog
from tidelog.engine.interface import Operation
from tidelog.engine.local.engine import LocalEngine

Edges = set[tuple[int, int]]
DECLARATIONS = """
input relation E(x: s64, y: s64)
input relation Bad(x: s64)
output relation P(x: s64, y: s64, z: s64)
"""


def triangles(edges: Edges, _: set[int]) -> set[tuple[int, ...]]:
    return {(x, y, z) for x, y in edges for z in range(100) if (y, z) in edges and (x, z) in edges}


def squares(edges: Edges, _: set[int]) -> set[tuple[int, ...]]:
    two = {(x, y, z) for x, y in edges for z in range(100) if (y, z) in edges}
    ends: dict[tuple[int, int], set[int]] = {}
    for x, y, z in two:
        ends.setdefault((x, z), set()).add(y)
    return {(x, y, z) for x, y, z in two if (z, x) in ends}


def guarded(edges: Edges, bad: set[int]) -> set[tuple[int, ...]]:
    return {(x, y, z + 1) for x, y, z in triangles(edges, bad) if z not in bad and x < z and (z, z) not in edges}


def ringed(edges: Edges, _: set[int]) -> set[tuple[int, ...]]:
    found = {(x, y, x) for x, y in edges if (y, x) in edges and (x, x) in edges and (7, y) in edges}
    return {row for row in found if any(x == row[0] for _, x in edges)}


CASES: list[tuple[str, Callable[[Edges, set[int]], set[tuple[int, ...]]]]] = [
    ("P(x, y, z) :- E(x, y), E(y, z), E(x, z).", triangles),
    ("P(x, y, z) :- E(x, y), E(y, z), E(z, w), E(w, x).", squares),
    ("P(x, y, w) :- E(x, y), E(y, z), E(x, z), not Bad(z), not E(z, z), x < z, var w = z + 1.", guarded),
    ('#[join = "leapfrog"] P(x, y, x) :- E(x, y), E(y, x), E(x, x), E(7, y), E(_, x).', ringed),
]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("rule", "answer"), CASES)
def test_rows_are_those_of_nested_loops(
    rule: str, answer: Callable[[Edges, set[int]], set[tuple[int, ...]]], threads: int
) -> None:
    rng = random.Random(5)
    edges = {(rng.randrange(100), min(rng.randrange(100), rng.randrange(100))) for _ in range(2500)}
    edges |= {(each, each) for each in range(0, 100, 7)}
    bad: set[int] = set()
    engine = LocalEngine(tidelog.compile(DECLARATIONS + rule).stages.rules, threads=threads)
    engine._thread_pool.share_from = 1
    engine.open()
    engine.commit([Operation("E", +1, sorted(edges))])
    assert {row for row, _ in engine.rows("P")} == answer(edges, bad)
    for step in range(12):
        gone = rng.sample(sorted(edges), 5)
        come = [(rng.randrange(100), rng.randrange(100)) for _ in range(5)]
        turned = [(rng.randrange(100),) for _ in range(2)]
        edges = (edges - set(gone)) | set(come)
        sign = 1 if step % 3 else -1
        bad = bad | {x for (x,) in turned} if sign > 0 else bad - {x for (x,) in turned}
        engine.commit([Operation("E", -1, gone), Operation("E", +1, come), Operation("Bad", sign, turned)])
        assert {row for row, _ in engine.rows("P")} == answer(edges, bad), step
    engine.close()


def test_a_failed_epoch_leaves_the_tries_as_they_were() -> None:
    text = DECLARATIONS + '#[join = "leapfrog"] P(x, y, z) :- E(x, y), E(y, z), E(x, z), var q = x / y, q >= 0.'
    engine = LocalEngine(tidelog.compile(text).stages.rules)
    engine.open()
    rng = random.Random(6)
    edges = {(rng.randrange(1, 60), rng.randrange(1, 60)) for _ in range(900)}
    engine.commit([Operation("E", +1, sorted(edges))])
    before = dict(engine.rows("P"))
    with pytest.raises(tidelog.EvaluationError, match="division by zero"):
        engine.commit([Operation("E", +1, [(5, 0), (0, 6), (5, 6)]), Operation("E", -1, sorted(edges)[:50])])
    assert dict(engine.rows("P")) == before
    gone = sorted(edges)[:40]
    engine.commit([Operation("E", -1, gone)])
    assert {row for row, _ in engine.rows("P")} == triangles(edges - set(gone), set())
