"""A Kafka topic as the feed of a relation, by `confluent-kafka`: records in JSON or Debezium's envelopes.

    {"topic": "edges", "id": "...", "cluster": "...", "offsets": {"0": 17, "1": 12}}

is a position: for each partition the offset of the next record. Positions are kept with the state, never by a consumer
group of the broker, so a batch has the same records however often it is read. The first one has the offsets at which it
begins as `from`.

A record with a null value is a tombstone: it deletes the row of its key. Without an `order` in the feed, records count
in the order of their offsets; Kafka orders the records of a partition only, and puts those with the same key into one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError, UsageError
from tidelog.io.bad_rows import BadRecord
from tidelog.pipeline.local.records import read_document
from tidelog.pipeline.records import Record
from tidelog.pipeline.settings import Feed, Place
from tidelog.rules.ir import Relation
from tidelog.rules.schema.arrow import inside_option, plain_type
from tidelog.types import StringType

Position = Mapping[str, Any]
Offsets = dict[str, int]

_OURS = ("topic", "startingOffsets", "maxOffsetsPerTrigger")
_MOST = 500_000
_AT_ONCE = 1_000
_SECONDS = 10.0
_SILENCE = 60
"""So many seconds without a record of a batch are an error."""


def open_source(place: Place, relation: Relation, feed: Feed | None = None) -> KafkaSource:
    """Opens the source of a feed. Raises UsageError for a starting table, and for options that Kafka refuses."""
    if feed is None:
        raise UsageError(
            f"`[inputs.{relation.name}]` cannot be a topic of Kafka",
            code=Code.UNSUPPORTED_SOURCE,
            help=f"write `[changes.{relation.name}]`: a feed begins with the first record of its topic",
        )
    return KafkaSource(place.options, relation, feed)


class KafkaSource:
    """Implements `Source`."""

    gives_records = True

    def __init__(self, options: Mapping[str, str], relation: Relation, feed: Feed) -> None:
        from confluent_kafka import Consumer, KafkaException

        self._relation = relation
        self._feed = feed
        self._topic = options["topic"]
        self._starting = options.get("startingOffsets", "earliest")
        if self._starting not in ("earliest", "latest"):
            raise UsageError(
                f"`startingOffsets` is {self._starting!r}; it must be `earliest` or `latest`", code=Code.BAD_SETTING
            )
        self._most = int(options.get("maxOffsetsPerTrigger", _MOST))
        self._settings = {name: value for name, value in options.items() if name not in _OURS}
        fixed = {
            "group.id": "tidelog",  # needed to read, and never used: offsets are not committed
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
            "allow.auto.create.topics": False,
            "log_level": 2,
        }
        try:
            self._consumer = Consumer({**self._settings, **fixed})
        except (KafkaException, ValueError, TypeError) as error:
            said = _said(error)
            raise UsageError(f"`[changes.{relation.name}]`: Kafka says: {said}", code=Code.BAD_SETTING) from error
        self._identity: tuple[str, str] | None = None

    def close(self) -> None:
        self._consumer.close()

    def check(self, position: Position | None) -> None:
        partitions = self._partitions(known=position is not None)
        if position is None:
            return
        topic, cluster = self._identify()
        if position["cluster"] and cluster and position["cluster"] != cluster:
            raise self._other("is on another cluster than the one of this state")
        if position["id"] and topic and position["id"] != topic:
            raise self._other("was deleted and made again")
        if len(partitions) < len(position["offsets"]):
            raise self._other(
                f"has {len(partitions)} partitions, and had {len(position['offsets'])}: it was made again"
            )
        self._ends(position["offsets"])

    def start(self, planned: Position | None) -> Position:
        if planned is not None:
            low = {name: self._watermarks(name)[0] for name in planned["from"]}
            if all(low[name] <= offset for name, offset in planned["from"].items()):
                return planned
        marks = {name: self._watermarks(name) for name in self._partitions()}
        place = 0 if self._starting == "earliest" else 1
        begin = {name: each[place] for name, each in marks.items()}
        end = self._capped(begin, {name: each[1] for name, each in marks.items()})
        topic, cluster = self._identify()
        return {"topic": self._topic, "id": topic, "cluster": cluster, "offsets": end, "from": begin}

    def latest(self, position: Position) -> Position | None:
        begin = position["offsets"]
        end = self._capped(begin, self._ends(begin))
        if end == begin:
            return None
        return {name: value for name, value in position.items() if name != "from"} | {"offsets": end}

    def read(self, begin: Position | None, end: Position) -> Iterator[Record | BadRecord]:
        """Yields the records; raises DataError where some can no longer be read."""
        from confluent_kafka import KafkaError, TopicPartition

        first: Offsets = end["from"] if begin is None else begin["offsets"]
        left = {int(name): last for name, last in end["offsets"].items() if first.get(name, 0) < last}
        with self._saying():
            self._consumer.assign([TopicPartition(self._topic, each, first.get(str(each), 0)) for each in left])
            silent = 0
            while left:
                messages = self._consumer.consume(_AT_ONCE, timeout=1.0)
                silent = 0 if messages else silent + 1
                if silent > _SILENCE:
                    raise self._failed(f"no record came for {_SILENCE} seconds")
                for message in messages:
                    partition, offset = message.partition(), message.offset()
                    error = message.error()
                    if error is not None and error.code() == KafkaError._AUTO_OFFSET_RESET:
                        raise self._gone(f"partition {partition} no longer has the offset of the next record")
                    if error is not None and error.code() != KafkaError._PARTITION_EOF:
                        raise self._failed(error.str())
                    if partition not in left:
                        continue
                    if error is None and offset < left[partition]:
                        record = self._record(message)
                        if record is not None:
                            yield record
                    if error is not None or offset + 1 >= left[partition]:
                        # At the end of the partition, or at the last record of the batch: gaps have no records.
                        del left[partition]
                        self._consumer.incremental_unassign([TopicPartition(self._topic, partition)])
            self._consumer.unassign()

    def acknowledge(self, position: Position) -> None:
        pass  # the broker keeps records for a time, read or not

    # Offsets

    def _partitions(self, *, known: bool = False) -> list[str]:
        """Returns the partitions of the topic. Raises an error by name where there is none."""
        with self._saying():
            found = self._consumer.list_topics(self._topic, timeout=_SECONDS).topics.get(self._topic)
        if found is None or found.error is not None or not found.partitions:
            if known:
                raise self._other("does not exist any more")
            said = f": {found.error.str()}" if found is not None and found.error is not None else ""
            raise DataError(f"there is no topic `{self._topic}`{said}", code=Code.SOURCE_FAILED)
        return [str(each) for each in sorted(found.partitions)]

    def _watermarks(self, partition: str) -> tuple[int, int]:
        """Returns the first offset of a partition, and the one after the last record that is committed."""
        from confluent_kafka import TopicPartition

        with self._saying():
            found = self._consumer.get_watermark_offsets(TopicPartition(self._topic, int(partition)), timeout=_SECONDS)
        if found is None:
            raise self._failed(f"partition {partition} does not say its offsets")
        low, high = found
        return low, high

    def _ends(self, begin: Mapping[str, int]) -> Offsets:
        """Returns the ends of all partitions. Raises UsageError where records after `begin` are gone."""
        ends = {}
        for name in self._partitions(known=True):
            low, high = self._watermarks(name)
            offset = begin.get(name, 0)
            if offset < low:
                raise self._gone(f"partition {name} begins with offset {low}, and the next record has {offset}")
            if offset > high:
                raise self._other(f"ends with offset {high} in partition {name}, before {offset}: it was made again")
            ends[name] = high
        return ends

    def _capped(self, begin: Mapping[str, int], ends: Mapping[str, int]) -> Offsets:
        """Returns offsets between the two, with at most `maxOffsetsPerTrigger` records, and one of each partition."""
        new = {name: end - begin.get(name, 0) for name, end in ends.items()}
        total = sum(new.values())
        if total <= self._most:
            return dict(ends)
        return {
            name: begin.get(name, 0) + min(count, max(1, count * self._most // total)) if count else begin.get(name, 0)
            for name, count in new.items()
        }

    def _identify(self) -> tuple[str, str]:
        """Returns the ids of the topic and of the cluster; empty where the brokers do not say them."""
        if self._identity is None:
            from confluent_kafka import KafkaException, TopicCollection
            from confluent_kafka.admin import AdminClient

            with self._saying():
                cluster = self._consumer.list_topics(self._topic, timeout=_SECONDS).cluster_id or ""
            try:
                admin = AdminClient({**self._settings, "log_level": 2})
                described = admin.describe_topics(TopicCollection([self._topic]), request_timeout=2.0)
                topic = str(described[self._topic].result(2.5).topic_id or "")
            except (KafkaException, TimeoutError, ValueError):
                topic = ""  # brokers before version 2.8 have no ids
            self._identity = topic, cluster
        return self._identity

    # Records

    def _record(self, message: Any) -> Record | BadRecord | None:
        """Returns the record of a message; None for a tombstone in a feed of envelopes, which follows a delete."""
        place = f"{self._topic}, partition {message.partition()}, offset {message.offset()}"
        value = message.value()
        if value is None:
            return None if self._feed.is_envelope else self._tombstone(place, message)
        try:
            text = value.decode()
        except UnicodeDecodeError as error:
            wrong = DataError(f"{place}: the record is not UTF-8: {error}", code=Code.NOT_ROWS)
            return BadRecord(place, repr(value), wrong)
        record = read_document(place, text, self._feed)
        return replace(record, order=message.offset()) if isinstance(record, Record) else record

    def _tombstone(self, place: str, message: Any) -> Record | BadRecord:
        names = self._feed.key
        if not names:
            return _bad_key(
                place, message, "a record without a value deletes the row of its key, and the feed has no key"
            )
        try:
            text = (message.key() or b"").decode()
            found = self._key(text, names)
        except ValueError:
            found = None
        if found is None:
            return _bad_key(place, message, f"the key of a record without a value does not have {', '.join(names)}")
        return Record(place, found, op="d", order=message.offset())

    def _key(self, text: str, names: tuple[str, ...]) -> Mapping[str, Any] | None:
        """Returns the values of the key columns: from an object, or for one column from a bare value."""
        try:
            document = json.loads(text)
        except ValueError:
            document = text or None
        if isinstance(document, Mapping) and isinstance(document.get("payload"), Mapping):
            document = document["payload"]
        if isinstance(document, Mapping):
            return {name: document[name] for name in names} if document.keys() >= set(names) else None
        if len(names) != 1 or document is None:
            return None
        (type_,) = (column.type for column in self._relation.columns if column.name == names[0])
        is_text = isinstance(plain_type(inside_option(type_) or type_), StringType)
        return {names[0]: text if is_text and not isinstance(document, str) else document}

    # Errors

    @contextmanager
    def _saying(self) -> Iterator[None]:
        """Turns errors of the brokers in the block into a DataError."""
        from confluent_kafka import KafkaException

        try:
            yield
        except KafkaException as error:
            raise self._failed(_said(error)) from error

    def _failed(self, said: str) -> DataError:
        return DataError(f"Kafka says, of the topic `{self._topic}`: {said}", code=Code.SOURCE_FAILED)

    def _gone(self, why: str) -> UsageError:
        return UsageError(
            f"records of the topic `{self._topic}` after the last commit are gone: {why}",
            code=Code.POSITION_GONE,
            help="give the pipeline a new `state`, which begins with the first record that is there; `retention.ms` and"
            " `retention.bytes` of the topic keep records longer",
        )

    def _other(self, what: str) -> UsageError:
        return UsageError(
            f"the topic `{self._topic}` {what}",
            code=Code.OTHER_SOURCE,
            help="give the pipeline a new `state`, which begins with the first record that is there",
        )


def _bad_key(place: str, message: Any, what: str) -> BadRecord:
    error = DataError(f"{place}: {what}", code=Code.BAD_OPERATION, help='name the columns of the key: `key = ["id"]`')
    return BadRecord(place, repr(message.key()), error)


def _said(error: BaseException) -> str:
    found = error.args[0] if error.args else error
    return str(found.str()) if hasattr(found, "str") else str(found)
