"""The limits of `open`, and cancelling, as users meet them."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

import tidelog

COUNT = """
    input relation Start(n: u64)
    output relation N(n: u64)
    N(n) :- Start(n).
    N(n + 1) :- N(n), n < 1000000000000.
"""


def test_a_program_that_diverges_is_stopped_and_the_last_commit_stays() -> None:
    db = tidelog.compile(COUNT).open(max_rounds=100, max_rows=50)
    with db.transaction() as tx:
        tx.insert("Start", [(999999999990,)])
    before = db.relation("N").rows()
    with pytest.raises(tidelog.EvaluationError, match="max_rows"), db.transaction() as tx:
        tx.insert("Start", [(1,)])
    assert db.relation("N").rows() == before
    assert db.relation("Start").rows() == [(999999999990,)]


@pytest.mark.parametrize(
    "options",
    [
        {"max_rounds": 0},
        {"max_rows": -1},
        {"max_rows": 1.5},
        {"deadline": 0.0},
        {"deadline": "soon"},
        {"switch": 0},
        {"switch": True},
        {"switch": None},
        {"threads": 0},
        {"threads": 1.0},
    ],
    ids=str,
)
def test_an_option_must_be_a_number_above_zero(options: dict[str, Any]) -> None:
    program = tidelog.compile(COUNT)
    with pytest.raises(tidelog.UsageError, match=min(options)) as caught:
        program.open(**options)
    assert caught.value.code == "E814"


def test_cancel_ends_the_commit_of_another_thread() -> None:
    db = tidelog.compile(COUNT).open()
    caught: list[BaseException] = []

    def diverge() -> None:
        try:
            with db.transaction() as tx:
                tx.insert("Start", [(1,)])
        except tidelog.EvaluationError as error:
            caught.append(error)

    assert db.cancel() is False
    thread = threading.Thread(target=diverge)
    thread.start()
    while not db.cancel():
        time.sleep(0.01)
    thread.join(timeout=120)
    assert len(caught) == 1
    assert "cancelled" in str(caught[0])
    assert len(db.relation("N")) == 0
