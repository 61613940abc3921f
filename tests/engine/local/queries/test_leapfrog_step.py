"""Queries joined by leapfrog: which they are, what they look at, and that their answers are those of nested loops."""

from __future__ import annotations

import random

import pytest

import tidelog
from tidelog.database.database import Database
from tidelog.database.queries.query import compile_query
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.execution.rule_loops import LeapfrogStep
from tidelog.engine.local.queries.committed_view import CommittedView
from tidelog.engine.local.queries.evaluate import _QueryRows

PROGRAM = """
input relation E(x: u32, y: u32)
input relation Bad(x: u32)
input relation Name(x: u32, name: string)
input multiset Often(x: u32, y: u32)
output relation Out(x: u32, y: u32)
Out(x, y) :- E(x, y).
"""
TRIANGLES = "E(x, y), E(y, z), E(x, z)"


def star_and_ring(nodes: int) -> list[tuple[int, int]]:
    """Everything is connected with 0, both ways, and in a ring: 3 * (nodes - 1) triangles among nodes² paths."""
    others = range(1, nodes)
    ring = [(each, each % (nodes - 1) + 1) for each in others]
    return sorted({*((0, each) for each in others), *((each, 0) for each in others), *ring})


def opened(edges: list[tuple[int, int]]) -> Database:
    db = tidelog.compile(PROGRAM).open()
    with db.transaction() as tx:
        tx.insert("E", edges)
        tx.insert("Bad", [(each,) for each in range(0, 60, 7)])
        tx.insert("Name", [(each, f"n{each}") for each in range(60)])
        tx.insert("Often", edges)
    return db


def engine_of(db: Database) -> LocalEngine:
    with db._locked.engine() as engine:
        assert isinstance(engine, LocalEngine)
        return engine


def asked(db: Database, text: str) -> _QueryRows:
    known = db._locked.known_rules()
    return _QueryRows(compile_query(text, known.typed, known.rules), engine_of(db).queries()._committed)


def plan(db: Database, text: str) -> list[str]:
    rows = asked(db, text)
    return [type(step).__name__ for step in rows._matcher(rows._query.rule, ()).steps]


@pytest.fixture
def db() -> Database:
    rng = random.Random(3)
    return opened(sorted({(rng.randrange(60), rng.randrange(60)) for _ in range(900)}))


def test_a_cyclic_query_is_run_by_the_kernel_and_others_are_not(db: Database) -> None:
    assert plan(db, TRIANGLES) == ["LeapfrogStep"]
    assert plan(db, f"{TRIANGLES}, not Bad(z), x < z, var w = z + 1") == ["LeapfrogStep"]
    assert plan(db, f'{TRIANGLES}, var t = "${{z}}", Name(x, t)') == ["LeapfrogStep", "Let", "LeapfrogStep"]
    assert plan(db, "E(x, y), E(y, z)") == ["Join", "Join"]
    assert plan(db, f'#[join = "hash"] {TRIANGLES}') == ["Join", "Join", "Join"]
    assert plan(db, '#[join = "leapfrog"] E(x, y), E(y, z)') == ["LeapfrogStep"]
    assert plan(db, "Often(x, y), Often(y, z), Often(x, z)") == ["Join", "Join", "Join"]


@pytest.mark.parametrize(
    "rest",
    [
        "",
        ", not Bad(z), not E(z, z), x < z, var w = z + 1",
        ', var t = "n${z}", Name(x, t)',
        ", Name(x, _n), E(7, y), E(_, x)",
        ", var n = z.group_by((x, y)).count_distinct()",
        ", not Often(z, x), E(x, x)",
        ", E(z, w), E(w, x), not E(w, _), var q = (x + 1) / (y + 1)",
    ],
)
def test_the_answer_is_that_of_binary_joins(db: Database, rest: str) -> None:
    expected = db.query(f'#[join = "hash"] {TRIANGLES}{rest}').rows
    assert db.query(TRIANGLES + rest).rows == expected
    assert db.query(f'#[join = "leapfrog"] {TRIANGLES}{rest}').rows == expected


def test_triangles_are_those_of_nested_loops(db: Database) -> None:
    edges = set(db.relation("E").rows())
    expected = sorted((x, y, z) for x, y in edges for z in range(60) if (y, z) in edges and (x, z) in edges)
    assert db.query(TRIANGLES).rows == expected
    assert db.query("E(5, y), E(y, z), E(5, z)").rows == [row[1:] for row in expected if row[0] == 5]


def test_a_cyclic_query_looks_at_what_it_finds_not_at_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = 400
    db = opened(star_and_ring(nodes))
    looked_at = 0
    find = CommittedView.find

    def counting(*arguments: object) -> object:
        nonlocal looked_at
        for way in find(*arguments):  # type: ignore[arg-type]
            looked_at += 1
            yield way

    monkeypatch.setattr(CommittedView, "find", counting)
    rows = asked(db, TRIANGLES)
    found = list(rows.heads(rows._query.rule))
    assert len(found) == rows.leapfrog.found == 3 * (nodes - 1)
    assert looked_at == 0
    assert len(db.query(f'#[join = "hash"] {TRIANGLES}')) == len(found)
    assert looked_at > nodes**2


def test_division_by_zero_in_a_query_that_leaps_is_the_error_it_always_is(db: Database) -> None:
    with pytest.raises(tidelog.EvaluationError, match="division by zero in the query"):
        db.query(f"{TRIANGLES}, var q = x / (y - y), q > 0")
    assert len(db.query(TRIANGLES)) > 0


def test_tries_of_queries_are_those_of_copies_that_end_with_the_epoch(db: Database) -> None:
    engine = engine_of(db)
    store = engine._catalog.stores[engine._runtime.numbers["E"]]
    before = set(store.arrangements)
    first = db.query(TRIANGLES).rows
    assert engine.queries().bytes() > 0
    with db.transaction() as tx:
        tx.insert("E", [(100, 101), (101, 102), (100, 102)])
    assert set(store.arrangements) == before
    assert engine.queries().bytes() == 0
    assert db.query(TRIANGLES).rows == sorted([*first, (100, 101, 102)])


def test_a_query_may_not_ask_to_be_maintained(db: Database) -> None:
    with pytest.raises(tidelog.ProgramError, match="answered once"):
        db.query(f'#[maintain = "trace"] {TRIANGLES}')
    with pytest.raises(tidelog.ProgramError, match="join"):
        db.query(f'#[join = "sideways"] {TRIANGLES}')


def test_a_run_keeps_its_place_in_the_plan_with_known_variables(db: Database) -> None:
    # The negated literal is a hidden relation whose rule is cyclic: for each z, its instances are looked for.
    text = "E(x, z), not E(z, _)"
    assert db.query(text).rows == db.query(f'#[join = "hash"] {text}').rows
    rows = asked(db, '#[join = "leapfrog"] E(x, y), not E(y, _)')
    ((hidden,),) = rows._query.hidden.values()
    (step,) = rows._matcher(hidden, [each.name for each in hidden.head.terms]).steps  # type: ignore[union-attr]
    assert isinstance(step, LeapfrogStep)
