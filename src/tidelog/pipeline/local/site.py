"""A pipeline in this process: a durable database, and folders of input and output files.

state/database     the database
state/feeds        the files and positions of each batch
state/outbox       changes that wait for tables in a lake
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tidelog.database.program.program import Program
from tidelog.database.transactions.transaction import Transaction
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.io.values import Row
from tidelog.pipeline.bad_records import BadRecords
from tidelog.pipeline.batch import Feeds, SourceRange
from tidelog.pipeline.local.formats import files_at
from tidelog.pipeline.local.present_facts import PresentFacts
from tidelog.pipeline.local.sinks import LocalQuarantine, local_sink
from tidelog.pipeline.local.tables import load_table
from tidelog.pipeline.logged_feeds import LoggedFeeds
from tidelog.pipeline.net_changes import NetChanges
from tidelog.pipeline.row_feed import RowFeed, load_place
from tidelog.pipeline.settings import Settings, Table
from tidelog.pipeline.sinks import Quarantine, Sinks
from tidelog.pipeline.sources.formats import is_positioned


class LocalSite:
    """Implements `Site`."""

    def __init__(
        self, settings: Settings, program: Program, opening: Mapping[str, Any], warn: Callable[[str], object]
    ) -> None:
        rules = self._rules = program.stages.rules
        definitions = rules.functions.definitions
        state = Path(settings.state)
        self.database = program.open("local", path=state / "database", **opening)
        try:
            self.feeds_folder = state / "feeds"
            self.feeds: Feeds = LoggedFeeds(settings.feeds, rules.relations, self.feeds_folder, warn)
            self._present = PresentFacts(self.database, rules)
            self.sinks = Sinks(
                {
                    each.relation: local_sink(
                        each, rules.relations[each.relation], definitions, self.database, state / "outbox"
                    )
                    for each in settings.outputs
                }
            )
            self.quarantine: Quarantine | None = (
                LocalQuarantine(settings.quarantine, definitions) if settings.quarantine is not None else None
            )
        except BaseException:
            self.close()
            raise

    def load(self, tx: Transaction, table: Table, bad: BadRecords) -> int:
        if is_positioned(table.place):
            return load_place(tx, table, self._rules, bad)
        files = files_at(table.place)
        if not files:
            raise DataError(f"{table.place.path}: there are no files for `{table.relation}`", code=Code.UNREADABLE_FILE)
        return load_table(tx, files, table, self._rules, bad)

    def load_rows(self, tx: Transaction, feed: RowFeed, rows: SourceRange, bad: BadRecords) -> int:
        return feed.load(tx, rows, bad)

    def take_rows(
        self, tx: Transaction, feed: RowFeed, changes: SourceRange, bad: BadRecords
    ) -> tuple[int, NetChanges]:
        return feed.take(tx, changes, partial(self._present.among, feed.relation.name), bad)

    def committed(self) -> None:
        pass

    def old_rows(self, relation: str, columns: Sequence[str], keys: Sequence[Row]) -> Mapping[Row, list[Row]]:
        view = self.database.relation(relation)
        return {key: view._canonical_lookup(dict(zip(columns, key, strict=True))) for key in keys}

    def interrupt(self) -> None:
        self.database.cancel()

    def close(self) -> None:
        if hasattr(self, "feeds"):
            self.feeds.close()
        self.database.close()
