"""`readStream.format("tidelog")` and reads of changes: every change once, from a checkpoint too."""

from __future__ import annotations

import datetime as dt
import json
import pickle
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

import tidelog
import tidelog.spark
from tidelog.database.database import Database

pytestmark = pytest.mark.spark

PROGRAM = tidelog.compile("""
    input  relation Edge(src: string, dst: string)
    output relation Reach(src: string, dst: string)
    output multiset Start(src: string)
    Reach(x, y) :- Edge(x, y).
    Reach(x, z) :- Reach(x, y), Edge(y, z).
    Start(x) :- Edge(x, _).
""")


@pytest.fixture(scope="module")
def session(spark: Any) -> Any:
    tidelog.spark.register(spark)
    return spark


def commit(db: Database, inserted: list[tuple[str, str]], deleted: list[tuple[str, str]] = ()) -> None:  # type: ignore[assignment]
    with db.transaction() as tx:
        tx.delete("Edge", list(deleted))
        tx.insert("Edge", inserted)


def changes(reader: Any, place: Path, relation: str = "Reach", **options: str) -> Any:
    return reader.format("tidelog").options(relation=relation, changes="true", **options).load(str(place))


def opened(engine: str, place: Path, session: Any, keep: int = 100) -> Database:
    options = {"spark": session} if engine == "spark" else {}
    return PROGRAM.open(engine, path=place, keep_changes=keep, **options)


ENGINES = ["local", pytest.param("spark", marks=pytest.mark.slow)]


@pytest.mark.parametrize("engine", ENGINES)
def test_changes_are_read_epoch_by_epoch(session: Any, tmp_path: Path, engine: str) -> None:
    with opened(engine, tmp_path / "db", session) as db:
        commit(db, [("a", "b"), ("b", "c")])
        commit(db, [("b", "d")], [("b", "c")])
    found = changes(session.read, tmp_path / "db")
    assert found.columns == ["src", "dst", "_op", "_epoch"]
    assert sorted(map(tuple, found.collect())) == [
        ("a", "b", "+", 1),
        ("a", "c", "+", 1),
        ("a", "c", "-", 2),
        ("a", "d", "+", 2),
        ("b", "c", "+", 1),
        ("b", "c", "-", 2),
        ("b", "d", "+", 2),
    ]
    assert changes(session.read, tmp_path / "db", after="1", until="1").count() == 0
    assert {row["_epoch"] for row in changes(session.read, tmp_path / "db", after="1").collect()} == {2}


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_of_an_earlier_epoch(session: Any, tmp_path: Path, engine: str) -> None:
    with opened(engine, tmp_path / "db", session) as db:
        commit(db, [("a", "b"), ("b", "c")])
        commit(db, [("b", "d")], [("b", "c")])
    rows = session.read.format("tidelog").options(relation="Reach", epoch="1").load(str(tmp_path / "db"))
    assert sorted(map(tuple, rows.collect())) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [tuple(row) for row in rows.where("src = 'b'").collect()] == [("b", "c")]


def test_change_columns_of_delta(session: Any, tmp_path: Path) -> None:
    with opened("local", tmp_path / "db", session) as db:
        commit(db, [("a", "b")])
        commit(db, [("a", "c")], [("a", "b")])
    reader = session.read.format("tidelog").options(relation="Reach", changes="delta")
    found = reader.load(str(tmp_path / "db"))
    assert found.columns == ["src", "dst", "_change_type", "_commit_version", "_commit_timestamp"]
    rows = found.orderBy("_commit_version", "dst").collect()
    assert [tuple(row)[:4] for row in rows] == [
        ("a", "b", "insert", 1),
        ("a", "b", "delete", 2),
        ("a", "c", "insert", 2),
    ]
    assert all(isinstance(row["_commit_timestamp"], dt.datetime) for row in rows)


def test_changes_of_a_multiset_have_weights(session: Any, tmp_path: Path) -> None:
    with opened("local", tmp_path / "db", session) as db:
        commit(db, [("a", "b"), ("a", "c")])
        commit(db, [], [("a", "b")])
    found = changes(session.read, tmp_path / "db", "Start").orderBy("_epoch")
    assert [tuple(row) for row in found.collect()] == [("a", "+", 1, 2), ("a", "-", 2, -1)]


class Follower:
    """A streaming query that adds up what it reads, and goes on from its checkpoint after each stop.

    A batch that Spark repeats has its number again, and counts once. Spark gives the Python process of a source ten
    seconds to start; a query that fails because that was too short on a busy machine is a restart, too.
    """

    def __init__(self, session: Any, place: Path, checkpoint: Path, **options: str) -> None:
        self._batches: dict[int, Counter[tuple[str, str, str, int]]] = {}
        self.starts = 0
        self._stream: Callable[[], Any] = lambda: changes(session.readStream, place, **options)
        self._checkpoint = str(checkpoint)

    def run(self) -> None:
        """Reads all that is there."""

        def take(rows: Any, number: int) -> None:
            self._batches[number] = Counter(map(tuple, rows.collect()))

        for last in (False,) * 20 + (True,):
            self.starts += 1
            query = self._stream().writeStream.foreachBatch(take).option("checkpointLocation", self._checkpoint)
            try:
                query.trigger(availableNow=True).start().awaitTermination()
                return
            except Exception as error:
                if last or "failed to connect back" not in str(error):
                    raise

    @property
    def seen(self) -> Counter[tuple[str, str, str, int]]:
        """How often each change came."""
        return sum(self._batches.values(), Counter())

    @property
    def rows(self) -> list[tuple[str, str]]:
        """The sum of all changes."""
        weights: Counter[tuple[str, str]] = Counter()
        for (src, dst, op, _), count in self.seen.items():
            weights[src, dst] += count if op == "+" else -count
        assert set(weights.values()) <= {0, 1}
        return sorted(row for row, weight in weights.items() if weight)


def follow(session: Any, place: Path, checkpoint: Path, engine: str, epochs: int, restarts: int) -> None:
    random = Random(5)
    nodes = [f"n{i}" for i in range(7)]
    with opened(engine, place, session, keep=epochs + 1) as db:
        follower = Follower(session, place, checkpoint, maxEpochs="7")
        wanted: Counter[tuple[str, str, str, int]] = Counter()
        for _ in range(restarts):
            for _ in range(epochs // restarts):
                with db.transaction() as tx:
                    tx.delete("Edge", [(random.choice(nodes), random.choice(nodes)) for _ in range(3)])
                    tx.insert("Edge", [(random.choice(nodes), random.choice(nodes)) for _ in range(2)])
                if tx.report is not None:
                    for (src, dst), weight in tx.changes["Reach"]:
                        wanted[src, dst, "+" if weight > 0 else "-", tx.report.epoch] += 1
            follower.run()
            assert follower.seen == wanted
        assert follower.rows == db.relation("Reach").rows()
        assert follower.starts >= restarts
        print(f"{sum(wanted.values())} changes in {epochs} epochs, each once; {follower.starts} starts of the query")


class Asked:
    """Asks the reader as a query of Spark does, with a checkpoint: the end of a batch is noted before its rows are
    read, and the batch when they are used. Each start has a new reader; a query may die between any two steps."""

    def __init__(self, place: Path, random: Random) -> None:
        self._options = {"path": str(place), "relation": "Reach", "changes": "true", "maxepochs": "7"}
        self._random = random
        self._offsets: list[str] = []
        self._done = 0
        self.batches: dict[int, Counter[tuple[Any, ...]]] = {}
        self.starts = 0

    def run(self) -> bool:
        """Takes all that is there; False if the query died before."""
        from tidelog.spark.source import TidelogSource

        self.starts += 1
        source = TidelogSource(self._options)
        reader = pickle.loads(pickle.dumps(source.streamReader(source.schema())))
        if not self._offsets:
            self._offsets.append(json.dumps(reader.initialOffset()))
        while True:
            if self._dies():
                return False
            if self._done == len(self._offsets) - 1:
                start = json.loads(self._offsets[-1])
                end = reader.latestOffset(start, None)
                if end == start:
                    return True
                self._offsets.append(json.dumps(end))
            if self._dies():
                return False
            begin, end = (json.loads(self._offsets[self._done + place]) for place in (0, 1))
            rows: Counter[tuple[Any, ...]] = Counter()
            for partition in reader.partitions(begin, end):
                for batch in reader.read(pickle.loads(pickle.dumps(partition))):
                    rows.update(tuple(row.values()) for row in batch.to_pylist())
            self.batches[self._done] = rows
            if self._dies():
                return False
            self._done += 1

    def _dies(self) -> bool:
        return self._random.random() < 0.08


def test_a_reader_gives_each_change_once_through_restarts(tmp_path: Path) -> None:
    random, nodes = Random(5), [f"n{i}" for i in range(7)]
    wanted: Counter[tuple[Any, ...]] = Counter()
    deaths = 0
    with PROGRAM.open(path=tmp_path / "db", keep_changes=101) as db:
        asked = Asked(tmp_path / "db", random)
        for epoch in range(1, 101):
            commit(
                db,
                [(random.choice(nodes), random.choice(nodes)) for _ in range(2)],
                [(random.choice(nodes), random.choice(nodes)) for _ in range(3)],
            )
            if epoch % 10 == 0:
                while not asked.run():
                    deaths += 1
        for changes in db.changes_since(0):
            if "Reach" in changes:
                for (src, dst), weight in changes["Reach"]:
                    wanted[src, dst, "+" if weight > 0 else "-", changes.epoch] += 1
    assert sum(asked.batches.values(), Counter()) == wanted
    assert sum(wanted.values()) > 100
    assert (asked.starts, deaths > 5) == (10 + deaths, True)


@pytest.mark.slow
def test_a_stream_goes_on_from_its_checkpoint(session: Any, tmp_path: Path) -> None:
    follow(session, tmp_path / "db", tmp_path / "check", "local", epochs=20, restarts=2)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", "spark"])
def test_ten_restarts_in_a_hundred_epochs(session: Any, tmp_path: Path, engine: str) -> None:
    follow(session, tmp_path / "db", tmp_path / "check", engine, epochs=100, restarts=10)


def test_changes_that_are_gone_are_an_error(session: Any, tmp_path: Path) -> None:
    with opened("local", tmp_path / "db", session, keep=2) as db:
        for number in range(5):
            commit(db, [("a", f"{number}")])
        with pytest.raises(Exception, match=r"(?s)keeps the changes after epoch 3.*\"epoch\", \"3\"") as caught:
            changes(session.read, tmp_path / "db").count()
        assert "E825" in str(caught.value)
        with pytest.raises(Exception, match="the changes after epoch 1 are gone"):
            changes(session.read, tmp_path / "db", after="1").collect()
        assert changes(session.read, tmp_path / "db", after="3").count() == 2


def test_a_database_that_keeps_nothing_says_how_to_keep_changes(session: Any, tmp_path: Path) -> None:
    with PROGRAM.open(path=tmp_path / "db") as db:
        commit(db, [("a", "b")])
    with pytest.raises(Exception, match="keep_changes=100"):
        changes(session.read, tmp_path / "db").count()


@pytest.mark.slow
def test_a_stream_without_change_columns_says_what_to_add(session: Any, tmp_path: Path) -> None:
    with opened("local", tmp_path / "db", session) as db:
        commit(db, [("a", "b")])
    stream = session.readStream.format("tidelog").option("relation", "Reach").load(str(tmp_path / "db"))
    with pytest.raises(Exception, match=r'option\("changes", "true"\)'):
        stream.writeStream.format("noop").start().awaitTermination()
