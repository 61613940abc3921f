"""Marks: small values that a commit sets in the same step as its epoch, for those who feed a database."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidelog
from tests.database.programs import REACH
from tidelog.database.storage import journal
from tidelog.database.transactions.transaction import CommitOptions

DIVIDE = "input relation A(x: u8)\noutput relation B(x: u8)\nB(10 / x) :- A(x)."


def edge(database: tidelog.Database, row: tuple[str, str], **given: object) -> None:
    with database.transaction() as tx:
        tx.insert("Edge", [row])
        tx._commit_with(CommitOptions(marks=given))


def test_marks_are_set_by_commits_and_last(tmp_path: Path) -> None:
    program = tidelog.compile(REACH)
    with program.open(path=tmp_path) as db:
        assert db._locked.marks() == {}
        edge(db, ("a", "b"), feed=7, taken=["x.csv"])
        edge(db, ("b", "c"), feed=8)
        edge(db, ("c", "d"))
        assert db._locked.marks() == {"feed": 8, "taken": ["x.csv"]}
    with program.open(path=tmp_path) as db:
        assert db._locked.marks() == {"feed": 8, "taken": ["x.csv"]}
        edge(db, ("d", "e"), taken=None)
    assert tidelog.open(tmp_path)._locked.marks() == {"feed": 8}


def test_a_transaction_without_net_effect_sets_its_marks_all_the_same(tmp_path: Path) -> None:
    program = tidelog.compile(REACH)
    for path in (None, tmp_path):
        with program.open(path=path) as db:
            edge(db, ("a", "b"), feed=1)
            edge(db, ("a", "b"), feed=2)
            assert db.report.epoch == 1
            assert db._locked.marks() == {"feed": 2}
    assert tidelog.open(tmp_path)._locked.marks() == {"feed": 2}


def test_a_failed_or_rolled_back_transaction_sets_none(tmp_path: Path) -> None:
    with tidelog.compile(DIVIDE).open(path=tmp_path) as db:
        tx = db.transaction().begin()
        tx.insert("A", [0])
        tx._commit_with(CommitOptions(marks={"feed": 1}))
        with pytest.raises(tidelog.EvaluationError):
            tx.commit()
        with db.transaction() as tx:
            tx._commit_with(CommitOptions(marks={"feed": 2}))
            tx.rollback()
        assert db._locked.marks() == {}
    assert tidelog.open(tmp_path)._locked.marks() == {}


def test_readers_see_marks_of_the_epoch_that_they_see(tmp_path: Path) -> None:
    program = tidelog.compile(REACH)
    with program.open(path=tmp_path) as db, tidelog.open(tmp_path, read_only=True) as reader:
        edge(db, ("a", "b"), feed=1)
        assert reader._locked.marks() == {}
        reader.refresh()
        assert (reader._locked.marks(), len(reader.relation("Edge"))) == ({"feed": 1}, 1)


def test_marks_go_on_in_a_database_of_another_program(tmp_path: Path) -> None:
    with tidelog.compile(REACH).open(path=tmp_path) as db:
        edge(db, ("a", "b"), feed=1)
    with tidelog.compile(REACH + "\n// more\n").open(path=tmp_path, migrate=True) as db:
        assert db._locked.marks() == {"feed": 1}


def test_marks_that_cannot_be_written_leave_the_last_ones(tmp_path: Path) -> None:
    with tidelog.compile(REACH).open(path=tmp_path) as db:
        edge(db, ("a", "b"), feed=1)
        for row in (("a", "b"), ("b", "c")):
            with pytest.raises(TypeError):
                edge(db, row, feed=object())
            assert db._locked.marks() == {"feed": 1}
        edge(db, ("b", "c"), feed=2)
        assert (db.report.epoch, db._locked.marks()) == (2, {"feed": 2})
    assert tidelog.open(tmp_path)._locked.marks() == {"feed": 2}


def test_an_entry_in_parts_has_its_marks_in_the_same_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "PART_BYTES", 4)
    with tidelog.compile(REACH).open(path=tmp_path) as db:
        edge(db, ("a", "b"), feed=1)
    with tidelog.open(tmp_path) as db:
        assert (db.relation("Edge").rows(), db._locked.marks()) == ([("a", "b")], {"feed": 1})
