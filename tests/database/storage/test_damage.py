"""Disks that fail and files that are not as they were written: recovered, or refused, and never a wrong answer."""

from __future__ import annotations

import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tidelog
from tests.database.programs import REACH
from tests.database.storage.test_open_local import engine_of, insert
from tidelog.database.storage import checkpoint as checkpoint_file
from tidelog.database.storage import durable_engine
from tidelog.database.storage.checkpoint import checkpoints
from tidelog.database.storage.journal import Journal
from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.storage import row_counts
from tidelog.engine.local.transfer.checkpoint import LAYOUT_BEFORE, ROWS, PartName, _CapturedStore

EDGES = [(f"n{number}", f"n{number + 1}") for number in range(12)]


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """Makes a database with two checkpoints and entries behind each of them, as a killed process leaves it."""
    directory, killed = tmp_path / "db", tmp_path / "killed"
    with tidelog.compile(REACH).open(path=directory, durability="os") as db:
        for number, edge in enumerate(EDGES):
            insert(db, "Edge", edge)
            if number in (3, 7):
                engine_of(db).checkpoint()
        assert list(checkpoints(directory)) == [8, 4]
        shutil.copytree(directory, killed)
    return killed


def expected(edges: list[tuple[str, str]]) -> list[tuple[str, str]]:
    with tidelog.compile(REACH).open() as db:
        insert(db, "Edge", *edges)
        return db.relation("Reach").rows()


def opened(directory: Path) -> list[tuple[Any, ...]]:
    with tidelog.open(directory) as db:
        return db.relation("Reach").rows()


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place % len(data)] ^= 0x10
    path.write_bytes(data)


def test_what_a_killed_process_leaves_is_all_there(made: Path) -> None:
    assert opened(made) == expected(EDGES)


@pytest.mark.parametrize("cut", [0, 1, 100, -1, -30])
def test_a_checkpoint_that_was_cut_short_is_replaced_by_the_one_before_it(
    made: Path, cut: int, caplog: pytest.LogCaptureFixture
) -> None:
    path = checkpoints(made)[8]
    path.write_bytes(path.read_bytes()[:cut])
    assert opened(made) == expected(EDGES)
    assert "snapshot-000000000008.tide cannot be used" in caplog.text


def test_a_flipped_byte_anywhere_in_a_checkpoint_is_noticed(made: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = checkpoints(made)[8]
    data = path.read_bytes()
    chance = random.Random(1)
    for place in [0, len(data) - 1, *(chance.randrange(len(data)) for _ in range(20))]:
        flip(path, place)
        caplog.clear()
        with tidelog.open(made, read_only=True) as db:
            assert db.relation("Reach").rows() == expected(EDGES)
        assert "cannot be used" in caplog.text
        path.write_bytes(data)


def test_when_no_checkpoint_is_whole_the_database_is_refused(made: Path) -> None:
    for path in checkpoints(made).values():
        flip(path, 8)
    with pytest.raises(tidelog.DataError, match="its contents are not as they were written") as caught:
        tidelog.open(made)
    assert caught.value.code == "E853"


def test_without_its_checkpoints_the_journal_is_not_taken_for_the_whole(made: Path) -> None:
    for path in checkpoints(made).values():
        path.unlink()
    with pytest.raises(tidelog.DataError, match="nothing for epoch 1"):
        tidelog.open(made)


def test_a_checkpoint_whose_rows_are_laid_out_otherwise_is_not_misread(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint_file, "LAYOUT", (1, 2, 3))
        with pytest.raises(tidelog.DataError, match="of another version of Tidelog"):
            tidelog.open(made)
    assert opened(made) == expected(EDGES)


def test_a_checkpoint_of_the_format_before_is_read(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    piece, part = _CapturedStore.piece, checkpoint_file._part

    def piece_before(store: _CapturedStore, count: int) -> Words:
        rows, columns = piece(store, count), store.store.columns
        numbers = [row_counts.totals(rows, columns), row_counts.counts(rows, columns), rows[:, columns]]
        return np.column_stack([rows[:, :columns], *numbers])

    def part_before(name: PartName, at: int, rows: int, width: int) -> dict[str, Any]:
        return part(name, at, rows, width + (name.kind == ROWS))

    with monkeypatch.context() as patch, tidelog.open(made) as db:
        patch.setattr(checkpoint_file, "FORMAT", checkpoint_file.FORMAT_BEFORE)
        patch.setattr(checkpoint_file, "LAYOUT", LAYOUT_BEFORE)
        patch.setattr(checkpoint_file, "_part", part_before)
        patch.setattr(_CapturedStore, "piece", piece_before)
        insert(db, "Edge", ("x", "y"))
        engine_of(db).checkpoint()
        state = engine_of(db).local.state_table("Reach")
        others = list(checkpoints(made).values())[1:]
    for path in others:
        path.unlink()
    with tidelog.open(made) as db:
        assert engine_of(db).local.state_table("Reach").equals(state)
        with db.transaction() as tx:
            tx.delete("Edge", [EDGES[5]])
    assert opened(made) == expected([*EDGES[:5], *EDGES[6:], ("x", "y")])


def test_after_damage_the_next_checkpoint_stands_on_the_one_that_was_whole(made: Path) -> None:
    flip(checkpoints(made)[8], 8)
    with tidelog.open(made) as db:
        insert(db, "Edge", ("x", "y"))
        engine_of(db).checkpoint()
        assert list(checkpoints(made)) == [13, 4]
    flip(checkpoints(made)[13], 8)
    assert opened(made) == expected([*EDGES, ("x", "y")])


@pytest.mark.parametrize("name", ["journal.sqlite", "journal.sqlite-wal"])
def test_flipped_bytes_in_the_journal_are_refused_or_make_no_difference(made: Path, tmp_path: Path, name: str) -> None:
    chance = random.Random(2)
    size = len((made / name).read_bytes())
    assert size > 1000
    answers = []
    for attempt in range(25):
        copy = tmp_path / f"copy{attempt}"
        shutil.copytree(made, copy)
        flip(copy / name, chance.randrange(size))
        answers.append(_rows_or_code(copy))
    right = expected(EDGES)
    assert all(answer == right or answer in ("E852", "E853", "E857") for answer in answers)


def _rows_or_code(directory: Path) -> list[tuple[Any, ...]] | str:
    try:
        return opened(directory)
    except tidelog.TidelogError as error:
        return error.code


@pytest.mark.parametrize("kept", [0.0, 0.3, 0.6, 0.9])
def test_a_write_ahead_log_that_was_cut_short_is_refused(made: Path, kept: float) -> None:
    path = made / "journal.sqlite-wal"
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * kept)])
    with pytest.raises(tidelog.DataError) as caught:
        opened(made)
    assert caught.value.code == "E853"


def test_an_entry_that_was_changed_is_refused(made: Path) -> None:
    connection = sqlite3.connect(made / "journal.sqlite", isolation_level=None)
    connection.execute("UPDATE entry SET body = replace(body, 'n9', 'n8')")
    connection.close()
    with pytest.raises(tidelog.DataError, match="not as it was written"):
        opened(made)


def test_another_format_is_refused(made: Path) -> None:
    connection = sqlite3.connect(made / "journal.sqlite", isolation_level=None)
    connection.execute("UPDATE document SET body = '2', checksum = ? WHERE name = 'format'", (_checksum(b"2"),))
    connection.close()
    with pytest.raises(tidelog.UsageError, match="has format 2") as caught:
        opened(made)
    assert caught.value.code == "E857"


def _checksum(data: bytes) -> int:
    from tidelog.database.storage.journal import checksum

    return checksum(data)


@contextmanager
def failing(times: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Lets the journal refuse so many entries."""
    left = [times]
    insert_part: Callable[..., None] = Journal._insert

    def refuse(journal: Journal, *part: Any) -> None:
        if left[0]:
            left[0] -= 1
            raise sqlite3.OperationalError("database or disk is full")
        insert_part(journal, *part)

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "_insert", refuse)
        yield


def test_a_commit_that_cannot_be_written_is_rolled_back_and_the_database_works_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tidelog.compile(REACH).open(path=tmp_path) as db:
        insert(db, "Edge", ("a", "b"))
        with failing(1, monkeypatch):
            with pytest.raises(tidelog.TransactionError, match=r"disk is full.*the last commit is intact") as caught:
                insert(db, "Edge", ("b", "c"))
            assert caught.value.code == "E854"
            assert (db.relation("Reach").rows(), db.report.epoch) == ([("a", "b")], 1)
            assert insert(db, "Edge", ("b", "c"))["Reach"].inserted == [("a", "c"), ("b", "c")]
    with tidelog.open(tmp_path) as db:
        assert (len(db.relation("Reach")), db.report.epoch) == (3, 2)


def test_a_disk_that_is_really_full_loses_nothing(tmp_path: Path) -> None:
    script = f"""
import resource, tidelog
db = tidelog.open({str(tmp_path)!r}, durability="os")
db.relation("Host").rows()
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
done = 0
try:
    while True:
        with db.transaction() as tx:
            tx.insert("Host", [f"host {{done}} {{'x' * 2000}}"])
        done += 1
except tidelog.TransactionError as error:
    print(error.code, done, len(db.relation("Host")))
"""
    tidelog.compile(REACH).open(path=tmp_path).close()
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    code, done, rows = run.stdout.split()
    assert (code, rows) == ("E854", done)
    assert int(done) > 10
    with tidelog.open(tmp_path) as db:
        assert len(db.relation("Host")) == int(done)


def test_a_checkpoint_that_cannot_be_written_leaves_the_journal_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: Any) -> Path:
        raise OSError(28, "No space left on device")

    with tidelog.compile(REACH).open(path=tmp_path) as db:
        insert(db, "Edge", ("a", "b"))
        with monkeypatch.context() as patch:
            patch.setattr(durable_engine, "write_checkpoint", refuse)
            engine_of(db).checkpoint()
        assert "No space left on device" in caplog.text
        insert(db, "Edge", ("b", "c"))
    with tidelog.open(tmp_path) as db:
        assert len(db.relation("Reach")) == 3


def test_a_checkpoint_that_was_begun_and_not_finished_is_swept_away(made: Path) -> None:
    (made / "snapshot-000000000099.partial").write_bytes(b"half")
    assert opened(made) == expected(EDGES)
    assert not list(made.glob("*.partial"))
