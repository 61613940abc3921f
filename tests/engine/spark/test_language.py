"""The wider language on a real session: values that are not plain in and out, rounds of joins, streams, options."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.engine.spark.parity import open_on_spark, parity
from tests.oracle.compose import FEATURES, random_language_case
from tests.oracle.instances import TooLargeError
from tests.properties.language import language_agrees_with_oracle
from tests.properties.language_on_spark import language_agrees_on_spark
from tests.sample import day

import tidelog
from tidelog.engine.spark.plans.choose_plan import Chooser
from tidelog.engine.spark.plans.split_inputs import split_inputs

from .programs import rules_of

pytestmark = pytest.mark.spark

NESTED = """
typedef Shape = Circle{r: u64} | Square{side: u64, name: string} | Point
input relation Given(id: u32, shape: Shape, tags: Set<string>, sizes: Map<string, u64>, maybe: Option<(u8, double)>)
output relation Shown(id: u32, shape: Shape, tags: Set<string>, sizes: Map<string, u64>, maybe: Option<(u8, double)>)
output relation Tagged(tag: string, shape: Shape)
Shown(i, s, t, m, o) :- Given(i, s, t, m, o).
Tagged(tag, s) :- Given(_, s, tags, _, _), var tag = FlatMap(tags).
"""

JOINS = """
typedef Pair = Pair{a: u32, b: u32}
input relation Edge(pair: Pair, w: double)
input relation Split(n: u32, parts: Vec<u32>)
output relation Reach(pair: Pair)
output relation Heavy(pair: Pair, w: double, k: bigint)
output relation Part(n: u32, part: u32, text: string)
function join(p: Pair, q: Pair): Option<Pair> { if (p.b == q.a) { Some{Pair{p.a, q.b}} } else { None } }
Reach(p) :- Edge(p, _).
Reach(r) :- Reach(p), Edge(q, _), Some{var r} = join(p, q).
Heavy(p, w, k) :- Edge(p, w), w >= 0.5, var k = (p.a as bigint) * 100000000000000000000.
Part(n, part, "${n}/${part}") :- Split(n, parts), var part = FlatMap(parts), Reach(Pair{n, part}).
"""


def test_values_that_are_not_plain_go_in_and_out_as_nested_types(spark: Any) -> None:
    rows = [
        (1, {"tag": "Circle", "r": 2**64 - 1}, {"a", "b"}, {"x": 1}, (7, 0.5)),
        (2, {"tag": "Square", "side": 3, "name": "é"}, set(), {}, None),
        (3, {"tag": "Point"}, {"b"}, {"x": 2**63, "y": 0}, (0, float("nan"))),
    ]
    with tidelog.compile(NESTED).open() as local, open_on_spark(NESTED, spark) as remote:
        for database in (local, remote):
            with database.transaction() as tx:
                tx.insert("Given", rows)
        wanted = local.relation("Shown").to_arrow()
        assert remote.relation("Shown").rows() == local.relation("Shown").rows()
        assert remote.relation("Tagged").lookup(tag="b") == local.relation("Tagged").lookup(tag="b")
        assert local.relation("Shown").rows()[1] in remote.relation("Shown")
        frame = remote.relation("Shown").to_spark()
        assert dict(frame.dtypes)["sizes"] == "map<string,decimal(20,0)>"
        assert dict(frame.dtypes)["maybe"] == "struct<_0:smallint,_1:double>"
        found = frame.toArrow()
        assert found.column_names == wanted.column_names
        assert sorted(found["id"].to_pylist()) == [1, 2, 3]
        # What came out goes in again: nothing changes, and then everything goes.
        with remote.transaction() as tx:
            tx.insert("Given", frame)
        assert tx.report is None
        with remote.transaction() as tx:
            tx.delete("Given", frame.filter("id < 3"))
        changed = tx.changes["Tagged"].to_spark()
        assert sorted((row.tag, row.shape.tag, row._weight) for row in changed.collect()) == [
            ("a", "Circle", -1),
            ("b", "Circle", -1),
        ]
        with remote.transaction() as tx:
            tx.clear("Given")
        assert len(remote.relation("Shown")) == 0


def test_a_nested_value_that_does_not_fit_is_a_data_error_that_says_where(spark: Any) -> None:
    text = "input relation In(v: Vec<u8>)\noutput relation Out(v: Vec<u8>)\nOut(v) :- In(v)."
    with open_on_spark(text, spark) as database:
        with pytest.raises(tidelog.DataError) as caught, database.transaction() as tx:
            tx.insert("In", spark.createDataFrame([([1, 256],)], "v array<int>"))
        assert caught.value.code == "E504"
        assert "column `v` of `In`, at `[1]`: `256` is not a u8" in caught.value.message
        with database.transaction() as tx:
            tx.insert("In", spark.createDataFrame([([1, 255],)], "v array<int>"))
        assert database.relation("Out").to_arrow().to_pylist() == [{"v": [1, 255]}]


def test_rounds_of_joins_call_functions_take_values_apart_and_hold_every_type(spark: Any) -> None:
    def pair(a: int, b: int) -> dict[str, int]:
        return {"a": a, "b": b}

    edges = [(pair(1, 2), 0.5), (pair(2, 3), -0.0), (pair(3, 1), float("nan")), (pair(2, 3), float("inf"))]
    steps: list[Any] = [
        ({"Edge": edges, "Split": [(1, [2, 3, 3, 9]), (2, [])]}, {}),
        ({"Split": [(2, [3])]}, {"Edge": edges[2:3]}),
        ({"Edge": [(pair(3, 9), 0.0)]}, {"Split": [(1, [2, 3, 3, 9])]}),
    ]
    plans = dict.fromkeys(("Reach", "Heavy", "Part"), "frames")
    reports = parity(JOINS, steps, spark, plans=plans)
    assert {stratum.place for report in reports for stratum in report.strata} == {"frames"}


def test_what_has_weights_groups_or_a_transformer_has_no_rounds_of_joins() -> None:
    text = """
    input relation In(n: u32)
    output multiset Out(n: u32)
    Out(n) :- In(n).
    """
    with pytest.raises(tidelog.UsageError) as caught:
        Chooser(split_inputs(rules_of(text)).rules, {"Out": "frames"})
    assert caught.value.code == "E705"


STREAMS = """
input stream Click(user: string, n: u32)
input relation Known(user: string)
output stream Seen(user: string, n: u32)
output relation Latest(user: string)
output relation Before(user: string)
output multiset Many(n: u32)
input multiset Given(n: u32)
Seen(u, n) :- Click(u, n), Known(u).
Latest(u) :- Click'(u, _).
Before(u) :- Known-1(u).
Many(n % 2) :- Given(n).
"""


def test_streams_take_data_frames_and_delays_wait_for_their_epoch(spark: Any) -> None:
    clicks = [("a", 1), ("a", 1), ("b", 2)]
    with tidelog.compile(STREAMS).open() as local, open_on_spark(STREAMS, spark) as remote:
        seen = []
        for database in (local, remote):
            lines: list[Any] = []
            for step in range(4):
                with database.transaction() as tx:
                    if step == 0:
                        tx.insert("Known", ["a"])
                        tx.insert("Given", [1, 3, 4])
                    if step == 1:
                        frame = spark.createDataFrame(clicks, "user string, n long")
                        tx.insert("Click", clicks if database is local else frame)
                    if step == 2:
                        tx.delete("Given", [1, 5])
                    if step == 3:
                        tx.insert("Known", ["b"])
                        tx.delete("Known", ["a"])
                outputs = ("Seen", "Latest", "Before", "Many")
                lines.append({name: list(tx.changes[name]) for name in outputs})
                lines.append({name: database.relation(name).weights() for name in outputs})
                if database is remote:
                    table = tx.changes["Many"].to_spark()
                    assert sorted(map(tuple, table.collect())) == [(*row, weight) for row, weight in tx.changes["Many"]]
            seen.append(lines)
        assert seen[0] == seen[1]
        assert seen[0][2]["Seen"] == [(("a", 1), 2)]


ENDLESS = "input relation N(n: u64)\noutput relation M(n: u64)\nM(n) :- N(n).\nM(n + 1) :- M(n)."


@pytest.mark.parametrize(
    ("limit", "code"), [({"max_rounds": 20}, "E605"), ({"max_rows": 50}, "E606"), ({"deadline": 0.5}, "E607")]
)
def test_limits_stop_a_task_with_the_words_of_the_local_engine(spark: Any, limit: dict[str, Any], code: str) -> None:
    said = []
    for options in ({}, {"engine": "spark", "spark": spark}):
        with tidelog.compile(ENDLESS).open(**options, **limit) as database:
            with pytest.raises(tidelog.EvaluationError) as caught, database.transaction() as tx:
                tx.insert("N", [1])
            said.append((caught.value.code, caught.value.message, caught.value.help))
            assert len(database.relation("N")) == 0
    assert said[0] == said[1]
    assert said[0][0] == code


def test_the_strategy_is_that_of_the_engines_in_tasks(spark: Any) -> None:
    text = """
    input relation E(a: u8, b: u8)
    output relation R(a: u8, b: u8)
    R(a, b) :- E(a, b).
    R(a, c) :- R(a, b), E(b, c).
    """
    with tidelog.compile(text).open("spark", spark=spark, strategy="recompute", switch=0.5) as database:
        for edges in ([(1, 2), (2, 3)], [(3, 1)]):
            with database.transaction() as tx:
                tx.insert("E", edges)
            assert tx.report is not None
            assert {stratum.strategy for stratum in tx.report.strata} == {"recompute"}
        with database.transaction() as tx:
            tx.delete("E", [(1, 2)])
        assert database.relation("R").rows() == [(2, 1), (2, 3), (3, 1)]


@pytest.mark.parametrize("features", [FEATURES[-1]], ids=lambda _: f"day {day()}")
def test_parity_a_random_program_of_the_day(features: Any, spark: Any) -> None:
    number = 0 if day() == "all" else int(day())
    for attempt in range(20):
        case = random_language_case(random.Random(f"spark/{number}/{attempt}"), features)
        try:
            language_agrees_with_oracle(case)
        except TooLargeError:
            continue
        language_agrees_on_spark(case, spark)
        return
    raise AssertionError("all cases of the day are too large")


@pytest.mark.parametrize("attribute", ["", "#[max_rounds = 5]", '#[cycle = "error"]'])
def test_sums_through_recursion_are_those_of_the_local_engine(spark: Any, attribute: str) -> None:
    text = f"""
        import group
        input relation Bought(p: u32, c: u64)
        input relation Uses(p: u32, q: u32, n: u64)
        output relation Cost(p: u32, c: u64)
        Cost(p, c) :- Bought(p, c).
        {attribute}
        Cost(p, s) :- Uses(p, q, n), Cost(q, c), var s = (q, n * c).group_by(p).sum_of(|t| t.1).
    """
    chain = [(i + 1, i, 2) for i in range(9)]
    with tidelog.compile(text).open() as local, open_on_spark(text, spark) as remote:
        for database in (local, remote):
            with database.transaction() as tx:
                tx.insert("Bought", [(0, 3), (20, 1)])
                tx.insert("Uses", chain)
            with database.transaction() as tx:
                tx.delete("Uses", [(3, 2, 2)])
                tx.insert("Uses", [(3, 20, 1), (3, 0, 1)])
        assert remote.relation("Cost").rows() == local.relation("Cost").rows()
        if attribute:
            bound = "max_rounds" in attribute
            for database in (local, remote):
                if bound:
                    with database.transaction() as tx:
                        tx.insert("Uses", [(4, 9, 1)])
                else:
                    with pytest.raises(tidelog.EvaluationError, match="E611"), database.transaction() as tx:
                        tx.insert("Uses", [(4, 9, 1)])
            assert remote.relation("Cost").rows() == local.relation("Cost").rows()
