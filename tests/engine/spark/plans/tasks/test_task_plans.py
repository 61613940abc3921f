"""`oracle_*` for the task plans: decomposed, single, and moving between them, with engines kept and lost."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from tests.engine.spark.in_process import ALWAYS, NEVER, NoSpark, tasks_here
from tests.oracle.case import Case
from tests.oracle.compose import FEATURES, Features, random_language_case
from tests.oracle.generate import cases
from tests.oracle.instances import TooLargeError
from tests.oracle.over_seeds import over_seeds
from tests.properties.check import agrees_with_oracle
from tests.properties.language_on_spark import language_agrees_through_tasks
from tests.properties.test_language import names

import tidelog
from tidelog.engine.spark.plans.tasks.engine_cache import ENGINES

pytest.importorskip("pyspark")

CASES = 4
LENIENT = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


def agrees(case: Case, limit: Callable[[], int], seed: int) -> None:
    """Runs the case with tasks in this process; `limit` gives, for each choice, the rows above which to decompose."""
    with tasks_here(limit, seed):
        try:
            agrees_with_oracle(case, engine="spark", spark=NoSpark())
        except TooLargeError:
            reject()


@settings(LENIENT, max_examples=25)
@given(cases(), st.integers(0, 1 << 16))
def test_oracle_decomposed_wherever_there_is_a_pivot(case: Case, seed: int) -> None:
    agrees(case, lambda: ALWAYS, seed)


@settings(LENIENT, max_examples=10)
@given(cases(), st.integers(0, 1 << 16))
def test_oracle_single_task(case: Case, seed: int) -> None:
    agrees(case, lambda: NEVER, seed)


@settings(LENIENT, max_examples=15)
@given(cases(), st.integers(0, 1 << 16))
def test_oracle_plans_that_change_from_job_to_job(case: Case, seed: int) -> None:
    coin = random.Random(seed)
    agrees(case, lambda: coin.choice((ALWAYS, NEVER)), seed)


@pytest.mark.parametrize("features", FEATURES, ids=names)
def test_oracle_the_wider_language_through_tasks(features: Features) -> None:
    over_seeds(
        range(CASES),
        lambda seed: language_agrees_through_tasks(random_language_case(random.Random(seed), features), seed),
    )


def test_the_stand_in_has_no_spark() -> None:
    with pytest.raises(AttributeError):
        NoSpark().range(1)  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["relation", "multiset", "stream"])
def test_facts_of_the_text_come_once_at_opening(kind: str) -> None:
    text = f"""
    output {kind} Out(v: Vec<u8>)
    output multiset Twice(n: u8)
    Out([1, 2]).
    Twice(1).
    Twice(2 - 1).
    """
    with tasks_here(lambda: NEVER, 0), tidelog.compile(text).open("spark", spark=NoSpark()) as database:
        assert [weight for _, weight in database.initial["Out"]] == [1]
        assert list(database.initial["Twice"]) == [((1,), 2)]


def test_what_a_stream_brought_leaves_when_nothing_that_its_segment_reads_has_changed() -> None:
    text = """
    input stream Click(user: string)
    input relation Other(n: u8)
    output relation Latest(user: string)
    Latest(u) :- Click'(u).
    """
    with tasks_here(lambda: NEVER, 0), tidelog.compile(text).open("spark", spark=NoSpark()) as database:
        with database.transaction() as tx:
            tx.insert("Click", ["a"])
        assert database.relation("Latest").rows() == [("a",)]
        with database.transaction() as tx:
            tx.insert("Other", [1])
        assert list(tx.changes["Latest"]) == [(("a",), -1)]


def test_a_negative_weight_in_a_delta_is_there_when_the_engine_is_lost() -> None:
    text = "input multiset In(n: u8)\noutput multiset Out(n: u8)\nOut(n) :- In(n)."
    with tasks_here(lambda: NEVER, 0), tidelog.compile(text).open("spark", spark=NoSpark()) as database:
        with database.transaction() as tx:
            tx.insert("In", list(range(20)))
        for weight in (-1, 0, 1):
            ENGINES._engines.clear()
            with database.transaction() as tx:
                (tx.delete if weight < 0 else tx.insert)("In", [99])
            assert dict(database.relation("Out").weights()).get((99,), 0) == weight
