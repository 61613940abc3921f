"""A database on disk: the cost of commits, loading and opening, beside a database in memory.

Commits are of one row each. Loading is a CSV file of two columns of text, read by Arrow and committed as one
transaction. Opening is that of a closed database, up to the answer to the first lookup; the first change after it has
to index the loaded rows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import tidelog
from tidelog.bench.benchmark import Settings
from tidelog.bench.inputs.graphs import closure_size, random_graph
from tidelog.bench.measure import PROGRAMS, Case, Outcome, Ratio, require_equal

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
                seconds.append(_timed(partial(_insert_each, db, edges)))
                rows = len(db.relation("Reach"))
        out.checks.append(require_equal(f"{group}: rows, {name}", rows, 1 + closure_size_of(edges)))
        each = tuple(taken / count for taken in seconds)
        out.cases.append(Case(group, name, each, rows=rows, note="for each commit"))
    memory, *others = out.cases
    out.ratios += [Ratio(group, f"{case.name} / in memory", case.median / memory.median) for case in others]


def _loading(settings: Settings, out: Outcome, place: Path) -> None:
    from pyarrow import csv

    count = settings.pick(1000, 200_000, 1_000_000)
    group = f"a CSV file of {count} rows"
    path = place / "edges.csv"
    pairs = random_graph(max(count // 5, 10), count)
    path.write_text("src,dst\n" + "".join(f"host{a},host{b}\n" for a, b in pairs.tolist()))
    settings.say(group)
    alone = Case(group, "read", tuple(_timed(partial(csv.read_csv, path)) for _ in range(settings.repeat)), "pyarrow")
    out.cases.append(alone)
    program = tidelog.compile(_TEXT)
    for number, (name, durability) in enumerate(_WAYS.items()):
        seconds = []
        for attempt in range(settings.repeat):
            with _opened(program, place / f"loading-{number}-{attempt}", durability) as db:
                seconds.append(_timed(partial(_load, db, path)))
                rows = len(db.relation("Edge"))
        out.checks.append(require_equal(f"{group}: rows, {name}", rows, len(set(map(tuple, pairs.tolist())))))
        case = Case(group, name, tuple(seconds), rows=rows)
        out.cases.append(case)
        out.ratios.append(Ratio(group, f"{name} / pyarrow alone", case.median / alone.median))


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
        bootstrap = Case(group, "Bootstrap", (_timed(partial(_insert, db, "Edge", first)),), rows=rows)
        out.checks.append(require_equal(f"{group}: rows", len(db.relation("Reach")), rows + 1))
        expected = db.relation("Reach").lookup(src=int(edges[0, 0]), dst=int(edges[0, 1]))
    opening, updates = [], []
    for attempt in range(settings.repeat):
        started = perf_counter()
        with tidelog.open(place / "opening", durability="os", threads=settings.threads) as db:
            answers.append(db.relation("Reach").lookup(src=int(edges[0, 0]), dst=int(edges[0, 1])))
            opening.append(perf_counter() - started)
            updates.append(_timed(partial(_insert, db, "Edge", [(2 * 10**6 + attempt, 0)])))
    out.checks.append(require_equal(f"{group}: answers", answers, [expected] * settings.repeat))
    update = Case(group, "the first change after it", tuple(updates))
    out.cases += [bootstrap, Case(group, "open, and the first lookup", tuple(opening)), update]
    out.ratios.append(Ratio(group, "the first change / Bootstrap", update.median / bootstrap.median))


def closure_size_of(edges: list[tuple[int, int]]) -> int:
    """Returns the number of rows of the closure of these edges."""
    import numpy as np

    return closure_size(np.array(edges))


def _opened(program: Program, place: Path, durability: str | None) -> Database:
    return program.open() if durability is None else program.open(path=place, durability=durability)


def _insert(db: Database, relation: str, rows: object) -> None:
    with db.transaction() as transaction:
        transaction.insert(relation, rows)


def _insert_each(db: Database, edges: Sequence[tuple[int, int]]) -> None:
    for edge in edges:
        _insert(db, "Edge", [edge])


def _load(db: Database, path: Path) -> None:
    from pyarrow import csv

    _insert(db, "Edge", csv.read_csv(path))


def _timed(run: Callable[[], object]) -> float:
    started = perf_counter()
    run()
    return perf_counter() - started
