"""Atoms, heads and the literals of a body."""

from __future__ import annotations

import pytest

from tests.syntax.reading import NOWHERE, codes, literal, name, program, rule, variable
from tidelog.syntax import ast


def atom(text: str) -> ast.Atom:
    found = literal(text)
    assert isinstance(found, ast.Positive)
    return found.atom


def test_everything_that_an_atom_can_have() -> None:
    found = atom("h in &net::Host-2'(.id = x, .name = _)")
    assert found.binding == name("h")
    assert (found.reference, found.relation.text, found.delay, found.prime) == (True, "net::Host", 2, True)
    assert [argument.name for argument in found.arguments] == [name("id"), name("name")]
    assert found.span.text == "h in &net::Host-2'(.id = x, .name = _)"


def test_an_atom_of_a_value() -> None:
    found = atom("People[p@Person{.age = 3}]")
    assert isinstance(found.value, ast.Binding)
    assert found.arguments == ()


@pytest.mark.parametrize("text", ["R(x)", "R[x]", "R-1(x)", "R'(x)", "&R(x)", "m::R(x)", "x in R()", "x in m::R[y]"])
def test_an_atom_is_seen_as_one_also_behind_not(text: str) -> None:
    assert isinstance(literal(text), ast.Positive)
    assert isinstance(literal(f"not {text}"), ast.Negative)


@pytest.mark.parametrize(
    "text", ["x - 1", "R", "not R", "R{} == x", "R - 1", "&x == y", "m::f(x)", "not f(x)", "(R)(x)"]
)
def test_what_only_looks_like_an_atom_is_a_condition(text: str) -> None:
    assert isinstance(literal(text), ast.Condition)


def test_assignments_by_their_pattern() -> None:
    kinds = {
        "var x = e": ast.Assignment,
        "var x: Vec<u8> = e": ast.Assignment,
        "(var x, 1) = e": ast.Destructuring,
        "Some{x} = e": ast.Destructuring,
        "x.f = e": ast.Destructuring,
        "var x = FlatMap(e)": ast.FlatMap,
        "(var k, var v: u8) = FlatMap(e)": ast.FlatMap,
        "var x = Aggregate((a, b), m::f(e))": ast.Aggregate,
        "var x = sum(e) by (k)": ast.RowAggregates,
        "var x: u64 = count() by ()": ast.RowAggregates,
        "(var x, var y) = (sum(e), max(e)) by (k, l = k / 7)": ast.RowAggregates,
        "var x = sum(e)": ast.Assignment,
        "var x = by(k)": ast.Assignment,
        "Inspect f(x)": ast.Inspect,
        "(x = e)": ast.Condition,
    }
    assert {text: type(literal(text)) for text in kinds} == kinds


def test_an_aggregate_lists_its_keys_with_or_without_parentheses() -> None:
    expected = ast.Aggregate(name("c"), (variable("x"),), name("count"), variable("y"), span=NOWHERE)
    assert literal("var c = Aggregate((x), count(y))") == expected
    assert literal("var c = Aggregate(x, count(y))") == expected
    assert codes("R() :- (var c) = Aggregate((x + 1), count(y)).") == ["E101@1"]


def test_aggregates_over_rows_have_a_pattern_a_value_and_keys() -> None:
    found = literal("var c = count() by (x, y = x + 1)")
    assert isinstance(found, ast.RowAggregates)
    assert isinstance(found.pattern, ast.VariableDeclaration)
    assert [type(key) for key in found.keys] == [ast.Variable, ast.Assign]
    assert codes("R(c) :- S(x), var c = count() by x.") == ["E101@1"]
    assert codes("R(c) :- S(x), count() by (x).") == ["E101@1"]


def test_the_words_of_aggregates_are_names_elsewhere() -> None:
    text = (
        "R(sum, by) :- S(.count = sum, .by = by), var avg = sum(count(by)), by(avg) == max(by, min), count in T(sum)."
    )
    found = rule(text)
    assert [type(each) for each in found.body] == [ast.Positive, ast.Assignment, ast.Condition, ast.Positive]


def test_heads_of_every_form() -> None:
    found = rule('#[maintain = "trace"] A(x), B, C[x], &D(x) @ place, m::E(x) :- F(x), .')
    assert [head.relation.text for head in found.heads] == ["A", "B", "C", "D", "m::E"]
    assert [head.bare for head in found.heads] == [False, True, False, False, False]
    assert found.heads[3].location == variable("place")
    assert found.heads[3].reference
    assert found.attributes[0].name == name("maintain")
    assert found.span.text.startswith("#[maintain")


def test_a_body_may_be_empty() -> None:
    assert rule("R(1) :- .") == rule("R(1).")


def test_a_rule_ends_at_its_dot_whatever_follows() -> None:
    items = program(
        "A(x) :- x == y.\nm::B(1).\nC(x) :- f(x).\nindex I(a: u8) on C(a)\nD(x) :- x == y. index J(a: u8) on D(a)"
    ).items
    kinds = [ast.Rule, ast.Rule, ast.Rule, ast.IndexDeclaration, ast.Rule, ast.IndexDeclaration]
    assert [type(each) for each in items] == kinds


@pytest.mark.parametrize("text", ["R-99999999999(x)", "R-4294967296(x)", "x in R", "x in R-x(y)", "x in y"])
def test_broken_atoms_are_refused(text: str) -> None:
    assert len(codes(f"A() :- not {text}.")) == 1


def test_plain_assignments_are_refused_with_the_two_ways_out() -> None:
    assert codes("R() :- x = 1.\nR() :- x = FlatMap(y).") == ["E113@1", "E113@2"]
