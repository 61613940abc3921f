"""`invariants`: rank, count and total of every row, recounted instance by instance after every transaction."""

from __future__ import annotations

from hypothesis import given, reject, settings

from tests.oracle.case import Case
from tests.oracle.generate import cases
from tests.oracle.instances import TooLargeError
from tests.properties.check import agrees_with_oracle


@settings(max_examples=120)
@given(cases())
def test_invariants_of_the_ranked_state_hold_after_every_transaction(case: Case) -> None:
    try:
        agrees_with_oracle(case, recounted=True)
    except TooLargeError:
        reject()
