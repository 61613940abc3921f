"""Every property on the cases of `saved.toml`, before anything random (`conftest` puts this file first)."""

from __future__ import annotations

import pytest

from tests.properties.algorithm3 import algorithm_3_agrees, shows
from tests.properties.check import (
    agrees_when_giving_up,
    cut_differently,
    rolled_back,
    survives_failures,
    undone,
)
from tests.properties.rule_changes import rules_agree_with_oracle
from tests.properties.saved import saved_cases, saved_rule_cases, shown_mistakes
from tests.properties.strategies import strategies_agree

CASES, RULE_CASES = saved_cases(), saved_rule_cases()
EVERY_CASE = pytest.mark.parametrize("name", CASES)


def test_this_file_runs_first(request: pytest.FixtureRequest) -> None:
    mine = [item.path == request.path for item in request.session.items]
    assert mine == sorted(mine, reverse=True)


@EVERY_CASE
def test_oracle_every_strategy_agrees_on_a_saved_case(name: str) -> None:
    strategies_agree(CASES[name])


@EVERY_CASE
def test_oracle_algorithm_3_agrees_on_a_saved_case(name: str) -> None:
    algorithm_3_agrees(CASES[name])


@pytest.mark.parametrize(("name", "mistake"), shown_mistakes().items())
def test_a_saved_case_shows_the_mistake_that_it_names(name: str, mistake: str) -> None:
    assert shows(mistake, CASES[name])


@EVERY_CASE
def test_oracle_a_saved_case_is_right_when_update_is_given_up(name: str) -> None:
    agrees_when_giving_up(CASES[name], share=0.1)


@EVERY_CASE
def test_a_saved_case_is_undone_rolled_back_cut_and_survives_failures(name: str) -> None:
    case = CASES[name]
    undone(case)
    rolled_back(case)
    cut_differently(case)
    survives_failures(case)


@pytest.mark.parametrize("name", RULE_CASES)
def test_oracle_every_strategy_agrees_on_a_saved_case_of_changing_rules(name: str) -> None:
    rules_agree_with_oracle(RULE_CASES[name], recounted=False)
