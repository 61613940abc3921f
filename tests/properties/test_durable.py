"""Databases that are closed and opened again against the oracle. Fixed seeds; `make soak` goes on from there."""

from __future__ import annotations

import random

import pytest

from tests.oracle.compose import FEATURES, PLAIN, Features, random_language_case
from tests.oracle.generate import random_case
from tests.oracle.over_seeds import over_seeds
from tests.properties.durable import captured_while_written, survives_reopening
from tests.properties.test_language import names
from tidelog.maintain.strategies import STRATEGIES

CASES = 6


@pytest.mark.parametrize("features", FEATURES, ids=names)
def test_oracle_agrees_with_a_database_that_is_opened_again_and_again(features: Features) -> None:
    over_seeds(
        range(200, 200 + CASES),
        lambda seed: survives_reopening(random_language_case(random.Random(seed), features), seed),
    )


def test_invariants_of_the_ranked_state_outlast_closing_and_opening() -> None:
    for seed in range(CASES):
        survives_reopening(random_language_case(random.Random(seed), PLAIN), seed, recounted=True)


def test_a_checkpoint_read_while_epochs_commit_is_of_the_epoch_it_was_begun_in() -> None:
    for seed in range(CASES):
        captured_while_written(random_case(random.Random(seed)), seed)


def test_a_database_may_be_opened_with_another_strategy_each_time() -> None:
    for seed in range(300, 300 + CASES):
        survives_reopening(random_language_case(random.Random(seed), PLAIN), seed, True, tuple(STRATEGIES))
