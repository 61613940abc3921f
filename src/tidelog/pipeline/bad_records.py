"""Bad records of a batch: they fail the batch, or are left out, counted, and kept for the quarantine."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from tidelog.diagnostics.errors import DataError
from tidelog.io.bad_rows import BadRow
from tidelog.pipeline.records import BadRecord


@dataclass(slots=True)
class BadRecords:
    """The bad records of one batch. With `skip` they are left out; with `keep` all are kept, not only counted."""

    skip: bool
    keep: bool
    count: int = 0
    first: DataError | None = None
    kept: list[tuple[str, BadRecord]] = field(default_factory=list)

    def add(self, relation: str, bad: BadRecord) -> None:
        """Counts a bad record; raises its error unless `skip` is set."""
        if not self.skip:
            raise bad.error
        self.count += 1
        self.first = self.first or bad.error
        if self.keep:
            self.kept.append((relation, bad))

    def add_row(self, relation: str, bad: BadRow, path: Path) -> None:
        """Adds a row of a file, whose reader begins the message with the place."""
        place = re.match(rf"{re.escape(str(path))}(:\d+:\d+|: row \d+)?", bad.error.message)
        self.add(relation, BadRecord(place[0] if place else str(path), bad.text, bad.error))

    def add_all(self, other: BadRecords) -> None:
        """Adds the bad records of a part of the batch."""
        self.count += other.count
        self.first = self.first or other.first
        self.kept += other.kept
