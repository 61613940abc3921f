"""The strategy `elastic-paper`: exact iterations, and the count of the first one, through updates and failures."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from tests.engine.local.run import Rows, Running

from tidelog.diagnostics.errors import EvaluationError
from tidelog.engine.local.engine import LocalEngine

REACH = """
    input relation Start(x: u32)
    input relation Edge(x: u32, y: u32)
    output relation Reach(x: u32)
    Reach(x) :- Start(x).
    Reach(y) :- Reach(x), Edge(x, y).
"""
# A relation that is derived and takes facts, a rule of two rows of the stratum, and one of none.
WRITABLE = """
    input relation Edge(x: u32, y: u32)
    input relation Path(x: u32, y: u32)
    input relation Closed(x: u32)
    output relation Seen(x: u32)
    Path(x, y) :- Edge(x, y), not Closed(x).
    Path(x, z) :- Path(x, y), Path(y, z).
    Seen(y) :- Path(_, y).
"""
DIVIDING = (
    WRITABLE
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


def as_in_the_paper(text: str) -> Running:
    return Running(text, strategy="elastic-paper")


def numbers(run: Running, relation: str) -> dict[tuple[Any, ...], tuple[int, int]]:
    """The iteration and the count of every row."""
    table = run.engine.state_table(relation)
    *columns, rank, count, total, _ = (column.to_pylist() for column in table.columns)
    assert total == count, "the total of a row is the count of its iteration"
    return {row: (first, found) for *row_, first, found in zip(*columns, rank, count) for row in [tuple(row_)]}


def everything(run: Running) -> dict[str, Any]:
    names = run.engine.program.relations
    return {name: sorted(run.engine.state_table(name).to_pylist(), key=str) for name in names}


def strategy_of(run: Running, relation: str) -> str:
    return next(stratum.strategy for stratum in run.report.strata if relation in stratum.relations)


def test_a_row_has_its_first_iteration_and_what_was_found_there() -> None:
    run = as_in_the_paper(REACH)
    run.commit({"Start": [(1,)], "Edge": [(1, 2), (1, 3), (2, 4), (3, 4), (4, 5), (5, 4), (1, 5)]})
    assert numbers(run, "Reach") == {(1,): (1, 1), (2,): (2, 1), (3,): (2, 1), (4,): (3, 3), (5,): (2, 1)}
    run.commit(delete={"Edge": [(1, 5)]})
    assert strategy_of(run, "Reach") == "elastic-paper"
    assert numbers(run, "Reach") == {(1,): (1, 1), (2,): (2, 1), (3,): (2, 1), (4,): (3, 2), (5,): (4, 1)}
    run.commit({"Start": [(5,)]})
    assert numbers(run, "Reach") == {(1,): (1, 1), (2,): (2, 1), (3,): (2, 1), (4,): (2, 1), (5,): (1, 1)}


def test_a_shortcut_renumbers_every_row_behind_it() -> None:
    run = as_in_the_paper(REACH)
    run.commit({"Start": [(0,)], "Edge": [(x, x + 1) for x in range(40)]})
    before = everything(run)
    assert run.commit({"Edge": [(10, 30)]}) == {}
    assert numbers(run, "Reach")[(40,)] == (22, 1)
    assert run.commit(delete={"Edge": [(10, 30)]}) == {}
    assert everything(run) == before


def test_rows_of_late_rounds_go_where_the_rounds_end_early() -> None:
    run = as_in_the_paper(REACH)
    run.commit({"Start": [(0,), (100,)], "Edge": [(x, x + 1) for x in range(40)]})
    changes = run.commit(delete={"Edge": [(3, 4)]})
    assert changes == {"Reach": {(x,): -1 for x in range(4, 41)}}
    # The rounds end with the first that nothing reaches, which does not count.
    assert [stratum.rounds for stratum in run.report.strata] == [4]
    assert run.commit({"Edge": [(3, 39)]}) == {"Reach": {(39,): 1, (40,): 1}}
    assert numbers(run, "Reach")[(40,)] == (6, 1)


def test_a_fact_that_goes_is_found_again_in_round_one() -> None:
    run = as_in_the_paper(WRITABLE)
    run.commit({"Edge": [(1, 2), (2, 3), (1, 9), (9, 2)], "Path": [(1, 2), (1, 3), (5, 6)], "Closed": [(2,)]})
    assert numbers(run, "Path")[(1, 2)] == (0, 1)
    changes = run.commit({"Path": [(6, 7)]}, {"Path": [(1, 2), (1, 3), (5, 6)]})
    assert changes == {"Seen": {(6,): -1, (7,): 1, (3,): -1}}
    assert numbers(run, "Path")[(1, 2)] == (1, 1)
    run.commit(delete={"Closed": [(2,)]})
    assert numbers(run, "Path")[(1, 3)] == (2, 1)


@pytest.mark.parametrize("seed", range(3))
def test_random_histories_end_with_the_numbers_of_a_fresh_database(seed: int) -> None:
    rng = random.Random(seed)
    run = as_in_the_paper(WRITABLE)
    held: dict[str, set[tuple[int, ...]]] = {"Edge": set(), "Path": set(), "Closed": set()}
    used: Counter[str] = Counter()
    for _ in range(25):
        inserted: dict[str, Rows] = {}
        deleted: dict[str, Rows] = {}
        for name, width, most in (("Edge", 2, 8), ("Path", 2, 3), ("Closed", 1, 2)):
            inserted[name] = [tuple(rng.randrange(9) for _ in range(width)) for _ in range(rng.randrange(most))]
            deleted[name] = [row for row in held[name] if rng.random() < 0.3 and row not in inserted[name]]
            held[name] = (held[name] - set(deleted[name])) | set(inserted[name])
        if run.commit(inserted, deleted) is not None:
            used.update(stratum.strategy for stratum in run.report.strata)
        fresh = as_in_the_paper(WRITABLE)
        fresh.commit({name: list(rows) for name, rows in held.items()})
        assert everything(run) == everything(fresh)
    assert used["elastic-paper"] > 30


def test_a_failed_epoch_leaves_every_number_as_it_was() -> None:
    rng = random.Random(5)
    run = as_in_the_paper(DIVIDING)
    run.commit({"Edge": [(x, x + 1) for x in range(9)], "Share": [(9, 7)]})
    for _ in range(20):
        before = everything(run)
        new: Rows = [(rng.randrange(10), rng.randrange(10)) for _ in range(rng.randrange(8))]
        old = [row for row in run.rows("Edge") if rng.random() < 0.3]
        with pytest.raises(EvaluationError, match="division by zero"):
            run.commit({"Edge": [*new, (0, 9)], "Share": [(9, 0)]}, {"Edge": old})
        assert everything(run) == before
        run.commit({"Edge": new}, {"Edge": old})
        fresh = as_in_the_paper(DIVIDING)
        fresh.commit({name: list(run.rows(name)) for name in ("Edge", "Share")})
        assert everything(run) == everything(fresh)


def test_rules_that_python_runs_are_repaired_too() -> None:
    run = as_in_the_paper(WORDS)
    run.commit({"Letter": [("a",), ("aa",), ("b",)]})
    assert numbers(run, "Word")[("aaa",)] == (2, 2)
    run.commit({"Letter": [("c",)]}, {"Letter": [("aa",)]})
    assert strategy_of(run, "Word") == "elastic-paper"
    assert numbers(run, "Word")[("aaa",)] == (3, 1)
    fresh = as_in_the_paper(WORDS)
    fresh.commit({"Letter": [("a",), ("b",), ("c",)]})
    assert numbers(run, "Word") == numbers(fresh, "Word")


def test_rows_that_were_loaded_are_numbered_by_a_bootstrap_first() -> None:
    ranked = Running(REACH)
    ranked.commit({"Start": [(1,)], "Edge": [(1, 2), (2, 3), (3, 4)]})
    ranked.commit({"Edge": [(1, 4)]})  # the ranked state leaves the row in round 4
    copy = as_in_the_paper(REACH)
    copy.engine = LocalEngine(ranked.engine.program, strategy="elastic-paper")
    copy.engine.load({name: ranked.engine.state_table(name) for name in ranked.engine.program.relations})
    copy.commit({"Edge": [(4, 5)]})
    assert strategy_of(copy, "Reach") == "bootstrap"
    assert numbers(copy, "Reach")[(4,)] == (2, 1)
    copy.commit(delete={"Edge": [(1, 4)]})
    assert strategy_of(copy, "Reach") == "elastic-paper"
    assert numbers(copy, "Reach")[(5,)] == (5, 1)


def test_a_fact_that_goes_is_found_again_by_a_rule_that_begins_like_a_recursive_one() -> None:
    run = as_in_the_paper("""
        input relation Edge(x: u32, y: u32)
        input relation Path(x: u32, y: u32)
        Path(x, z) :- Edge(x, y), Path(y, z).
        Path(x, y) :- Edge(x, y).
    """)
    run.commit({"Edge": [(1, 2), (2, 3)], "Path": [(1, 2), (3, 4)]})
    run.commit(delete={"Path": [(1, 2)]})
    assert numbers(run, "Path") == {
        (1, 2): (1, 1),
        (2, 3): (1, 1),
        (3, 4): (0, 1),
        (2, 4): (1, 1),
        (1, 3): (2, 1),
        (1, 4): (2, 1),
    }
