"""The order of a plan: connected literals first, guards before what they guard, quick for long bodies."""

from __future__ import annotations

import pytest

from tidelog.compile_program import compile_program
from tidelog.diagnostics.spans import Source
from tidelog.plan.show import show_plan
from tidelog.plan.statistics import FromSizes
from tidelog.plan.variant import Antijoin, Delta, DeltaKind, Filter, Join, Let, Variant, deltas, plan_variant
from tidelog.rules.ir import Rule

DECLARATIONS = """
input relation A(x: u32, y: u32)
input relation B(x: u32, y: u32)
input relation C(x: u32, y: u32)
input relation N(x: u32)
output relation P(x: u32, y: u32)
"""


def rule(text: str) -> Rule:
    return compile_program(Source("<test>", DECLARATIONS + text)).rules.rules[0]


def variant(text: str, position: int, sizes: dict[str, int] | None = None) -> Variant:
    planned = rule(text)
    return plan_variant(planned, deltas(planned)[position], FromSizes(lambda name: (sizes or {}).get(name, 100)))


def joins(planned: Variant) -> list[tuple[str, tuple[int, ...]]]:
    return [(step.atom.relation, step.keys) for step in planned.steps if isinstance(step, Join)]


def test_positions_are_positives_then_negatives_then_the_hidden_fact() -> None:
    found = deltas(rule("P(x, z) :- not N(x), A(x, y), B(y, z)."))
    assert [(delta.kind, delta.position) for delta in found] == [
        (DeltaKind.POSITIVE, 0),
        (DeltaKind.POSITIVE, 1),
        (DeltaKind.NEGATIVE, 2),
        (DeltaKind.RULE, 3),
    ]
    assert isinstance(found[0], Delta)


def test_a_connected_literal_comes_before_a_cross_product() -> None:
    planned = variant("P(x, w) :- A(x, y), C(z, w), B(y, z).", 0)
    assert joins(planned) == [("B", (0,)), ("C", (0,))]


def test_a_smaller_relation_is_scanned_first() -> None:
    planned = variant("P(x, z) :- A(x, y), B(y, z).", 2, {"A": 10_000, "B": 3})
    assert joins(planned) == [("B", ()), ("A", (1,))]


def test_a_bound_literal_is_a_look_up() -> None:
    planned = variant("P(x, y) :- A(x, y), B(x, y).", 0)
    assert joins(planned) == [("B", (0, 1))]


def test_filters_and_absences_run_as_soon_as_they_can() -> None:
    planned = variant("P(x, z) :- A(x, y), B(y, z), not N(x), x < y.", 0)
    kinds = [type(step) for step in planned.steps]
    assert kinds == [Antijoin, Filter, Join]


def test_a_division_runs_after_the_condition_that_guards_it_and_no_earlier_literal_is_left() -> None:
    planned = variant("P(x, q) :- A(x, y), B(x, z), z != 0, y != 0, var q = x / y.", 0)
    assert [type(step) for step in planned.steps] == [Filter, Join, Filter, Let]


def test_a_delta_under_negation_compares_what_it_binds_with_what_the_body_computes() -> None:
    planned = variant("P(x, y) :- A(x, y), var z = x + 1, not N(z).", 1)
    assert [step.compare for step in planned.steps if isinstance(step, Let)] == [True]


@pytest.mark.parametrize("count", [20, 40])
def test_the_work_of_planning_grows_with_the_square_of_the_body(count: int) -> None:
    asked = 0

    def size(_: str) -> int:
        nonlocal asked
        asked += 1
        return 1000

    body = ", ".join(f"A(x{i}, x{i + 1})" for i in range(count))
    long = rule(f"P(x0, x{count}) :- {body}.")
    planned = plan_variant(long, deltas(long)[count // 2], FromSizes(size))
    # An exponential search asks for more sizes than there are atoms in the universe.
    assert 0 < asked <= 10 * count**2
    assert all(keys for _, keys in joins(planned))


def test_plans_are_printed_with_their_deltas() -> None:
    text = DECLARATIONS + "P(x, y) :- A(x, y).\nP(x, z) :- P(x, y), A(y, z), not N(z)."
    shown = show_plan(compile_program(Source("<test>", text)).rules)
    assert "Δ P(x, y)" in shown
    assert "probe A(y, z) by .x = y → absent N(z) → emit P(x, z)" in shown
    assert "Δ not N(z)" in shown


def test_what_is_looked_up_is_told_by_column_and_by_what_the_rule_calls_it() -> None:
    text = DECLARATIONS + "P(x, w) :- A(y, x), B(x, w), C(7, w)."
    shown = show_plan(compile_program(Source("<test>", text)).rules)
    assert "Δ A(y, x)   probe B(x, w) by .x = x → find C(7, w) → emit P(x, w)" in shown
    assert "Δ B(x, w)   find C(7, w) → probe A(y, x) by .y = x → emit P(x, w)" in shown
    assert "scan" not in shown.split("Δ rule")[0]
    assert "probe C(7, w) by .x = 7" in shown
