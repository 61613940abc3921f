"""The journal of a durable database: one entry for each epoch that the checkpoints may not have, and the program.

It is an SQLite database in WAL mode. With durability "disk" a commit is on the disk when `append` returns. With "os" it
is with the operating system: a killed process loses nothing, a power cut may lose the last commits. Every row has its
own checksum, since SQLite does not notice flipped bytes. An entry larger than a part takes several rows.

A reader needs files of SQLite's beside the journal. Where it cannot make them (read-only media), and none is there
(the database was closed), it reads the journal as one that nobody changes; each `begin_reading` looks again.
"""

from __future__ import annotations

import ctypes
import json
import os
import sqlite3
import weakref
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tidelog.database.storage.last_epoch import LastEpoch, acknowledged
from tidelog.engine.storage_errors import damaged, not_a_database, not_usable, not_written, other_format

FORMAT = 1
DURABILITIES = ("disk", "os")

_FILE, _LAST_EPOCH_FILE = "journal.sqlite", "head"
_SYNCHRONOUS = {"disk": "FULL", "os": "NORMAL"}
_PART_SHIFT = 20  # the place of a part is epoch << 20 | its number
PART_BYTES = 32 << 20
_TABLES = """
CREATE TABLE document (name TEXT PRIMARY KEY, body TEXT NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE entry (place INTEGER PRIMARY KEY, body BLOB NOT NULL, checksum INTEGER NOT NULL);
"""


Also = Callable[[sqlite3.Connection], object]
"""Writes more in a transaction of SQLite."""

_open: weakref.WeakSet[Journal] = weakref.WeakSet()


def is_database(directory: Path) -> bool:
    """True if there is a journal in the directory."""
    return (directory / _FILE).is_file()


class Journal:
    """The journal in a directory. Not thread-safe; only the holder of the writer's lock may append."""

    def __init__(self, directory: Path, durability: str = "disk", *, read_only: bool = False) -> None:
        """Opens the journal. Raises UsageError if there is none, or of another format; DataError if it is damaged."""
        self.directory = directory
        if not is_database(directory):
            raise not_a_database(directory, "there is no journal in it")
        self._is_reader = read_only
        self._connection = _reading(directory) if read_only else _writing(directory, durability)
        _open.add(self)
        self._last_epoch: LastEpoch | None = None
        self._acknowledged: int | None = None
        try:
            found = self.document("format")
            if found is None:
                raise damaged(directory, "its journal does not say which format it has")
            if found != FORMAT:
                raise other_format(directory, found, FORMAT)
            if not read_only:
                with _last_epoch_readable(directory):
                    self._last_epoch = LastEpoch(directory / _LAST_EPOCH_FILE, reaches_disk=durability == "disk")
        except BaseException:
            self.close()
            raise

    @staticmethod
    def create(directory: Path, documents: Mapping[str, Any]) -> None:
        """Makes the journal of a new database, whole or not at all. Raises TransactionError when it cannot."""
        partial = directory / f"{_FILE}.partial"
        try:
            for left in directory.glob(f"{_FILE}.partial*"):
                left.unlink()
            with closing(sqlite3.connect(partial, isolation_level=None)) as connection:
                connection.executescript(f"BEGIN;{_TABLES}")
                _put(connection, {"format": FORMAT, **documents})
                connection.execute("COMMIT")
            partial.rename(directory / _FILE)
            sync_directory(directory)
        except (sqlite3.Error, OSError) as error:
            raise not_written(directory, error) from error

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection to the journal; a reader has another one after each `begin_reading`."""
        return self._connection

    def document(self, name: str) -> Any:
        """Returns the document of a name; None where there is none."""
        with readable(self.directory):
            row = self._connection.execute("SELECT body, checksum FROM document WHERE name = ?", (name,)).fetchone()
        if row is None:
            return None
        if not isinstance(row[0], str) or checksum(row[0].encode()) != row[1]:
            raise damaged(self.directory, f"its {name} is not as it was written")
        try:
            return json.loads(row[0])
        except (ValueError, RecursionError) as error:
            raise damaged(self.directory, f"its {name} is no JSON") from error

    def append(
        self, epoch: int, body: bytes, documents: Mapping[str, Any] | None = None, also: Also | None = None
    ) -> None:
        """Adds the entry of an epoch, replaces documents, and calls `also` to write more, all in the same step.

        Raises TransactionError when it cannot be written; then nothing has changed.
        """
        assert self._last_epoch is not None
        if len(body) <= PART_BYTES and not documents and also is None:
            try:
                self._insert(epoch, 0, body)
            except sqlite3.Error as error:
                raise not_written(self.directory, error) from error
        else:
            with self.changing() as connection:
                for number, start in enumerate(range(0, max(len(body), 1), PART_BYTES)):
                    self._insert(epoch, number, body[start : start + PART_BYTES])
                _put(connection, documents or {})
                if also is not None:
                    also(connection)
        self._last_epoch.write(epoch)

    def put(self, documents: Mapping[str, Any]) -> None:
        """Replaces documents. Raises TransactionError when they cannot be written; then nothing has changed."""
        with self.changing() as connection:
            _put(connection, documents)

    def entries(self, after: int) -> Iterator[tuple[int, bytes]]:
        """Yields the entries of all later epochs, without a gap. Raises DataError where one is missing or damaged."""
        expected = after + 1
        last = self.acknowledged()
        parts: list[bytes] = []
        with readable(self.directory):
            rows = self._connection.execute(
                "SELECT place, body, checksum FROM entry WHERE place >= ? ORDER BY place", (expected << _PART_SHIFT,)
            )
            for place, body, written in rows:
                epoch, number = divmod(place, 1 << _PART_SHIFT)
                if epoch > expected and number == 0 and parts:
                    yield expected, b"".join(parts)
                    expected, parts = expected + 1, []
                if (epoch, number) != (expected, len(parts)):
                    raise damaged(self.directory, f"the journal has nothing for epoch {expected}")
                if not isinstance(body, bytes) or checksum(body, place) != written:
                    raise damaged(self.directory, f"the journal's entry for epoch {epoch} is not as it was written")
                parts.append(body)
        if parts:
            yield expected, b"".join(parts)
            expected += 1
        if expected <= last:
            raise damaged(self.directory, f"the journal ends before epoch {last}, which was committed")

    def acknowledged(self) -> int:
        """Returns the last epoch that was certainly committed; 0 if unknown. `begin_reading` fixes it."""
        if self._acknowledged is not None:
            return self._acknowledged
        with _last_epoch_readable(self.directory):
            return acknowledged(self.directory / _LAST_EPOCH_FILE)

    def begin_reading(self) -> None:
        """Fixes the journal for this reader, whatever a writer appends or cuts meanwhile."""
        self._acknowledged = None
        self._acknowledged = self.acknowledged()
        if self._is_reader:
            self._connection.close()
            self._connection = _reading(self.directory)
        with readable(self.directory):
            self._connection.execute("BEGIN")
            self._connection.execute("SELECT count(*) FROM document").fetchone()

    def end_reading(self) -> None:
        self._acknowledged = None
        with readable(self.directory):
            self._connection.execute("COMMIT")

    def first(self) -> int | None:
        """Returns the first epoch that has an entry."""
        with readable(self.directory):
            (place,) = self._connection.execute("SELECT min(place) FROM entry").fetchone()
        return None if place is None else place >> _PART_SHIFT

    def last(self) -> int | None:
        """Returns the last epoch that has an entry."""
        with readable(self.directory):
            (place,) = self._connection.execute("SELECT max(place) FROM entry").fetchone()
        return None if place is None else place >> _PART_SHIFT

    def copy_to(self, directory: Path, acknowledged: int) -> None:
        """Copies the journal as `begin_reading` fixed it, for a database whose last epoch is `acknowledged`.

        Raises sqlite3.Error or OSError when it cannot; then the directory has no journal.
        """
        partial = directory / f"{_FILE}.partial"
        with closing(sqlite3.connect(partial, isolation_level=None)) as copy:
            self._connection.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        with closing(LastEpoch(directory / _LAST_EPOCH_FILE, reaches_disk=True)) as last:
            last.write(acknowledged)
        partial.rename(directory / _FILE)

    def cut(self, epoch: int) -> None:
        """Deletes the entries up to an epoch. Raises sqlite3.Error when it cannot; then all are still there."""
        self._connection.execute("DELETE FROM entry WHERE place < ?", ((epoch + 1) << _PART_SHIFT,))

    def restart(self, epoch: int, documents: Mapping[str, Any]) -> None:
        """Replaces documents and deletes all entries in one step; the next entry is that of `epoch + 1`.

        Raises TransactionError when it cannot be written; then nothing has changed.
        """
        assert self._last_epoch is not None
        with self.changing() as connection:
            _put(connection, documents)
            connection.execute("DELETE FROM entry")
            connection.execute("DROP TABLE IF EXISTS change")  # kept changes are those of the old entries
        self._last_epoch.write(epoch)

    def close(self) -> None:
        if self._last_epoch is not None:
            self._last_epoch.close()
        self._connection.close()

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """Makes the writes of a block one transaction of SQLite. Raises TransactionError when it fails."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            yield self._connection
            self._connection.execute("COMMIT")
        except BaseException as error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise not_written(self.directory, error) from error
            raise

    def _insert(self, epoch: int, number: int, part: bytes) -> None:
        place = epoch << _PART_SHIFT | number
        self._connection.execute("INSERT INTO entry VALUES (?, ?, ?)", (place, part, checksum(part, place)))


def _keep_in_child() -> None:
    """Keeps SQLite's connections of the parent from being closed in a child, which could remove files in use."""
    for journal in list(_open):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(journal._connection))


os.register_at_fork(after_in_child=_keep_in_child)


def _writing(directory: Path, durability: str) -> sqlite3.Connection:
    with readable(directory):
        connection = _connected(directory / _FILE)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA synchronous = {_SYNCHRONOUS[durability]}")
            connection.execute("PRAGMA fullfsync = ON")
        except BaseException:
            connection.close()
            raise
    return connection


def _reading(directory: Path) -> sqlite3.Connection:
    with readable(directory):
        connection = _connected(directory / _FILE)
        try:
            connection.execute("PRAGMA query_only = ON")
            connection.execute("PRAGMA schema_version").fetchone()
        except sqlite3.OperationalError:
            connection.close()
            log = directory / f"{_FILE}-wal"
            if log.exists() and log.stat().st_size:
                raise
            return _connected(f"{(directory / _FILE).absolute().as_uri()}?mode=ro&immutable=1")
        except BaseException:
            connection.close()
            raise
    return connection


def _connected(place: Path | str) -> sqlite3.Connection:
    connection = sqlite3.connect(place, isolation_level=None, check_same_thread=False, uri=isinstance(place, str))
    connection.execute("PRAGMA busy_timeout = 10000")
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def _put(connection: sqlite3.Connection, documents: Mapping[str, Any]) -> None:
    for name, value in documents.items():
        body = json.dumps(value)
        row = (name, body, checksum(body.encode()))
        connection.execute("INSERT OR REPLACE INTO document VALUES (?, ?, ?)", row)


def sync_directory(directory: Path) -> None:
    """Syncs the names in a directory to the disk."""
    file = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def checksum(data: bytes, place: int = 0) -> int:
    """Covers the place too, so that moved bytes are noticed."""
    return zlib.crc32(data, zlib.crc32(place.to_bytes(8, "little")))


@contextmanager
def readable(directory: Path) -> Iterator[None]:
    """Raises DataError where SQLite cannot read the journal, UsageError where that is the fault of the disk."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if _is_of_the_disk(error):
            raise not_usable(directory, f"SQLite cannot use the journal ({error})") from error
        raise damaged(directory, f"SQLite cannot read the journal ({error})") from error


def _is_of_the_disk(error: sqlite3.DatabaseError) -> bool:
    """True where the disk is full, cannot be written to or does not answer. A file that ends too early is damaged."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None or code == sqlite3.SQLITE_IOERR_SHORT_READ:
        return False
    return code & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY)


@contextmanager
def _last_epoch_readable(directory: Path) -> Iterator[None]:
    """Raises DataError where the file with the last epoch cannot be opened."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise damaged(directory, f"its file {_LAST_EPOCH_FILE} cannot be used ({error})") from error
