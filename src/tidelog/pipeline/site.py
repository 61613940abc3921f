"""The interface between a pipeline and its engine; `local.site` and `spark.site` implement it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from tidelog.database.database import Database
from tidelog.database.transactions.transaction import Transaction
from tidelog.io.values import Row
from tidelog.pipeline.bad_records import BadRecords
from tidelog.pipeline.batch import Feeds
from tidelog.pipeline.settings import Table
from tidelog.pipeline.sinks import Quarantine, Sinks


class Site(Protocol):
    """An open database, with the feeds and the sinks of a pipeline."""

    database: Database
    feeds: Feeds
    sinks: Sinks
    quarantine: Quarantine | None

    def load(self, tx: Transaction, table: Table, bad: BadRecords) -> int | None:
        """Inserts the rows of a starting table; returns their number, bad ones included, if it is known."""

    def loaded(self) -> None:
        """Frees the state of loading, after the starting tables are committed."""

    def old_rows(self, relation: str, columns: Sequence[str], keys: Sequence[Row]) -> Mapping[Row, list[Row]]:
        """See `apply.OldRows`."""

    def interrupt(self) -> None:
        """Cancels the current work as soon as possible; called from another thread."""

    def close(self) -> None:
        """Closes the database; what was committed stays."""
