"""The changes of earlier epochs of a database with `keep_changes`, epoch by epoch (`tidelog.engine.kept_changes`).

Each epoch is read when it is its turn, so a long history does not fill the memory, and commits go on meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral

from tidelog.database.locked_engine import LockedEngine
from tidelog.database.transactions.changes import Changes
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.engine.kept_changes import changes_gone, changes_not_kept, no_such_epoch


def changes_since(locked: LockedEngine, after: object) -> Iterator[Changes]:
    """Returns the changes of the epochs after this one. Raises UsageError at once where they are not there."""
    if isinstance(after, bool) or not isinstance(after, Integral) or int(after) < -1:
        raise UsageError(f"`epoch` is {after!r}; it must be a whole number, -1 or above", code=Code.BAD_LIMIT)
    epoch = int(after)
    with locked.engine() as engine:
        since, last = engine.kept_since(), locked.report.epoch
    if since is None:
        raise changes_not_kept()
    if epoch > last:
        raise no_such_epoch(epoch, last)
    if epoch < since:
        raise changes_gone(epoch, since, last)
    return _read(locked, range(epoch + 1, last + 1))


def _read(locked: LockedEngine, epochs: range) -> Iterator[Changes]:
    for epoch in epochs:
        with locked.engine() as engine:
            kept = engine.kept_changes(epoch)
        yield Changes(locked, kept.changes, epoch, kept.committed_at)
