"""Rules that changed at run time are there again when a database is opened again, however it was left."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tidelog

GRAPH = """
input relation Edge(src: string, dst: string)
output relation Reach(src: string, dst: string)
Reach(x, y) :- Edge(x, y).
"""
STEP = "Reach(x, z) :- Reach(x, y), Edge(y, z)."
MORE = """
typedef Size = Few | Many{count: u64}
input relation Hidden(node: string)
output relation Out(node: string, size: Size)
function size(n: u64): Size { if (n < 2) Few else Many{n} }
Out(x, size(g.count_distinct())) :- Edge(x, y), not Hidden(x), var g = y.group_by(x).
"""
EDGES = [("a", "b"), ("a", "c"), ("b", "c"), ("c", "d")]


def made(path: Path) -> tidelog.Database:
    """Makes a database with facts, and with rules that were added and removed."""
    db = tidelog.compile(GRAPH).open(path=path)
    with db.transaction() as tx:
        tx.insert("Edge", EDGES)
        tx.add_rules(STEP)
    with db.transaction() as tx:
        tx.add_rules(MORE)
        tx.remove_rules("Reach(a, b) :- Edge(a, b).")
    with db.transaction() as tx:
        tx.insert("Hidden", [("b",)])
        tx.add_rules("Reach(y, x) :- Edge(x, y).")
    return db


def contents(db: tidelog.Database) -> dict[str, list[tuple[object, ...]]]:
    return {name: db.relation(name).rows() for name in ("Edge", "Reach", "Hidden", "Out")}


def checkpoint(db: tidelog.Database) -> None:
    with db._locked.engine() as engine:
        engine.checkpoint()  # type: ignore[attr-defined]


@pytest.mark.parametrize("has_checkpoint", [False, True])
def test_rules_are_there_again(tmp_path: Path, has_checkpoint: bool) -> None:
    db = made(tmp_path)
    if has_checkpoint:
        checkpoint(db)
    with db.transaction() as tx:
        tx.remove_rules("Reach(b, a) :- Edge(a, b).")
        tx.add_rules("Reach(x, x) :- Edge(x, _).")
    rows, rules = contents(db), db.rules()
    db.close()
    for opened in (tidelog.open, tidelog.compile(GRAPH).open):
        with opened(path=tmp_path) as db:
            assert (contents(db), db.rules()) == (rows, rules)
    with tidelog.open(tmp_path) as db:
        with db.transaction() as tx:
            tx.delete("Hidden", [("b",)])
            tx.add_rules("Reach(x, y) :- Edge(x, y).")
        assert len(tx.changes["Out"].inserted) == 1
        assert ("a", "d") in db.relation("Reach")


def test_rules_survive_a_kill(tmp_path: Path) -> None:
    script = f"""
import os, signal
from pathlib import Path
from tests.database.storage.test_rules import made
db = made(Path({str(tmp_path)!r}))
print(db.rules(), {{name: len(db.relation(name)) for name in ("Edge", "Reach", "Hidden", "Out")}}, flush=True)
tx = db.transaction().begin()
tx.add_rules("Reach(x, x) :- Edge(x, _).")
os.kill(os.getpid(), signal.SIGKILL)
"""
    root = Path(__file__).parents[3]
    killed = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=False)
    assert killed.returncode == -9, killed.stderr
    with tidelog.open(tmp_path) as db:
        sizes = {name: len(db.relation(name)) for name in ("Edge", "Reach", "Hidden", "Out")}
        assert killed.stdout == f"{db.rules()} {sizes}\n"


def test_readers_see_other_rules_after_a_refresh(tmp_path: Path) -> None:
    with tidelog.compile(GRAPH).open(path=tmp_path) as db, tidelog.open(tmp_path, read_only=True) as reader:
        with db.transaction() as tx:
            tx.insert("Edge", EDGES)
            tx.add_rules(STEP + MORE)
        assert len(reader.rules()) == 1
        reader.refresh()
        assert reader.rules() == db.rules()
        assert contents(reader) == contents(db)
        assert reader.query("Out(x, Many{n})").rows == [("a", 2)]


def test_another_program_is_compared_with_the_one_that_the_database_was_made_with(tmp_path: Path) -> None:
    made(tmp_path).close()
    other = tidelog.compile(f"{GRAPH}{STEP}")
    with pytest.raises(tidelog.UsageError, match="E855"):
        other.open(path=tmp_path)


def test_a_migration_takes_the_rules_of_the_program_that_is_given(tmp_path: Path) -> None:
    made(tmp_path).close()
    other = tidelog.compile(f"{GRAPH}{STEP}input relation Hidden(node: string)")
    with pytest.raises(tidelog.UsageError, match=r"2 rules added at run time: Out\(x, size"):
        other.open(path=tmp_path, migrate=True)
    with other.open(path=tmp_path, migrate={"drop": ["rules"]}) as db:
        assert db.rules() == ["Reach(x, y) :- Edge(x, y).", STEP]
        assert db.relation("Hidden").rows() == [("b",)]
    with tidelog.open(tmp_path) as db:
        assert len(db.rules()) == 2


def test_facts_of_a_relation_declared_by_added_rules_need_a_place(tmp_path: Path) -> None:
    made(tmp_path).close()
    with pytest.raises(tidelog.UsageError, match="`Hidden`"):
        tidelog.compile(f"{GRAPH}{STEP}").open(path=tmp_path, migrate=True)
    with tidelog.open(tmp_path) as db:
        assert len(db.rules()) == 3


def test_rules_that_make_what_cannot_be_kept_are_refused(tmp_path: Path) -> None:
    with tidelog.compile(GRAPH).open(path=tmp_path) as db:
        with pytest.raises(tidelog.UsageError, match="E858"), db.transaction() as tx:
            tx.add_rules("extern type Blob\ninput relation B(x: Blob)")
        assert len(db.rules()) == 1


def test_functions_that_rules_made_are_read_back(tmp_path: Path) -> None:
    rule = "F(x, |n| n + x) :- N(x)."
    with tidelog.compile("input relation N(x: u64)\nrelation F(x: u64, f: function(u64): u64)").open(
        path=tmp_path
    ) as db:
        with db.transaction() as tx:
            tx.insert("N", [(1,), (2,)])
            tx.add_rules(f"output relation Out(x: u64) Out(f(10)) :- F(_, f). {rule}")
        assert tx.changes["Out"].inserted == [(11,), (12,)]
        checkpoint(db)
    with tidelog.open(tmp_path) as db:
        with db.transaction() as tx:
            tx.delete("N", [(1,)])
        assert tx.changes["Out"].deleted == [(11,)]
