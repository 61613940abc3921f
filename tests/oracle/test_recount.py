"""The recount finds every kind of wrong number in a ranked state."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.oracle.order import in_order
from tests.oracle.read import read
from tests.oracle.recount import RowState, recount
from tests.oracle.types import Row

PROGRAM = read("""
input relation C(x: u8)
input relation A(x: u8, y: u8)
input relation P(x: u8)
P(x) :- C(x).
P(y) :- P(x), A(x, y).
""")
FACTS: dict[str, frozenset[Row]] = {
    "C": frozenset({(1,)}),
    "A": frozenset({(1, 2), (2, 1), (2, 3)}),
    "P": frozenset({(3,)}),
}


def right_state() -> dict[str, dict[Row, RowState]]:
    stored = RowState(rank=0, count=1, total=1, is_input=True)
    return {
        "C": dict.fromkeys(FACTS["C"], stored),
        "A": dict.fromkeys(FACTS["A"], stored),
        "P": {
            (1,): RowState(rank=1, count=1, total=2, is_input=False),  # from C; from P(2), which is not below it
            (2,): RowState(rank=2, count=1, total=1, is_input=False),
            (3,): RowState(rank=0, count=1, total=2, is_input=True),
        },
    }


def test_a_right_state_has_no_mistakes() -> None:
    assert recount(PROGRAM, FACTS, right_state()) == []


def test_another_rank_is_right_as_long_as_the_count_fits_it() -> None:
    state = right_state()
    state["P"][(3,)] = RowState(rank=7, count=2, total=2, is_input=True)
    assert recount(PROGRAM, FACTS, state) == []


@pytest.mark.parametrize(
    ("relation", "row", "wrong"),
    [
        ("P", (1,), {"count": 2}),
        ("P", (1,), {"total": 1}),
        ("P", (2,), {"rank": 1, "count": 0}),
        ("P", (3,), {"is_input": False}),
        ("P", (2,), {"is_input": True}),
        ("C", (1,), {"rank": 1}),
    ],
)
def test_a_wrong_number_is_found(relation: str, row: Row, wrong: dict[str, Any]) -> None:
    state = right_state()
    state[relation][row] = replace(state[relation][row], **wrong)
    assert recount(PROGRAM, FACTS, state) != []


def test_a_missing_row_and_a_row_without_support_are_found() -> None:
    state = right_state()
    del state["P"][(3,)]
    assert any("missing" in mistake for mistake in recount(PROGRAM, FACTS, state))
    state = right_state()
    state["P"][(9,)] = RowState(rank=1, count=1, total=1, is_input=False)
    assert recount(PROGRAM, FACTS, state) != []


def test_relations_that_depend_on_each_other_are_one_component() -> None:
    program = read("""
    input relation E(x: u8) output relation P(x: u8) output relation Q(x: u8) output relation R(x: u8)
    P(x) :- E(x). P(x) :- Q(x). Q(x) :- P(x). R(x) :- P(x), not E(x).
    """)
    assert in_order(program) == [{"E"}, {"P", "Q"}, {"R"}]
