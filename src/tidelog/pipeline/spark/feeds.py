"""Streams of Spark → batches: one query over all feeds, whose every batch has what is new in any of them.

Spark notes in the checkpoint which part of each source is which batch before it delivers it, and delivers a batch
again, with the same records, until `foreachBatch` has returned. The number of a batch is committed with its epoch, so
one that was committed is passed over. A checkpoint belongs to its feeds, and to its database: the id of the query, and
what the feeds are, are kept beside it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError, UsageError
from tidelog.pipeline.batch import Batch, Records, Stop, Take
from tidelog.pipeline.local.records import columns_of
from tidelog.pipeline.records import BadRecord, Record
from tidelog.pipeline.settings import Feed
from tidelog.pipeline.spark.failures import naming, said
from tidelog.pipeline.spark.folder import Folder
from tidelog.pipeline.spark.sources import feed_stream
from tidelog.rules.ir import Relation
from tidelog.values.deep import at_any_depth

_FEEDS = "feeds.json"


class _StoppedError(Exception):
    """A batch came after the wish to stop; Spark will deliver it again."""


class SparkFeeds:
    """Implements `Feeds`. The checkpoint lies in `folder`."""

    def __init__(self, spark: Any, feeds: Sequence[Feed], relations: Mapping[str, Relation], folder: Folder) -> None:
        self._spark = spark
        self._feeds = feeds
        self._relations = relations
        self._folder = folder
        self._query: Any = None
        self._failure: BaseException | None = None
        self._taking = threading.Lock()

    def check(self, last: int | None) -> None:
        described = [[feed.relation, feed.place.format, feed.place.written] for feed in self._feeds]
        noted = self._folder.read_text(_FEEDS)
        if noted is not None and json.loads(noted) != described:
            raise UsageError(
                "the feeds are not those that the state was made with: "
                + ", ".join(f"{name} from {path}" for name, _, path in json.loads(noted)),
                code=Code.OTHER_FEEDS,
                help="give the pipeline a new `state`; the checkpoint of a query is tied to its sources",
            )
        if last is not None and last >= 0 and not self._folder.exists("log/metadata"):
            raise UsageError(
                f"the state has batch {last}, and the checkpoint of its feeds is gone",
                code=Code.OTHER_FEEDS,
                help="give the pipeline a new `state`; the checkpoint and the database belong together",
            )
        self._folder.write_text(_FEEDS, json.dumps(described))
        for feed in self._feeds:
            if feed.place.path is not None and "://" not in feed.place.path:
                feed.place.folder.mkdir(parents=True, exist_ok=True)

    def run(self, take: Take, last: int | None, *, watch: bool, interval: float, stop: Stop) -> None:
        if not self._feeds:
            return
        stream = self._stream()
        if stream is None:
            return

        def take_frame(frame: Any, number: int) -> None:
            with self._taking:
                if stop.is_set:
                    raise _StoppedError
                try:
                    if last is None or number > last:
                        take(self._batch(frame, number))
                except BaseException as error:
                    self._failure = error
                    raise

        writer = stream.writeStream.foreachBatch(take_frame).option(
            "checkpointLocation", self._folder.spark_path("log")
        )
        trigger: dict[str, Any] = {"processingTime": f"{interval} seconds"} if watch else {"availableNow": True}
        self._query = writer.trigger(**trigger).start()
        self._wait(stop)

    def interrupt(self) -> None:
        """Ends the query, in the middle of a batch if need be."""
        if self._query is not None:
            self._query.stop()

    def _stream(self) -> Any:
        from pyspark.sql import functions as f

        streams = []
        for place, feed in enumerate(self._feeds):
            with naming(f"changes.{feed.relation}"):
                columns = columns_of(feed, self._relations[feed.relation])
                stream = feed_stream(self._spark, feed.place, columns)
                streams.append(stream.select(f.col("record").alias(f"f{place}")))
        return reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), streams)

    def _wait(self, stop: Stop) -> None:
        from pyspark.errors import PySparkException

        try:
            while not self._query.awaitTermination(0.2):
                if stop.is_set:
                    with self._taking:
                        self._query.stop()
                    return
        except PySparkException as error:
            if isinstance(self._failure, _StoppedError) or (stop.is_set and self._failure is None):
                return
            if self._failure is not None:
                raise self._failure from None
            raise DataError(f"the feeds cannot be read: Spark says: {said(error)}", code=Code.SOURCE_FAILED) from error

    def _batch(self, frame: Any, number: int) -> Batch:
        with naming("changes"):
            table = frame.toArrow()
        records: dict[str, Records] = {}
        for place, feed in enumerate(self._feeds):
            found = table.column(f"f{place}").drop_null().to_pylist()
            records[feed.relation] = records_of(found, feed.place.format)
        return Batch(number, records)


def records_of(found: Sequence[Mapping[str, Any]], format_: str) -> Iterator[Record | BadRecord]:
    """The records in a column that `sources.record_column` made."""
    is_text = format_ == "csv"
    for each in found:
        place = each["place"].removeprefix("file://").removeprefix("file:")
        if each["bad"] is not None:
            yield BadRecord(place, each["bad"], DataError(f"{place}: the record cannot be read", code=Code.NOT_ROWS))
        elif "row" in each:
            yield Record(place, each["row"])
        else:
            yield _parsed(place, each["text"] or "null", is_text)


def _parsed(place: str, text: str, is_text: bool) -> Record | BadRecord:
    try:
        document = at_any_depth(json.loads, text)
        reason = "" if isinstance(document, dict) else "the record is not an object"
    except (ValueError, RecursionError) as error:
        document, reason = None, f"the record is not JSON: {error}"
    if reason:
        return BadRecord(place, text, DataError(f"{place}: {reason}", code=Code.NOT_ROWS))
    return Record(place, document, is_text)
