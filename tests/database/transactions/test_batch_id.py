"""`db.transaction(batch=("feed", 17))`: a batch is committed once, however often it is delivered."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.database.programs import REACH
from tests.database.storage.kill import server
from tests.database.transactions.kill_batches import PROGRAM, ROWS, deliver

KEYED = "input relation H(id: u32, v: string) primary key (row) row.id\noutput relation O(id: u32)\nO(x) :- H(x, _)."


def test_a_batch_that_was_seen_before_commits_nothing() -> None:
    with tidelog.compile(PROGRAM).open() as db:
        assert [deliver(db, number) for number in (3, 3, 2, 7, 3, 8)] == [False, True, True, False, True, False]
        assert db.relation("Sum").rows() == [(3 * ROWS,)]
        assert (db.report.epoch, db.batches) == (3, {"feed": 8})


def test_a_skipped_transaction_has_no_report_and_no_changes_and_says_so_at_its_begin() -> None:
    with tidelog.compile(REACH).open() as db:
        for is_again in (False, True):
            tx = db.transaction(batch=("feed", 1)).begin()
            assert tx.skipped is is_again
            tx.insert("Edge", [("a", "b")])
            changes = tx.commit()
            assert (not changes) is is_again
            assert (tx.report is None) is is_again


def test_the_writes_of_a_skipped_batch_are_neither_read_nor_checked(tmp_path: Path) -> None:
    taken = []

    def rows() -> Any:
        taken.append(True)
        yield {"id": 1, "v": "again"}

    with tidelog.compile(KEYED).open() as db:
        with db.transaction(batch=("feed", 1)) as tx:
            tx.insert("H", [(1, "x")])
        with db.transaction(batch=("feed", 1)) as tx:
            tx.insert("H", rows())
            tx.insert("H", [(1, "x")])  # otherwise a key that is there
            tx.delete_key("H", 9)
            tx.modify("H", 9, {"v": "y"})
            tx.upsert("H", [(1, "z")])
            tx.delete("H", [(5, "")])
            tx.clear("H")
            tx.add_rules("O(y) :- H(x, _), var y = x + 1.")
            assert str(tx.load("H", tmp_path / "moved away.csv")) == ""
        assert (taken, db.relation("H").rows(), db.relation("O").rows()) == ([], [(1, "x")], [(1,)])


def test_feeds_count_apart_and_a_batch_without_net_effect_counts() -> None:
    with tidelog.compile(REACH).open() as db:
        for feed in ("one", "other"):
            with db.transaction(batch=(feed, 5)) as tx:
                tx.insert("Edge", [("a", "b")])
            assert (tx.skipped, tx.report is None) == (False, feed == "other")
        assert db.batches == {"one": 5, "other": 5}


def test_a_batch_that_was_rolled_back_may_come_again() -> None:
    with tidelog.compile(REACH).open() as db:
        tx = db.transaction(batch=("feed", 1)).begin()
        tx.insert("Edge", [("a", "b")])
        tx.rollback()
        with db.transaction(batch=("feed", 1)) as tx:
            tx.insert("Edge", [("a", "b")])
        assert (tx.skipped, db.batches) == (False, {"feed": 1})


def test_a_transaction_without_a_batch_is_never_skipped() -> None:
    with tidelog.compile(REACH).open() as db:
        with db.transaction(batch=("feed", 1)) as tx:
            tx.insert("Edge", [("a", "b")])
        with db.transaction() as tx:
            tx.insert("Edge", [("b", "c")])
        assert (tx.skipped, len(db.relation("Reach"))) == (False, 3)


def test_batches_in_asyncio_are_skipped_too() -> None:
    async def run(db: tidelog.Database) -> list[bool]:
        seen = []
        for _ in range(2):
            async with db.transaction(batch=("feed", 1)) as tx:
                tx.insert("Edge", [("a", "b")])
            seen.append(tx.skipped)
        return seen

    with tidelog.compile(REACH).open() as db:
        assert asyncio.run(run(db)) == [False, True]


@pytest.mark.parametrize(
    "wrong", ["feed", ("feed",), ("feed", -1), ("feed", "1"), ("feed", True), ("", 1), (1, "feed"), ("f", 1 << 63), 7]
)
def test_a_wrong_batch_is_an_error_before_anything_is_locked(wrong: Any) -> None:
    with tidelog.compile(REACH).open() as db:
        with pytest.raises(tidelog.UsageError, match="it must be the name of a feed and a whole number") as raised:
            db.transaction(batch=wrong)
        assert raised.value.code == "E413"
        with db.transaction() as tx:
            tx.insert("Edge", [("a", "b")])


def test_the_number_lasts_through_reopening_backup_migration_and_the_other_engine(tmp_path: Path) -> None:
    with tidelog.compile(REACH).open(path=tmp_path / "db") as db:
        with db.transaction(batch=("feed", 4)) as tx:
            tx.insert("Edge", [("a", "b")])
        db.backup(tmp_path / "copy")
    changed = tidelog.compile(REACH + "output relation More(x: string)\nMore(x) :- Edge(x, _).")
    ways: list[Callable[[], tidelog.Database]] = [
        lambda: tidelog.open(tmp_path / "db"),
        lambda: tidelog.open(tmp_path / "copy"),
        lambda: changed.open(path=tmp_path / "copy", migrate=True),
        lambda: changed.open("auto", path=tmp_path / "copy"),
        lambda: tidelog.compile(REACH).open("auto", path=tmp_path / "copy", migrate={"drop": "*"}),
        lambda: tidelog.open(tmp_path / "copy", engine="local"),
    ]
    for open_ in ways:
        with open_() as db:
            assert db.batches == {"feed": 4}
            with db.transaction(batch=("feed", 4)) as tx:
                tx.insert("Edge", [("x", "y")])
            assert tx.skipped


def test_a_reader_sees_the_numbers_of_its_epoch(tmp_path: Path) -> None:
    with tidelog.compile(REACH).open(path=tmp_path) as db, tidelog.open(tmp_path, read_only=True) as reader:
        with db.transaction(batch=("feed", 1)) as tx:
            tx.insert("Edge", [("a", "b")])
        assert reader.batches == {}
        reader.refresh()
        assert reader.batches == {"feed": 1}


def test_after_kills_each_batch_is_there_once(tmp_path: Path) -> None:
    dice = random.Random(5)
    program = tidelog.compile(PROGRAM)
    with server("tests.database.transactions.kill_batches") as running:
        for seed, engine in enumerate(("local", "auto")):
            directory, number = tmp_path / engine, 0
            for _ in range(8):
                # The source is behind: it delivers some batches again.
                number = running.run(seed, max(number - 2, 0), directory, dice.uniform(0, 0.1), after_a_commit=True)
            with program.open(engine, path=directory, read_only=True) as db:
                last = db.batches["feed"]
                assert last in (number - 1, number)
                assert db.relation("Sum").rows() == [((last + 1) * ROWS,)]
                assert db.relation("Batch").rows() == [(each,) for each in range(last + 1)]


@pytest.mark.spark
def test_a_batch_of_foreach_batch_is_taken_once(spark: Any, tmp_path: Path) -> None:
    db = tidelog.compile(REACH).open("spark", spark=spark, path=tmp_path / "db")
    frame = spark.createDataFrame([("a", "b")], "src string, dst string")
    for number, is_again in ((0, False), (0, True), (1, False)):
        with db.transaction(batch=("stream", number)) as tx:
            tx.insert("Edge", frame)
        assert (tx.skipped, tx.report is None) == (is_again, number > 0 or is_again)
    assert db.batches == {"stream": 1}
    db.close()
