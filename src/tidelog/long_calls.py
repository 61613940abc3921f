"""A look at the deadline from inside one long call of a library function.

Rules are stopped between two calls of a function. A call that may take long itself, such as the search for a pattern
with thousands of states in a megabyte, calls `look` again and again, and so ends with the epoch or query that runs it.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import local

_mine = local()


class Looking:
    """Lets `look` of this module call a function, which may raise, for the block in this thread."""

    __slots__ = ("_before", "_look")

    def __init__(self, look: Callable[[], None]) -> None:
        self._look = look

    def __enter__(self) -> None:
        self._before = getattr(_mine, "look", None)
        _mine.look = self._look

    def __exit__(self, *_: object) -> None:
        _mine.look = self._before


def look() -> None:
    """Raises if what this thread runs has passed its deadline or was cancelled."""
    found: Callable[[], None] | None = getattr(_mine, "look", None)
    if found is not None:
        found()
