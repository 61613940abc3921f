"""The changes of an output relation as an asynchronous iterator: `async for delta in db.changes("Reach")`.

Commits put their deltas into a buffer, in commit order, and never wait for the consumer. When the buffer is full, the
new delta is merged with the last one, so that the sum stays exact, or the iterator ends with an error, by choice.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tidelog.database.locked_engine import LockedEngine
from tidelog.database.transactions.changes import Delta
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import EvaluationError, UsageError
from tidelog.io.to_python import rows_to_table
from tidelog.rules.ir import Relation

if TYPE_CHECKING:
    from tidelog.engine.interface import Row

MERGE, FAIL = "merge", "error"


class ChangeStream(AsyncIterator[Delta]):
    """Made by `db.changes()`. It sees every commit from the moment in which it was made, until `aclose()`.

    One task iterates over it. `merged` counts the deltas that were merged with others so far.
    """

    def __init__(self, locked: LockedEngine, relation: Relation, buffer: int, when_full: str) -> None:
        if when_full not in (MERGE, FAIL):
            raise UsageError(f"`when_full` is {when_full!r}; it must be {MERGE!r} or {FAIL!r}", code=Code.BAD_LIMIT)
        self._locked = locked
        self._relation = relation
        self._room = buffer
        self._merges = when_full == MERGE
        self.merged = 0
        self._lock = Lock()
        self._waiting: deque[Delta] = deque()
        self._wake: Callable[[], Any] | None = None
        self._is_over = False
        self._has_overflowed = False
        self._stop = locked.listeners.add(relation.name, self._put, self._end)

    async def __anext__(self) -> Delta:
        """Returns the next delta; waits for it without blocking the event loop."""
        loop = asyncio.get_running_loop()
        while True:
            ready: asyncio.Future[None] = loop.create_future()
            with self._lock:
                if self._waiting:
                    return self._waiting.popleft()
                if self._has_overflowed:
                    raise EvaluationError(
                        f"the consumer of the changes of `{self._relation.name}` was more than {self._room} commits"
                        " behind; the changes after that are lost to it",
                        code=Code.SLOW_CONSUMER,
                        help='read faster, raise `buffer`, or let deltas be merged: `when_full="merge"`',
                    )
                if self._is_over:
                    raise StopAsyncIteration
                self._wake = partial(loop.call_soon_threadsafe, _finish, ready)
            await ready

    async def aclose(self) -> None:
        """Ends the subscription; the iteration ends after the deltas that are there."""
        self.close()

    def close(self) -> None:
        """Does what `aclose` does, outside of asyncio."""
        self._stop()
        self._end()

    def _put(self, delta: Delta) -> None:
        """Takes the delta of a commit, in the committing thread."""
        with self._lock:
            if self._has_overflowed or self._is_over:
                return
            if len(self._waiting) < self._room:
                self._waiting.append(delta)
            elif self._merges:
                self._waiting.append(merged_delta(self._locked, self._relation, self._waiting.pop(), delta))
                self.merged += 1
            else:
                self._has_overflowed = True
        self._tell()

    def _end(self) -> None:
        with self._lock:
            self._is_over = True
        self._tell()

    def _tell(self) -> None:
        with self._lock:
            wake, self._wake = self._wake, None
        if wake is not None:
            with suppress(RuntimeError):  # the event loop is closed: nobody waits there
                wake()


def _finish(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)


def merged_delta(locked: LockedEngine, relation: Relation, first: Delta, second: Delta) -> Delta:
    """Returns the sum of two deltas of a relation, in which changes that undo each other are left out."""
    weights: dict[Row, int] = {}
    for delta in (first, second):
        for row, weight in delta._canonical_weights():
            weights[row] = weights.get(row, 0) + weight
    return Delta(locked, relation, _MergedRows(locked, relation, weights))


class _MergedRows:
    """Changed rows with their weights; see `engine.interface.ChangeRows`."""

    def __init__(self, locked: LockedEngine, relation: Relation, weights: dict[Row, int]) -> None:
        self._weights = [(row, weight) for row, weight in weights.items() if weight]
        self._relation = relation
        self._locked = locked

    def weights(self) -> list[tuple[Row, int]]:
        return self._weights

    def inserted(self) -> pa.Table:
        return self._table(+1)

    def deleted(self) -> pa.Table:
        return self._table(-1)

    def inserted_count(self) -> int:
        return sum(weight > 0 for _, weight in self._weights)

    def deleted_count(self) -> int:
        return sum(weight < 0 for _, weight in self._weights)

    def inserted_frame(self) -> Any:
        return self._frame(+1)

    def deleted_frame(self) -> Any:
        return self._frame(-1)

    def _table(self, sign: int) -> pa.Table:
        rows = [row for row, weight in self._weights if weight * sign > 0]
        return rows_to_table(rows, self._relation, self._locked.definitions)

    def _frame(self, sign: int) -> Any:
        raise UsageError(
            "merged changes have no Spark DataFrame", code=Code.NO_CHANGES, help="use `to_arrow()`, or a larger buffer"
        )
