"""A batch: the new records of all feeds, taken as one epoch; and the request to stop after a batch."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Protocol

from tidelog.io.bad_rows import BadRecord
from tidelog.pipeline.records import Record

Records = Iterator[Record | BadRecord]


@dataclass(frozen=True, slots=True)
class Batch:
    """`records` by relation, each iterable once. A batch that is delivered again has the same number and records."""

    number: int
    records: Mapping[str, Records]


Take = Callable[[Batch], None]
"""Applies a batch. An exception ends the run, and the next run delivers the batch again."""


class Stop(threading.Event):
    """A request to stop after the current batch."""

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Inside the block, the first SIGINT or SIGTERM requests a stop; the second one raises KeyboardInterrupt."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def note(number: int, frame: FrameType | None) -> None:
            if self.is_set():
                raise KeyboardInterrupt
            self.set()

        before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class Feeds(Protocol):
    """The feeds of a pipeline, on one engine."""

    def check(self, last: int | None) -> None:
        """Raises UsageError if the last committed batch cannot be a batch of these feeds."""

    def run(self, take: Take, last: int | None, *, watch: bool, interval: float, stop: Stop) -> None:
        """Delivers all batches after the last one, in order; with `watch` also later ones, until `stop`."""
