"""The callbacks for changes of relations, and their calls after a commit.

Callbacks are called when the commit is durable, in the committing thread, one epoch after the other: the writer keeps
its lock until all have returned, so no later commit can overtake. That is also why a callback cannot write. An error in
a callback is logged (to `tidelog`, with the traceback; by default that is standard error): the commit stands, and the
next callback is called.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidelog.database.transactions.changes import Changes, Delta

Callback = Callable[["Delta"], Any]


class Listeners:
    """The callbacks of one database, in the order of their subscription."""

    def __init__(self) -> None:
        self._callbacks: dict[object, tuple[str, Callback]] = {}
        self._ended: dict[object, Callable[[], None]] = {}
        self._teller: int | None = None

    def add(self, relation: str, callback: Callback, ended: Callable[[], None] | None = None) -> Callable[[], None]:
        """Subscribes a callback from the next epoch on. Returns a function that unsubscribes it. `ended` is called when
        the database is closed.
        """
        token = object()
        self._callbacks[token] = relation, callback
        if ended is not None:
            self._ended[token] = ended

        def stop() -> None:
            self._callbacks.pop(token, None)
            self._ended.pop(token, None)

        return stop

    def end(self) -> None:
        """Ends all subscriptions."""
        ended = list(self._ended.values())
        self._callbacks, self._ended = {}, {}
        for each in ended:
            each()

    @property
    def is_telling_here(self) -> bool:
        """True in the thread that runs callbacks, inside a callback."""
        return self._teller == threading.get_ident()

    def tell(self, changes: Changes, epoch: int) -> None:
        """Calls the callbacks of relations that have changed. One added meanwhile waits for the next epoch; one removed
        meanwhile is left out.
        """
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
