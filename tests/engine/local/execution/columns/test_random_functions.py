"""Random functions on columns give what their Python form gives, errors included."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from tests.engine.local.execution.columns.random_functions import random_program
from tests.sample import todays

import tidelog
from tidelog.engine.local.execution import python_step
from tidelog.engine.local.execution.columns import frame
from tidelog.values import Vec

TEXTS = ("", "a", "ab", "abc", "b", "12", "-7", "+007", "é", "aé", "日本", "Zz ", " x\t", "18446744073709551616")
NUMBERS = (-(2**63), 2**63 - 1, -1, 0, 1, 2, 3, 10**18, -12, 7, 8)
REALS = (0.0, -0.0, 1.5, -2.25, 1e308, float("inf"), float("-inf"), float("nan"), 1e-320, 0.1, 16777217.0)


def rows(random: Random, count: int) -> list[tuple[Any, ...]]:
    return [
        (
            *(random.choice(TEXTS), random.choice(TEXTS), random.choice(NUMBERS), random.randrange(256)),
            *(random.random() < 0.5, random.choice(REALS), Vec(random.choices(NUMBERS, k=random.randrange(4)))),
        )
        for _ in range(count)
    ]


def outcome(program: tidelog.Program, given: list[tuple[Any, ...]]) -> Any:
    with program.open() as db:
        try:
            with db.transaction() as tx:
                tx.insert("In", given)
        except tidelog.EvaluationError as error:
            return error.code, str(error)
        return [sorted(db.relation(f"Out{place}")) for place in range(3)]


def compiled(seed: int) -> tidelog.Program | None:
    """Returns a random program; None if it breaks a rule of the language that the writer of programs does not know."""
    try:
        return tidelog.compile(random_program(seed))
    except tidelog.ProgramError:
        return None


@pytest.mark.parametrize("seed", todays(range(10_000), 25))
def test_random_functions_on_columns_give_what_python_gives(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program = compiled(seed)
    if program is None:
        return
    monkeypatch.setattr(frame, "FEWEST_ROWS_A_STEP", 0)
    for count in (5, 40):
        given = rows(Random(seed + count), count)
        with monkeypatch.context() as patch:
            patch.setattr(python_step, "FEWEST_ROWS", 1 << 40)
            patch.setattr(python_step, "_has_structs", lambda step, values: False)
            wanted = outcome(program, given)
        monkeypatch.setattr(python_step, "FEWEST_ROWS", 0)
        assert repr(outcome(program, given)) == repr(wanted)
