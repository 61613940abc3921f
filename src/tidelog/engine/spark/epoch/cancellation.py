"""Cancellation of an epoch on Spark, from another thread: interrupts the Spark jobs that run for the epoch.

All jobs of an epoch have its label as their tag, so cancelling the epoch interrupts the jobs with that tag. Any error
that Spark then raises in the committing thread becomes the error of a cancelled epoch. Between two jobs, the epoch
checks by itself. A local engine that runs in this process instead of a job is cancelled by a callback (`also_cancels`).

A tag of a classic session is known to its own thread only, so there the tags are those of the context, which all
threads know; on Spark Connect, where there is no context, they are those of the session. A session that starts during
the epoch gets the tag when it starts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import EvaluationError
from tidelog.engine.local.epoch import cancellation as keyboard
from tidelog.engine.spark.session import LazySession, is_connect, is_started, require_running

RETRY_SECONDS = 0.5
"""The interval at which jobs are interrupted again until the epoch has ended."""


class Cancellation:
    """The cancellation of one engine; implements `maintain.limits.CancellationCheck`."""

    def __init__(self, spark: Any) -> None:
        self._spark = spark
        self._label: str | None = None
        self._is_cancelled = False
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._untag: Callable[[str], object] | None = None
        self._cancel_more: Callable[[], object] | None = None
        if isinstance(spark, LazySession):
            spark.when_made = self._tag

    @contextmanager
    def running(self, label: str) -> Iterator[None]:
        """Runs an epoch that can be cancelled inside the block. Raises EvaluationError if it was cancelled."""
        self._label, self._is_cancelled, self._thread = label, False, threading.current_thread()
        self._over = threading.Event()
        try:
            self._tag()
            yield
            self._pass_point_of_no_return()
        except Exception as error:
            if self._is_cancelled and getattr(error, "code", None) != Code.CANCELLED:
                raise _cancelled() from None
            raise
        finally:
            self._label = None
            self._over.set()
            if self._untag is not None:
                with suppress(Exception):  # a dead session cannot be told; the error that killed it matters more
                    self._untag(label)
                self._untag = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Holds an interrupt from the keyboard back inside the block, and until the transaction has ended."""
        with keyboard.Cancellation().held():
            keyboard.Cancellation.begin_holding()
            yield

    @contextmanager
    def also_cancels(self, cancel: Callable[[], object]) -> Iterator[None]:
        """Inside the block, cancelling the epoch also calls `cancel`."""
        self._cancel_more = cancel
        try:
            yield
        finally:
            self._cancel_more = None

    def cancel(self) -> bool:
        """Cancels the running epoch; False if none runs, or it is past its point of no return."""
        with self._lock:
            label = self._label
            if label is None:
                return False
            self._is_cancelled = True
        cancel_more = self._cancel_more
        if cancel_more is not None:
            cancel_more()
        self.cancel_jobs()
        threading.Thread(target=self._cancel_again, args=(label,), name="tidelog cancel", daemon=True).start()
        return True

    def cancel_jobs(self) -> None:
        """Interrupts the Spark jobs of the running epoch; the epoch itself is not marked as cancelled."""
        label = self._label
        if label is None:
            return
        if is_started(self._spark):
            context = _context(self._spark)
            if context is None:
                self._spark.interruptTag(label)
            else:
                context.cancelJobsWithTag(label)

    def check(self) -> None:
        """Raises EvaluationError if the epoch was cancelled."""
        if self._is_cancelled and self._label is not None:
            raise _cancelled()
        self._tag()

    def _pass_point_of_no_return(self) -> None:
        """Ends the time in which the epoch can be cancelled. Raises EvaluationError if it was."""
        with self._lock:
            self.check()
            self._label = None

    def _cancel_again(self, label: str) -> None:
        """Interrupts the jobs that began after `cancel_jobs` and before the epoch checked again."""
        over = self._over
        while not over.wait(RETRY_SECONDS) and self._label == label:
            with suppress(Exception):  # the session may have ended meanwhile
                self.cancel_jobs()

    def _tag(self) -> None:
        """Tags all further jobs of this thread with the running epoch, once there is a session."""
        label = self._label
        is_mine = label is not None and self._untag is None and threading.current_thread() is self._thread
        if label is not None and is_mine and is_started(self._spark):
            require_running(self._spark)
            context = _context(self._spark)
            self._untag = self._spark.removeTag if context is None else context.removeJobTag
            (self._spark.addTag if context is None else context.addJobTag)(label)


def _context(spark: Any) -> Any:
    """Returns the context of a classic session; None on Spark Connect."""
    return None if is_connect(spark) else spark.sparkContext


def _cancelled() -> EvaluationError:
    return EvaluationError("the epoch was cancelled; the last commit is intact", code=Code.CANCELLED)
