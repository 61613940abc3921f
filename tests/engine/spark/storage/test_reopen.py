"""Databases on Spark that are closed and opened again; their tasks run in this process, so that no Spark is needed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.database.programs import FACTS, REACH
from tests.engine.spark.in_process import NoSpark, run_tasks_here

import tidelog
from tidelog.database.transactions.transaction import CommitOptions
from tidelog.engine.interface import Operation
from tidelog.engine.spark.engine import SparkEngine
from tidelog.engine.spark.epoch import run_epoch
from tidelog.engine.spark.storage.directory import StateDirectory
from tidelog.engine.spark.storage.publish import last_manifest

EDGES = [("a", "b"), ("b", "c"), ("c", "d")]


@pytest.fixture(autouse=True)
def tasks_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_epoch, "run_tasks", run_tasks_here(lambda: False))


def open_(text: str, path: object, **options: Any) -> tidelog.Database:
    return tidelog.compile(text).open("spark", spark=NoSpark(), path=str(path), **options)


def reopen(path: object, **options: Any) -> tidelog.Database:
    return tidelog.open(str(path), spark=NoSpark(), **options)


def insert(database: tidelog.Database, relation: str, *rows: Any) -> tidelog.Transaction:
    with database.transaction() as tx:
        tx.insert(relation, list(rows))
    return tx


def files_in(path: Path) -> set[str]:
    return {str(file.relative_to(path)) for file in path.rglob("*") if file.is_file() and file.name != "lock"}


def files_named(path: Path) -> set[str]:
    manifest = last_manifest(StateDirectory(str(path)))
    assert manifest is not None
    return {*manifest.named, f"manifest-{manifest.version:012}.json"}


def test_what_was_committed_is_there_after_closing_and_opening(tmp_path: Path) -> None:
    with open_(REACH, tmp_path) as db:
        insert(db, "Edge", *EDGES[:2])
    with open_(REACH, tmp_path) as db:
        assert (db.report.epoch, dict(db.report.rows)["Reach"]) == (1, 3)
        assert len(db.initial) == 0
        assert db.relation("Reach").rows() == [("a", "b"), ("a", "c"), ("b", "c")]
        tx = insert(db, "Edge", EDGES[2])
        assert tx.changes["Reach"].inserted == [("a", "d"), ("b", "d"), ("c", "d")]
        assert tx.report is not None
        assert {stratum.strategy for stratum in tx.report.strata if "Reach" in stratum.relations} == {"update"}
    with reopen(tmp_path) as db:
        with db.transaction() as tx:
            tx.delete("Edge", EDGES[:1])
        assert tx.changes["Reach"].deleted == [("a", "b"), ("a", "c"), ("a", "d")]


def test_the_changes_of_opening_are_those_of_the_first_time_alone(tmp_path: Path) -> None:
    with open_(FACTS, tmp_path) as db:
        assert db.initial["Out"].inserted == [(1,)]
    with reopen(tmp_path) as db:
        assert len(db.initial) == 0
        assert db.relation("Out").rows() == [(1,)]


def test_a_key_that_was_given_before_closing_is_known_after_opening(tmp_path: Path) -> None:
    text = "input relation Host(name: string, up: bool) primary key (h) h.name"
    with open_(text, tmp_path) as db:
        insert(db, "Host", ("a", True), ("b", True))
    with open_(text, tmp_path) as db:
        with pytest.raises(tidelog.TransactionError, match=r"the key 'a' is there"):
            insert(db, "Host", ("a", False))
        with db.transaction() as tx:
            tx.modify("Host", "a", {"up": False})
            tx.delete_key("Host", "b")
    with open_(text, tmp_path) as db:
        assert db.relation("Host").rows() == [("a", False)]


def test_another_version_of_an_extern_function_derives_everything_anew(tmp_path: Path) -> None:
    text = "extern function f(x: u8): u8\ninput relation A(x: u8)\noutput relation B(x: u8)\nB(f(x)) :- A(x)."

    def opened(add: int, version: int) -> tidelog.Database:
        def f(x: int) -> int:
            return x + add

        f.version = version  # type: ignore[attr-defined]
        return tidelog.compile(text, externs={"f": f}).open("spark", spark=NoSpark(), path=str(tmp_path))

    with opened(1, 1) as db:
        insert(db, "A", 1, 2)
        assert db.relation("B").rows() == [(2,), (3,)]
    with opened(5, 1) as db:
        assert db.relation("B").rows() == [(2,), (3,)], "the same version: what was derived stays"
    with opened(5, 2) as db:
        assert (db.relation("B").rows(), db.report.epoch) == ([(6,), (7,)], 2)
        insert(db, "A", 3)
        assert db.relation("B").rows() == [(6,), (7,), (8,)]
    with opened(5, 2) as db:
        assert db.report.epoch == 3


def test_facts_of_a_relation_that_rules_derive_too_stay_apart(tmp_path: Path) -> None:
    text = "input relation A(x: u8)\ninput relation B(x: u8)\nB(x) :- A(x)."
    with open_(text, tmp_path) as db:
        insert(db, "A", 1, 2)
        insert(db, "B", 2, 3)
    with reopen(tmp_path) as db:
        with db.transaction() as tx:
            tx.delete("B", [2, 3])
        assert db.relation("B").rows() == [(1,), (2,)]


def test_marks_last_with_the_epoch_that_set_them_and_without_one(tmp_path: Path) -> None:
    with open_(REACH, tmp_path) as db:
        for feed in (1, 2):
            with db.transaction() as tx:
                tx.insert("Edge", EDGES)
                tx._commit_with(CommitOptions(marks={"feed": feed}))
        assert (db.report.epoch, db._locked.marks()) == (1, {"feed": 2})
    with reopen(tmp_path) as db:
        assert (db.report.epoch, db._locked.marks()) == (1, {"feed": 2})
        insert(db, "Edge", ("x", "y"))
        assert db._locked.marks() == {"feed": 2}


def test_one_process_writes_and_others_read(tmp_path: Path) -> None:
    with open_(REACH, tmp_path) as db:
        insert(db, "Edge", EDGES[0])
        with pytest.raises(tidelog.UsageError, match=r"E851.*open for writing in this process"):
            open_(REACH, tmp_path)
        with reopen(tmp_path, read_only=True) as reader:
            insert(db, "Edge", EDGES[1])
            assert len(reader.relation("Reach")) == 1
            reader.refresh()
            assert (len(reader.relation("Reach")), reader.report.epoch) == (3, 2)
            with pytest.raises(tidelog.TransactionError, match=r"E856"):
                insert(reader, "Edge", EDGES[2])
    reopen(tmp_path).close()


def test_a_reader_that_is_too_far_behind_is_told_to_refresh(tmp_path: Path) -> None:
    with open_(REACH, tmp_path, keep_epochs=1) as db:
        insert(db, "Edge", EDGES[0])
        with reopen(tmp_path, read_only=True) as reader:
            for number in range(3):
                insert(db, "Edge", (f"{number}", f"{number + 1}"))
            with pytest.raises(tidelog.DataError, match=r"E853(.|\n)*refresh"):
                reader.relation("Reach").rows()
            reader.refresh()
            assert len(reader.relation("Edge")) == 4


@pytest.mark.parametrize("keep", [0, 1, 3])
def test_files_stay_for_so_many_epochs_also_beyond_a_reopening(tmp_path: Path, keep: int) -> None:
    named: list[set[str]] = []
    for number in range(7):
        with open_(REACH, tmp_path, keep_epochs=keep) as db:
            insert(db, "Edge", (f"{number}", f"{number + 1}"))
            manifest = last_manifest(StateDirectory(str(tmp_path)))
            assert manifest is not None
            named.append(set(manifest.files))
    left = {name for name in files_in(tmp_path) if "manifest" not in name and "changes" not in name}
    wanted = {name for names in named[-1 - keep :] for name in names if "changes" not in name}
    assert left == wanted


def test_what_a_crash_leaves_is_swept_at_opening(tmp_path: Path) -> None:
    with open_(REACH, tmp_path) as db:
        insert(db, "Edge", *EDGES)
        first = db.relation("Reach").rows()
    (tmp_path / "epoch-2").mkdir()
    for name in ("epoch-2/Edge.changes.0.parquet", "epoch-1/claim.x.0", "draft.abc", "manifest-000000000001.json"):
        (tmp_path / name).write_text("left behind")
    (tmp_path / "epoch-7" / "Reach.base.1.parquet" / "_temporary").mkdir(parents=True)
    reopen(tmp_path, read_only=True).close()
    assert (tmp_path / "draft.abc").exists(), "a reader has removed something"
    with reopen(tmp_path) as db:
        assert files_in(tmp_path) == files_named(tmp_path)
        assert not (tmp_path / "epoch-7").exists()
        assert db.relation("Reach").rows() == first
        insert(db, "Edge", ("d", "e"))


def test_a_crash_in_the_first_epoch_leaves_a_directory_that_can_be_used(tmp_path: Path) -> None:
    (tmp_path / "epoch-0").mkdir()
    (tmp_path / "epoch-0" / "Edge.base.0.parquet").write_text("half a file")
    with open_(REACH, tmp_path) as db:
        assert db.report.epoch == 0
        assert files_in(tmp_path) == files_named(tmp_path)


def test_a_commit_that_cannot_be_published_leaves_the_last_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with open_(REACH, tmp_path) as db:
        insert(db, "Edge", EDGES[0])
        with monkeypatch.context() as patch:
            patch.setattr(StateDirectory, "publish", fail)
            with pytest.raises(tidelog.TransactionError, match=r"E854.*No space left"):
                insert(db, "Edge", EDGES[1])
        assert db.relation("Reach").rows() == [("a", "b")]
        assert files_in(tmp_path) == files_named(tmp_path)
        insert(db, "Edge", EDGES[1])
        assert len(db.relation("Reach")) == 3


def test_an_interrupt_while_publishing_comes_after_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish: Callable[..., None] = StateDirectory.publish

    def interrupted(*arguments: Any, **options: Any) -> None:
        publish(*arguments, **options)
        os.kill(os.getpid(), signal.SIGINT)

    with open_(REACH, tmp_path) as db:
        tx = db.transaction().begin()
        tx.insert("Edge", EDGES)
        with monkeypatch.context() as patch:
            patch.setattr(StateDirectory, "publish", interrupted)
            with pytest.raises(KeyboardInterrupt):
                tx.commit()
        assert len(tx.changes["Reach"].inserted) == len(db.relation("Reach")) == 6
    with reopen(tmp_path) as db:
        assert len(db.relation("Reach")) == 6


def test_another_program_is_refused_with_the_difference_or_takes_over_the_facts(tmp_path: Path) -> None:
    other = REACH.replace("Reach(x, z) :- Reach(x, y), Edge(y, z).", "Reach(x, z) :- Reach(x, y), Reach(y, z).")
    assert other != REACH
    with open_(REACH, tmp_path) as db:
        insert(db, "Edge", *EDGES)
        with db.transaction() as tx:
            tx._commit_with(CommitOptions(marks={"feed": 3}))
    with pytest.raises(tidelog.UsageError, match=r"E855(.|\n)*\+Reach\(x, z\) :- Reach\(x, y\), Reach"):
        open_(other, tmp_path)
    reader = reopen(tmp_path, read_only=True)
    with open_(other, tmp_path, migrate=True) as db:
        assert len(db.relation("Reach")) == 6
        assert (db.report.epoch, db._locked.marks()) == (2, {"feed": 3})
        insert(db, "Edge", ("d", "e"))
        assert len(db.relation("Reach")) == 10
        with pytest.raises(tidelog.UsageError, match=r"E855.*another program since"):
            reader.refresh()
        assert len(reader.relation("Reach")) == 6
    with reopen(tmp_path) as db:
        assert len(db.relation("Reach")) == 10


def test_facts_without_a_place_in_another_program_are_not_lost(tmp_path: Path) -> None:
    with open_(REACH, tmp_path) as db:
        insert(db, "Edge", *EDGES)
    with pytest.raises(tidelog.UsageError, match=r"it would lose 3 facts of `Edge`"):
        open_("input relation Host(name: string)", tmp_path, migrate=True)
    with reopen(tmp_path) as db:
        assert len(db.relation("Reach")) == 6


def test_the_text_of_the_manifest_is_checked(tmp_path: Path) -> None:
    with open_(REACH, tmp_path) as db:
        insert(db, "Edge", *EDGES)
    (manifest,) = tmp_path.glob("manifest-*.json")
    good = manifest.read_text()
    manifest.write_text(good.replace('"epoch": 1', '"epoch": 4', 1))
    with pytest.raises(tidelog.DataError, match=r"E853.*not as it was written"):
        reopen(tmp_path)
    manifest.write_text(good[: len(good) // 2])
    with pytest.raises(tidelog.DataError, match=r"E853.*cannot be read"):
        reopen(tmp_path)
    manifest.write_text(good.replace('"format": 3', '"format": 99', 1))
    with pytest.raises(tidelog.UsageError, match=r"E857.*format 99"):
        reopen(tmp_path)


def test_a_state_file_that_is_missing_or_damaged_is_an_error_and_not_a_wrong_answer(tmp_path: Path) -> None:
    with open_(REACH, tmp_path) as db:
        insert(db, "Edge", *EDGES)
    (file,) = tmp_path.glob("epoch-1/Reach.base.*")
    file.write_bytes(file.read_bytes()[:-20])
    with reopen(tmp_path) as db, pytest.raises(tidelog.DataError, match=r"E853.*Reach.base.*cannot be read"):
        db.relation("Reach").rows()
    file.unlink()
    with reopen(tmp_path) as db, pytest.raises(tidelog.DataError, match=r"E853.*Reach.base.*not there"):
        db.relation("Reach").rows()


def test_directories_of_other_things_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("")
    with pytest.raises(tidelog.UsageError, match=r"E852.*thesis\.tex"):
        open_(REACH, other)
    with pytest.raises(tidelog.UsageError, match=r"E852.*no manifest"):
        open_(REACH, tmp_path / "nothing", read_only=True)


@pytest.mark.parametrize("address", ["ftp://host/state", "s3a://", "dbfs:/state"])
def test_an_address_that_pyarrow_does_not_know_is_refused(address: str) -> None:
    with pytest.raises(tidelog.UsageError, match=r"E706(.|\n)*pyarrow"):
        open_(REACH, address)


def test_an_address_of_a_local_file_is_the_path(tmp_path: Path) -> None:
    with open_(REACH, f"file://{tmp_path}") as db:
        insert(db, "Edge", *EDGES)
        with pytest.raises(tidelog.UsageError, match=r"E851"):
            open_(REACH, tmp_path)
    with reopen(f"file:{tmp_path}") as db:
        assert len(db.relation("Reach")) == 6


def test_where_no_lock_keeps_two_writers_apart_the_first_one_is_refused(tmp_path: Path) -> None:
    rules = tidelog.compile(REACH).stages.rules
    table = pa.table({"src": ["a"], "dst": ["b"]})
    first, second = (SparkEngine(rules, NoSpark(), str(tmp_path)) for _ in range(2))
    first.open()
    with pytest.raises(tidelog.UsageError, match=r"E851.*has committed since"):
        second.open()
    third = SparkEngine(rules, NoSpark(), str(tmp_path))
    third.open()
    with pytest.raises(tidelog.UsageError, match=r"E851.*has committed since"):
        first.commit([Operation("Edge", 1, table)])
    third.commit([Operation("Edge", 1, table)])
    assert (first.count("Edge"), third.count("Edge")) == (0, 1)
    assert files_in(tmp_path) == files_named(tmp_path)


@pytest.mark.parametrize("is_empty", [False, True], ids=["refused", "empty"])
def test_a_writer_that_is_no_longer_one_leaves_the_epoch_of_the_other(tmp_path: Path, is_empty: bool) -> None:
    rules = tidelog.compile(REACH).stages.rules
    table = pa.table({"src": ["a"], "dst": ["b"]})
    first = SparkEngine(rules, NoSpark(), str(tmp_path))
    first.open()
    third = SparkEngine(rules, NoSpark(), str(tmp_path))
    third.open()
    third.commit([Operation("Edge", 1, table)])
    if is_empty:
        first.commit([Operation("Edge", 1, table), Operation("Edge", -1, table)])
    else:
        with pytest.raises(tidelog.UsageError, match=r"E851.*has committed since"):
            first.commit([Operation("Edge", 1, table)])
    second = SparkEngine(rules, NoSpark(), str(tmp_path))
    second.open()
    assert (second.count("Edge"), [row for row, _ in second.facts("Edge")]) == (1, [("a", "b")])
    assert files_in(tmp_path) == files_named(tmp_path)


@pytest.mark.parametrize("keep", [-1, True, 2.5])
def test_a_number_of_epochs_to_keep_that_makes_no_sense_is_refused(tmp_path: Path, keep: Any) -> None:
    with pytest.raises(tidelog.UsageError, match=r"E814.*keep_epochs"):
        open_(REACH, tmp_path, keep_epochs=keep)


def test_a_child_of_the_process_cannot_write(tmp_path: Path) -> None:
    with open_(REACH, tmp_path) as db:
        insert(db, "Edge", EDGES[0])
        child = os.fork()
        if child == 0:
            try:
                insert(db, "Edge", EDGES[1])
            except tidelog.UsageError as error:
                os._exit(0 if error.code == "E859" else 1)
            os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        insert(db, "Edge", EDGES[1])
