"""Which bodies are cyclic, and in which order their variables are joined."""

from __future__ import annotations

import pytest

from tests.plan.test_plan_rules import Told
from tidelog.compile_program import compile_program
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.spans import Source
from tidelog.plan.leapfrog import cyclic_core
from tidelog.plan.plan_rules import plan_rules, tries
from tidelog.plan.show import show_plan
from tidelog.plan.variant import Join, Leap, Variant
from tidelog.rules.ir import RuleProgram

DECLARATIONS = """
input relation E(x: u32, y: u32)
input relation F(x: u32, y: u32, z: u32)
input relation N(x: u32)
output relation P(x: u32, y: u32)
"""


def program(text: str) -> RuleProgram:
    return compile_program(Source("<test>", DECLARATIONS + text)).rules


def core(body: str) -> list[int]:
    return cyclic_core(program(f"P(a, a) :- {body}.").rules[0].positives)


def plan(text: str, told: Told | None = None) -> list[Variant]:
    return plan_rules(program(text).rules, told or Told())


def leaps(variant: Variant) -> list[tuple[str, int]]:
    """The variables of the leapfrog joins, each with the number of its parts."""
    steps = (step for step in variant.steps if isinstance(step, Leap))
    return [("_" if step.variable is None else step.variable.name, len(step.parts)) for step in steps]


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("E(a, b), E(b, c)", []),
        ("E(a, b), E(b, c), E(c, d)", []),
        ("E(a, b), E(a, c), E(a, d)", []),
        ("E(a, b), E(b, a)", []),
        ("F(a, b, c), E(a, b), E(b, c), E(a, c)", []),  # the large literal has them all
        ("E(a, b), E(b, c), E(a, c)", [0, 1, 2]),
        ("E(a, b), E(b, c), E(a, c), N(a), E(c, d)", [0, 1, 2]),
        ("E(a, b), E(b, c), E(c, d), E(d, a)", [0, 1, 2, 3]),
        ("F(a, b, 1), E(b, c), E(a, c)", [0, 1, 2]),
        ("F(a, b, _), E(b, c), E(a, c)", [0, 1, 2]),
        ("E(a, b), E(c, d)", []),
        ("E(a, b)", []),
        ("E(a, 1), E(2, a)", []),
    ],
)
def test_what_ear_removal_leaves(body: str, left: list[int]) -> None:
    assert core(body) == left


def test_a_triangle_is_joined_by_leapfrog_from_every_delta() -> None:
    variants = plan("P(x, z) :- E(x, y), E(y, z), E(x, z).")
    assert [leaps(each) for each in variants[:3]] == [[("z", 2)], [("x", 2)], [("y", 2)]]
    assert sorted(leaps(variants[3])) == [("x", 2), ("y", 2), ("z", 2)]


def test_an_ear_is_joined_as_ever() -> None:
    whole = plan("P(x, z) :- E(x, y), E(y, z), E(x, z), F(x, _, _).")[-1]
    assert len(leaps(whole)) == 3
    assert [step.atom.relation for step in whole.steps if isinstance(step, Join)] == ["F"]


def test_a_short_bucket_is_gone_through_where_the_rule_does_not_ask_for_more() -> None:
    told = Told({("E", (0,)): 2, ("E", (1,)): 2})
    rule = "P(x, z) :- E(x, y), E(y, z), E(x, z)."
    assert leaps(plan(rule, told)[0]) == []
    assert leaps(plan('#[join = "leapfrog"] ' + rule, told)[0]) == [("z", 2)]


def test_a_rule_may_ask_for_hash_joins() -> None:
    variants = plan('#[join = "hash"] P(x, z) :- E(x, y), E(y, z), E(x, z).')
    assert not any(leaps(each) for each in variants)


def test_relations_that_grow_with_the_head_are_not_leapt_over_unless_asked_for() -> None:
    rule = "P(x, z) :- P(x, y), P(y, z), E(x, z)."
    assert not any(leaps(each) for each in plan(rule))
    assert all(leaps(each) for each in plan('#[join = "leapfrog"] ' + rule))


def test_the_order_of_variables_is_the_one_that_looks_at_the_fewest_values() -> None:
    rule = "P(x, z) :- E(x, y), E(y, z), E(x, z)."
    many_out = Told({("E", (0,)): 200, ("E", (1,)): 20})
    many_in = Told({("E", (0,)): 20, ("E", (1,)): 200})
    assert leaps(plan(rule, many_out)[3])[-1][0] == "x"  # what E(_, y) and E(_, z) have in common
    assert leaps(plan(rule, many_in)[3])[-1][0] == "z"


def test_a_repeated_variable_and_a_computed_one_are_looked_up_once_they_are_known() -> None:
    (repeated, whole) = plan('#[join = "leapfrog"] P(x, x) :- E(x, x).')
    assert leaps(repeated) == []
    assert leaps(whole) == [("x", 1)]
    assert [step.keys for step in whole.steps if isinstance(step, Join)] == [(0, 1)]
    computed = plan('#[join = "leapfrog"] P(x, z) :- N(x), var z = x + 1, E(x, z).')[-1]
    assert leaps(computed) == [("x", 2)]


def test_the_plan_shows_leaps_and_tries() -> None:
    shown = show_plan(program("P(x, z) :- E(x, y), E(y, z), E(x, z)."))
    assert "Δ E(x, y)   leap z over E(y, z), E(x, z) → emit P(x, z)" in shown
    assert "tries\n  E in the order x, y\n  E in the order y, x\n" in shown


def test_tries_are_each_listed_once() -> None:
    found = tries(plan("P(x, z) :- E(x, y), E(y, z), E(x, z)."))
    assert sorted(order.columns for _, order in found) == [(0, 1), (1, 0)]


def test_an_unknown_way_to_join_is_refused() -> None:
    with pytest.raises(ProgramError, match="attribute `join` wants"):
        program('#[join = "nested"] P(x, y) :- E(x, y).')
