"""One database for both engines against the oracle. Fixed seeds; `make soak` goes on from there."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest

from tests.oracle.compose import FEATURES, PLAIN, Features, random_language_case
from tests.oracle.instances import TooLargeError
from tests.properties.converting import converts_unnoticed
from tests.properties.test_language import names

CASES = 1
MORE_CASES = 40


def _check(features: Features, first: int, count: int, recounted: bool = False) -> None:
    """Checks cases from a seed on until `count` of them were converted at least once."""
    converted = 0
    for seed in range(first, first + 4 * count + 4):
        with suppress(TooLargeError):
            converted += converts_unnoticed(random_language_case(random.Random(seed), features), seed, recounted) > 0
        if converted == count:
            return
    raise AssertionError(f"only {converted} cases were small enough and changed their engine, not {count}")


@pytest.mark.parametrize("features", FEATURES, ids=names)
def test_oracle_agrees_with_a_database_that_goes_from_engine_to_engine(features: Features) -> None:
    _check(features, 400, CASES)


def test_the_ranked_state_that_comes_back_from_spark_keeps_its_invariants() -> None:
    _check(PLAIN, 0, CASES, recounted=True)


@pytest.mark.slow
@pytest.mark.parametrize("features", FEATURES, ids=names)
def test_oracle_agrees_with_many_databases_that_go_from_engine_to_engine(features: Features) -> None:
    _check(features, 500, MORE_CASES, recounted=features is PLAIN)
