"""The corner cases of the ranked Update with the strategies that do something else, and with Algorithm 3 as sets.

`tests/maintain/test_corner_cases.py` has them, and runs them with the strategies that keep its numbers.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.maintain import test_corner_cases as corner_cases
from tests.maintain.scenario import Scenario
from tests.oracle.algorithm3 import Algorithm3
from tests.oracle.recount import RowState
from tests.oracle.types import Row
from tests.properties.algorithm3 import numbers_of
from tests.properties.check import assert_same

SCENARIOS: dict[str, Callable[[], None]] = {
    name.removeprefix("test_"): test for name, test in vars(corner_cases).items() if name.startswith("test_")
}
# They say how the ranked state moves, and a Bootstrap numbers anew.
OF_RANKS_ALONE = {
    "inserting_an_input_fact_that_is_also_derived_leaves_its_rank",
    "a_shortcut_moves_no_row",
}


class AsInThePaper(Scenario):
    """A scenario with `elastic-paper`, whose numbers are those of Algorithm 3 after every step.

    What a test says of a row's numbers, it says of the ranked state, so a database with that goes along.
    """

    strategy = "elastic-paper"

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.ranked = Scenario(text)
        self.reference = Algorithm3(self.program)

    def state(self, fact: str) -> RowState:
        return self.ranked.state(fact)

    def _run(self, writes: str) -> set[tuple[int, str, Row]]:
        self.ranked.load(writes)
        changes = super()._run(writes)
        self.reference.update(self.facts)
        assert_same(self.expected, self.reference.relations(), f"rows of Algorithm 3 after {writes}")
        expected = {name: self.reference.numbers()[name] for name in self.program.derived}
        assert_same(expected, numbers_of(self.replay), f"numbers after {writes}")
        return changes


def test_there_are_corner_cases() -> None:
    assert len(SCENARIOS) >= 30
    assert SCENARIOS.keys() >= OF_RANKS_ALONE


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_corner_case_as_in_the_paper(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corner_cases, "Scenario", AsInThePaper)
    SCENARIOS[name]()


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_corner_case_with_traces(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scenario, "strategy", "trace")
    SCENARIOS[name]()


@pytest.mark.parametrize("name", sorted(SCENARIOS.keys() - OF_RANKS_ALONE))
def test_a_corner_case_computed_anew(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scenario, "strategy", "recompute")
    SCENARIOS[name]()
