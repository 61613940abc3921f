"""Decimals from Python's: which fit into a type, also with exponents that Python itself cannot compute with."""

from __future__ import annotations

from decimal import Decimal

import pytest

import tidelog
from tidelog.scaled_values import decimal_of_text, fits
from tidelog.types import DecimalType

PRICE = DecimalType(10, 2)


@pytest.mark.parametrize(
    "text", ["1e999999999", "1e-999999999", "5e-9999999999999999991", "1e9999999999999999999", "NaN"]
)
def test_what_is_far_too_large_or_too_small_does_not_fit(text: str) -> None:
    assert not fits(decimal_of_text(text), PRICE)


@pytest.mark.parametrize("text", ["0", "0.00", "12345678.90", "1e7", "-1.5"])
def test_what_has_the_digits_fits(text: str) -> None:
    assert fits(decimal_of_text(text), PRICE)


def test_a_number_with_a_large_exponent_is_refused_with_its_place() -> None:
    db = tidelog.compile("input relation Cost(c: decimal<10, 2>)").open()
    with pytest.raises(tidelog.DataError, match="row 1, column `c`"), db.transaction() as tx:
        tx.insert("Cost", [(Decimal("1e999999999"),)])
