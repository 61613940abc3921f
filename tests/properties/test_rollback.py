"""`rollback`: a transaction that raises did not happen."""

from __future__ import annotations

from hypothesis import given, settings

from tests.oracle.case import Case
from tests.oracle.generate import cases
from tests.properties.check import rolled_back


@settings(max_examples=40)
@given(cases())
def test_rollback_leaves_relations_and_state_as_they_were(case: Case) -> None:
    rolled_back(case)
