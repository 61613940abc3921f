"""`#[functional = n]` on Spark: the errors of the local engine, wherever a stratum runs and however its rows lie."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.engine.spark.in_process import NoSpark, run_tasks_here
from tests.engine.spark.parity import open_on_spark

import tidelog
from tidelog.diagnostics.errors import EvaluationError
from tidelog.engine.spark.epoch import functional_dependencies, run_epoch
from tidelog.engine.spark.plans import choose_plan

pytest.importorskip("pyspark")

# The pivot of F is its first column and that of G its second: rows of one key of G lie in different buckets.
PROGRAM = """
input relation A(x: string, y: u32)
input relation B(x: string, y: u32)
#[functional = 1]
output relation F(x: string, y: u32)
#[functional = 1]
output relation G(x: u32, y: string)
F(x, y) :- A(x, y).
F(x, y) :- B(x, y), y > 1.
G(0, y) :- A(y, n), n > 8.
G(0, y) :- G(0, y), B(y, _).
#[functional = 1]
input relation Own(x: u32, y: u32)
Own(x, x) :- A(_, x), x > 100.
"""
Written = dict[str, list[tuple[Any, ...]]]
START: Written = {"A": [("p", 5), ("q", 6), ("r", 9)], "B": [("p", 5), ("q", 1)]}
# What is written on top, and what the error says.
REFUSED: list[tuple[Written, str]] = [
    ({"B": [("q", 7)]}, "('q', 6) by `F(x, y) :- A(x, y).` and ('q', 7) by `F(x, y) :- B(x, y), y > 1.`"),
    ({"A": [("s", 10)]}, "(0, 'r') by `G(0, y) :- A(y, n), n > 8.` and (0, 's') by `G(0, y) :- A(y, n), n > 8.`"),
    ({"Own": [(1, 2), (1, 3)]}, "(1, 2) as a fact and (1, 3) as a fact"),
    ({"A": [("t", 101)], "Own": [(101, 7)]}, "(101, 7) as a fact and (101, 101) by `Own(x, x) :- A(_, x), x > 100.`"),
]


def write(database: tidelog.Database, inserted: Written) -> None:
    with database.transaction() as tx:
        for name, rows in inserted.items():
            tx.insert(name, rows)


def rows_of(database: tidelog.Database) -> dict[str, list[Any]]:
    return {name: sorted(database.relation(name).rows()) for name in ("F", "G", "Own")}


def refuses_what_the_local_engine_refuses(database: tidelog.Database) -> None:
    local = tidelog.compile(PROGRAM).open()
    write(database, START)
    write(local, START)
    before = rows_of(local)
    for inserted, said in REFUSED:
        if "t" in dict(inserted.get("A", [])):
            # G would have a second value as well.
            for each in (local, database):
                with each.transaction() as tx:
                    tx.delete("A", [("r", 9)])
            before = rows_of(local)
        for each in (local, database):
            with pytest.raises(EvaluationError) as caught:
                write(each, inserted)
            assert caught.value.code == "E609"
            assert said in str(caught.value)
            assert rows_of(each) == before
    # A value may be exchanged for another in one epoch.
    for each in (local, database):
        with each.transaction() as tx:
            tx.delete("A", [("q", 6)])
            tx.insert("B", [("q", 7)])
    assert rows_of(database) == rows_of(local)
    local.close()


@pytest.fixture(params=["pruned", "whole"])
def in_process(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[tidelog.Database]:
    monkeypatch.setattr(run_epoch, "run_tasks", run_tasks_here(lambda: False))
    monkeypatch.setattr(choose_plan, "RECURSIVE_SINGLE_TASK_ROWS", -1)
    monkeypatch.setattr(
        functional_dependencies, "FEW_KEYS", functional_dependencies.FEW_KEYS if request.param == "pruned" else -1
    )
    with tidelog.compile(PROGRAM).open("spark", spark=NoSpark()) as database:
        yield database


def test_two_values_for_one_key_are_refused_as_they_are_locally(in_process: tidelog.Database) -> None:
    refuses_what_the_local_engine_refuses(in_process)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("plan", ["frames", "decomposed", "single task"])
def test_a_job_finds_two_values_too(spark: Any, plan: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functional_dependencies, "DRIVER_ROWS", -1)
    plans = dict.fromkeys(("F", "G"), plan)
    with open_on_spark(PROGRAM, spark, plans=plans, buckets=2) as database:
        refuses_what_the_local_engine_refuses(database)
