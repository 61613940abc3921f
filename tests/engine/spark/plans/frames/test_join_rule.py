"""The order in which a rule's literals are taken on DataFrames."""

from __future__ import annotations

from tests.engine.spark.programs import rules_of

from tidelog.engine.spark.plans.frames.join_rule import literal_order

RELATIONS = """
input relation A(x: u32)
input relation B(x: u32, y: u32)
input relation C(x: u32, y: u32)
output relation P(x: u32)
"""


def order_of(rule: str, delta: int | None) -> list[int]:
    return literal_order(rules_of(RELATIONS + rule).rules[0], delta)


def test_the_delta_comes_first_and_then_what_shares_a_variable_with_it() -> None:
    assert order_of("P(x) :- A(x), B(x, y), C(y, z), A(z).", None) == [0, 1, 2, 3]
    assert order_of("P(x) :- A(x), B(x, y), C(y, z), A(z).", 3) == [3, 2, 1, 0]


def test_the_delta_does_not_come_first_through_a_cross_product() -> None:
    assert order_of("P(x) :- A(x), var y = x + 1, B(y, z).", 2) == [0, 1, 2]


def test_a_condition_runs_as_soon_as_it_can() -> None:
    assert order_of("P(x) :- A(x), B(x, y), C(y, z), x > 3.", None) == [0, 3, 1, 2]


def test_a_division_waits_for_everything_in_front_of_it() -> None:
    assert order_of("P(q) :- A(x), B(x, y), not A(y), x != 0, var q = 10 / x.", None) == [0, 3, 1, 2, 4]
    assert order_of("P(q) :- A(x), x != 0, var q = 10 / x, B(x, y).", 3) == [3, 1, 0, 2]
