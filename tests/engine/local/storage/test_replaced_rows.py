"""A Bootstrap that replaces a state: what it tells of the rows that come, stay and go."""

from __future__ import annotations

import random
from collections import Counter

import pytest

import tidelog
from tidelog.compile_program import compile_program
from tidelog.diagnostics.spans import Source
from tidelog.engine.interface import Operation
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.storage import row_counts

PROGRAM = """
input relation Edge(x: u32, y: u32)
output relation Reach(x: u32, y: u32)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
"""
ABOVE = PROGRAM + "output relation Mutual(x: u32, y: u32)\nMutual(x, y) :- Reach(x, y), Reach(y, x).\n"


def closure(edges: set[tuple[int, int]]) -> set[tuple[int, int]]:
    found = set(edges)
    while more := {(x, z) for x, y in found for w, z in edges if y == w} - found:
        found |= more
    return found


@pytest.mark.parametrize("program", [PROGRAM, ABOVE])
@pytest.mark.parametrize("share", [0.05, 0.5, 1.0])
def test_the_changes_are_the_difference_of_the_states(program: str, share: float) -> None:
    """Also where most rows lie in another order than before, or were deleted and given back in between."""
    chosen = random.Random(f"{share}")
    db = tidelog.compile(program).open(strategy="recompute")
    edges = {(chosen.randrange(25), chosen.randrange(25)) for _ in range(60)}
    with db.transaction() as tx:
        tx.insert("Edge", sorted(edges))
    for _ in range(6):
        before = closure(edges)
        gone = {edge for edge in edges if chosen.random() < share}
        new = {(chosen.randrange(25), chosen.randrange(25)) for _ in range(round(60 * share))} - edges
        edges = edges - gone | new
        with db.transaction() as tx:
            tx.delete("Edge", sorted(gone, key=lambda _: chosen.random()))
            tx.insert("Edge", sorted(new, key=lambda _: chosen.random()))
        after = closure(edges)
        changes = list(tx.changes["Reach"])
        assert sorted(changes) == sorted(
            [*((row, 1) for row in after - before), *((row, -1) for row in before - after)]
        )
        assert set(db.relation("Reach")) == after


def test_deleted_rows_can_be_read_after_later_epochs() -> None:
    db = tidelog.compile(PROGRAM).open(strategy="recompute")
    chain = [(i, i + 1) for i in range(30)]
    with db.transaction() as tx:
        tx.insert("Edge", chain)
    with db.transaction() as cut:
        cut.delete("Edge", [(15, 16)])
    with db.transaction() as tx:
        tx.insert("Edge", [(40, 41), (15, 16)])
    with db.transaction() as tx:
        tx.delete("Edge", chain[3:9])
    expected = {(x, y) for x in range(16) for y in range(16, 31)}
    assert {(x, y) for (x, y), _ in cut.changes["Reach"]} == expected
    assert {weight for _, weight in cut.changes["Reach"]} == {-1}


def test_the_state_changes_name_rows_that_are_gone() -> None:
    engine = LocalEngine(compile_program(Source("<test>", PROGRAM)).rules, track_state=True, strategy="recompute")
    engine.open()
    engine.commit([Operation("Edge", 1, [(i, i + 1) for i in range(6)])])
    engine.commit([Operation("Edge", -1, [(3, 4)])])
    changed = engine.state_changes("Reach").to_pydict()
    gone = {(x, y) for x, y, total in zip(changed["x"], changed["y"], changed["_total"]) if total == 0}
    assert gone == {(x, y) for x in range(4) for y in range(4, 7)}


def test_the_state_changes_name_rows_that_are_gone_from_a_wide_relation(monkeypatch: pytest.MonkeyPatch) -> None:
    """`B(0)` has a total of 6, which makes `B` wide; the Bootstrap that replaces it does not."""
    monkeypatch.setattr(row_counts, "LARGEST_NARROW", 4)
    program = "input relation A(x: u32, y: u32) output relation B(x: u32) B(x) :- A(x, _)."
    engine = LocalEngine(compile_program(Source("<test>", program)).rules, track_state=True, strategy="recompute")
    engine.open()
    engine.commit([Operation("A", 1, [*((0, y) for y in range(6)), (1, 1), (2, 1)])])
    for deleted, left in (([(1, 1)], 6), ([(0, y) for y in range(6)], 0)):
        engine.commit([Operation("A", -1, deleted)])
        changed = engine.state_changes("B").to_pydict()
        assert dict(zip(changed["x"], changed["_total"]))[deleted[0][0]] == 0
        assert dict(zip(changed["x"], changed["_total"])).get(0, 0) in (0, left)


@pytest.mark.parametrize("seed", range(4))
def test_the_state_changes_of_relations_that_become_wide_or_narrow_add_up(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_counts, "LARGEST_NARROW", 4)
    chosen = random.Random(seed)
    program = "input relation A(x: u32, y: u32) output relation B(x: u32) B(x) :- A(x, _)."
    strategy = chosen.choice(["recompute", "elastic"])
    engine = LocalEngine(compile_program(Source("<test>", program)).rules, track_state=True, strategy=strategy)
    engine.open()
    rows: set[tuple[int, int]] = set()
    known: dict[int, int] = {}
    for _ in range(12):
        share = chosen.choice([0.1, 0.9])
        deleted = {row for row in rows if chosen.random() < share}
        inserted = {(chosen.randrange(5), chosen.randrange(9)) for _ in range(chosen.randrange(1, 25))} - rows
        rows = rows - deleted | inserted
        engine.commit([Operation("A", -1, sorted(deleted)), Operation("A", 1, sorted(inserted))])
        changed = engine.state_changes("B").to_pydict()
        known.update(zip(changed["x"], changed["_total"]))
        assert {x: total for x, total in known.items() if total} == Counter(x for x, _ in rows)
