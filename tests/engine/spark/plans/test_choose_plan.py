"""Which plan a stratum gets, which strata share a job, and what users may ask for."""

from __future__ import annotations

import pytest
from tests.engine.spark.programs import EDGES, LINEAR, NON_LINEAR, rules_of

from tidelog.diagnostics.errors import UsageError
from tidelog.engine.spark.plans.choose_plan import FRAMES_ROWS, Chooser, Plan, Segment, show_choice
from tidelog.rules.ir import RuleProgram

MANY = 1_000_000


def segments_of(program: RuleProgram, rows: dict[str, int], plans: dict[str, str] | None = None) -> list[Segment]:
    chooser = Chooser(program, plans)
    found = [chooser.choose(rows)]
    while found[-1] is not None:
        found.append(chooser.choose(rows, after=found[-1]))
    return [segment for segment in found if segment is not None]


def test_a_large_recursion_with_a_pivot_is_decomposed_and_a_small_one_is_not() -> None:
    program = rules_of(LINEAR)
    (large,) = segments_of(program, {"Edge": MANY})
    assert (large.plan, dict(large.pivots)) == (Plan.DECOMPOSED, {"Reach": 0})
    (small,) = segments_of(program, {"Edge": 10})
    assert small.plan is Plan.SINGLE_TASK


def test_without_a_pivot_a_single_task_serves_until_there_are_too_many_rows() -> None:
    program = rules_of(NON_LINEAR)
    (segment,) = segments_of(program, {"Edge": MANY})
    assert segment.plan is Plan.SINGLE_TASK
    (segment,) = segments_of(program, {"Edge": 10, "Reach": FRAMES_ROWS})
    assert segment.plan is Plan.FRAMES


@pytest.mark.parametrize(
    ("together", "rows", "plan"),
    [
        (2, FRAMES_ROWS - 10, Plan.SINGLE_TASK),
        (0, FRAMES_ROWS, Plan.FRAMES),
        (1, FRAMES_ROWS, Plan.FRAMES),
        (2, FRAMES_ROWS, Plan.FRAMES),  # each of two tasks would have two copies of half the rows
        (4, FRAMES_ROWS, Plan.PARTITIONED),
        (4, 2 * FRAMES_ROWS, Plan.FRAMES),
    ],
)
def test_too_many_rows_for_a_task_are_partitioned_if_tasks_run_together_and_can_hold_them(
    together: int, rows: int, plan: Plan
) -> None:
    segment = Chooser(rules_of(NON_LINEAR), together=together).choose({"Edge": 10, "Reach": rows})
    assert segment is not None
    assert segment.plan is plan
    assert dict(segment.pivots) == ({"Reach": 1} if plan is Plan.PARTITIONED else {})


def test_rows_of_unrelated_relations_do_not_matter() -> None:
    program = rules_of(NON_LINEAR + "input relation Other(x: u32)")
    (segment,) = segments_of(program, {"Edge": 10, "Other": 10 * FRAMES_ROWS})
    assert segment.plan is Plan.SINGLE_TASK


def test_small_strata_share_one_job() -> None:
    program = rules_of(NON_LINEAR + "output relation Loop(x: u32)\nLoop(x) :- Reach(x, x).")
    (segment,) = segments_of(program, {"Edge": 10})
    assert segment.relations == ("Reach", "Loop")


def test_decomposed_strata_share_a_job_only_with_a_pivot_in_common() -> None:
    program = rules_of(LINEAR + "output relation Back(x: u32, y: u32)\nBack(x, y) :- Reach(x, y), Reach(y, x).")
    first, second = segments_of(program, {"Edge": MANY})
    assert (first.relations, second.relations) == (("Reach",), ("Back",))
    program = rules_of(LINEAR + "output relation Out(x: u32)\nOut(x) :- Reach(x, _).")
    (segment,) = segments_of(program, {"Edge": MANY})
    assert dict(segment.pivots) == {"Reach": 0, "Out": 0}


def test_a_wish_decides_and_keeps_its_stratum_apart() -> None:
    text = LINEAR + "output relation Out(x: u32)\nOut(x) :- Reach(x, _)."
    first, second = segments_of(rules_of(text), {"Edge": MANY}, {"Reach": "frames"})
    assert (first.plan, second.plan) == (Plan.FRAMES, Plan.SINGLE_TASK)
    (segment,) = segments_of(rules_of(LINEAR), {"Edge": MANY}, {"Reach": "single task"})
    assert segment.plan is Plan.SINGLE_TASK


@pytest.mark.parametrize(
    ("plans", "says"),
    [
        ({"Edge": "frames"}, "`Edge`, which is not a derived relation"),
        ({"Reach": "fast"}, "there is no plan 'fast'"),
        ({"Reach": "driver"}, "there is no plan 'driver'; the plans are 'decomposed', 'single task', 'frames'"),
        ({"Reach": "decomposed"}, "`Reach` cannot be decomposed"),
        ({"Lone": "partitioned"}, "`Lone` cannot be partitioned: its rules are not recursive"),
        ({"Far": "partitioned"}, "`Far` cannot be partitioned: no variable is in all recursive literals of `Far"),
    ],
)
def test_a_wish_that_cannot_be_is_an_error(plans: dict[str, str], says: str) -> None:
    text = """
output relation Lone(x: u32)
output relation Far(x: u32, y: u32)
Lone(x) :- Edge(x, x).
Far(x, y) :- Edge(x, y).
Far(x, y) :- Far(x, a), Edge(a, b), Far(b, y).
"""
    with pytest.raises(UsageError, match=says):
        Chooser(rules_of(NON_LINEAR + text), plans)


def test_the_choice_can_be_shown() -> None:
    assert show_choice(rules_of(LINEAR)) == (
        "decomposed, because every rule carries `x` of `Reach` unchanged\n  Reach by x (2 rules, recursive)"
    )
    assert show_choice(rules_of(LINEAR), rows={"Edge": 3}).startswith("single task, because 3 rows are few")
    assert show_choice(rules_of(EDGES)) == "no rules, no jobs"
