"""What becomes of a row of a file that does not fit: the run fails with its place, or it is left out and counted.

Only rows are ever left out. A file that cannot be read, whose columns are not those of the relation, or that cannot be
taken apart into rows (a quote that is never closed) fails in any case: nobody could say what is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError

OF_ONE_ROW = frozenset({Code.WRONG_VALUE_COUNT, Code.WRONG_VALUE, Code.NULL_VALUE})
"""The errors of a table that are about one of its rows, not about the table."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that does not fit: why, and its text, as far as it is known."""

    error: DataError
    text: str = ""


@dataclass(slots=True)
class BadRows:
    """The rows of one file that were left out: how many, and what was wrong with the first. `tell` hears of each."""

    skip: bool = False
    count: int = 0
    first: DataError | None = None
    tell: Callable[[BadRow], None] | None = None

    def add(self, bad: BadRow) -> None:
        """Counts a row that is left out; raises its error where rows are not to be."""
        if not self.skip:
            raise bad.error
        self.count += 1
        self.first = self.first or bad.error
        if self.tell is not None:
            self.tell(bad)
