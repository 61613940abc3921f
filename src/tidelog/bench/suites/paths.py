"""Shortest paths from one node: edges of the tree of shortest paths are deleted, and inserted again, one by one.

Such an edge matters: without it every node below it in the tree needs another path. Every answer is compared with that
of a search (Dijkstra) without Tidelog.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
import pyarrow as pa

from tidelog.bench.benchmark import Settings
from tidelog.bench.inputs.dataset import SEED, Dataset, number_table
from tidelog.bench.inputs.graphs import random_graph
from tidelog.bench.measure import Case, Outcome, Subject, require_equal, take, warm

_Successors = dict[int, list[tuple[int, int]]]
LONGEST = 1000


def paths(settings: Settings) -> Outcome:
    """Returns times and ratios; `recompute` derives everything from scratch in each epoch."""
    out = Outcome()
    data = weighted_graph(settings.pick(200, 10_000, 10_000), settings.pick(800, 50_000, 100_000))
    out.inputs.append(data.describe())
    edges = data.tables["Edge"]
    lines = list(zip(*(edges[name].to_pylist() for name in edges.column_names)))
    distances, tree = search(lines, -1)
    count = settings.pick(5, 20, 50)
    chosen = np.random.default_rng(SEED).choice(len(tree), size=min(count, len(tree)), replace=False)
    places = [tree[place] for place in chosen.tolist()]
    warm("paths", data.tables)
    settings.say(f"{data.name}: incremental update")
    updated = _delete(data, lines, places, "elastic", settings, out)
    settings.say(f"{data.name}: full recompute")
    recomputed = _delete(data, lines, places[: settings.pick(2, 5, 5)], "recompute", settings, out)
    out.check("nodes that are reached", updated.rows, len(distances))
    out.ratio(data.name, "an edge of the tree deleted: recompute / update", recomputed, updated)
    return out


def _delete(
    data: Dataset, lines: list[tuple[int, int, int]], places: list[int], strategy: str, settings: Settings, out: Outcome
) -> Case:
    """Deletes one edge after the other, each from the whole graph; compares all answers."""
    subject = Subject("paths", strategy, settings.threads)
    loaded = subject.change(inserts=data.tables)
    deletes, inserts = [], []
    for place in places:
        edge = {"Edge": take(data.tables["Edge"], [place])}
        deletes.append(subject.change(deletes=edge))
        found = subject.table("Distance")
        expected, _ = search(lines, place)
        same = dict(zip(found["node"].to_pylist(), found["length"].to_pylist())) == expected
        require_equal(f"distances without edge {lines[place]}", same, True)
        inserts.append(subject.change(inserts=edge))
    rows = subject.count("Distance")
    subject.close()
    out.checks.append(f"{strategy}: distances after each of {len(places)} deletions: equal to those of a search")
    out.case(data.name, f"loaded, {strategy}", (loaded,), rows=rows)
    out.case(data.name, f"an edge of the tree inserted, {strategy}", inserts, rows=rows)
    return out.case(data.name, f"an edge of the tree deleted, {strategy}", deletes, rows=rows)


def weighted_graph(nodes: int, count: int) -> Dataset:
    """Returns a random graph whose edges have lengths, and its node 0 as the source."""
    edges = random_graph(nodes, count)
    lengths = np.random.default_rng(SEED).integers(1, LONGEST + 1, len(edges))
    table = number_table(np.column_stack([edges, lengths]), "src", "dst", "length")
    source = pa.table({"node": pa.array([0], pa.uint32())})
    return Dataset(f"{nodes:,} nodes, {len(edges):,} edges", "generated", {"Edge": table, "Source": source}, SEED)


def search(lines: list[tuple[int, int, int]], without: int) -> tuple[dict[int, int], list[int]]:
    """Returns the distances from node 0 without one of the edges, and the places of the edges of the tree."""
    successors: _Successors = {}
    for place, (source, _, _) in enumerate(lines):
        if place != without:
            successors.setdefault(source, []).append((lines[place][2], place))
    distances: dict[int, int] = {}
    tree: list[int] = []
    waiting = [(0, 0, -1)]
    while waiting:
        distance, node, came_by = heappop(waiting)
        if node in distances:
            continue
        distances[node] = distance
        if came_by >= 0:
            tree.append(came_by)
        for length, place in successors.get(node, ()):
            heappush(waiting, (distance + length, lines[place][1], place))
    return distances, tree
