"""Questions on Spark over random programs, against the oracle; tasks run in this process: no Spark is needed."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from tests.engine.spark.in_process import ALWAYS, NoSpark, tasks_here
from tests.oracle.case import Case
from tests.oracle.compose import PLAIN, Features, random_language_case
from tests.oracle.history import Transaction
from tests.oracle.over_seeds import over_seeds
from tests.oracle.types import Weights
from tests.properties.explaining import absences_are_explained, explanations_replay, queries_agree
from tests.properties.language import EngineReplay

from tidelog.engine.interface import Operation
from tidelog.engine.spark.engine import SparkEngine
from tidelog.engine.spark.queries import queries

pytest.importorskip("pyspark")

CASES = 3
WIDER = (PLAIN, Features(grouped_recursion=True), Features(multisets=True))
NAMES = ("plain", "grouped_recursion", "multisets")
WHOLE = (pytest.param(1_000_000, id="whole", marks=pytest.mark.slow), pytest.param(-1, id="pruned"))


class SparkReplay(EngineReplay):
    """A Spark engine in a temporary directory."""

    def make_engine(self) -> Any:
        return SparkEngine(self.compiled.stages.rules, NoSpark())

    def commit(self, transaction: Transaction) -> Weights | None:
        if transaction.fails:
            return None
        operations = []
        for call in transaction.writes:
            rows = [self.row_in(call.relation, row) for row in call.rows]
            operations.append(Operation(call.relation, call.sign, self.engine.stage(call.relation, rows)))
        outcome = self.engine.commit(operations)
        return None if outcome is None else self._changes(outcome)


@pytest.mark.parametrize("features", WIDER, ids=NAMES)
@pytest.mark.parametrize("whole", WHOLE)
def test_every_explanation_replays_and_the_shortest_is_the_shortest(features: Features, whole: int) -> None:
    assert _over_seeds(lambda case: explanations_replay(case, replay_of=SparkReplay), features, whole) > 10


@pytest.mark.parametrize("whole", WHOLE)
def test_why_not_names_a_literal_that_really_fails(whole: int) -> None:
    assert _over_seeds(lambda case: absences_are_explained(case, replay_of=SparkReplay), PLAIN, whole) > 10


@pytest.mark.parametrize("whole", WHOLE)
def test_a_query_has_the_answer_of_the_oracle(whole: int) -> None:
    assert _over_seeds(lambda case: queries_agree(case, replay_of=SparkReplay), PLAIN, whole) > 10


def _over_seeds(check: Callable[[Case], int], features: Features, whole: int) -> int:
    def checked(seed: int) -> int:
        with tasks_here(lambda: ALWAYS, seed), mock.patch.object(queries, "WHOLE_ROWS", whole):
            return check(random_language_case(random.Random(seed), features))

    return sum(over_seeds(range(CASES), checked, at_least=0.5))
