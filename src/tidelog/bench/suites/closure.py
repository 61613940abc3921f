"""The closure of random, R-MAT and chain graphs: Bootstrap, single edges, 1% of them, and changes of almost no effect.

The number of rows is known from a search without Tidelog (`inputs.graphs.closure_size`); it is required after
Bootstrap, without 1% of the edges, and after all changes are undone.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tidelog.bench.benchmark import Settings
from tidelog.bench.inputs.dataset import SEED, Dataset, Numbers, number_table
from tidelog.bench.inputs.graphs import chain_graph, closure_size, graph_dataset, random_graph, rmat_graph
from tidelog.bench.machine import peak_memory
from tidelog.bench.measure import Case, Outcome, Subject, one_by_one, take, timed, touch_memory, warm
from tidelog.bench.references.bare_loop import bare_loop
from tidelog.bench.references.peers import beside

# The bare loop has a slot for every pair of nodes.
_BARE_NODES = 2_000


def closure(settings: Settings) -> Outcome:
    out = Outcome()
    nodes, edges = settings.pick(60, 1_000, 1_000), settings.pick(200, 10_000, 10_000)
    for name, graph in (("random", random_graph(nodes, edges)), ("R-MAT", rmat_graph(nodes, edges))):
        named = f"{name} graph, {nodes:,} nodes, {len(graph):,} edges"
        _graph(settings, out, graph_dataset(named, graph), graph, nodes)
    _chain(settings, out, settings.pick(100, 2_000, 2_000))
    large = settings.pick(0, 0, 10_000)
    if large:
        graph = random_graph(large, 2 * large)
        data = graph_dataset(f"random graph, {large:,} nodes, {len(graph):,} edges", graph)
        _bootstraps(settings, out, data, closure_size(graph), times=min(settings.repeat, 3))[0].close()
    return out


def _bootstraps(
    settings: Settings, out: Outcome, data: Dataset, rows: int, times: int | None = None
) -> tuple[Subject, Case]:
    """Returns a loaded subject and the case of its Bootstrap; times one thread in alternation, and then the peers."""
    out.inputs.append(data.describe())
    warm("closure", data.tables)
    settings.say(f"{data.name}: once before, for the memory")
    touch_memory("closure", data.tables, settings.threads)
    shared: list[float] = []
    alone: list[float] = []
    subject: Subject | None = None
    with peak_memory(out.memory_mb, data.name):
        for turn in range(times or settings.repeat):
            if subject is not None:
                subject.close()
            if settings.threads is not None and settings.threads > 1:
                settings.say(f"{data.name}: Bootstrap on one thread, {turn + 1}")
                _bootstrap(out, data, rows, 1, alone).close()
            settings.say(f"{data.name}: Bootstrap {turn + 1}")
            subject = _bootstrap(out, data, rows, settings.threads, shared)
    assert subject is not None
    case = out.case(data.name, "Bootstrap", shared, rows=rows)
    if alone:
        slower = out.case(data.name, "Bootstrap", alone, "one thread", rows)
        out.ratio(data.name, f"Bootstrap, one thread / {settings.threads} threads", slower, case)
    beside(settings, "closure", data, case, {"Reach": rows}, out)
    return subject, case


def _bootstrap(out: Outcome, data: Dataset, rows: int, threads: int | None, seconds: list[float]) -> Subject:
    """Returns a loaded subject, and appends the time to `seconds`."""
    subject = Subject("closure", threads=threads)
    seconds.append(subject.change(inserts=data.tables))
    out.check(f"{data.name}: rows", subject.count("Reach"), rows)
    return subject


def _graph(settings: Settings, out: Outcome, data: Dataset, graph: Numbers, nodes: int) -> None:
    rows = closure_size(graph)
    subject, bootstrap = _bootstraps(settings, out, data, rows)
    if nodes <= _BARE_NODES:
        _bare(settings, out, data, graph, nodes, bootstrap)
    settings.say(f"{data.name}: single edges, 1% of them")
    edges, order = data.tables["Edge"], np.random.default_rng(SEED + 1).permutation(len(graph))
    _pairs(out, data.name, "one edge", *one_by_one(subject, "Edge", take(edges, order[:50])))
    part = order[: max(1, len(graph) // 100)]
    without = closure_size(np.delete(graph, part, axis=0))
    _set(settings, out, subject, data.name, "1% of the edges", {"Edge": take(edges, part)}, without)
    _idle(out, subject, data.name)
    out.check(f"{data.name}: rows after all changes are undone", subject.count("Reach"), rows)
    subject.close()


def _chain(settings: Settings, out: Outcome, length: int) -> None:
    graph = chain_graph(length)
    data = graph_dataset(f"chain, {length:,} edges", graph, seed=None)
    rows = length * (length + 1) // 2
    subject, bootstrap = _bootstraps(settings, out, data, rows)
    settings.say(f"{data.name}: middle edge, shortcut")
    middle = {"Edge": data.tables["Edge"].slice(length // 2, 1)}
    before, after = length // 2, length - length // 2 - 1
    without = before * (before + 1) // 2 + after * (after + 1) // 2
    deleted = _set(settings, out, subject, data.name, "the middle edge", middle, without)
    out.ratio(data.name, "deleting the middle edge / Bootstrap", deleted, bootstrap)
    # From a node to the one after the next but one: no new pair, so only numbers change.
    shortcut = number_table(np.array([[length // 2, length // 2 + 3]]), "src", "dst")
    inserts, deletes = [], []
    for _ in range(20):
        inserts.append(subject.change(inserts={"Edge": shortcut}))
        deletes.append(subject.change(deletes={"Edge": shortcut}))
    _pairs(out, data.name, "a shortcut over three nodes", deletes, inserts)
    out.check(f"{data.name}: rows after all changes are undone", subject.count("Reach"), rows)
    subject.close()


def _set(
    settings: Settings,
    out: Outcome,
    subject: Subject,
    group: str,
    what: str,
    part: dict[str, pa.Table],
    without: int,
) -> Case:
    """Times deleting the part and inserting it again, repeatedly; checks the number of rows without it."""
    deletes, inserts = [], []
    for _ in range(settings.repeat):
        deletes.append(subject.change(deletes=part))
        out.check(f"{group}: rows without {what}", subject.count("Reach"), without)
        inserts.append(subject.change(inserts=part))
    return _pairs(out, group, what, deletes, inserts)


def _pairs(out: Outcome, group: str, what: str, deletes: list[float], inserts: list[float]) -> Case:
    deleting = out.case(group, f"delete {what}", deletes)
    out.case(group, f"insert {what}", inserts)
    return deleting


def _idle(out: Outcome, subject: Subject, group: str) -> None:
    """Times an update of a relation that no rule reads."""
    seconds = []
    for number in range(50):
        row = {"Remark": number_table(np.array([[number, number]]), "node", "text")}
        seconds.append(subject.change(inserts=row))
    out.case(group, "a row that nothing derived reads", seconds)


def _bare(settings: Settings, out: Outcome, data: Dataset, graph: Numbers, nodes: int, bootstrap: Case) -> None:
    settings.say(f"{data.name}: bare loop")
    run = bare_loop(graph, nodes)
    runs = [timed(run) for _ in range(settings.repeat)]
    for _, rows in runs:
        out.check(f"{data.name}: rows of the bare loop", rows, bootstrap.rows)
    case = out.case(data.name, "Bootstrap", (seconds for seconds, _ in runs), "bare loop", bootstrap.rows)
    out.ratio(data.name, "Bootstrap / bare loop", bootstrap, case)
