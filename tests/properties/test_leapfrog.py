"""`oracle_*` with every rule joined by leapfrog: constants, repeated variables, negation, conditions, recursion."""

from __future__ import annotations

import random
from collections import Counter
from functools import partial

import pytest
from hypothesis import given, reject, settings

from tests.oracle.case import Case
from tests.oracle.generate import cases, random_case
from tests.oracle.instances import TooLargeError
from tests.oracle.over_seeds import over_seeds
from tests.properties.check import agrees_with_oracle, rolled_back, undone
from tests.properties.leapfrog import LeapingEngine


@settings(max_examples=60)
@given(cases())
def test_oracle_rows_changes_and_numbers_are_right_when_every_join_leaps(case: Case) -> None:
    try:
        agrees_with_oracle(case, LeapingEngine, recounted=True)
    except TooLargeError:
        reject()


@pytest.mark.parametrize("strategy", ["recompute", "counting", "elastic-paper", "trace"])
def test_oracle_other_strategies_agree_when_every_join_leaps(strategy: str) -> None:
    engine = partial(LeapingEngine, strategy=strategy)
    over_seeds(range(12), lambda seed: agrees_with_oracle(random_case(random.Random(seed)), engine))


@settings(max_examples=40)
@given(cases())
def test_oracle_rows_changes_and_numbers_are_right_when_rules_are_kept_by_their_traces(case: Case) -> None:
    try:
        agrees_with_oracle(case, strategy="trace", recounted=True)
    except TooLargeError:
        reject()


def test_rules_are_kept_by_their_traces_wherever_that_can_be() -> None:
    used: Counter[str] = Counter()
    for seed in range(12):
        replay = agrees_with_oracle(random_case(random.Random(seed)), strategy="trace")
        used.update(stratum.strategy for report in replay.reports for stratum in report.strata)
    assert used["trace"] >= 25


@settings(max_examples=15)
@given(cases())
def test_undo_and_rollback_with_traces(case: Case) -> None:
    undone(case, strategy="trace")
    rolled_back(case, strategy="trace")
