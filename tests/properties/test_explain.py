"""Explanations over random programs: what is explained replays, what is not there is missed for a reason."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, reject, settings

from tests.oracle.case import Case
from tests.oracle.compose import PLAIN, Features, random_language_case
from tests.oracle.generate import cases
from tests.oracle.instances import TooLargeError
from tests.oracle.over_seeds import over_seeds
from tests.properties.explaining import absences_are_explained, explanations_replay, queries_agree

CASES = 5
WIDER = (
    PLAIN,
    Features(delays=True),
    Features(grouped_recursion=True),
    Features(streams=True),
    Features(multisets=True),
)


@settings(max_examples=30, deadline=None)
@given(cases())
def test_every_explanation_replays_and_the_shortest_is_the_shortest(case: Case) -> None:
    try:
        explanations_replay(case)
    except TooLargeError:
        reject()


@settings(max_examples=20, deadline=None)
@given(cases())
def test_why_not_names_a_literal_that_really_fails(case: Case) -> None:
    try:
        absences_are_explained(case)
    except TooLargeError:
        reject()


@pytest.mark.parametrize("strategy", ["recompute", "counting", "elastic-paper"])
def test_every_explanation_replays_whatever_the_strategy(strategy: str) -> None:
    explained = _over_seeds(lambda case: explanations_replay(case, strategy=strategy), PLAIN)
    assert explained > 25


@pytest.mark.parametrize("features", WIDER, ids=lambda f: ", ".join(n for n in f.__slots__ if getattr(f, n)) or "plain")
def test_explanations_of_the_wider_language_replay(features: Features) -> None:
    assert _over_seeds(explanations_replay, features) > 25


@pytest.mark.parametrize("features", WIDER[:3], ids=["plain", "delays", "grouped_recursion"])
def test_why_not_in_the_wider_language_names_a_literal_that_really_fails(features: Features) -> None:
    assert _over_seeds(absences_are_explained, features) > 25


@settings(max_examples=30, deadline=None)
@given(cases())
def test_a_query_has_the_answer_of_the_oracle(case: Case) -> None:
    try:
        queries_agree(case)
    except TooLargeError:
        reject()


@pytest.mark.parametrize("features", WIDER[:3], ids=["plain", "delays", "grouped_recursion"])
def test_a_query_of_the_wider_language_has_the_answer_of_the_oracle(features: Features) -> None:
    assert _over_seeds(queries_agree, features) > 25


def _over_seeds(check: Callable[[Case], int], features: Features) -> int:
    done = over_seeds(range(CASES), lambda seed: check(random_language_case(random.Random(seed), features)))
    return sum(done)
