"""Graphs for the transitive closure: random, R-MAT (few nodes have most edges) and a chain; their closure sizes."""

from __future__ import annotations

import numpy as np

from tidelog.bench.benchmark import Settings
from tidelog.bench.inputs.dataset import SEED, Dataset, Numbers, distinct, number_table, unreadable
from tidelog.strong_components import strong_components


def random_graph(nodes: int, edges: int, seed: int = SEED) -> Numbers:
    """Returns distinct random edges; slightly fewer than requested, because duplicates are dropped."""
    return distinct(np.random.default_rng(seed).integers(0, nodes, (edges, 2)))


def rmat_graph(nodes: int, edges: int, seed: int = SEED) -> Numbers:
    """Returns edges that fall recursively into one of the four quarters of the matrix, mostly into the first."""
    generator = np.random.default_rng(seed)
    levels = max(1, (nodes - 1).bit_length())
    found = np.empty((0, 2), dtype=np.uint32)
    while len(found) < edges:
        quarters = generator.choice(4, p=(0.57, 0.19, 0.19, 0.05), size=(2 * edges, levels))
        weights = 1 << np.arange(levels)
        drawn = np.stack([(quarters >> 1) @ weights, (quarters & 1) @ weights], axis=1)
        found = distinct(np.concatenate([found, drawn[(drawn < nodes).all(axis=1)]]))
    return found[np.sort(generator.permutation(len(found))[:edges])]


def random_trees(edges: int, nodes: int, seed: int = SEED) -> Numbers:
    """Returns the edges of random trees of so many nodes each, from parents to children, in random order."""
    rng = np.random.default_rng(seed)
    trees = -(-edges // (nodes - 1))
    child = np.tile(np.arange(1, nodes), trees)
    parent = (rng.random(len(child)) * child).astype(np.int64)
    first = np.repeat(np.arange(trees) * nodes, nodes - 1)
    return np.stack([parent + first, child + first], axis=1)[:edges][rng.permutation(edges)]


def chain_graph(edges: int) -> Numbers:
    return np.stack([np.arange(edges), np.arange(1, edges + 1)], axis=1).astype(np.uint32)


def graph_dataset(name: str, edges: Numbers, seed: int | None = SEED) -> Dataset:
    return Dataset(name, "generated", {"Edge": number_table(edges, "src", "dst")}, seed)


def named_graph(settings: Settings, name: str) -> Dataset:
    """Returns a graph of `graphs/NAME.txt.gz`, each edge once, from smaller to larger node; else a similar one."""
    path = settings.file(f"graphs/{name}.txt.gz")
    if path is None:
        nodes, count = (settings.pick(60, 10_000, 10_000), settings.pick(200, 22_000, 22_000))
        if name == "soc-Epinions1":
            nodes, count = (settings.pick(100, 20_000, 75_000), settings.pick(400, 80_000, 405_000))
        edges, source = rmat_graph(nodes, count), "generated"
    else:
        try:
            edges, source = np.loadtxt(path, dtype=np.int64, comments="#"), str(path.name)
        except (OSError, ValueError) as error:
            raise unreadable(path, error) from None
    ordered = np.sort(edges.astype(np.int64), axis=1)
    ordered = ordered[ordered[:, 0] != ordered[:, 1]]
    seed = SEED if source == "generated" else None
    return Dataset(name, source, {"Edge": number_table(distinct(ordered), "src", "dst")}, seed)


def closure_size(edges: Numbers) -> int:
    """Returns the rows of the transitive closure, by components and sets of nodes as bits of integers."""
    successors: dict[int, list[int]] = {}
    for source, target in edges.tolist():
        successors.setdefault(source, []).append(target)
        successors.setdefault(target, [])
    reach: dict[int, int] = {}
    size = 0
    for component in strong_components(successors):
        members = set(component)
        below = 0
        for node in component:
            for target in successors[node]:
                below |= 1 << target
                if target not in members:
                    below |= reach[target]
        if len(component) > 1:
            for node in component:
                below |= 1 << node
        for node in component:
            reach[node] = below
        size += len(component) * below.bit_count()
    return size
