"""Transactions: what they commit, what they refuse, and that nothing half done is left behind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import tidelog
from tests.database.programs import DIVIDE, FACTS, REACH


@pytest.fixture
def db() -> Iterator[tidelog.Database]:
    with tidelog.compile(REACH).open() as database:
        yield database


def contents(db: tidelog.Database) -> dict[str, list[Any]]:
    return {name: db.relation(name).rows() for name in ("Edge", "Host", "Reach", "Alone", "Touched")}


def test_a_commit_at_the_end_of_the_block_shows_its_changes(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.insert("Edge", [("a", "b"), ("b", "c")])
        assert db.relation("Edge").rows() == []
    assert tx.changes["Reach"].inserted == [("a", "b"), ("a", "c"), ("b", "c")]
    assert db.relation("Reach").rows() == [("a", "b"), ("a", "c"), ("b", "c")]
    with db.transaction() as tx:
        tx.delete("Edge", [("a", "b")])
        tx.insert("Edge", [("c", "d")])
    assert tx.changes["Reach"].deleted == [("a", "b"), ("a", "c")]
    assert tx.changes["Reach"].inserted == [("b", "d"), ("c", "d")]


def test_an_exception_rolls_everything_back(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.insert("Edge", [("a", "b")])
    before = contents(db)

    def fail() -> None:
        with db.transaction() as tx:
            tx.insert("Edge", [("b", "c")])
            tx.delete("Edge", [("a", "b")])
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail()
    assert contents(db) == before
    with db.transaction() as tx:
        tx.insert("Host", ["z"])
    assert tx.report is not None
    assert tx.report.epoch == 2


def test_operations_apply_in_call_order_and_the_epoch_is_their_net_effect(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.insert("Host", ["a", "b"])
        tx.delete("Host", ["a"])
        tx.insert("Host", ["c"])
        tx.delete("Host", ["c"])
        tx.insert("Host", ["c"])
    assert tx.changes["Alone"].inserted == [("b",), ("c",)]


def test_inserting_a_present_row_and_deleting_an_absent_one_do_nothing(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.insert("Host", ["a", "a"])
    with db.transaction() as tx:
        tx.insert("Host", ["a"])
        tx.delete("Host", ["b"])
    assert tx.report is None
    assert db.relation("Host").rows() == [("a",)]


def test_a_net_empty_transaction_makes_no_epoch(db: tidelog.Database) -> None:
    with db.transaction() as empty:
        pass
    with db.transaction() as undone:
        undone.insert("Edge", [("a", "b")])
        undone.delete("Edge", [("a", "b")])
    for tx in (empty, undone):
        assert tx.report is None
        assert not tx.changes
        assert tx.changes["Reach"].inserted == []
    with db.transaction() as tx:
        tx.insert("Edge", [("a", "b")])
    assert tx.report is not None
    assert tx.report.epoch == 1


def test_the_report_tells_what_the_epoch_did(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.insert("Edge", [("a", "b"), ("b", "c")])
    report = tx.report
    assert report is not None
    assert (report.epoch, report.inserted, report.deleted) == (1, 3, 0)
    assert report.rows["Reach"] == 3
    assert any("Reach" in stratum.relations for stratum in report.strata)
    assert db.report is report


@pytest.mark.parametrize("verb", ["insert", "delete"])
@pytest.mark.parametrize(
    ("relation", "code", "message", "help_"),
    [
        ("Reach", "E401", "`Reach`: it is an output relation, and its rows are derived", "input relation Reach"),
        (
            "Touched",
            "E401",
            "`Touched`: it is an internal relation, and its rows are derived",
            "input relation Touched",
        ),
        ("Egde", "E402", "there is no relation `Egde`", "did you mean `Edge`?"),
        ("Unheard", "E402", "there is no relation `Unheard`", "the relations are `Edge`, `Host`"),
    ],
)
def test_a_write_to_a_relation_that_is_no_input_is_refused(
    db: tidelog.Database, verb: str, relation: str, code: str, message: str, help_: str
) -> None:
    with db.transaction() as tx:
        tx.insert("Edge", [("a", "b")])
        with pytest.raises(tidelog.TransactionError) as caught:
            getattr(tx, verb)(relation, [("a", "c")])
    assert caught.value.code == code
    assert message in caught.value.message
    assert help_ in (caught.value.help or "")
    assert db.relation("Reach").rows() == [("a", "b")]


def test_a_write_that_is_not_caught_rolls_the_transaction_back(db: tidelog.Database) -> None:
    def write() -> None:
        with db.transaction() as tx:
            tx.insert("Edge", [("a", "b")])
            tx.insert("Reach", [("a", "c")])

    with pytest.raises(tidelog.TransactionError, match="cannot insert into `Reach`"):
        write()
    assert contents(db) == {"Edge": [], "Host": [], "Reach": [], "Alone": [], "Touched": []}


def test_a_call_with_one_bad_row_leaves_the_transaction_as_it_was(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.insert("Edge", [("a", "b")])
        with pytest.raises(tidelog.DataError, match="row 2, column `dst` of `Edge`: `7` is not a string"):
            tx.insert("Edge", [("x", "y"), ("z", 7)])
        tx.insert("Edge", [("b", "c")])
    assert db.relation("Edge").rows() == [("a", "b"), ("b", "c")]


def test_a_finished_transaction_takes_no_more_writes(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.insert("Host", ["a"])
    with pytest.raises(tidelog.TransactionError, match="the transaction is committed; it takes no more writes"):
        tx.insert("Host", ["b"])
    with pytest.raises(tidelog.TransactionError, match="is committed and cannot begin again"), tx:
        pass
    assert db.relation("Host").rows() == [("a",)]


def test_a_transaction_outside_a_with_block_has_not_begun(db: tidelog.Database) -> None:
    tx = db.transaction()
    with pytest.raises(tidelog.TransactionError, match="has not begun"):
        tx.insert("Host", ["a"])
    with db.transaction() as other:
        other.insert("Host", ["b"])
    assert db.relation("Host").rows() == [("b",)]


def test_a_second_transaction_while_one_is_open_is_refused(db: tidelog.Database) -> None:
    with db.transaction() as outer:
        outer.insert("Host", ["a"])
        with pytest.raises(tidelog.TransactionError) as caught, db.transaction():
            pass
        assert caught.value.code == "E404"
        outer.insert("Host", ["b"])
    assert db.relation("Host").rows() == [("a",), ("b",)]


def test_changes_are_there_only_after_the_commit(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.insert("Host", ["a"])
        with pytest.raises(tidelog.TransactionError, match="the transaction is open; it has no changes"):
            _ = tx.changes
        with pytest.raises(tidelog.TransactionError, match="it has no report"):
            _ = tx.report
    assert len(tx.changes["Alone"]) == 1


def test_a_rolled_back_transaction_has_no_changes(db: tidelog.Database) -> None:
    tx = db.transaction()
    with pytest.raises(ValueError, match="no"), tx:
        raise ValueError("no")
    with pytest.raises(tidelog.TransactionError, match="rolled back"):
        _ = tx.changes


def test_a_rule_that_fails_in_the_commit_leaves_the_last_epoch(db: tidelog.Database) -> None:
    with tidelog.compile(DIVIDE).open() as division:
        with division.transaction() as tx:
            tx.insert("In", [3])
        with pytest.raises(tidelog.EvaluationError), division.transaction() as tx:
            tx.insert("In", [4, 0])
        assert division.relation("In").rows() == [(3,)]
        assert division.relation("Out").rows() == [(4,)]
        with pytest.raises(tidelog.TransactionError, match="rolled back"):
            _ = tx.changes
        with division.transaction() as tx:
            tx.insert("In", [6])
        assert tx.changes["Out"].inserted == [(2,)]


def test_rows_may_come_from_the_database_itself_while_they_are_read(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.insert("Edge", [("a", "b"), ("b", "c")])
    with db.transaction() as tx:
        tx.insert("Host", (row[0] for row in db.relation("Edge")))
    assert db.relation("Host").rows() == [("a",), ("b",)]


def test_the_changes_of_opening_are_those_of_the_facts_in_the_text() -> None:
    with tidelog.compile(FACTS).open() as database:
        assert database.initial["Out"].inserted == [(1,)]
        assert database.report.epoch == 0
        with database.transaction() as tx:
            tx.insert("In", [1, 2])
        assert tx.changes["Out"].inserted == [(2,)]
        with database.transaction() as tx:
            tx.delete("In", pa.table({"n": [1, 2]}))
        assert tx.changes["Out"].deleted == [(2,)]
        assert database.initial["Out"].inserted == [(1,)]


def test_a_transaction_says_where_it_is(db: tidelog.Database) -> None:
    tx = db.transaction()
    seen = [repr(tx)]
    with tx:
        tx.insert("Host", ["a"])
        seen.append(repr(tx))
    seen.append(repr(tx))
    assert seen == ["<Transaction not begun>", "<Transaction open, 1 writes>", "<Transaction committed>"]


def test_a_transaction_begins_and_ends_without_a_with_block(db: tidelog.Database) -> None:
    tx = db.transaction().begin()
    tx.insert("Host", ["a"])
    assert tx.commit()["Alone"].inserted == [("a",)]
    assert tx.changes["Alone"].inserted == [("a",)]
    undone = db.transaction().begin()
    undone.insert("Host", ["b"])
    undone.rollback()
    for verb in ("commit", "rollback"):
        with pytest.raises(tidelog.TransactionError, match="the transaction is rolled back; it cannot"):
            getattr(undone, verb)()
    with pytest.raises(tidelog.TransactionError, match="has not begun"):
        db.transaction().commit()
    assert db.relation("Host").rows() == [("a",)]


def test_a_with_block_does_nothing_more_to_a_transaction_that_ended_inside_it(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.insert("Host", ["a"])
        tx.commit()
    with db.transaction() as tx:
        tx.insert("Host", ["b"])
        tx.rollback()
    assert db.relation("Host").rows() == [("a",)]


def test_clear_deletes_what_is_committed_and_what_was_written_before(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.insert("Edge", [("a", "b"), ("b", "c")])
    with db.transaction() as tx:
        tx.insert("Edge", [("c", "d")])
        tx.clear("Edge")
        tx.insert("Edge", [("b", "c"), ("x", "y")])
    assert db.relation("Edge").rows() == [("b", "c"), ("x", "y")]
    assert list(tx.changes["Reach"]) == [(("a", "b"), -1), (("a", "c"), -1), (("x", "y"), 1)]


def test_a_stream_takes_inserts_only() -> None:
    with tidelog.compile("input stream S(x: u8)").open() as database, database.transaction() as tx:
        with pytest.raises(tidelog.TransactionError) as caught:
            tx.clear("S")
        assert caught.value.code == "E410"
        with pytest.raises(tidelog.TransactionError, match="cannot delete from `S`: it is a stream"):
            tx.delete("S", [1])
        tx.rollback()
