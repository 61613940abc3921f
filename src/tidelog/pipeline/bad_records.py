"""Bad records of a batch: they fail the batch, or are left out, counted, and kept for the quarantine."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidelog.diagnostics.errors import DataError
from tidelog.io.bad_rows import BadRecord


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

    def add_all(self, other: BadRecords) -> None:
        """Adds the bad records of a part of the batch."""
        self.count += other.count
        self.first = self.first or other.first
        self.kept += other.kept
