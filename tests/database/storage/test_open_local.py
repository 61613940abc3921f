"""Databases in directories: made, closed, opened again, read beside their writer, and taken to another program."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.database.programs import FACTS, REACH
from tidelog.database.storage.checkpoint import checkpoints
from tidelog.database.storage.durable_engine import DurableEngine

EVERYTHING = """
typedef Shape = Circle{r: u32} | Box{w: u32, h: u32}
typedef Tree = Leaf | Node{left: Ref<Tree>, value: bigint, right: Ref<Tree>}
input relation In(id: u32, name: string, wide: bit<128>, big: bigint, x: double, shape: Shape, tags: Set<string>,
    sizes: Map<string, Vec<s16>>, pair: (bool, string), maybe: Option<string>, tree: Tree)
output relation Out(id: u32, name: string, wide: bit<128>, big: bigint, x: double, shape: Shape, tags: Set<string>,
    sizes: Map<string, Vec<s16>>, pair: (bool, string), maybe: Option<string>, tree: Tree)
Out(a, b, c, d, e, f, g, h, i, j, k) :- In(a, b, c, d, e, f, g, h, i, j, k).
output relation Named(name: string, ids: Vec<u32>)
Named(name, ids) :- In(.id = id, .name = name), var ids = id.group_by(name).to_vec().
"""


def engine_of(database: tidelog.Database) -> DurableEngine:
    with database._locked.engine() as engine:
        assert isinstance(engine, DurableEngine)
        return engine


def insert(database: tidelog.Database, relation: str, *rows: Any) -> tidelog.Changes:
    with database.transaction() as tx:
        tx.insert(relation, list(rows))
    return tx.changes


def test_what_was_committed_is_there_after_closing_and_opening(tmp_path: Path) -> None:
    program = tidelog.compile(REACH)
    with program.open(path=tmp_path) as db:
        insert(db, "Edge", ("a", "b"), ("b", "c"))
    with program.open(path=tmp_path) as db:
        assert db.relation("Reach").rows() == [("a", "b"), ("a", "c"), ("b", "c")]
        assert db.report.epoch == 1
        changes = insert(db, "Edge", ("c", "d"))
        assert changes["Reach"].inserted == [("a", "d"), ("b", "d"), ("c", "d")]
    with tidelog.open(tmp_path) as db:
        assert len(db.relation("Reach")) == 6


def test_the_changes_of_opening_are_those_of_the_first_time_alone(tmp_path: Path) -> None:
    with tidelog.compile(FACTS).open(path=tmp_path) as db:
        assert db.initial["Out"].inserted == [(1,)]
    with tidelog.open(tmp_path) as db:
        assert len(db.initial) == 0
        assert db.relation("Out").rows() == [(1,)]


@pytest.mark.parametrize("with_checkpoint", [False, True])
def test_values_of_every_type_come_back(tmp_path: Path, with_checkpoint: bool) -> None:
    program = tidelog.compile(EVERYTHING)
    types = program.types
    tree = types.Node(types.Leaf(), -(10**30), types.Node(types.Leaf(), 5, types.Leaf()))
    circle = (1, "ä\0'", 2**127, -(2**200), float("nan"), types.Circle(2), {"x", "y"}, {"k": [-1, 2]}, (True, ""), "s")
    box: tuple[Any, ...] = (2, "", 0, 0, -0.0, types.Box(3, 4), set(), {}, (False, "z"), None)
    with program.open(path=tmp_path) as db:
        insert(db, "In", (*circle, tree), (*box, types.Leaf()))
        insert(db, "In", (3, "", 1, 1, 0.5, types.Box(3, 4), {"x"}, {}, (False, "z"), None, types.Leaf()))
        expected, named = db.relation("Out").rows(), db.relation("Named").rows()
        if with_checkpoint:
            engine_of(db).checkpoint()
    with tidelog.open(tmp_path) as db:
        assert [list(map(repr, row)) for row in db.relation("Out")] == [list(map(repr, row)) for row in expected]
        assert db.relation("Named").rows() == named
        with db.transaction() as tx:
            tx.delete("In", [row for row in db.relation("In") if row[0] == 2])
        assert [row[0] for row in tx.changes["Out"].deleted] == [2]


def test_a_checkpoint_replaces_the_journal_and_the_one_before_the_last_goes(tmp_path: Path) -> None:
    with tidelog.compile(REACH).open(path=tmp_path) as db:
        engine = engine_of(db)
        for number in range(4):
            insert(db, "Edge", (str(number), str(number + 1)))
            engine.checkpoint()
        assert list(checkpoints(tmp_path)) == [4, 3]
        assert engine._journal is not None
        assert engine._journal.first() == 4
    with tidelog.open(tmp_path) as db:
        assert len(db.relation("Reach")) == 10


def test_a_key_that_was_given_before_closing_is_known_after_opening(tmp_path: Path) -> None:
    program = tidelog.compile("input relation Host(name: string, up: bool) primary key (h) h.name")
    with program.open(path=tmp_path) as db:
        insert(db, "Host", ("a", True), ("b", True))
    with program.open(path=tmp_path) as db:
        with pytest.raises(tidelog.TransactionError, match="the key 'a' is there"), db.transaction() as tx:
            tx.insert("Host", [("a", False)])
        with db.transaction() as tx:
            tx.modify("Host", "a", {"up": False})
            tx.delete_key("Host", "b")
    with program.open(path=tmp_path) as db:
        assert db.relation("Host").rows() == [("a", False)]


def test_the_weights_that_transactions_gave_are_apart_from_those_of_rules(tmp_path: Path) -> None:
    program = tidelog.compile("input relation A(x: u8)\ninput multiset M(x: u8)\nM(x) :- A(x).")
    with program.open(path=tmp_path) as db:
        insert(db, "A", 1, 2)
        insert(db, "M", 1, 1)
        assert db.relation("M").weights() == [((1,), 3), ((2,), 1)]
        engine_of(db).checkpoint()
    with program.open(path=tmp_path) as db:
        with db.transaction() as tx:
            tx.clear("M")
        assert db.relation("M").weights() == [((1,), 1), ((2,), 1)]


def test_many_rows_go_into_the_journal_as_a_table(tmp_path: Path) -> None:
    program = tidelog.compile(REACH)
    hosts = [(f"host{number}",) for number in range(5000)]
    with program.open(path=tmp_path) as db:
        insert(db, "Host", *hosts)
    with program.open(path=tmp_path) as db:
        assert db.relation("Host").rows() == sorted(hosts)


def test_a_rolled_back_and_an_empty_transaction_leave_nothing(tmp_path: Path) -> None:
    program = tidelog.compile(REACH)
    with program.open(path=tmp_path) as db:
        insert(db, "Host", "a")
        insert(db, "Host", "a")
        with db.transaction() as tx:
            tx.insert("Host", ["b"])
            tx.rollback()
    with program.open(path=tmp_path) as db:
        assert (db.report.epoch, db.relation("Host").rows()) == (1, [("a",)])


def test_functions_as_values_come_back_whatever_the_file_is_called(tmp_path: Path) -> None:
    text = """
input relation In(n: u32)
output relation Adders(f: function(u32): u32)
output relation Sums(n: u32)
Adders(f) :- In(n), var f = function(x: u32): u32 { x + n }.
Sums(f(10)) :- Adders(f).
"""
    first, second = tmp_path / "first.dl", tmp_path / "second.dl"
    for path in (first, second):
        path.write_text(text)
    with tidelog.compile(first).open(path=tmp_path / "db") as db:
        insert(db, "In", 1, 2)
        engine_of(db).checkpoint()
    with tidelog.compile(second).open(path=tmp_path / "db") as db:
        assert db.relation("Sums").rows() == [(11,), (12,)]
        with db.transaction() as tx:
            tx.delete("In", [1])
        assert db.relation("Sums").rows() == [(12,)]


def test_modules_are_stored_with_the_program(tmp_path: Path) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "words.dl").write_text("function twice(s: string): string { s ++ s }")
    main = sources / "main.dl"
    main.write_text(
        "import words\ninput relation In(s: string)\noutput relation Out(s: string)\nOut(twice(s)) :- In(s)."
    )
    with tidelog.compile(main).open(path=tmp_path / "db") as db:
        insert(db, "In", "a")
    for path in (main, sources / "words.dl"):
        path.unlink()
    with tidelog.open(tmp_path / "db") as db:
        assert insert(db, "In", "b")["Out"].inserted == [("bb",)]


def test_another_program_is_refused_with_the_difference(tmp_path: Path) -> None:
    tidelog.compile(REACH).open(path=tmp_path).close()
    other = tidelog.compile(REACH.replace("Alone(h) :- Host(h), not Touched(h).", "Alone(h) :- Host(h)."))
    with pytest.raises(tidelog.UsageError) as caught:
        other.open(path=tmp_path)
    assert caught.value.code == "E855"
    assert "-Alone(h) :- Host(h), not Touched(h).\n+Alone(h) :- Host(h)." in str(caught.value)
    assert "migrate=True" in str(caught.value)


def test_migrating_keeps_the_facts_and_derives_the_rest_anew(tmp_path: Path) -> None:
    with tidelog.compile(REACH).open(path=tmp_path) as db:
        insert(db, "Edge", ("a", "b"), ("b", "c"))
        insert(db, "Host", "x", "a")
        engine_of(db).checkpoint()
        insert(db, "Edge", ("c", "d"))
    other = tidelog.compile(REACH.replace("Alone(h) :- Host(h), not Touched(h).", "Alone(h) :- Host(h)."))
    with other.open(path=tmp_path, migrate=True) as db:
        assert db.relation("Alone").rows() == [("a",), ("x",)]
        assert len(db.relation("Reach")) == 6
        insert(db, "Edge", ("d", "e"))
    with tidelog.open(tmp_path) as db:
        assert db.relation("Alone").rows() == [("a",), ("x",)]
        assert len(db.relation("Reach")) == 10


def test_facts_without_a_place_in_the_new_program_are_not_lost(tmp_path: Path) -> None:
    with tidelog.compile(REACH).open(path=tmp_path) as db:
        insert(db, "Host", "x")
    other = tidelog.compile("input relation Edge(src: string, dst: string)")
    with pytest.raises(tidelog.UsageError, match=r"it would lose 1 fact of `Host`") as caught:
        other.open(path=tmp_path, migrate=True)
    assert caught.value.code == "E860"
    with tidelog.open(tmp_path) as db:
        assert db.relation("Host").rows() == [("x",)]


EXTERN = """
extern function f(x: u32): u32
input relation In(x: u32)
output relation Out(x: u32)
Out(f(x)) :- In(x).
"""


def versioned(function: Callable[[int], int], version: int) -> Callable[[int], int]:
    function.version = version  # type: ignore[attr-defined]
    return function


def test_extern_functions_are_given_again_and_a_new_version_derives_anew(tmp_path: Path) -> None:
    with tidelog.compile(EXTERN, externs={"f": versioned(lambda x: x + 1, 1)}).open(path=tmp_path) as db:
        insert(db, "In", 1, 2)
        engine_of(db).checkpoint()
        insert(db, "In", 3)
    with pytest.raises(tidelog.UsageError) as caught:
        tidelog.open(tmp_path)
    assert caught.value.code == "E810"
    with tidelog.open(tmp_path, externs={"f": versioned(lambda x: x + 10, 1)}) as db:
        assert db.relation("Out").rows() == [(2,), (3,), (13,)]
    with tidelog.open(tmp_path, externs={"f": versioned(lambda x: x + 10, 2)}) as db:
        assert db.relation("Out").rows() == [(11,), (12,), (13,)]
        assert db.report.epoch == 2


def test_a_second_writer_is_told_who_the_first_is(tmp_path: Path) -> None:
    with tidelog.compile(REACH).open(path=tmp_path):
        with pytest.raises(tidelog.UsageError, match="is open for writing in this process") as caught:
            tidelog.open(tmp_path)
        assert caught.value.code == "E851"
        script = f"import tidelog; tidelog.open({str(tmp_path)!r})"
        run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert f"is open for writing in process {os.getpid()}" in run.stderr
    tidelog.open(tmp_path).close()


def test_a_database_that_nobody_holds_any_more_keeps_nobody_out(tmp_path: Path) -> None:
    db = tidelog.compile(REACH).open(path=tmp_path)
    insert(db, "Host", "a")
    del db
    gc.collect()
    with tidelog.open(tmp_path) as db:
        assert db.relation("Host").rows() == [("a",)]


def test_a_reader_beside_the_writer_sees_the_last_commit_and_follows(tmp_path: Path) -> None:
    with tidelog.compile(REACH).open(path=tmp_path) as db:
        insert(db, "Edge", ("a", "b"))
        with tidelog.open(tmp_path, read_only=True) as reader:
            assert reader.relation("Reach").rows() == [("a", "b")]
            insert(db, "Edge", ("b", "c"))
            assert len(reader.relation("Reach")) == 1
            reader.refresh()
            assert (len(reader.relation("Reach")), reader.report.epoch) == (3, 2)
            with pytest.raises(tidelog.TransactionError) as caught:
                reader.transaction().begin()
            assert caught.value.code == "E856"


def test_a_reader_catches_up_when_the_journal_no_longer_reaches_back_to_it(tmp_path: Path) -> None:
    with tidelog.compile(REACH).open(path=tmp_path) as db:
        insert(db, "Edge", ("a", "b"))
        with tidelog.open(tmp_path, read_only=True) as reader:
            for number in range(4):
                insert(db, "Edge", (str(number), str(number + 1)))
                engine_of(db).checkpoint()
            reader.refresh()
            assert len(reader.relation("Reach")) == len(db.relation("Reach")) == 11


def test_a_reader_is_told_when_the_program_has_changed(tmp_path: Path) -> None:
    tidelog.compile(REACH).open(path=tmp_path).close()
    with tidelog.open(tmp_path, read_only=True) as reader:
        tidelog.compile(f"{REACH}Alone(h) :- Host(h).").open(path=tmp_path, migrate=True).close()
        with pytest.raises(tidelog.UsageError, match="has another program since it was opened here") as caught:
            reader.refresh()
        assert caught.value.code == "E855"
        assert len(reader.relation("Reach")) == 0


def test_a_child_of_a_fork_cannot_write_and_does_not_hold_the_lock(tmp_path: Path) -> None:
    script = f"""
import os, sys, tidelog
db = tidelog.open({str(tmp_path)!r})
child = os.fork()
if child == 0:
    try:
        db.transaction().begin()
    except tidelog.UsageError as error:
        print(error.code, flush=True)
    db.close()
    os._exit(0)
os.waitpid(child, 0)
with db.transaction() as tx:
    tx.insert("Host", ["parent"])
db.close()
"""
    tidelog.compile(REACH).open(path=tmp_path).close()
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "E859\n"
    with tidelog.open(tmp_path) as db:
        assert db.relation("Host").rows() == [("parent",)]


def test_a_directory_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(tidelog.UsageError, match=r"notes\.txt") as caught:
        tidelog.compile(REACH).open(path=tmp_path)
    assert caught.value.code == "E852"
    with pytest.raises(tidelog.UsageError) as caught:
        tidelog.open(tmp_path / "nowhere")
    assert caught.value.code == "E852"
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_program_whose_own_facts_fail_leaves_no_database(tmp_path: Path) -> None:
    program = tidelog.compile("input relation In(n: u32)\noutput relation Out(n: u32)\nOut(1 / n) :- In(n).\nIn(0).")
    with pytest.raises(tidelog.EvaluationError):
        program.open(path=tmp_path)
    tidelog.compile(FACTS).open(path=tmp_path).close()


def test_values_that_cannot_be_kept_are_refused_at_once(tmp_path: Path) -> None:
    program = tidelog.compile("extern type Thing\noutput relation Out(t: Option<Thing>)")
    with pytest.raises(tidelog.UsageError, match=r"`Out\.t`") as caught:
        program.open(path=tmp_path)
    assert caught.value.code == "E858"


def test_options_that_cannot_be_are_refused(tmp_path: Path) -> None:
    program = tidelog.compile(REACH)
    with pytest.raises(tidelog.UsageError, match="did you mean 'disk'"):
        program.open(path=tmp_path, durability="disc")
    with pytest.raises(tidelog.UsageError, match="did you mean 'spark'"):
        program.open("sparc", path=tmp_path)


def test_a_database_whose_making_was_killed_is_made_again(tmp_path: Path) -> None:
    # SQLite leaves a rollback journal beside the file; with the new file it would be rolled back into it.
    for name in ("journal.sqlite.partial", "journal.sqlite.partial-journal", "lock"):
        (tmp_path / name).write_bytes(b"torn")
    program = tidelog.compile("input relation R(x: u32)\noutput relation S(x: u32)\nS(x) :- R(x).")
    with program.open(path=tmp_path) as db, db.transaction() as tx:
        tx.insert("R", [(1,)])
    with program.open(path=tmp_path) as db:
        assert list(db.relation("S").rows()) == [(1,)]
    assert not list(tmp_path.glob("*.partial*"))
