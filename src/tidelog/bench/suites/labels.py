"""Recursive `min` at full size: components by their least node, and shortest paths; single edges, and a split.

Every relation of results is compared with one found by plain loops over arrays: labels that spread along edges until
none changes, and a search (Dijkstra).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidelog.bench.benchmark import Settings
from tidelog.bench.inputs.dataset import SEED, Dataset, Numbers, number_table
from tidelog.bench.inputs.graphs import random_graph
from tidelog.bench.measure import (
    Case,
    Outcome,
    Subject,
    loads,
    memory_of_load,
    one_by_one,
    require_equal,
    take,
    touch_memory,
    warm,
)
from tidelog.bench.references.peers import beside
from tidelog.bench.suites.paths import search, weighted_graph

Labels = npt.NDArray[np.int64]


def labels(settings: Settings) -> Outcome:
    """Returns the times of loading, of single edges, and of a deleted edge that splits a component."""
    out = Outcome()
    _components(settings, out)
    _split(settings, out)
    _paths(settings, out)
    return out


def _components(settings: Settings, out: Outcome) -> None:
    nodes, count = settings.pick(200, 20_000, 200_000), settings.pick(220, 22_000, 220_000)
    edges = random_graph(nodes, count)
    data = _dataset(f"components, {nodes:,} nodes, {len(edges):,} edges", nodes, edges)
    expected = _least_labels(nodes, edges)
    _measure("labels", "Component", data, dict(enumerate(expected.tolist())), settings, out)


def _split(settings: Settings, out: Outcome) -> None:
    """Deletes and inserts the only edge between two halves."""
    half = settings.pick(100, 5_000, 50_000)
    bridge = np.array([[half // 2, half + half // 2]])
    edges = np.concatenate([_connected(half, SEED), _connected(half, SEED + 1) + half, bridge])
    data = _dataset(f"one component, {2 * half:,} nodes, {len(edges):,} edges", 2 * half, edges)
    out.inputs.append(data.describe())
    subject = Subject("labels", threads=settings.threads)
    loaded = Case(data.name, "loaded", (subject.change(inserts=data.tables),), rows=2 * half)
    last = {"Edge": take(data.tables["Edge"], [len(edges) - 1])}
    deletes, inserts = [], []
    for _ in range(settings.repeat):
        deletes.append(subject.change(deletes=last))
        found = np.unique(subject.table("Component")["label"].to_numpy()).tolist()
        require_equal("labels of the halves", found, [0, half])
        inserts.append(subject.change(inserts=last))
    found = np.unique(subject.table("Component")["label"].to_numpy()).tolist()
    out.checks.append(require_equal(f"{data.name}: labels", found, [0]))
    subject.close()
    split = Case(data.name, "the edge between the halves deleted", tuple(deletes), rows=2 * half)
    joined = Case(data.name, "the edge between the halves inserted", tuple(inserts), rows=2 * half)
    out.cases += [loaded, split, joined]
    out.ratio(data.name, "loaded / the edge between the halves deleted", loaded, split)


def _paths(settings: Settings, out: Outcome) -> None:
    data = weighted_graph(settings.pick(200, 20_000, 200_000), settings.pick(800, 100_000, 1_000_000))
    edges = data.tables["Edge"]
    expected, _ = search(list(zip(*(edges[name].to_pylist() for name in edges.column_names))), -1)
    _measure("paths", "Distance", data, expected, settings, out)


def _measure(
    program: str, result: str, data: Dataset, expected: dict[int, int], settings: Settings, out: Outcome
) -> None:
    """Loads the facts, then deletes and inserts random edges one by one; compares the results."""
    out.inputs.append(data.describe())
    warm(program, data.tables, ("elastic",))
    touch_memory(program, data.tables, settings.threads)
    settings.say(f"{data.name}: loading")
    subject, seconds = loads(program, data.tables, settings.repeat, settings.threads)
    loaded = out.case(data.name, "loaded", seconds, rows=len(expected))
    settings.say(f"{data.name}: single edges")
    edges = data.tables["Edge"]
    chosen = np.random.default_rng(SEED).choice(edges.num_rows, settings.pick(5, 100, 100), replace=False)
    deletes, inserts = one_by_one(subject, "Edge", take(edges, chosen))
    found = subject.table(result)
    same = dict(zip(found.column(0).to_pylist(), found.column(1).to_pylist())) == expected
    out.checks.append(require_equal(f"{data.name}: {result}", same, True))
    subject.close()
    out.case(data.name, "an edge deleted", deletes, rows=len(expected))
    out.case(data.name, "an edge inserted", inserts, rows=len(expected))
    settings.say(f"{data.name}: memory")
    peak = memory_of_load(out, f"{data.name}: loaded", program, data.tables, settings.threads)
    beside(settings, program, data, loaded, {result: found}, out, peak)


def _dataset(name: str, nodes: int, edges: Numbers) -> Dataset:
    node_table = pa.table({"node": pa.array(np.arange(nodes), pa.uint32())})
    return Dataset(name, "generated", {"Edge": number_table(edges, "src", "dst"), "Node": node_table}, SEED)


def _connected(nodes: int, seed: int) -> Numbers:
    """Returns the edges of a random tree, and some more."""
    generator = np.random.default_rng(seed)
    later = np.arange(1, nodes)
    tree = np.column_stack([later, (generator.random(nodes - 1) * later).astype(np.int64)])
    more = generator.integers(0, nodes, (nodes // 10, 2))
    return np.unique(np.concatenate([tree, more]), axis=0)


def _least_labels(nodes: int, edges: Numbers) -> Labels:
    """Returns the least node of each node's component."""
    found: Labels = np.arange(nodes)
    source, target = edges[:, 0].astype(np.int64), edges[:, 1].astype(np.int64)
    while True:
        before = found.copy()
        np.minimum.at(found, source, before[target])
        np.minimum.at(found, target, before[source])
        found = np.minimum(found, found[found])
        if np.array_equal(found, before):
            return found
