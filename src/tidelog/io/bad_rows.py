"""Rows of a file that do not fit: the run fails with the place, or the row is left out and counted.

Only rows are ever left out. A file that cannot be read, that has other columns than the relation, or that cannot be
split into rows (a quote that is never closed) always fails: the lost rows would be unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError

OF_ONE_ROW = frozenset({Code.WRONG_VALUE_COUNT, Code.WRONG_VALUE, Code.NULL_VALUE})
"""The errors of a table that are about one of its rows, not about the table."""


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A row, or a record of a feed, that cannot be taken: its place, its text as far as it could be read, its error."""

    place: str
    text: str
    error: DataError


OnBad = Callable[[BadRecord], None]


@dataclass(slots=True)
class BadRows:
    """The rows of one file that were left out: their number, and the error of the first. `tell` is called with each."""

    skip: bool = False
    count: int = 0
    first: DataError | None = None
    tell: OnBad | None = None

    def add(self, bad: BadRecord) -> None:
        """Counts a row that is left out; raises its error if bad rows are not allowed."""
        if not self.skip:
            raise bad.error
        self.count += 1
        self.first = self.first or bad.error
        if self.tell is not None:
            self.tell(bad)
