"""Structs 10,000 deep and strings of 100 MB go every way, or are refused with a clear error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.database.storage.test_open_local import engine_of
from tidelog.diagnostics.codes import Code
from tidelog.types import NamedType
from tidelog.values import Vec
from tidelog.values.encode import decoder, encoder
from tidelog.values.text import record_text

DEEP = tidelog.compile("""
    typedef Walk = Nil | Step{at: s64, rest: Ref<Walk>}
    typedef Tree = Leaf | Node{under: Vec<Tree>, name: string}
    input relation W(w: Walk)
    input relation T(t: Tree)
    output relation Longer(w: Walk)
    Longer(Step{at + 1, ref_new(w)}) :- W(w), Step{var at, _} = w.
    output relation Trees(t: Tree)
    Trees(Node{[t], name}) :- T(t), Node{_, var name} = t.
""")
TYPES: Any = DEEP.types
DEFINITIONS = DEEP.stages.rules.functions.definitions


def walk(depth: int) -> Any:
    made = TYPES.Nil()
    for number in range(depth):
        made = TYPES.Step(number, made)
    return made


def tree(depth: int) -> Any:
    made = TYPES.Leaf()
    for _ in range(depth):
        made = TYPES.Node(Vec([made]), "n")
    return made


@pytest.mark.parametrize(
    ("given", "derived", "value"), [("W", "Longer", walk(10_000)), ("T", "Trees", tree(4_000))], ids=["struct", "vec"]
)
def test_deep_values_are_derived_stored_and_deleted(tmp_path: Path, given: str, derived: str, value: Any) -> None:
    path = tmp_path / "db"
    with DEEP.open(path=path) as db:
        with db.transaction() as tx:
            tx.insert(given, [(value,)])
        assert len(list(db.relation(derived))) == 1
    with DEEP.open(path=path) as db:  # from the journal
        assert len(list(db.relation(derived))) == 1
        engine_of(db).checkpoint()
    with DEEP.open(path=path) as db:  # from the checkpoint
        assert len(list(db.relation(derived))) == 1
        with db.transaction() as tx:
            tx.delete(given, [(value,)])
        assert list(db.relation(derived)) == []
    with DEEP.open(path=path) as db:
        assert list(db.relation(given)) == []


@pytest.mark.parametrize(("name", "value"), [("Walk", walk(50_000)), ("Tree", tree(50_000))])
def test_bytes_of_deep_values_are_written_and_read_back(name: str, value: Any) -> None:
    data = encoder(NamedType(name), DEFINITIONS)(value)
    found = decoder(NamedType(name), DEFINITIONS)(data)
    assert hash(found) == hash(value)
    assert encoder(NamedType(name), DEFINITIONS)(found) == data


def test_text_and_tables_of_values_that_are_too_deep_are_refused() -> None:
    with pytest.raises(tidelog.DataError, match="nested too deeply") as raised:
        record_text(walk(30_000), NamedType("Walk"), DEFINITIONS)
    assert raised.value.code is Code.WRONG_VALUE
    with DEEP.open() as db:
        with db.transaction() as tx:
            tx.insert("W", [(walk(12_000),)])
        with pytest.raises(tidelog.DataError, match="nested too deeply"):
            db.relation("Longer").to_arrow()
        with pytest.raises(tidelog.DataError, match="nested too deeply"), db.transaction() as tx:
            tx.insert("T", [(tree(30_000),)])


def test_a_string_of_a_hundred_megabytes_goes_every_way(tmp_path: Path) -> None:
    program = tidelog.compile("""
        input relation In(s: string)
        output relation Size(n: usize, first: string)
        Size(len(s ++ "!"), substr(s, 0, 3)) :- In(s).
        output relation Longer(s: string)
        Longer(s ++ "!") :- In(s).
    """)
    text = "abcdefghij" * 10_000_000
    with program.open(path=tmp_path / "db") as db:
        with db.transaction() as tx:
            tx.insert("In", [(text,)])
        assert list(db.relation("Size")) == [(100_000_001, "abc")]
        engine_of(db).checkpoint()
    with program.open(path=tmp_path / "db") as db:
        ((found,),) = db.relation("Longer")
        assert found == text + "!"
        with db.transaction() as tx:
            tx.delete("In", [(text,)])
        assert list(db.relation("Longer")) == []
