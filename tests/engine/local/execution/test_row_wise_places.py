"""Waves of a deep recursion find the rows that are there by their places, and begin early where they go straight."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from unittest import mock

import pytest
from tests.engine.local.execution.test_row_wise import (
    INPUTS,
    Facts,
    going_head_by_head,
    insert,
    random_program,
    require_same_state,
    running,
    state,
)

import tidelog
from tidelog.engine.local.execution import row_wise, row_wise_rules
from tidelog.engine.local.execution.row_wise_plan import Head, RowWisePlan
from tidelog.engine.local.execution.row_wise_rules import Planner, goes_straight
from tidelog.engine.local.kernels import row_wise as kernels

LINEAR = INPUTS + "output relation P(a: s64, b: s64)\nP(x, y) :- A(x, y).\nP(x, z) :- P(x, y), B(y, z).\n"


@contextmanager
def noting_places() -> Iterator[mock.MagicMock]:
    """Lets places be noted after the first wave."""
    note = row_wise.RowWise._note_places

    def at_once(self: row_wise.RowWise, place: int, head: Head) -> None:
        self._workers[place][0].words[kernels.SCANNED] = 1 << 40
        note(self, place, head)

    with (
        mock.patch.object(row_wise.RowWise, "_note_places", at_once),
        mock.patch.object(kernels, "note_places", wraps=kernels.note_places) as noted,
    ):
        yield noted


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_with_places_have_the_same_state(seed: int) -> None:
    rng = random.Random(seed)
    with noting_places():
        require_same_state(rng, *random_program(rng, widest=rng.choice([2, 3])))


def ring(nodes: int, chords: int) -> Facts:
    """A ring with some chords: from each node, many waves find few new rows among many, and others again."""
    rng = random.Random(nodes)
    edges: set[tuple[int, ...]] = {(node, (node + 1) % nodes) for node in range(nodes)}
    edges |= {(rng.randrange(nodes), rng.randrange(nodes)) for _ in range(chords)}
    return {"A": sorted(edges)[::3], "B": sorted(edges)}


def loaded(facts: Facts, first_rows: int, threads: int = 1) -> tuple[list[tuple[object, ...]], int]:
    """The state after a load, and how many heads had places."""
    with going_head_by_head(first_rows), mock.patch.object(row_wise, "MOST_LOSS", 1 << 40), noting_places() as noted:
        engine = running(LINEAR, threads)
        engine.commit(insert(facts))
        found = state(engine, "P")
        engine.close()
    return found, noted.call_count


@pytest.mark.parametrize("threads", [1, 2])
def test_long_lists_with_few_new_rows_have_the_same_state(threads: int) -> None:
    facts = ring(90, 12)
    usual, none = loaded(facts, 1 << 60)
    placed, some = loaded(facts, 0, threads)
    assert none == 0 < some
    assert placed == usual
    assert any(row[3] != row[4] for row in usual)  # instances of later waves


def test_a_total_that_outgrows_a_slim_row_is_found_by_its_place() -> None:
    # Each of 2,000 ways of two steps reaches the same row, wave after wave.
    ways: Sequence[tuple[int, int]] = [
        (0, 1),
        *((1, 10 + way) for way in range(1500)),
        *((10 + way, 2) for way in range(1500)),
    ]
    back = [(2, 3), (3, 1), *((4 + step, 5 + step) for step in range(3))]
    facts: Facts = {"A": [(0, 1), (0, 2)], "B": sorted({*ways, *back})}
    usual, _ = loaded(facts, 1 << 60)
    placed, some = loaded(facts, 0)
    assert some
    assert placed == usual


def test_places_are_not_noted_where_there_would_be_too_many() -> None:
    with mock.patch.object(row_wise, "MOST_PLACES", 1):
        placed, some = loaded(ring(90, 0), 0)
    assert not some or len(placed) * 2 >= 90 * 90 // 3


def rules_of(text: str) -> list[object]:
    program = tidelog.compile(INPUTS + text).stages.rules
    (stratum,) = (each for each in program.strata if "P" in each.relations)
    return [rule for rule in stratum.rules if any(atom.relation == "P" for atom in rule.positives)]


@pytest.mark.parametrize(
    ("rules", "is_straight"),
    [
        ("P(x, z) :- P(x, y), A(y, z).", True),
        ("P(x, z) :- P(x, y), A(y, z).\nP(x, z) :- P(x, y), B(z, y).", True),
        ("P(x, z) :- A(x, y), P(y, z).", True),
        ("P(x, z) :- P(x, y), A(y, z).\nP(x, z) :- A(x, y), P(y, z).", False),
        ("P(x, z) :- P(x, y), P(y, z).", False),
        ("P(y, z) :- P(x, w), A(x, y), B(w, z).", False),
    ],
)
def test_linear_rules_that_keep_a_column_go_straight(rules: str, is_straight: bool) -> None:
    found = rules_of("output relation P(a: s64, b: s64)\nP(x, y) :- A(x, y).\n" + rules)
    assert goes_straight(found, "P") is is_straight  # type: ignore[arg-type]


@pytest.mark.parametrize(("few", "prefix"), [(1 << 17, 0), (1, 1)])
def test_waves_with_new_rows_take_the_prefix_that_rules_keep(few: int, prefix: int) -> None:
    # More words in the second column than in the first.
    facts: Facts = {"A": [(1, 1), (2, 1)], "B": [(node, node + 1) for node in range(1, 40)]}
    text = INPUTS + "output relation P(a: s64, b: s64)\nP(x, y) :- A(x, y).\nP(x, z) :- P(x, y), B(y, z).\n"
    chosen: list[int] = []
    plan = Planner.plan

    def noted(self: Planner, *given: object) -> RowWisePlan | None:
        made = plan(self, *given)  # type: ignore[arg-type]
        if given[0] is not None and made is not None:
            chosen.extend(head.prefix for head in made.heads)
        return made

    with (
        going_head_by_head(),
        mock.patch.object(row_wise_rules, "FEW_VALUES", few),
        mock.patch.object(row_wise, "MOST_LOSS", 1 << 40),
        mock.patch.object(row_wise.RowWise, "_is_wasteful", return_value=True),
        mock.patch.object(Planner, "plan", noted),
    ):
        engine = running(text)
        engine.commit(insert(facts))
        assert len(engine.rows("P")) == 80
        engine.close()
    assert set(chosen) == {prefix}
