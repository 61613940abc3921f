"""Reads beside commits, and snapshots over many of them: every read is of one committed epoch."""

from __future__ import annotations

import gc
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.database.concurrency.storm import REACH, Storm
from tidelog.engine.local.encoding import pool
from tidelog.engine.local.queries.store_at import StoreAt
from tidelog.engine.local.storage.arrangement import Arrangement

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


class Slow:
    """A database whose commit of `Go` lasts until `go_on` is set."""

    def __init__(self, **options: Any) -> None:
        self.is_running, self.go_on = threading.Event(), threading.Event()
        program = tidelog.compile(SLOW, externs={"slowly": self._slowly})
        self.db = program.open(**options)
        with self.db.transaction() as tx:
            tx.insert("Edge", [(i, i + 1) for i in range(20)])

    def _slowly(self, x: int) -> int:
        self.is_running.set()
        assert self.go_on.wait(30)
        return x

    def __enter__(self) -> Slow:
        self._thread = threading.Thread(target=self._commit)
        self._thread.start()
        assert self.is_running.wait(30)
        return self

    def _commit(self) -> None:
        with self.db.transaction() as tx:
            tx.insert("Go", [(1,)])
            tx.delete("Edge", [(3, 4)])
            tx.insert("Edge", [(50, 51)])

    def __exit__(self, *_: object) -> None:
        self.go_on.set()
        self._thread.join(30)
        assert not self._thread.is_alive()


@pytest.mark.parametrize("is_durable", [False, True])
def test_no_read_waits_for_a_commit(tmp_path: Path, is_durable: bool) -> None:
    with Slow(**({"path": tmp_path / "db"} if is_durable else {})) as slow:
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
        with db.snapshot() as snapshot:
            assert len(snapshot.relation("Reach")) == 210
            slow.go_on.set()
            slow._thread.join(30)
            assert (3, 4) in snapshot.relation("Reach")
            assert (3, 4) not in reach
            assert snapshot.relation("Reach").lookup(a=3) == [(3, b) for b in range(4, 21)]
            assert snapshot.explain("Reach", (2, 5)).height == 3
            assert (50, 51) in reach
            assert (50, 51) not in snapshot.relation("Reach")
    db.close()


def test_a_query_holds_up_no_commit_and_sees_one_epoch() -> None:
    began, go_on = threading.Event(), threading.Event()

    def wait(x: int) -> int:
        began.set()
        assert go_on.wait(30)
        return x

    program = tidelog.compile(
        "input relation A(x: u32)\nextern function wait(x: u32): u32\noutput relation B(x: u32)\nB(x) :- A(x).",
        externs={"wait": wait},
    )
    db = program.open()
    with db.transaction() as tx:
        tx.insert("A", [(1,), (2,)])
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(db.query("A(x), var y = wait(x), B(x)").rows))
    thread.start()
    assert began.wait(30)
    for number in range(3, 20):
        with db.transaction() as tx:
            tx.insert("A", [(number,)])
            tx.delete("A", [(number - 2,)])
    go_on.set()
    thread.join(30)
    assert answers == [[(1, 1), (2, 2)]]
    assert sorted(db.relation("B").rows()) == [(18,), (19,)]


def test_cancel_ends_a_query() -> None:
    db = tidelog.compile("input relation A(x: u64)").open()
    with db.transaction() as tx:
        tx.insert("A", [(i,) for i in range(3000)])
    errors: list[tidelog.EvaluationError] = []

    def ask() -> None:
        try:
            db.query("A(x), A(y), A(z), x + y + z == 100000000")
        except tidelog.EvaluationError as error:
            errors.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    while not db.cancel():
        time.sleep(0.01)
    thread.join(10)
    assert not thread.is_alive()
    assert [str(error.code) for error in errors] == ["E608"]


def test_reads_beside_updates_are_of_committed_epochs() -> None:
    storm = Storm(tidelog.compile(REACH).open(), seed=1)

    def work() -> None:
        for _ in range(60):
            storm.commit()

    storm.run(work)


def test_reads_beside_bootstraps_are_of_committed_epochs() -> None:
    storm = Storm(tidelog.compile(REACH).open(strategy="recompute"), seed=2)

    def work() -> None:
        for _ in range(40):
            storm.commit(size=8)

    storm.run(work)


@pytest.mark.parametrize("strategy", ["counting", "elastic-paper", "circuit"])
def test_reads_beside_other_strategies_are_of_committed_epochs(strategy: str) -> None:
    storm = Storm(tidelog.compile(REACH).open(strategy=strategy), seed=3, nodes=8)

    def work() -> None:
        for _ in range(25):
            storm.commit()

    storm.run(work, readers=2)


def test_reads_beside_rolled_back_epochs_are_of_committed_epochs() -> None:
    db = tidelog.compile(REACH + "input relation Bad(x: u32)\noutput relation Q(y: u32)\nQ(1 / x) :- Bad(x).").open()
    storm = Storm(db, seed=4)

    def work() -> None:
        for number in range(50):
            if number % 2:
                storm.commit()
                continue
            tx = db.transaction().begin()
            storm.change(tx, size=6)
            tx.insert("Bad", [(0,)])
            with pytest.raises(tidelog.EvaluationError, match="division"):
                tx.commit()

    storm.run(work)


def test_reads_beside_checkpoints_are_of_committed_epochs(tmp_path: Path) -> None:
    db = tidelog.compile(REACH).open(path=tmp_path / "db")
    storm = Storm(db, seed=5)
    engine: Any = db._locked._engine

    def work() -> None:
        for number in range(40):
            storm.commit()
            if number % 8 == 0:
                engine.checkpoint()

    storm.run(work)
    rows = db.relation("Reach").rows()
    db.close()
    assert tidelog.open(tmp_path / "db").relation("Reach").rows() == rows


def test_reads_beside_changes_of_rules_are_of_committed_epochs() -> None:
    db = tidelog.compile(REACH).open()
    storm = Storm(db, seed=6)
    text = "output relation Back(x: string, y: string)\nBack(y, x) :- Reach(x, y)."

    def work() -> None:
        for number in range(30):
            storm.commit()
            with db.transaction() as tx:
                if number % 2 == 0:
                    tx.add_rules(text if number == 0 else "Back(y, x) :- Reach(x, y).")
                else:
                    tx.remove_rules("Back(y, x) :- Reach(x, y).")

    storm.run(work)


def test_a_snapshot_keeps_its_rules() -> None:
    db = tidelog.compile(REACH).open()
    with db.transaction() as tx:
        tx.insert("Edge", [("a", "b"), ("b", "c")])
    with db.snapshot() as snapshot:
        with db.transaction() as tx:
            tx.remove_rules("Reach(x, z) :- Reach(x, y), Edge(y, z).")
            tx.add_rules("output relation Twice(x: string, y: string)\nTwice(x, y) :- Edge(x, y).")
        assert len(db.relation("Reach")) == 2
        assert snapshot.relation("Reach").rows() == [("a", "b"), ("a", "c"), ("b", "c")]
        assert snapshot.explain("Reach", ("a", "c")).height == 2
        assert "Twice" not in snapshot.relations
        assert "Twice" in db.relations
        assert len(snapshot.rules()) == len(db.rules())
        with pytest.raises(tidelog.ProgramError):
            snapshot.query("Twice(x, y)")
        assert len(db.query("Twice(x, y)")) == 2


def test_values_that_readers_decode_are_not_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "SMALLEST_SWEEP", 8)
    db = tidelog.compile("input relation A(x: string)\noutput relation B(x: string)\nB(x) :- A(x).").open()

    def put(number: int) -> None:
        with db.transaction() as tx:
            tx.clear("A")
            tx.insert("A", [(f"value {number} {i}",) for i in range(30)])

    put(0)
    errors: list[str] = []
    is_over = threading.Event()

    def read() -> None:
        while not is_over.is_set():
            rows = [x for (x,) in db.relation("B").rows()]
            if len(rows) != 30 or len({x.split()[1] for x in rows}) != 1:
                errors.append(str(rows))

    threads = [threading.Thread(target=read) for _ in range(3)]
    with db.snapshot() as snapshot:
        for thread in threads:
            thread.start()
        for number in range(1, 150):
            put(number)
        assert sorted(x for (x,) in snapshot.relation("B").rows()) == sorted(f"value 0 {i}" for i in range(30))
        assert db.profile().pinned_bytes > 0
    for number in range(150, 300):
        put(number)
    is_over.set()
    for thread in threads:
        thread.join(30)
    assert not errors
    engine: Any = db._locked._engine
    size = sum(map(len, engine._values.pools))
    for number in range(300, 302 + size // 8 // 30):  # a sweep that readers have put off comes after that many values
        put(number)
    assert db.profile().pinned_bytes == 0
    assert sum(map(len, engine._values.pools)) < 2000
    assert engine.stored_rows() == 60


def test_pins_keep_the_rows_that_are_deleted_later_and_no_others() -> None:
    db = tidelog.compile("input relation A(x: u32)").open()
    with db.transaction() as tx:
        tx.insert("A", [(i,) for i in range(100)])
    engine: Any = db._locked._engine
    snapshot = db.snapshot()
    for number in range(50):
        with db.transaction() as tx:
            tx.delete("A", [(number,)])
            tx.insert("A", [(1000 + number,)])
    assert [x for (x,) in snapshot.relation("A").rows()] == list(range(100))
    assert db.profile().pinned_bytes > 50 * 3 * 8
    used = int(engine._store("A").line[4])
    assert used == 150
    snapshot.close()
    assert db.profile().pinned_bytes == 0
    for number in range(50):
        with db.transaction() as tx:
            tx.insert("A", [(5000 + number,)])
    assert int(engine._store("A").line[4]) == used, "the lines are used again"
    with pytest.raises(tidelog.UsageError, match="the snapshot is closed"):
        snapshot.relation("A").rows()


def test_a_snapshot_of_weighted_relations_stays_as_it_is() -> None:
    db = tidelog.compile("input multiset M(x: u32)\noutput multiset N(x: u32)\nN(x / 2) :- M(x).").open()
    with db.transaction() as tx:
        tx.insert("M", [(1,), (1,), (2,), (4,)])
    with db.snapshot() as snapshot:
        before = snapshot.relation("N").weights(), snapshot.relation("M").weights()
        for _ in range(3):
            with db.transaction() as tx:
                tx.insert("M", [(1,), (9,)])
                tx.delete("M", [(2,)])
        assert (snapshot.relation("N").weights(), snapshot.relation("M").weights()) == before
        assert snapshot.query("N(x)").rows == [(0,), (1,), (2,)]
        assert db.relation("N").weights() != before[0]


def test_a_snapshot_is_unusable_once_its_database_is_closed() -> None:
    db = tidelog.compile("input relation A(x: u32)").open()
    snapshot = db.snapshot()
    db.close()
    with pytest.raises(tidelog.UsageError, match="the database is closed"):
        len(snapshot.relation("A"))
    snapshot.close()


def test_making_a_snapshot_copies_nothing() -> None:
    db = tidelog.compile("input relation A(x: u32)").open()
    with db.transaction() as tx:
        tx.insert("A", [(i,) for i in range(200_000)])
    snapshots = [db.snapshot() for _ in range(100)]
    assert db.profile().pinned_bytes == 0
    assert {snapshot.epoch for snapshot in snapshots} == {db.report.epoch}
    for snapshot in snapshots:
        snapshot.close()


def test_an_iterator_stays_on_its_epoch() -> None:
    db = tidelog.compile("input relation A(x: u32)").open()
    with db.transaction() as tx:
        tx.insert("A", [(i,) for i in range(30_000)])
    rows = iter(db.relation("A"))
    assert next(rows) == (0,)
    with db.transaction() as tx:
        tx.clear("A")
    assert len(list(rows)) == 29_999


def test_a_query_with_a_deadline_ends() -> None:
    db = tidelog.compile("input relation A(x: u64)").open()
    with db.transaction() as tx:
        tx.insert("A", [(i,) for i in range(3000)])
    with db.snapshot() as snapshot:
        for source in (db, snapshot):
            with pytest.raises(tidelog.EvaluationError, match="deadline"):
                source.query("A(x), A(y), A(z), x + y + z == 100000000", deadline=0.05)


def test_a_forked_child_reads_a_snapshot_of_its_parent() -> None:
    db = tidelog.compile("input relation A(x: u32)").open()
    with db.transaction() as tx:
        tx.insert("A", [(1,), (2,)])
    with db.snapshot() as snapshot:
        with db.transaction() as tx:
            tx.delete("A", [(1,)])
        child = os.fork()
        if not child:
            try:
                right = snapshot.relation("A").rows() == [(1,), (2,)] and db.relation("A").rows() == [(2,)]
                os._exit(0 if right else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_explanations_of_groups_inside_recursion_are_of_the_snapshot() -> None:
    text = """
    input relation Edge(a: u32, b: u32, w: u32)
    output relation Dist(n: u32, d: u32)
    Dist(0, 0).
    Dist(b, d) :- Dist(a, c), Edge(a, b, w), var d = (c + w).group_by(b).min().
    """
    db = tidelog.compile(text).open()
    with db.transaction() as tx:
        tx.insert("Edge", [(0, 1, 4), (1, 2, 3), (0, 2, 9)])
    with db.snapshot() as snapshot:
        before = str(snapshot.explain("Dist", (2, 7)))
        with db.transaction() as tx:
            tx.insert("Edge", [(0, 2, 1)])
        assert str(snapshot.explain("Dist", (2, 7))) == before
        assert (2, 7) not in db.relation("Dist")
        assert "Edge(0, 2, 1)" in str(db.explain("Dist", (2, 1)))


def test_a_child_forked_beside_a_reader_gets_an_error_at_once() -> None:
    began, go_on = threading.Event(), threading.Event()

    def wait(x: int) -> int:
        began.set()
        assert go_on.wait(30)
        return x

    text = "input relation A(x: u32)\nextern function wait(x: u32): u32\noutput relation B(x: u32)\nB(x) :- A(x)."
    db = tidelog.compile(text, externs={"wait": wait}).open()
    with db.transaction() as tx:
        tx.insert("A", [(1,)])
    thread = threading.Thread(target=lambda: db.query("A(x), var y = wait(x)"))
    thread.start()
    assert began.wait(30)
    child = os.fork()
    if not child:
        try:
            len(db.relation("A"))
        except tidelog.UsageError as error:
            os._exit(0 if error.code == "E859" else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    go_on.set()
    thread.join(30)
    assert len(db.relation("A")) == 1


@pytest.mark.parametrize("strategy", ["recompute", "elastic"])
def test_a_bootstrap_keeps_the_arrangements_that_readers_use(strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    db = tidelog.compile(SLOW, externs={"slowly": lambda x: x}).open(strategy=strategy)
    reach = db.relation("Reach")

    def load(first: int) -> None:
        with db.transaction() as tx:
            tx.clear("Edge")
            tx.insert("Edge", [(first + i, first + i + 1) for i in range(120)])

    load(0)
    assert len(reach.lookup(b=7)) == 7
    assert len(reach.lookup(b=7)) == 7
    load(1000)
    monkeypatch.setattr(StoreAt, "scan", lambda *_: pytest.fail("a reader scans"))
    monkeypatch.setattr(Arrangement, "build", lambda *_, **__: pytest.fail("a reader builds an arrangement"))
    assert len(reach.lookup(b=1007)) == 7
    assert db.query("Reach(x, 1003)").rows == [(1000,), (1001,), (1002,)]


@pytest.mark.parametrize("strategy", ["recompute", "elastic"])
def test_queries_that_come_again_and_again_get_an_arrangement(strategy: str) -> None:
    db = tidelog.compile(SLOW, externs={"slowly": lambda x: x}).open(strategy=strategy)
    engine: Any = db._locked._engine
    for number in range(300):
        if number % 20 == 0:
            with db.transaction() as tx:
                tx.insert("Edge", [(number, number + 1), (number + 1, number + 2)])
        assert len(db.query("Edge(x, $b)", params={"b": number // 20 * 20 + 2}).rows) == 1
        assert ((1,) in engine._store("Edge").arranged()) == (number >= 260), number


def test_a_state_of_the_past_is_freed_without_the_garbage_collector() -> None:
    db = tidelog.compile(SLOW, externs={"slowly": lambda x: x}).open(strategy="recompute")
    gc.disable()
    try:
        for number in range(3):
            with db.transaction() as tx:
                tx.insert("Edge", [(number, number + 1)])
            with db.snapshot() as snapshot, db.transaction() as tx:
                tx.insert("Edge", [(100 + number, number)])
                assert len(snapshot.query("Reach(x, y), Edge(y, z)").rows) >= 0
            assert db.explain("Reach", (100 + number, number)).height == 1
            with db.transaction() as tx:
                tx.insert("Edge", [(50 + number, 51 + number)])
            assert db.profile().pinned_bytes == 0
    finally:
        gc.enable()
