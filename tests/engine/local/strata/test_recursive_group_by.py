"""`group_by` inside recursion: rounds from nothing until they come to rest."""

from __future__ import annotations

import pytest
from tests.engine.local.run import Running

from tidelog.diagnostics.errors import EvaluationError

SHORTEST = """
    input relation Edge(from: u32, to: u32, length: u32)
    input relation Source(n: u32)
    relation Candidate(n: u32, d: u32)
    Candidate(n, 0) :- Source(n).
    Candidate(m, d + l) :- Distance(n, d), Edge(n, m, l).
    output relation Distance(n: u32, d: u32)
    Distance(n, d) :- Candidate(n, c), var d = c.group_by(n).min().
"""


def shortest(edges: set[tuple[int, int, int]], source: int) -> dict[tuple[int, int], int]:
    distance = {source: 0}
    while True:
        better: dict[int, int] = {}
        for start, end, length in edges:
            if start in distance and distance[start] + length < min(distance.get(end, 10**9), better.get(end, 10**9)):
                better[end] = distance[start] + length
        if not better:
            return dict.fromkeys(distance.items(), 1)
        distance |= better


def test_shortest_paths_follow_the_edges() -> None:
    run = Running(SHORTEST)
    edges = {(1, 2, 4), (1, 3, 1), (3, 2, 2), (2, 4, 1), (4, 1, 1)}
    run.commit({"Source": [(1,)], "Edge": list(edges)})
    assert run.rows("Distance") == shortest(edges, 1)
    for gone in [(3, 2, 2), (1, 2, 4), (1, 3, 1)]:
        edges.remove(gone)
        changes = run.commit(delete={"Edge": [gone]})
        assert run.rows("Distance") == shortest(edges, 1)
        assert changes["Distance"], "each of these edges matters"
    assert [report.strategy for report in run.report.strata] == ["monotone"]


def test_rounds_that_never_rest_are_an_error_and_nothing_changes() -> None:
    run = Running("""
        input relation Start(x: u32)
        relation Seen(x: u32)
        Seen(x) :- Start(x).
        Seen(y) :- Seen(x), var m = x.group_by(()).max(), var y = 3 - m, Start(_).
        output relation Out(x: u32)
        Out(x) :- Seen(x).
    """)
    assert run.commit({"Start": [(3,)]}) == {"Out": {(3,): 1, (0,): 1}}
    restless = Running("""
        input relation Start(x: u32)
        relation Odd(x: u32)
        Odd(0) :- Start(_).
        Odd(1) :- Odd(x), var n = x.group_by(()).count_distinct(), n == 1.
        output relation Out(x: u32)
        Out(x) :- Odd(x).
    """)
    with pytest.raises(EvaluationError, match="never reach a fixed point") as caught:
        restless.commit({"Start": [(1,)]})
    assert caught.value.code == "E604"
    assert restless.rows("Out") == {}
    assert restless.rows("Start") == {}


def test_input_facts_inside_the_recursion_count_in_every_round() -> None:
    run = Running("""
        input relation Cost(n: u32, c: u32)
        Cost(n, m + 1) :- Cost(o, c), var m = c.group_by(o).min(), Next(o, n).
        input relation Next(o: u32, n: u32)
        output relation Best(n: u32, c: u32)
        Best(n, m) :- Cost(n, c), var m = c.group_by(n).min().
    """)
    run.commit({"Cost": [(1, 5)], "Next": [(1, 2), (2, 3)]})
    assert run.rows("Best") == {(1, 5): 1, (2, 6): 1, (3, 7): 1}
    assert run.commit({"Cost": [(2, 1)]}) == {"Best": {(2, 6): -1, (2, 1): 1, (3, 7): -1, (3, 2): 1}}
    assert run.commit(delete={"Cost": [(1, 5)]}) == {"Best": {(1, 5): -1}}
