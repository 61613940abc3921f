"""Short ways from a text to a part of its tree."""

from __future__ import annotations

from typing import TypeVar

import pytest

from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.spans import Source, Span
from tidelog.syntax import ast
from tidelog.syntax.parse import parse

T = TypeVar("T", bound=ast.Node)

# A place for nodes that tests make; places do not count when trees are compared.
NOWHERE = Span(Source("<test>", ""), 0, 0)


def program(text: str) -> ast.Program:
    return parse(Source("p.dl", text))


def item(text: str, kind: type[T]) -> T:
    """The only item of a text, which is of that kind."""
    (found,) = program(text).items
    assert isinstance(found, kind)
    return found


def rule(text: str) -> ast.Rule:
    return item(text, ast.Rule)


def literal(text: str) -> ast.Literal:
    (found,) = rule(f"R() :- {text}.").body
    return found


def expression(text: str) -> ast.Expression:
    return rule(f"R({text}).").heads[0].arguments[0].value


def of_kind(text: str, kind: type[T]) -> T:
    """The expression of a text, which is of that kind."""
    found = expression(text)
    assert isinstance(found, kind)
    return found


def type_of(text: str) -> ast.Type:
    return item(f"relation R(x: {text})", ast.RelationDeclaration).columns[0].type


def codes(text: str) -> list[str]:
    """What is wrong with a text, with the lines."""
    with pytest.raises(ProgramError) as caught:
        program(text)
    return [f"{found.code}@{found.span.source.position(found.span.start)[0]}" for found in caught.value.diagnostics]


def name(text: str) -> ast.Name:
    return ast.Name(text, span=NOWHERE)


def variable(text: str) -> ast.Variable:
    return ast.Variable(text, span=NOWHERE)
