"""Places that are not as a database expects them: read-only media, removed or replaced files, impossible paths."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

import tidelog
from tests.database.programs import REACH
from tests.database.storage.test_open_local import insert

NOBODY = 65534


def made(directory: Path) -> Path:
    with tidelog.compile(REACH).open(path=directory, durability="os") as db:
        insert(db, "Edge", ("a", "b"))
    return directory


@contextmanager
def read_only_media(directory: Path) -> Iterator[None]:
    """Makes a directory one in which this process can write nothing; root has no such directories, so it steps down."""
    for path in directory.iterdir():
        path.chmod(0o444)
    directory.chmod(0o555)
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)
        directory.chmod(0o755)


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that every user can reach."""
    above = Path(tempfile.mkdtemp())
    above.chmod(0o755)
    with tidelog.open(made(above / "other"), read_only=True) as db:
        db.refresh()
        db.relation("Reach").rows()  # loads modules and kernels, which only this user may reach
    yield above / "db"
    shutil.rmtree(above)


def test_a_closed_database_on_read_only_media_can_be_read(place: Path) -> None:
    made(place)
    assert not (place / "journal.sqlite-wal").exists()
    with read_only_media(place):
        with tidelog.open(place, read_only=True) as db:
            assert db.relation("Reach").rows() == [("a", "b")]
            db.refresh()
            assert db.relation("Reach").rows() == [("a", "b")]
        with pytest.raises(tidelog.UsageError, match="cannot be written to"):
            tidelog.open(place)
    assert not (place / "journal.sqlite-wal").exists()


def test_a_reader_of_read_only_media_sees_what_is_committed_once_they_are_writable(place: Path) -> None:
    made(place)
    with read_only_media(place):
        reader = tidelog.open(place, read_only=True)
    for path in place.iterdir():
        path.chmod(0o644)
    with tidelog.open(place) as writer:
        insert(writer, "Edge", ("b", "c"))
        reader.refresh()
        assert ("a", "c") in reader.relation("Reach").rows()
    reader.close()


def test_a_removed_lock_file_lets_no_second_writer_in(tmp_path: Path) -> None:
    directory = made(tmp_path / "db")
    with tidelog.open(directory) as first:
        (directory / "lock").unlink()
        with pytest.raises(tidelog.UsageError, match="is open for writing") as caught:
            tidelog.open(directory)
        assert caught.value.code == "E851"
        insert(first, "Edge", ("b", "c"))
    with tidelog.open(directory) as again:
        assert len(again.relation("Reach")) == 3


@pytest.mark.parametrize("read_only", [False, True])
def test_a_last_epoch_that_is_a_directory_is_damage(tmp_path: Path, read_only: bool) -> None:
    directory = made(tmp_path / "db")
    (directory / "head").unlink()
    (directory / "head").mkdir()
    with pytest.raises(tidelog.DataError, match="its file head cannot be used"):
        tidelog.open(directory, read_only=read_only)


def test_a_path_with_a_nul_character_is_refused() -> None:
    with pytest.raises(tidelog.UsageError, match="NUL character"):
        tidelog.open("a\0b")
    with pytest.raises(tidelog.UsageError, match="NUL character"):
        tidelog.compile(REACH).open(path="a\0b")
    with tidelog.compile(REACH).open() as db:
        for answer in (db.query("Reach(x, y)"), db.relation("Reach")):
            with pytest.raises(tidelog.UsageError, match="NUL character"):
                answer.write("a\0b.csv")


@pytest.mark.parametrize("code", ["SQLITE_FULL", "SQLITE_IOERR_SHMSIZE", "SQLITE_IOERR_WRITE", "SQLITE_READONLY"])
def test_a_database_on_a_full_or_broken_disk_is_not_called_damaged(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: object) -> sqlite3.Connection:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = getattr(sqlite3, code)
        raise error

    made(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr("tidelog.database.storage.journal._connected", refuse)
        with pytest.raises(tidelog.UsageError, match=r"SQLite cannot use the journal \(disk I/O error\)") as caught:
            tidelog.open(tmp_path)
    assert caught.value.code == "E706"
    assert "make room on the disk" in str(caught.value.help)
    with tidelog.open(tmp_path) as db:
        assert db.relation("Reach").rows() == [("a", "b")]


def test_a_writer_is_told_that_the_media_are_read_only(place: Path) -> None:
    made(place)
    with read_only_media(place), pytest.raises(tidelog.UsageError, match="cannot be written to") as caught:
        tidelog.open(place)
    assert caught.value.code == "E706"
    assert "`read_only=True`" in str(caught.value.help)


def test_a_backup_that_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with tidelog.open(made(tmp_path / "db")) as db:
        monkeypatch.setattr("tidelog.database.storage.journal.Journal.copy_to", refuse)
        with pytest.raises(tidelog.TransactionError, match=r"the copy could not be written.*nothing is left of it"):
            db.backup(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_a_journal_whose_format_was_lost_is_damage(tmp_path: Path) -> None:
    """A disk that lies about its syncs may leave a journal with empty tables."""
    directory = made(tmp_path / "db")
    with closing(sqlite3.connect(directory / "journal.sqlite", isolation_level=None)) as connection:
        connection.execute("DELETE FROM document")
    with pytest.raises(tidelog.DataError, match="does not say which format") as caught:
        tidelog.open(directory)
    assert caught.value.code == "E853"
