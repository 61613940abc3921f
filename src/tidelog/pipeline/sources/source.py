"""Sources with positions: a batch of their feed is the changes from one position to another, not a set of files.

A position is a JSON value: the version of a table, the offsets of a topic, a place in a server's log. It also names the
table that it belongs to, so that a table that was dropped and made again is not taken for the old one. The range of a
batch is written to the log of batches before the batch is taken (`logged_feeds`), and read again after a crash:

    start          where the feed begins; its first rows are `read(None, position)`
    latest         the position up to which the next batch goes
    read           the changes between two positions, the same each time
    acknowledge    the changes up to a position are committed, and the source need not keep them
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

from tidelog.io.bad_rows import BadRecord
from tidelog.lake.row_changes import Part as Part
from tidelog.lake.row_changes import RowChanges as RowChanges
from tidelog.pipeline.records import Record

Position = Any
"""A JSON value; only its source looks inside."""


Content = Iterable[RowChanges] | Iterable[Record | BadRecord]
"""Changes of rows, which add up; or records with operations, for a feed with `op`, `order` and `key`."""


class Source(Protocol):
    """A table, topic or log that was opened for one feed or starting table."""

    gives_records: bool
    """True if `read` yields records, False if it yields changes of rows."""

    def check(self, position: Position | None) -> None:
        """Raises an error by name for a source that cannot be read, or not from the committed position on."""

    def start(self, planned: Position | None) -> Position:
        """Returns the position at which a new feed begins. `planned` is the one of an attempt that was not committed:
        it is returned again if its rows can still be read."""

    def latest(self, position: Position) -> Position | None:
        """Returns the end of the next batch after a position; None if there is nothing new."""

    def read(self, begin: Position | None, end: Position) -> Content:
        """Yields the changes after `begin` up to `end`; without `begin`, all rows at `end` as inserts."""

    def acknowledge(self, position: Position) -> None:
        """Notes that the changes up to a position are committed. Called after each commit, and once at the start."""

    def close(self) -> None:
        """Frees connections."""


@runtime_checkable
class PartedSource(Protocol):
    """A source whose changes of rows can be read in parts, by the tasks of Spark."""

    def parts(self, begin: Position | None, end: Position) -> Sequence[Part]:
        """Returns the parts of `read(begin, end)`. Reads metadata only."""
