"""Strongly connected components of a graph, in dependency order.

Tarjan's algorithm, without recursion: a chain of ten thousand relations is an ordinary program.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def strong_components(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Returns the strongly connected components of a graph, each after those that it points to."""
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_: list[str] = []
    is_open: set[str] = set()
    components: list[list[str]] = []
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
                    work.append((successor, iter(graph[successor])))
                    break
                if successor in is_open:
                    lowest[node] = min(lowest[node], index[successor])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    lowest[parent] = min(lowest[parent], lowest[node])
                if lowest[node] == index[node]:
                    component: list[str] = []
                    while not component or component[-1] != node:
                        component.append(open_.pop())
                        is_open.discard(component[-1])
                    components.append(component)
    return components
