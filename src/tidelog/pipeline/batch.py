"""A batch: the new records of all feeds, taken as one epoch; and the request to stop after a batch."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Protocol, cast

from tidelog.io.bad_rows import BadRecord
from tidelog.pipeline.records import Record
from tidelog.pipeline.sources.source import Position, RowChanges, Source

Records = Iterator[Record | BadRecord]


@dataclass(frozen=True, slots=True)
class SourceRange:
    """The changes of a source after one position (None: all rows) up to another."""

    source: Source
    begin: Position | None
    end: Position

    def content(self) -> Iterable[RowChanges]:
        """Reads the changes of a source that gives changes of rows."""
        assert not self.source.gives_records
        return cast("Iterable[RowChanges]", self.source.read(self.begin, self.end))


@dataclass(frozen=True, slots=True)
class Batch:
    """`records` by relation, each iterable once, and the ranges of sources with positions. A batch that is delivered
    again has the same number, records and ranges."""

    number: int
    records: Mapping[str, Records]
    ranges: Mapping[str, SourceRange] = field(default_factory=dict)


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

    def start(self) -> Mapping[str, SourceRange]:
        """Fixes where the feeds begin that give changes of rows; returns their first rows. Called before the starting
        tables are loaded, which these rows are part of."""

    def run(self, take: Take, last: int | None, *, watch: bool, interval: float, stop: Stop) -> None:
        """Delivers all batches after the last one, in order; with `watch` also later ones, until `stop`."""

    def close(self) -> None:
        """Frees the connections of sources."""
