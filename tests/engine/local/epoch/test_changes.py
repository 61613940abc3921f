"""Changes that somebody holds stay as they were, however the relation goes on."""

from __future__ import annotations

import pytest

import tidelog
from tidelog.engine.interface import ChangeRows, Operation
from tidelog.engine.local.engine import LocalEngine

UNREAD = """
input relation Edge(a: u32, b: u32)
output relation Reach(a: u32, b: u32)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
"""
READ = UNREAD + "output relation From(a: u32)\nFrom(x) :- Reach(x, _).\n"


class Running:
    def __init__(self, text: str) -> None:
        self.engine = LocalEngine(tidelog.compile(text).stages.rules)
        self.engine.open()

    def commit(self, *edges: tuple[int, list[tuple[int, int]]]) -> ChangeRows:
        """What it does to Reach, not yet looked at."""
        outcome = self.engine.commit([Operation("Edge", sign, rows) for sign, rows in edges])
        assert outcome is not None
        return outcome.changes["Reach"]


def chain(first: int, last: int) -> list[tuple[int, int]]:
    return [(i, i + 1) for i in range(first, last)]


@pytest.mark.parametrize("text", [UNREAD, READ], ids=["nobody reads it", "a rule above reads it"])
@pytest.mark.parametrize("looks", [False, True], ids=["looked at later", "looked at at once"])
def test_changes_of_a_bootstrap_outlive_the_rows(text: str, looks: bool) -> None:
    run = Running(text)
    held = run.commit((1, chain(0, 10)))
    wanted = {(i, j): 1 for i in range(11) for j in range(i + 1, 11)}
    assert held.inserted_count() == len(wanted)
    if looks:
        assert dict(held.weights()) == wanted
    run.commit((-1, chain(0, 10)))
    run.commit((1, chain(100, 120)))
    assert dict(held.weights()) == wanted
    assert held.inserted_count() == held.inserted().num_rows == len(wanted)
    assert held.deleted_count() == 0


def test_changes_of_an_update_outlive_the_rows() -> None:
    run = Running(READ)
    run.commit((1, chain(0, 10)))
    held = run.commit((-1, [(5, 6)]), (1, [(20, 21)]))
    wanted = {(i, j): -1 for i in range(6) for j in range(6, 11)} | {(20, 21): 1}
    run.commit((-1, [(20, 21)]))
    run.commit((1, chain(30, 60)))
    assert dict(held.weights()) == wanted


def test_changes_outlive_the_engine() -> None:
    run = Running(UNREAD)
    held = run.commit((1, chain(0, 3)))
    run.engine.close()
    assert len(held.weights()) == 6
