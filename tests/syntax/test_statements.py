"""Imperative rules."""

from __future__ import annotations

import pytest

from tests.syntax.reading import codes, item
from tidelog.syntax import ast


def body(text: str) -> ast.Statement:
    return item(f"for (a in R) {text}", ast.ForStatement).body


def test_the_head_of_a_for() -> None:
    found = item("for (a in &m::R-1 if a.x > 1) skip", ast.ForStatement)
    assert (found.atom.relation.text, found.atom.bare, found.atom.delay) == ("m::R", True, 1)
    assert isinstance(found.condition, ast.Binary)
    assert item("for (R(x, 1)) skip", ast.ForStatement).condition is None


def test_every_statement() -> None:
    kinds = {
        "skip": ast.SkipStatement,
        "A(1)": ast.InsertStatement,
        "A": ast.InsertStatement,
        "&m::A[x] @ place": ast.InsertStatement,
        "for (R(x)) skip": ast.ForStatement,
        "if (x) skip": ast.IfStatement,
        "match (x) { C{y} -> skip, _ -> A(y), }": ast.MatchStatement,
        "var x = y in skip": ast.AssignStatement,
        "C{var x} = y in A(x)": ast.AssignStatement,
        "m::C{var x} = y in A(x)": ast.AssignStatement,
        "(var x, _) = y in A(x)": ast.AssignStatement,
        "{}": ast.BlockStatement,
        "{A(1); B(2);}": ast.BlockStatement,
    }
    assert {text: type(body(text)) for text in kinds} == kinds


def test_an_else_belongs_to_the_nearest_if() -> None:
    found = body("if (x) if (y) A(1) else A(2)")
    assert isinstance(found, ast.IfStatement)
    assert found.otherwise is None
    assert isinstance(found.then, ast.IfStatement)
    assert found.then.otherwise is not None


@pytest.mark.parametrize("text", ["", "x", "f(x)", "{A(1) B(2)}", "if x skip", "match (x) {}", "var x = 1 skip"])
def test_what_is_no_statement_is_refused(text: str) -> None:
    assert codes(f"for (a in R) {text}")
