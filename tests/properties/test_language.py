"""`oracle_*` for the wider language: functions, structs, collections, patterns, `FlatMap`, groups, weights, streams,
delays. Fixed seeds; `make soak` goes on from there."""

from __future__ import annotations

import random

import pytest

from tests.oracle.compose import FEATURES, PLAIN, Features, random_language_case
from tests.oracle.over_seeds import over_seeds
from tests.properties.language import (
    language_agrees_with_oracle,
    language_survives_failures,
    shell_prints_the_same,
)

CASES = 14


def names(features: Features) -> str:
    return ", ".join(name for name in features.__slots__ if getattr(features, name)) or "plain"


@pytest.mark.parametrize("features", FEATURES, ids=names)
def test_oracle_local_agrees_on_the_wider_language(features: Features) -> None:
    over_seeds(
        range(CASES),
        lambda seed: language_agrees_with_oracle(random_language_case(random.Random(seed), features)),
        at_least=(CASES - 2) / CASES,
    )


def test_invariants_of_the_ranked_state_hold_with_patterns_flat_maps_and_groups() -> None:
    for seed in range(CASES):
        language_agrees_with_oracle(random_language_case(random.Random(seed), PLAIN), recounted=True)


@pytest.mark.parametrize("features", FEATURES[-2:], ids=names)
def test_an_epoch_that_fails_in_a_function_leaves_no_trace(features: Features) -> None:
    over_seeds(
        range(CASES // 2),
        lambda seed: language_survives_failures(random_language_case(random.Random(seed), features)),
    )


@pytest.mark.parametrize("features", [PLAIN, FEATURES[-1]], ids=names)
def test_the_shell_prints_the_changes_that_the_oracle_finds(features: Features) -> None:
    over_seeds(
        range(100, 100 + CASES // 2),
        lambda seed: shell_prints_the_same(random_language_case(random.Random(seed), features)),
    )
