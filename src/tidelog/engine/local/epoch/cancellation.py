"""Cancellation from the keyboard or from another thread, taken only where an epoch can stop.

Python may raise KeyboardInterrupt between any two steps, also between moving an array and writing its new address.
While an epoch runs, the signal is only noted; the epoch checks the note between waves and after every few million
instances, and stops there.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import EvaluationError

Handler = Callable[[int, FrameType | None], Any]


class _Note:
    """The noted SIGINT. The signal belongs to the process and its main thread, so one block at a time holds it."""

    is_held = False
    is_set = False
    # The handler of the signal until the block begins to hold it.
    passed_to: Handler | None = None


class Cancellation:
    """Notes SIGINT while `held`, in the main thread only."""

    def __init__(self) -> None:
        self._is_holding = False
        self._cancelled = False
        self._can_be_cancelled = False
        self._lock = threading.Lock()

    def check(self) -> None:
        """Raises the noted interrupt, if any."""
        if _Note.is_set and self._is_holding:
            _Note.is_set = False
            raise KeyboardInterrupt
        if self._cancelled:
            raise EvaluationError("the epoch was cancelled; the last commit is intact", code=Code.CANCELLED)

    def cancel(self) -> bool:
        """Cancels the running epoch, from any thread; False if none runs, or it is past its point of no return."""
        with self._lock:
            self._cancelled = self._can_be_cancelled
            return self._cancelled

    def pass_point_of_no_return(self) -> None:
        """Ends the time in which the epoch can be cancelled. Raises if it was cancelled before."""
        with self._lock:
            self._can_be_cancelled = self._cancelled
        self.check()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Marks a block as an epoch that can be cancelled."""
        self._can_be_cancelled = True
        try:
            yield
        finally:
            with self._lock:
                self._can_be_cancelled = self._cancelled = False

    @staticmethod
    def begin_holding() -> None:
        """Makes the outermost block delay SIGINT from here on."""
        _Note.passed_to = None

    @contextmanager
    def held(self, *, later: bool = False) -> Iterator[None]:
        """Delays SIGINT until the block ends; a signal that no `check` took goes to the earlier handler then.

        Blocks may be nested: a signal that is too late for the inner block is for the outer one. Only the outermost
        installs a handler, which takes longer than anything else in a small commit. With `later` it lets signals
        through until `begin_holding`.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        if _Note.is_held:
            self._is_holding = True
            try:
                yield
            finally:
                self._is_holding = False
            return
        before: Handler | int | None = signal.signal(signal.SIGINT, _note)
        if not callable(before):
            signal.signal(signal.SIGINT, before)
            yield
            return
        _Note.is_held = self._is_holding = True
        _Note.passed_to = before if later else None
        try:
            yield
        finally:
            _Note.is_held = self._is_holding = False
            _Note.passed_to = None
            is_set, _Note.is_set = _Note.is_set, False
            signal.signal(signal.SIGINT, before)
            if is_set:
                before(signal.SIGINT, None)


def _note(number: int, frame: FrameType | None) -> None:
    if _Note.passed_to is not None:
        _Note.passed_to(number, frame)
    else:
        _Note.is_set = True
