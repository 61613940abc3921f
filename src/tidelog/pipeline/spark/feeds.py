"""Streams of Spark → batches: one query over all feeds; a batch has the new records of all of them.

Spark writes the parts of each source in a batch to the checkpoint before it delivers the batch, and delivers it again,
with the same records, until `foreachBatch` has returned. The number of a batch is committed with its epoch, so a
committed batch is skipped. A checkpoint belongs to its feeds and to its database: the id of the query and the
definitions of the feeds are stored beside it.

A file is taken once, as it is then. If somebody writes to it later, that is told, since rows of it may be missing.
"""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from time import monotonic
from typing import Any

import pyarrow as pa

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError, UsageError
from tidelog.io.bad_rows import BadRecord
from tidelog.io.formats import CSV
from tidelog.pipeline.addresses import is_pattern, on_this_machine, shown_place
from tidelog.pipeline.batch import Batch, Records, SourceRange, Stop, Take
from tidelog.pipeline.batch_log import LOCAL_LOG
from tidelog.pipeline.changed_files import ChangedFile, ChangeWarnings
from tidelog.pipeline.local.records import columns_of, read_document, read_documents, read_text
from tidelog.pipeline.records import Record
from tidelog.pipeline.settings import Feed
from tidelog.pipeline.spark.checkpointed_files import TakenFiles, missing, planned_files
from tidelog.pipeline.spark.failures import naming, said
from tidelog.pipeline.spark.folder import Folder
from tidelog.pipeline.spark.signed import signed
from tidelog.pipeline.spark.sources import JSON_FORMATS, columns_of_files, feed_stream, has_columns
from tidelog.rules.ir import Relation, RuleProgram
from tidelog.rules.schema.arrow import arrow_schema, with_plain_columns
from tidelog.values import Definitions

_FEEDS = "feeds.json"
_LOOK_AGAIN = 5.0
"""Seconds after which the files that were taken are looked at again, at the least."""


class _StoppedError(Exception):
    """A batch was delivered after the request to stop; Spark will deliver it again."""


class SparkFeeds:
    """Implements `Feeds`. The checkpoint is in `folder`; `warn` is called for missing files."""

    def __init__(
        self, spark: Any, feeds: Sequence[Feed], program: RuleProgram, folder: Folder, warn: Callable[[str], object]
    ) -> None:
        self._spark = spark
        self._feeds = feeds
        self._relations = program.relations
        self._definitions = program.functions.definitions
        self._folder = folder
        self._warn = warn
        self._query: Any = None
        self._supposed: list[Feed] = []
        self._failure: BaseException | None = None
        self._taking = threading.Lock()
        self._taken = TakenFiles(folder)
        self._changes = ChangeWarnings(warn)

    def check(self, last: int | None) -> None:
        described = [[feed.relation, feed.place.format, feed.place.written] for feed in self._feeds]
        noted = self._folder.read_text(_FEEDS)
        if self._folder.exists(LOCAL_LOG) and noted is None:
            raise UsageError(
                "the feeds of this state were read on the local engine, and their position is in its log of batches",
                code=Code.OTHER_FEEDS,
                help="continue there with `--engine local`, or give the pipeline a new `state`",
            )
        if noted is not None and json.loads(noted) != described:
            raise UsageError(
                "the feeds differ from those of the state: "
                + ", ".join(f"{name} from {path}" for name, _, path in json.loads(noted)),
                code=Code.OTHER_FEEDS,
                help="give the pipeline a new `state`; the checkpoint of a query is tied to its sources",
            )
        if last is not None and last >= 0 and not self._folder.exists("log/metadata"):
            raise UsageError(
                f"the state has batch {last}, but the checkpoint of its feeds is missing",
                code=Code.OTHER_FEEDS,
                help="give the pipeline a new `state`; the checkpoint and the database belong together",
            )
        self._folder.write_text(_FEEDS, json.dumps(described))
        for feed in self._feeds:
            path = feed.place.path
            folder = None if path is None or is_pattern(path) else on_this_machine(path)
            if folder is not None and not folder.exists():
                folder.mkdir(parents=True)

    def start(self) -> Mapping[str, SourceRange]:
        return {}

    def run(self, take: Take, last: int | None, *, watch: bool, interval: float, stop: Stop) -> None:
        if not self._feeds:
            return

        def take_frame(frame: Any, number: int) -> None:
            with self._taking:
                if stop.is_set():
                    raise _StoppedError
                try:
                    if last is None or number > last:
                        take(self._batch(frame, number))
                except BaseException as error:
                    self._failure = error
                    raise

        trigger: dict[str, Any] = {"availableNow": True}
        if watch:
            trigger = {"processingTime": every(interval)}
        planned = planned_files(self._folder / "log")
        for path in missing(planned):
            self._warn(f"{path} no longer exists and is left out of its batch")
        self._taken.read_again(planned)
        self._tell_changes()
        while True:
            writer = self._stream().writeStream.foreachBatch(take_frame)
            writer = writer.option("checkpointLocation", self._folder.spark_path("log"))
            self._failure = None
            self._query = writer.trigger(**trigger).start()
            try:
                self._wait(stop, interval)
                return
            except DataError as error:
                # Perhaps new files have other columns than supposed. The batch will be delivered again.
                told = (columns_of_files(self._spark, feed.place) for feed in self._supposed)
                if error.code != Code.SOURCE_FAILED or all(columns is None for columns in told):
                    raise

    def interrupt(self) -> None:
        """Ends the query, in the middle of a batch if necessary."""
        if self._query is not None:
            self._query.stop()

    def close(self) -> None:
        pass

    def _stream(self) -> Any:
        from pyspark.sql import functions as f

        streams = []
        self._supposed = []
        for place, feed in enumerate(self._feeds):
            with naming(f"changes.{feed.relation}"):
                relation = self._relations[feed.relation]
                schema = None
                if has_columns(feed.place):
                    schema = columns_of_files(self._spark, feed.place)
                    if schema is None:
                        schema = _probable_columns(feed, relation, self._definitions)
                        self._supposed.append(feed)
                stream = feed_stream(self._spark, feed.place, columns_of(feed, relation), schema)
                streams.append(stream.select(f.col("record").alias(f"f{place}")))
        return reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), streams)

    def _wait(self, stop: Stop, interval: float) -> None:
        from pyspark.errors import PySparkException

        looked = monotonic()
        try:
            while not self._query.awaitTermination(0.2):
                if stop.is_set():
                    with self._taking:
                        self._query.stop()
                    return
                if monotonic() > looked + max(interval, _LOOK_AGAIN):
                    self._tell_changes()
                    looked = monotonic()
            self._tell_changes()
        except PySparkException as error:
            if isinstance(self._failure, _StoppedError) or (stop.is_set() and self._failure is None):
                return
            if self._failure is not None:
                raise self._failure from None
            raise DataError(f"the feeds cannot be read: Spark says: {said(error)}", code=Code.SOURCE_FAILED) from error

    def _tell_changes(self) -> None:
        self._changes.tell([ChangedFile(path) for path in self._taken.changed()])

    def _batch(self, frame: Any, number: int) -> Batch:
        with naming("changes"):
            table = frame.toArrow()
        records: dict[str, Records] = {}
        for place, feed in enumerate(self._feeds):
            found = table.column(f"f{place}").drop_null().to_pylist()
            records[feed.relation] = records_of(found, feed, self._relations[feed.relation])
        return Batch(number, records)


def every(seconds: float) -> str:
    """Returns an interval as Spark reads it: without exponents (`1e-05`), and at least a millisecond."""
    return f"{round(seconds * 1000)} milliseconds"


def records_of(found: Sequence[Mapping[str, Any]], feed: Feed, relation: Relation) -> Iterator[Record | BadRecord]:
    """Yields the records in a column that `sources` made."""
    is_text, is_json = feed.place.format == "csv", feed.place.format in JSON_FORMATS
    for each in found:
        place = shown_place(each["place"])
        if each["bad"] is not None:
            yield BadRecord(place, each["bad"], DataError(f"{place}: the record cannot be read", code=Code.NOT_ROWS))
        elif "row" in each:
            yield Record(place, each["row"])
        elif "file" in each:
            lines = io.StringIO(each["file"].removeprefix("\ufeff"), newline=None if is_json else "")
            if is_json:
                yield from read_documents(lines, place, feed)
                continue
            separator = feed.place.options.get("sep", ",")
            yield from read_text(lines, place, replace(CSV, delimiter=separator), feed, relation)
        else:
            record = read_document(place, each["text"] or "null", feed)
            if isinstance(record, Record) and is_text:
                yield replace(record, is_text=True)
            elif record is not None:
                yield record


def _probable_columns(feed: Feed, relation: Relation, definitions: Definitions) -> Any:
    """Returns the columns that the files of a feed should have according to the program."""
    from pyspark.sql.pandas.types import from_arrow_schema

    empty = signed(arrow_schema(with_plain_columns(relation), definitions).empty_table())
    fields = [pa.field(each.name, each.type) for each in empty.schema]
    if feed.is_envelope:
        row = pa.struct(fields)
        fields = [pa.field("before", row), pa.field("after", row)]
    more = (name for name in (feed.op, feed.order) if name is not None)
    fields += [pa.field(name, pa.string()) for name in more if name not in [each.name for each in fields]]
    return from_arrow_schema(pa.schema(fields))
