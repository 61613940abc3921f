"""Who wants to hear of the changes of a relation, and how they are told.

A callback is told when its commit is durable, in the thread that committed, one epoch after the other: the writer
keeps its place until all have been told, so no later commit can overtake. That is also why a callback cannot write.
What a callback raises is logged (to `tidelog`, with the traceback; standard error has it unless the user says
otherwise) and undoes nothing: the commit stands, and the next callback is told.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidelog.database.transactions.changes import Changes, Delta

Callback = Callable[["Delta"], Any]


class Listeners:
    """The callbacks of one database, in the order in which they came."""

    def __init__(self) -> None:
        self._callbacks: dict[object, tuple[str, Callback]] = {}
        self._teller: int | None = None

    def add(self, relation: str, callback: Callback) -> Callable[[], None]:
        """Tells the callback from the next epoch on, until the function that this returns is called (once or more)."""
        token = object()
        self._callbacks[token] = relation, callback

        def stop() -> None:
            self._callbacks.pop(token, None)

        return stop

    @property
    def is_telling_here(self) -> bool:
        """True inside a callback: in the thread that tells, while it does."""
        return self._teller == threading.get_ident()

    def tell(self, changes: Changes, epoch: int) -> None:
        """Calls those whose relation has changed. One that comes meanwhile waits for the next epoch, and one that was
        stopped meanwhile is left out."""
        self._teller = threading.get_ident()
        try:
            for token, (relation, callback) in list(self._callbacks.items()):
                if token in self._callbacks and relation in changes:
                    _call(callback, relation, changes[relation], epoch)
        finally:
            self._teller = None

    def __bool__(self) -> bool:
        return bool(self._callbacks)


def _call(callback: Callback, relation: str, delta: Delta, epoch: int) -> None:
    try:
        callback(delta)
    except Exception:
        import logging

        logging.getLogger("tidelog").exception(
            "a callback for `%s` failed after epoch %d, which stays committed: %r", relation, epoch, callback
        )
