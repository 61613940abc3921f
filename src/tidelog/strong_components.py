"""Strongly connected components of a graph, in dependency order.

Tarjan's algorithm, without recursion: a chain of ten thousand relations is an ordinary program.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def strong_components(graph: Mapping[Node, Iterable[Node]]) -> list[list[Node]]:
    """Returns the strongly connected components of a graph, each after those that it points to; a node without a key
    points to none."""
    index: dict[Node, int] = {}
    lowest: dict[Node, int] = {}
    open_: list[Node] = []
    is_open: set[Node] = set()
    components: list[list[Node]] = []
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(graph[root]))]
        index[root] = lowest[root] = len(index)
        open_.append(root)
        is_open.add(root)
        while work:
            node, successors = work[-1]
            for successor in successors:
                if successor not in index:
                    index[successor] = lowest[successor] = len(index)
                    open_.append(successor)
                    is_open.add(successor)
                    work.append((successor, iter(graph.get(successor, ()))))
                    break
                if successor in is_open:
                    lowest[node] = min(lowest[node], index[successor])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    lowest[parent] = min(lowest[parent], lowest[node])
                if lowest[node] == index[node]:
                    component: list[Node] = []
                    while not component or component[-1] != node:
                        component.append(open_.pop())
                        is_open.discard(component[-1])
                    components.append(component)
    return components
