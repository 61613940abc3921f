"""Rows that must not be there are looked for by marks of lists, with the rows and numbers of usual waves."""

from __future__ import annotations

import random
from unittest import mock

import pytest
from tests.engine.local.execution.test_row_wise import (
    INPUTS,
    Facts,
    going_head_by_head,
    insert,
    require_same_state,
    running,
    state,
)

from tidelog.engine.local.execution import row_wise, row_wise_rules, row_wise_workers
from tidelog.engine.local.execution.row_wise_code import absence_areas
from tidelog.engine.local.execution.row_wise_plan import RowWisePlan
from tidelog.engine.local.execution.row_wise_rules import Planner
from tidelog.engine.local.kernels import row_wise as kernels

HEAD = INPUTS + "output relation P(a: s64, b: s64)\n"
LITERALS = {"B": 2, "C": 1, "D": 3}


def random_program(rng: random.Random) -> str:
    """A relation, recursive or not, whose rules have several negated literals, with constants too."""

    def negated() -> str:
        name = rng.choice([*LITERALS])
        terms = [rng.choice("xyz") if rng.random() < 0.85 else str(rng.randint(0, 3)) for _ in range(LITERALS[name])]
        return f"not {name}({', '.join(terms)})"

    first = rng.choice(["A(x, y), A(y, z)", "A(x, y), B(y, z)", "D(x, y, z)"])
    later = rng.choice(["P(x, y), A(y, z)", "A(x, y), P(y, z)", "P(x, y), P(y, z)", "P(x, y), A(y, z), C(x)"])
    rules = [f"P(x, z) :- {first}, {negated()}, {negated()}."]
    if rng.random() < 0.6:
        rules.append(f"P(x, z) :- {later}, {', '.join(negated() for _ in range(rng.randint(1, 3)))}.")
    return HEAD + "\n".join(rules)


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_with_negation_have_the_same_state(seed: int) -> None:
    rng = random.Random(seed)
    text = random_program(rng)
    with mock.patch.object(row_wise_rules, "LONGEST_MARKED_AGAIN", rng.choice([0, 1 << 40])):
        require_same_state(rng, text, ("P",))


def plans_of(text: str, facts: Facts) -> list[RowWisePlan]:
    """The plans of waves that go head by head while these facts are loaded."""
    found: list[RowWisePlan] = []
    plan = Planner.plan

    def planned(self: Planner, *given: object) -> RowWisePlan | None:
        made = plan(self, *given)  # type: ignore[arg-type]
        found.extend([made] if made is not None else [])
        return made

    with going_head_by_head(), mock.patch.object(Planner, "plan", planned):
        engine = running(text)
        engine.commit(insert(facts))
        engine.close()
    return found


def many(rng: random.Random, columns: int, count: int, words: int) -> list[tuple[int, ...]]:
    return sorted({tuple(rng.randrange(words) for _ in range(columns)) for _ in range(count)})


@pytest.mark.parametrize(
    ("rule", "keys", "is_marked"),
    [
        ("P(x, z) :- A(x, y), A(y, z), not B(x, z).", [1], True),
        ("P(x, z) :- A(x, y), A(y, z), not C(z).", [0], True),
        ("P(x, z) :- A(x, y), A(y, z), not D(x, 3, z).", [2], True),
        ("P(x, z) :- A(x, y), A(y, z), not C(x).", [0], True),
        ("P(x, x) :- A(x, y), A(y, z), var m = z % 5, not C(m).", [], False),
    ],
)
def test_rows_of_lower_strata_are_marked(rule: str, keys: list[int], is_marked: bool) -> None:
    rng = random.Random(1)
    facts: Facts = {"A": many(rng, 2, 300, 30), "B": many(rng, 2, 50, 30), "C": [(3,)], "D": many(rng, 3, 50, 30)}
    for plan in plans_of(HEAD + rule, facts):
        assert [len(each.key) for each in plan.absences] == keys
        checks = [check for nest in plan.nests for literal in nest.literals for check in literal.checks]
        assert bool(checks) != is_marked


def test_a_large_negated_relation_is_not_listed() -> None:
    rng = random.Random(2)
    facts = {"A": many(rng, 2, 100, 30), "B": many(rng, 2, 600, 30)}
    (plan,) = plans_of(HEAD + "P(x, z) :- A(x, y), A(y, z), not B(x, z).", facts)
    assert not plan.absences


def test_a_recursive_rule_does_not_mark_long_lists_again() -> None:
    rng = random.Random(3)
    facts = {"A": many(rng, 2, 900, 40), "B": many(rng, 2, 400, 9)}
    text = HEAD + "P(x, z) :- A(x, z).\nP(x, z) :- P(x, y), A(y, z), not B(x, z)."
    assert all(plan.absences for plan in plans_of(text, facts))
    with mock.patch.object(row_wise_rules, "LONGEST_MARKED_AGAIN", 0):
        plans = plans_of(text, facts)
    assert plans
    assert not any(plan.absences for plan in plans)


def test_marks_begin_again_after_the_last_generation() -> None:
    rng = random.Random(4)
    text = HEAD + "P(x, z) :- A(x, y), A(y, z), not B(x, z)."
    facts = {"A": many(rng, 2, 400, 40), "B": many(rng, 2, 300, 40)}
    make = row_wise_workers.ThreadMemory.__init__
    spoiled = []

    def late(self: row_wise_workers.ThreadMemory, plan: RowWisePlan, scratch: int) -> None:
        make(self, plan, scratch)
        for area in absence_areas(plan.absences)[:-1]:
            # Marks that a generation left which comes again.
            self._absent.array[area + kernels.ABSENT_MARKS_AT :] = 1
            self._absent.array[area] = kernels.LAST_GENERATION - 3
            self._absent.array[area + 2 : area + 4] = -1  # no key is marked
            spoiled.append(area)

    states = []
    for first in (late, make):
        with going_head_by_head(), mock.patch.object(row_wise_workers.ThreadMemory, "__init__", first):
            engine = running(text)
            engine.commit(insert(facts))
            states.append(state(engine, "P"))
            engine.close()
    assert spoiled
    assert states[0] == states[1]


def test_rules_without_recursion_do_not_begin_again() -> None:
    rng = random.Random(5)
    facts = {"A": many(rng, 2, 300, 30), "B": many(rng, 2, 50, 30)}
    begun = []
    begin = row_wise.RowWise._begin_again

    def noted(self: row_wise.RowWise, *, with_deltas: bool) -> None:
        begun.append(self)
        begin(self, with_deltas=with_deltas)

    with (
        mock.patch.object(row_wise, "MOST_LOSS", 0),
        mock.patch.object(row_wise, "CHANGE", 0),
        mock.patch.object(row_wise, "USUAL", 0),
        mock.patch.object(row_wise, "USUAL_ROW", 0),
        mock.patch.object(row_wise.RowWise, "_begin_again", noted),
    ):
        plans = plans_of(HEAD + "P(x, z) :- A(x, y), A(y, z), not B(x, z).", facts)
    assert plans
    assert not begun
