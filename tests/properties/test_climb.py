"""`oracle_*` for `min` and `max` through recursion: after every epoch the rounds from nothing, and exact numbers."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from typing import ClassVar

import pytest

from tests.engine.local.strata.monotone.recount import mistakes_in_improving
from tests.oracle.climb import random_climb
from tests.oracle.history import Transaction
from tests.oracle.over_seeds import over_seeds
from tests.oracle.types import Weights
from tests.oracle.ways import random_ways
from tests.properties.language import EngineReplay, language_agrees_with_oracle, language_survives_failures
from tests.properties.language_on_spark import language_agrees_through_tasks
from tidelog.engine.local.strata.monotone import all_rows, ranked_update
from tidelog.engine.local.strata.monotone.in_kernels import MonotoneInKernels
from tidelog.engine.local.strata.monotone.stratum import OVER, RETRACTED, UPDATED, MonotoneStratum

SEEDS = range(24)


class Recounting(EngineReplay):
    """Counts the numbers again after every epoch, and why strata were brought up to date as they were."""

    reasons: ClassVar[Counter[str]] = Counter()

    def commit(self, transaction: Transaction) -> Weights | None:
        changes = super().commit(transaction)
        mistakes = mistakes_in_improving(self.local)
        assert not mistakes, "\n".join(mistakes)
        kinds = (MonotoneStratum, MonotoneInKernels)
        self.reasons.update(
            each.why.partition(";")[0] for each in self.local._runtime.strata if isinstance(each, kinds)
        )
        self.reasons.update(type(each).__name__ for each in self.local._runtime.strata if isinstance(each, kinds))
        return changes


def climb(seeds: Iterable[int], strategy: str = "elastic", *, runs_over: bool = False, wide: bool = False) -> int:
    """How many cases were small enough; all of them agreed with the oracle."""
    Recounting.reasons.clear()

    def check(seed: int) -> None:
        case = random_climb(random.Random(seed), runs_over=runs_over, wide=wide)
        language_agrees_with_oracle(case, strategy=strategy, replaying=Recounting)

    return len(over_seeds(seeds, check, at_least=0.4))


def best_ways(seeds: Iterable[int], strategy: str = "elastic") -> int:
    """The same for cases in which the way itself is chosen."""
    Recounting.reasons.clear()

    def check(seed: int) -> None:
        language_agrees_with_oracle(random_ways(random.Random(seed)), strategy=strategy, replaying=Recounting)

    return len(over_seeds(seeds, check, at_least=0.4))


def test_oracle_costs_that_only_get_better_are_those_of_the_rounds() -> None:
    assert climb(SEEDS) > len(SEEDS) // 2
    assert Recounting.reasons[UPDATED] > 2 * len(SEEDS), "hardly any of the programs is monotone"
    assert Recounting.reasons["MonotoneInKernels"] > len(SEEDS), "hardly any of the programs runs in kernels"


def test_oracle_sums_that_run_over_the_end_of_their_type_are_those_of_the_rounds() -> None:
    assert climb(SEEDS[:10], runs_over=True) > 4
    assert Recounting.reasons[OVER] > 0
    assert Recounting.reasons[UPDATED] > 0


def test_oracle_costs_of_64_bits_are_those_of_the_rounds() -> None:
    assert climb(SEEDS[:12], wide=True) > 5
    assert Recounting.reasons[UPDATED] > 0


def test_oracle_ways_that_are_chosen_with_their_costs_are_those_of_the_rounds() -> None:
    assert best_ways(SEEDS) > len(SEEDS) // 2
    assert Recounting.reasons[UPDATED] > 2 * len(SEEDS), "hardly any of the programs is monotone"
    assert Recounting.reasons["MonotoneInKernels"] > len(SEEDS), "hardly any of the programs runs in kernels"


@pytest.mark.parametrize("strategy", ["recompute", "counting", "elastic-paper", "circuit", "trace"])
def test_oracle_every_strategy_gives_the_same_costs(strategy: str) -> None:
    assert climb(SEEDS[:3], strategy) > 1
    assert best_ways(SEEDS[:3], strategy) > 1


def test_oracle_tasks_of_spark_give_the_same_costs() -> None:
    for seed in SEEDS[:4]:
        language_agrees_through_tasks(random_climb(random.Random(seed)), seed)


def test_giving_up_a_large_retraction_gives_the_same_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (ranked_update, all_rows):
        monkeypatch.setattr(module, "FEW_ROWS", 1)
        monkeypatch.setattr(module, "RETRACTED_SHARE", 0.05)
    assert climb(SEEDS[:10]) > 4
    assert Recounting.reasons[RETRACTED] > 0


def test_oracle_offers_that_wait_for_better_ones_give_the_same_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(all_rows, "FEW_OFFERS", 1)
    assert climb(SEEDS[:10]) > 4


def test_a_failed_epoch_leaves_costs_and_numbers_as_they_were() -> None:
    over_seeds(SEEDS[:5], lambda seed: language_survives_failures(random_climb(random.Random(seed))), at_least=0.4)
    over_seeds(SEEDS[:5], lambda seed: language_survives_failures(random_ways(random.Random(seed))), at_least=0.4)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 2000, 100))
def test_oracle_many_programs_with_costs_agree(start: int) -> None:
    assert climb(range(start, start + 100)) > 50
    assert climb(range(start, start + 50), runs_over=True) > 20
    assert best_ways(range(start, start + 100)) > 50
    seeds = range(start, start + 30)
    over_seeds(seeds, lambda seed: language_survives_failures(random_climb(random.Random(seed))), at_least=0.4)
