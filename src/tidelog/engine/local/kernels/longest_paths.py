"""Dependencies between nodes → the order in which the nodes can be computed: the longest path to each of them.

An edge leads from a node to one that needs it. A node's *depth* is greater than that of every node that it needs; its
*level* counts only those steps of a path that lead to a group. Nodes on a cycle, and those behind one, have no order.
"""

from __future__ import annotations

from tidelog.engine.local.kernels.memory import entry_point


@entry_point("int64(int32[::1], int32[::1], int64[::1], int32[::1])")
def sort_edges(sources, targets, starts, sorted_targets):
    """Writes the targets in the order of their sources; `starts` has the place of each node's first one, and an end."""
    starts[:] = 0
    for i in range(sources.size):
        starts[sources[i] + 1] += 1
    for node in range(starts.size - 1):
        starts[node + 1] += starts[node]
    for i in range(sources.size):
        at = starts[sources[i]]
        sorted_targets[at] = targets[i]
        starts[sources[i]] = at + 1
    for node in range(starts.size - 1, 0, -1):
        starts[node] = starts[node - 1]
    starts[0] = 0
    return 0


@entry_point("int64(int64[::1], int32[::1], uint8[::1], int32[::1], int32[::1], int32[::1], int32[::1])")
def order_nodes(starts, targets, is_group, waiting, depths, levels, queue):
    """Raises depths and levels to those of the longest paths; returns how many nodes have an order.

    `waiting` has the number of edges that lead to each node, or -1 for a place without a node; it is used up: a node
    without an order keeps a number above 0. `queue` is scratch.
    """
    end = 0
    for node in range(waiting.size):
        if waiting[node] == 0:
            queue[end] = node
            end += 1
    at = 0
    while at < end:
        node = queue[at]
        at += 1
        for i in range(starts[node], starts[node + 1]):
            target = targets[i]
            if depths[target] <= depths[node]:
                depths[target] = depths[node] + 1
            level = levels[node] + is_group[target]
            if levels[target] < level:
                levels[target] = level
            waiting[target] -= 1
            if waiting[target] == 0:
                queue[end] = target
                end += 1
    return end
