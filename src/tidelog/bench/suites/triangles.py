"""Triangles and cliques: leapfrog joins beside the engine's own binary joins, and single edges with and without traces.

The star with a ring has a hub that is connected with every node, both ways: n edges make n² pairs of adjacent edges,
for any order of binary joins, and n triangles. There the time of leapfrog joins is fitted over four sizes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tidelog.bench.benchmark import Scale, Settings
from tidelog.bench.inputs.dataset import SEED, Dataset, Numbers, distinct
from tidelog.bench.inputs.graphs import graph_dataset, named_graph
from tidelog.bench.measure import Case, Outcome, Ratio, Subject, one_by_one, take
from tidelog.bench.references.peers import beside

if TYPE_CHECKING:
    import pyarrow as pa

_TRIANGLES = ("T(x: u32, y: u32, z: u32)", "T(x, y, z) :- Edge(x, y), Edge(y, z), Edge(x, z).")
_CLIQUES = (
    "T(x: u32, y: u32, z: u32, w: u32)",
    "T(x, y, z, w) :- Edge(x, y), Edge(y, z), Edge(x, z), Edge(x, w), Edge(y, w), Edge(z, w).",
)


def triangles(settings: Settings) -> Outcome:
    out = Outcome()
    _skewed(settings, out)
    for name in ("Oregon-1", "soc-Epinions1"):
        if name == "soc-Epinions1" and settings.scale is Scale.TINY:
            continue
        data = named_graph(settings, name)
        out.inputs.append(data.describe())
        found = _both_joins(settings, out, data, "triangles", _TRIANGLES)
        beside(settings, "triangles", data, replace(found, name="triangles"), {"T": found.rows or 0}, out)
        if name == "Oregon-1":
            _both_joins(settings, out, data, "4-cliques", _CLIQUES)
        elif settings.scale is Scale.FULL:
            _large_cliques(settings, out, data)
        if name == "Oregon-1" or settings.scale is Scale.FULL:
            _single_edges(settings, out, data)
    return out


def star_and_ring(nodes: int) -> Numbers:
    """Returns a hub that is connected with all other nodes, both ways, and a ring of these."""
    others = np.arange(1, nodes)
    hub = np.zeros_like(others)
    ring = np.stack([others, np.roll(others, -1)], axis=1)
    return distinct(np.concatenate([np.stack([hub, others], axis=1), np.stack([others, hub], axis=1), ring]))


def _skewed(settings: Settings, out: Outcome) -> None:
    first = settings.pick(50, 10_000, 25_000)
    sizes, seconds = [], []
    for nodes in (first, 2 * first, 4 * first, 8 * first):
        edges = star_and_ring(nodes)
        data = graph_dataset(f"star and ring, {nodes:,} nodes", edges, seed=None)
        out.inputs.append(data.describe())
        settings.say(data.name)
        case = _bootstrap(settings, out, data, "triangles by leapfrog", _program(_TRIANGLES, "leapfrog"))
        out.check(f"{data.name}: triangles", case.rows, 3 * (nodes - 1))
        sizes.append(len(edges))
        seconds.append(case.median)
    slope = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    out.ratios.append(Ratio("star and ring", "exponent of the time, fitted over 4 sizes", float(slope)))


def _program(kind: tuple[str, str], join: str) -> str:
    head, rule = kind
    attribute = f'#[join = "{join}"]\n' if join else ""
    return f"input relation Edge(src: u32, dst: u32)\noutput relation {head}\n{attribute}{rule}\n"


def _bootstrap(settings: Settings, out: Outcome, data: Dataset, name: str, program: str) -> Case:
    """Times deriving, without loading the edges."""
    seconds, rows = [], 0
    for turn in range(settings.repeat + 1):
        subject = Subject(program, threads=settings.threads)
        subject.change(inserts={"Edge": data.tables["Edge"].slice(0, 1)})
        subject.change(inserts=data.tables)
        assert subject.report is not None
        if turn:
            seconds.append(sum(stratum.seconds for stratum in subject.report.strata))
        rows = subject.count("T")
        subject.close()
    return out.case(data.name, name, seconds, rows=rows)


def _both_joins(settings: Settings, out: Outcome, data: Dataset, what: str, kind: tuple[str, str]) -> Case:
    settings.say(f"{data.name}: {what}")
    leaping = _bootstrap(settings, out, data, f"{what} by leapfrog", _program(kind, ""))
    hashed = _bootstrap(settings, out, data, f"{what} by binary joins", _program(kind, "hash"))
    out.check(f"{data.name}: {what}", leaping.rows, hashed.rows)
    out.ratio(data.name, f"{what}: binary joins / leapfrog", hashed, leaping)
    return leaping


def _large_cliques(settings: Settings, out: Outcome, data: Dataset) -> None:
    """Times 4-cliques by leapfrog alone: binary joins would enumerate hundreds of millions of paths."""
    settings.say(f"{data.name}: 4-cliques")
    case = _bootstrap(settings, out, data, "4-cliques by leapfrog", _program(_CLIQUES, ""))
    expected = count_cliques(data.tables["Edge"])
    out.check(f"{data.name}: 4-cliques, as sets count them", case.rows, expected)


def count_cliques(edges: pa.Table) -> int:
    """Returns the number of 4-cliques, by sets of successors."""
    pairs = list(zip(edges["src"].to_pylist(), edges["dst"].to_pylist()))
    successors: dict[int, set[int]] = {}
    for x, y in pairs:
        successors.setdefault(x, set()).add(y)
    nothing: set[int] = set()
    found = 0
    for x, y in pairs:
        both = successors[x] & successors.get(y, nothing)
        found += sum(len(both & successors.get(z, nothing)) for z in both)
    return found


def _single_edges(settings: Settings, out: Outcome, data: Dataset) -> None:
    """Times deleting an edge and inserting it again: with arrangements alone, and with the traces of the join."""
    count = settings.pick(3, 25, 50)
    chosen = np.random.default_rng(SEED).choice(data.rows, size=min(count, data.rows), replace=False)
    rows = take(data.tables["Edge"], chosen)
    counts, sizes = [], {}
    for strategy in ("elastic", "trace"):
        settings.say(f"{data.name}: single edges with {strategy}")
        subject = Subject(_program(_TRIANGLES, ""), strategy, settings.threads)
        subject.change(inserts=data.tables)
        one_by_one(subject, "Edge", rows.slice(0, 1))
        deleted, inserted = one_by_one(subject, "Edge", rows)
        counts.append(subject.count("T"))
        sizes[strategy] = subject.bytes
        out.case(data.name, f"an edge changed, {strategy}", (*deleted, *inserted), rows=counts[-1])
        subject.close()
    out.check(f"{data.name}: triangles after single edges", counts[1], counts[0])
    out.memory_mb[data.name] = {f"with {strategy}": size / 1e6 for strategy, size in sizes.items()}
    out.ratios.append(
        Ratio(data.name, "bytes of the indices / all bytes without", sizes["trace"] / sizes["elastic"] - 1)
    )
