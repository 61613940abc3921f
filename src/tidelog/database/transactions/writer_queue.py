"""The queue of writers: at most one transaction is open, and the others wait in the order in which they came.

A writer is a thread, or a task of asyncio. One that has a transaction open, or runs a callback of its commit, would
wait for itself: that is refused at once. Waiting tasks are woken through their event loop, which is never blocked.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import Any

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import TransactionError


class WriterQueue:
    """The open transaction, and those that wait. Holders are any objects; each waits at most once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holder: object | None = None
        self._writer: Writer | None = None
        self._since = 0.0
        self._waiting: deque[_Waiting] = deque()

    @property
    def holder(self) -> object | None:
        """The open transaction."""
        return self._holder

    def acquire(self, holder: object, wait: float | None) -> None:
        """Makes `holder` the open transaction, after those that came before it.

        Raises TransactionError after `wait` seconds (None: no limit), and where the writer would wait for itself.
        """
        waiting = self._enter(holder, Writer.current(), None)
        if waiting is None:
            return
        done = threading.Event()
        waiting.wake = done.set
        try:
            if waiting.is_admitted or done.wait(wait) or not self._leave(waiting):
                return
        except BaseException:  # an interrupt from the keyboard
            if not self._leave(waiting):
                self.release(holder)
            raise
        raise self._timed_out(wait)

    async def acquire_async(self, holder: object, wait: float | None) -> None:
        """Does what `acquire` does, without blocking the event loop."""
        import asyncio

        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()

        def admit() -> None:
            if not turn.done():
                turn.set_result(None)

        waiting = self._enter(holder, Writer.current(), lambda: loop.call_soon_threadsafe(admit))
        if waiting is None:
            return
        try:
            await asyncio.wait_for(turn, wait)
        except TimeoutError:
            if self._leave(waiting):
                raise self._timed_out(wait) from None
        except BaseException:
            if not self._leave(waiting):
                self.release(holder)
            raise

    def release(self, holder: object) -> None:
        """Ends the transaction, if it is the open one; the next in the queue is open then."""
        while True:
            with self._lock:
                if self._holder is not holder:
                    return
                self._holder = self._writer = None
                if not self._waiting:
                    return
                first = self._waiting.popleft()
                self._admit(first.holder, first.writer)
                first.is_admitted = True
            try:
                first.wake()
            except RuntimeError:  # its event loop was closed before it was cancelled: nobody waits there
                holder = first.holder
                continue
            return

    def forget_waiting(self) -> None:
        """Empties the queue in a child of a fork, which has none of the threads that wait."""
        self._lock = threading.Lock()
        self._waiting.clear()

    def _enter(self, holder: object, writer: Writer, wake: Callable[[], Any] | None) -> _Waiting | None:
        """Admits a writer, or lets it wait; None if it was admitted."""
        with self._lock:
            if self._holder is None:
                self._admit(holder, writer)
                return None
            if self._writer == writer:
                raise own_transaction_open()
            if wake is None and _has_running_loop():
                raise TransactionError(
                    f"the transaction of {self._writer.name if self._writer else 'another writer'} is open,"
                    " and waiting for it here would block the event loop",
                    code=Code.TRANSACTION_OPEN,
                    help="wait for it with `async with db.transaction() as tx:`",
                )
            waiting = _Waiting(holder, writer, wake or _nothing)
            self._waiting.append(waiting)
            return waiting

    def _admit(self, holder: object, writer: Writer) -> None:
        self._holder, self._writer, self._since = holder, writer, monotonic()

    def _leave(self, waiting: _Waiting) -> bool:
        """Takes a writer out of the queue; False if it was admitted meanwhile."""
        with self._lock:
            if waiting.is_admitted:
                return False
            self._waiting.remove(waiting)
            return True

    def _timed_out(self, wait: float | None) -> TransactionError:
        writer = self._writer
        whose = "another transaction" if writer is None else f"the transaction of {writer.name}"
        return TransactionError(
            f"{whose} is open since {monotonic() - self._since:.1f} s; waited for it for {wait:g} s",
            code=Code.TRANSACTION_OPEN,
            help="leave its `with` block first, or wait longer: `db.transaction(wait=...)`; None waits without limit",
        )


class Writer:
    """The thread, or the task of asyncio, that runs now; two of the same are equal."""

    __slots__ = ("_key", "_name", "_what")

    def __init__(self, key: int, what: str, name: str) -> None:
        self._key = key
        self._what = what
        self._name = name

    @property
    def name(self) -> str:
        return f"the {self._what} `{self._name}`"

    @staticmethod
    def current() -> Writer:
        """Returns the task that runs, or else the thread."""
        asyncio = _loaded_asyncio()
        task = None if asyncio is None or not _has_running_loop() else asyncio.current_task()
        if task is not None:
            return Writer(id(task), "task", task.get_name())
        thread = threading.current_thread()
        return Writer(id(thread), "thread", thread.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Writer) and other._key == self._key

    def __hash__(self) -> int:
        return self._key


class _Waiting:
    """A writer in the queue; `wake` tells it that it was admitted."""

    __slots__ = ("holder", "is_admitted", "wake", "writer")

    def __init__(self, holder: object, writer: Writer, wake: Callable[[], Any]) -> None:
        self.holder = holder
        self.writer = writer
        self.wake = wake
        self.is_admitted = False


def own_transaction_open() -> TransactionError:
    """Makes the error for a writer that would wait for itself."""
    return TransactionError(
        "another transaction of this database is open in the same thread or task, which would wait for itself",
        code=Code.TRANSACTION_OPEN,
        help="leave its `with` block first; a database has one writer at a time",
    )


def _loaded_asyncio() -> Any:
    """Returns the module, if anybody has imported it: it takes a while, and without it there is no event loop."""
    return sys.modules.get("asyncio")


def _has_running_loop() -> bool:
    asyncio = _loaded_asyncio()
    return asyncio is not None and asyncio._get_running_loop() is not None


def _nothing() -> None:
    pass
