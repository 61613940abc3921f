"""Groups beside strata on frames: what groups runs in tasks, what reads the groups on frames; or a clear error."""

from __future__ import annotations

from typing import Any

import pytest
from tests.engine.spark.parity import Step, parity
from tests.engine.spark.programs import EDGES, rules_of

import tidelog
from tidelog.engine.spark.plans.choose_plan import Chooser, Plan
from tidelog.engine.spark.plans.split_inputs import split_inputs

DEGREES = (
    EDGES
    + """
output relation Degree(x: u32, n: u64)
output relation Busy(x: u32, y: u32)
Degree(x, n) :- Edge(x, y), var n = y.group_by(x).count_distinct().
Busy(x, y) :- Edge(x, y), Degree(x, n), n > 1.
Busy(x, z) :- Busy(x, y), Edge(y, z), Degree(y, n), n > 0.
"""
)
RECURSIVE = (
    EDGES
    + """
output relation Least(x: u32, y: u32)
Least(x, y) :- Edge(x, y).
Least(x, m) :- Least(x, y), Edge(y, z), var m = z.group_by(x).min().
"""
)


def plans_of(text: str, wishes: dict[str, str]) -> dict[str, Plan]:
    program = split_inputs(rules_of(text)).rules
    chooser = Chooser(program, wishes)
    found: dict[str, Plan] = {}
    segment = chooser.choose({})
    while segment is not None:
        found.update(dict.fromkeys(segment.relations, segment.plan))
        segment = chooser.choose({}, after=segment)
    return found


def test_a_relation_of_groups_may_be_on_frames_and_the_grouping_itself_is_not() -> None:
    program = split_inputs(rules_of(DEGREES)).rules
    grouping = {rule.head.relation for rule in program.rules if rule.group is not None}
    plans = plans_of(DEGREES, {"Degree": "frames", "Busy": "frames"})
    assert (plans["Degree"], plans["Busy"]) == (Plan.FRAMES, Plan.FRAMES)
    assert grouping
    assert {plans[name] for name in grouping} == {Plan.SINGLE_TASK}


def test_groups_inside_a_recursion_cannot_be_on_frames_and_the_error_says_so() -> None:
    with pytest.raises(
        tidelog.UsageError, match=r"`Least` has .*groups.*, which the plan `frames` does not support"
    ) as caught:
        plans_of(RECURSIVE, {"Least": "frames"})
    assert caught.value.code == "E705"


@pytest.mark.spark
@pytest.mark.slow
def test_strata_on_frames_over_groups_agree_with_the_local_engine(spark: Any) -> None:
    steps: list[Step] = [
        ({"Edge": [(1, 2), (1, 3), (2, 3), (3, 4)]}, {}),
        ({"Edge": [(2, 1)]}, {"Edge": [(1, 3)]}),
        ({"Edge": [(4, 1), (4, 2)]}, {"Edge": [(2, 3)]}),
    ]
    reports = parity(DEGREES, steps, spark, plans={"Degree": "frames", "Busy": "frames"})
    places = {each.relations: each.place for report in reports for each in report.strata}
    assert (places["Degree",], places["Busy",]) == ("frames", "frames")
    assert "single task" in places.values()
