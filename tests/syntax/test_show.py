"""Tree → text: what is printed parses to the same tree."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from tests.syntax.trees import programs
from tidelog.diagnostics.spans import Source
from tidelog.syntax import ast
from tidelog.syntax.parse import parse
from tidelog.syntax.show import show, show_expression, show_rule
from tidelog.syntax.write.items import ItemWriter
from tidelog.syntax.write.layout import flat
from tidelog.syntax.write.page import Page


def program(text: str) -> ast.Program:
    return parse(Source("p.dl", text))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(programs)
def test_shown_programs_parse_to_the_same_tree(tree: ast.Program) -> None:
    assert program(show(tree)) == tree
    assert program("\n".join(flat(ItemWriter(Page()).item(item)) for item in tree.items)) == tree


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("(a + b) * c", "(a + b) * c"),
        ("a + (b * c)", "a + b * c"),
        ("a - (b - c)", "a - (b - c)"),
        ("(a - b) - c", "a - b - c"),
        ("not (a == b)", "not (a == b)"),
        ("(-x).f()", "(-x).f()"),
        ("-(x.f())", "-x.f()"),
        ("(a as u8) as u16", "a as u8 as u16"),
        ("(a as u8)[3:0]", "(a as u8)[3:0]"),
        ("(a as size) < b", "(a as size) < b"),
        ("(a as u8) < b", "a as u8 < b"),
        ("(x.f)(y)", "(x.f)(y)"),
        ("(0).1", "(0).1"),
        ("[(|x| x)]", "[(|x| x)]"),
        ("(|x| x)(1)", "(|x| x)(1)"),
        ("f((|x| x))", "f(|x| x)"),
        ("if (a) (if (b) c) else d", "if (a) (if (b) c) else d"),
        ("if (a) {if (b) c} else d", "if (a) { if (b) c } else d"),
        ("if (a) (b + 1) else c as u8", "(if (a) (b + 1) else c) as u8"),
        ("x = (y = z)", "x = (y = z)"),
    ],
)
def test_parentheses_stand_where_they_are_needed(text: str, shown: str) -> None:
    (rule,) = program(f"R({text}).").items
    assert isinstance(rule, ast.Rule)
    assert show_expression(rule.heads[0].arguments[0].value) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a & m == p", "a & (m == p)"),
        ("a and b or c", "(a and b) or c"),
        ("a + b << c", "(a + b) << c"),
        ("not a == b", "(not a) == b"),
        ("if (a) b else c + d", "(if (a) b else c) + d"),
    ],
)
def test_parentheses_stand_where_readers_need_them(text: str, shown: str) -> None:
    (rule,) = program(f"R({text}).").items
    assert isinstance(rule, ast.Rule)
    assert show_expression(rule.heads[0].arguments[0].value) == shown


@pytest.mark.parametrize("condition", ["(R - 1(x))", "(x = y)", "(R)(x)", "not (R - 1(x))"])
def test_a_condition_does_not_turn_into_another_literal(condition: str) -> None:
    tree = program(f"A(x) :- {condition}.")
    assert program(show(tree)) == tree


def test_a_rule_goes_on_one_line_and_a_long_program_over_several() -> None:
    names = [f"column_number_{number}" for number in range(9)]
    text = f"R({', '.join(names)}) :- A({', '.join(names)}), B(column_number_0).\n"
    tree = program(text)
    (rule,) = tree.items
    assert isinstance(rule, ast.Rule)
    assert show_rule(rule) == text.strip()
    assert max(map(len, show(tree).splitlines())) <= 100
    assert program(show(tree)) == tree


def test_what_cannot_be_printed_is_escaped() -> None:
    (rule,) = program(r'R("\x1b\&0\t\"\\é").').items
    assert isinstance(rule, ast.Rule)
    assert show_rule(rule) == r'R("\x1b\&0\t\"\\é").'


def test_an_empty_program_is_an_empty_text() -> None:
    assert show(program("// nothing")) == ""
