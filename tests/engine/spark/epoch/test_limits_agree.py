"""Each limit ends the same epochs on Spark as on the local engine, with the same words; tasks run in this process."""

from __future__ import annotations

from typing import Any

import pytest
from tests.engine.spark.in_process import NoSpark, run_tasks_here

import tidelog
from tidelog.engine.spark.epoch import run_epoch

pytest.importorskip("pyspark")

PROGRAM = """
input relation Edge(x: u32, y: u32)
input relation Alone(x: u32)
output relation Reach(x: u32, y: u32)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
"""
PLACES: dict[str, dict[str, Any]] = {
    "local": {"engine": "local"},
    "driver": {"engine": "auto", "spark": NoSpark(), "plans": {"Reach": "driver"}},
    "single task": {"engine": "spark", "spark": NoSpark(), "plans": {"Reach": "single task"}},
    "decomposed": {"engine": "spark", "spark": NoSpark(), "plans": {"Reach": "decomposed"}},
}


@pytest.fixture(autouse=True)
def tasks_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_epoch, "run_tasks", run_tasks_here(lambda: False))


@pytest.mark.parametrize(
    ("limit", "relation", "rows"),
    [
        ({"max_rows": 2}, "Alone", [1, 2, 3]),
        ({"max_rows": 2}, "Edge", [(1, 2), (2, 3), (3, 4)]),
        ({"max_rows": 5}, "Edge", [(1, 2), (2, 3), (3, 4)]),
        ({"max_rounds": 2}, "Edge", [(1, 2), (2, 3), (3, 4)]),
        ({"deadline": 1e-9}, "Alone", [1]),
    ],
    ids=str,
)
def test_a_limit_says_the_same_wherever_it_is_met(limit: dict[str, Any], relation: str, rows: list[Any]) -> None:
    said = {}
    for place, options in PLACES.items():
        with tidelog.compile(PROGRAM).open(**options, **limit) as database:
            with pytest.raises(tidelog.EvaluationError) as caught, database.transaction() as tx:
                tx.insert(relation, rows)
            said[place] = str(caught.value)
            assert (database.report.epoch, len(database.relation(relation))) == (0, 0)
    assert said == dict.fromkeys(PLACES, said["local"])
