"""`oracle_*`, `cuts_*`, `undo_*` and rollback for every strategy, and for the numbers that each keeps.

The other files of this folder do the same for the default strategy, with more cases.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from tests.oracle.case import Case
from tests.oracle.compose import FEATURES, PLAIN, random_language_case
from tests.oracle.generate import cases, random_case
from tests.oracle.instances import TooLargeError
from tests.oracle.over_seeds import over_seeds
from tests.properties.check import cut_differently, rolled_back, survives_failures, undone
from tests.properties.language import language_agrees_with_oracle
from tests.properties.strategies import strategies_agree

OTHERS = ("counting", "elastic-paper", "circuit")


@settings(max_examples=60)
@given(cases())
def test_oracle_every_strategy_has_the_rows_the_changes_and_the_numbers_of_a_computation_from_scratch(
    case: Case,
) -> None:
    try:
        strategies_agree(case)
    except TooLargeError:
        reject()


@settings(max_examples=40)
@given(cases(), st.sampled_from(OTHERS))
def test_undo_of_a_transaction_restores_relations_and_numbers_with_other_strategies(case: Case, strategy: str) -> None:
    undone(case, strategy=strategy)


@settings(max_examples=25)
@given(cases(), st.sampled_from(OTHERS))
def test_cuts_one_transaction_equals_many_of_one_row_with_other_strategies(case: Case, strategy: str) -> None:
    cut_differently(case, strategy=strategy)


@settings(max_examples=20)
@given(cases(), st.sampled_from(OTHERS))
def test_rollback_leaves_relations_and_state_as_they_were_with_other_strategies(case: Case, strategy: str) -> None:
    rolled_back(case, strategy=strategy)


@settings(max_examples=20)
@given(cases(), st.sampled_from(OTHERS))
def test_an_epoch_that_fails_in_its_last_rule_leaves_everything_as_it_was_with_other_strategies(
    case: Case, strategy: str
) -> None:
    try:
        survives_failures(case, strategy=strategy)
    except TooLargeError:
        reject()


@pytest.mark.parametrize("strategy", OTHERS)
def test_oracle_other_strategies_agree_on_the_wider_language(strategy: str) -> None:
    def check(seed: int) -> None:
        features = FEATURES[seed % len(FEATURES)]
        language_agrees_with_oracle(random_language_case(random.Random(seed), features), strategy=strategy)

    over_seeds(range(2 * len(FEATURES)), check)


def test_counts_hold_with_patterns_flat_maps_and_groups() -> None:
    for seed in range(6):
        case = random_language_case(random.Random(seed), PLAIN)
        language_agrees_with_oracle(case, recounted=True, strategy="counting")


def test_random_histories_are_repaired_by_every_strategy_that_can() -> None:
    used: dict[str, Counter[str]] = {name: Counter() for name in ("update", *OTHERS)}
    for seed in range(20):
        for name, replay in strategies_agree(random_case(random.Random(seed)), tuple(used)).items():
            used[name].update(stratum.strategy for report in replay.reports for stratum in report.strata)
    for name, ways in used.items():
        assert ways[name] >= 100
        assert ways[name] >= 2 * ways["bootstrap"]
