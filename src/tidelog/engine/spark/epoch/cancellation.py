"""The Spark jobs of the epoch that runs: what stops them, from another thread.

All jobs of an epoch have its label as their tag. To cancel the epoch is to interrupt them; whatever Spark then raises
in the thread that commits, is the cancelled epoch. Between two jobs, the epoch looks by itself; an engine that runs in
this process instead of a job is told (`run_here`).

A tag of a classic session is known to its own thread only, so there the tags are those of the context, which all
threads know; on Spark Connect, where there is no context, they are those of the session. A session that is made during
the epoch gets the tag when it is made.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import EvaluationError
from tidelog.engine.spark.session import LaterSession, is_connect, is_started, require_running

AGAIN_SECONDS = 0.5
"""So often jobs are ended again, as long as the epoch has not ended."""


class Jobs:
    """Those of one engine; `check` is what `maintain.limits.Watch` asks for."""

    def __init__(self, spark: Any) -> None:
        self._spark = spark
        self._label: str | None = None
        self._is_cancelled = False
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._untag: Callable[[str], object] | None = None
        self._end_here: Callable[[], object] | None = None
        if isinstance(spark, LaterSession):
            spark.when_made = self._tag

    @contextmanager
    def running(self, label: str) -> Iterator[None]:
        """An epoch runs in here, and can be cancelled. Raises EvaluationError if it was."""
        self._label, self._is_cancelled, self._thread = label, False, threading.current_thread()
        self._over = threading.Event()
        try:
            self._tag()
            yield
            self._pass_the_last_stop()
        except Exception as error:
            if self._is_cancelled and getattr(error, "code", None) != Code.CANCELLED:
                raise _cancelled() from None
            raise
        finally:
            self._label = None
            self._over.set()
            if self._untag is not None:
                with suppress(Exception):  # a session that has died cannot be told; why it has died matters more
                    self._untag(label)
                self._untag = None

    def cancel(self) -> bool:
        """Ends the epoch that runs; False when there is none, or it is past its last stop."""
        with self._lock:
            label = self._label
            if label is None:
                return False
            self._is_cancelled = True
        end_here = self._end_here
        if end_here is not None:
            end_here()
        self.end()
        threading.Thread(target=self._end_again, args=(label,), name="tidelog cancel", daemon=True).start()
        return True

    def _pass_the_last_stop(self) -> None:
        """From here on the epoch cannot be cancelled any more. Raises if it was until now."""
        with self._lock:
            self.check()
            self._label = None

    def _end_again(self, label: str) -> None:
        """A job may begin right after the others were ended, before the epoch looks again."""
        over = self._over
        while not over.wait(AGAIN_SECONDS) and self._label == label:
            with suppress(Exception):  # of a session that has ended meanwhile
                self.end()

    @contextmanager
    def ended_by(self, end: Callable[[], object]) -> Iterator[None]:
        """What runs in here ends when `end` is called; to cancel the epoch is to do that."""
        self._end_here = end
        try:
            yield
        finally:
            self._end_here = None

    def end(self) -> None:
        """Ends the jobs that run for the epoch now; what becomes of it is for others to say."""
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
        """Raises EvaluationError when the epoch has been cancelled."""
        if self._is_cancelled and self._label is not None:
            raise _cancelled()
        self._tag()

    def _tag(self) -> None:
        """Gives the jobs to come the tag of the epoch that runs in this thread, once there is a session."""
        label = self._label
        is_mine = label is not None and self._untag is None and threading.current_thread() is self._thread
        if label is not None and is_mine and is_started(self._spark):
            require_running(self._spark)
            context = _context(self._spark)
            self._untag = self._spark.removeTag if context is None else context.removeJobTag
            (self._spark.addTag if context is None else context.addJobTag)(label)


def _context(spark: Any) -> Any:
    """The context of a classic session; None on Spark Connect."""
    return None if is_connect(spark) else spark.sparkContext


def _cancelled() -> EvaluationError:
    return EvaluationError("the epoch was cancelled; the last commit is intact", code=Code.CANCELLED)
