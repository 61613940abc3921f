"""Multisets and streams: weights add up, clear takes the given facts only, and a stream lives for one epoch."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

import tidelog

BAGS = """
input multiset In(x: u8)
output multiset Out(x: u8)
Out(x) :- In(x).
output relation Seen(x: u8)
Seen(x) :- In(x).
input stream Event(x: u8, note: Option<string>)
output stream Told(x: u8, note: Option<string>)
Told(x, n) :- Event(x, n).
In(9).
"""


@pytest.fixture
def db() -> Iterator[tidelog.Database]:
    with tidelog.compile(BAGS).open() as database:
        yield database


def test_inserts_and_deletes_of_a_multiset_add_up_also_below_zero(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.insert("In", [1, 1, 2])
    assert list(tx.changes["Out"]) == [((1,), 2), ((2,), 1)]
    assert tx.changes["Out"].inserted == [(1,), (2,)]
    with db.transaction() as tx:
        tx.delete("In", [1, 2, 2, 3])
    assert list(tx.changes["Out"]) == [((1,), -1), ((2,), -2), ((3,), -1)]
    assert list(tx.changes["Seen"]) == [((2,), -1)]
    assert tx.changes["Out"].to_arrow().column("_weight").to_pylist() == [-1, -2, -1]
    assert db.relation("Out").weights() == [((1,), 1), ((2,), -1), ((3,), -1), ((9,), 1)]
    assert db.relation("Out").rows() == [(1,), (9,)]


def test_writes_to_a_multiset_that_cancel_out_make_no_epoch(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.insert("In", pa.table({"x": [1, 1]}))
        tx.delete("In", [1, 1])
    assert tx.report is None


def test_clearing_a_multiset_takes_what_was_given_and_leaves_what_is_derived(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.insert("In", [1, 1, 9])
        tx.delete("In", [4])
    with db.transaction() as tx:
        tx.insert("In", [5])
        tx.clear("In")
        tx.insert("In", [6, 6])
    assert list(tx.changes["Out"]) == [((1,), -2), ((4,), 1), ((6,), 2), ((9,), -1)]
    assert db.relation("In").weights() == [((6,), 2), ((9,), 1)]


def test_a_rolled_back_transaction_leaves_the_weights(db: tidelog.Database) -> None:
    tx = db.transaction().begin()
    tx.insert("In", [1])
    tx.rollback()
    with db.transaction() as tx:
        tx.clear("In")
    assert tx.report is None


def test_a_stream_counts_its_rows_and_is_empty_after_the_commit(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.insert("Event", [(2, "two"), (1, None), (1, None)])
    assert list(tx.changes["Told"]) == [((1, None), 2), ((2, "two"), 1)]
    assert db.relation("Event").rows() == db.relation("Told").rows() == []
    with db.transaction() as tx:
        tx.insert("In", [1])
    assert "Told" not in tx.changes
