"""A function that is called just before a commit: it sees the changes, and can still roll them back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tidelog.database.transactions.transaction import CommitOptions
from tidelog.engine.interface import ChangeRows

PROGRAM = """
input relation Edge(src: string, dst: string)
output relation Reach(src: string, dst: string)
output relation Loop(node: string)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
Loop(x) :- Reach(x, x).
"""


def commit_seen(db: tidelog.Database, rows: list[tuple[str, str]]) -> tuple[int, dict[str, list[Any]]]:
    seen: list[tuple[int, dict[str, list[Any]]]] = []

    def look(epoch: int, changes: Mapping[str, ChangeRows]) -> None:
        seen.append((epoch, {name: sorted(each.weights()) for name, each in changes.items()}))

    with db.transaction() as tx:
        tx.insert("Edge", rows)
        tx._commit_with(CommitOptions(before_commit=look))
    (only,) = seen
    return only


def check(db: tidelog.Database) -> None:
    assert commit_seen(db, [("a", "b")]) == (1, {"Reach": [(("a", "b"), 1)]})
    epoch, changes = commit_seen(db, [("b", "a")])
    assert epoch == 2
    assert changes["Loop"] == [(("a",), 1), (("b",), 1)]
    before = db.relation("Reach").rows()

    def refuse(epoch: int, changes: Mapping[str, ChangeRows]) -> None:
        raise ValueError("no")

    tx = db.transaction().begin()
    tx.insert("Edge", [("b", "c")])
    tx._commit_with(CommitOptions(before_commit=refuse))
    with pytest.raises(ValueError, match="no"):
        tx.commit()
    assert db.relation("Reach").rows() == before
    assert db.report.epoch == 2
    assert commit_seen(db, [("c", "d")]) == (3, {"Reach": [(("c", "d"), 1)]})


def test_the_changes_are_seen_before_they_count() -> None:
    with tidelog.compile(PROGRAM).open() as db:
        check(db)


def test_in_a_durable_database_what_is_refused_is_not_in_the_journal(tmp_path: Path) -> None:
    with tidelog.compile(PROGRAM).open(path=tmp_path) as db:
        check(db)
    with tidelog.open(tmp_path) as db:
        assert db.relation("Edge").rows() == [("a", "b"), ("b", "a"), ("c", "d")]


def test_a_commit_without_effect_calls_nobody() -> None:
    with tidelog.compile(PROGRAM).open() as db, db.transaction() as tx:
        tx.delete("Edge", [("a", "b")])
        tx._commit_with(CommitOptions(before_commit=lambda epoch, changes: pytest.fail("called")))


@pytest.mark.spark
def test_on_spark_the_changes_are_seen_before_they_count(spark: Any) -> None:
    with tidelog.compile(PROGRAM).open("spark", spark=spark) as db:
        check(db)
