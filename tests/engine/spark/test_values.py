"""Pools of numbers, text, structs and collections inside the tasks of Spark: the same rows as on the local engine."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from tests.engine.local.execution.columns.test_random_functions import compiled, rows
from tests.engine.spark.in_process import ALWAYS, NoSpark, tasks_here
from tests.sample import todays

import tidelog
from tidelog.engine.local.execution import python_step
from tidelog.engine.local.execution.columns import step as column_step

pytest.importorskip("pyspark")

OUTPUTS = [f"Out{place}" for place in range(3)]
DEEP = tidelog.compile("""
    typedef Walk = Nil | Step{at: s64, rest: Ref<Walk>}
    input relation W(w: Walk, s: string)
    output relation Longer(w: Walk, s: string)
    Longer(Step{at + 1, ref_new(w)}, s ++ "!") :- W(w, s), Step{var at, _} = w.
""")


def history(program: tidelog.Program, seed: int, **options: Any) -> list[Any]:
    """Returns the rows after each of three epochs, or the error of an epoch."""
    given = rows(Random(seed), 60)
    found: list[Any] = []
    with program.open(**options) as db:
        for inserted, deleted in ((given[:40], []), (given[40:], given[:10]), ([], given[20:50])):
            try:
                with db.transaction() as tx:
                    tx.delete("In", deleted)
                    tx.insert("In", inserted)
            except tidelog.EvaluationError as error:
                found.append(error.code)
                continue
            found.append([sorted(db.relation(name)) for name in OUTPUTS])
    return found


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each batch, whether kernels evaluated it."""
    found: list[bool] = []
    run = column_step.ColumnStep.run

    def noted(step: column_step.ColumnStep, *arguments: Any) -> Any:
        result = run(step, *arguments)
        found.append(result is not None)
        return result

    monkeypatch.setattr(column_step.ColumnStep, "run", noted)
    monkeypatch.setattr(python_step, "FEWEST_ROWS", 1)
    return found


@pytest.mark.parametrize("seed", todays(range(10_000), 6))
def test_random_functions_give_the_same_through_tasks(seed: int, batches: list[bool]) -> None:
    program = compiled(seed)
    if program is None:
        return
    wanted = history(program, seed)
    batches.clear()
    with tasks_here(lambda: ALWAYS, seed=seed):
        assert repr(history(program, seed, engine="spark", spark=NoSpark())) == repr(wanted)
    assert any(batches), "no batch of a task was evaluated by kernels"


@pytest.mark.spark
def test_values_of_every_type_are_the_same_in_the_tasks_of_a_session(spark: Any) -> None:
    seed = next(seed for seed in todays(range(10_000), 20) if compiled(seed) is not None)
    program = compiled(seed)
    assert program is not None
    assert repr(history(program, seed, engine="spark", spark=spark)) == repr(history(program, seed)), seed


@pytest.mark.spark
def test_deep_structs_and_long_strings_go_through_the_tasks_of_a_session(spark: Any) -> None:
    types: Any = DEEP.types
    deep = types.Nil()
    for number in range(10_000):
        deep = types.Step(number, deep)
    given = (deep, "abcdefghij" * 1_000_000)
    with DEEP.open(engine="spark", spark=spark) as db:
        with db.transaction() as tx:
            tx.insert("W", [given])
        ((longer, text),) = db.relation("Longer")
        assert len(text) == 10_000_001
        assert (longer[1], longer[2][1]) == (10_000, 9_999)
        with db.transaction() as tx:
            tx.delete("W", [given])
        assert list(db.relation("Longer")) == []
