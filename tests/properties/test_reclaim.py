"""Values given back before every single epoch: nothing that is still in use may be lost, whatever holds it."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest

from tests.oracle.compose import FEATURES, Features, random_language_case
from tests.oracle.over_seeds import over_seeds
from tests.oracle.types import Weights
from tests.properties.language import EngineReplay, language_agrees_with_oracle, language_survives_failures
from tests.properties.test_language import names
from tidelog.engine.local.epoch.reclaim_values import Reclaim

CASES = 8


@pytest.fixture(autouse=True)
def sweeps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Makes every epoch start with a sweep of all pools; what each of them has left, all in all."""
    left: list[int] = []

    def sweep(self: Reclaim) -> None:
        self._sweep(self._values.pools)
        left.append(sum(map(len, self._values.pools)))

    monkeypatch.setattr(Reclaim, "between_epochs", sweep)
    return left


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[tuple[EngineReplay, Any, Weights]]:
    """All changes of all epochs, held until the end, with what was read from them at once."""
    found: list[tuple[EngineReplay, Any, Weights]] = []
    read = EngineReplay._changes

    def read_and_hold(self: EngineReplay, outcome: Any) -> Weights:
        weights = read(self, outcome)
        found.append((self, outcome, weights))
        return weights

    monkeypatch.setattr(EngineReplay, "_changes", read_and_hold)
    return found


@pytest.mark.parametrize("features", FEATURES, ids=names)
def test_oracle_local_agrees_when_values_are_given_back_before_every_epoch(
    features: Features, sweeps: list[int]
) -> None:
    over_seeds(
        range(200, 200 + CASES),
        lambda seed: language_agrees_with_oracle(random_language_case(random.Random(seed), features)),
    )
    assert any(later < earlier for earlier, later in pairwise(sweeps)), "nothing was ever given back"


def test_oracle_the_circuit_agrees_when_values_are_given_back_before_every_epoch() -> None:
    def check(seed: int) -> None:
        features = FEATURES[seed % len(FEATURES)]
        language_agrees_with_oracle(random_language_case(random.Random(seed), features), strategy="circuit")

    over_seeds(range(500, 500 + 4 * CASES), check)


@pytest.mark.parametrize("features", FEATURES, ids=names)
def test_changes_that_are_read_late_are_what_they_were(
    features: Features, held: list[tuple[EngineReplay, Any, Weights]]
) -> None:
    def check(seed: int) -> None:
        held.clear()
        language_agrees_with_oracle(random_language_case(random.Random(seed), features))
        assert held, "the case has no epoch"
        for replay, outcome, weights in list(held):
            assert replay._changes(outcome) == weights

    over_seeds(range(300, 300 + CASES), check)


@pytest.mark.parametrize("features", FEATURES[-2:], ids=names)
def test_a_failed_epoch_loses_no_value(features: Features) -> None:
    over_seeds(
        range(400, 400 + CASES // 2),
        lambda seed: language_survives_failures(random_language_case(random.Random(seed), features)),
    )
