"""Random histories in which rules come and go, on every strategy, through files, and through failures."""

from __future__ import annotations

import random

import pytest

from tests.oracle.generate import random_rule_case
from tests.properties.rule_changes import (
    STRATEGIES,
    failed_rule_changes_leave_nothing,
    rules_agree_with_oracle,
    rules_survive_reopening,
)

SEEDS = range(24)


@pytest.mark.parametrize("seed", SEEDS)
def test_oracle_rules_that_come_and_go_give_what_a_computation_from_scratch_gives(seed: int) -> None:
    rules_agree_with_oracle(random_rule_case(random.Random(seed)))


@pytest.mark.parametrize("seed", SEEDS[:20])
def test_oracle_rules_that_come_and_go_survive_reopening(seed: int) -> None:
    rules_survive_reopening(random_rule_case(random.Random(1000 + seed)), seed)


@pytest.mark.parametrize("seed", SEEDS[:10])
def test_a_failed_change_of_rules_leaves_nothing_behind(seed: int) -> None:
    case = random_rule_case(random.Random(2000 + seed))
    failed_rule_changes_leave_nothing(case, STRATEGIES[seed % len(STRATEGIES)])
