"""How the driver gets its answers from tasks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from tests.engine.spark.programs import LINEAR, rules_of

from tidelog.diagnostics.errors import EvaluationError
from tidelog.engine.spark.plans.choose_plan import Chooser
from tidelog.engine.spark.plans.tasks import task
from tidelog.engine.spark.plans.tasks.task import Job, TaskOutcome, Workers, run_tasks
from tidelog.engine.spark.storage.directory import StateDirectory
from tidelog.engine.spark.task_errors import describe, revive


def job_of(path: Path, buckets: int) -> Job:
    rules = rules_of(LINEAR)
    segment = Chooser(rules, {"Reach": "decomposed"}).choose({})
    assert segment is not None
    return Job(StateDirectory(str(path)), 1, "new", "old", segment, rules.relations, buckets, True, {}, {}, {})


def test_buckets_of_a_task_that_died_are_done_again(tmp_path: Path) -> None:
    runs: list[tuple[str, int]] = []

    def run(spark: Any, tasks: int, function: Callable[..., Any]) -> dict[int, TaskOutcome]:
        runs.append((function.func.__name__, tasks))  # type: ignore[attr-defined]
        done = [0, 2] if len(runs) == 1 else [1]
        return {bucket: TaskOutcome(bucket, {}, (), process=100 + bucket) for bucket in done}

    workers = Workers(count=2, are_here=True)
    with mock.patch.object(task, "_run", run):
        outcomes = run_tasks(None, job_of(tmp_path, 3), workers)
    assert [outcome.bucket for outcome in outcomes] == [0, 1, 2]
    assert runs == [("_claim_and_answer", 3), ("_answer_for", 1)]
    assert workers.owners == {("Reach",): [100, 101, 102]}


def test_on_a_cluster_every_task_has_its_bucket(tmp_path: Path) -> None:
    runs: list[int] = []

    def run(spark: Any, tasks: int, function: Callable[..., Any]) -> dict[int, TaskOutcome]:
        assert function.func is task._answer_for  # type: ignore[attr-defined]
        runs.append(tasks)
        return {bucket: TaskOutcome(bucket, {}, (), process=0) for bucket in range(tasks)}

    with mock.patch.object(task, "_run", run):
        run_tasks(None, job_of(tmp_path, 4), Workers(count=2, are_here=False))
    assert runs == [4]


def test_an_error_comes_back_as_it_was_raised() -> None:
    error = EvaluationError("division by zero", code="E601", help="guard it")
    with pytest.raises(EvaluationError) as caught:
        raise revive(describe(error))
    assert (caught.value.message, caught.value.code, caught.value.help) == ("division by zero", "E601", "guard it")
