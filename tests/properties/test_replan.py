"""`oracle_*` with plans that change between the waves of an epoch, and with Updates that are then given up."""

from __future__ import annotations

from hypothesis import given, reject, settings
from hypothesis import strategies as st

from tests.oracle.case import Case
from tests.oracle.generate import cases
from tests.oracle.instances import TooLargeError
from tests.properties.check import agrees_while_plans_change


@settings(max_examples=40)
@given(cases(), st.sampled_from([0.1, 0.5, 10.0]), st.integers(0, 1000))
def test_oracle_local_agrees_while_plans_change(case: Case, share: float, seed: int) -> None:
    try:
        agrees_while_plans_change(case, share, seed)
    except TooLargeError:
        reject()
