"""Journal and checkpoints at work: entries in parts, checkpoints beside commits, what a replay does not repeat."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidelog
from tests.database.programs import REACH
from tests.database.storage.test_open_local import engine_of, insert
from tidelog.database.storage import checkpoint_policy
from tidelog.database.storage import journal as journals
from tidelog.database.storage.checkpoint import checkpoints
from tidelog.database.storage.journal_entry import read_entry, write_entry
from tidelog.engine.interface import Operation


@pytest.mark.parametrize("rows", [3, 1000])
def test_an_entry_larger_than_a_part_comes_back_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    monkeypatch.setattr(journals, "PART_BYTES", 7)
    program = tidelog.compile(REACH)
    hosts = [(f"host{number}",) for number in range(rows)]
    with program.open(path=tmp_path) as db:
        insert(db, "Host", *hosts)
        insert(db, "Host", "last")
        journal = engine_of(db)._journal
        assert journal is not None
        entries = list(journal.entries(0))
        assert [epoch for epoch, _ in entries] == [1, 2]
    with program.open(path=tmp_path) as db:
        assert db.relation("Host").rows() == sorted([*hosts, ("last",)])


def test_an_entry_holds_signs_and_rows_of_every_relation() -> None:
    program = tidelog.compile(f"{REACH}input multiset M(x: s8)\ninput relation Unit()").stages.rules
    operations = [
        Operation("Edge", +1, [("a", "b"), ("", "ä")]),
        Operation("Edge", -1, [("a", "b")]),
        Operation("M", -300, [(-5,)]),
        Operation("Unit", +1, [()]),
        Operation("Host", +1, []),
    ]
    assert read_entry(write_entry(operations, program), program) == operations


def test_checkpoints_are_written_while_commits_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint_policy, "_SECONDS", 0.0)
    monkeypatch.setattr(checkpoint_policy, "_TIMES_ITS_COST", 0)
    edges = [(f"n{number % 40}", f"n{number * 7 % 40}") for number in range(150)]
    with tidelog.compile(REACH).open(path=tmp_path, durability="os") as db:
        for number, edge in enumerate(edges):
            with db.transaction() as tx:
                tx.insert("Edge", [edge])
                tx.delete("Edge", [edges[number // 2]])
        expected = db.relation("Reach").rows()
    assert len(checkpoints(tmp_path)) == 2
    with tidelog.open(tmp_path) as db:
        assert db.relation("Reach").rows() == expected


def test_what_was_inspected_is_not_shown_again(tmp_path: Path) -> None:
    shown: list[int] = []

    def show(x: int) -> None:
        shown.append(x)

    text = """
extern function show(x: u32): ()
input relation In(x: u32)
output relation Out(x: u32)
Out(x) :- In(x), Inspect show(x).
"""
    with tidelog.compile(text, externs={"show": show}).open(path=tmp_path) as db:
        insert(db, "In", 1)
        insert(db, "In", 2)
    for path in checkpoints(tmp_path).values():
        path.unlink()
    with tidelog.open(tmp_path, externs={"show": show}) as db:
        assert db.relation("Out").rows() == [(1,), (2,)]
        assert shown == [1, 2]
        insert(db, "In", 3)
    assert shown == [1, 2, 3]
