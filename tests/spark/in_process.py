"""The Spark engine without Spark: its tasks run in this process, one after the other.

All that a task does is the same, down to the pickled job and the answer as text; only the scheduling is missing. So
hundreds of random programs can go through the task plans in the time that Spark needs for a few.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from tidelog.engine.spark import task
from tidelog.engine.spark.kept import KEPT
from tidelog.engine.spark.task import Job, TaskOutcome, Workers, run_bucket


class NoSpark:
    """Stands for a session with three cores. Whatever needs a real one fails."""

    class conf:  # noqa: N801
        @staticmethod
        def get(name: str, default: Any = None) -> Any:
            return "local[3]" if name == "spark.master" else default


def run_tasks_here(forget: Callable[[], bool]) -> Callable[[Any, Job, Workers], list[TaskOutcome]]:
    """A stand-in for `run_tasks`; before each bucket, `forget` says whether the process has lost its engines."""

    def run(spark: Any, job: Job, workers: Workers) -> list[TaskOutcome]:
        sent: Job = pickle.loads(pickle.dumps(job))
        outcomes = []
        for bucket in range(job.buckets):
            if forget():
                KEPT._engines.clear()
            outcomes.append(task._read_answer(json.dumps(asdict(run_bucket(sent, bucket)))))
        return outcomes

    return run
