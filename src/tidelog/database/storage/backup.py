"""A directory of the local engine → a copy of it, as of one committed epoch, while commits go on.

The journal is read in one transaction of SQLite, which sees none of the later commits. A checkpoint is never changed
once it has its name, so it is copied as it is; those that are later than the journal of the copy are left out. If the
writer removes a checkpoint before it is copied, everything starts again with what is there now.

The journal gets its name last: a copy that was interrupted is no database.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from tidelog.database.storage.active_format import SPARK, active_engine
from tidelog.database.storage.checkpoint import checkpoints
from tidelog.database.storage.journal import Journal, is_database, sync_directory
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.engine.storage_errors import damaged, not_a_database, not_written

_ATTEMPTS = 20


def backup(source: Path, target: Path) -> int:
    """Copies a database to a new or empty directory; returns the epoch of the copy.

    Raises UsageError for a source that is no database of the local engine, or a target with something in it;
    TransactionError when the copy cannot be written. Then nothing is left in the target.
    """
    if active_engine(source) == SPARK:
        raise UsageError(
            f"the database {source} belongs to the engine 'spark', whose directories this does not copy",
            code=Code.UNUSABLE_DIRECTORY,
            help="copy the directory while nobody writes to it",
        )
    if not is_database(source):
        raise not_a_database(source, "there is no journal in it")
    try:
        is_new = not target.exists()
        target.mkdir(parents=True, exist_ok=True)
        if not is_new and any(target.iterdir()):
            raise not_a_database(target, "the directory is not empty", "give a new or an empty directory")
    except OSError as error:
        raise not_a_database(target, f"the directory cannot be made or read: {error.strerror}") from error
    try:
        for _ in range(_ATTEMPTS):
            with suppress(FileNotFoundError):
                return _copy(source, target)
            _clear(target)
        raise damaged(source, "its checkpoints are removed faster than they can be copied")
    except BaseException as error:
        _clear(target)
        if is_new:
            target.rmdir()
        if isinstance(error, OSError | sqlite3.Error):
            raise not_written(target, error, "copy", "nothing is left of it") from error
        raise


def _copy(source: Path, target: Path) -> int:
    """Copies everything once. Raises FileNotFoundError where a checkpoint is removed meanwhile."""
    with closing(Journal(source, read_only=True)) as journal:
        journal.begin_reading()
        last = max(journal.acknowledged(), journal.last() or 0)
        copied = [0]
        for epoch, path in checkpoints(source).items():
            if epoch <= last:
                with path.open("rb") as file, (target / path.name).open("wb") as copy:
                    shutil.copyfileobj(file, copy, 1 << 20)
                    copy.flush()
                    os.fsync(copy.fileno())
                copied.append(epoch)
        first = journal.first()
        if first is not None and max(copied) + 1 < first:
            # The writer cut the journal between its last checkpoint and this look at the names.
            raise FileNotFoundError(first)
        journal.copy_to(target, last)
        journal.end_reading()
    sync_directory(target)
    return last


def _clear(target: Path) -> None:
    for path in target.iterdir():
        path.unlink()
