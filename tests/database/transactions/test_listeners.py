"""Callbacks on changes: when they are called, with what, and what they cannot do."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.database.programs import REACH


@pytest.fixture
def db() -> Iterator[tidelog.Database]:
    with tidelog.compile(REACH).open() as database:
        yield database


def insert(db: tidelog.Database, *edges: tuple[str, str]) -> tidelog.Transaction:
    with db.transaction() as tx:
        tx.insert("Edge", list(edges))
    return tx


def test_a_callback_gets_the_changes_of_its_relation_in_commit_order(db: tidelog.Database) -> None:
    seen: list[Any] = []
    db.on_change("Reach", lambda delta: seen.append((db.report.epoch, delta.inserted, delta.deleted)))
    insert(db, ("a", "b"))
    with db.transaction() as tx:
        tx.delete("Edge", [("a", "b")])
        tx.insert("Edge", [("b", "c")])
    assert seen == [(1, [("a", "b")], []), (2, [("b", "c")], [("a", "b")])]


def test_a_commit_that_leaves_the_relation_alone_calls_nobody(db: tidelog.Database) -> None:
    seen: list[Any] = []
    db.on_change("Reach", seen.append)
    with db.transaction() as tx:
        tx.insert("Host", ["a"])
    with db.transaction() as tx:
        pass
    tx = db.transaction().begin()
    tx.insert("Edge", [("a", "b")])
    tx.rollback()
    assert seen == []


def test_callbacks_run_in_the_committing_thread_and_see_the_new_epoch(db: tidelog.Database) -> None:
    seen: list[Any] = []
    db.on_change("Reach", lambda _: seen.append((threading.get_ident(), db.relation("Reach").rows())))
    committing = threading.Thread(target=insert, args=(db, ("a", "b")))
    committing.start()
    committing.join()
    assert seen == [(committing.ident, [("a", "b")])]


def test_a_failing_callback_is_logged_and_undoes_nothing(
    db: tidelog.Database, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[Any] = []

    def fails(delta: tidelog.Delta) -> None:
        raise RuntimeError("out of paper")

    db.on_change("Reach", fails)
    db.on_change("Reach", seen.append)
    with caplog.at_level(logging.WARNING, "tidelog"):
        tx = insert(db, ("a", "b"))
    assert tx.changes["Reach"].inserted == [("a", "b")]
    assert len(seen) == 1
    (record,) = caplog.records
    assert "`Reach` failed after epoch 1" in record.getMessage()
    assert record.exc_info is not None
    assert "out of paper" in str(record.exc_info[1])
    insert(db, ("b", "c"))
    assert len(seen) == 2


def test_a_callback_cannot_begin_a_transaction(db: tidelog.Database) -> None:
    refused: list[tidelog.TransactionError] = []

    def writes(delta: tidelog.Delta) -> None:
        try:
            insert(db, ("x", "y"))
        except tidelog.TransactionError as error:
            refused.append(error)

    db.on_change("Reach", writes)
    insert(db, ("a", "b"))
    assert [error.code for error in refused] == ["E404"]
    assert "a callback of `on_change` cannot begin" in str(refused[0])
    assert db.relation("Edge").rows() == [("a", "b")]
    with db.transaction() as tx:
        tx.insert("Host", ["h"])  # the place of the writer is free again


def test_what_on_change_returns_ends_it(db: tidelog.Database) -> None:
    seen: list[str] = []
    stops = [db.on_change("Reach", lambda _: seen.append("first")), db.on_change("Reach", lambda _: seen.append("2nd"))]
    insert(db, ("a", "b"))
    stops[0]()
    stops[0]()
    insert(db, ("b", "c"))
    assert seen == ["first", "2nd", "2nd"]


def test_a_callback_may_stop_the_next_one_and_add_another(db: tidelog.Database) -> None:
    seen: list[str] = []
    stops: list[Any] = []

    def first(delta: tidelog.Delta) -> None:
        seen.append("first")
        stops[0]()
        if len(seen) == 1:
            db.on_change("Reach", lambda _: seen.append("added"))

    db.on_change("Reach", first)
    stops.append(db.on_change("Reach", lambda _: seen.append("stopped")))
    insert(db, ("a", "b"))
    assert seen == ["first"]
    insert(db, ("b", "c"))
    assert seen == ["first", "first", "added"]


def test_an_interrupt_in_a_callback_leaves_the_commit_and_frees_the_writer(db: tidelog.Database) -> None:
    def interrupted(delta: tidelog.Delta) -> None:
        raise KeyboardInterrupt

    stop = db.on_change("Reach", interrupted)
    with pytest.raises(KeyboardInterrupt):
        insert(db, ("a", "b"))
    stop()
    assert insert(db, ("b", "c")).changes["Reach"].inserted == [("a", "c"), ("b", "c")]


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [("Raech", "E804", "did you mean `Reach`"), ("Edge", "E805", "input"), ("Touched", "E805", "internal")],
)
def test_only_output_relations_have_callbacks(db: tidelog.Database, name: str, code: str, words: str) -> None:
    with pytest.raises(tidelog.UsageError, match=words) as caught:
        db.on_change(name, print)
    assert caught.value.code == code


def test_a_durable_commit_is_on_the_disk_when_its_callback_runs(tmp_path: Path) -> None:
    seen: list[Any] = []
    with tidelog.compile(REACH).open(path=tmp_path / "db") as db:

        def read_elsewhere(delta: tidelog.Delta) -> None:
            with tidelog.open(tmp_path / "db", read_only=True) as reader:
                seen.append(reader.relation("Reach").rows())

        db.on_change("Reach", read_elsewhere)
        insert(db, ("a", "b"))
    assert seen == [[("a", "b")]]
