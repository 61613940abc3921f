"""The same API on Spark: what differs is only that DataFrames go in and out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tidelog
from tests.database.programs import DIVIDE, FACTS, FLAG, REACH, TYPES
from tests.database.transactions.test_changes import EXTREMES

pytestmark = pytest.mark.spark
Open = Callable[[str], tidelog.Database]


@pytest.fixture
def open_on_spark(spark: Any) -> Iterator[Open]:
    """Opens programs on the shared session and closes what it opened."""
    opened = []

    def open_(text: str) -> tidelog.Database:
        opened.append(tidelog.compile(text).open("spark", spark=spark))
        return opened[-1]

    yield open_
    for database in opened:
        database.close()


def test_changes_and_relations_are_those_of_the_local_engine(open_on_spark: Open) -> None:
    steps: list[tuple[dict[str, list[Any]], dict[str, list[Any]]]] = [
        ({"Edge": [("a", "b"), ("b", "c"), ("c", "a")], "Host": ["a", "z"]}, {}),
        ({"Edge": [("c", "d")]}, {"Edge": [("c", "a"), ("x", "y")]}),
        ({"Host": ["b"]}, {"Host": ["z"], "Edge": [("b", "c")]}),
        ({}, {"Edge": [("a", "b")]}),
    ]
    with tidelog.compile(REACH).open() as local:
        remote = open_on_spark(REACH)
        for inserts, deletes in steps:
            seen = []
            for database in (local, remote):
                with database.transaction() as tx:
                    for name, rows in deletes.items():
                        tx.delete(name, rows)
                    for name, rows in inserts.items():
                        tx.insert(name, rows)
                assert tx.report is not None
                changes = {name: list(tx.changes[name]) for name in ("Reach", "Alone")}
                contents = {name: database.relation(name).rows() for name in ("Edge", "Reach", "Touched")}
                counts = {name: len(database.relation(name)) for name in contents}
                seen.append((changes, list(tx.changes), contents, counts, tx.report.epoch, dict(tx.report.rows)))
            assert seen[0] == seen[1]


def test_values_of_every_type_come_back_as_they_went_in(open_on_spark: Open) -> None:
    db = open_on_spark(TYPES)
    with db.transaction() as tx:
        tx.insert("In", EXTREMES)
    assert tx.changes["Out"].inserted == EXTREMES
    assert db.relation("Out").rows() == EXTREMES
    assert EXTREMES[1] in db.relation("Out")
    with db.transaction() as tx:
        tx.delete("In", EXTREMES[1:])
    assert list(tx.changes["Out"]) == [(EXTREMES[1], -1)]
    assert EXTREMES[1] not in db.relation("Out")


def test_facts_of_the_text_and_relations_without_columns(open_on_spark: Open) -> None:
    assert open_on_spark(FACTS).initial["Out"].inserted == [(1,)]
    flag = open_on_spark(FLAG)
    with flag.transaction() as tx:
        tx.insert("Set", [()])
    assert list(tx.changes["Shown"]) == [((), 1)]
    assert () in flag.relation("Shown")


def test_data_frames_go_in_and_out(open_on_spark: Open, spark: Any) -> None:
    db = open_on_spark(REACH)
    with db.transaction() as tx:
        tx.insert("Edge", spark.createDataFrame([("b", "a"), ("c", "b")], "dst string, src string"))
    reach = db.relation("Reach").to_spark()
    assert sorted(map(tuple, reach.select("src", "dst").collect())) == [("a", "b"), ("a", "c"), ("b", "c")]
    with db.transaction() as tx:
        tx.delete("Edge", spark.createDataFrame([("b", "c")], "src string, dst string"))
        tx.insert("Edge", [("b", "d")])
    changed = tx.changes["Reach"].to_spark().select("src", "dst", "_weight").collect()
    assert sorted(map(tuple, changed)) == [("a", "c", -1), ("a", "d", 1), ("b", "c", -1), ("b", "d", 1)]
    unchanged = tx.changes["Alone"].to_spark()
    assert unchanged.columns == ["name", "_weight"]
    assert unchanged.count() == 0


def test_a_data_frame_that_does_not_fit_is_a_data_error_and_leaves_nothing(open_on_spark: Open, spark: Any) -> None:
    db = open_on_spark(REACH)

    def write(frame: Any) -> None:
        with db.transaction() as tx:
            tx.insert("Host", ["a"])
            tx.insert("Edge", frame)

    for frame in (
        spark.createDataFrame([("a",)], "src string"),
        spark.createDataFrame([("a", "b", "c")], "src string, dst string, other string"),
        spark.createDataFrame([("a", 1)], "src string, dst int"),
        spark.createDataFrame([("a", None)], "src string, dst string"),
    ):
        with pytest.raises(tidelog.DataError):
            write(frame)
        assert len(db.relation("Host")) == 0


def test_numbers_of_a_data_frame_are_checked_against_the_width(open_on_spark: Open, spark: Any) -> None:
    db = open_on_spark(FACTS)

    def write(number: int) -> None:
        with db.transaction() as tx:
            tx.insert("In", spark.createDataFrame([(number,)], "n long"))

    write(255)
    for number in (256, -1):
        with pytest.raises(tidelog.DataError):
            write(number)
    assert db.relation("In").rows() == [(255,)]


def test_a_rule_that_fails_leaves_the_last_epoch(open_on_spark: Open) -> None:
    db = open_on_spark(DIVIDE)

    def write(*numbers: int) -> None:
        with db.transaction() as tx:
            tx.insert("In", numbers)

    write(3)
    with pytest.raises(tidelog.EvaluationError):
        write(4, 0)
    assert db.relation("In").rows() == [(3,)]
    assert db.relation("Out").rows() == [(4,)]
    write(6)
    assert db.relation("Out").rows() == [(2,), (4,)]


def test_a_frame_of_an_earlier_epoch_keeps_its_rows(open_on_spark: Open) -> None:
    db = open_on_spark(REACH)
    with db.transaction() as first:
        first.insert("Edge", [("a", "b")])
    with db.transaction() as second:
        second.delete("Edge", [("a", "b")])
    assert first.changes["Reach"].inserted == [("a", "b")]
    assert [tuple(row) for row in first.changes["Reach"].to_spark().collect()] == [("a", "b", 1)]
    assert second.changes["Reach"].deleted == [("a", "b")]


def test_the_local_engine_refuses_a_spark_frame(spark: Any) -> None:
    frame = spark.createDataFrame([("a",)], "name string")
    with tidelog.compile(REACH).open() as db, db.transaction() as tx:
        with pytest.raises(tidelog.UsageError, match="a Spark DataFrame was given to the local engine"):
            tx.insert("Host", frame)
        tx.insert("Host", frame.toArrow())


def test_closing_a_database_leaves_the_session_alone(open_on_spark: Open, spark: Any) -> None:
    db = open_on_spark(REACH)
    db.close()
    assert spark.range(3).count() == 3


def test_frames_of_pandas_on_spark_go_in_without_their_index(open_on_spark: Open, spark: Any) -> None:
    keyed = "input relation Age(name: string, age: u8) primary key (row) row.name\n"
    db = open_on_spark(REACH + keyed)
    frame = spark.createDataFrame([("b", "a"), ("c", "b"), ("z", "z")], "dst string, src string").pandas_api()
    ages = (
        spark.createDataFrame([("a", 3), ("b", 4)], "name string, age int").pandas_api().set_index(["age"], drop=False)
    )
    with db.transaction() as tx:
        tx.insert("Edge", frame[frame["src"] != "z"])
        tx.insert("Age", ages)
    assert tx.changes["Reach"].inserted == [("a", "b"), ("a", "c"), ("b", "c")]
    assert db.relation("Age").rows() == [("a", 3), ("b", 4)]
    with tidelog.compile(REACH).open() as local, local.transaction() as tx:
        with pytest.raises(tidelog.UsageError, match="given to the local engine") as caught:
            tx.insert("Edge", frame)
        assert "`rows.to_pandas()`" in (caught.value.help or "")
        tx.insert("Edge", frame.to_pandas())
