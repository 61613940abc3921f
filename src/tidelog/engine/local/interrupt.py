"""Interrupts from the keyboard or from another thread, taken only where an epoch can stop.

Python may raise KeyboardInterrupt between any two steps, also between moving an array and writing its new address.
While an epoch runs, the signal is only noted; the epoch looks at the note between waves and after every few million
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


class Interrupts:
    """Notes SIGINT while `held`; elsewhere, and in other threads than the main one, nothing is changed."""

    def __init__(self) -> None:
        self._noted = False
        self._cancelled = False
        self._is_running = False

    def check(self) -> None:
        """Raises the interrupt that was noted, if any."""
        if self._noted:
            self._noted = False
            raise KeyboardInterrupt
        if self._cancelled:
            self._cancelled = False
            raise EvaluationError("the epoch was cancelled; the last commit is intact", code=Code.CANCELLED)

    def cancel(self) -> bool:
        """Ends the epoch that runs, from any thread; False when there is none."""
        self._cancelled = self._is_running
        return self._is_running

    @contextmanager
    def running(self) -> Iterator[None]:
        """An epoch runs, and can be cancelled."""
        self._is_running = True
        try:
            yield
        finally:
            self._is_running = self._cancelled = False

    @contextmanager
    def held(self) -> Iterator[None]:
        """Holds interrupts back; one that nobody took with `check` is handed at the end to whoever handled them before.

        So blocks may stand inside one another: what comes too late for the inner one is for the outer one to hold.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before: Callable[[int, FrameType | None], Any] | int | None = signal.getsignal(signal.SIGINT)
        if not callable(before):
            yield
            return
        signal.signal(signal.SIGINT, self._note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
        if self._noted:
            self._noted = False
            before(signal.SIGINT, None)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._noted = True
