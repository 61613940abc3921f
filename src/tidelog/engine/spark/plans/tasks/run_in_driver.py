"""Runs a job of one task in this process, without Spark: an epoch of a local engine that can be cancelled.

The engine's own `cancel` ends it from another thread, but only while an epoch runs; before and after, and at each
progress report, the attempt is checked. A local engine must not be interrupted between any two steps of Python, so an
interrupt from the keyboard cancels it in the same way, and is raised after that.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from tidelog.diagnostics.errors import EvaluationError
from tidelog.engine.spark.epoch.attempt import Attempt
from tidelog.engine.spark.plans.tasks.task import Job, TaskOutcome, run_bucket

if TYPE_CHECKING:
    from tidelog.engine.local.engine import LocalEngine


def run_in_driver(attempt: Attempt, job: Job) -> TaskOutcome:
    """Brings the only bucket of a job to the new epoch. Raises EvaluationError if the attempt was cancelled."""
    ending = _Ending(attempt)
    with attempt.cancellation.also_cancels(ending.end), ending.on_cancellation():
        try:
            return run_bucket(job, 0, ending.meet)
        finally:
            if ending.engine is not None:
                ending.engine.on_progress(None)


class _Ending:
    """Cancels the engine of an attempt."""

    def __init__(self, attempt: Attempt) -> None:
        self.engine: LocalEngine | None = None
        self._attempt = attempt
        self._is_interrupted = False

    def meet(self, engine: LocalEngine) -> None:
        """Takes the engine. Raises if the attempt is cancelled already."""
        self.engine = engine
        self._check()
        engine.on_progress(self._begin)

    def end(self) -> None:
        """Cancels the epoch of the engine, if it is in one."""
        if self.engine is not None:
            self.engine.cancel()

    @contextmanager
    def on_cancellation(self) -> Iterator[None]:
        """Cancels the engine on a keyboard interrupt inside the block; the earlier handler is called after it."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGINT, self._note)
        if not callable(before):
            signal.signal(signal.SIGINT, before)
            yield
            return
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
            if self._is_interrupted:
                before(signal.SIGINT, None)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._is_interrupted = True
        self.end()

    def _check(self) -> None:
        if self._is_interrupted:
            raise KeyboardInterrupt
        self._attempt.cancellation.check()

    def _begin(self, relations: Sequence[str], number: int) -> None:
        try:
            self._check()
        except (EvaluationError, KeyboardInterrupt):
            self.end()  # the engine knows best what was running
        else:
            self._attempt.begin(relations, number)
