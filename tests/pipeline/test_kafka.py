"""Kafka topics as feeds, against the mock brokers of librdkafka."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.folder import Pipe, closure, read_folder
from tidelog.diagnostics.errors import DataError, ProgramError, UsageError
from tidelog.pipeline.sources.kafka import KafkaSource

kafka = pytest.importorskip("confluent_kafka")

EDGES = """
input relation Edge(src: string, dst: string)
output relation Reach(src: string, dst: string)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
"""
HOSTS = """
input relation Host(id: u32, name: string)
output relation Out(id: u32, name: string)
Out(i, n) :- Host(i, n).
"""
FILE = """
program = "program.dl"
state   = "state"
[changes.{relation}]
format  = "kafka"
options = {{topic = "{topic}", "bootstrap.servers" = "{servers}"{options}}}
{more}
[outputs.{output}]
format = "json"
path   = "out/{output}"
"""


class Brokers:
    """Mock brokers, and a producer for them."""

    def __init__(self) -> None:
        self._producer = kafka.Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "mock", "log_level": 0})
        (broker,) = self._producer.list_topics(timeout=20).brokers.values()
        self.servers = f"{broker.host}:{broker.port}"

    def send(self, topic: str, value: Any, key: Any = None, partition: int = 0) -> None:
        """Sends a record; texts and bytes are sent as they are, null as a tombstone."""
        sent = [each if each is None or isinstance(each, str | bytes) else json.dumps(each) for each in (key, value)]
        self._producer.produce(topic, key=sent[0], value=sent[1], partition=partition)
        self._producer.poll(0)

    def flush(self) -> None:
        assert self._producer.flush(20) == 0


@pytest.fixture
def brokers() -> Brokers:
    return Brokers()


@pytest.fixture(autouse=True)
def identities(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[str, str]]:
    """What the topics and the cluster are called: the mock brokers do not answer that, after a long time."""
    known = {"": ("topic 1", "cluster 1")}
    monkeypatch.setattr(KafkaSource, "_identify", lambda self: known[""])
    return known


def edge(op: str, src: str, dst: str) -> Mapping[str, str]:
    return {"op": op, "src": src, "dst": dst}


def edges(
    folder: Path, brokers: Brokers, options: str = "", more: str = 'op = "op"', engine: str | None = None
) -> Pipe:
    file = FILE.format(
        relation="Edge", topic="edges", servers=brokers.servers, options=options, more=more, output="Reach"
    )
    return Pipe(folder, EDGES, file, engine)


def hosts(folder: Path, brokers: Brokers, more: str) -> Pipe:
    file = FILE.format(relation="Host", topic="hosts", servers=brokers.servers, options="", more=more, output="Out")
    return Pipe(folder, HOSTS, file)


def test_a_topic_is_followed_from_its_first_record_on(tmp_path: Path, brokers: Brokers) -> None:
    for number, (src, dst) in enumerate(zip("abcd", "bcde", strict=True)):
        brokers.send("edges", edge("+", src, dst), partition=number % 3)
    brokers.flush()
    pipe = edges(tmp_path, brokers)
    assert [step.read for step in pipe.run()] == [0, 4]
    assert pipe.summed("Reach") == closure([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")])
    assert pipe.run() == []
    brokers.send("edges", edge("-", "b", "c"))
    brokers.send("edges", edge("+", "e", "f"), partition=3)
    brokers.flush()
    assert [step.read for step in pipe.run()] == [2]
    assert pipe.summed("Reach") == closure([("a", "b"), ("c", "d"), ("d", "e"), ("e", "f")])


def test_records_of_a_partition_count_in_their_order(tmp_path: Path, brokers: Brokers) -> None:
    for op in "+-+-":
        brokers.send("edges", edge(op, "a", "b"))
    for op in "-+":
        brokers.send("edges", edge(op, "c", "d"), partition=1)
    brokers.flush()
    pipe = edges(tmp_path, brokers)
    (_, step) = pipe.run()
    assert (pipe.summed("Reach"), step.conflicts) == ({("c", "d")}, 0)


def test_an_order_of_the_feed_counts_before_the_offsets(tmp_path: Path, brokers: Brokers) -> None:
    brokers.send("edges", {**edge("-", "a", "b"), "ts": 2})
    brokers.send("edges", {**edge("+", "a", "b"), "ts": 1})
    brokers.flush()
    pipe = edges(tmp_path, brokers, more='op = "op"\norder = "ts"')
    pipe.run()
    assert pipe.summed("Reach") == set()


def test_batches_have_at_most_so_many_records(tmp_path: Path, brokers: Brokers) -> None:
    for number in range(20):
        brokers.send("edges", edge("+", f"n{number}", "x"), partition=number % 4)
    brokers.flush()
    pipe = edges(tmp_path, brokers, ", maxOffsetsPerTrigger = 8")
    assert [step.read for step in pipe.run()] == [0, 8, 8, 4]
    assert len(pipe.summed("Reach")) == 20


def test_an_interrupted_batch_is_read_again_with_the_same_records(
    tmp_path: Path, brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    brokers.send("edges", edge("+", "a", "b"))
    brokers.flush()
    pipe = edges(tmp_path, brokers)
    with monkeypatch.context() as patch:
        patch.setattr("tidelog.pipeline.sinks.Sinks.prepare", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            pipe.run()
    brokers.send("edges", edge("+", "b", "c"))
    brokers.flush()
    assert [step.read for step in pipe.run()] == [1, 1]
    assert pipe.summed("Reach") == closure([("a", "b"), ("b", "c")])


def test_a_feed_may_begin_with_the_next_record(tmp_path: Path, brokers: Brokers) -> None:
    brokers.send("edges", edge("+", "a", "b"))
    brokers.flush()
    pipe = edges(tmp_path, brokers, ', startingOffsets = "latest"')
    pipe.run()
    brokers.send("edges", edge("+", "b", "c"))
    brokers.flush()
    pipe.run()
    assert pipe.summed("Reach") == {("b", "c")}


def test_a_compacted_topic_has_the_last_row_of_each_key_and_tombstones_delete(tmp_path: Path, brokers: Brokers) -> None:
    brokers.send("hosts", {"id": 1, "name": "a"}, key={"id": 1})
    brokers.send("hosts", {"id": 2, "name": "b"}, key="2")
    brokers.send("hosts", {"id": 3, "name": "c"}, key={"schema": {}, "payload": {"id": 3}})
    brokers.send("hosts", {"id": 1, "name": "z"}, key={"id": 1})
    brokers.flush()
    pipe = hosts(tmp_path, brokers, 'key = "id"')
    pipe.run()
    assert pipe.summed("Out") == {(1, "z"), (2, "b"), (3, "c")}
    brokers.send("hosts", None, key="2")
    brokers.send("hosts", None, key={"schema": {}, "payload": {"id": 3}})
    brokers.send("hosts", {"id": 3, "name": "again"}, key="3")
    brokers.flush()
    pipe.run()
    assert pipe.summed("Out") == {(1, "z"), (3, "again")}


def test_envelopes_of_debezium_and_their_tombstones(tmp_path: Path, brokers: Brokers) -> None:
    def envelope(op: str, before: Any, after: Any) -> Any:
        return {"payload": {"op": op, "before": before, "after": after, "source": {}}}

    one, other = {"id": 1, "name": "a"}, {"id": 1, "name": "b"}
    brokers.send("hosts", envelope("r", None, one), key={"id": 1})
    brokers.send("hosts", envelope("c", None, {"id": 2, "name": "x"}), key={"id": 2})
    brokers.flush()
    pipe = hosts(tmp_path, brokers, 'envelope = "debezium"\nkey = "id"')
    pipe.run()
    brokers.send("hosts", envelope("u", one, other), key={"id": 1})
    brokers.send("hosts", envelope("d", {"id": 2, "name": "x"}, None), key={"id": 2})
    brokers.send("hosts", None, key={"id": 2})
    brokers.flush()
    (step,) = pipe.run()
    assert (pipe.summed("Out"), step.bad) == ({(1, "b")}, 0)


def test_records_that_are_none_are_bad_and_named_by_their_offset(tmp_path: Path, brokers: Brokers) -> None:
    brokers.send("hosts", {"id": 1, "name": "a"})
    brokers.send("hosts", b"\xff\xfe")
    brokers.send("hosts", "{")
    brokers.send("hosts", "[1]")
    brokers.send("hosts", None, key="{}")
    brokers.flush()
    pipe = hosts(tmp_path, brokers, 'key = "id"')
    with pytest.raises(DataError, match="hosts, partition 0, offset 1: the record is not UTF-8"):
        pipe.run()
    pipe.write_file((tmp_path / "pipe.toml").read_text() + '[quarantine]\npath = "bad"\n')
    pipe.run()
    (bad,) = (tmp_path / "bad").glob("batch=*")
    assert [row["place"] for row in read_folder(bad)] == [f"hosts, partition 0, offset {each}" for each in range(1, 5)]
    assert pipe.summed("Out") == {(1, "a")}


def test_a_tombstone_without_a_key_of_the_feed_is_bad(tmp_path: Path, brokers: Brokers) -> None:
    brokers.send("hosts", None, key="1")
    brokers.flush()
    with pytest.raises(DataError, match="the feed has no key"):
        hosts(tmp_path, brokers, "").run()


# Topics that the state cannot follow any more


def test_records_that_retention_has_removed_are_an_error(tmp_path: Path, brokers: Brokers) -> None:
    brokers.send("edges", edge("+", "a", "b"))
    brokers.flush()
    pipe = edges(tmp_path, brokers)
    pipe.run()
    for number in range(8):  # a mock partition keeps five megabytes
        brokers.send("edges", json.dumps({**edge("+", "b", str(number)), "more": "x" * 900_000}))
        brokers.flush()
    with pytest.raises(UsageError, match="records of the topic `edges` after the last commit are gone") as raised:
        pipe.run()
    assert raised.value.code == "E870"
    assert "new `state`" in (raised.value.help or "")
    assert pipe.summed("Reach") == {("a", "b")}


def test_a_topic_that_was_made_again_is_an_error(
    tmp_path: Path, brokers: Brokers, identities: dict[str, tuple[str, str]]
) -> None:
    for _ in range(3):
        brokers.send("edges", edge("+", "a", "b"))
    brokers.flush()
    pipe = edges(tmp_path, brokers)
    pipe.run()
    for found, message in (
        (("topic 2", "cluster 1"), "was deleted and made again"),
        (("topic 1", "cluster 2"), "is on another cluster"),
    ):
        identities[""] = found
        with pytest.raises(UsageError, match=message) as raised:
            pipe.run()
        assert raised.value.code == "E872"
    identities[""] = ("", "")  # brokers that do not say
    other = Brokers()
    other.send("edges", edge("+", "c", "d"))
    other.flush()
    with pytest.raises(UsageError, match="ends with offset 1 in partition 0, before 3: it was made again"):
        edges(tmp_path, other).run()


def test_brokers_that_are_not_there_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.pipeline.sources.kafka._SECONDS", 0.5)
    file = FILE.format(relation="Host", topic="t", servers="127.0.0.1:1", options="", more="", output="Out")
    with pytest.raises(DataError, match="Kafka says, of the topic `t`") as raised:
        Pipe(tmp_path, HOSTS, file).run()
    assert raised.value.code == "E869"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (', startingOffsets = "soon"', "must be `earliest` or `latest`"),
        (', "security.protocol" = "carrier pigeon"', "Kafka says: .*security.protocol"),
    ],
)
def test_options_that_kafka_refuses_are_errors(tmp_path: Path, options: str, message: str) -> None:
    file = FILE.format(relation="Host", topic="t", servers="127.0.0.1:1", options=options, more="", output="Out")
    with pytest.raises(UsageError, match=message):
        Pipe(tmp_path, HOSTS, file).run()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (', "group.id" = "mine"', "has no option `group.id`"),
        (", maxOffsetsPerTrigger = 0", "is a number"),
        (', "kafka.bootstrap.servers" = "x"', "has no option `kafka.bootstrap.servers`"),
    ],
)
def test_settings_that_are_not_of_this_format_are_errors(tmp_path: Path, options: str, message: str) -> None:
    file = FILE.format(relation="Host", topic="t", servers="127.0.0.1:1", options=options, more="", output="Out")
    with pytest.raises(ProgramError, match=message):
        Pipe(tmp_path, HOSTS, file).run()


@pytest.mark.spark
def test_spark_follows_a_topic_in_the_same_way(tmp_path: Path, brokers: Brokers, spark: Any) -> None:
    for number, (src, dst) in enumerate(zip("abc", "bcd", strict=True)):
        brokers.send("edges", edge("+", src, dst), partition=number)
    brokers.flush()
    pipe = edges(tmp_path, brokers, engine="spark")
    pipe.run(spark=spark)
    brokers.send("edges", edge("-", "a", "b"))
    brokers.flush()
    pipe.run(spark=spark)
    assert pipe.summed("Reach") == closure([("b", "c"), ("c", "d")])
