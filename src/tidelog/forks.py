"""Forks: a child has none of its parent's other threads, and a lock that one of them held stays locked for ever."""

from __future__ import annotations

import os
from typing import Any, Protocol


class _AnyLock(Protocol):
    def acquire(self) -> Any: ...

    def release(self) -> Any: ...


def hold_during_forks(lock: _AnyLock) -> None:
    """Makes every fork wait for a lock that is held for a short time, so that it is free in the child."""
    os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
