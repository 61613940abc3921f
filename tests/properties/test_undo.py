"""`undo_*`: a change and its inverse restore what was there."""

from __future__ import annotations

from hypothesis import given, settings

from tests.oracle.case import Case
from tests.oracle.generate import cases
from tests.properties.check import undone


@settings(max_examples=60)
@given(cases())
def test_undo_of_a_transaction_restores_relations_and_totals(case: Case) -> None:
    undone(case)
