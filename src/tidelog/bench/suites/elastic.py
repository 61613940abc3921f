"""The elastic workload (paper 001, figure 6): 13 epochs by the switch, by Update alone and by Bootstrap alone.

Every epoch must leave the same rows in all three. All three begin with the same Bootstrap, and one before them is not
timed: the first one in a process waits for memory, on a virtual machine for up to as long as it works.

Regret is the cost of the switch over the better of the two, chosen per epoch with hindsight: in seconds, in processor
time, and, without any clock, in rule instances enumerated (those of an Update count like those of a Bootstrap, though
they cost 0.7 to 1.5 as much).
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from tidelog.bench.benchmark import Settings
from tidelog.bench.inputs.crdt import crdt
from tidelog.bench.inputs.dataset import SEED, Dataset
from tidelog.bench.inputs.doop import doop
from tidelog.bench.inputs.galen import galen
from tidelog.bench.inputs.graphs import graph_dataset, random_graph
from tidelog.bench.machine import peak_memory
from tidelog.bench.measure import Outcome, Ratio, Subject, take, touch_memory, warm

WAYS = {"switch": "elastic", "Update alone": "update", "Bootstrap alone": "recompute"}
KINDS = ("initial", *["small"] * 6, "large", *["small"] * 4, "large")
UNITS = ("seconds", "processor seconds", "rule instances")
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
    """Returns the 12 epochs after the first, which delete and insert again small sets, and a large one, in turn."""
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
    settings.say(f"{data.name}: Bootstrap, not timed")
    touch_memory(program, data.tables, settings.threads)
    epochs = epochs_of(data.tables[relation])
    passes: dict[str, list[Pass]] = {way: [] for way in WAYS}
    for turn in range(settings.repeat):
        # Each strategy is first in its turn, because the first one pays for loading and memory.
        for way, strategy in _rotated(list(WAYS.items()), turn):
            settings.say(f"{data.name}: 13 epochs, {way}, {turn + 1}")
            with peak_memory(out.memory_mb, f"{data.name}, {way}"):
                found = _run(settings, program, strategy, data, relation, epochs, results)
            passes[way].append(found)
            expected = next(each[0].rows for each in passes.values() if each)
            out.check(f"{data.name}: rows of every epoch, {way}", found.rows, expected)
    _tell(out, data.name, epochs, passes)


def _rotated(ways: list[tuple[str, str]], turn: int) -> list[tuple[str, str]]:
    first = turn % len(ways)
    return ways[first:] + ways[:first]


@dataclass(slots=True)
class Pass:
    """One run through the 13 epochs: the cost, the strategy with its reason, and the rows of each."""

    taken: dict[str, list[float]] = field(default_factory=lambda: {unit: [] for unit in UNITS})
    how: list[str] = field(default_factory=list)
    why: list[str] = field(default_factory=list)
    rows: list[dict[str, int]] = field(default_factory=list)


def _run(
    settings: Settings,
    program: str,
    strategy: str,
    data: Dataset,
    relation: str,
    epochs: Sequence[Epoch],
    results: Sequence[str],
) -> Pass:
    subject, found = Subject(program, strategy, settings.threads), Pass()
    for epoch in [None, *epochs]:
        if epoch is None:
            subject.change(inserts=data.tables)
        elif epoch.sign < 0:
            subject.change(deletes={relation: epoch.rows})
        else:
            subject.change(inserts={relation: epoch.rows})
        for unit, taken in zip(UNITS, (subject.seconds, subject.cpu_seconds, float(subject.instances)), strict=True):
            found.taken[unit].append(taken)
        strata = subject.report.strata if subject.report else ()
        found.how.append("+".join(sorted({stratum.strategy for stratum in strata})))
        found.why.append(max(strata, key=lambda stratum: stratum.seconds).reason if strata else "")
        found.rows.append(subject.counts(results))
    subject.close()
    return found


def _tell(out: Outcome, group: str, epochs: Sequence[Epoch], passes: dict[str, list[Pass]]) -> None:
    one = passes["switch"][-1]
    for at, kind in enumerate(KINDS):
        out.epochs.append(
            {
                "group": group,
                "epoch": at,
                "kind": kind,
                "changed": epochs[at - 1].sign * epochs[at - 1].rows.num_rows if at else None,
                "chosen": one.how[at],
                "why": one.why[at],
                "rows": dict(one.rows[at]),
                "seconds": {way: _median(found, "seconds", at) for way, found in passes.items()},
                "instances": {way: int(_median(found, "rule instances", at)) for way, found in passes.items()},
            }
        )
    for way, found in passes.items():
        totals = (sum(each.taken["seconds"]) for each in found)
        out.case(group, "13 epochs", totals, way, sum(one.rows[-1].values()))
    for unit in UNITS:
        out.ratios += _ratios(group, unit, {way: [each.taken[unit] for each in found] for way, found in passes.items()})


def _median(found: Sequence[Pass], unit: str, epoch: int) -> float:
    return statistics.median(each.taken[unit][epoch] for each in found)


def _ratios(group: str, unit: str, taken: Mapping[str, Sequence[Sequence[float]]]) -> list[Ratio]:
    """Returns the switch's total over the best choice per epoch, and its worst epoch over Bootstrap."""
    medians = {way: [statistics.median(each) for each in zip(*turns)] for way, turns in taken.items()}
    turns = [dict(zip(taken, each)) for each in zip(*taken.values())]
    found = []
    for name, ratio in (("switch / the better of the two per epoch", _regret), ("worst epoch / Bootstrap", _worst)):
        each = [ratio(turn) for turn in turns]
        found.append(Ratio(group, f"{name}, {unit}", ratio(medians), (min(each), max(each))))
    return found


def _regret(taken: Mapping[str, Sequence[float]]) -> float:
    best = [min(update, bootstrap) for update, bootstrap in zip(taken["Update alone"], taken["Bootstrap alone"])]
    return sum(taken["switch"]) / sum(best)


def _worst(taken: Mapping[str, Sequence[float]]) -> float:
    pairs = zip(taken["switch"], taken["Bootstrap alone"])
    return max(switch / bootstrap for switch, bootstrap in pairs if bootstrap)
