"""A database on disk: the cost of commits, loading and opening, beside a database in memory.

Commits are of one row each. Loading is a CSV file of two columns of text, read by Arrow and committed as one
transaction. Opening is that of a closed database, up to the answer to the first lookup; the first change after it has
to index the loaded rows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from pyarrow import csv

import tidelog
from tidelog.bench.benchmark import Settings
from tidelog.bench.inputs.graphs import closure_size, random_graph
from tidelog.bench.measure import PROGRAMS, Outcome, timed

if TYPE_CHECKING:
    from tidelog.database.database import Database
    from tidelog.database.program.program import Program

_WAYS = {"in memory": None, 'durability "os"': "os", 'durability "disk"': "disk"}
_TEXT = "input relation Edge(src: string, dst: string)"


def durable(settings: Settings) -> Outcome:
    out = Outcome()
    with tempfile.TemporaryDirectory(prefix="tidelog-") as directory:
        place = Path(directory)
        _commits(settings, out, place)
        _loading(settings, out, place)
        _opening(settings, out, place)
    return out


def _commits(settings: Settings, out: Outcome, place: Path) -> None:
    """Commits edges of chains of five, one by one: every commit derives a few rows."""
    program = tidelog.compile(PROGRAMS / "closure.dl")
    count = settings.pick(20, 1000, 5000)
    group = f"{count} commits of one row"
    edges = [(number, number + 1) for number in range(2 * count) if number % 5 != 4][:count]
    for number, (name, durability) in enumerate(_WAYS.items()):
        settings.say(f"{group}: {name}")
        seconds = []
        for attempt in range(settings.repeat):
            with _opened(program, place / f"commits-{number}-{attempt}", durability) as db:
                _insert(db, "Edge", [(10**6, 10**6 + 1)])  # the kernels are loaded
                seconds.append(timed(partial(_insert_each, db, edges))[0])
                rows = len(db.relation("Reach"))
        out.check(f"{group}: rows, {name}", rows, 1 + closure_size(np.array(edges)))
        out.case(group, name, (taken / count for taken in seconds), rows=rows)
    memory, *others = out.cases
    for case in others:
        out.ratio(group, f"{case.name} / in memory", case, memory)


def _loading(settings: Settings, out: Outcome, place: Path) -> None:
    count = settings.pick(1000, 200_000, 1_000_000)
    group = f"a CSV file of {count} rows"
    path = place / "edges.csv"
    pairs = random_graph(max(count // 5, 10), count)
    path.write_text("src,dst\n" + "".join(f"host{a},host{b}\n" for a, b in pairs.tolist()))
    settings.say(group)
    alone = out.case(group, "read", (timed(partial(csv.read_csv, path))[0] for _ in range(settings.repeat)), "pyarrow")
    program = tidelog.compile(_TEXT)
    for number, (name, durability) in enumerate(_WAYS.items()):
        seconds = []
        for attempt in range(settings.repeat):
            with _opened(program, place / f"loading-{number}-{attempt}", durability) as db:
                seconds.append(timed(partial(_load, db, path))[0])
                rows = len(db.relation("Edge"))
        out.check(f"{group}: rows, {name}", rows, len(set(map(tuple, pairs.tolist()))))
        out.ratio(group, f"{name} / pyarrow alone", out.case(group, name, seconds, rows=rows), alone)


def _opening(settings: Settings, out: Outcome, place: Path) -> None:
    nodes = settings.pick(30, 1000, 3170)
    edges = random_graph(nodes, 7 * nodes)
    rows = closure_size(edges)
    group = f"opening a database of {rows} derived rows"
    settings.say(group)
    program = tidelog.compile(PROGRAMS / "closure.dl")
    answers: list[object] = []
    with program.open(path=place / "opening", durability="os", threads=settings.threads) as db:
        _insert(db, "Edge", [(10**6, 10**6 + 1)])
        first = [tuple(edge) for edge in edges.tolist()]
        bootstrap = out.case(group, "Bootstrap", [timed(partial(_insert, db, "Edge", first))[0]], rows=rows)
        out.check(f"{group}: rows", len(db.relation("Reach")), rows + 1)
        expected = db.relation("Reach").lookup(src=int(edges[0, 0]), dst=int(edges[0, 1]))
    opening, updates = [], []
    for attempt in range(settings.repeat):
        started = perf_counter()
        with tidelog.open(place / "opening", durability="os", threads=settings.threads) as db:
            answers.append(db.relation("Reach").lookup(src=int(edges[0, 0]), dst=int(edges[0, 1])))
            opening.append(perf_counter() - started)
            updates.append(timed(partial(_insert, db, "Edge", [(2 * 10**6 + attempt, 0)]))[0])
    out.check(f"{group}: answers", answers, [expected] * settings.repeat)
    out.case(group, "open, and the first lookup", opening)
    out.ratio(group, "the first change / Bootstrap", out.case(group, "the first change after it", updates), bootstrap)


def _opened(program: Program, place: Path, durability: str | None) -> Database:
    return program.open() if durability is None else program.open(path=place, durability=durability)


def _insert(db: Database, relation: str, rows: object) -> None:
    with db.transaction() as transaction:
        transaction.insert(relation, rows)


def _insert_each(db: Database, edges: Sequence[tuple[int, int]]) -> None:
    for edge in edges:
        _insert(db, "Edge", [edge])


def _load(db: Database, path: Path) -> None:
    _insert(db, "Edge", csv.read_csv(path))
