"""What stops an epoch that takes too much, and that nothing remains of it."""

from __future__ import annotations

import threading
import time

import pytest
from tests.engine.run import Running

from tidelog.diagnostics.errors import EvaluationError
from tidelog.maintain.limits import Limits

COUNT = """
    input relation Start(n: u64)
    output relation N(n: u64)
    N(n) :- Start(n).
    N(n + 1) :- N(n), n < 1000000000000.
"""
# The same through Python: numbers that are no words.
COUNT_IN_PYTHON = COUNT.replace("u64", "bigint")
# One round that takes very long.
PRODUCT = """
    input relation Start(n: u64)
    output relation Pair(a: u64, b: u64, c: u64)
    Pair(a, b, c) :- Start(a), Start(b), Start(c), a + b + c == 7.
"""
# Rounds that Python makes.
GROUPS = """
    input relation Start(n: u64)
    output relation N(n: u64)
    N(n) :- Start(n).
    N(n) :- N(n).
    N(m + 1) :- N(n), var m = n.group_by(()).max().
"""
each_strategy = pytest.mark.parametrize("strategy", ["elastic", "counting", "elastic-paper", "circuit"])


@each_strategy
@pytest.mark.parametrize("text", [COUNT, COUNT_IN_PYTHON], ids=["in the kernel", "in Python"])
def test_rounds_are_limited_and_the_rule_is_named(text: str, strategy: str) -> None:
    run = Running(text, Limits(max_rounds=50), strategy)
    with pytest.raises(
        EvaluationError, match=r"more than 50 rounds.*while the rule `N\(n \+ 1\) :- N\(n\), "
    ) as caught:
        run.commit({"Start": [(5,)]})
    assert caught.value.code == "E605"
    assert run.rows("N") == run.rows("Start") == {}
    # What needs fewer rounds goes through.
    assert run.commit({"Start": [(999999999980,)]})["N"][(1000000000000,)] == 1


@each_strategy
@pytest.mark.parametrize("text", [COUNT, COUNT_IN_PYTHON], ids=["in the kernel", "in Python"])
def test_rows_are_limited(text: str, strategy: str) -> None:
    run = Running(text, Limits(max_rows=1_500), strategy)
    run.commit({"Start": [(999999999000,)]})
    before = run.rows("N")
    with pytest.raises(EvaluationError, match=r"`N` would have more than 1500 rows") as caught:
        run.commit({"Start": [(1,)]})
    assert caught.value.code == "E606"
    assert run.rows("N") == before


@each_strategy
@pytest.mark.parametrize("text", [COUNT, COUNT_IN_PYTHON, PRODUCT], ids=["in the kernel", "in Python", "in one round"])
def test_a_deadline_ends_the_epoch(text: str, strategy: str) -> None:
    run = Running(text, Limits(deadline=0.5), strategy)
    with pytest.raises(EvaluationError, match=r"deadline of 0.5 s, while the rule `") as caught:
        run.commit({"Start": [(n,) for n in range(10, 5_000)]})
    assert caught.value.code == "E607"
    assert run.rows("Start") == {}


def test_limits_hold_for_rounds_with_groups() -> None:
    with pytest.raises(EvaluationError, match="more than 9 rounds"):
        Running(GROUPS, Limits(max_rounds=9)).commit({"Start": [(1,)]})
    with pytest.raises(EvaluationError, match="`N` would have more than 9 rows"):
        Running(GROUPS, Limits(max_rows=9)).commit({"Start": [(1,)]})


@each_strategy
def test_another_thread_cancels_the_epoch(strategy: str) -> None:
    run = Running(COUNT, strategy=strategy)
    failed: list[EvaluationError] = []

    def diverge() -> None:
        try:
            run.commit({"Start": [(1,)]})
        except EvaluationError as error:
            failed.append(error)

    assert not run.engine.cancel(), "nothing runs"
    thread = threading.Thread(target=diverge)
    thread.start()
    while not run.engine.cancel():
        time.sleep(0.01)
    thread.join(timeout=60)
    assert [error.code for error in failed] == ["E608"]
    assert run.commit({"Start": [(1000000000000,)]}) == {"N": {(1000000000000,): 1}}
