"""Random histories in which rules come and go, on every strategy, through files, and through failures."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from tests.oracle.generate import random_rule_case
from tests.oracle.wider_rules import wider_rule_case
from tests.properties.rule_changes import (
    STRATEGIES,
    failed_rule_changes_leave_nothing,
    rules_agree_on_spark,
    rules_agree_with_oracle,
    rules_survive_reopening,
)

SEEDS = range(24)
WIDE = ("elastic", "recompute", "counting", "circuit")


@pytest.mark.parametrize("seed", SEEDS)
def test_oracle_rules_that_come_and_go_give_what_a_computation_from_scratch_gives(seed: int) -> None:
    rules_agree_with_oracle(random_rule_case(random.Random(seed)))


@pytest.mark.parametrize("seed", SEEDS[:12])
def test_oracle_groups_negations_and_relations_that_come_with_rules(seed: int) -> None:
    rules_agree_with_oracle(wider_rule_case(random.Random(seed)), (WIDE[seed % len(WIDE)],), recounted=False)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", [*STRATEGIES, "trace"])
def test_oracle_many_groups_negations_and_relations_that_come_with_rules(strategy: str) -> None:
    for seed in range(100, 160):
        rules_agree_with_oracle(wider_rule_case(random.Random(seed)), (strategy,), recounted=False)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("strategy", "seed", "steps"),
    [
        pytest.param("circuit", 201, 2, marks=pytest.mark.slow, id="circuit, seed 201, in short"),
        *(
            pytest.param(strategy, seed, 4, marks=pytest.mark.slow, id=f"{strategy}, seed {seed}")
            for strategy in ("elastic", "circuit", "recompute")
            for seed in range(200, 206)
        ),
    ],
)
def test_parity_rules_that_come_and_go_on_spark(strategy: str, seed: int, steps: int, spark: Any) -> None:
    case = wider_rule_case(random.Random(seed))
    rules_agree_on_spark(replace(case, history=case.history[:steps]), spark, strategy)


@pytest.mark.parametrize("seed", SEEDS[:20])
def test_oracle_rules_that_come_and_go_survive_reopening(seed: int) -> None:
    rules_survive_reopening(random_rule_case(random.Random(1000 + seed)), seed)


@pytest.mark.parametrize("seed", SEEDS[:10])
def test_a_failed_change_of_rules_leaves_nothing_behind(seed: int) -> None:
    case = random_rule_case(random.Random(2000 + seed))
    failed_rule_changes_leave_nothing(case, STRATEGIES[seed % len(STRATEGIES)])
