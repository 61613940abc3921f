"""The strategy `counting`: a count per row and iteration, exact through updates, failures, growth and reuse."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from tests.engine.local.run import Rows, Running

from tidelog.diagnostics.errors import EvaluationError
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.strategies.counting import kernel as c
from tidelog.engine.local.strategies.counting import rows

REACH = """
    input relation Start(x: u32)
    input relation Edge(x: u32, y: u32)
    output relation Reach(x: u32)
    Reach(x) :- Start(x).
    Reach(y) :- Reach(x), Edge(x, y).
"""
CLOSURE = """
    input relation Edge(x: u32, y: u32)
    output relation Path(x: u32, y: u32)
    Path(x, y) :- Edge(x, y).
    Path(x, z) :- Path(x, y), Path(y, z).
"""
DIVIDING = (
    CLOSURE
    + """
    input relation Share(x: u32, n: u32)
    output relation Part(x: u32, q: u32)
    Part(x, q) :- Path(x, y), Share(y, n), var q = 100 / n.
    """
)
WORDS = """
    input relation Letter(text: string)
    output relation Word(text: string)
    Word(text) :- Letter(text).
    Word(text ++ more) :- Word(text), Letter(more), string_len(text) < 4.
"""


def counted(text: str, **options: Any) -> Running:
    return Running(text, strategy="counting", **options)


def iterations(run: Running, relation: str) -> dict[tuple[Any, ...], dict[int, int]]:
    return {row: dict(numbers) for row, numbers in run.engine.export_counts(relation)}


def everything(run: Running) -> dict[str, Any]:
    names = run.engine.program.relations
    numbers = {name: sorted(run.engine.state_table(name).to_pylist(), key=str) for name in names}
    return numbers | {f"{name} per iteration": sorted(run.engine.export_counts(name)) for name in names}


def strategy_of(run: Running, relation: str) -> str:
    return next(stratum.strategy for stratum in run.report.strata if relation in stratum.relations)


def test_every_iteration_of_a_row_has_its_count() -> None:
    run = counted(REACH)
    run.commit({"Start": [(1,)], "Edge": [(1, 2), (1, 3), (2, 4), (3, 4), (4, 5), (5, 4), (1, 5)]})
    assert iterations(run, "Reach") == {
        (1,): {1: 1},
        (2,): {2: 1},
        (3,): {2: 1},
        (4,): {3: 3},  # over 2, 3 and 5
        (5,): {2: 1, 4: 1},  # over 1 and over 4
    }
    run.commit(delete={"Edge": [(1, 5)]})
    assert strategy_of(run, "Reach") == "counting"
    assert iterations(run, "Reach")[(5,)] == {4: 1}
    assert iterations(run, "Reach")[(4,)] == {3: 2, 5: 1}
    run.commit({"Start": [(5,)]})
    assert iterations(run, "Reach")[(5,)] == {1: 1, 3: 1}
    assert iterations(run, "Reach")[(4,)] == {2: 1, 3: 2}


def test_a_shortcut_moves_every_row_behind_it_to_its_new_iteration_and_back() -> None:
    run = counted(REACH)
    run.commit({"Start": [(0,)], "Edge": [(x, x + 1) for x in range(40)]})
    before = everything(run)
    assert run.commit({"Edge": [(10, 30)]}) == {}
    assert iterations(run, "Reach")[(40,)] == {22: 1}
    assert iterations(run, "Reach")[(30,)] == {12: 1, 31: 1}
    assert run.commit(delete={"Edge": [(10, 30)]}) == {}
    assert everything(run) == before


def test_random_histories_end_with_the_counts_of_a_fresh_database() -> None:
    rng = random.Random(3)
    run, held = counted(CLOSURE), set[tuple[int, int]]()
    used: Counter[str] = Counter()
    for _ in range(60):
        new: Rows = [(rng.randrange(10), rng.randrange(10)) for _ in range(rng.randrange(8))]
        old: Rows = [edge for edge in held if rng.random() < 0.3]
        held = (held - set(old)) | set(new)
        if run.commit({"Edge": new}, {"Edge": old}) is not None:
            used[strategy_of(run, "Path")] += 1
        fresh = counted(CLOSURE)
        fresh.commit({"Edge": list(held)})
        assert everything(run) == everything(fresh)
    assert used["counting"] > 40


def test_a_failed_epoch_leaves_every_count_as_it_was() -> None:
    rng = random.Random(5)
    run = counted(DIVIDING)
    run.commit({"Edge": [(x, x + 1) for x in range(9)], "Share": [(9, 7)]})
    for _ in range(20):
        before = everything(run)
        new: Rows = [(rng.randrange(10), rng.randrange(10)) for _ in range(rng.randrange(8))]
        old = [row for row in run.rows("Edge") if rng.random() < 0.3]
        with pytest.raises(EvaluationError, match="division by zero"):
            run.commit({"Edge": [*new, (0, 9)], "Share": [(9, 0)]}, {"Edge": old})
        assert everything(run) == before
        run.commit({"Edge": new}, {"Edge": old})


def test_a_failed_first_load_leaves_nothing() -> None:
    run = counted(DIVIDING)
    before = everything(run)
    with pytest.raises(EvaluationError):
        run.commit({"Edge": [(1, 2)], "Share": [(2, 0)]})
    assert everything(run) == before
    run.commit({"Edge": [(1, 2)]})
    assert iterations(run, "Path") == {(1, 2): {1: 1}}


def test_rules_that_python_runs_are_counted_too() -> None:
    run = counted(WORDS)
    run.commit({"Letter": [("a",), ("aa",), ("b",)]})
    assert iterations(run, "Word")[("aaa",)] == {2: 2}
    run.commit({"Letter": [("c",)]}, {"Letter": [("aa",)]})
    assert strategy_of(run, "Word") == "counting"
    assert iterations(run, "Word")[("aaa",)] == {3: 1}
    fresh = counted(WORDS)
    fresh.commit({"Letter": [("a",), ("b",), ("c",)]})
    assert iterations(run, "Word") == iterations(fresh, "Word")


def test_a_count_that_outgrows_its_entry_takes_another(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
        input relation A(x: u32)
        input relation B(x: u32)
        output relation P(x: u32)
        P(0) :- A(_).
        P(1) :- P(0), B(_).
        P(1) :- P(1), A(_).
    """
    histories: list[tuple[dict[str, Rows], dict[str, Rows]]] = [
        ({"A": [(x,) for x in range(8)], "B": [(x,) for x in range(7)]}, {}),
        ({}, {"A": [(x,) for x in range(5)], "B": [(0,)]}),
        ({"A": [(x,) for x in range(11)]}, {"B": [(x,) for x in range(6)]}),
        ({}, {"A": [(x,) for x in range(11)]}),
    ]

    def ends() -> list[Any]:
        run = counted(text)
        found = []
        for inserted, deleted in histories:
            run.commit(inserted, deleted)
            found.append(everything(run))
        return found

    usual = ends()
    monkeypatch.setattr(rows, "LARGEST_COUNT", 3)
    assert ends() == usual


def test_entries_of_rows_that_left_are_used_again() -> None:
    run = counted(CLOSURE)
    edges: Rows = [(x, y) for x in range(12) for y in range(12)]
    run.commit({"Edge": edges})
    beside = run.engine._store("Path").beside
    assert isinstance(beside, rows.Counts)
    most = int(beside.line[c.ENTRY_COUNT])
    for _ in range(3):
        run.commit(delete={"Edge": edges[1:]})
        assert beside.line[c.ENTRY_COUNT] - beside.line[c.ENTRY_FREE_COUNT] <= 2
        run.commit({"Edge": edges[1:]})
        # On the way rows have instances in more iterations than at the end, but never twice as many.
        assert beside.line[c.ENTRY_COUNT] <= 2 * most


def test_the_memory_of_the_counts_is_counted() -> None:
    edges: Rows = [(x, (7 * x + y) % 90) for x in range(90) for y in range(3)]
    plain, run = Running(CLOSURE), counted(CLOSURE)
    for each in (plain, run):
        each.commit({"Edge": edges})
    rows = run.engine.count("Path")
    entries = sum(len(numbers) for _, numbers in run.engine.export_counts("Path"))
    # Up to what buckets leave behind, which depends on the order in which the rows come.
    assert run.engine.bytes("Path") - plain.engine.bytes("Path") >= 0.95 * (4 * rows + 12 * entries)
    assert run.report.bytes["Path"] == run.engine.bytes("Path")


def test_rows_that_were_loaded_are_counted_by_a_bootstrap_first() -> None:
    run = counted(REACH)
    run.commit({"Start": [(1,)], "Edge": [(1, 2), (2, 3), (1, 3)]})
    copy = counted(REACH)
    copy.engine = LocalEngine(run.engine.program, strategy="counting")
    copy.engine.load({name: run.engine.state_table(name) for name in run.engine.program.relations})
    for each in (run, copy):
        each.commit({"Edge": [(3, 4)]})
    assert strategy_of(run, "Reach") == "counting"
    assert strategy_of(copy, "Reach") == "bootstrap"
    assert everything(copy) == everything(run)
    copy.commit(delete={"Edge": [(3, 4)]})
    assert strategy_of(copy, "Reach") == "counting"


def test_the_report_says_that_there_is_no_switch() -> None:
    edges: Rows = [(x, y) for x in range(40) for y in range(40)]
    run = counted(CLOSURE)
    run.commit({"Edge": edges})
    (first,) = run.report.strata
    assert (first.strategy, first.reason.split(" and ")[0]) == ("bootstrap", "nothing was derived yet")
    run.commit(delete={"Edge": edges[::2]})
    assert [(s.strategy, s.reason) for s in run.report.strata] == [
        ("counting", "the strategy always updates incrementally")
    ]


def test_strata_with_one_way_go_that_way() -> None:
    run = counted(
        CLOSURE
        + """
        output relation Far(x: u32, n: u64)
        Far(x, n) :- Path(x, y), var n = y.group_by(x).count_distinct().
        """
    )
    run.commit({"Edge": [(1, 2), (2, 3)]})
    run.commit({"Edge": [(3, 4)]})
    assert strategy_of(run, "Path") == "counting"
    assert [s.reason for s in run.report.strata if s.strategy == "groups"] == ["the only strategy for this stratum"]
    assert sorted(run.rows("Far")) == [(1, 3), (2, 2), (3, 1)]


def test_a_row_moves_to_the_second_of_two_new_iterations_when_the_first_is_gone_on_the_way() -> None:
    start, a, b, c_, d, t, u = range(7)
    run = counted(REACH)
    run.commit({"Start": [(start,)], "Edge": [(start, a), (start, c_), (c_, b), (b, d), (d, t), (d, u)]})
    assert iterations(run, "Reach")[(t,)] == {5: 1}
    # Over `a` it would be iteration 3, and over `b` it is 4; but `a` leaves in step 2.
    run.commit({"Edge": [(a, t), (b, t), (b, u), (a, u)]}, {"Edge": [(start, a)]})
    assert strategy_of(run, "Reach") == "counting"
    assert iterations(run, "Reach")[(t,)] == iterations(run, "Reach")[(u,)] == {4: 1, 5: 1}
