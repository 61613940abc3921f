"""An epoch that fails, or that the switch abandons, leaves no trace of its overlay."""

from __future__ import annotations

import random
from collections.abc import Callable

import pyarrow as pa
import pytest
from tests.maintain.giving_up import giving_up

from tidelog.compile_program import compile_program
from tidelog.diagnostics.errors import EvaluationError
from tidelog.diagnostics.spans import Source
from tidelog.engine.interface import Operation
from tidelog.engine.local.engine import LocalEngine

CLOSURE = """
input relation Edge(a: u32, b: u32)
output relation Reach(a: u32, b: u32)
output relation Isolated(a: u32, b: u32)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Reach(y, z).
Isolated(x, y) :- Edge(x, y), not Reach(y, x).
"""
DIVIDING = (
    CLOSURE
    + """
input relation Share(a: u32, n: u32)
output relation Part(a: u32, q: u32)
output relation Last(a: u32)
Part(a, q) :- Reach(a, b), Share(b, n), var q = 100 / n.
Last(a) :- Part(a, q), q < 50.
"""
)


def opened(text: str) -> LocalEngine:
    engine = LocalEngine(compile_program(Source("<test>", text)).rules)
    engine.open()
    return engine


def pairs(names: tuple[str, str], rows: list[tuple[int, int]]) -> pa.Table:
    return pa.table({name: pa.array([row[i] for row in rows], pa.uint32()) for i, name in enumerate(names)})


def edges(sign: int, *rows: tuple[int, int]) -> Operation:
    return Operation("Edge", sign, pairs(("a", "b"), list(rows)))


def state(engine: LocalEngine) -> dict[str, list[tuple[int, ...]]]:
    names = engine.program.relations
    return {name: sorted(tuple(row.values()) for row in engine.state_table(name).to_pylist()) for name in names}


def rows_of_table(table: pa.Table) -> set[tuple[int, ...]]:
    return {tuple(row.values()) for row in table.to_pylist()}


def rows_of(engine: LocalEngine, name: str) -> set[tuple[int, ...]]:
    return rows_of_table(engine.table(name))


def test_a_division_by_zero_leaves_the_state_of_the_last_commit_exactly() -> None:
    engine = opened(DIVIDING)
    engine.commit([edges(1, (1, 2), (2, 3), (3, 1), (4, 5)), Operation("Share", 1, pairs(("a", "n"), [(3, 7)]))])
    before = state(engine)
    zero = Operation("Share", 1, pairs(("a", "n"), [(5, 0)]))
    with pytest.raises(EvaluationError, match=r"division by zero, with .*, in the rule `Part") as caught:
        engine.commit([edges(-1, (1, 2)), edges(1, (3, 4), (5, 6), (6, 4)), zero])
    assert caught.value.code == "E601"
    assert state(engine) == before
    engine.commit([edges(-1, (1, 2)), edges(1, (3, 4), (5, 6), (6, 4))])
    fresh = opened(DIVIDING)
    fresh.commit(
        [edges(1, (2, 3), (3, 1), (4, 5), (3, 4), (5, 6), (6, 4)), Operation("Share", 1, pairs(("a", "n"), [(3, 7)]))]
    )
    for relation in engine.program.relations:
        assert rows_of(engine, relation) == rows_of(fresh, relation)


def test_a_failed_first_load_leaves_an_empty_database() -> None:
    engine = opened(DIVIDING)
    before = state(engine)
    with pytest.raises(EvaluationError):
        engine.commit([edges(1, (1, 2)), Operation("Share", 1, pairs(("a", "n"), [(2, 0)]))])
    assert state(engine) == before
    assert engine.count("Edge") == 0


def histories(commit: Callable[[list[Operation]], object]) -> None:
    rng = random.Random(11)
    held: set[tuple[int, int]] = set()
    for _ in range(40):
        new = {(rng.randrange(12), rng.randrange(12)) for _ in range(rng.randrange(6))}
        old = {row for row in held if rng.random() < 0.25}
        held = (held - old) | new
        commit([edges(-1, *sorted(old)), edges(1, *sorted(new))])


@pytest.mark.parametrize("share", [0.0, 0.3, 0.8])
def test_bootstrap_after_a_dropped_update_gives_what_update_gives(share: float) -> None:
    switching, results = opened(CLOSURE), []

    def commit(operations: list[Operation]) -> None:
        outcome = switching.commit(operations)
        results.append({name: rows_of(switching, name) for name in switching.program.relations})
        if outcome is not None:
            strategies.update(report.strategy for report in outcome.report.strata)

    strategies: set[str] = set()
    with giving_up(share):
        histories(commit)
    assert "bootstrap" in strategies
    updating, position = opened(CLOSURE), iter(results)

    def compare(operations: list[Operation]) -> None:
        updating.commit(operations)
        assert {name: rows_of(updating, name) for name in updating.program.relations} == next(position)

    histories(compare)


def test_changes_of_a_bootstrap_are_differences_of_presence() -> None:
    engine = opened(CLOSURE)
    engine.commit([edges(1, (1, 2), (2, 3), (3, 4))])
    with giving_up(0.0):
        outcome = engine.commit([edges(-1, (2, 3)), edges(1, (1, 3))])
    assert outcome is not None
    reach = outcome.changes["Reach"]
    assert rows_of_table(reach.inserted()) == set()
    assert rows_of_table(reach.deleted()) == {(2, 3), (2, 4)}
    assert outcome.report.strata[0].strategy == "bootstrap"
    assert "Update was given up" in outcome.report.strata[0].reason


def test_state_goes_out_and_comes_back_and_the_next_epoch_is_the_same() -> None:
    engine = opened(DIVIDING)
    engine.commit([edges(1, (1, 2), (2, 3), (3, 1), (4, 5)), Operation("Share", 1, pairs(("a", "n"), [(3, 7)]))])
    engine.commit([edges(-1, (2, 3)), edges(1, (1, 3))])
    copy = LocalEngine(engine.program)
    copy.load({name: engine.state_table(name) for name in engine.program.relations})
    assert state(copy) == state(engine)
    for each in (engine, copy):
        each.commit([edges(-1, (1, 3)), edges(1, (5, 1))])
    assert state(copy) == state(engine)


def test_tracked_state_changes_bring_an_old_state_up_to_date() -> None:
    program = compile_program(Source("<test>", CLOSURE)).rules
    engine, held = LocalEngine(program, track_state=True), dict[str, dict[tuple[int, ...], tuple[int, ...]]]()
    engine.open()

    def commit(operations: list[Operation]) -> None:
        if engine.commit(operations) is None:
            return
        for name in program.relations:
            rows = held.setdefault(name, {})
            for row in engine.state_changes(name).to_pylist():
                values = tuple(row.values())
                rows[values[:2]] = values
                if row["_total"] == 0:
                    del rows[values[:2]]
            assert sorted(rows.values()) == state(engine)[name]

    histories(commit)
