"""Errors of a user's own Python function are errors of that function, with its place."""

from __future__ import annotations

from typing import Any

import pytest

import tidelog

TEXT = """
extern function f(x: u8): u8
input relation A(x: u8)
output relation B(x: u8)
B(f(x)) :- A(x).
"""


def divides(x: int) -> int:
    return 1 // (x - 1)


def gives_text(x: int) -> Any:
    return "text"


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (divides, "extern function `f` failed: ZeroDivisionError"),
        (gives_text, "extern function `f` failed: TypeError: it gave 'text', which is not a `u8`"),
    ],
)
def test_the_function_and_its_place_are_named(function: Any, said: str) -> None:
    with tidelog.compile(TEXT, externs={"f": function}).open() as db:
        with pytest.raises(tidelog.EvaluationError) as caught, db.transaction() as tx:
            tx.insert("A", [1])
        assert said in str(caught.value)
        assert "(test_extern_errors.py:" in str(caught.value)
        assert caught.value.code == "E603"
        assert len(db.relation("B")) == 0


def test_a_division_of_the_rule_is_still_blamed_on_the_rule() -> None:
    text = TEXT.replace("B(f(x))", "B(f(x) / (x - 1))")
    with tidelog.compile(text, externs={"f": lambda x: x}).open() as db:
        with pytest.raises(tidelog.EvaluationError) as caught, db.transaction() as tx:
            tx.insert("A", [1])
        assert caught.value.code == "E601"
