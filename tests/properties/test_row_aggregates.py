"""`oracle_*` for aggregates over rows: random programs with wildcards, joins, items of vectors, `None` and weights, and
histories with deletes, in every strategy and through Spark's tasks. In every second case groups that are read again get
a state, as large groups do."""

from __future__ import annotations

import os
import random
from collections import Counter

import pytest

from tests.oracle.program import OverRows
from tests.oracle.row_aggregates import random_row_aggregates
from tests.properties.language import language_agrees_with_oracle, language_survives_failures
from tests.properties.language_on_spark import language_agrees_through_tasks
from tests.properties.strategies import STRATEGIES
from tidelog.engine.local.strata.aggregates import stratum

CASES = 12


def _keep(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Makes groups that are read again keep a state from the first member on, or almost never."""
    least = 1 if seed % 2 else 1000
    monkeypatch.setattr(stratum, "KEPT_FROM", least)
    monkeypatch.setattr(stratum, "KEPT_IN_PYTHON_FROM", least)
    monkeypatch.setattr(stratum, "REBUILD_FROM", 1e9)


def test_every_function_occurs_with_every_kind_of_value() -> None:
    found: Counter[str] = Counter()
    for seed in range(CASES * len(STRATEGIES)):
        for rule in random_row_aggregates(random.Random(seed)).program.rules:
            for literal in rule.body:
                for each in literal.values if isinstance(literal, OverRows) else ():
                    found[f"{each.function} {each.expression.type.kind if each.expression else ''}"] += 1
    kinds = ("bit", "signed", "bigint", "double", "option")
    wanted = {f"{function} {kind}" for function in ("sum", "avg", "min", "max") for kind in kinds}
    assert wanted <= found.keys()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_oracle_row_aggregates_agree_with_every_strategy(strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = CASES * STRATEGIES.index(strategy)
    for seed in range(first, first + CASES):
        _keep(monkeypatch, seed)
        case = random_row_aggregates(random.Random(seed), multisets=seed % 3 == 0)
        language_agrees_with_oracle(case, strategy=strategy)


@pytest.mark.slow
def test_oracle_row_aggregates_agree_in_ten_thousand_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    """`TIDELOG_CASES` sets another number of epochs; each is compared with the oracle's whole answer."""
    wanted, done, seed = int(os.environ.get("TIDELOG_CASES", "10000")), 0, 100_000
    while done < wanted:
        _keep(monkeypatch, seed)
        case = random_row_aggregates(random.Random(seed), multisets=seed % 3 == 0)
        language_agrees_with_oracle(case, strategy=STRATEGIES[seed % len(STRATEGIES)])
        done += max(len(case.history), 1)
        seed += 1


def test_oracle_row_aggregates_agree_through_the_tasks_of_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(4):
        _keep(monkeypatch, seed)
        language_agrees_through_tasks(random_row_aggregates(random.Random(seed), multisets=seed == 3), seed)


def test_a_failed_epoch_takes_back_what_it_did_to_row_aggregates(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(CASES):
        _keep(monkeypatch, seed)
        language_survives_failures(random_row_aggregates(random.Random(seed)))


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_oracle_row_aggregates_agree_in_many_cases(strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(1000, 1150):
        _keep(monkeypatch, seed)
        case = random_row_aggregates(random.Random(seed), multisets=seed % 3 == 0)
        language_agrees_with_oracle(case, strategy=strategy)


@pytest.mark.slow
def test_oracle_row_aggregates_agree_through_the_tasks_of_spark_in_many_cases() -> None:
    for seed in range(100, 140):
        language_agrees_through_tasks(random_row_aggregates(random.Random(seed), multisets=seed % 3 == 0), seed)
