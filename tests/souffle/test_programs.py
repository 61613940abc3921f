"""Each feature of Soufflé's language gives the rows that Soufflé gives, in the same text."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.souffle.programs import CASES, Case
from tests.souffle.running import SOUFFLE, run, run_reference


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_program_writes_what_it_should(case: Case, tmp_path: Path) -> None:
    found, _ = run(case.text, tmp_path, case.facts)
    assert found == {name: sorted(text.split("\n")) for name, text in case.expect.items()}


@pytest.mark.skipif(SOUFFLE is None, reason="Soufflé is not installed")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_reference_writes_the_same(case: Case, tmp_path: Path) -> None:
    expected = {name: sorted(text.split("\n")) for name, text in case.expect.items()}
    assert run_reference(case.text, tmp_path, case.facts) == expected
