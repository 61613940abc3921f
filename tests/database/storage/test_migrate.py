"""A database whose program changes: what counts as a change, what is carried over, what is asked for, on both engines.

Tasks of Spark run in this process.
"""

from __future__ import annotations

import errno
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import tidelog
from tests.engine.spark.in_process import NoSpark, run_tasks_here
from tidelog.database.storage import migrate as migrate_module
from tidelog.database.storage.migration import carry as carry_module
from tidelog.database.transactions.transaction import CommitOptions
from tidelog.engine.spark.epoch import run_epoch

ENGINES = ("local", "spark")
BASE = """
input relation Edge(src: string, dst: string, cost: u8)
input relation Host(name: string)
output relation Reach(src: string, dst: string)
Reach(x, y) :- Edge(x, y, _).
Reach(x, z) :- Reach(x, y), Edge(y, z, _).
"""
EDGES = [("a", "b", 1), ("b", "c", 200), ("c", "d", 1)]


@pytest.fixture(autouse=True)
def tasks_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_epoch, "run_tasks", run_tasks_here(lambda: False))


def on(engine: str) -> dict[str, Any]:
    return {"engine": engine} | ({"spark": NoSpark()} if engine == "spark" else {})


def open_(text: str, engine: str, path: Path, **options: Any) -> tidelog.Database:
    return tidelog.compile(text).open(path=path, **on(engine), **options)


def made(engine: str, path: Path, text: str = BASE, **facts: Any) -> None:
    with open_(text, engine, path) as db, db.transaction() as tx:
        for relation, rows in (facts or {"Edge": EDGES, "Host": ["h"]}).items():
            tx.insert(relation, rows)


# What counts as a change


SAME = [
    ("// a comment\n" + BASE, "comments"),
    (BASE.replace("\n", "\n\n").replace(", ", " ,\n   "), "layout"),
    (BASE.replace("Reach(x, y) :- Edge(x, y, _).", "Reach(from, to) :- Edge(from, to, _)."), "names of variables"),
    (BASE.replace("Reach(x, y) :- Edge(x, y, _).\n", "") + "Reach(x, y) :- Edge(x, y, _).", "the order of rules"),
    ("input relation Host(name: string)" + BASE.replace("input relation Host(name: string)\n", ""), "declarations"),
    (BASE.replace("Edge(x, y, _)", "Edge(.dst = y, .src = x)"), "the way an atom is written"),
]
OTHER = [
    (BASE.replace("Reach(x, y), Edge(y, z, _)", "Edge(y, z, _), Reach(x, y)"), "the order of a body"),
    (BASE.replace("cost: u8", "cost: u16"), "a type"),
    (BASE.replace("Edge(x, y, _).", "Edge(x, y, 1)."), "a constant"),
    (BASE.replace("output relation", "relation"), "a role"),
    (BASE.replace("Reach(x, z)", '#[maintain = "trace"]\nReach(x, z)'), "an attribute"),
    (BASE + "function f(x: u8): u8 { x }", "a function"),
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("text", "what"), SAME, ids=[what for _, what in SAME])
def test_a_program_that_means_the_same_opens_the_database(engine: str, text: str, what: str, tmp_path: Path) -> None:
    made(engine, tmp_path)
    with open_(text, engine, tmp_path) as db:
        assert db.migration is None, what
        assert db.report.epoch == 1
        assert len(db.relation("Reach")) == 6
        with db.transaction() as tx:
            tx.delete("Edge", EDGES[:1])
    with open_(BASE, engine, tmp_path) as db:
        assert len(db.relation("Reach")) == 3


@pytest.mark.parametrize(("text", "what"), OTHER, ids=[what for _, what in OTHER])
def test_a_program_that_means_something_else_is_refused(text: str, what: str, tmp_path: Path) -> None:
    made("local", tmp_path)
    with pytest.raises(tidelog.UsageError, match="E855"):
        open_(text, "local", tmp_path)


@pytest.mark.parametrize("engine", ENGINES)
def test_errors_and_rules_show_the_text_that_was_given_last(engine: str, tmp_path: Path) -> None:
    made(engine, tmp_path)
    renamed = BASE.replace("Reach(x, y) :- Edge(x, y, _).", "Reach(from, to) :- Edge(from, to, _).")
    with open_(renamed, engine, tmp_path) as db, db.transaction() as tx:
        assert db.rules()[0] == "Reach(from, to) :- Edge(from, to, _)."
        tx.insert("Edge", [("d", "e", 1)])
        tx.add_rules("Reach(x, x) :- Edge(x, _, _).")
    with tidelog.open(tmp_path, **on(engine)) as db:
        assert db.rules()[0] == "Reach(from, to) :- Edge(from, to, _)."
        assert len(db.rules()) == 3
        assert len(db.relation("Reach")) == 14
    with open_(BASE, engine, tmp_path) as db:
        assert len(db.rules()) == 3


def test_a_replaced_text_keeps_checkpoints_and_readers(tmp_path: Path) -> None:
    made("local", tmp_path)
    with open_(BASE, "local", tmp_path) as db:
        db._locked._engine.checkpoint()  # type: ignore[union-attr]
    with tidelog.open(tmp_path, read_only=True) as reader, open_(BASE + "// more\n", "local", tmp_path) as db:
        with db.transaction() as tx:
            tx.insert("Edge", [("d", "e", 1)])
        reader.refresh()
        assert len(reader.relation("Reach")) == 10
    (checkpoint,) = tmp_path.glob("snapshot-*.tide")
    assert checkpoint.name == "snapshot-000000000001.tide"


def test_values_that_are_functions_are_read_under_the_text_that_made_them(tmp_path: Path) -> None:
    text = """
input relation In(n: u8)
output relation Out(n: u8)
relation Made(f: function(u8): u8)
Made(|x| x + n) :- In(n).
Out(f(1)) :- Made(f).
"""
    with open_(text, "local", tmp_path) as db:
        with db.transaction() as tx:
            tx.insert("In", [1, 2])
        db._locked._engine.checkpoint()  # type: ignore[union-attr]
    with open_("// a line that moves everything\n" + text, "local", tmp_path) as db:
        assert db.relation("Out").rows() == [(2,), (3,)]
        with db.transaction() as tx:
            tx.delete("In", [1])
        assert tx.changes["Out"].deleted == [(2,)]


# What is carried over


@pytest.mark.parametrize("engine", ENGINES)
def test_rules_and_relations_come_and_go_and_facts_stay(engine: str, tmp_path: Path) -> None:
    made(engine, tmp_path)
    text = BASE.replace("output relation Reach", "output relation Cheap(name: string)\nrelation Reach")
    text += "Cheap(x) :- Edge(x, _, 1), not Host(x).\ninput relation Extra(n: u64)\n"
    with open_(text, engine, tmp_path, migrate=True) as db:
        assert db.relation("Cheap").rows() == [("a",), ("c",)]
        assert db.relation("Edge").rows() == EDGES
        assert str(db.migration) == (
            "relations:\n  ~ Reach: output relation becomes relation\n  + output relation Cheap(name: string)\n"
            "  + input relation Extra(n: u64)\n"
            "rules:\n  + Cheap(x) :- Edge(x, _, 1), not Host(x).\n"
            "facts:\n  3 facts of `Edge`: kept\n  1 fact of `Host`: kept"
        )
    with tidelog.open(tmp_path, **on(engine)) as db:
        assert db.relation("Cheap").rows() == [("a",), ("c",)]
        assert db.migration is None


COLUMNS = """
input relation Edge(source: string, cost: u32, kind: string, note: Option<string>)
input relation Host(name: string)
output relation Cheap(name: string)
Cheap(x) :- Edge(x, c, _, _), c < 100.
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_columns_are_renamed_widened_added_and_removed(engine: str, tmp_path: Path) -> None:
    made(engine, tmp_path)
    said = {"rename": {"Edge.src": "source"}, "default": {"Edge.kind": "road"}, "drop": ["Edge.dst"]}
    plan = tidelog.compile(COLUMNS).migration(tmp_path, said)
    assert str(plan).split("rules:")[0] == (
        "relations:\n  - output relation Reach(src: string, dst: string)\n  + output relation Cheap(name: string)\n"
        "columns:\n  ~ Edge.src is now Edge.source\n  ~ Edge.cost: u8 becomes u32\n"
        "  + Edge.kind: string, 'road' in 3 facts\n  + Edge.note: Option<string>, None in 3 facts\n"
        "  - Edge.dst: string\n"
    )
    assert str(plan).endswith("lost:\n  the column `Edge.dst` in 3 facts")
    with open_(COLUMNS, engine, tmp_path, migrate=said) as db:
        assert [row[:3] for row in db.relation("Edge").rows()] == [
            ("a", 1, "road"),
            ("b", 200, "road"),
            ("c", 1, "road"),
        ]
        assert {str(row[3]) for row in db.relation("Edge").rows()} <= {"None", "ddlog_std::None{}"}
        assert db.relation("Cheap").rows() == [("a",), ("c",)]
        with db.transaction() as tx:
            tx.insert("Edge", [("z", 70_000, "rail", "new"), ("y", 7, "rail", None)])
        assert tx.changes["Cheap"].inserted == [("y",)]
    with open_(COLUMNS, engine, tmp_path) as db:
        assert len(db.relation("Edge")) == 5


@pytest.mark.parametrize("engine", ENGINES)
def test_a_relation_gets_another_name_and_columns_another_order(engine: str, tmp_path: Path) -> None:
    made(engine, tmp_path)
    text = "input relation Link(cost: u8, dst: string, src: string)\ninput relation Host(name: string)"
    with open_(text, engine, tmp_path, migrate={"rename": {"Edge": "Link"}}) as db:
        assert db.relation("Link").rows() == [(1, "b", "a"), (1, "d", "c"), (200, "c", "b")]


@pytest.mark.parametrize("engine", ENGINES)
def test_columns_may_swap_their_names(engine: str, tmp_path: Path) -> None:
    made(engine, tmp_path)
    with open_(BASE + "// \ninput relation More(n: u8)", engine, tmp_path, migrate=True) as db:
        assert db.relation("Edge").rows() == EDGES
    said = {"rename": {"Edge.src": "dst", "Edge.dst": "src"}}
    with open_(BASE, engine, tmp_path, migrate=said) as db:
        assert db.relation("Edge").rows() == sorted((dst, src, cost) for src, dst, cost in EDGES)


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_that_differed_in_a_removed_column_become_one(engine: str, tmp_path: Path) -> None:
    text = "input relation R(k: u8, v: u8)\ninput multiset M(k: u8, v: u8)"
    made(engine, tmp_path, text, R=[(1, 1), (1, 2), (2, 1)], M=[(1, 1), (1, 2), (1, 2)])
    after = "input relation R(k: u8)\ninput multiset M(k: u8)\noutput relation N(k: u8)\nN(k) :- R(k), M(k)."
    with open_(after, engine, tmp_path, migrate={"drop": ["R.v", "M.v"]}) as db:
        assert db.relation("R").rows() == [(1,), (2,)]
        assert db.relation("M").weights() == [((1,), 3)]
        with db.transaction() as tx:
            tx.delete("R", [1])
        assert tx.changes["N"].deleted == [(1,)]


WIDER = [
    ("u8", "u16", 255, 255),
    ("u32", "s64", 4_000_000_000, 4_000_000_000),
    ("s8", "bigint", -128, -128),
    ("u32", "double", 4_000_000_001, 4_000_000_001.0),
    ("float", "double", 0.5, 0.5),
    ("(u8, string)", "(u64, string)", (7, "x"), (7, "x")),
    ("Vec<u8>", "Vec<u16>", [1, 2], [1, 2]),
    ("bit<13>", "bit<40>", 8191, 8191),
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("old", "new", "value", "expected"), WIDER, ids=[f"{a} to {b}" for a, b, _, _ in WIDER])
def test_a_wider_type_takes_every_value(
    engine: str, old: str, new: str, value: Any, expected: Any, tmp_path: Path
) -> None:
    made(engine, tmp_path, f"input relation R(k: u8, v: {old})", R=[(1, value)])
    with open_(f"input relation R(k: u8, v: {new})", engine, tmp_path, migrate=True) as db:
        ((_, found),) = db.relation("R").rows()
        assert (list(found) if isinstance(expected, list) else found) == expected


def test_a_value_becomes_one_of_an_option(tmp_path: Path) -> None:
    made("local", tmp_path, "input relation R(v: string)", R=["x"])
    text = "input relation R(v: Option<string>)\noutput relation Out(v: string)\nOut(v) :- R(Some{v})."
    with open_(text, "local", tmp_path, migrate=True) as db:
        assert db.relation("Out").rows() == [("x",)]


@pytest.mark.parametrize("engine", ENGINES)
def test_facts_of_a_relation_that_rules_derive_too_are_carried(engine: str, tmp_path: Path) -> None:
    text = "input relation Near(a: u8, b: u8)\nNear(y, x) :- Near(x, y)."
    made(engine, tmp_path, text, Near=[(1, 2)])
    after = "input relation Near(a: u8, b: u8, w: u8)\n"
    with open_(after, engine, tmp_path, migrate={"default": {"Near.w": 9}}) as db:
        assert db.relation("Near").rows() == [(1, 2, 9)]
        with db.transaction() as tx:
            tx.delete("Near", [(1, 2, 9)])
        assert len(db.relation("Near")) == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_delayed_relations_follow_after_a_migration(engine: str, tmp_path: Path) -> None:
    text = "input relation R(n: u8)\noutput relation Was(n: u8)\nWas(n) :- R-1(n).\n"
    made(engine, tmp_path, text, R=[1, 2])
    with open_(text + "input relation More(n: u8)", engine, tmp_path, migrate=True) as db:
        with db.transaction() as tx:
            tx.delete("R", [1])
        assert db.relation("Was").rows() == [(1,), (2,)]
        with db.transaction() as tx:
            tx.insert("R", [5])
        assert db.relation("Was").rows() == [(2,)]
    with tidelog.open(tmp_path, **on(engine)) as db, db.transaction() as tx:
        assert db._locked.engine_name == engine
        tx.insert("R", [6])
    assert tx.changes["Was"].inserted == [(5,)]


# What is asked for


REFUSED = [
    ("input relation Edge(src: string, dst: string, cost: u8)", True, "1 fact of `Host`: there is no such relation"),
    (BASE.replace("input relation Host", "relation Host"), True, "`Host` is no input relation any more"),
    (BASE.replace("input relation Host", "input stream Host"), True, "no relation any more, but a stream"),
    (BASE.replace("cost: u8", "cost: u8, kind: string").replace(", _)", ", _, _)"), True, "has no value in 3 facts"),
    (BASE.replace("cost: u8", "cost: bit<4>"), True, "does not have every value of u8"),
    (BASE.replace("cost: u8", "cost: string"), True, "does not have every value of u8"),
    (BASE.replace(", cost: u8", "").replace(", _)", ")"), True, "the column `Edge.cost` in 3 facts"),
    (BASE + "relation X(n: u8)", {"rename": {"Egde": "Edge"}}, "the old program has no such relation"),
    (BASE + "relation X(n: u8)", {"rename": {"Edge.src": "srce"}}, "the new program has no such column"),
    (BASE + "relation X(n: u8)", {"rename": {"Host": "Edge"}}, "3 facts of `Edge`: another relation has this name"),
    (BASE + "relation X(n: u8)", {"rename": {"Host": "X", "Edge": "X"}}, "the name `X`"),
    (BASE + "relation X(n: u8)", {"default": {"Edge.kind": 1}}, "the new program has no such column"),
    (BASE + "relation X(n: u8)", {"default": {"Edge.cost": 1}}, "no new column"),
    (BASE + "relation X(n: u8)", {"drop": ["Hots"]}, "did you mean `Host`"),
    (BASE + "relation X(n: u8)", {"drops": ["Host"]}, "did you mean `drop`"),
    (BASE + "relation X(n: u8)", {"default": {"Edge"}}, "it must have new columns"),
    (BASE + "relation X(n: u8)", "yes", "it must be True, False or a dictionary"),
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("text", "said", "message"), REFUSED, ids=[str(number) for number in range(len(REFUSED))])
def test_what_is_not_said_is_refused_and_nothing_has_changed(
    engine: str, text: str, said: Any, message: str, tmp_path: Path
) -> None:
    made(engine, tmp_path)
    with pytest.raises(tidelog.UsageError, match=rf"(?s)E860.*{re.escape(message)}"):
        open_(text, engine, tmp_path, migrate=said)
    with open_(BASE, engine, tmp_path) as db:
        assert (db.relation("Edge").rows(), len(db.relation("Reach")), db.report.epoch) == (EDGES, 6, 1)


def test_everything_that_is_missing_is_said_at_once_with_what_to_paste(tmp_path: Path) -> None:
    made("local", tmp_path)
    text = "input relation Edge(src: string, dst: string, kind: u8)"
    with pytest.raises(tidelog.UsageError) as caught:
        open_(text, "local", tmp_path, migrate=True)
    assert caught.value.help is not None
    said = re.search(r"`migrate=(.*?)`;", caught.value.help)
    assert said is not None
    with open_(text, "local", tmp_path, migrate=eval(said[1])) as db:
        assert db.relation("Edge").rows() == [("a", "b", 0), ("b", "c", 0), ("c", "d", 0)]


def test_a_relation_without_facts_needs_no_word(tmp_path: Path) -> None:
    made("local", tmp_path, Edge=EDGES)
    with open_("input relation Edge(src: string, dst: string, cost: u8)", "local", tmp_path, migrate=True) as db:
        assert db.relation("Edge").rows() == EDGES


@pytest.mark.parametrize("engine", ENGINES)
def test_facts_with_one_primary_key_are_refused(engine: str, tmp_path: Path) -> None:
    made(engine, tmp_path)
    text = BASE.replace("cost: u8)", "cost: u8) primary key (e) e.cost")
    with pytest.raises(tidelog.UsageError, match=r"two facts of `Edge` would have the primary key 1"):
        open_(text, engine, tmp_path, migrate=True)
    with open_(BASE, engine, tmp_path) as db:
        assert len(db.relation("Reach")) == 6


def test_a_preview_writes_nothing_and_runs_beside_a_writer(tmp_path: Path) -> None:
    made("local", tmp_path)
    with open_(BASE, "local", tmp_path):
        before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if not path.name.endswith("-shm")}
        plan = tidelog.compile("input relation Host(name: string)").migration(tmp_path)
        after = {path.name: path.read_bytes() for path in tmp_path.iterdir() if not path.name.endswith("-shm")}
    assert [loss.name for loss in plan.unsaid] == ["Edge"]
    assert before == after
    assert tidelog.compile(BASE + "// same").migration(tmp_path).is_empty
    assert "&lt;" not in plan._repr_html_()
    assert "<table>" in plan._repr_html_()


def test_rules_added_at_run_time_are_asked_for_unless_the_program_has_them(tmp_path: Path) -> None:
    added = "Reach(x, x) :- Host(x)."
    made("local", tmp_path)
    with open_(BASE, "local", tmp_path) as db, db.transaction() as tx:
        tx.add_rules(added)
    with pytest.raises(tidelog.UsageError, match=r"1 rule added at run time: Reach\(x, x\)"):
        open_(BASE + "relation X(n: u8)", "local", tmp_path, migrate=True)
    with open_(BASE + "relation X(n: u8)\nReach(h, h) :- Host(h).", "local", tmp_path, migrate=True) as db:
        assert len(db.relation("Reach")) == 7


@pytest.mark.parametrize("engine", ENGINES)
def test_a_migration_that_fails_in_a_rule_leaves_the_old_state(engine: str, tmp_path: Path) -> None:
    made(engine, tmp_path)
    text = BASE + "output relation Half(n: u8)\nHalf(10 / (c - 1)) :- Edge(_, _, c)."
    with pytest.raises(tidelog.EvaluationError):
        open_(text, engine, tmp_path, migrate=True)
    with open_(BASE, engine, tmp_path) as db:
        assert len(db.relation("Reach")) == 6


def test_a_migration_that_finds_no_room_on_the_disk_leaves_the_old_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    made("local", tmp_path)
    text = BASE + "output relation Cheap(c: u8)\nCheap(c) :- Edge(_, _, c), c < 100."
    with monkeypatch.context() as patched:
        patched.setattr(migrate_module, "write_checkpoint", refuse)
        with pytest.raises(tidelog.TransactionError, match=r"migration could not be written.*database is unchanged"):
            open_(text, "local", tmp_path, migrate=True)
    with open_(BASE, "local", tmp_path) as db:
        assert len(db.relation("Reach")) == 6


# A process killed on the way


@contextmanager
def at_every_step(look: Any) -> Iterator[None]:
    """Looks before every line of storage code that is run."""
    watched = {Path(module.__file__ or "").parent for module in (migrate_module, carry_module, run_epoch)}

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if Path(frame.f_code.co_filename).parent not in watched:
            return None
        look()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_process_killed_at_any_step_leaves_the_old_or_the_new_state(engine: str, tmp_path: Path) -> None:
    state, images = tmp_path / "state", tmp_path / "images"
    with open_(BASE, engine, state) as db, db.transaction() as tx:
        tx.insert("Edge", EDGES)
        tx._commit_with(CommitOptions(marks={"feed": 7}))
    said = {"rename": {"Edge.src": "source"}, "default": {"Edge.kind": "road"}, "drop": ["Edge.dst"]}
    seen: dict[Any, Path] = {}

    def look() -> None:
        listed = sorted(state.rglob("*"))
        signature = tuple((str(each), each.stat().st_size, each.stat().st_mtime_ns) for each in listed)
        if signature not in seen:
            seen[signature] = images / str(len(seen))
            shutil.copytree(state, seen[signature])

    with at_every_step(look):
        open_(COLUMNS, engine, state, migrate=said).close()
    look()
    states = []
    for image in seen.values():
        with tidelog.open(image, **on(engine)) as db:
            rows = [row[:3] for row in db.relation("Edge").rows()]
            is_new = "Cheap" in db.relations
            states.append(is_new)
            assert db._locked.marks() == {"feed": 7}
            if is_new:
                assert rows == [("a", 1, "road"), ("b", 200, "road"), ("c", 1, "road")]
                assert db.relation("Cheap").rows() == [("a",), ("c",)]
            else:
                assert rows == EDGES
                assert len(db.relation("Reach")) == 6
                with db.transaction() as tx:
                    tx.insert("Edge", [("d", "e", 3)])
                assert len(tx.changes["Reach"].inserted) == 4
        if not is_new:  # it takes its changes, and a second attempt
            with open_(COLUMNS, engine, image, migrate=said) as db:
                assert len(db.relation("Edge")) == 4
    assert states == sorted(states), "once new, always new"
    assert set(states) == {False, True}
    assert len(states) > 4


KILLED = """
import sys
import tidelog
from pathlib import Path
from tests.database.storage.test_migrate import BASE, COLUMNS
program = tidelog.compile(COLUMNS)
from tidelog.engine.local.machine_code.load import load_all
load_all()
print("ready", flush=True)
sys.stdin.readline()
said = {"rename": {"Edge.src": "source"}, "default": {"Edge.kind": "road"}, "drop": ["Edge.dst"]}
program.open(path=Path(sys.argv[1]), migrate=said).close()
print("done", flush=True)
"""


@pytest.mark.slow
def test_a_killed_process_leaves_the_old_or_the_new_state(tmp_path: Path) -> None:
    rng = random.Random(20)
    made("local", tmp_path / "state", Edge=[(str(n), str(n + 1), n % 7) for n in range(300)])
    found = set()
    for number in range(12):
        place = shutil.copytree(tmp_path / "state", tmp_path / str(number))
        root = Path(__file__).parents[3]
        with subprocess.Popen(
            [sys.executable, "-c", KILLED, str(place)], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdout.readline()
            child.stdin.write(b"\n")
            child.stdin.flush()
            time.sleep(rng.random() * 0.4)
            child.send_signal(signal.SIGKILL)
        with tidelog.open(place) as db:
            is_new = "Cheap" in db.relations
            found.add(is_new)
            assert len(db.relation("Edge")) == 300
            assert len(db.relation("Cheap" if is_new else "Reach")) == (300 if is_new else 300 * 301 // 2)
    assert found
