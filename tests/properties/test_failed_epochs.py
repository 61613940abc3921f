"""`rollback`, the other way: an epoch that fails while it runs did not happen."""

from __future__ import annotations

from hypothesis import given, reject, settings

from tests.oracle.case import Case
from tests.oracle.generate import cases
from tests.oracle.instances import TooLargeError
from tests.properties.check import survives_failures


@settings(max_examples=30)
@given(cases())
def test_an_epoch_that_fails_in_its_last_rule_leaves_everything_as_it_was(case: Case) -> None:
    try:
        survives_failures(case)
    except TooLargeError:
        reject()
