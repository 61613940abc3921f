"""The circuit of paper 002 as figures 4 to 6 have it: closure with and without index, updates of 1% and 50%, memory.

The strategy `circuit` runs beside `elastic` and `counting` on the dense and on the sparse graph (RAND1K, RMAT1K): a
share of the edges is held back from the first epoch, inserted in the second and deleted in the third. The paper's own
circuits (`tidelog.dbsp.datalog`), which are written to be read, run on a graph of a few nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from tidelog.bench.benchmark import Settings
from tidelog.bench.inputs.dataset import SEED, Numbers
from tidelog.bench.inputs.graphs import closure_size, graph_dataset, random_graph, rmat_graph
from tidelog.bench.measure import Outcome, Ratio, Subject, take, timed, warm
from tidelog.dbsp import ZSet
from tidelog.dbsp.datalog import Atom, Interpreter, NaiveInterpreter, Rule, Var

STRATEGIES = ("circuit", "elastic", "counting")
SHARES = {"1%": 0.01, "50%": 0.5}


def circuit(settings: Settings) -> Outcome:
    out = Outcome()
    nodes, edges = settings.pick(40, 1_000, 1_000), settings.pick(100, 10_000, 10_000)
    for name, graph in (("random", random_graph(nodes, edges)), ("R-MAT", rmat_graph(nodes, edges))):
        _graph(settings, out, f"{name} graph, {nodes:,} nodes, {len(graph):,} edges", graph)
    _as_printed(settings, out, settings.pick(4, 6, 8))
    return out


def _graph(settings: Settings, out: Outcome, name: str, graph: Numbers) -> None:
    data = graph_dataset(name, graph)
    out.inputs.append(data.describe())
    edges, order = data.tables["Edge"], np.random.default_rng(SEED + 2).permutation(len(graph))
    warm("closure", data.tables, STRATEGIES)
    rows, sizes = closure_size(graph), dict[str, int]()
    for share, part in SHARES.items():
        held_back, first = np.split(order, [max(1, int(len(graph) * part))])
        without = closure_size(graph[first])
        for strategy in STRATEGIES:
            settings.say(f"{name}: {strategy}, batches of {share}")
            seconds: dict[str, list[float]] = {"materialise": [], "insert": [], "delete": []}
            for _ in range(settings.repeat):
                subject = Subject("closure", strategy, settings.threads)
                seconds["materialise"].append(subject.change(inserts={"Edge": take(edges, first)}))
                seconds["insert"].append(subject.change(inserts={"Edge": take(edges, held_back)}))
                out.check(f"{name}: rows", subject.count("Reach"), rows)
                sizes[strategy] = subject.bytes
                seconds["delete"].append(subject.change(deletes={"Edge": take(edges, held_back)}))
                out.check(f"{name}: rows without {share}", subject.count("Reach"), without)
                subject.close()
            cases = {what: out.case(name, f"{what}, {share}", took, strategy) for what, took in seconds.items()}
            for what in ("insert", "delete"):
                out.ratio(name, f"{strategy}: {what} {share} / materialise", cases[what], cases["materialise"])
    for other in STRATEGIES[1:]:
        out.ratios.append(Ratio(name, f"memory of the state, circuit / {other}", sizes["circuit"] / sizes[other]))


def _as_printed(settings: Settings, out: Outcome, nodes: int) -> None:
    """Runs figures 1, 2 and 3 of the paper on a small graph: the closure, and one edge more."""
    circuits: dict[str, Callable[[], NaiveInterpreter | Interpreter]] = {
        "figure 1, naive": NaiveInterpreter,
        "figure 2, without index": lambda: Interpreter(with_index=False),
        "figure 3, with index": Interpreter,
    }
    x, y, z = map(Var, "xyz")
    rules = ZSet.of(
        (Rule(Atom("T", (x, y)), (Atom("E", (x, y)),)),),
        (Rule(Atom("T", (x, z)), (Atom("E", (x, y)), Atom("T", (y, z)))),),
    )
    graph = random_graph(nodes, 2 * nodes)
    name = f"random graph, {nodes} nodes, {len(graph)} edges, circuits as printed"
    facts = [("E", tuple(edge)) for edge in graph.tolist()]
    for who, make in circuits.items():
        settings.say(f"{name}: {who}")
        whole, one = [], []
        for _ in range(settings.repeat):
            interpreter = make()
            taken, first = timed(partial(interpreter.step, rules=rules, facts=ZSet.of(*facts[1:])))
            whole.append(taken)
            taken, more = timed(partial(interpreter.step, facts=ZSet.of(facts[0])))
            one.append(taken)
            out.check(f"{name}: facts", len(first) + len(more), len(facts) + closure_size(graph))
        materialise, insert = out.case(name, "materialise", whole, who), out.case(name, "one edge", one, who)
        out.ratio(name, f"{who}: one edge / materialise", insert, materialise)
