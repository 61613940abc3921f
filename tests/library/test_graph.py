"""Transformers on graphs, compared with their plain definitions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.library.declare import externs_of
from tidelog.library.graph import SCC, ConnectedComponents, UnsafeBidirectionalEdges

Edge = tuple[int, int]
graphs = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20)


def source(edge: Edge) -> int:
    return edge[0]


def target(edge: Edge) -> int:
    return edge[1]


def reachable(edges: list[Edge]) -> set[Edge]:
    """Pairs with a path of one edge or more."""
    pairs = set(edges)
    while True:
        more = pairs | {(a, d) for a, b in pairs for c, d in pairs if b == c}
        if more == pairs:
            return pairs
        pairs = more


def test_a_cycle_is_named_by_its_smallest_node() -> None:
    edges = [(2, 3), (3, 1), (1, 2), (3, 4), (4, 5), (6, 6)]
    assert SCC(edges, source, target) == ({(1, 1), (2, 1), (3, 1), (6, 6)},)


def test_components_follow_the_edges_from_nodes_that_edges_lead_to() -> None:
    assert ConnectedComponents([(1, 2), (2, 3)], source, target) == ({(2, 2), (3, 2)},)
    assert ConnectedComponents([(1, 2), (2, 1), (2, 3)], source, target) == ({(1, 1), (2, 1), (3, 1)},)


def test_bidirectional_edges_leave_loops_out() -> None:
    assert UnsafeBidirectionalEdges([(1, 2), (2, 1), (2, 3), (4, 4)], source, target) == ({(1, 2), (2, 1)},)


def test_edges_may_be_anything_with_two_ends() -> None:
    edges = [{"from": "b", "to": "a"}, {"from": "a", "to": "b"}]
    assert SCC(edges, lambda e: e["from"], lambda e: e["to"]) == ({("a", "a"), ("b", "a")},)


def test_a_long_path_needs_no_stack() -> None:
    edges = [(n, n + 1) for n in range(20_000)] + [(20_000, 0)]
    assert SCC(edges, source, target) == ({(n, 0) for n in range(20_001)},)


@given(graphs)
def test_nodes_share_a_component_when_each_reaches_the_other(edges: list[Edge]) -> None:
    paths = reachable(edges)
    cycles = {(a, min(b for b in range(8) if (a, b) in paths and (b, a) in paths)) for a in range(8) if (a, a) in paths}
    assert SCC(edges, source, target) == (cycles,)


@given(graphs)
def test_the_label_is_the_smallest_node_that_reaches(edges: list[Edge]) -> None:
    ends = {b for _, b in edges}
    paths = reachable(edges) | {(b, b) for b in ends}
    labels = {(b, min(a for a in ends if (a, b) in paths)) for b in ends}
    assert ConnectedComponents(edges, source, target) == (labels,)
    assert externs_of("graph").ConnectedComponents64(reversed(edges), source, target) == (labels,)
