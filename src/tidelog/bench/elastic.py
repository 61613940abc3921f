"""The elastic workload (paper 001, figure 6): 13 epochs of small and large changes, done by the switch, by Update
alone and by Bootstrap alone.

Every epoch must leave the same rows in all three. Regret is what the switch took over the better of the two, chosen
per epoch with hindsight.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidelog.bench.benchmark import Settings
from tidelog.bench.inputs.crdt import crdt
from tidelog.bench.inputs.dataset import SEED, Dataset
from tidelog.bench.inputs.doop import doop
from tidelog.bench.inputs.galen import galen
from tidelog.bench.inputs.graphs import graph_dataset, random_graph
from tidelog.bench.machine import peak_memory
from tidelog.bench.measure import Case, Outcome, Ratio, Subject, require_equal, take, warm

WAYS = {"switch": "elastic", "Update alone": "update", "Bootstrap alone": "recompute"}
KINDS = ("initial", *["small"] * 6, "large", *["small"] * 4, "large")
_SMALL, _LARGE = 0.001, 0.4


@dataclass(frozen=True, slots=True)
class Epoch:
    kind: str
    sign: int
    rows: pa.Table


def elastic(settings: Settings) -> Outcome:
    out = Outcome()
    nodes, edges = settings.pick(60, 1_000, 1_000), settings.pick(200, 10_000, 10_000)
    graph = random_graph(nodes, edges)
    named = f"random graph, {nodes:,} nodes, {len(graph):,} edges"
    _workload(settings, out, "closure", graph_dataset(named, graph), "Edge", ("Reach",))
    _workload(settings, out, "crdt", crdt(settings), "Insert", ("Text",))
    _workload(settings, out, "points-to", doop(settings), "Move", ("VarPointsTo", "FieldPointsTo", "Calls"))
    _workload(settings, out, "galen", galen(settings), "ToldIsA", ("IsA", "Has"))
    return out


def epochs_of(table: pa.Table) -> list[Epoch]:
    """The 12 epochs after the first: small sets deleted and inserted again in turn; a large one leaves, and is back."""
    order = np.random.default_rng(SEED + 2).permutation(table.num_rows)
    large = order[: int(_LARGE * table.num_rows)]
    rest = order[len(large) :]
    size = max(1, int(_SMALL * table.num_rows))
    found: list[Epoch] = []
    smalls = iter([rest[at * size : (at + 1) * size] for at in range(5)])
    current = np.empty(0, dtype=np.int64)
    signs = {"small": -1, "large": -1}
    for kind in KINDS[1:]:
        if kind == "small" and signs[kind] < 0:
            current = next(smalls)
        found.append(Epoch(kind, signs[kind], take(table, current if kind == "small" else large)))
        signs[kind] = -signs[kind]
    return found


def _workload(
    settings: Settings, out: Outcome, program: str, data: Dataset, relation: str, results: Sequence[str]
) -> None:
    out.inputs.append(data.describe())
    warm(program, data.tables)
    epochs = epochs_of(data.tables[relation])
    seconds: dict[str, list[list[float]]] = {way: [[] for _ in KINDS] for way in WAYS}
    chosen: list[str] = []
    expected: list[dict[str, int]] = []
    for turn in range(settings.repeat):
        # Each way goes first in its turn: the first one pays for memory that the others find.
        for way, strategy in _rotated(list(WAYS.items()), turn):
            settings.say(f"{data.name}: 13 epochs, {way}, {turn + 1}")
            with peak_memory(out.memory_mb, f"{data.name}, {way}"):
                times, how, counts = _run(program, strategy, data, relation, epochs, results)
            for at, taken in enumerate(times):
                seconds[way][at].append(taken)
            expected = expected or counts
            if way == "switch":
                chosen = how
            out.checks.append(require_equal(f"{data.name}: rows of every epoch, {way}", counts, expected))
    _tell(out, data.name, epochs, seconds, chosen, expected)


def _rotated(ways: list[tuple[str, str]], turn: int) -> list[tuple[str, str]]:
    first = turn % len(ways)
    return ways[first:] + ways[:first]


def _run(
    program: str, strategy: str, data: Dataset, relation: str, epochs: Sequence[Epoch], results: Sequence[str]
) -> tuple[list[float], list[str], list[dict[str, int]]]:
    """Seconds, what was done, and the rows after it, per epoch."""
    subject = Subject(program, strategy)
    seconds, how, counts = [], [], []
    for epoch in [None, *epochs]:
        if epoch is None:
            seconds.append(subject.change(inserts=data.tables))
        elif epoch.sign < 0:
            seconds.append(subject.change(deletes={relation: epoch.rows}))
        else:
            seconds.append(subject.change(inserts={relation: epoch.rows}))
        strata = subject.report.strata if subject.report else ()
        how.append("+".join(sorted({stratum.strategy for stratum in strata})))
        counts.append({name: subject.count(name) for name in results})
    subject.close()
    return seconds, how, counts


def _tell(
    out: Outcome,
    group: str,
    epochs: Sequence[Epoch],
    seconds: dict[str, list[list[float]]],
    chosen: Sequence[str],
    counts: Sequence[dict[str, int]],
) -> None:
    medians = {way: [statistics.median(each) for each in times] for way, times in seconds.items()}
    for at, kind in enumerate(KINDS):
        out.epochs.append(
            {
                "group": group,
                "epoch": at,
                "kind": kind,
                "changed": epochs[at - 1].sign * epochs[at - 1].rows.num_rows if at else None,
                "chosen": chosen[at],
                "rows": dict(counts[at]),
                "seconds": {way: medians[way][at] for way in WAYS},
            }
        )
    for way, times in seconds.items():
        totals = tuple(sum(each) for each in zip(*times))
        out.cases.append(Case(group, "13 epochs", totals, way, sum(counts[-1].values())))
    best = [min(update, anew) for update, anew in zip(medians["Update alone"], medians["Bootstrap alone"])]
    worst = max(switch / anew for switch, anew in zip(medians["switch"], medians["Bootstrap alone"]))
    out.ratios.append(Ratio(group, "switch / the better of the two per epoch", sum(medians["switch"]) / sum(best)))
    out.ratios.append(Ratio(group, "the switch's worst epoch / Bootstrap", worst))
