"""Numbers that grow fast end in an error before they are computed, so that a deadline is kept."""

from __future__ import annotations

import pytest

import tidelog
from tidelog.values.big_integers import MOST_BITS, power, product, shifted_left

SQUARES = """
input relation Start(n: bigint)
output relation N(round: u32, n: bigint)
N(0, n) :- Start(n).
N(i + 1, {square}) :- N(i, n), i < 200.
"""


@pytest.mark.parametrize("square", ["n * n", "pow32(n, 2)", "n << 100000", "checked_mul(n, n)", "twice_squared(n)"])
def test_a_number_that_is_squared_again_and_again_ends_in_an_error_before_a_deadline(square: str) -> None:
    functions = "import checked\nfunction twice_squared(n: bigint): bigint { var m = n * n; m * m }\n"
    program = tidelog.compile(functions + SQUARES.format(square=square))
    with program.open(deadline=20) as db:
        with pytest.raises(tidelog.EvaluationError, match="more than 2,097,152 bits") as caught, db.transaction() as tx:
            tx.insert("Start", [(3,)])
        assert caught.value.code == "E612"
        assert len(db.relation("N")) == 0
        with db.transaction() as tx:
            tx.insert("Start", [(0,)])


def test_the_bound_is_exact_enough() -> None:
    largest = (1 << MOST_BITS) - 1
    assert product(largest, 1) == largest
    assert product(-1, largest) == -largest
    assert shifted_left(1, MOST_BITS - 1).bit_length() == MOST_BITS
    assert shifted_left(0, 1 << 40) == 0
    assert power(2, 1000) == 1 << 1000
    assert power(-1, 2**32 - 1) == -1
    assert power(0, 2**32 - 1) == 0
    assert power(10, 300_000) == 10**300_000
    with pytest.raises(tidelog.EvaluationError):
        product(largest, 4)
    with pytest.raises(tidelog.EvaluationError):
        shifted_left(1, MOST_BITS)
    with pytest.raises(tidelog.EvaluationError):
        power(2, 2**32 - 1)
