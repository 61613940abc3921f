"""`oracle_*`: what is maintained equals what is computed from scratch."""

from __future__ import annotations

from hypothesis import given, reject, settings

from tests.oracle.case import Case
from tests.oracle.generate import cases
from tests.oracle.instances import TooLargeError
from tests.properties.check import agrees_with_oracle


@settings(max_examples=250)
@given(cases())
def test_oracle_local_relations_and_changes_are_those_of_a_computation_from_scratch(case: Case) -> None:
    try:
        agrees_with_oracle(case)
    except TooLargeError:
        reject()
