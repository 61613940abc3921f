"""Reads beside commits on Spark, and snapshots over many of them: every read is of one committed epoch."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.database.concurrency.storm import REACH, Storm
from tests.engine.spark.in_process import ALWAYS, NoSpark, tasks_here

import tidelog
from tidelog.engine.spark.queries import queries

SLOW = """
input relation Edge(a: u32, b: u32)
input relation Go(x: u32)
output relation Reach(a: u32, b: u32)
extern function slowly(x: u32): u32
output relation Done(x: u32)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
Done(slowly(x)) :- Go(x).
"""
CHAIN = [(i, i + 1) for i in range(20)]


class Slow:
    """A database whose commit of `Go` begins to wait when there is a file `gate`.began, and ends with `gate`.go.

    Files, since the function runs in another process where tasks do.
    """

    def __init__(self, gate: Path, **options: Any) -> None:
        began, go = f"{gate}.began", f"{gate}.go"

        def slowly(x: int) -> int:
            Path(began).touch()
            end = time.monotonic() + 60
            while not Path(go).exists():
                assert time.monotonic() < end
                time.sleep(0.01)
            return x

        self._began, self._go = Path(began), Path(go)
        self.db = tidelog.compile(SLOW, externs={"slowly": slowly}).open(**options)
        with self.db.transaction() as tx:
            tx.insert("Edge", CHAIN)

    def __enter__(self) -> Slow:
        self.errors: list[BaseException] = []
        self._thread = threading.Thread(target=self._commit)
        self._thread.start()
        end = time.monotonic() + 60
        while not self._began.exists():
            assert time.monotonic() < end
            assert self._thread.is_alive(), self.errors
            time.sleep(0.01)
        return self

    def _commit(self) -> None:
        try:
            with self.db.transaction() as tx:
                tx.insert("Go", [(1,)])
                tx.delete("Edge", [(3, 4)])
                tx.insert("Edge", [(50, 51)])
        except BaseException as error:
            self.errors.append(error)

    def go_on(self) -> None:
        self._go.touch()
        self._thread.join(60)
        assert not self._thread.is_alive()
        assert not self.errors

    def __exit__(self, *_: object) -> None:
        self.go_on()
        self.db.close()


@pytest.fixture
def here() -> Iterator[None]:
    """Tasks of Spark in this process."""
    with tasks_here(lambda: ALWAYS, seed=1):
        yield


def no_read_waits(slow: Slow, first: Any) -> None:
    db, reach = slow.db, slow.db.relation("Reach")
    assert (len(reach), len(db.relation("Done"))) == (210, 0)
    assert (3, 4) in reach
    assert (50, 51) not in reach
    assert reach.lookup(a=3) == [(3, b) for b in range(4, 21)]
    assert reach.lookup(b=4) == [(a, 4) for a in range(4)]
    assert len(reach.rows()) == len(reach.to_arrow()) == 210
    assert db.query("Edge(3, x), Reach(x, 20)").rows == [(4,)]
    assert db.explain("Reach", (2, 5)).height == 3
    assert (db.why_not("Reach", (50, 51)).is_present, db.why_not("Reach", (3, 4)).is_present) == (False, True)
    assert db.relations["Edge"].rows == 20
    assert list(reach)[:2] == [(0, 1), (0, 2)]
    assert len(first.changes["Reach"].inserted) == 210, "changes of an earlier epoch are read beside a commit"
    with db.snapshot() as snapshot:
        assert len(snapshot.relation("Reach")) == 210
        assert slow._thread.is_alive(), "nothing has waited for the commit"
        slow.go_on()
        assert (3, 4) in snapshot.relation("Reach")
        assert (3, 4) not in reach
        assert snapshot.relation("Reach").lookup(a=3) == [(3, b) for b in range(4, 21)]
        assert snapshot.explain("Reach", (2, 5)).height == 3
        assert (50, 51) in reach
        assert (50, 51) not in snapshot.relation("Reach")
        assert db.relation("Done").rows() == [(1,)]


def first_of(slow: Slow) -> Any:
    """Returns a transaction whose changes are all rows of `Reach`."""
    with slow.db.transaction() as tx:
        tx.clear("Edge")
    with slow.db.transaction() as tx:
        tx.insert("Edge", CHAIN)
    return tx


@pytest.mark.spark
def test_no_read_waits_for_a_commit(spark: Any, tmp_path: Path) -> None:
    slow = Slow(tmp_path / "gate", engine="spark", spark=spark, path=str(tmp_path / "db"))
    first = first_of(slow)
    with slow:
        assert slow.db.relation("Reach").to_spark().count() == 210
        no_read_waits(slow, first)


def test_no_read_waits_for_a_commit_in_the_driver(tmp_path: Path) -> None:
    slow = Slow(tmp_path / "gate", engine="auto", path=str(tmp_path / "db"))
    first = first_of(slow)
    with slow:
        no_read_waits(slow, first)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("keep", [0, 8])
def test_reads_beside_updates_are_of_committed_epochs(tmp_path: Path, keep: int) -> None:
    db = tidelog.compile(REACH).open("spark", spark=NoSpark(), path=str(tmp_path), keep_epochs=keep)
    storm = Storm(db, seed=7, nodes=8)

    def work() -> None:
        for _ in range(20):
            storm.commit()

    storm.run(work, readers=2, pinned=2)
    db.close()


def parquet_files(path: Path) -> set[Path]:
    return set(path.glob("epoch-*/**/*.parquet"))


@pytest.mark.parametrize("keep", [0, 3])
def test_pins_keep_files_and_their_release_lets_them_go(tmp_path: Path, keep: int) -> None:
    db = tidelog.compile(REACH).open("auto", path=str(tmp_path), keep_epochs=keep)
    with db.transaction() as tx:
        tx.insert("Edge", [(f"{i}", f"{i + 1}") for i in range(10)])
    assert db.profile().pinned_bytes == 0
    snapshot = db.snapshot()
    before = snapshot.relation("Reach").rows()
    assert db.profile().pinned_bytes == 0, "the files are those of the state"
    for number in range(10):
        with db.transaction() as tx:
            tx.clear("Edge")
            tx.insert("Edge", [("x", f"{number}")])
    pinned = db.profile().pinned_bytes
    assert pinned > 0
    assert snapshot.relation("Reach").rows() == before
    assert snapshot.explain("Reach", ("0", "3")).height == 3
    assert db.profile().pinned_bytes > pinned, "the rows that the explanation has loaded"
    held = len(parquet_files(tmp_path))
    snapshot.close()
    assert db.profile().pinned_bytes == 0
    with db.transaction() as tx:
        tx.insert("Edge", [("x", "y")])
    assert len(parquet_files(tmp_path)) < held
    db.close()


def test_a_writer_removes_what_the_pins_of_a_dead_one_kept(tmp_path: Path) -> None:
    program = tidelog.compile(REACH)
    db = program.open("auto", path=str(tmp_path), keep_epochs=0)
    with db.transaction() as tx:
        tx.insert("Edge", [("a", "b")])
    snapshot = db.snapshot()
    for number in range(3):
        with db.transaction() as tx:
            tx.clear("Edge")
            tx.insert("Edge", [("a", f"{number}")])
    held = parquet_files(tmp_path)
    db._locked._engine._access.release()  # type: ignore[union-attr]  # as the death of its process does
    again = program.open("auto", path=str(tmp_path), keep_epochs=0)
    with again.transaction() as tx:
        tx.insert("Edge", [("z", "z")])
    assert len(parquet_files(tmp_path) & held) < len(held)
    assert again.relation("Reach").rows() == [("a", "2"), ("z", "z")]
    again.close()
    del snapshot


def test_a_snapshot_keeps_its_rules(tmp_path: Path) -> None:
    db = tidelog.compile(REACH).open("auto", path=str(tmp_path), keep_epochs=0)
    with db.transaction() as tx:
        tx.insert("Edge", [("a", "b"), ("b", "c")])
    with db.snapshot() as snapshot:
        with db.transaction() as tx:
            tx.remove_rules("Reach(x, z) :- Reach(x, y), Edge(y, z).")
            tx.add_rules("output relation Twice(x: string, y: string)\nTwice(x, y) :- Edge(x, y).")
        for number in range(3):
            with db.transaction() as tx:
                tx.insert("Edge", [("b", f"{number}")])
        assert len(db.relation("Reach")) == 5
        assert snapshot.relation("Reach").rows() == [("a", "b"), ("a", "c"), ("b", "c")]
        assert snapshot.explain("Reach", ("a", "c")).height == 2
        assert "Twice" not in snapshot.relations
        assert "Twice" in db.relations
        with pytest.raises(tidelog.ProgramError):
            snapshot.query("Twice(x, y)")
        assert len(db.query("Twice(x, y)")) == 5
    db.close()


def test_a_failed_commit_leaves_readers_the_last_state() -> None:
    text = REACH + "input relation Bad(x: u32)\noutput relation Q(y: u32)\nQ(1 / x) :- Bad(x)."
    db = tidelog.compile(text).open("auto")
    with db.transaction() as tx:
        tx.insert("Edge", [("a", "b")])
    with db.snapshot() as snapshot:
        tx = db.transaction().begin()
        tx.insert("Edge", [("b", "c")])
        tx.insert("Bad", [(0,)])
        with pytest.raises(tidelog.EvaluationError, match="division"):
            tx.commit()
        for source in (db, snapshot):
            assert source.relation("Reach").rows() == [("a", "b")]
            assert source.query("Reach(x, y)").rows == [("a", "b")]
    db.close()


def test_readers_of_one_epoch_share_what_their_queries_load(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[frozenset[str]] = []
    load = queries.SparkQueries._loaded

    def counted(self: Any, names: frozenset[str], filters: Any) -> Any:
        loads.append(names)
        return load(self, names, filters)

    monkeypatch.setattr(queries.SparkQueries, "_loaded", counted)
    db = tidelog.compile(REACH).open("auto")
    with db.transaction() as tx:
        tx.insert("Edge", [(f"{i}", f"{i + 1}") for i in range(30)])
    errors: list[BaseException] = []

    def ask(seed: int) -> None:
        dice = random.Random(seed)
        try:
            for _ in range(15):
                a, b = sorted(dice.sample(range(30), 2))
                assert db.explain("Reach", (f"{a}", f"{b}")).height == b - a
                assert len(db.query(f'Free("{a}", x)').rows) == 30 - a
                assert len(db.query(f'Degree("{a}", x)').rows) == 1
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors
    assert len(loads) <= 3, "each set of relations once"
    db.close()


def test_a_snapshot_is_unusable_once_its_database_is_closed() -> None:
    db = tidelog.compile(REACH).open("auto")
    snapshot = db.snapshot()
    db.close()
    with pytest.raises(tidelog.UsageError, match="the database is closed"):
        len(snapshot.relation("Edge"))
    snapshot.close()
