"""`spark.read.format("tidelog")`: relations of databases of both engines as DataFrames."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import tidelog
import tidelog.spark

pytestmark = pytest.mark.spark

PROGRAM = tidelog.compile("""
    typedef Point = Point{x: u8, label: Option<string>}
    input  relation Edge(src: string, dst: string, cost: u64)
    input  relation Item(at: timestamp, price: decimal<10, 2>, wide: u128, point: Point, when: date, rest: Option<s32>)
    input  multiset Sale(shop: string)
    output relation Reach(src: string, dst: string)
    output relation Holds()
    Reach(x, y) :- Edge(x, y, _).
    Reach(x, z) :- Reach(x, y), Edge(y, z, _).
    Holds() :- Edge(_, _, _).
""")
EDGES = [("a", "b", 2**64 - 1), ("b", "c", 7), ("c", "d", 7)]
REACH = [(x, y) for x, y in ("ab", "ac", "ad", "bc", "bd", "cd")]


@pytest.fixture(scope="module")
def session(spark: Any) -> Any:
    tidelog.spark.register(spark)
    return spark


@pytest.fixture(scope="module", params=["local", pytest.param("spark", marks=pytest.mark.slow)])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, session: Any) -> Path:
    """A closed database of each engine, which no test changes."""
    point = PROGRAM.types.Point
    last = dt.datetime(9999, 12, 31, 23, 59, 59, 999999)
    items = [
        (last, Decimal("-0.01"), 2**100, point(1, None), dt.date(1, 1, 1), None),
        (dt.datetime(1970, 1, 1), Decimal("12345678.90"), 0, point(2, "x"), dt.date(9999, 12, 31), -5),
    ]
    path = tmp_path_factory.mktemp("source") / "db"
    options = {"spark": session} if request.param == "spark" else {}
    with PROGRAM.open(request.param, path=path, **options) as db, db.transaction() as tx:
        tx.insert("Edge", EDGES)
        tx.insert("Item", items)
        tx.insert("Sale", [("pen",), ("pen",), ("cup",)])
    return path


def load(session: Any, place: Path, relation: str, **options: str) -> Any:
    return session.read.format("tidelog").option("relation", relation).options(**options).load(str(place))


def test_a_relation_is_a_data_frame(session: Any, place: Path) -> None:
    assert sorted(map(tuple, load(session, place, "Reach").collect())) == REACH
    assert sorted(map(tuple, load(session, place, "Edge").collect())) == [(x, y, Decimal(n)) for x, y, n in EDGES]


def test_rows_and_types_are_those_of_to_spark(session: Any, place: Path) -> None:
    found = load(session, place, "Item")
    with tidelog.open(place, **({"engine": "spark", "spark": session})) as db:
        for name in ("Item", "Edge", "Sale", "Reach"):
            found, wanted = load(session, place, name), db.relation(name).to_spark()
            assert [(field.name, field.dataType) for field in found.schema.fields] == [
                (field.name, field.dataType) for field in wanted.schema.fields
            ]
            assert sorted(map(str, found.collect())) == sorted(map(str, wanted.collect()))


def test_a_relation_without_columns_counts(session: Any, place: Path) -> None:
    assert load(session, place, "Holds").count() == 1


def test_equal_values_are_looked_up(session: Any, place: Path) -> None:
    found = load(session, place, "Reach").where("src = 'a' and dst > 'b'")
    assert sorted(map(tuple, found.collect())) == [("a", "c"), ("a", "d")]
    plan = found._jdf.queryExecution().executedPlan().toString()
    filters = plan.split("Filter", 1)[1].split("BatchScan")[0]
    assert "= a" not in filters  # not applied a second time: the look-up has the rows
    assert "> b" in filters


FILTERS = [
    ("Edge", "cost = 7", 2),
    ("Edge", "cost = 18446744073709551615", 1),
    ("Edge", "cost = 7 and dst = 'c' and src = 'b'", 1),
    ("Edge", "src = 'a' and src = 'b'", 0),
    ("Edge", "src is null", 0),
    ("Item", "rest <=> null", 1),
    ("Item", "rest = -5", 1),
    ("Item", "price = -0.01", 1),
    ("Item", "when = date'0001-01-01'", 1),
    ("Item", "at = timestamp'1970-01-01T00:00:00Z'", 1),
    ("Item", "point.x = 2", 1),
    ("Item", "wide = '1267650600228229401496703205376'", 1),
    ("Sale", "shop = 'pen'", 1),
    ("Sale", "shop in ('pen', 'cup')", 2),
]


def test_filters_find_what_spark_finds(session: Any, place: Path) -> None:
    found = [len(load(session, place, relation).where(where).collect()) for relation, where, _ in FILTERS]
    assert found == [count for *_, count in FILTERS]


def test_columns_are_read_alone_and_in_their_order(session: Any, place: Path) -> None:
    found = load(session, place, "Edge", columns="cost, src")
    assert found.columns == ["cost", "src"]
    assert sorted(map(tuple, found.collect())) == [(Decimal(7), "b"), (Decimal(7), "c"), (Decimal(2**64 - 1), "a")]


def test_a_later_commit_is_seen_by_the_next_read(session: Any, tmp_path: Path) -> None:
    with PROGRAM.open(path=tmp_path / "db") as db:
        for cost in (1, 2):
            with db.transaction() as tx:
                tx.insert("Edge", [(f"{cost}", "x", cost)])
            assert load(session, tmp_path / "db", "Reach").count() == cost  # beside the open writer


def test_a_database_of_spark_is_read_in_parts(session: Any, tmp_path: Path) -> None:
    plans = {"Reach": "decomposed"}
    with PROGRAM.open("spark", path=tmp_path / "db", spark=session, plans=plans) as db, db.transaction() as tx:
        tx.insert("Edge", [(f"n{i}", f"n{i + 1}", i) for i in range(60)])
    found = load(session, tmp_path / "db", "Reach")
    assert found.rdd.getNumPartitions() == 2
    assert found.distinct().count() == len(found.collect()) == 60 * 61 // 2
    assert load(session, tmp_path / "db", "Reach").where("src = 'n0'").count() == 60


def test_sql_reads_a_table_of_the_format(session: Any, place: Path) -> None:
    load(session, place, "Reach").createOrReplaceTempView("reach")
    assert session.sql("select count(*) from reach where src = 'b'").collect()[0][0] == 2


WRONG_OPTIONS: list[tuple[dict[str, str], str]] = [
    ({"relation": "Reech"}, "did you mean `Reach`"),
    ({"relation": "Reach", "column": "src"}, "did you mean `columns`"),
    ({"relation": "Reach", "columns": "scr"}, "did you mean `src`"),
    ({}, "needs the option `relation`"),
    ({"relation": "Reach", "externs": "nowhere:E"}, "No module named 'nowhere'"),
]


def test_a_wrong_option_says_what_to_write(session: Any, place: Path) -> None:
    for options, message in WRONG_OPTIONS:
        with pytest.raises(Exception, match=r"error\[E") as caught:
            session.read.format("tidelog").options(**options).load(str(place))
        assert message in str(caught.value)


def test_a_folder_without_a_database_is_refused(session: Any, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="E852"):
        session.read.format("tidelog").option("relation", "Reach").load(str(tmp_path))
