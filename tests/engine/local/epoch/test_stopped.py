"""An epoch that is stopped, wherever it is when that happens, leaves the state of the last commit, number by number."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from tests.engine.local.run import Rows, Running

from tidelog.diagnostics.errors import EvaluationError
from tidelog.maintain.limits import Watch
from tidelog.rules.ir import Rule

PROGRAM = """
    input relation Edge(x: u32, y: u32)
    input relation Path(x: u32, y: u32)
    input relation Closed(x: u32)
    input relation Word(text: string)
    output relation Seen(x: u32)
    Path(x, y) :- Edge(x, y), not Closed(x).
    Path(x, z) :- Path(x, y), Path(y, z).
    Seen(y) :- Path(_, y), not Closed(y).
    Word(text ++ "!") :- Word(text), Seen(7), string_len(text) < 6.
"""
EDGES: Rows = [(x, x + 1) for x in range(9)] + [(x, x + 3) for x in range(6)]


def everything(run: Running) -> dict[str, Any]:
    names = run.engine.program.relations
    numbers = {name: sorted(run.engine.state_table(name).to_pylist(), key=str) for name in names}
    return numbers | {f"{name} per iteration": sorted(run.engine.export_counts(name)) for name in names}


@pytest.mark.parametrize("strategy", ["elastic", "recompute", "counting", "elastic-paper", "circuit", "trace"])
def test_an_epoch_stopped_at_any_moment_did_not_happen(strategy: str) -> None:
    run = Running(PROGRAM, strategy=strategy)
    run.commit({"Edge": EDGES, "Path": [(0, 1), (4, 4)], "Word": [("a",)]})
    before = everything(run)
    # Rows leave, come, move to earlier and to later iterations, and are found again; a fact becomes a derived row.
    inserted: dict[str, Rows] = {"Edge": [(1, 6), (9, 2)], "Closed": [(5,)], "Word": [("b",)]}
    deleted: dict[str, Rows] = {"Edge": [(2, 3), (0, 3)], "Path": [(0, 1)]}
    stops = looks = 0

    def look(watch: Watch, rule: Rule | None = None) -> None:
        nonlocal looks
        looks += 1
        if looks > stops:
            raise EvaluationError("stopped", code="E608")

    with mock.patch.object(Watch, "look", look):
        while True:
            try:
                run.commit(inserted, deleted)
                break
            except EvaluationError:
                stops, looks = stops + 1, 0
            assert everything(run) == before
    assert stops > 10
    fresh = Running(PROGRAM, strategy=strategy)
    fresh.commit({"Edge": EDGES, "Path": [(0, 1), (4, 4)], "Word": [("a",)]})
    fresh.commit(inserted, deleted)
    for name in run.engine.program.relations:
        assert run.rows(name) == fresh.rows(name)
