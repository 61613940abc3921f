"""Tokens → types.

Behind the name of a type, `<` opens its arguments. In an expression it may as well compare: `x as size < y`. There the
arguments are tried first, and the comparison is what is left when they do not fit.
"""

from __future__ import annotations

from tidelog.syntax import ast
from tidelog.syntax.cursor import Cursor
from tidelog.syntax.numbers import width_of
from tidelog.syntax.tokens import Kind

_SINGLE_WORDS = frozenset(("bool", "string", "bigint", "float", "double"))
_SIZED = frozenset(("bit", "signed"))
# Names of the standard library without arguments.
PLAIN = frozenset((*(f"{sign}{width}" for sign in "us" for width in (8, 16, 32, 64, 128)), "usize", "isize"))


def type_(cursor: Cursor) -> ast.Type:
    """Takes a type."""
    token = cursor.tokens[cursor.index]
    if token.kind is Kind.LOWER or token.kind is Kind.UPPER:
        name = cursor.scoped("a type")
        if not cursor.at("<"):
            return ast.NamedType(name.text, span=name.span)
        cursor.enter()
        cursor.next()
        arguments = cursor.listed(">", _argument if name.text == "decimal" else type_)
        cursor.leave()
        return ast.NamedType(name.text, arguments, span=cursor.since(token))
    if token.kind is not Kind.KEYWORD and token.kind is not Kind.OPERATOR:
        cursor.unexpected("a type")
    if token.text in _SINGLE_WORDS:
        cursor.next()
        return ast.NamedType(token.text, span=cursor.span(token))
    if token.text in _SIZED:
        cursor.next()
        cursor.expect("<")
        number = cursor.next()
        width = width_of(cursor, number.text if number.kind is Kind.INTEGER else "", number)
        cursor.expect(">")
        return ast.SizedType(token.text, width, span=cursor.since(token))
    if token.text == "'":
        cursor.next()
        variable = cursor.name("the name of a type variable", Kind.UPPER)
        return ast.TypeVariable(variable.text, span=cursor.since(token))
    cursor.enter()
    nested = _nested(cursor)
    cursor.leave()
    return nested


def _argument(cursor: Cursor) -> ast.Type:
    """Takes an argument of a type: a type, or a number."""
    token = cursor.token
    if token.kind is not Kind.INTEGER or not token.text.isdecimal():
        return type_(cursor)
    cursor.next()
    # A number that is longer is out of the range of every type.
    return ast.TypeNumber(int(token.text[:20]), span=cursor.span(token))


def type_in_expression(cursor: Cursor) -> ast.Type:
    """Takes a type behind `:` or `as`; a `<` behind it that opens no arguments is left for the operators."""
    token = cursor.token
    if token.kind is not Kind.LOWER and token.kind is not Kind.UPPER:
        return type_(cursor)
    if cursor.peek(cursor.scope_end() + 1).text == "<":
        found = cursor.attempt(type_) if token.text not in PLAIN else None
        if found is not None:
            return found
        name = cursor.scoped("a type")
        return ast.NamedType(name.text, span=name.span)
    return type_(cursor)


def argument_type(cursor: Cursor) -> ast.ArgumentType:
    """Takes `T` or `mut T`."""
    first = cursor.token
    mutable = cursor.accept("mut")
    inner = type_(cursor)
    return ast.ArgumentType(mutable, inner, span=cursor.since(first))


def result_type(cursor: Cursor) -> ast.Type | None:
    """Takes `: T`, if it is there."""
    return type_(cursor) if cursor.accept(":") else None


def _nested(cursor: Cursor) -> ast.Type:
    first = cursor.token
    if cursor.accept("("):
        items = cursor.listed(")", type_)
        return items[0] if len(items) == 1 else ast.TupleType(items, span=cursor.since(first))
    bars = cursor.accept("|")
    if not bars:
        if not cursor.accept("function"):
            cursor.unexpected("a type")
        cursor.expect("(")
    arguments = cursor.listed("|" if bars else ")", argument_type)
    result = result_type(cursor)
    return ast.FunctionType(arguments, result, bars, span=cursor.since(first))
