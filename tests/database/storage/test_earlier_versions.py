"""Directories that earlier versions made: they open, hold what they held, and take changes, on both engines.

`earlier/DATE.tar.gz` has one of each engine, made by the version of that day, and the program, `program.dl`.
"""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import pytest

import tidelog

EARLIER = sorted((Path(__file__).parent / "earlier").glob("*.tar.gz"))
ADDED = 'Greeting("Welcome ${n}") :- Member(Company{n}, _).'


def unpacked(archive: Path, folder: Path) -> tidelog.Program:
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
    return tidelog.compile(folder / "program.dl")


def rows_of(db: tidelog.Database, names: list[str]) -> dict[str, Any]:
    return {name: sorted(map(repr, db.relation(name).rows())) for name in names}


def holds_and_takes_changes(program: tidelog.Program, db: tidelog.Database) -> None:
    relations = program.stages.rules.relations
    inputs = [name for name, each in relations.items() if each.role.value == "input" and name != "Vote"]
    outputs = [name for name, each in relations.items() if each.role.value == "output" and name != "Votes"]
    fresh = program.open()
    with fresh.transaction() as tx:
        for name in inputs:
            tx.insert(name, db.relation(name).to_arrow())
        tx.add_rules(ADDED)
    assert rows_of(db, inputs)["Sale"], "the directory holds facts"
    assert rows_of(db, outputs) == rows_of(fresh, outputs)
    assert db.relation("Votes").to_arrow().num_rows == 2
    for each in (db, fresh):
        with each.transaction() as tx:
            tx.delete("Sale", each.relation("Sale").to_arrow().slice(0, 9))
            tx.delete("Edge", each.relation("Edge").to_arrow().slice(0, 9))
            tx.insert("Uses", [("p9", "p2", 5)])
            tx.insert("Member", [(program.types.Person("new", 44), 1)])
        with each.transaction() as tx:
            tx.remove_rules(ADDED)
    assert rows_of(db, outputs) == rows_of(fresh, outputs)


@pytest.mark.parametrize("archive", EARLIER, ids=lambda path: path.name[:10])
def test_a_local_directory_of_an_earlier_version_opens_and_takes_changes(archive: Path, tmp_path: Path) -> None:
    program = unpacked(archive, tmp_path)
    with program.open(path=tmp_path / "local") as db:
        holds_and_takes_changes(program, db)
    with program.open(path=tmp_path / "local") as db:
        assert ("p9", "p2", 5) in db.relation("Uses")


@pytest.mark.spark
@pytest.mark.parametrize("archive", EARLIER, ids=lambda path: path.name[:10])
def test_a_spark_directory_of_an_earlier_version_opens_and_takes_changes(
    archive: Path, tmp_path: Path, spark: Any
) -> None:
    program = unpacked(archive, tmp_path)
    with program.open(engine="spark", spark=spark, path=tmp_path / "spark") as db:
        holds_and_takes_changes(program, db)


@pytest.mark.parametrize("archive", EARLIER, ids=lambda path: path.name[:10])
def test_a_directory_of_an_earlier_version_is_bound_to_the_meaning_of_its_program(
    archive: Path, tmp_path: Path
) -> None:
    unpacked(archive, tmp_path)
    text = (tmp_path / "program.dl").read_text()
    with tidelog.compile(f"// a comment\n\n{text}").open(path=tmp_path / "local") as db:
        before = rows_of(db, ["Sale", "Edge"])
        assert len(db.relation("Votes")) == 2
    more = tidelog.compile(f"{text}\ninput relation Extra(n: u8)\n{ADDED}")
    assert [loss.name for loss in more.migration(tmp_path / "local").unsaid] == []
    with more.open(path=tmp_path / "local", migrate=True) as db:
        assert rows_of(db, ["Sale", "Edge"]) == before


def test_there_are_directories_of_earlier_versions() -> None:
    assert len(EARLIER) >= 2
