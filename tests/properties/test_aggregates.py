"""`oracle_*` for aggregates: random programs full of groups, histories with deletes and weights, in every strategy and
through Spark's tasks. The groups are small, so here even the smallest that would be read again have a state that is
changed; in every second case groups are read again instead, as small ones are."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from tests.oracle import vocabulary as words
from tests.oracle.aggregates import random_aggregates
from tests.oracle.compose import Features, random_language_case
from tests.oracle.instances import TooLargeError
from tests.oracle.program import Assign, Call
from tests.properties.language import language_agrees_with_oracle, language_survives_failures
from tests.properties.language_on_spark import language_agrees_through_tasks
from tests.properties.strategies import STRATEGIES
from tidelog.engine.local.strata.aggregates import stratum
from tidelog.engine.local.strata.aggregates.group_state import GroupState
from tidelog.engine.local.strata.aggregates.value_counts import ValueCounts

CASES = 8
VALUES_COUNTED = (ValueCounts, "change", "counted")


@pytest.fixture(autouse=True)
def changed(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Every group that is read again gets a state, which is changed and never made anew; how often that was done, and
    how often values that several members have were counted."""
    monkeypatch.setattr(stratum, "KEPT_FROM", 1)
    monkeypatch.setattr(stratum, "KEPT_IN_PYTHON_FROM", 1)
    monkeypatch.setattr(stratum, "REBUILD_FROM", 1e9)
    counts: Counter[str] = Counter()
    for kind, method, name in ((GroupState, "change", "change"), (GroupState, "undo", "undo"), VALUES_COUNTED):
        monkeypatch.setattr(kind, method, _counted(kind, method, counts, name))
    return counts


def _counted(kind: type, method: str, counts: Counter[str], name: str) -> Callable[..., Any]:
    inner = getattr(kind, method)

    def run(self: object, *arguments: Any) -> Any:
        counts[name] += 1
        return inner(self, *arguments)

    return run


def test_every_aggregate_occurs() -> None:
    cases = [random_aggregates(random.Random(seed)) for seed in range(CASES * len(STRATEGIES))]
    literals = [literal for case in cases for rule in case.program.rules for literal in rule.body]
    called = [each.expression for each in literals if isinstance(each, Assign)]
    found = {each.function for each in called if isinstance(each, Call)}
    assert {each.template for each in words.AGGREGATED} <= {each.template for each in found}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_oracle_aggregates_agree_with_every_strategy(
    strategy: str, changed: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = CASES * STRATEGIES.index(strategy)
    for seed in range(first, first + CASES):
        monkeypatch.setattr(stratum, "KEPT_FROM", 1 + 1000 * (seed % 2))
        language_agrees_with_oracle(random_aggregates(random.Random(seed), multisets=seed % 2 == 0), strategy=strategy)
    assert changed["change"] >= 5
    assert changed["counted"] >= 5


def test_oracle_aggregates_agree_through_the_tasks_of_spark(changed: Counter[str]) -> None:
    for seed in range(3):
        language_agrees_through_tasks(random_aggregates(random.Random(seed)), seed)


def test_a_failed_epoch_takes_back_what_it_did_to_aggregates(changed: Counter[str]) -> None:
    for seed in range(CASES):
        language_survives_failures(random_aggregates(random.Random(seed)))
    assert changed["undo"] >= 10


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_oracle_aggregates_agree_with_every_strategy_in_many_cases(strategy: str) -> None:
    for seed in range(1000, 1100):
        language_agrees_with_oracle(random_aggregates(random.Random(seed), multisets=seed % 2 == 0), strategy=strategy)
        features = Features(many_groups=True, multisets=True, weights=True, streams=seed % 2 == 0, delays=seed % 3 == 0)
        with suppress(TooLargeError):
            language_agrees_with_oracle(random_language_case(random.Random(seed), features), strategy=strategy)


@pytest.mark.slow
def test_oracle_aggregates_agree_through_the_tasks_of_spark_in_many_cases() -> None:
    for seed in range(100, 140):
        language_agrees_through_tasks(random_aggregates(random.Random(seed), multisets=seed % 2 == 0), seed)
