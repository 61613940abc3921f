"""Tokens → the patterns of `match` and `for`, as expressions.

A pattern is `_`, a variable (with or without `var`: it is new in either case), a constant, a tuple or a struct of
patterns, each with or without a type behind it. The patterns in rules have more forms; they are read as expressions.
"""

from __future__ import annotations

from collections.abc import Callable

from tidelog.diagnostics.codes import Code
from tidelog.syntax import ast
from tidelog.syntax.constants import is_temporal, number, temporal, text
from tidelog.syntax.cursor import Cursor
from tidelog.syntax.tokens import Kind
from tidelog.syntax.types import type_


def pattern(cursor: Cursor) -> ast.Expression:
    """Takes a pattern."""
    first = cursor.tokens[cursor.index]
    found = _term(cursor)
    while cursor.accept(":"):
        annotation = type_(cursor)
        found = ast.Annotation(found, annotation, span=cursor.since(first))
    return found


def _term(cursor: Cursor) -> ast.Expression:
    token = cursor.tokens[cursor.index]
    match token.kind:
        case Kind.LOWER | Kind.UPPER:
            if token.kind is Kind.UPPER or cursor.peek().text == "::":
                return _struct(cursor)
            if is_temporal(cursor):
                return temporal(cursor)
            cursor.next()
            return ast.Variable(token.text, span=cursor.span(token))
        case Kind.INTEGER | Kind.FLOAT:
            return number(cursor)
        case Kind.STRING | Kind.RAW:
            written = text(cursor)
            if written.has_holes:
                message, label = "a pattern holds no `${}`", "expected a constant string"
                cursor.fail(Code.UNEXPECTED_TOKEN, message, label, at=written.span)
            return ast.String(written.decoded.text, spelling=written.spelling, span=written.span)
        case Kind.KEYWORD if (found := simple_word(cursor)) is not None:
            return found
        case Kind.OPERATOR if token.text == "(":
            cursor.enter()
            cursor.next()
            items = cursor.listed(")", pattern)
            cursor.leave()
            return items[0] if len(items) == 1 else ast.Tuple(items, span=cursor.since(token))
        case _:
            cursor.unexpected("a pattern")


def simple_word(cursor: Cursor) -> ast.Wildcard | ast.Boolean | ast.VariableDeclaration | None:
    """Takes `_`, `true`, `false` or `var x`; None, and nothing taken, at any other keyword."""
    token = cursor.token
    match token.text:
        case "_":
            cursor.next()
            return ast.Wildcard(span=cursor.span(token))
        case "true" | "false":
            cursor.next()
            return ast.Boolean(token.text == "true", span=cursor.span(token))
        case "var":
            cursor.next()
            name = cursor.name("a variable", Kind.LOWER)
            return ast.VariableDeclaration(name, span=cursor.since(token))
        case _:
            return None


def _struct(cursor: Cursor) -> ast.Struct:
    first = cursor.token
    name = cursor.scoped("a constructor", Kind.UPPER)
    if not cursor.accept("{"):
        return ast.Struct(name, bare=True, span=name.span)
    cursor.enter()
    arguments = cursor.listed("}", lambda at: argument(at, pattern, "a field's name"))
    cursor.leave()
    return ast.Struct(name, arguments, span=cursor.since(first))


def argument(cursor: Cursor, value: Callable[[Cursor], ast.Expression], what: str) -> ast.Argument:
    """Takes an argument of an atom or a struct; errors call its name, if it should have one, `what`."""
    first = cursor.tokens[cursor.index]
    name = None
    if cursor.accept("."):
        name = cursor.name(what, Kind.LOWER)
        cursor.expect("=")
    given = value(cursor)
    return ast.Argument(name, given, span=cursor.since(first))
