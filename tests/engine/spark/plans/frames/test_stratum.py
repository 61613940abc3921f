"""Strata on frames: repaired by waves, with the very numbers of the local engine."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.engine.spark.parity import Step
from tests.engine.spark.programs import EDGES, LINEAR, NON_LINEAR, rules_of
from tests.maintain.giving_up import giving_up

from tidelog.engine.interface import Operation, StratumReport
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.spark.engine import SparkEngine
from tidelog.engine.spark.plans.frames import bootstrap, segments
from tidelog.engine.spark.plans.split_inputs import split_inputs
from tidelog.engine.spark.storage.state_files import NUMBERS, read_rows
from tidelog.io.rows import to_table

pytestmark = pytest.mark.spark

Numbers = dict[tuple[Any, ...], tuple[int, int, int]]


class Pair:
    """One program on both engines, the local one without facts in derived relations, as Spark runs it."""

    def __init__(self, text: str, spark: Any, strategy: str = "update") -> None:
        rules = rules_of(text)
        split = split_inputs(rules)
        self.rules = split.rules
        self.written = split.written
        self.derived = [name for stratum in self.rules.strata if stratum.rules for name in stratum.relations]
        self.local = LocalEngine(self.rules, strategy=strategy)
        self.spark = SparkEngine(rules, spark=spark, plans=dict.fromkeys(self.derived, "frames"))
        self.spark._frames = replace(self.spark._frames, strategy=strategy)
        self.local.open()
        self.spark.open()

    def commit(self, step: Step) -> dict[str, StratumReport]:
        """Commits to both and compares all numbers; what Spark reports, by relation."""
        expected = self.local.commit(list(self._operations(step, self.written)))
        found = self.spark.commit(list(self._operations(step, {})))
        assert (expected is None) == (found is None)
        for name in self.derived:
            assert self.on_spark(name) == self.on_local(name), name
        return {name: each for each in found.report.strata for name in each.relations} if found else {}

    def on_local(self, name: str) -> Numbers:
        return _numbers(self.local.state_table(name), len(self.rules.relations[name].columns))

    def on_spark(self, name: str) -> Numbers:
        relation = self.rules.relations[name]
        table = read_rows(self.spark._directory, relation, self.spark._stored(name), numbers=True)
        return _numbers(table, len(relation.columns))

    def _operations(self, step: Step, names: Mapping[str, str]) -> Iterator[Operation]:
        inserts, deletes = step
        for sign, changes in ((-1, deletes), (+1, inserts)):
            for name, rows in changes.items():
                yield Operation(names.get(name, name), sign, to_table(rows, self.rules.relations[name]))


def _numbers(table: Any, columns: int) -> Numbers:
    places = [*range(columns), *NUMBERS]
    rows = zip(*(table.column(place).to_pylist() for place in places), strict=True)
    return {row[:columns]: row[columns:] for row in rows}


def random_steps(dice: random.Random, nodes: int, first: int, steps: int, size: int) -> list[Step]:
    """A random graph, and steps that delete and insert edges of it."""
    edges = {(dice.randrange(nodes), dice.randrange(nodes)) for _ in range(first)}
    history: list[Step] = [({"Edge": sorted(edges)}, {})]
    for _ in range(steps):
        went = set(dice.sample(sorted(edges), size))
        came = {(dice.randrange(nodes), dice.randrange(nodes)) for _ in range(size)} - edges
        edges = edges - went | came
        history.append(({"Edge": sorted(came)}, {"Edge": sorted(went)}))
    return history


def test_the_waves_keep_the_numbers_of_the_local_engine(spark: Any) -> None:
    pair = Pair(NON_LINEAR, spark)
    steps = random_steps(random.Random(8), nodes=14, first=22, steps=2, size=2)
    reports = [pair.commit(step) for step in steps]
    assert [report["Reach"].strategy for report in reports] == ["bootstrap", "update", "update"]
    ranks = [rank for rank, _, _ in pair.on_spark("Reach").values()]
    assert max(ranks) > 5, "no row has died and returned"


@pytest.mark.parametrize("text", [LINEAR, pytest.param(NON_LINEAR, marks=pytest.mark.slow)])
def test_rounds_that_are_looked_up_and_segments_that_are_merged_keep_the_numbers(
    text: str, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, "MANY_SHARE", 9)
    monkeypatch.setattr(segments, "FAN", 2)
    pair = Pair(text, spark)
    ring = [(i, (i + 1) % 6) for i in range(6)]
    report = pair.commit(({"Edge": [*ring, (0, 2), (6, 0)]}, {}))["Reach"]
    assert report.strategy == "bootstrap"
    assert len(report.by_round) > 4
    assert sum(rows for rows, _ in report.by_round) == len(pair.on_spark("Reach"))
    assert max(total for _, _, total in pair.on_spark("Reach").values()) > 1, "no row is met again"


EVERYTHING = (
    EDGES
    + """
input relation Block(x: u32)
output relation Odd(x: u32, y: u32)
output relation Even(y: u32, x: u32)
output relation Lone(x: u32)
Edge(y, x) :- Edge(x, y), Block(x).
Odd(x, y) :- Edge(x, y), not Block(y).
Even(z, x) :- Odd(x, y), Edge(y, z), not Block(z).
Odd(x, z) :- Even(y, x), Edge(y, z), x != z.
Lone(x) :- Edge(x, _), not Odd(x, x).
"""
)


@pytest.mark.slow
def test_negation_mutual_recursion_and_inputs_with_rules_keep_the_numbers_of_the_local_engine(spark: Any) -> None:
    pair = Pair(EVERYTHING, spark)
    dice = random.Random(6)
    for inserts, deletes in random_steps(dice, nodes=8, first=14, steps=2, size=3):
        blocks = {"Block": sorted(dice.sample(range(8), 2))}
        pair.commit(({**inserts, **blocks}, {**deletes, "Block": sorted(dice.sample(range(8), 2))}))
    assert max(rank for rank, _, _ in pair.on_spark("Odd").values()) > 2
    assert {count for _, count, _ in pair.on_spark("Lone").values()} != {1}, "wildcards do not merge instances"


def test_a_state_that_spark_has_lost_is_read_again(spark: Any) -> None:
    pair = Pair(NON_LINEAR, spark)
    pair.commit(({"Edge": [(1, 2), (2, 3), (3, 1)]}, {}))
    (_, kept) = pair.spark._frames.states._states["Reach",]
    kept.release()
    assert pair.commit(({}, {"Edge": [(3, 1)]}))["Reach"].strategy == "update"


def test_an_update_that_is_given_up_leaves_nothing_and_the_bootstrap_is_right(spark: Any) -> None:
    pair = Pair(NON_LINEAR, spark, strategy="elastic")
    pair.commit(({"Edge": [(i, i + 1) for i in range(12)]}, {}))
    with giving_up(0.0):
        report = pair.commit(({}, {"Edge": [(6, 7)]}))["Reach"]
    assert report.strategy == "bootstrap"
    assert report.reason.startswith("Update was given up")
    assert report.given_up_instances > 0
