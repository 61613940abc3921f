"""A pipeline on Spark: any source and any sink of Spark.

state/database     the database
state/feeds        the checkpoint of the query over the feeds; or, if one has positions, the log of batches
state/outbox       changes that wait for sinks other than folders of files
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tidelog.database.program.program import Program
from tidelog.database.transactions.transaction import Transaction
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.engine.spark.engine import SparkEngine
from tidelog.engine.spark.session import local_session
from tidelog.io.rows import to_rows, to_table
from tidelog.io.values import Row
from tidelog.pipeline.bad_records import BadRecords
from tidelog.pipeline.batch import Feeds, SourceRange
from tidelog.pipeline.load import load_records
from tidelog.pipeline.logged_feeds import LoggedFeeds
from tidelog.pipeline.net_changes import NetChanges
from tidelog.pipeline.row_feed import RowFeed, load_content, place_rows
from tidelog.pipeline.settings import Feed, Place, Settings, Table
from tidelog.pipeline.sinks import Quarantine, Sinks
from tidelog.pipeline.sources.formats import is_positioned
from tidelog.pipeline.sources.source import Part, PartedSource
from tidelog.pipeline.spark.failures import naming
from tidelog.pipeline.spark.feeds import SparkFeeds, records_of
from tidelog.pipeline.spark.fit import bad_column, bad_record, fit_frame, without_decimals
from tidelog.pipeline.spark.folder import Folder
from tidelog.pipeline.spark.signed import signed
from tidelog.pipeline.spark.sinks import SparkQuarantine, spark_sink
from tidelog.pipeline.spark.sources import table_frame
from tidelog.pipeline.spark.stage_parts import StagedRows, stage_parts
from tidelog.pipeline.spark.staged_changes import StagedChanges
from tidelog.rules.ir import Kind, Relation
from tidelog.rules.schema.arrow import is_plain_relation

_TIMESTAMPS = "spark.sql.parquet.outputTimestampType"
FEW_BYTES = 4_000_000
"""Parts of at most so many bytes are read by the driver: a job costs more."""

FEW_ROWS = 100_000
"""Net changes of at most so many rows are compared with the relation by the driver."""

_LOOKED_UP = 8
"""At most so many keys are looked up one by one; for more, one job scans the relation."""


def _write_microseconds(spark: Any) -> None:
    """Has the session write timestamps of Parquet as microseconds: other readers take Spark's old form, INT96, for
    nanoseconds, which have no years before 1678 and after 2261."""
    if spark.conf.get(_TIMESTAMPS) == "INT96":
        spark.conf.set(_TIMESTAMPS, "TIMESTAMP_MICROS")


class SparkSite:
    """Implements `Site`. `spark` is the session, by default the active one or a new local one."""

    def __init__(
        self,
        settings: Settings,
        program: Program,
        opening: Mapping[str, Any],
        warn: Callable[[str], object],
        spark: Any = None,
    ) -> None:
        self._spark = spark if spark is not None else local_session()
        _write_microseconds(self._spark)
        is_logged = any(is_positioned(feed.place) for feed in settings.feeds)
        if settings.feeds and not is_logged and "connect" in type(self._spark).__module__:
            raise UsageError(
                "feeds cannot be read through Spark Connect: it delivers batches on the server",
                code=Code.SOURCE_FAILED,
                help="run the pipeline with a classic session, such as `spark-submit` makes",
            )
        rules = self._rules = program.stages.rules
        self._relations = rules.relations
        self._definitions = rules.functions.definitions
        state = Folder(settings.state)
        self.database = program.open("spark", spark=self._spark, path=(state / "database").address, **opening)
        self._kept: list[Any] = []
        self._staged: list[StagedChanges] = []
        try:
            self.feeds_folder = Path(settings.state) / "feeds"
            self._spark_feeds: SparkFeeds | None = None
            self.feeds: Feeds
            if is_logged:
                self.feeds = LoggedFeeds(settings.feeds, rules.relations, self.feeds_folder, warn)
            else:
                feeds = [replace(feed, place=_known_to_spark(feed.place)) for feed in settings.feeds]
                self.feeds = self._spark_feeds = SparkFeeds(self._spark, feeds, rules, state / "feeds", warn)
            sinks = {}
            for output in settings.outputs:
                known = replace(output, place=_known_to_spark(output.place))
                relation = rules.relations[output.relation]
                sinks[output.relation] = spark_sink(
                    known, relation, self._definitions, self.database, self._spark, state / "outbox"
                )
            self.sinks = Sinks(sinks)
            self.quarantine: Quarantine | None = None
            if settings.quarantine is not None:
                self.quarantine = SparkQuarantine(_known_to_spark(settings.quarantine), self._spark)
        except BaseException:
            self.close()
            raise

    def load(self, tx: Transaction, table: Table, bad: BadRecords) -> int | None:
        relation = self._relations[table.relation]
        if is_positioned(table.place):
            with place_rows(table, relation) as rows:
                parts = self._parts_for_tasks(relation, rows)
                if parts is None:
                    return load_content(tx, rows.content(), relation, self._definitions, bad)[0]
                return self._load_parts(tx, relation, parts, bad)[0]
        place = _known_to_spark(table.place)
        feed = Feed(relation.name, place)
        with naming(f"inputs.{table.relation}"):
            records = table_frame(self._spark, place, [column.name for column in relation.columns])
            if not is_plain_relation(relation) or relation.kind is not Kind.SET or relation.key is not None:
                # Rows that are not plain, or are counted one by one, go through the driver.
                found = records_of(records.toArrow().column(0).to_pylist(), feed, relation)
                return load_records(tx, found, feed, self._rules, bad)
            fitted = fit_frame(records, feed, relation, self._definitions, skip=bad.skip)
            described = bad_column(relation)
            if not bad.skip:
                tx.insert(relation.name, fitted.drop(described))
                return None
            fitted = fitted.persist()
            self._kept.append(fitted)
            for (description,) in fitted.where(f"{described} IS NOT NULL").select(described).collect():
                bad.add(relation.name, bad_record(description))
            tx.insert(relation.name, fitted.where(f"{described} IS NULL").drop(described))
            return None

    def load_rows(self, tx: Transaction, feed: RowFeed, rows: SourceRange, bad: BadRecords) -> int | None:
        parts = self._parts_for_tasks(feed.relation, rows)
        if parts is None:
            return feed.load(tx, rows, bad)
        count, copies = self._load_parts(tx, feed.relation, parts, bad)
        feed.copies.plan(copies)
        return count

    def take_rows(
        self, tx: Transaction, feed: RowFeed, changes: SourceRange, bad: BadRecords
    ) -> tuple[int, NetChanges]:
        relation = feed.relation
        parts = self._parts_for_tasks(relation, changes)
        if parts is None:
            return feed.take(tx, changes, partial(self._present, relation), bad)
        rows, staged = self._stage(relation, parts, bad)
        net = staged.net(rows)
        if staged.count(net) <= FEW_ROWS:
            return rows.read, feed.apply(tx, staged.weights(net), partial(self._present, relation))
        found = staged.take(tx, net, feed.copies.all())
        feed.copies.plan(found.copies)
        return rows.read, found

    def _present(self, relation: Relation, rows: Sequence[Row]) -> Iterable[Row]:
        """Returns those of the rows that are committed facts."""
        name = relation.name
        if any(rule.head.relation == name for rule in self._rules.rules):
            with self.database._locked.engine() as engine:
                return {row for row, _ in engine.facts(name)}.intersection(rows)
        found = self.old_rows(name, [column.name for column in relation.columns], rows)
        return [row for row in rows if found.get(row)]

    def _parts_for_tasks(self, relation: Relation, rows: SourceRange) -> Sequence[Part] | None:
        """Returns the parts of a range that tasks should read; None for a source or relation that the driver reads, and
        for so few bytes that a job would cost more."""
        is_plain_set = relation.kind is Kind.SET and relation.key is None and bool(relation.columns)
        if not is_plain_set or rows.source.gives_records or not isinstance(rows.source, PartedSource):
            return None
        parts = rows.source.parts(rows.begin, rows.end)
        sizes = [part.size for part in parts]
        is_small = sum(size or 0 for size in sizes) <= FEW_BYTES and None not in sizes
        return None if is_small else parts

    def _load_parts(
        self, tx: Transaction, relation: Relation, parts: Sequence[Part], bad: BadRecords
    ) -> tuple[int, Mapping[Row, int]]:
        """Inserts the rows of the parts; returns the number of rows read, and the copies beyond the first."""
        rows, staged = self._stage(relation, parts, bad)
        return rows.read, staged.load(tx, staged.net(rows))

    def _stage(self, relation: Relation, parts: Sequence[Part], bad: BadRecords) -> tuple[StagedRows, StagedChanges]:
        with self.database._locked.engine() as engine:
            assert isinstance(engine, SparkEngine)
            directory, epoch = engine.staging()
            stored = engine.facts_stored(relation.name)
        staged = StagedChanges(self._spark, directory, epoch, relation, self._definitions, stored)
        self._staged.append(staged)
        return stage_parts(self._spark, (directory, epoch), relation, self._definitions, parts, bad), staged

    def old_rows(self, relation: str, columns: Sequence[str], keys: Sequence[Row]) -> Mapping[Row, list[Row]]:
        view, declared = self.database.relation(relation), self._relations[relation]
        if len(keys) <= _LOOKED_UP or not is_plain_relation(declared):
            return {key: view._canonical_lookup(dict(zip(columns, key, strict=True))) for key in keys}
        places = [i for name in columns for i, column in enumerate(declared.columns) if column.name == name]
        key_relation = replace(declared, columns=tuple(declared.columns[i] for i in places), key=None)
        wanted = self._spark.createDataFrame(signed(to_table(list(keys), key_relation)))
        with naming(f"changes.{relation}"):
            found = view.to_spark().join(wanted, list(columns), "left_semi").toArrow()
        found = without_decimals(found.select([column.name for column in declared.columns]), declared)
        rows: dict[Row, list[Row]] = {}
        for row in to_rows(found, declared, self._definitions):
            rows.setdefault(tuple(row[i] for i in places), []).append(row)
        return rows

    def committed(self) -> None:
        for frame in self._kept:
            frame.unpersist()
        for staged in self._staged:
            staged.release()
        self._kept, self._staged = [], []

    def interrupt(self) -> None:
        if self._spark_feeds is not None:
            self._spark_feeds.interrupt()
        self.database.cancel()

    def close(self) -> None:
        if hasattr(self, "feeds"):
            self.feeds.close()
            self.committed()
        self.database.close()


def _known_to_spark(place: Place) -> Place:
    """Returns the place with a format that Spark has: it has no `jsonl`, `tsv` and `facts`."""
    if place.format == "tsv":
        return replace(place, format="csv", options={"sep": "\t", **place.options})
    if place.format == "facts":
        return replace(place, format="csv", options={"sep": "\t", "header": "false", "quote": "", **place.options})
    return replace(place, format="json") if place.format == "jsonl" else place
