"""One database for both engines against the oracle. Fixed seeds; `make soak` goes on from there."""

from __future__ import annotations

import random

import pytest

from tests.oracle.compose import FEATURES, PLAIN, Features, random_language_case
from tests.oracle.instances import TooLargeError
from tests.properties.converting import goes_over_unnoticed
from tests.properties.test_language import names

CASES = 1
MORE_CASES = 40


def _check(features: Features, seeds: range, recounted: bool = False) -> None:
    times = 0
    for seed in seeds:
        try:
            times += goes_over_unnoticed(random_language_case(random.Random(seed), features), seed, recounted)
        except TooLargeError:
            continue
    assert times or len(seeds) < MORE_CASES, "it never went over"


@pytest.mark.parametrize("features", FEATURES, ids=names)
def test_oracle_agrees_with_a_database_that_goes_from_engine_to_engine(features: Features) -> None:
    _check(features, range(400, 400 + CASES))


def test_the_ranked_state_that_comes_back_from_spark_keeps_its_invariants() -> None:
    _check(PLAIN, range(CASES), recounted=True)


@pytest.mark.slow
@pytest.mark.parametrize("features", FEATURES, ids=names)
def test_oracle_agrees_with_many_databases_that_go_from_engine_to_engine(features: Features) -> None:
    _check(features, range(500, 500 + MORE_CASES), recounted=features is PLAIN)
