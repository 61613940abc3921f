"""Types as written, and where a `<` belongs to one."""

from __future__ import annotations

import pytest

from tests.syntax.reading import codes, expression, type_of
from tidelog.syntax import ast
from tidelog.syntax.show import show_expression, show_type


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("bool", "bool"),
        ("bigint", "bigint"),
        ("bit<12>", "bit<12>"),
        ("Vec< bit<8> >", "Vec<bit<8>>"),
        ("Map<string,Vec<Vec<u8>>>", "Map<string, Vec<Vec<u8>>>"),
        ("net::ipv4::Addr", "net::ipv4::Addr"),
        ("'A", "'A"),
        ("()", "()"),
        ("(u8)", "u8"),
        ("(u8, string,)", "(u8, string)"),
        ("function(u8, mut string): bool", "function(u8, mut string): bool"),
        ("function()", "function()"),
        ("|u8|: |mut u8|: u8", "|u8|: |mut u8|: u8"),
        ("||", "||"),
        ("|(|u8|)|", "|(|u8|)|"),
    ],
)
def test_every_form_of_a_type_is_read(text: str, shown: str) -> None:
    assert show_type(type_of(text)) == shown


def test_the_parts_of_a_function_type() -> None:
    found = type_of("function(u8, mut string): bool")
    assert isinstance(found, ast.FunctionType)
    assert [argument.mutable for argument in found.arguments] == [False, True]
    assert not found.bars
    assert found.result == ast.NamedType("bool", span=found.span)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x as Vec<u8>", ast.Cast),
        ("x: Vec<Vec<u8>>", ast.Annotation),
        ("x as u8 < y", ast.Binary),
        ("x as size < y", ast.Binary),
        ("x as net::Size < y", ast.Binary),
        ("x: Vec<u8> >= y", ast.Binary),
        ("x as u8 >> y", ast.Binary),
        ("x as u8 << y", ast.Binary),
    ],
)
def test_an_angle_behind_a_type_opens_arguments_or_compares(text: str, kind: type[ast.Node]) -> None:
    assert type(expression(text)) is kind
    assert expression(show_expression(expression(text))) == expression(text)


@pytest.mark.parametrize("text", ["Vec<", "Vec<3>", "(u8", "'a", "function(u8", "|u8", "bit", "{}", "1"])
def test_what_is_no_type_is_refused(text: str) -> None:
    assert codes(f"relation R(x: {text})")
