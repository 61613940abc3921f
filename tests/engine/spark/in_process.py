"""The Spark engine without Spark: its tasks run in this process, one after the other.

All that a task does is the same, down to the pickled job and the answer as text; only the scheduling is missing. So
hundreds of random programs can go through the task plans in the time that Spark needs for a few.
"""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any
from unittest import mock

import pyarrow as pa

from tidelog.engine.spark.epoch import run_epoch
from tidelog.engine.spark.plans import choose_plan
from tidelog.engine.spark.plans.partitioned import task as partitioned
from tidelog.engine.spark.plans.tasks import task
from tidelog.engine.spark.plans.tasks.engine_cache import ENGINES
from tidelog.engine.spark.plans.tasks.task import Job, TaskOutcome, Workers, run_bucket
from tidelog.engine.spark.plans.tasks.task_context import ship

ALWAYS, NEVER = -1, 1 << 60


class NoSpark:
    """Stands for a session with three cores. Whatever needs a real one fails."""

    class conf:  # noqa: N801
        @staticmethod
        def get(name: str, default: Any = None) -> Any:
            return "local[3]" if name == "spark.master" else default

    class sparkContext:  # noqa: N801
        """Jobs are not tagged: there are none."""

        @staticmethod
        def addJobTag(tag: str) -> None:  # noqa: N802
            pass

        removeJobTag = cancelJobsWithTag = addJobTag  # noqa: N815


def run_tasks_here(forget: Callable[[], bool]) -> Callable[[Any, Job, Workers], list[TaskOutcome]]:
    """A stand-in for `run_tasks`; before each bucket, `forget` says whether the process has lost its engines."""

    def run(spark: Any, job: Job, workers: Workers) -> list[TaskOutcome]:
        sent: Job = pickle.loads(ship(job))
        outcomes = []
        for bucket in job.bucket_numbers:
            if forget():
                ENGINES._engines.clear()
            outcomes.append(task.read_outcome(json.dumps(asdict(run_bucket(sent, bucket)))))
        return outcomes

    return run


def parts_here(forget: Callable[[], bool]) -> Callable[..., list[str]]:
    """A stand-in for `collect_answers`: the tasks are threads; before a job, `forget` says whether engines are lost."""

    def collect(spark: Any, tasks: int, run: Callable[..., Iterator[pa.RecordBatch]]) -> list[str]:
        if forget():
            ENGINES._engines.clear()

        def answer(number: int) -> str:
            batches = iter([pa.RecordBatch.from_pydict({"id": [number]})])
            (found,) = [text for batch in run(batches) for text in batch.column(0).to_pylist()]
            return str(found)

        with ThreadPoolExecutor(tasks) as pool:
            return list(pool.map(answer, range(tasks)))

    return collect


@contextmanager
def tasks_here(limit: Callable[[], int], seed: int, *, partitioned_share: float = 0.7) -> Iterator[None]:
    """Runs tasks in this process, where half of them find no engine. `limit` gives, for each choice of a plan, the
    rows above which to decompose: `ALWAYS`, `NEVER`, or in between. Such a share of the strata that can be partitioned
    is, if the limit allows several tasks."""
    chosen = choose_plan.Chooser.choose

    def choose_with_limit(
        chooser: choose_plan.Chooser, rows: Mapping[str, int], after: choose_plan.Segment | None = None, **more: Any
    ) -> choose_plan.Segment | None:
        rows_limit = limit()
        with (
            mock.patch.object(choose_plan, "SINGLE_TASK_ROWS", rows_limit),
            mock.patch.object(choose_plan, "RECURSIVE_SINGLE_TASK_ROWS", rows_limit),
        ):
            return chosen(chooser, rows, after, **more)

    dice = random.Random(seed)
    alone = choose_plan.Chooser._alone

    def partitioned_at_times(chooser: choose_plan.Chooser, index: int, rows: Mapping[str, int]) -> choose_plan.Segment:
        found, stratum = alone(chooser, index, rows), chooser._program.strata[index]
        homes = chooser._homes(stratum)
        if not homes or limit() == NEVER or dice.random() >= partitioned_share:
            return found
        return choose_plan.Segment((stratum,), choose_plan.Plan.PARTITIONED, homes, "a test says so")

    with (
        mock.patch.object(choose_plan.Chooser, "choose", choose_with_limit),
        mock.patch.object(choose_plan.Chooser, "_alone", partitioned_at_times),
        mock.patch.object(partitioned, "collect_answers", parts_here(lambda: dice.random() < 0.5)),
        mock.patch.object(run_epoch, "run_tasks", run_tasks_here(lambda: dice.random() < 0.5)),
    ):
        yield
