"""Sizes and a seed → facts of the suite's programs over graphs: random, with hubs, layered, deep, labelled."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidelog.bench.inputs.dataset import distinct, number_table
from tidelog.bench.inputs.graphs import random_graph, rmat_graph

Facts = dict[str, pa.Table]
Array = npt.NDArray[Any]


def column(numbers: Array, name: str = "node") -> pa.Table:
    """Returns a table of one column."""
    return number_table(np.asarray(numbers)[:, None], name)


def edges(nodes: int, count: int, seed: int) -> Facts:
    """Returns a random graph."""
    return {"Edge": number_table(random_graph(nodes, count, seed), "src", "dst")}


def sourced(nodes: int, count: int, sources: int, seed: int) -> Facts:
    """Returns a graph in which few nodes have most edges, and a few random sources."""
    found = rmat_graph(nodes, count, seed)
    chosen = np.random.default_rng(seed).choice(np.unique(found[:, 0]), sources, replace=False)
    return {"Edge": number_table(found, "src", "dst"), "Source": column(chosen)}


def hubs(nodes: int, count: int, heads: int, seed: int) -> Facts:
    """Returns edges from smaller to larger nodes; every tenth one touches one of a few hubs."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, nodes, (count, 2))
    drawn[: count // 10, 0] = rng.integers(0, heads, count // 10)
    ordered = np.sort(drawn, axis=1)
    return {"Edge": number_table(distinct(ordered[ordered[:, 0] < ordered[:, 1]]), "src", "dst")}


def generations(nodes: int, parents: int, levels: int, seed: int) -> Facts:
    """Returns levels of equal size; a node has parents in the level above, more of them at one end."""
    rng = np.random.default_rng(seed)
    wide = nodes // levels
    child = np.repeat(np.arange(wide, wide * levels), parents)
    parent = (child // wide - 1) * wide + (wide * rng.random(len(child)) ** 1.5).astype(np.int64)
    return {"Up": number_table(distinct(np.stack([child, parent], axis=1)), "child", "parent")}


def layered(nodes: int, step: int, origins: int, seed: int) -> Facts:
    """Returns ways that lead on by a few nodes at a time, and origins near the beginning."""
    rng = np.random.default_rng(seed)
    source = np.repeat(np.arange(nodes), 2)
    target = source + rng.integers(1, step + 1, 2 * nodes)
    flow = np.stack([source, target], axis=1)[target < nodes]
    first = np.stack([np.arange(origins), rng.integers(0, max(nodes // 50, 1), origins)], axis=1)
    return {"Flow": number_table(distinct(flow), "from", "to"), "Origin": number_table(first, "origin", "at")}


def chain(length: int, seed: int) -> Facts:
    """Returns a chain, and a side way of a few steps from every tenth node."""
    rng = np.random.default_rng(seed)
    line = np.stack([np.arange(length), np.arange(1, length + 1)], axis=1)
    start = np.arange(0, length, 10)
    side = np.stack([start, start + rng.integers(2, 6, len(start))], axis=1)
    return {
        "Start": column(np.array([0])),
        "Next": number_table(line, "from", "to"),
        "Side": number_table(side[side[:, 1] <= length], "from", "to"),
    }


def grid(side: int, corners: int, seed: int) -> Facts:
    """Returns a square grid, and nodes of its upper left part where ways begin."""
    rng = np.random.default_rng(seed)
    nodes = np.arange(side * side).reshape(side, side)
    right = np.stack([nodes[:, :-1].ravel(), nodes[:, 1:].ravel()], axis=1)
    down = np.stack([nodes[:-1].ravel(), nodes[1:].ravel()], axis=1)
    begin = rng.integers(0, max(side // 4, 1), (corners, 2))
    corner = np.stack([np.arange(corners), nodes[begin[:, 0], begin[:, 1]]], axis=1)
    return {
        "Corner": number_table(corner, "corner", "node"),
        "Right": number_table(right, "from", "to"),
        "Down": number_table(down, "from", "to"),
    }


def bracketed(nodes: int, count: int, seed: int) -> Facts:
    """Returns edges with one of two labels, or a third that no rule reads."""
    rng = np.random.default_rng(seed)
    drawn = distinct(np.column_stack([rng.integers(0, nodes, (count, 2)), rng.integers(0, 3, count)]))
    return {"Edge": number_table(drawn, "src", "dst", "label")}


def labelled(nodes: int, count: int, labels: int, seed: int) -> Facts:
    """Returns edges of several labels, and each label below the next of every third one."""
    rng = np.random.default_rng(seed)
    drawn = np.column_stack(
        [rng.integers(0, nodes, count), rng.integers(0, labels, count), rng.integers(0, nodes, count)]
    )
    below = np.array([(label, label + 1) for label in range(labels - 1) if label % 3 == 0])
    return {
        "Edge": number_table(distinct(drawn), "src", "label", "dst"),
        "Below": number_table(below, "label", "above"),
    }


def machines(states: int, letters: int, tags: int, seed: int) -> Facts:
    """Returns the transitions of two machines, and a start for every tag."""
    rng = np.random.default_rng(seed)

    def moves() -> pa.Table:
        drawn = np.column_stack([rng.integers(0, high, states * letters) for high in (states, letters, states)])
        return number_table(distinct(drawn), "from", "letter", "to")

    start = np.column_stack([rng.integers(0, states, (tags, 2)), np.zeros(tags, np.int64), np.arange(tags)])
    return {"Left": moves(), "Right": moves(), "Start": number_table(start, "one", "other", "depth", "tag")}


def kinds(nodes: int, count: int, kinds: int, seed: int) -> Facts:
    """Returns edges, a kind for each node, and the pairs of kinds that may be linked."""
    rng = np.random.default_rng(seed)
    kind = np.stack([np.arange(nodes), rng.integers(0, kinds, nodes)], axis=1)
    allowed = np.stack([np.arange(kinds), (np.arange(kinds) + 1) % kinds], axis=1)
    return edges(nodes, count, seed) | {
        "Kind": number_table(kind, "node", "kind"),
        "Allowed": number_table(allowed, "one", "other"),
    }


def seeds(nodes: int, count: int, strata: int, each: int, seed: int) -> Facts:
    """Returns a graph, and for each stratum the nodes from which marks spread."""
    rng = np.random.default_rng(seed)
    drawn = np.column_stack([np.repeat(np.arange(strata), each), rng.integers(0, nodes, strata * each)])
    return edges(nodes, count, seed) | {"Seed": number_table(distinct(drawn), "stratum", "node")}


def forest(people: int, parents: int, houses: int, seed: int) -> Facts:
    """Returns four generations, in which everyone has random parents of the generation above, and a house."""
    rng = np.random.default_rng(seed)
    wide = people // 4
    child = np.repeat(np.arange(wide, people), parents)
    parent = (child // wide - 1) * wide + rng.integers(0, wide, len(child))
    house = np.stack([np.arange(people), rng.integers(0, houses, people)], axis=1)
    return {
        "Parent": number_table(distinct(np.stack([child, parent], axis=1)), "child", "parent"),
        "House": number_table(house, "person", "house"),
    }


def game(nodes: int, moves: int, goals: int, prizes: int, seed: int) -> Facts:
    """Returns a graph of moves, whose even nodes belong to one player, and goals with prizes."""
    rng = np.random.default_rng(seed)
    goal = distinct(np.column_stack([rng.integers(0, nodes, goals), rng.integers(0, prizes, goals)]))
    return {
        "Move": number_table(random_graph(nodes, moves, seed), "from", "to"),
        "Mine": column(np.arange(0, nodes, 2)),
        "Goal": number_table(goal, "node", "prize"),
    }
