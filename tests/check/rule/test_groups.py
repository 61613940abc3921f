"""`group_by`: what is left behind it, and the ways to write it."""

from __future__ import annotations

import pytest

from tests.check.programs import checked, wrong
from tidelog.check.program import Assign, Condition, GroupBy, Positive
from tidelog.check.typed import Var


def body(rule: str) -> list[str]:
    (found,) = checked(rule).rules
    return [type(literal).__name__ for literal in found.body]


@pytest.mark.parametrize(
    "literal",
    ["var m = c.group_by(a).max()", "var m = Aggregate((a), group_max(c))", "var g = c.group_by(a), var m = g.max()"],
)
def test_the_ways_to_group_mean_the_same(literal: str) -> None:
    assert body(f'Out(a, "${{m}}") :- Num(a, _, c), {literal}.') == ["Positive", "GroupBy", "Assign"]


def test_a_group_in_a_condition_stands_before_it() -> None:
    assert body('Out(a, "") :- Num(a, _, c), c.group_by(a).max() > 3.') == ["Positive", "GroupBy", "Condition"]


def test_the_group_has_the_types_of_its_key_and_its_value() -> None:
    (rule,) = checked('Out(a, "") :- Num(a, b, c), var g = (b, c).group_by((a, b)).').rules
    positive, group = rule.body
    assert isinstance(positive, Positive)
    assert isinstance(group, GroupBy)
    assert str(group.type) == "ddlog_std::Group<(u8, s16), (s16, bit<12>)>"
    assert [key.name for key in group.keys] == ["a", "b"]


def test_one_group_of_all_has_an_empty_key() -> None:
    (rule,) = checked("Any(true) :- Num(a, _, _), var n = a.group_by(()).count_distinct(), n > 1.").rules
    group = rule.body[1]
    assert isinstance(group, GroupBy)
    assert group.keys == ()


def test_behind_a_group_only_its_key_is_bound() -> None:
    assert wrong('Out(a, "${c}") :- Num(a, b, c), var m = c.group_by(a).max(), b > 1.') == [
        "E302 head variable `c` is not bound behind `group_by`",
        "E301 variable `b` is not bound behind `group_by`",
    ]


def test_a_name_that_a_group_has_ended_may_be_bound_again() -> None:
    (rule,) = checked('Out(a, "") :- Num(a, b, c), var m = c.group_by(a).max(), Num(a, b, m).').rules
    again = rule.body[-1]
    assert isinstance(again, Positive)
    assert isinstance(again.atom.terms[1], Var)


def test_a_function_may_be_called_like_a_variable_that_is_gone_or_is_only_just_bound() -> None:
    text = "function total(x: u8): u8 { x }\n"
    assert (
        len(checked(f'{text}Out(m, "") :- Num(total, a, _), var m = total.group_by(a).max(), total(m) > 1.').rules) == 1
    )
    assert len(checked(f'{text}Out(total, "") :- Num(a, _, _), var total = total(a).').rules) == 1


def test_one_rule_may_group_several_times() -> None:
    rule = 'Out(a, "") :- Num(a, b, c), var m = c.group_by((a, b)).max(), var k = m.group_by(a).min(), k > 1.'
    assert body(rule) == ["Positive", "GroupBy", "Assign", "GroupBy", "Assign", "Condition"]


def test_filters_are_not_moved_over_a_group() -> None:
    (rule,) = checked('Out(a, "") :- Num(a, b, c), b > 0, var m = c.group_by(a).max(), m > 1.').rules
    kinds = [type(each) for each in rule.body]
    assert kinds == [Positive, Condition, GroupBy, Assign, Condition]
