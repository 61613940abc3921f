"""`#[functional = n]`: a relation is a function of its first columns, or the epoch fails."""

from __future__ import annotations

import pytest
from tests.engine.local.run import Running

import tidelog
from tidelog.diagnostics.errors import EvaluationError, ProgramError

TEXT = """
input relation A(x: u32, y: u32)
input relation B(x: u32, y: u32)
#[functional = 1]
output relation F(x: u32, y: u32)
F(x, y) :- A(x, y).
F(x, y) :- B(x, y), y > 1.
"""


@pytest.mark.parametrize("strategy", ["elastic", "recompute", "trace"])
def test_two_values_for_one_key_are_refused_with_both_derivations(strategy: str) -> None:
    running = Running(TEXT, strategy=strategy)
    running.commit({"A": [(1, 5), (2, 6)], "B": [(1, 5), (2, 1)]})
    before = running.rows("F")
    with pytest.raises(EvaluationError) as caught:
        running.commit({"B": [(2, 7)]})
    assert caught.value.code == "E609"
    assert "(2, 6) by `F(x, y) :- A(x, y).` and (2, 7) by `F(x, y) :- B(x, y), y > 1.`" in str(caught.value)
    assert running.rows("F") == before
    # Erasures come first: a value may be exchanged for another in one epoch.
    assert running.commit({"B": [(2, 7)]}, {"A": [(2, 6)]}) == {"F": {(2, 6): -1, (2, 7): 1}}


def test_many_rows_at_once_are_checked_too() -> None:
    running = Running(TEXT)
    rows = [(x, x) for x in range(2, 1000)]
    running.commit({"A": rows, "B": rows})
    with pytest.raises(EvaluationError, match=r"\(500, 500\) by .* and \(500, 501\) by"):
        Running(TEXT).commit({"A": rows, "B": [(500, 501)]})


@pytest.mark.parametrize("columns", [0, 2, 3])
def test_at_least_one_column_is_the_key_and_one_the_value(columns: int) -> None:
    with pytest.raises(ProgramError, match="cannot be a function of"):
        tidelog.compile(f"#[functional = {columns}]\ninput relation A(x: u32, y: u32)\n")
