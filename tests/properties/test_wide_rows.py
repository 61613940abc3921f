"""Rows whose total and count outgrow the word that they share: the same with a limit of a few instead of two billion.

A relation becomes wide in the middle of an epoch, of a Bootstrap or of a checkpoint, and others stay as they were.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tests.oracle.compose import PLAIN, random_language_case
from tests.oracle.generate import random_case
from tests.oracle.over_seeds import over_seeds
from tests.properties.check import rolled_back, survives_failures, undone
from tests.properties.durable import captured_while_written, survives_reopening
from tests.properties.strategies import strategies_agree
from tidelog.engine.local.storage import row_counts
from tidelog.engine.local.storage.store import Store
from tidelog.maintain.strategies import STRATEGIES


@pytest.fixture(params=[4, 40], ids=lambda most: f"up to {most}")
def widened(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The relations that became wide; there have to be some."""
    found: list[int] = []
    widen = Store.widen

    def noted(store: Store) -> None:
        found.append(store.relation)
        widen(store)

    monkeypatch.setattr(row_counts, "LARGEST_NARROW", request.param)
    monkeypatch.setattr(Store, "widen", noted)
    yield found
    assert found


def test_oracle_every_strategy_agrees_while_relations_become_wide(widened: list[int]) -> None:
    over_seeds(range(6), lambda seed: strategies_agree(random_case(random.Random(seed))))


def test_what_is_undone_rolled_back_or_failed_leaves_the_same_numbers(widened: list[int]) -> None:
    def check(seed: int) -> None:
        case, strategy = random_case(random.Random(seed)), tuple(STRATEGIES)[seed]
        undone(case, strategy=strategy)
        rolled_back(case, strategy=strategy)
        survives_failures(case, strategy=strategy)

    over_seeds(range(len(STRATEGIES)), check)


def test_checkpoints_of_relations_that_become_wide_are_read_again(widened: list[int]) -> None:
    for seed in range(2):
        survives_reopening(random_language_case(random.Random(seed), PLAIN), seed, recounted=True)
        captured_while_written(random_case(random.Random(seed)), seed)
