"""Limits, Ctrl-C and cancelling of epochs on Spark: on frames, where a round is a job, and in tasks."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.engine.spark.epoch.test_stopped import ENDLESS, when_a_task_begins
from tests.engine.spark.parity import open_on_spark, write
from tests.engine.spark.programs import LINEAR

import tidelog
from tidelog.maintain.limits import Limits
from tidelog.maintain.options import Maintenance

pytestmark = pytest.mark.spark

CHAIN = [(i, i + 1) for i in range(4)]
RULE = "Reach(x, z) :- Reach(x, y), Edge(y, z)"


@contextmanager
def opened(text: str, spark: Any, path: Path, plan: str, **limits: Any) -> Iterator[tidelog.Database]:
    relation = "Count" if text is ENDLESS else "Reach"
    asked = Maintenance(limits=Limits(**limits))
    with open_on_spark(text, spark, path=str(path), plans={relation: plan}, maintenance=asked) as database:
        yield database


def rounds_needed(commit: Callable[[int], None]) -> int:
    """The least `max_rounds` with which an epoch is committed."""
    for limit in range(1, 10):
        try:
            commit(limit)
        except tidelog.EvaluationError as error:
            if error.code != "E605":
                raise
            continue
        return limit
    raise AssertionError("no limit is high enough")


@pytest.mark.slow
def test_frames_need_as_many_rounds_as_the_local_engine_and_say_which_rule_needs_more(
    spark: Any, tmp_path: Path
) -> None:
    def commit_locally(limit: int) -> None:
        with tidelog.compile(LINEAR).open(max_rounds=limit) as database:
            write(database, ({"Edge": CHAIN}, {}))

    needed = rounds_needed(commit_locally)
    with opened(LINEAR, spark, tmp_path / "less", "frames", max_rounds=needed - 1) as database:
        write(database, ({"Edge": CHAIN[:1]}, {}))
        with pytest.raises(tidelog.EvaluationError, match=r"max_rounds") as caught:
            write(database, ({"Edge": CHAIN}, {}))
        assert RULE in caught.value.message
        assert "the last commit is intact" in caught.value.message
        assert (database.report.epoch, database.relation("Reach").rows()) == (1, [(0, 1)])
    with opened(LINEAR, spark, tmp_path / "enough", "frames", max_rounds=needed) as database:
        write(database, ({"Edge": CHAIN}, {}))
        assert len(database.relation("Reach")) == 10


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        pytest.param({"max_rounds": 2}, "E605", marks=pytest.mark.slow),
        pytest.param({"max_rows": 2}, "E606", marks=pytest.mark.slow),
        ({"deadline": 3.0}, "E607"),
    ],
    ids=str,
)
def test_a_program_that_diverges_on_frames_is_stopped_and_the_last_commit_stays(
    limits: dict[str, Any], code: str, spark: Any, tmp_path: Path
) -> None:
    with opened(ENDLESS, spark, tmp_path, "frames", **limits) as database:
        with pytest.raises(tidelog.EvaluationError, match=r"Count\(n \+ 1\) :- Count\(n\)") as caught:
            write(database, ({"Start": [0]}, {}))
        assert (caught.value.code, database.report.epoch) == (code, 0)
        assert len(database.relation("Count")) == 0
        assert database.relation("Start").rows() == []


def when_it_runs(database: tidelog.Database, plan: str, path: Path, action: Callable[[], object]) -> None:
    """Does something, once, in the middle of the next epoch: in its third round, or when its task has begun."""
    if plan != "frames":
        when_a_task_begins(path / "epoch-1", action)
        return
    rounds: list[int] = []

    def tell(relations: Any, number: int) -> None:
        rounds.append(number)
        if len(rounds) == 3:
            threading.Timer(0.2, action).start()

    database._locked.on_progress(tell)


@pytest.mark.parametrize("plan", ["frames", pytest.param("single task", marks=pytest.mark.slow)])
@pytest.mark.parametrize("is_cancelled", [True, False], ids=["cancel", "ctrl-c"])
def test_an_epoch_is_ended_by_ctrl_c_or_another_thread_and_leaves_nothing(
    plan: str, is_cancelled: bool, spark: Any, tmp_path: Path
) -> None:
    with opened(ENDLESS, spark, tmp_path, plan, deadline=600) as database:
        interrupt = database.cancel if is_cancelled else partial(os.kill, os.getpid(), signal.SIGINT)
        when_it_runs(database, plan, tmp_path, interrupt)
        with pytest.raises(tidelog.EvaluationError if is_cancelled else KeyboardInterrupt):
            write(database, ({"Start": [0]}, {}))
        database._locked.on_progress(None)
        assert (database.report.epoch, database.relation("Start").rows()) == (0, [])
        write(database, ({"Other": [1]}, {}))
        assert (database.report.epoch, database.relation("Seen").rows()) == (1, [(1,)])
    assert not list(tmp_path.glob("epoch-2"))
