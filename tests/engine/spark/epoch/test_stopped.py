"""Epochs on Spark that are followed, cancelled, or lose a Python process."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.engine.spark.parity import Step, open_on_spark, write
from tests.engine.spark.programs import LINEAR

import tidelog
from tidelog.engine.spark.engine import SparkEngine
from tidelog.engine.spark.task_errors import spark_errors
from tidelog.maintain.limits import Limits
from tidelog.maintain.options import Maintenance

pytestmark = pytest.mark.spark

# Counts to four thousand million: it would run for hours.
ENDLESS = """
input relation Start(n: u32)
output relation Count(n: u32)
Count(n) :- Start(n).
Count(n + 1) :- Count(n).
input relation Other(n: u32)
output relation Seen(n: u32)
Seen(n) :- Other(n), not Count(n).
"""
CHAIN = [(i, i + 1) for i in range(60)]


def when_a_task_begins(folder: Path, action: Callable[[], object]) -> threading.Thread:
    """Does something when the first task of the epoch in this folder has begun."""

    def wait() -> None:
        deadline = time.monotonic() + 600
        while time.monotonic() < deadline:
            if any(folder.glob("claim.*")):
                action()
                return
            time.sleep(0.002)

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_a_cancelled_epoch_is_undone_and_the_next_one_goes_on(spark: Any, tmp_path: Path) -> None:
    in_time = Maintenance(limits=Limits(deadline=600))
    with open_on_spark(ENDLESS, spark, path=str(tmp_path), maintenance=in_time) as database:
        assert not database.cancel(), "no epoch runs"
        canceller = when_a_task_begins(tmp_path / "epoch-1", database.cancel)
        with pytest.raises(tidelog.EvaluationError, match="cancelled") as caught:
            write(database, ({"Start": [0]}, {}))
        canceller.join()
        assert caught.value.code == "E608"
        assert (database.report.epoch, len(database.relation("Start"))) == (0, 0)
        write(database, ({"Other": [1]}, {}))
        assert (database.report.epoch, database.relation("Seen").rows()) == (1, [(1,)])


def test_a_python_process_that_is_killed_costs_an_epoch_at_most(spark: Any, tmp_path: Path) -> None:
    steps: list[Step] = [
        ({"Edge": CHAIN}, {}),
        ({"Edge": [(60, 61)]}, {"Edge": [(30, 31)]}),
        ({"Edge": [(30, 31), (5, 70)]}, {"Edge": [(10, 11)]}),
    ]
    options = {"path": str(tmp_path), "plans": {"Reach": "decomposed"}, "buckets": 2}
    with tidelog.compile(LINEAR).open() as local, open_on_spark(LINEAR, spark, **options) as remote:
        for number, step in enumerate(steps):
            write(local, step)
            if number != 1:
                write(remote, step)
            else:
                killer = when_a_task_begins(tmp_path / "epoch-2", lambda: kill_workers(remote))
                try:
                    write(remote, step)
                except tidelog.EvaluationError as error:
                    if error.code != "E704":
                        raise
                    write(remote, step)
                killer.join()
            assert remote.relation("Reach").rows() == local.relation("Reach").rows(), f"after step {number}"


def kill_workers(database: tidelog.Database) -> None:
    """Kills the processes that had the buckets in the last epoch. Not behind the lock: a commit has it."""
    engine = database._locked._engine
    assert isinstance(engine, SparkEngine)
    (owners,) = engine._workers.owners.values()
    for process in {each for each in owners if each is not None}:
        os.kill(process, signal.SIGKILL)


def test_strata_are_told_as_they_begin(spark: Any) -> None:
    told: list[tuple[str, ...]] = []
    with open_on_spark(LINEAR, spark) as database:
        database._locked.on_progress(lambda relations, number: told.append(tuple(relations)))
        write(database, ({"Edge": CHAIN[:3]}, {}))
    assert told == [("Reach",)]


@pytest.mark.parametrize(
    ("raised", "reason"),
    [
        (
            "An error occurred while calling o81.collect.\n: org.apache.X: Job aborted\n\tat y",
            "org.apache.X: Job",
        ),
        ("[DIVIDE] by zero\nmore", "[DIVIDE] by zero"),
        ("", "PySparkException"),
    ],
)
def test_a_failed_job_is_an_error_that_says_what_spark_says(raised: str, reason: str) -> None:
    from pyspark.errors import PySparkException

    with pytest.raises(tidelog.EvaluationError, match=re.escape(reason)) as caught, spark_errors():
        raise PySparkException(raised)
    assert caught.value.code == "E704"


def test_an_interrupt_that_pyspark_hides_is_an_interrupt() -> None:
    """It comes while PySpark opens the socket of a result, which PySpark then wants to close."""

    def interrupted() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise UnboundLocalError("sockfile")

    with pytest.raises(KeyboardInterrupt), spark_errors():
        interrupted()
    with pytest.raises(UnboundLocalError), spark_errors():
        raise UnboundLocalError("another")
