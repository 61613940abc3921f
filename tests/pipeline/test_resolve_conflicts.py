"""The operations of a batch: what records say, and which of them count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

import pytest

from tidelog.database.program.program import compile
from tidelog.diagnostics.errors import DataError
from tidelog.io.bad_rows import BadRecord
from tidelog.pipeline.operations import OperationReader, order_of
from tidelog.pipeline.records import Record
from tidelog.pipeline.resolve_conflicts import Resolved, primary_key, resolve_conflicts
from tidelog.pipeline.settings import Feed, Place

PROGRAM = """
input relation Host(name: string, port: u16)
input relation Keyed(name: string, port: u16) primary key (x) x.name
input multiset Seen(name: string)
input stream Event(name: string)
output relation Out(name: string)
Out(n) :- Host(n, _).
"""
RULES = compile(PROGRAM).stages.rules


def feed(relation: str = "Host", **settings: Any) -> Feed:
    return Feed(relation, Place("json", "/feed"), **{"op": "op", **settings})


def resolved(records: Sequence[Mapping[str, Any]], **settings: Any) -> tuple[Resolved, list[BadRecord]]:
    bad: list[BadRecord] = []
    given = feed(**settings)
    relation = RULES.relations[given.relation]
    reader = OperationReader(given, relation, RULES.functions.definitions)
    operations = [reader.read(Record(f"f:{i}", record)) for i, record in enumerate(records, 1)]
    return resolve_conflicts(operations, relation, bad.append, primary_key(relation, RULES)), bad


def host(op: str, name: str, port: int | None, **more: Any) -> dict[str, Any]:
    return {"op": op, "name": name, "port": port, **more}


def test_without_an_order_deletes_come_first_and_a_conflict_is_told() -> None:
    found, _ = resolved([host("+", "a", 1), host("-", "a", 1), host("-", "b", 2), host("insert", "c", 3)])
    assert found.inserts == [("a", 1), ("c", 3)]
    assert found.deletes == [("b", 2)]
    assert found.conflicts == 1
    assert "('a', 1) of `Host` is both inserted (f:1) and deleted (f:2); the insert counts" in found.conflict


def test_with_an_order_the_last_operation_on_a_row_wins() -> None:
    records = [host("+", "a", 1, ts=2), host("-", "a", 1, ts=10), host("-", "b", 1, ts="9"), host("+", "b", 1, ts="10")]
    found, _ = resolved(records, order="ts")
    assert (found.inserts, found.deletes, found.conflicts) == ([("b", 1)], [("a", 1)], 0)


def test_with_a_key_the_last_operation_on_a_key_wins() -> None:
    records = [host("c", "a", 1, ts=1), host("u", "a", 2, ts=3), host("u", "a", 9, ts=2), host("d", "b", None, ts=1)]
    found, bad = resolved(records, key=("name",), order="ts")
    assert found.by_key == {("a",): ("a", 2), ("b",): None}
    assert not bad


def test_two_rows_for_one_key_and_no_order_cannot_be_decided() -> None:
    found, bad = resolved([host("u", "a", 1), host("u", "a", 2), host("u", "b", 1)], key=("name",))
    assert found.by_key == {("b",): ("b", 1)}
    assert [each.error.code for each in bad] == ["E867", "E867"]


def test_the_primary_key_of_the_relation_is_a_key_though_the_feed_names_none() -> None:
    records = [host("+", "a", 1), host("+", "a", 2), host("+", "b", 1), host("+", "b", 1), host("-", "c", 1)]
    found, bad = resolved([*records, host("+", "c", 2)], relation="Keyed")
    assert (found.inserts, found.deletes) == ([("b", 1), ("c", 2)], [("c", 1)])
    assert [(each.place, each.error.code) for each in bad] == [("f:1", "E867"), ("f:2", "E867")]


def test_the_latest_row_of_a_primary_key_wins_also_by_another_key() -> None:
    records = [host("+", "a", 1, ts=1), host("+", "a", 2, ts=3), host("+", "a", 3, ts=2)]
    found, bad = resolved(records, relation="Keyed", order="ts")
    assert (found.inserts, bad) == ([("a", 2)], [])
    found, bad = resolved(records, relation="Keyed", order="ts", key=("port",))
    assert (found.by_key, bad) == ({(1,): None, (2,): ("a", 2), (3,): None}, [])
    found, bad = resolved([host("u", "a", 1), host("u", "a", 2)], relation="Keyed", key=("port",))
    assert (found.by_key, len(bad)) == ({}, 2)


def test_the_same_row_twice_is_no_conflict() -> None:
    found, bad = resolved([host("u", "a", 1), host("c", "a", 1)], key=("name",))
    assert found.by_key == {("a",): ("a", 1)}
    assert not bad
    assert not found.conflicts


def test_a_multiset_counts_every_operation() -> None:
    records = [{"op": op, "name": "a"} for op in "+++-"]
    found, _ = resolved(records, relation="Seen")
    assert (found.inserts, found.deletes) == ([("a",)] * 3, [("a",)])


def test_an_envelope_has_the_row_before_and_after() -> None:
    records: list[dict[str, Any]] = [
        {"op": "c", "before": None, "after": {"name": "a", "port": 1}, "ts_ms": 1},
        {"payload": {"op": "u", "before": {"name": "a", "port": 1}, "after": {"name": "a", "port": 2}, "ts_ms": 2}},
        {"op": "d", "before": {"name": "b", "port": None}, "after": None, "ts_ms": 3},
    ]
    found, _ = resolved(records, key=("name",), order="ts_ms", is_envelope=True)
    assert found.by_key == {("a",): ("a", 2), ("b",): None}


@pytest.mark.parametrize(
    ("record", "settings", "said"),
    [
        (host("x", "a", 1), {}, "f: `'x'` is no operation, in the column `op`"),
        (host("inser", "a", 1), {}, "is no operation"),
        ({"name": "a", "port": 1}, {}, "f: the column `op`, for the operation, is missing"),
        (host("u", "a", 1), {}, "f: `u` replaces the row that has a key, and the feed has no key"),
        (host("+", "a", 70_000), {}, "f, column `port` of `Host`: `70000` is not a u16 (0 to 65535)"),
        (host("+", "a", None), {}, "f, column `port` of `Host`: null where a u16"),
        ({"op": "+", "name": "a"}, {}, "f: the record for `Host` lacks the column `port`"),
        (host("+", "a", 1), {"order": "ts"}, "f: the column `ts`, for the order, is missing"),
        (host("+", "a", 1, ts=True), {"order": "ts"}, "is no order"),
        ({"op": "-", "name": "a"}, {"relation": "Event"}, "f: `Event` is a stream, and takes no deletes"),
        (host("+", "a", 1, ts="1e9999999999999999999"), {"order": "ts"}, "is no order"),
        (
            {"op": "t", "before": None, "after": None},
            {"key": ("name",), "is_envelope": True},
            "f: `t` empties the table, which a feed cannot do",
        ),
        ({"op": "u", "before": None}, {"key": ("name",), "is_envelope": True}, "f: the envelope has no `after`"),
    ],
)
def test_a_record_that_cannot_be_taken_says_why(record: dict[str, Any], settings: dict[str, Any], said: str) -> None:
    given = feed(**settings)
    reader = OperationReader(given, RULES.relations[given.relation], RULES.functions.definitions)
    with pytest.raises(DataError) as caught:
        reader.read(Record("f", record))
    assert said in caught.value.message


def test_columns_that_the_relation_does_not_have_are_left_alone() -> None:
    found, _ = resolved([host("+", "a", 1, source="db", lsn=7)])
    assert found.inserts == [("a", 1)]


def test_numbers_are_ordered_by_size_also_as_text_and_before_other_texts() -> None:
    values = ["2024-01-02", 10, "9", 1.5, "-3", "2024-01-01"]
    assert sorted(values, key=lambda value: order_of(value) or ()) == ["-3", 1.5, "9", 10, "2024-01-01", "2024-01-02"]
    assert order_of(None) is None
    assert order_of(float("nan")) is None


def test_times_are_ordered_as_moments_after_numbers_and_before_other_texts() -> None:
    values = [
        7,
        "2024-01-01",
        "2024-01-01T00:00:00.5Z",
        datetime(2024, 1, 1, 0, 0, 0, 600_000),
        "2024-01-01T00:00:00.6000000001Z",
        "2024-01-01 00:00:01",
        "2024-01-01T03:00:00+02:00",
        "2023-12-31t23:00:30-02:00",
        date(2024, 1, 2),
        "2024-02-30T00:00:00Z",
        "later",
    ]
    backwards = values[::-1]
    assert sorted(backwards, key=lambda value: order_of(value) or ()) == values
    assert order_of("2024-01-01T00:00:00Z") == order_of("2024-01-01T01:00:00.0+0100") == order_of("2024-01-01")
