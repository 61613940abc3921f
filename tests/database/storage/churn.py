"""Epoch after epoch of changes to a database that stays as large as it is: what it takes must not grow.

    python -m tests.database.storage.churn --kind memory --epochs 100000 --seed 1

Each epoch replaces some facts by others with texts that were never there before; rules join them, close them over and
add them up. Readers look, a snapshot is held for some epochs now and then, rules change now and then. Memory and files
in the last tenth must be as they were when a tenth of the epochs had run, and the rows those of a recomputation.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import tidelog

TEXT = """
input relation Edge(src: string, dst: string)
input relation Cost(node: string, cost: s64)
output relation Reach(src: string, dst: string)
output relation Total(src: string, cost: s64)
output relation Lone(node: string)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
Total(x, s) :- Reach(x, y), Cost(y, c), var s = c.group_by(x).sum_of().
Lone(x) :- Cost(x, _), not Edge(x, _).
function sum_of(g: Group<'K, s64>): s64 {
    var sum: s64 = 0;
    for ((x, w) in g) { sum = sum + x * w };
    sum
}
"""
MORE = "output relation Back(x: string, y: string)\nBack(y, x) :- Edge(x, y)."
LESS = "Back(y, x) :- Edge(x, y)."
KINDS = ("memory", "durable", "spark")
NODES = 40
SAMPLES = 200
SLACK = 1.15
_MIB = 1 << 20


@dataclass(frozen=True)
class Taken:
    """What a database takes: resident memory of this process, memory of its relations, and its files."""

    resident: int
    relations: int
    files: int
    file_bytes: int


HOLD, RULES = 500, 997
"""A snapshot is held for so many epochs, rules change after so many; in a short run more often: the lines that a
snapshot keeps are room for later rows, so each tenth of a run has to hold one."""

ROOM = Taken(resident=24 * _MIB, relations=1 << 16, files=8, file_bytes=16 * _MIB)
"""What it may take more without being asked why; files come and go between two checkpoints."""


class Churn:
    """A database of `size` edges from lower to higher nodes; `epoch` moves an edge, and now and then gives a node
    another name. `epochs` are those of the run, if it is known."""

    def __init__(self, kind: str, path: Path, seed: int, size: int = 60, spark: Any = None, epochs: int = 0) -> None:
        self._dice = random.Random(seed)
        self._hold = min(HOLD, epochs // 40) or HOLD
        self._rules = min(RULES, epochs // 20) or RULES
        self._path = path
        self._number = 0
        options: dict[str, Any] = {}
        if kind == "durable":
            options = {"path": path}
        elif kind == "spark":
            options = {"engine": "spark", "path": path} | ({} if spark is None else {"spark": spark})
        self.db = tidelog.compile(TEXT).open(**options)
        self._has_more = False
        self._was_more = False
        self._snapshot: tidelog.Snapshot | None = None
        self._names = [self._name() for _ in range(NODES)]
        self._costs = [self._dice.randrange(1000) for _ in range(NODES)]
        self._edges: set[tuple[int, int]] = set()
        while len(self._edges) < size:
            self._edges.add(self._edge())
        with self.db.transaction() as tx:
            tx.insert("Edge", self.edges())
            tx.insert("Cost", self.costs())

    def edges(self) -> list[tuple[str, str]]:
        return self._named(self._edges)

    def _named(self, edges: Iterable[tuple[int, int]]) -> list[tuple[str, str]]:
        return [(self._names[src], self._names[dst]) for src, dst in edges]

    def costs(self) -> list[tuple[str, int]]:
        return list(zip(self._names, self._costs))

    def epoch(self, number: int) -> None:
        with self.db.transaction() as tx:
            self._move(tx)
            if number % 4 == 0:
                self._rename(tx)
            if number % self._rules == 0:
                self._change_rules(tx)
        if number % 50 == 0:
            self._read()
        if number % self._hold == 0:
            if self._snapshot is not None:
                self._snapshot.close()
            self._snapshot = self.db.snapshot() if number % (2 * self._hold) == 0 else None

    def close(self) -> None:
        if self._snapshot is not None:
            self._snapshot.close()
        self.db.close()

    def _name(self) -> str:
        self._number += 1
        return f"node {self._number} {self._dice.random()}"

    def _edge(self) -> tuple[int, int]:
        src, dst = sorted(self._dice.sample(range(NODES), 2))
        return src, dst

    def _rename(self, tx: Any) -> None:
        """Gives a node a name that was never there before."""
        node = self._dice.randrange(NODES)
        touched = [edge for edge in self._edges if node in edge]
        tx.delete("Edge", self._named(touched))
        tx.delete("Cost", [(self._names[node], self._costs[node])])
        self._names[node] = self._name()
        self._costs[node] = self._dice.randrange(1000)
        tx.insert("Edge", self._named(touched))
        tx.insert("Cost", [(self._names[node], self._costs[node])])

    def _move(self, tx: Any) -> None:
        """Replaces an edge by another one."""
        old = self._dice.choice(sorted(self._edges))
        self._edges.remove(old)
        tx.delete("Edge", [(self._names[old[0]], self._names[old[1]])])
        new = self._edge()
        while new in self._edges:
            new = self._edge()
        self._edges.add(new)
        tx.insert("Edge", [(self._names[new[0]], self._names[new[1]])])

    def _change_rules(self, tx: Any) -> None:
        if self._has_more:
            tx.remove_rules(LESS)
        else:
            tx.add_rules(LESS if self._was_more else MORE)
        self._has_more, self._was_more = not self._has_more, True

    def _read(self) -> None:
        node = self._dice.choice(self.edges())[0]
        found = self.db.relation("Reach").lookup(src=node)
        assert self.db.query("Reach($x, y)", params={"x": node}).rows == sorted((dst,) for _, dst in found)
        assert len(self.db.explain("Reach", self._dice.choice(found))) > 0

    def check(self) -> None:
        """Compares the rows with a recomputation."""
        after: dict[str, list[str]] = {}
        for src, dst in self.edges():
            after.setdefault(src, []).append(dst)
        reach = set()
        for start in after:
            seen: set[str] = set()
            waiting = list(after[start])
            while waiting:
                node = waiting.pop()
                if node not in seen:
                    seen.add(node)
                    waiting += after.get(node, ())
            reach |= {(start, node) for node in seen}
        costs = dict(self.costs())
        totals: dict[str, int] = {}
        for src, dst in reach:
            totals[src] = totals.get(src, 0) + costs[dst]
        assert self.db.relation("Reach").rows() == sorted(reach)
        assert self.db.relation("Total").rows() == sorted(totals.items())
        assert self.db.relation("Lone").rows() == sorted((node,) for node in self._names if node not in after)

    def taken(self) -> Taken:
        gc.collect()
        if hasattr(ctypes.CDLL(None), "malloc_trim"):
            ctypes.CDLL(None).malloc_trim(0)
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        profile = self.db.profile()
        found = [path.stat().st_size for path in self._path.rglob("*") if path.is_file()] if self._path.exists() else []
        relations = sum(each.bytes for each in profile.relations)
        return Taken(pages * os.sysconf("SC_PAGE_SIZE"), relations, len(found), sum(found))


def run(churn: Churn, epochs: int) -> Iterator[Taken]:
    """Yields what the database takes, from time to time."""
    every = max(epochs // SAMPLES, 1)
    for number in range(1, epochs + 1):
        churn.epoch(number)
        if number % every == 0:
            yield churn.taken()


def grown(samples: list[Taken]) -> tuple[Taken, Taken, list[str]]:
    """Compares the last tenth with the second one; returns the most that each took, and what has grown."""
    tenth = len(samples) // 10
    early, late = samples[tenth : 2 * tenth], samples[-tenth:]
    most = [Taken(*(max(getattr(each, one.name) for each in some) for one in fields(Taken))) for some in (early, late)]
    before, after = most
    return (
        before,
        after,
        [
            f"{one.name}: {getattr(most[0], one.name):,} became {getattr(most[1], one.name):,}"
            for one in fields(Taken)
            if getattr(most[1], one.name) > getattr(most[0], one.name) * SLACK + getattr(ROOM, one.name)
        ],
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Looks for growth over many epochs.")
    parser.add_argument("--kind", choices=[*KINDS, "any"], default="any")
    parser.add_argument("--epochs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.kind == "any":
        kinds = KINDS[:2]
        command = [sys.executable, "-m", "tests.database.storage.churn", "--epochs", str(options.epochs)]
        kind = kinds[options.seed // 10_000 % len(kinds)]
        return subprocess.run([*command, "--seed", str(options.seed), "--kind", kind], check=False).returncode
    with tempfile.TemporaryDirectory() as folder:
        churn = Churn(options.kind, Path(folder) / "db", options.seed, epochs=options.epochs)
        samples = []
        for taken in run(churn, options.epochs):
            samples.append(taken)
            if len(samples) % (SAMPLES // 10) == 0:
                print(f"{options.kind}, {len(samples) * options.epochs // SAMPLES:,} epochs: {taken}", file=sys.stderr)
        churn.check()
        churn.close()
    early, late, found = grown(samples)
    print(f"{options.kind}, at a tenth: {early}\n{options.kind}, at the end: {late}", file=sys.stderr)
    print(*found, sep="\n", file=sys.stderr)
    print(f"{options.epochs:,} epochs of churn, {len(found)} growths")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
