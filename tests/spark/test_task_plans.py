"""`oracle_*` for the task plans: decomposed, single, and moving between them, with engines kept and lost."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from tests.oracle.case import Case
from tests.oracle.generate import cases
from tests.oracle.instances import TooLargeError
from tests.properties.check import agrees_with_oracle
from tests.spark.in_process import NoSpark, run_tasks_here
from tidelog.engine.spark import choose, epoch

pytest.importorskip("pyspark")

LENIENT = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
ALWAYS, NEVER = -1, 1 << 60


def agrees(case: Case, limit: Callable[[], int], seed: int) -> None:
    """Runs the case with tasks in this process; `limit` gives, for each choice, the rows above which to decompose."""
    chosen = choose.Chooser.choose

    def choose_with_limit(
        chooser: choose.Chooser, rows: Mapping[str, int], after: choose.Segment | None = None
    ) -> choose.Segment | None:
        rows_limit = limit()
        with (
            mock.patch.object(choose, "SINGLE_TASK_ROWS", rows_limit),
            mock.patch.object(choose, "RECURSIVE_SINGLE_TASK_ROWS", rows_limit),
        ):
            return chosen(chooser, rows, after)

    dice = random.Random(seed)
    with (
        mock.patch.object(choose.Chooser, "choose", choose_with_limit),
        mock.patch.object(epoch, "run_tasks", run_tasks_here(lambda: dice.random() < 0.5)),
    ):
        try:
            agrees_with_oracle(case, engine="spark", spark=NoSpark())
        except TooLargeError:
            reject()


@settings(LENIENT, max_examples=25)
@given(cases(), st.integers(0, 1 << 16))
def test_oracle_decomposed_wherever_there_is_a_pivot(case: Case, seed: int) -> None:
    agrees(case, lambda: ALWAYS, seed)


@settings(LENIENT, max_examples=10)
@given(cases(), st.integers(0, 1 << 16))
def test_oracle_single_task(case: Case, seed: int) -> None:
    agrees(case, lambda: NEVER, seed)


@settings(LENIENT, max_examples=15)
@given(cases(), st.integers(0, 1 << 16))
def test_oracle_plans_that_change_from_job_to_job(case: Case, seed: int) -> None:
    coin = random.Random(seed)
    agrees(case, lambda: coin.choice((ALWAYS, NEVER)), seed)


def test_the_stand_in_has_no_spark() -> None:
    with pytest.raises(AttributeError):
        NoSpark().range(1)  # type: ignore[attr-defined]
