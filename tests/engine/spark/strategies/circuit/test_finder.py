"""The circuit on Spark: rules as rows, joined with facts; the numbers are those of the local engine."""

from __future__ import annotations

import random
from typing import Any, ClassVar

import pytest
from tests.engine.spark.parity import Step
from tests.engine.spark.plans.frames.test_stratum import EVERYTHING, Pair, random_steps
from tests.engine.spark.programs import EDGES, LINEAR, NON_LINEAR, rules_of

import tidelog
from tidelog.engine.spark.plans.frames.delta_joins import Events, Finder, Joins
from tidelog.engine.spark.plans.frames.packed_rows import PackedRows
from tidelog.engine.spark.storage.state_files import read_rows
from tidelog.engine.spark.strategies.circuit.finder import Circuit
from tidelog.engine.spark.strategies.circuit.rule_rows import Kind, Row, RuleRows, Side, Walk
from tidelog.engine.spark.strategies.circuit.words import Words, types_of

on_spark = pytest.mark.spark


# Rows


def rows_of(text: str, walks: list[tuple[int, int | None]], split: frozenset[str] = frozenset()) -> RuleRows:
    """The rows of walks: (place of the rule, position of the event)."""
    program = rules_of(text)
    rules = [rule for stratum in program.strata for rule in stratum.rules]
    (stratum,) = (stratum for stratum in program.strata if stratum.rules)
    words = Words(types_of(stratum, rules, program.relations), program.functions.definitions)
    codes = {name: code for code, name in enumerate(program.relations)}
    return RuleRows([Walk(rules[rule], event, split) for rule, event in walks], codes, words, program.functions)


def of_kind(rows: RuleRows, kind: Row) -> list[dict[str, Any]]:
    return [row for row in rows.table().to_pylist() if row["row"] == kind]


def test_a_walk_begins_at_its_event_and_reads_what_stands_behind_it_as_it_was() -> None:
    rows = rows_of(NON_LINEAR, [(1, 0), (1, 1)], frozenset({"Reach"}))
    assert rows.depth == 2
    assert rows.reads(0, Kind.JOIN) == {("Reach", False, Side.EVENT)}
    assert rows.reads(1, Kind.JOIN) == {("Reach", False, Side.FRONT), ("Reach", False, Side.BEHIND)}


def test_walks_that_begin_alike_share_their_rows() -> None:
    text = "input relation E(x: u32, y: u32)\noutput relation T(x: u32, y: u32)\n"
    both = rows_of(f"{text}T(x, z) :- E(x, y), T(y, z).\nT(z, x) :- E(x, y), T(y, z).\n", [(0, 1), (1, 1)])
    assert [row["target"] for row in of_kind(both, Row.DIRECTION)] == [1, 2]
    assert [(row["origin"], row["y0"], row["y1"]) for row in of_kind(both, Row.SIGNAL)] == [(2, 2, 1), (2, 1, 2)]


def test_a_body_that_ends_early_waits_for_the_others() -> None:
    rows = rows_of(LINEAR, [(0, 0), (1, 0)])
    waits = [row for row in of_kind(rows, Row.DIRECTION) if row["kind"] == Kind.PASS]
    assert [(row["depth"], row["origin"] == row["target"]) for row in waits] == [(1, True)]


def test_the_rows_of_a_rule_are_as_many_however_many_rules_there_are() -> None:
    few, many = (rows_of(_ontology(count), [(rule, 0) for rule in range(count)]) for count in (5, 100))
    assert few.depth == many.depth == 2
    assert len(of_kind(many, Row.SIGNAL)) == 100
    assert len(of_kind(many, Row.ORDER)) <= len(of_kind(few, Row.ORDER))


# Instances


def _ontology(rules: int) -> str:
    """A relation of triples, with that many rules of one and of two literals."""
    lines = ["input relation Given(s: u32, p: u32, o: u32)", "output relation T(s: u32, p: u32, o: u32)"]
    lines.append("T(s, p, o) :- Given(s, p, o).")
    for i in range(1, rules):
        one, two = f"T(x, {i % 7}, {i}) :- T(x, {i}, _).", f"T(x, {i}, z) :- T(x, {i + 1}, y), T(y, {i % 11}, z)."
        lines.append(two if i % 2 else one)
    return "".join(f"{line}\n" for line in lines)


class _Once:
    """A wave with some events in a relation of triples."""

    below: ClassVar[dict[str, Any]] = {}
    inside_rows, steady = 1_000_000, None

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def inside_events(self) -> Any:
        return Events(self._frame, 1_000_000)

    def inside(self, *, is_front: bool) -> Any:
        return self._frame


def plan_of(rules: int, way: str, spark: Any) -> str:
    program = rules_of(_ontology(rules))
    (stratum,) = (stratum for stratum in program.strata if stratum.rules)
    slots = PackedRows(spark, stratum, program.relations, program.functions)
    finder: Finder = Joins(spark, stratum, slots)
    if way == "circuit":
        finder = Circuit(spark, stratum, slots, program.relations, stratum.rules)
    reading: Any = _Once(slots.empty(["_rank"]))
    found = finder.met(reading, stratum.rules[1:])
    return str(found._jdf.queryExecution().optimizedPlan().toString())


@on_spark
def test_a_wave_has_the_same_joins_whatever_the_number_of_rules(spark: Any) -> None:
    few, many = (plan_of(count, "circuit", spark).count("Join ") for count in (5, 100))
    assert few == many <= 8
    assert plan_of(5, "joins", spark).count("Join ") == 2 * 2


@on_spark
@pytest.mark.parametrize(
    ("text", "relation"),
    [
        pytest.param(NON_LINEAR, "Reach", id="non-linear"),
        pytest.param(EVERYTHING, "Odd", id="negation and mutual recursion", marks=pytest.mark.slow),
    ],
)
def test_the_circuit_keeps_the_numbers_of_the_local_engine(text: str, relation: str, spark: Any) -> None:
    pair = Pair(text, spark, strategy="circuit")
    dice = random.Random(8)
    for number, (inserts, deletes) in enumerate(random_steps(dice, nodes=9, first=14, steps=1, size=2)):
        blocks = {"Block": [(n,) for n in dice.sample(range(8), 2)]} if text is EVERYTHING else {}
        gone = {"Block": [(n,) for n in dice.sample(range(8), 2)]} if text is EVERYTHING and number else {}
        report = pair.commit(({**inserts, **blocks}, {**deletes, **gone}))[relation]
        assert report.strategy == ("circuit" if number else "bootstrap")
        assert report.place == "frames"
    assert max(rank for rank, _, _ in pair.on_spark(relation).values()) > 2


VALUES = """
typedef Mark = Plain | Named{name: string}
input relation Seen(who: string, mark: Mark, at: u64)
input relation Off(who: string)
output relation Next(who: string, at: u64)
output relation Same(who: string)
output relation Big(wide: bit<100>, flag: bool)
output relation Any_()
Next(who, at + 1) :- Seen(who, Named{_}, at), not Off(who).
Next(name, at + 1) :- Next(who, at), Seen(who, mark, _), Named{var name} = mark, at < 6, 100 / at > 3.
Same(who) :- Seen(who, Named{who}, _).
Same("nobody") :- not Off("nobody").
Big(at as bit<100> << 64, at > 9223372036854775807) :- Seen(_, Plain, at), var flag = true, Big(_, flag).
Big(1, true).
Any_() :- Seen(x, _, _), Seen(x, _, n), n != 3.
"""


@on_spark
def test_a_negation_with_several_columns_passes_beside_longer_bodies(spark: Any) -> None:
    text = """
    input relation E(x: u32, y: u32)
    output relation P(x: u32)
    P(1) :- not E(7, 8).
    P(2) :- not E(8, 7).
    P(y) :- E(x, y), E(y, x).
    """
    with tidelog.compile(text).open("spark", spark=spark, strategy="circuit") as db:
        assert db.relation("P").rows() == [(1,), (2,)]
        with db.transaction() as tx:
            tx.insert("E", [(7, 8), (3, 3)])
        assert (tx.changes["P"].inserted, tx.changes["P"].deleted) == ([(3,)], [(1,)])


@on_spark
@pytest.mark.slow
def test_values_of_all_kinds_expressions_and_relations_without_columns(spark: Any) -> None:
    program = tidelog.compile(VALUES)
    rows = [("a", ("Named", "b"), 1), ("b", ("Named", "a"), 2), ("c", ("Named", "c"), 3), ("c", "Plain", 2**63 + 1)]
    steps: list[tuple[list[Any], list[Any], list[Any]]] = [(rows, [], []), ([], rows[1:2], [("nobody",)])]
    with program.open() as local, program.open("spark", spark=spark, strategy="circuit") as remote:
        for came, went, off in steps:
            for db in (local, remote):
                with db.transaction() as tx:
                    tx.delete("Seen", [_seen(row) for row in went])
                    tx.insert("Seen", [_seen(row) for row in came])
                    tx.insert("Off", off)
            assert {each.strategy for each in remote.report.strata} <= {"circuit", "bootstrap"}
            assert {each.place for each in remote.report.strata} == {"frames"}
            for name in ("Next", "Same", "Big", "Any_"):
                assert sorted(remote.relation(name).rows()) == sorted(local.relation(name).rows()), name
                assert remote.relation(name).rows() or off


def _seen(row: tuple[str, Any, int]) -> dict[str, Any]:
    who, mark, at = row
    value = {"tag": "Plain"} if mark == "Plain" else {"tag": "Named", "name": mark[1]}
    return {"who": who, "mark": value, "at": at}


@on_spark
def test_a_rule_that_fails_is_named_and_leaves_the_state(spark: Any) -> None:
    program = tidelog.compile("input relation N(n: u64)\noutput relation Q(n: u64)\nQ(10 / n) :- N(n).\n")
    with program.open("spark", spark=spark, strategy="circuit") as db:
        with db.transaction() as tx:
            tx.insert("N", [(2,)])
        with pytest.raises(tidelog.EvaluationError, match="division by zero"), db.transaction() as tx:
            tx.insert("N", [(0,)])
        assert db.relation("Q").rows() == [(5,)]


@on_spark
def test_strata_with_floating_point_numbers_run_as_they_would_otherwise(spark: Any) -> None:
    program = tidelog.compile("input relation N(n: double)\noutput relation Q(n: double)\nQ(n) :- N(n).\n")
    with program.open("spark", spark=spark, strategy="circuit", plans={"Q": "frames"}) as db:
        with db.transaction() as tx:
            tx.insert("N", [(0.5,), (float("nan"),)])
        assert len(db.relation("Q")) == 2
    with program.open("spark", spark=spark, strategy="circuit") as db:
        with db.transaction() as tx:
            tx.insert("N", [(0.5,)])
        assert {each.place for each in db.report.strata} == {"single task"}


# Rules that change

FIRST, SECOND = "Reach(x, z) :- Reach(x, y), Edge(y, z).", "Reach(y, x) :- Reach(x, y), not Wall(x)."
CHANGING = EDGES + "input relation Wall(x: u32)\noutput relation Reach(x: u32, y: u32)\nReach(x, y) :- Edge(x, y).\n"
CHANGES: list[tuple[Step, str, str]] = [
    (({"Edge": [(1, 2), (2, 3), (3, 4), (4, 2)], "Wall": [(3,)]}, {}), "", ""),
    (({}, {}), FIRST, ""),
    (({"Edge": [(4, 5)]}, {"Edge": [(1, 2)]}), SECOND, ""),
    (({"Wall": [(5,)]}, {"Edge": [(2, 3)]}), "", FIRST),
    (({"Edge": [(1, 2)]}, {"Wall": [(3,)]}), FIRST, SECOND),
]


@on_spark
@pytest.mark.parametrize(
    ("strategy", "steps"),
    [
        pytest.param("circuit", 2, id="circuit"),
        pytest.param("circuit", 5, id="circuit, more of them", marks=pytest.mark.slow),
        pytest.param("update", 5, id="update", marks=pytest.mark.slow),
    ],
)
def test_a_change_of_rules_is_repaired_in_waves(strategy: str, steps: int, spark: Any) -> None:
    program = tidelog.compile(CHANGING)
    plans = {"Reach": "frames"}
    with program.open() as local, program.open("spark", spark=spark, strategy=strategy, plans=plans) as remote:
        for number, ((inserts, deletes), added, removed) in enumerate(CHANGES[:steps]):
            found = []
            for db in (local, remote):
                with db.transaction() as tx:
                    for name, rows in deletes.items():
                        tx.delete(name, rows)
                    for name, rows in inserts.items():
                        tx.insert(name, rows)
                    if added:
                        tx.add_rules(added)
                    if removed:
                        tx.remove_rules(removed)
                delta = tx.changes["Reach"]
                found.append((sorted(delta.inserted), sorted(delta.deleted), sorted(db.relation("Reach").rows())))
            assert found[0] == found[1], f"after step {number}"
            (report,) = remote.report.strata
            assert report.strategy == (strategy if number else "bootstrap")
            assert totals_on_spark(remote) == totals_on_local(local), f"totals after step {number}"


def totals_on_local(db: Any) -> dict[Any, int]:
    with db._locked.engine() as engine:
        table = engine.state_table("Reach")
    return {(x, y): total for x, y, total in zip(*(table.column(i).to_pylist() for i in (0, 1, 4)), strict=True)}


def totals_on_spark(db: Any) -> dict[Any, int]:
    with db._locked.engine() as engine:
        table = read_rows(engine._directory, engine._relations["Reach"], engine._stored("Reach"), numbers=True)
    columns = (table.column(name).to_pylist() for name in (0, 1, "_total"))
    return {(x, y): total for x, y, total in zip(*columns, strict=True)}
