"""The interface between a pipeline and its engine; `local.site` and `spark.site` implement it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from tidelog.database.database import Database
from tidelog.database.transactions.transaction import Transaction
from tidelog.io.values import Row
from tidelog.pipeline.bad_records import BadRecords
from tidelog.pipeline.batch import Feeds, SourceRange
from tidelog.pipeline.net_changes import NetChanges
from tidelog.pipeline.row_feed import RowFeed
from tidelog.pipeline.settings import Table
from tidelog.pipeline.sinks import Quarantine, Sinks


class Site(Protocol):
    """An open database, with the feeds and the sinks of a pipeline."""

    database: Database
    feeds: Feeds
    sinks: Sinks
    quarantine: Quarantine | None
    feeds_folder: Path

    def load(self, tx: Transaction, table: Table, bad: BadRecords) -> int | None:
        """Inserts the rows of a starting table; returns their number, bad ones included, if it is known."""

    def load_rows(self, tx: Transaction, feed: RowFeed, rows: SourceRange, bad: BadRecords) -> int | None:
        """Inserts the first rows of a source; returns their number, bad ones included, if it is known."""

    def take_rows(
        self, tx: Transaction, feed: RowFeed, changes: SourceRange, bad: BadRecords
    ) -> tuple[int, NetChanges]:
        """Writes the changes of a source; returns the number of rows read, and the net changes."""

    def committed(self) -> None:
        """Frees the state of a batch, or of the starting tables, after its commit."""

    def old_rows(self, relation: str, columns: Sequence[str], keys: Sequence[Row]) -> Mapping[Row, list[Row]]:
        """See `apply.OldRows`."""

    def interrupt(self) -> None:
        """Cancels the current work as soon as possible; called from another thread."""

    def close(self) -> None:
        """Closes the database; what was committed stays."""
