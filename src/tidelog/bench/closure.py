"""Transitive closure of a random graph on the local engine: `python -m tidelog.bench.closure`.

Prints, from one run: Bootstrap with the full state (rank, count, total), one edge deleted and inserted again (medians),
and beside it a bare compiled loop that keeps the same three numbers for this one program and nothing else: no
arrangements, no log, no changes. If `souffle` is on the PATH, its compiled program runs too.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import njit

from tidelog.diagnostics.spans import Source
from tidelog.engine.interface import Operation
from tidelog.engine.local.engine import LocalEngine
from tidelog.rules.compile_rules import compile_rules

PROGRAM = """\
input relation Edge(src: u32, dst: u32)
output relation Reach(src: u32, dst: u32)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
"""
SOUFFLE = """\
.decl Edge(x:number, y:number)
.input Edge
.decl Reach(x:number, y:number)
.printsize Reach
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
"""

Edges = npt.NDArray[np.uint32]


def random_graph(nodes: int, edges: int, seed: int = 1) -> Edges:
    """Distinct random edges; a few less than asked for, where the same one came twice."""
    drawn = np.random.default_rng(seed).integers(0, nodes, (edges, 2), dtype=np.uint32)
    return np.unique(drawn, axis=0)


def edge_table(edges: Edges) -> pa.Table:
    return pa.table({"src": pa.array(edges[:, 0]), "dst": pa.array(edges[:, 1])})


def loaded(edges: Edges) -> tuple[LocalEngine, float]:
    """An engine with the closure of the edges, and the seconds that the first epoch took."""
    engine = LocalEngine(compile_rules(Source("<closure>", PROGRAM)).rules)
    engine.open()
    table = edge_table(edges)
    started = perf_counter()
    engine.commit([Operation("Edge", 1, table)])
    return engine, perf_counter() - started


def single_changes(engine: LocalEngine, edges: Edges, times: int) -> tuple[list[float], list[float]]:
    """Seconds for deleting, and for inserting again, one random edge after the other."""
    picks = np.random.default_rng(2).integers(0, len(edges), times)
    deletes: list[float] = []
    inserts: list[float] = []
    for pick in picks:
        table = edge_table(edges[pick : pick + 1])
        for sign, seconds in ((-1, deletes), (1, inserts)):
            started = perf_counter()
            engine.commit([Operation("Edge", sign, table)])
            seconds.append(perf_counter() - started)
    return deletes, inserts


@njit(nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _bare_closure(starts: Any, targets: Any, nodes: int, slots: Any, keys: Any, numbers: Any) -> int:
    """Semi-naive closure over a hash set, counting rank, count and total; returns the rows."""
    mask = slots.size - 1
    rows = 0
    begin = 0
    for source in range(nodes):
        for at in range(starts[source], starts[source + 1]):
            key = np.int64(source) * nodes + targets[at]
            slot = (key * -7046029254386353131 >> 24) & mask
            while slots[slot] != 0:
                slot = (slot + 1) & mask
            slots[slot] = rows + 1
            keys[rows] = key
            numbers[rows, 0] = 1
            numbers[rows, 1] = 1
            numbers[rows, 2] = 1
            rows += 1
    rank = 1
    while begin < rows:
        end = rows
        rank += 1
        for row in range(begin, end):
            source = keys[row] // nodes
            middle = keys[row] % nodes
            for at in range(starts[middle], starts[middle + 1]):
                key = source * nodes + targets[at]
                slot = (key * -7046029254386353131 >> 24) & mask
                while slots[slot] != 0 and keys[slots[slot] - 1] != key:
                    slot = (slot + 1) & mask
                if slots[slot] == 0:
                    slots[slot] = rows + 1
                    keys[rows] = key
                    numbers[rows, 0] = rank
                    numbers[rows, 1] = 1
                    numbers[rows, 2] = 1
                    rows += 1
                else:
                    found = slots[slot] - 1
                    numbers[found, 2] += 1
                    if numbers[found, 0] == rank:
                        numbers[found, 1] += 1
        begin = end
    return rows


def bare_loop(edges: Edges, nodes: int) -> Callable[[], int]:
    """The bare loop over these edges, compiled; a call runs it and returns the rows."""
    ordered = edges[np.argsort(edges[:, 0], kind="stable")].astype(np.int64)
    starts = np.searchsorted(ordered[:, 0], np.arange(nodes + 1))
    targets = ordered[:, 1].copy()

    def run() -> int:
        slots = np.zeros(1 << (2 * nodes * nodes - 1).bit_length(), dtype=np.int32)
        keys = np.empty(nodes * nodes, dtype=np.int64)
        numbers = np.empty((nodes * nodes, 3), dtype=np.int64)
        return int(_bare_closure(starts, targets, nodes, slots, keys, numbers))

    run()
    return run


def souffle_seconds(edges: Edges) -> float | None:
    """The run time of Soufflé's compiled program on one thread, or None without Soufflé."""
    souffle = shutil.which("souffle")
    if souffle is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "closure.dl").write_text(SOUFFLE)
        np.savetxt(Path(folder, "Edge.facts"), edges, fmt="%d", delimiter="\t")
        subprocess.run([souffle, "-o", "closure", "closure.dl"], cwd=folder, check=True)
        started = perf_counter()
        subprocess.run(["./closure", "-F", "."], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        return perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--edges", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=5, help="Bootstraps; the median is printed")
    parser.add_argument("--changes", type=int, default=50, help="single-edge deletes and inserts; medians are printed")
    options = parser.parse_args()
    edges = random_graph(options.nodes, options.edges)
    run_bare = bare_loop(edges, options.nodes)
    bare, bootstraps, rows = [], [], 0
    for _ in range(options.runs):
        started = perf_counter()
        rows = run_bare()
        bare.append(perf_counter() - started)
        engine, seconds = loaded(edges)
        assert engine.count("Reach") == rows, "the bare loop and the engine disagree"
        bootstraps.append(seconds)
    deletes, inserts = single_changes(engine, edges, options.changes)
    bootstrap = statistics.median(bootstraps)
    print(f"closure of {options.nodes} nodes, {len(edges)} edges: {rows} rows")
    print(f"  bare compiled loop      {statistics.median(bare):8.3f} s")
    print(f"  Bootstrap               {bootstrap:8.3f} s   {bootstrap / statistics.median(bare):.2f} x the bare loop")
    souffle = souffle_seconds(edges)
    if souffle is not None:
        print(f"  Soufflé, compiled       {souffle:8.3f} s   Bootstrap is {souffle / bootstrap:.2f} x as fast")
    for name, seconds_list in (("delete one edge", deletes), ("insert one edge", inserts)):
        median = statistics.median(seconds_list)
        print(f"  {name}         {median * 1000:8.3f} ms  {bootstrap / median:.0f} x faster than Bootstrap")


if __name__ == "__main__":
    main()
