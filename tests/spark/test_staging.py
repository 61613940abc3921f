"""`writeStream.format("tidelog")` stages batches, and the owner of the database takes each once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import tidelog
import tidelog.spark

pytestmark = pytest.mark.spark

PROGRAM = tidelog.compile("""
    input  relation Edge(src: string, dst: string)
    input  relation Host(name: string, load: u8) primary key (row) row.name
    output relation Reach(src: string, dst: string)
    Reach(x, y) :- Edge(x, y).
    Reach(x, z) :- Reach(x, y), Edge(y, z).
""")


@pytest.fixture(scope="module")
def session(spark: Any) -> Any:
    tidelog.spark.register(spark)
    return spark


def stage(session: Any, place: Path, feed: Path, schema: str, relation: str = "Edge", **options: str) -> None:
    """Runs a query over the files of a folder until it has staged all of them."""
    rows = session.readStream.schema(schema).option("maxFilesPerTrigger", "1").json(str(feed))
    query = rows.writeStream.format("tidelog").options(relation=relation, **options)
    query = query.option("checkpointLocation", str(feed.parent / f"check-{feed.name}"))
    query.trigger(availableNow=True).start(str(place)).awaitTermination()


def write(feed: Path, number: int, rows: list[dict[str, object]]) -> None:
    feed.mkdir(exist_ok=True)
    (feed / f"{number:04}.json").write_text("\n".join(map(json.dumps, rows)))


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.slow)])
def test_staged_batches_are_taken_once(session: Any, tmp_path: Path, engine: str) -> None:
    place, feed = tmp_path / "db", tmp_path / "feed"
    options = {"spark": session} if engine == "spark" else {}
    with PROGRAM.open(engine, path=place, **options) as db:
        write(feed, 1, [{"src": "a", "dst": "b"}, {"src": "b", "dst": "c"}])
        stage(session, place, feed, "src string, dst string")
        assert db.report.epoch == 0  # staged, not committed
        shutil.copytree(place / "staged", tmp_path / "before")
        assert tidelog.spark.take(db) == 1
        assert db.relation("Reach").rows() == [("a", "b"), ("a", "c"), ("b", "c")]
        assert not list((place / "staged").rglob("*.*"))
        shutil.rmtree(place / "staged")
        shutil.copytree(tmp_path / "before", place / "staged")  # as after a kill between commit and removal
        with db.transaction() as tx:
            tx.delete("Edge", [("b", "c")])
        assert tidelog.spark.take(db) == 0
        assert db.relation("Reach").rows() == [("a", "b")]
        write(feed, 2, [{"src": "b", "dst": "d"}])
        stage(session, place, feed, "src string, dst string")
        assert tidelog.spark.take(db) == 1
        assert db.relation("Reach").rows() == [("a", "b"), ("a", "d"), ("b", "d")]


def test_a_column_tells_the_operation(session: Any, tmp_path: Path) -> None:
    place, feed = tmp_path / "db", tmp_path / "feed"
    with PROGRAM.open(path=place) as db:
        with db.transaction() as tx:
            tx.insert("Edge", [("a", "b"), ("a", "c")])
        write(feed, 1, [{"src": "a", "dst": "b", "_op": "-"}, {"src": "a", "dst": "d", "_op": "insert"}])
        stage(session, place, feed, "src string, dst string, _op string")
        tidelog.spark.take(db)
        assert db.relation("Edge").rows() == [("a", "c"), ("a", "d")]
        write(feed, 2, [{"src": "a", "dst": "b", "_op": "upsert"}])
        stage(session, place, feed, "src string, dst string, _op string")
        with pytest.raises(tidelog.DataError, match="upsert"):
            tidelog.spark.take(db)
        assert db.relation("Edge").rows() == [("a", "c"), ("a", "d")]


def test_rows_with_a_key_are_replaced(session: Any, tmp_path: Path) -> None:
    place, feed = tmp_path / "db", tmp_path / "feed"
    with PROGRAM.open(path=place) as db:
        with db.transaction() as tx:
            tx.insert("Host", [("a", 1), ("b", 2)])
        changes: list[dict[str, object]] = [
            {"name": "a", "load": 1, "_change_type": "update_preimage"},
            {"name": "a", "load": 9, "_change_type": "update_postimage"},
            {"name": "b", "load": 7, "_change_type": "delete"},
        ]
        write(feed, 1, changes)
        stage(session, place, feed, "name string, load int, _change_type string", "Host")
        tidelog.spark.take(db)
        assert db.relation("Host").rows() == [("a", 9), ("b", 2)]


def test_a_row_that_does_not_fit_fails_the_query(session: Any, tmp_path: Path) -> None:
    place, feed = tmp_path / "db", tmp_path / "feed"
    with PROGRAM.open(path=place) as db:
        write(feed, 1, [{"name": "a", "load": 300}])
        with pytest.raises(Exception, match="u8"):
            stage(session, place, feed, "name string, load int", "Host")
        assert tidelog.spark.take(db) == 0


@pytest.mark.parametrize(
    ("relation", "schema", "message"),
    [
        ("Reach", "src string, dst string", "it is an output relation"),
        ("Edge", "src string, dest string", "did you mean `dst`"),
        ("Edge", "src string", "needs the column `dst`"),
    ],
)
def test_columns_are_checked_at_the_start(
    session: Any, tmp_path: Path, relation: str, schema: str, message: str
) -> None:
    place, feed = tmp_path / "db", tmp_path / "feed"
    PROGRAM.open(path=place).close()
    write(feed, 1, [{"src": "a", "dst": "b"}])
    with pytest.raises(Exception, match=message):
        stage(session, place, feed, schema, relation)


def test_a_database_in_memory_has_no_staged_batches() -> None:
    with PROGRAM.open() as db, pytest.raises(tidelog.UsageError, match="path="):
        tidelog.spark.take(db)
