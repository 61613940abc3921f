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

_End = Callable[[Any], Any]
_Pairs = AbstractSet[tuple[Any, Any]]
_Graph = dict[Any, list[Any]]


@extern
def SCC(edges: Iterable[Any], source: _End, target: _End) -> tuple[_Pairs]:  # noqa: N802
    pairs = _pairs(edges, source, target)
    forward, backward = _neighbours(pairs), _neighbours((end, start) for start, end in pairs)
    component: dict[Any, Any] = {}
    # Kosaraju: in reverse postorder, the nodes that lead to a node and have no component yet are its component.
    for root in reversed(list(_finished(forward))):
        if root not in component:
            members = list(_reached(backward, root, component))
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


def _neighbours(pairs: Iterable[tuple[Any, Any]]) -> _Graph:
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


def _finished(graph: _Graph) -> Iterator[Any]:
    """Yields all nodes of the graph in the postorder of a depth-first search."""
    seen: set[Any] = set()
    for root in graph:
        if root in seen:
            continue
        seen.add(root)
        path = [(root, iter(graph[root]))]
        while path:
            node, below = path[-1]
            for following in below:
                if following not in seen:
                    seen.add(following)
                    path.append((following, iter(graph.get(following, ()))))
                    break
            else:
                path.pop()
                yield node


EXTERNS: Externs = {"ConnectedComponents64": ConnectedComponents}
