"""A copy of a database that is made while commits go on is the state of one committed epoch."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import tidelog
from tests.database.programs import REACH
from tests.database.storage.test_open_local import engine_of, insert
from tidelog.cli.main import main
from tidelog.database.storage import backup as backup_file
from tidelog.database.storage.checkpoint import checkpoints
from tidelog.database.transactions.transaction import CommitOptions

COUNTED = """
input relation Number(n: u32)
output relation Square(n: u32, square: u64)
Square(n, (n as u64) * (n as u64)) :- Number(n).
"""


def opened(directory: Path) -> tuple[int, list[int], int]:
    with tidelog.open(directory) as db:
        epoch = db.report.epoch
        numbers = [row[0] for row in db.relation("Number")]
        squares = len(db.relation("Square"))
        insert(db, "Number", (10**9,))
        assert db.report.epoch == epoch + 1
    with tidelog.open(directory) as db:
        assert len(db.relation("Number")) == len(numbers) + 1
    return epoch, numbers, squares


def test_copies_beside_commits_and_checkpoints_are_committed_epochs(tmp_path: Path) -> None:
    stop = threading.Event()
    with tidelog.compile(COUNTED).open(path=tmp_path / "db", durability="os") as db:
        insert(db, "Number", (1,))

        def commit() -> None:
            number = 1
            while not stop.is_set():
                number += 1
                insert(db, "Number", (number,))
                if number % 7 == 0:
                    engine_of(db).checkpoint()

        writer = threading.Thread(target=commit)
        writer.start()
        before, made = [], []
        for copy in range(12):
            before.append(db.report.epoch)
            made.append(db.backup(tmp_path / f"copy{copy}"))
        stop.set()
        writer.join()
    for copy, (at_least, epoch) in enumerate(zip(before, made)):
        found, numbers, squares = opened(tmp_path / f"copy{copy}")
        assert found == epoch >= at_least
        # The commit of epoch n inserted n.
        assert numbers == list(range(1, epoch + 1))
        assert squares == epoch


def test_a_copy_is_independent_of_its_source_and_has_its_marks(tmp_path: Path) -> None:
    with tidelog.compile(REACH).open(path=tmp_path / "db") as db:
        insert(db, "Edge", ("a", "b"))
        engine_of(db).checkpoint()
        with db.transaction() as tx:
            tx.insert("Edge", [("b", "c")])
            tx._commit_with(CommitOptions(marks={"feed": 7}))
        db.backup(tmp_path / "copy")
        insert(db, "Edge", ("c", "d"))
    for path in (tmp_path / "db").iterdir():
        path.unlink()
    with tidelog.open(tmp_path / "copy") as copy:
        assert copy.relation("Edge").rows() == [("a", "b"), ("b", "c")]
        assert copy._locked.marks() == {"feed": 7}


def test_a_checkpoint_that_is_removed_during_the_copy_starts_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tidelog.compile(REACH).open(path=tmp_path / "db") as db:
        for node in range(4):
            insert(db, "Edge", (f"n{node}", f"n{node + 1}"))
            engine_of(db).checkpoint()
        calls = 0

        def stale(directory: Path) -> dict[int, Path]:
            nonlocal calls
            calls += 1
            found = checkpoints(directory)
            return {**found, 2: directory / "snapshot-gone.tide"} if calls < 3 else found

        monkeypatch.setattr(backup_file, "checkpoints", stale)
        db.backup(tmp_path / "copy")
        assert calls == 3
    assert {path.name for path in (tmp_path / "copy").iterdir()} == {
        "head",
        "journal.sqlite",
        "snapshot-000000000003.tide",
        "snapshot-000000000004.tide",
    }
    with tidelog.open(tmp_path / "copy") as copy:
        assert len(copy.relation("Edge")) == 4


def test_a_copy_that_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with tidelog.compile(REACH).open(path=tmp_path / "db") as db:
        insert(db, "Edge", ("a", "b"))
        monkeypatch.setattr(backup_file, "sync_directory", full)
        with pytest.raises(tidelog.TransactionError, match="No space left") as caught:
            db.backup(tmp_path / "copy")
        assert caught.value.code == "E854"
        assert not (tmp_path / "copy").exists()
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "mine").write_text("")
        with pytest.raises(tidelog.UsageError, match="the directory is not empty"):
            db.backup(tmp_path / "other")
        assert (tmp_path / "other" / "mine").exists()
    with tidelog.compile(REACH).open() as db, pytest.raises(tidelog.UsageError, match="only a durable database"):
        db.backup(tmp_path / "memory")


def test_the_command_copies_a_database_that_is_open(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with tidelog.compile(REACH).open(path=tmp_path / "db") as db:
        insert(db, "Edge", ("a", "b"))
        assert main(["backup", str(tmp_path / "db"), str(tmp_path / "copy")]) == 0
        assert capsys.readouterr().err == f"{tmp_path / 'copy'}: epoch 1 of {tmp_path / 'db'}\n"
    assert main(["backup", str(tmp_path), str(tmp_path / "next")]) == 2
    with tidelog.open(tmp_path / "copy") as copy:
        assert copy.relation("Reach").rows() == [("a", "b")]
