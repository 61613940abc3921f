"""`oracle_*` for aggregates: random programs with many groups, random histories with deletes and weights, in every
strategy and through Spark's tasks. Groups of these sizes are small, so here even the smallest have a state that is changed."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress

import pytest

from tests.oracle.compose import Features, random_language_case
from tests.oracle.instances import TooLargeError
from tests.properties.language import language_agrees_with_oracle, language_survives_failures
from tests.properties.language_on_spark import language_agrees_through_tasks
from tests.properties.strategies import STRATEGIES
from tidelog.engine.local.aggregates import stratum
from tidelog.engine.local.aggregates.state import GroupState

GROUPS = Features(many_groups=True)
CASES = 6


@pytest.fixture(autouse=True)
def changed(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Every group has a state, which is changed and never made anew; how often that was done."""
    monkeypatch.setattr(stratum, "KEPT_FROM", 1)
    monkeypatch.setattr(stratum, "ANEW_FROM", 1e9)
    counts: Counter[str] = Counter()
    for name in ("change", "undo"):
        monkeypatch.setattr(GroupState, name, _counted(name, counts))
    return counts


def _counted(name: str, counts: Counter[str]) -> object:
    inner = getattr(GroupState, name)

    def run(self: GroupState, *arguments: object) -> object:
        counts[name] += 1
        return inner(self, *arguments)

    return run


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_oracle_aggregates_agree_with_every_strategy(strategy: str, changed: Counter[str]) -> None:
    first = 100 * STRATEGIES.index(strategy)
    for seed in range(first, first + CASES):
        features = GROUPS if seed % 2 else Features(many_groups=True, multisets=True, weights=True)
        with suppress(TooLargeError):
            language_agrees_with_oracle(random_language_case(random.Random(seed), features), strategy=strategy)
    assert changed["change"] >= 3


def test_oracle_aggregates_agree_through_the_tasks_of_spark(changed: Counter[str]) -> None:
    for seed in range(3):
        with suppress(TooLargeError):
            language_agrees_through_tasks(random_language_case(random.Random(seed), GROUPS), seed)


def test_a_failed_epoch_takes_back_what_it_did_to_aggregates(changed: Counter[str]) -> None:
    for seed in range(CASES):
        with suppress(TooLargeError):
            language_survives_failures(random_language_case(random.Random(seed), GROUPS))
    assert changed["undo"] >= 3


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_oracle_aggregates_agree_with_every_strategy_in_many_cases(strategy: str) -> None:
    for seed in range(1000, 1150):
        features = GROUPS if seed % 2 else Features(many_groups=True, multisets=True, streams=True, delays=True)
        with suppress(TooLargeError):
            language_agrees_with_oracle(random_language_case(random.Random(seed), features), strategy=strategy)
