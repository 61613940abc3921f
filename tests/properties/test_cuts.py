"""`cuts_*`: the same answer however the writes are cut into transactions."""

from __future__ import annotations

from hypothesis import given, settings

from tests.oracle.case import Case
from tests.oracle.generate import cases
from tests.properties.check import cut_differently


@settings(max_examples=40)
@given(cases())
def test_cuts_one_transaction_equals_many_of_one_row(case: Case) -> None:
    cut_differently(case)
