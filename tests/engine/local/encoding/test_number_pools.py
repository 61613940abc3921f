"""A number has one id, however it comes into its pool."""

from __future__ import annotations

import numpy as np
import pytest

from tidelog.engine.local.encoding.number_pools import FloatPool, IntegerPool

EDGES = sorted({sign * (1 << bits) + more for bits in (0, 31, 62, 63, 64, 126, 127, 128) for sign in (-1, 1)
                for more in (-1, 0, 1)})  # fmt: skip


@pytest.mark.parametrize("number", EDGES)
def test_an_integer_has_one_id_alone_and_among_wider_ones(number: int) -> None:
    pool = IntegerPool()
    alone = pool.intern(number)
    assert pool.intern_all([number]).tolist() == [alone]
    assert pool.intern_all([number, 1 << 200]).tolist()[0] == alone
    assert pool.intern_numbers(np.array([number, 1 << 200], dtype=object))[0] == alone
    assert pool.value(alone) == number


@pytest.mark.parametrize("number", [-0.0, float("nan"), 1.5, -float("inf")])
def test_a_float_has_one_id_alone_and_in_columns(number: float) -> None:
    pool = FloatPool()
    alone = pool.intern(number)
    assert pool.intern_numbers(np.array([number, 2.0]))[0] == alone
