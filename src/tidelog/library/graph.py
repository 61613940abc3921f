"""The transformers of `graph`: whole relations in, whole relations out.

Nodes are values with an order. The result depends only on the set of edges, not on their order. No function recurses: a
path may have any length.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any

from tidelog.library._runtime.extern import Externs, extern
from tidelog.strong_components import strong_components

_End = Callable[[Any], Any]
_Pairs = AbstractSet[tuple[Any, Any]]
_Graph = dict[Any, list[Any]]


@extern
def SCC(edges: Iterable[Any], source: _End, target: _End) -> tuple[_Pairs]:  # noqa: N802
    pairs = _pairs(edges, source, target)
    component: dict[Any, Any] = {}
    for members in strong_components(_neighbours(pairs)):
        component |= dict.fromkeys(members, min(members))
    on_cycle = {start for start, end in pairs if component[start] == component[end]}
    return (frozenset((node, component[node]) for node in on_cycle),)


@extern
def ConnectedComponents(edges: Iterable[Any], source: _End, target: _End) -> tuple[_Pairs]:  # noqa: N802
    pairs = _pairs(edges, source, target)
    forward = _neighbours(pairs)
    label: dict[Any, Any] = {}
    # From the smallest upwards, so that a node is reached first from the smallest.
    for node in sorted({end for _, end in pairs}):
        if node not in label:
            label |= dict.fromkeys(list(_reached(forward, node, label)), node)
    return (frozenset(label.items()),)


@extern
def UnsafeBidirectionalEdges(edges: Iterable[Any], source: _End, target: _End) -> tuple[_Pairs]:  # noqa: N802
    pairs = _pairs(edges, source, target)
    return (frozenset((start, end) for start, end in pairs if start != end and (end, start) in pairs),)


def _pairs(edges: Iterable[Any], source: _End, target: _End) -> _Pairs:
    return frozenset((source(edge), target(edge)) for edge in edges)


def _neighbours(pairs: _Pairs) -> _Graph:
    graph: _Graph = defaultdict(list)
    for start, end in pairs:
        graph[start].append(end)
    return dict(graph)


def _reached(graph: _Graph, start: Any, known: dict[Any, Any]) -> Iterator[Any]:
    """Yields the start and all nodes that can be reached from it without passing through a known one."""
    seen, waiting = {start}, [start]
    while waiting:
        node = waiting.pop()
        yield node
        for following in graph.get(node, ()):
            if following not in seen and following not in known:
                seen.add(following)
                waiting.append(following)


EXTERNS: Externs = {"ConnectedComponents64": ConnectedComponents}
