"""The wider language on the Spark engine against the oracle: tasks in this process, or a real session."""

from __future__ import annotations

import random
from typing import Any

from tests.engine.spark.in_process import ALWAYS, NEVER, NoSpark, tasks_here
from tests.oracle.case import Case
from tests.oracle.history import Transaction
from tests.oracle.types import Weights
from tests.properties.language import EngineReplay, language_agrees_with_oracle
from tidelog.engine.interface import Operation
from tidelog.engine.spark.engine import SparkEngine


def replay_on(spark: Any) -> type[EngineReplay]:
    """A replay whose engine is Spark's, on this session."""

    class SparkReplay(EngineReplay):
        def make_engine(self) -> Any:
            return SparkEngine(self.compiled.stages.rules, spark=spark)

        def commit(self, transaction: Transaction) -> Weights | None:
            if transaction.fails:
                return None
            operations = []
            for call in transaction.writes:
                rows = [self.row_in(call.relation, row) for row in call.rows]
                operations.append(Operation(call.relation, call.sign, self.engine.stage(call.relation, rows)))
            outcome = self.engine.commit(operations)
            return None if outcome is None else self._changes(outcome)

    return SparkReplay


def language_agrees_through_tasks(case: Case, seed: int = 0) -> None:
    """With plans that change from job to job, and engines that are lost half of the time."""
    coin = random.Random(seed)
    with tasks_here(lambda: coin.choice((ALWAYS, NEVER)), seed):
        language_agrees_with_oracle(case, replaying=replay_on(NoSpark()))


def language_agrees_on_spark(case: Case, spark: Any) -> None:
    language_agrees_with_oracle(case, replaying=replay_on(spark))
