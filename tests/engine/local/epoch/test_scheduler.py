"""An epoch comes only to the strata that it concerns, and its report is right about all relations."""

from __future__ import annotations

import random

import pytest
from tests.engine.local.run import Running

import tidelog
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.epoch import scheduler

CHAINS = """
    input relation A(x: u32, y: u32)
    input relation B(x: u32, y: u32)
    relation A1(x: u32, y: u32)
    A1(x, y) :- A(x, y), x < 10.
    output relation A2(x: u32, z: u32)
    A2(x, z) :- A1(x, y), A1(y, z).
    output relation B1(x: u32, y: u32)
    B1(x, y) :- B(x, y), not A1(x, y).
    output relation C(x: u32)
    C(x) :- A2(x, y), B1(x, y).
"""


def visited(run: Running) -> list[str]:
    return [name for stratum in run.engine._runtime.scheduler.visited for name in stratum.relations]


def test_only_strata_that_read_what_has_changed_are_visited() -> None:
    run = Running(CHAINS)
    run.commit({"B": [(1, 2)]})
    assert visited(run) == ["B", "B1", "C"]
    run.commit({"A": [(20, 1)]})
    assert visited(run) == ["A", "A1"], "A1 has not changed"
    run.commit({"A": [(1, 2)]})
    assert visited(run) == ["A", "A1", "A2", "B1", "C"]


def test_a_stratum_that_two_others_call_is_visited_once() -> None:
    run = Running(CHAINS)
    run.commit({"A": [(1, 1)], "B": [(1, 1), (1, 2)]})
    assert sorted(visited(run)) == ["A", "A1", "A2", "B", "B1", "C"]
    assert run.rows("C") == {}
    run.commit({"A": [(1, 2), (2, 2)], "B": [(2, 2)]})
    assert sorted(visited(run)) == ["A", "A1", "A2", "B", "B1", "C"]


def test_weights_that_change_where_no_row_comes_or_goes_are_followed() -> None:
    run = Running("""
        input multiset In(x: u32)
        multiset Middle(x: u32)
        Middle(x) :- In(x).
        output multiset Out(x: u32)
        Out(x) :- Middle(x).
    """)
    run.commit({"In": [(1,)]})
    assert run.commit({"In": [(1,)]}) == {"Out": {(1,): 1}}


def sizes(engine: LocalEngine) -> tuple[dict[str, int], dict[str, int]]:
    shown = [name for name in engine.program.relations if "#" not in name]
    return {name: engine.count(name) for name in shown}, {name: engine.bytes(name) for name in shown}


def test_a_report_has_the_rows_and_bytes_of_all_relations_after_its_epoch() -> None:
    run = Running(CHAINS)
    assert (run.report.rows, run.report.bytes) == sizes(run.engine)
    rng = random.Random(1)
    for _ in range(200):
        rows = [(rng.randrange(15), rng.randrange(15)) for _ in range(rng.randrange(1, 40))]
        run.commit(**{rng.choice(["insert", "delete"]): {rng.choice("AB"): rows}})
        if rng.random() < 0.1:
            run.engine.lookup(rng.choice("AB"), (rng.randrange(2),), (rng.randrange(15),))
            run.commit({"A": [(100, rng.randrange(1000))]})
        assert (run.report.rows, run.report.bytes) == sizes(run.engine)


def test_a_report_counts_the_room_that_a_failed_epoch_has_left_behind() -> None:
    run = Running("input relation A(x: u32) output relation B(x: u32) B(10 / x) :- A(x). input relation C(x: u32)")
    with pytest.raises(tidelog.EvaluationError):
        run.commit({"A": [(x,) for x in range(5_000)]})
    run.commit({"C": [(1,)]})
    assert (run.report.rows, run.report.bytes) == sizes(run.engine)


def test_a_report_counts_rows_that_were_loaded() -> None:
    run, other = Running(CHAINS), Running(CHAINS)
    run.commit({"A": [(1, 2), (2, 3)]})
    other.engine.load({name: run.engine.state_table(name) for name in run.engine.program.relations})
    other.commit({"B": [(5, 6)]})
    assert (other.report.rows, other.report.bytes) == sizes(other.engine)
    assert other.report.rows["A2"] == 1


def test_the_report_of_an_epoch_does_not_change_with_later_ones() -> None:
    run = Running(CHAINS)
    run.commit({"A": [(1, 2)]})
    report, rows = run.report, dict(run.report.rows)
    run.commit({"A": [(2, 3), (3, 4)]})
    assert report.rows == rows != run.report.rows


def test_facts_of_an_epoch_that_failed_before_it_came_to_their_stratum_are_forgotten() -> None:
    run = Running("""
        input relation A(x: u32)
        output relation Inverse(x: u32)
        Inverse(10 / x) :- A(x).
        input relation Z(x: u32)
        output relation Copy(x: u32)
        Copy(x) :- Z(x), Inverse(_).
    """)
    run.commit({"A": [(5,)]})
    with pytest.raises(tidelog.EvaluationError):
        run.commit({"A": [(0,)], "Z": [(1,)]})
    assert run.commit({"Z": [(2,)]}) == {"Copy": {(2,): 1}}
    assert run.rows("Z") == {(2,): 1}


def test_many_rows_and_few_rows_are_netted_alike() -> None:
    run = Running("input relation R(x: u32, y: u32) output relation S(x: u32) S(x) :- R(x, _).")
    for count in (1, 2, 63, 64, 65, 200, 3, 64):
        rows = [(x, count) for x in range(count)]
        run.commit({"R": [*rows, *rows]})
        assert len(run.rows("R")) == count
        assert run.commit({"R": rows}) is None
        run.commit(delete={"R": [*rows, (1, 1_000)]})
        assert run.rows("R") == {}


def test_after_other_rules_an_epoch_comes_to_what_they_concern_and_no_further() -> None:
    with tidelog.compile(CHAINS).open() as db:
        with db.transaction() as tx:
            tx.insert("A", [(1, 2), (2, 3)])
        with db.transaction() as tx:
            tx.add_rules("A2(x, y) :- B(x, y).")
        assert _came_to(db, [(1, 2)]) == ["B", "A2", "B1", "C"]
        with db.transaction() as tx:
            tx.remove_rules("A2(x, y) :- B(x, y).")
        assert _came_to(db, [(3, 4)]) == ["B", "B1", "C"]
        with db._locked.engine() as engine:
            assert isinstance(engine, LocalEngine)
            assert db.report.bytes == {name: engine.bytes(name) for name in db.report.bytes}
            assert db.report.rows == {name: engine.count(name) for name in db.report.rows}


def _came_to(db: tidelog.Database, rows: list[tuple[int, int]]) -> list[str]:
    """The relations of the strata that an epoch with these rows of B comes to."""
    with db.transaction() as tx:
        tx.insert("B", rows)
    with db._locked.engine() as engine:
        assert isinstance(engine, LocalEngine)
        return [name for stratum in engine._runtime.scheduler.visited for name in stratum.relations]


def test_a_stratum_that_stops_to_read_another_may_stand_before_it_and_neither_is_visited_twice() -> None:
    text = """
        input relation A(x: u32, y: u32)
        input relation B(x: u32, y: u32)
        output relation First(x: u32)
        output relation Second(x: u32, y: u32)
        First(x) :- Second(x, _).
        First(x) :- A(x, 77).
        Second(x, y) :- A(x, y), x > 100.
    """
    with tidelog.compile(text).open() as db:
        with db.transaction() as tx:
            tx.insert("A", [(1, 2), (101, 3)])
            tx.insert("B", [(9, 9)])
        with db.transaction() as tx:
            tx.remove_rules("First(x) :- Second(x, _).")
            tx.add_rules("Second(x, y) :- A(x, y), not B(_, y).")
        assert tx.report is not None
        visited = [stratum.relations for stratum in tx.report.strata]
        assert visited.index(("First",)) < visited.index(("Second",)), "else the test shows nothing"
        assert len(visited) == len({*visited})
        assert (set(db.relation("First")), {*db.relation("Second")}) == (set(), {(1, 2), (101, 3)})
        with db.transaction() as tx:
            tx.delete("A", [(1, 2), (101, 3)])
        assert len(db.relation("Second")) == 0


PREDICATES = """
    input relation Triple(s: u32, p: u32, o: u32)
    output relation Part(s: u32, o: u32)
    Part(s, o) :- Triple(s, 1, o).
    Part(s, o) :- Triple(s, 2, o).
    output relation Loose(s: u32)
    Loose(s) :- Triple(s, 3, o), not Triple(s, 1, o).
    output relation Other(s: u32, o: u32)
    Other(s, o) :- Triple(s, 4, o), Triple(o, p, s).
"""


def test_rules_about_a_constant_are_visited_for_rows_that_have_it() -> None:
    run = Running(PREDICATES)
    run.commit({"Triple": [(7, 4, 8)]})
    run.commit({"Triple": [(1, 2, 3)]})
    assert visited(run) == ["Triple", "Part", "Other"]
    run.commit({"Triple": [(1, 3, 3)]})
    assert visited(run) == ["Triple", "Loose", "Other"]
    assert run.rows("Loose") == {(1,): 1}
    run.commit({"Triple": [(1, 1, 3)]})
    assert visited(run) == ["Triple", "Part", "Loose", "Other"]
    assert run.rows("Loose") == {}
    run.commit({"Triple": [(8, 9, 7)]})
    assert visited(run) == ["Triple", "Other"], "a literal without a constant reads every row"
    assert run.rows("Other") == {(7, 8): 1}


def test_rules_about_constants_follow_changes_of_many_rows_and_of_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "MANY_ROWS", 2)
    db = tidelog.compile(PREDICATES).open()
    random_rows = random.Random(5)
    rows: set[tuple[int, int, int]] = set()
    for epoch in range(40):
        with db.transaction() as tx:
            for _ in range(random_rows.choice([1, 5])):
                row = (random_rows.randrange(4), random_rows.randrange(6), random_rows.randrange(4))
                (tx.delete if row in rows else tx.insert)("Triple", [row])
                rows ^= {row}
            if epoch == 20:
                tx.add_rules("Part(s, o) :- Triple(s, 5, o).")
            if epoch == 30:
                tx.remove_rules("Part(s, o) :- Triple(s, 2, o).")
        kept = {1, 2} if epoch < 20 else {1, 2, 5} if epoch < 30 else {1, 5}
        assert set(db.relation("Part")) == {(s, o) for s, p, o in rows if p in kept}
        assert set(db.relation("Loose")) == {(s,) for s, p, o in rows if p == 3 and (s, 1, o) not in rows}
        assert set(db.relation("Other")) == {
            (s, o) for s, p, o in rows if p == 4 and any((o, q, s) in rows for q in range(6))
        }
