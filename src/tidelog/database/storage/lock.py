"""One writer for a directory: a lock that the operating system releases when its process ends, however it ends.

The file has the number of the process that holds the lock, for the error of the next one. A child made by a fork does
not inherit the lock: it closes its copy at once, so it cannot prevent that the database is opened again.

The directory itself is locked, too: removing the file lets no second writer in.
"""

from __future__ import annotations

import fcntl
import os
import weakref
from pathlib import Path

from tidelog.engine.storage_errors import in_use

_FILE = "lock"
_held: weakref.WeakSet[WriterLock] = weakref.WeakSet()


class WriterLock:
    """Held from its construction to `release`. Raises UsageError when another process, or this one, has it already."""

    def __init__(self, directory: Path) -> None:
        self._files: list[int] = []
        try:
            self._lock(directory)
        except BlockingIOError:
            self.release()
            raise in_use(directory, _holder(directory)) from None
        except BaseException:
            self.release()
            raise
        _held.add(self)

    def __del__(self) -> None:
        # A database that was dropped without being closed must not lock others out.
        self.release()

    def release(self) -> None:
        """Releases the lock; a second call does nothing."""
        while self._files:
            os.close(self._files.pop())
        _held.discard(self)

    def _lock(self, directory: Path) -> None:
        file = os.open(directory / _FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._files.append(file)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._files.append(os.open(directory, os.O_RDONLY | os.O_CLOEXEC))
        try:
            fcntl.flock(self._files[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:
            os.close(self._files.pop())  # some network file systems lock no directories
        os.ftruncate(file, 0)
        os.pwrite(file, f"{os.getpid()}\n".encode(), 0)


def _holder(directory: Path) -> str:
    """Returns the process that wrote its number into the file."""
    try:
        number = (directory / _FILE).read_bytes()[:32].decode("ascii", "replace").strip()
    except OSError:
        number = ""
    return "this process" if number == str(os.getpid()) else f"process {number}" if number else "another process"


def _release_in_child() -> None:
    for lock in list(_held):
        lock.release()


os.register_at_fork(after_in_child=_release_in_child)
