"""`parity_*`: the Spark engine gives, epoch by epoch, what the local engine gives, by each of its plans."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.engine.spark.parity import Step, parity
from tests.engine.spark.programs import LINEAR, NON_LINEAR

from tidelog.engine.interface import EpochReport

pytestmark = pytest.mark.spark

GRAPH: list[Step] = [
    ({"Edge": [(1, 2), (2, 3), (3, 1), (3, 4), (7, 8)]}, {}),
    ({"Edge": [(4, 5)]}, {"Edge": [(2, 3), (9, 9)]}),
    ({"Edge": [(2, 4), (5, 1)]}, {"Edge": [(3, 1), (7, 8)]}),
    ({"Edge": [(2, 4)]}, {"Edge": [(8, 7)]}),
    ({}, {"Edge": [(1, 2), (2, 4), (3, 4), (4, 5), (5, 1)]}),
]


def places_of(report: EpochReport) -> dict[str, tuple[str, str]]:
    return {name: (stratum.place, stratum.strategy) for stratum in report.strata for name in stratum.relations}


def test_parity_decomposed(spark: Any) -> None:
    reports = parity(LINEAR, GRAPH, spark, plans={"Reach": "decomposed"})
    assert [report.epoch for report in reports] == [0, 1, 2, 3, 4], "a step without effect makes no epoch"
    assert places_of(reports[1]) == {"Reach": ("decomposed", "bootstrap")}
    assert places_of(reports[2]) == {"Reach": ("decomposed", "update")}


def test_parity_while_a_growing_relation_moves_from_a_single_task_to_buckets(spark: Any) -> None:
    dice = random.Random(7)
    edges = sorted({(dice.randrange(60), dice.randrange(60)) for _ in range(1_200)})
    first, later = edges[:900], edges[900:]
    steps: list[Step] = [({"Edge": first}, {})]
    steps += [({"Edge": later[start : start + 60]}, {"Edge": first[start : start + 60]}) for start in range(0, 180, 60)]
    reports = parity(LINEAR, steps, spark, buckets=3)
    assert places_of(reports[1]) == {"Reach": ("single task", "bootstrap")}
    assert places_of(reports[2])["Reach"][0] == "decomposed"


def test_parity_single_task(spark: Any) -> None:
    text = NON_LINEAR + "output relation Loop(x: u32)\nLoop(x) :- Reach(x, x)."
    reports = parity(text, GRAPH, spark)
    assert places_of(reports[1]) == {"Reach": ("single task", "bootstrap"), "Loop": ("single task", "bootstrap")}
    assert places_of(reports[2])["Reach"] == ("single task", "update")


def test_parity_frames_for_a_closure_that_is_not_linear(spark: Any) -> None:
    reports = parity(NON_LINEAR, GRAPH[:2], spark, plans={"Reach": "frames"})
    assert places_of(reports[1]) == {"Reach": ("frames", "bootstrap")}
    assert reports[1].strata[0].rounds > 2


NEGATION = """
input relation Node(x: string)
input relation Edge(x: string, y: string)
output relation Reach(x: string, y: string)
output relation Apart(x: string, y: string)
output relation Sink(x: string)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
Apart(x, y) :- Node(x), Node(y), not Reach(x, y).
Sink(x) :- Node(x), not Edge(x, _).
"""
NODES: list[Step] = [
    ({"Node": ["a", "b", "ä", ""], "Edge": [("a", "b"), ("b", "ä")]}, {}),
    ({"Edge": [("ä", "a")]}, {"Edge": [("a", "b")], "Node": [""]}),
    ({"Edge": [("b", "a")]}, {"Edge": [("b", "ä")]}),
]


@pytest.mark.parametrize("plan", ["decomposed", "single task", "frames"])
def test_parity_of_negation_and_strings(spark: Any, plan: str) -> None:
    plans = dict.fromkeys(("Reach", "Apart", "Sink"), plan)
    reports = parity(NEGATION, NODES, spark, plans=plans)
    assert {place for place, _ in places_of(reports[1]).values()} >= {plan}


ARITHMETIC = """
input relation Big(x: u64, y: u64)
input relation Wide(x: u128, s: s8)
output relation Sum(x: u64, up: bool)
output relation Rest(x: u64, s: string)
output relation Half(x: u128, s: s8)
output relation Count(n: u8)
Sum(x + y, x + y > x) :- Big(x, y), x < y.
Rest(x, "${x}/${y}=${q}") :- Big(x, y), y != 0, var q = x / y.
Half(x / 2, -s) :- Wide(x, s), x >= 340282366920938463463374607431768211455 - 9, s <= 0.
Count(0) :- Big(_, _).
Count(n + 50) :- Count(n), n < 200.
"""
NUMBERS: list[Step] = [
    ({"Big": [(2**64 - 1, 2), (1, 2**63), (2**63, 2**63 + 5), (5, 0)], "Wide": [(2**128 - 1, -128), (3, -1)]}, {}),
    ({"Big": [(0, 2**64 - 1)], "Wide": [(2**128 - 3, 0)]}, {"Big": [(2**63, 2**63 + 5)], "Wide": [(2**128 - 1, -128)]}),
]


@pytest.mark.parametrize("plan", ["single task", "frames"])
def test_parity_of_arithmetic_on_numbers_of_all_widths(spark: Any, plan: str) -> None:
    parity(ARITHMETIC, NUMBERS, spark, plans=dict.fromkeys(("Sum", "Rest", "Half", "Count"), plan))


SMALL_THINGS = """
input relation On()
input relation Item(x: u8)
output relation Lit()
output relation Dark()
output relation Fact(x: u8, s: string)
output relation Both(x: u8)
Lit() :- On(), Item(_).
Dark() :- not Lit().
Fact(1, "one").
Fact(x, "item") :- Item(x), On().
Item(x + 1) :- Item(x), x < 3.
Both(x) :- Item(x), Fact(x, _).
"""
SWITCHES: list[Step] = [
    ({"On": [()], "Item": [1]}, {}),
    ({"Item": [2]}, {"Item": [1]}),
    ({"Item": [1]}, {"On": [()], "Item": [2]}),
    ({}, {"Item": [1]}),
]


@pytest.mark.parametrize("plan", ["single task", "frames"])
def test_parity_of_facts_nullary_relations_and_inputs_with_rules(spark: Any, plan: str) -> None:
    derived = ("Lit", "Dark", "Fact", "Item", "Both")
    steps = SWITCHES[:2] if plan == "frames" else SWITCHES  # a stratum on frames takes seconds
    reports = parity(SMALL_THINGS, steps, spark, plans=dict.fromkeys(derived, plan))
    assert {"Dark", "Fact"} <= set(places_of(reports[0])), "opening derives what the program's own facts imply"


def test_parity_of_a_decomposed_program_with_facts_and_an_input_relation_with_rules(spark: Any) -> None:
    text = LINEAR + "Edge(x, 9) :- Edge(x, y), y > 3.\nReach(100, 200).\nReach(x, 5) :- Edge(x, 100)."
    reports = parity(text, GRAPH, spark, plans=dict.fromkeys(("Edge", "Reach"), "decomposed"), buckets=3)
    assert places_of(reports[0])["Reach"][0] == "decomposed"
