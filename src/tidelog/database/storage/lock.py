"""One writer for a directory: a lock that the operating system releases when its process ends, however it ends.

The file has the number of the process that holds the lock, for the error of the next one. A child made by a fork does
not inherit the lock: it closes its copy at once, so it cannot prevent that the database is opened again.
"""

from __future__ import annotations

import fcntl
import os
import weakref
from pathlib import Path

from tidelog.engine.storage_errors import in_use

_held: weakref.WeakSet[WriterLock] = weakref.WeakSet()


class WriterLock:
    """Held from its construction to `release`. Raises UsageError when another process, or this one, has it already."""

    def __init__(self, directory: Path) -> None:
        self._file = -1
        self._file = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._file, 32).decode("ascii", "replace").strip()
            os.close(self._file)
            self._file = -1
            raise in_use(directory, _holder(holder)) from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)
        _held.add(self)

    def __del__(self) -> None:
        # A database that was dropped without being closed must not lock others out.
        self.release()

    def release(self) -> None:
        """Releases the lock; a second call does nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
            _held.discard(self)


def _holder(number: str) -> str:
    return "this process" if number == str(os.getpid()) else f"process {number}" if number else "another process"


def _release_in_child() -> None:
    for lock in list(_held):
        lock.release()


os.register_at_fork(after_in_child=_release_in_child)
