"""Structs, unions and tuples as rows of words: the same values come out, whatever way they went in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.database.storage.test_open_local import engine_of

import tidelog
from tidelog.engine.local.encoding import pool as pools
from tidelog.engine.local.encoding.row_pool import RowPool
from tidelog.engine.local.encoding.words import Values
from tidelog.types import STRING, NamedType, TupleType, Type

TEXT = """
    typedef Walk = Nil | Step{at: s64, rest: Ref<Walk>}
    typedef Leaf = Leaf{name: string, weight: double, big: bigint, is_good: bool}
    typedef Tree = Empty | Tree{leaf: Leaf, under: Vec<Tree>, other: Option<(u8, string)>}
    input relation W(w: Walk) input relation T(t: Tree, p: (string, Option<u64>))
"""
PROGRAM = tidelog.compile(TEXT)
TYPES: Any = PROGRAM.types
WALK, TREE = NamedType("Walk"), NamedType("Tree")
PAIR = TupleType((STRING, NamedType("ddlog_std::Option", (tidelog.types.U64,))))
OPTION = {each.__name__: each for each in PROGRAM.stages.rules.functions.definitions.classes_of("ddlog_std::Option")}


def walk(items: list[int]) -> Any:
    made = TYPES.Nil()
    for item in items:
        made = TYPES.Step(item, made)
    return made


walks = st.builds(walk, st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 2), max_size=4))
options = st.builds(OPTION["Some"], st.integers(0, 2**64 - 1)) | st.builds(OPTION["None"])
pairs = st.tuples(st.text(max_size=2), options)
leaves = st.builds(
    TYPES.Leaf, st.text(max_size=2), st.sampled_from([0.0, 1.5]), st.integers(-(2**70), 2**70), st.booleans()
)
small = st.builds(OPTION["Some"], st.tuples(st.integers(0, 255), st.text(max_size=1))) | st.builds(OPTION["None"])
trees = st.recursive(
    st.builds(TYPES.Empty),
    lambda inner: st.builds(TYPES.Tree, leaves, st.lists(inner, max_size=2).map(tidelog.values.Vec), small),
    max_leaves=4,
)
VALUES: dict[Type, Any] = {WALK: walks, TREE: trees, PAIR: pairs}


def fresh() -> Values:
    return Values(PROGRAM.stages.rules.functions.definitions)


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(data=st.data(), type_=st.sampled_from([WALK, TREE, PAIR]))
def test_values_become_ids_and_come_back(data: st.DataObject, type_: Type) -> None:
    given = data.draw(st.lists(VALUES[type_], max_size=40))
    values = fresh()
    pool = values.pool(type_)
    assert isinstance(pool, RowPool)
    ids = pool.intern_all(given)
    assert ids.tolist() == [pool.intern(value) for value in given] == [pool.find(value) for value in given]
    assert pool.decode(ids) == given == [pool.value(number) for number in ids.tolist()]
    assert [type(value) for value in pool.decode(ids)] == [type(value) for value in given]
    assert len(set(ids.tolist())) == len(set(given))
    copy = pool.copy_values()[0:]
    again = fresh()
    again.fill([(again.pool(type_), copy)])
    assert [again.pool(type_).find(value) for value in given] == ids.tolist()
    assert again.pool(type_).copy_values()[0:] == copy


def test_a_value_that_is_not_interned_is_not_found() -> None:
    pool = fresh().pool(WALK)
    pool.intern(walk([1, 2]))
    assert pool.find(walk([1])) is not None
    assert pool.find(walk([2])) is None
    assert len(pool) == 3


def test_values_may_be_nested_ten_thousand_deep(tmp_path: Path) -> None:
    deep = walk(list(range(10_000)))
    pool = fresh().pool(WALK)
    number = pool.intern(deep)
    assert len(pool) == 10_001
    found = pool.value(number)
    while found != TYPES.Nil():
        assert found[1] == deep[1]
        found, deep = found[2], deep[2]


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "SMALLEST_SWEEP", 4)


@pytest.mark.usefixtures("often")
def test_values_inside_values_in_use_are_not_freed_and_others_are() -> None:
    program = tidelog.compile("""
        typedef Walk = Nil | Step{at: string, rest: Ref<Walk>}
        input relation Edge(a: string, b: string)
        output relation W(w: Ref<Walk>, a: string, n: u32)
        W(ref_new(Step{b, ref_new(Step{a, ref_new(Nil)})}), b, 1) :- Edge(a, b).
        W(ref_new(Step{b, w}), b, n + 1) :- W(w, a, n), Edge(a, b), n < 6.
        output relation Last(a: string)
        Last(at) :- W(w, _, 6), Step{var at, _} = w.deref().
    """)
    with program.open() as db:
        for epoch in range(120):
            with db.transaction() as tx:
                if epoch:
                    tx.delete("Edge", [(f"x{(epoch - 1) % 7}", f"y{epoch - 1}")])
                tx.insert("Edge", [(f"x{epoch % 7}", f"y{epoch}"), (f"y{epoch}", f"x{epoch % 7}")][: 1 + epoch % 2])
                if epoch % 2 == 0 and epoch:
                    tx.delete("Edge", [(f"y{epoch - 1}", f"x{(epoch - 1) % 7}")])
        shown = sorted(map(str, db.relation("W")))
        facts = list(db.relation("Edge"))
    with program.open() as db:
        with db.transaction() as tx:
            tx.insert("Edge", facts)
        assert sorted(map(str, db.relation("W"))) == shown


@pytest.mark.usefixtures("often")
def test_a_database_on_disk_has_the_same_values_after_it_is_opened_again(tmp_path: Path) -> None:
    text = """
        typedef Walk = Nil | Step{at: string, rest: Ref<Walk>}
        input relation Edge(a: string, b: string)
        output relation W(w: Ref<Walk>, a: string, n: u32, p: (Option<string>, Walk))
        W(ref_new(Step{a, ref_new(Nil)}), a, 0, (Some{a}, Nil)) :- Edge(a, _).
        W(ref_new(Step{b, w}), b, n + 1, (None, Step{a, w})) :- W(w, a, n, _), Edge(a, b), n < 4.
    """
    program = tidelog.compile(text)
    wanted: list[str] = []
    for round_ in range(4):
        with program.open(path=tmp_path / "db") as db:
            assert sorted(map(str, db.relation("W"))) == wanted
            for epoch in range(12):
                with db.transaction() as tx:
                    tx.insert("Edge", [(f"{round_}-{epoch}", f"{round_}-{epoch + 1}")])
                    if epoch > 3:
                        tx.delete("Edge", [(f"{round_}-{epoch - 2}", f"{round_}-{epoch - 1}")])
                if epoch == 8:
                    engine_of(db).checkpoint()
            wanted = sorted(map(str, db.relation("W")))
    assert wanted


def test_many_structs_at_once_are_the_structs_one_by_one() -> None:
    given = [(f"{n % 50}", OPTION["Some"](n % 20)) for n in range(2_000)]
    one_by_one, at_once = fresh().pool(PAIR), fresh().pool(PAIR)
    wanted = [one_by_one.intern(value) for value in given]
    found = at_once.intern_all(given)
    assert len(set(wanted)) == len(np.unique(found)) == 100
    assert at_once.decode(found) == given
