"""Tokens → rules: atoms, heads and the literals of a body."""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

from tidelog.diagnostics.codes import Code
from tidelog.syntax import ast
from tidelog.syntax.cursor import Cursor
from tidelog.syntax.expressions import expression, value
from tidelog.syntax.habits import aggregate
from tidelog.syntax.patterns import argument
from tidelog.syntax.terms import COLUMN_OR_FIELD
from tidelog.syntax.tokens import Kind, Token

_MAX_DELAY = 2**32 - 1


def rule(cursor: Cursor, first: Token, attributes: tuple[ast.Attribute, ...] = ()) -> ast.Rule:
    """Takes `heads :- body.` or `heads.`; the rule begins with its attributes, at `first`."""
    heads = [head(cursor)]
    while cursor.accept(",") and not cursor.at(":-"):
        heads.append(head(cursor))
    body: list[ast.Literal] = []
    if cursor.accept(":-"):
        while not cursor.at("."):
            body.append(literal(cursor))
            if not cursor.accept(","):
                break
        cursor.expect(".", ",")
    else:
        cursor.expect(".", ":-")
    return ast.Rule(tuple(heads), tuple(body), attributes, span=cursor.since(first))


def head(cursor: Cursor) -> ast.Atom:
    """Takes an atom of a head, and the `@` place behind it."""
    first = cursor.token
    found = atom(cursor, bare=True)
    if not cursor.accept("@"):
        return found
    location = value(cursor)
    return replace(found, location=location, span=cursor.since(first))


def atom(cursor: Cursor, *, bare: bool = False) -> ast.Atom:
    """Takes an atom; where it may be `bare`, a relation without brackets is one."""
    first = cursor.tokens[cursor.index]
    if first.kind is Kind.UPPER and cursor.tokens[cursor.index + 1].text == "(":
        cursor.index += 2
        name = ast.Name(first.text, span=cursor.span(first))
        return ast.Atom(name, cursor.listed(")", _argument), span=cursor.since(first))
    binding = None
    if first.kind is Kind.LOWER and cursor.peek().text == "in":
        binding = cursor.name("a variable", Kind.LOWER)
        cursor.next()
        if cursor.token.kind is Kind.LOWER and cursor.peek().text != "::":
            _refuse_items(cursor, binding.text)
    reference = cursor.accept("&")
    relation = cursor.scoped("a relation's name", Kind.UPPER)
    delay = _delay(cursor)
    prime = cursor.accept("'")
    arguments: tuple[ast.Argument, ...] = ()
    whole = None
    is_bare = False
    if cursor.accept("("):
        arguments = cursor.listed(")", _argument)
    elif cursor.accept("["):
        whole = expression(cursor)
        cursor.expect("]")
    elif bare:
        is_bare = True
    else:
        cursor.expect("(", "[", help=f"`{relation.text}()` stands for any row")
    span = cursor.since(first)
    return ast.Atom(relation, arguments, whole, is_bare, binding, reference, delay, prime, span=span)


def _refuse_items(cursor: Cursor, name: str) -> NoReturn:
    """`x in items`, where the items are a value."""
    items = cursor.token.text
    help = f"`var {name} = FlatMap({items})` binds each item, `contains({items}, {name})` is true for one of them"
    message = "behind `in` stands a relation, whose name begins with a capital letter"
    cursor.fail(Code.WRONG_CASE, message, f"`{items}` is a variable", help=help)


def literal(cursor: Cursor) -> ast.Literal:
    """Takes a literal of a body."""
    first = cursor.tokens[cursor.index]
    if _atom_follows(cursor):
        if cursor.accept("not"):
            negated = atom(cursor)
            return ast.Negative(negated, span=cursor.since(first))
        positive = atom(cursor)
        return ast.Positive(positive, span=positive.span)
    if cursor.accept("Inspect"):
        inspected = expression(cursor)
        return ast.Inspect(inspected, span=cursor.since(first))
    left = value(cursor)
    if not cursor.at("="):
        return ast.Condition(left, span=cursor.since(first))
    equals = cursor.next()
    if cursor.at("FlatMap"):
        return _flat_map(cursor, first, left)
    if cursor.at("Aggregate"):
        return _aggregate(cursor, first, left)
    right = value(cursor)
    if cursor.at("="):
        cursor.unexpected("`,` or `.`")
    if _is_by(cursor):
        cursor.next()
        cursor.next()
        keys = cursor.listed(")", expression)
        return ast.RowAggregates(left, right, keys, span=cursor.since(first))
    span = cursor.since(first)
    match left:
        case ast.Variable(name):
            cursor.fail(
                Code.PLAIN_ASSIGNMENT,
                f"`{name} = …` is neither a condition nor an assignment",
                "a condition has `==`",
                help=_aggregate_help(right) or _bound_or_compared(cursor, first, name, right.span.text),
                at=equals,
            )
        case ast.VariableDeclaration(name):
            return ast.Assignment(name, None, right, span=span)
        case ast.Annotation(ast.VariableDeclaration(name), annotation):
            return ast.Assignment(name, annotation, right, span=span)
        case _:
            return ast.Destructuring(left, right, span=span)


def _bound_or_compared(cursor: Cursor, first: Token, name: str, text: str) -> str:
    """Returns both texts that may be meant by `name = text`; comparing comes first if the body has the name already."""
    place = cursor.tokens.index(first, 0, cursor.index)
    known = False
    while place > 0 and cursor.tokens[place].text not in (":-", "."):
        place -= 1
        known = known or cursor.tokens[place].text == name
    helps = [f"`var {name} = {text}` binds", f"`{name} == {text}` compares"]
    return ", ".join(reversed(helps) if known else helps)


def _aggregate_help(right: ast.Expression) -> str | None:
    """Returns how an aggregate is written, if the right of a `=` looks like one: `sum x : { … }`, `count(x)`."""
    match right:
        case ast.Variable(name) | ast.Call(ast.Variable(name), () | (_,)) | ast.Annotation(ast.Variable(name)):
            return aggregate(name)
        case _:
            return None


def _is_by(cursor: Cursor) -> bool:
    """True before `by (`. No value of the language is followed by a name, so that `by` stays a name elsewhere."""
    return cursor.at_word("by") and cursor.peek().text == "("


def _atom_follows(cursor: Cursor) -> bool:
    """True before `not x in &m::R-1'(` or any part of it that ends in a relation and a bracket."""
    token, after = cursor.tokens[cursor.index], cursor.peek()
    if token.kind is Kind.UPPER and after.text == "(":
        return True
    distance = 0
    if token.text == "not" and token.kind is Kind.KEYWORD:
        distance = 1
        token, after = after, cursor.peek(2)
    if token.kind is Kind.LOWER and after.text == "in" and after.kind is Kind.KEYWORD:
        return True
    if token.text == "&":
        distance += 1
    distance = cursor.scope_end(distance)
    if cursor.peek(distance).kind is not Kind.UPPER:
        return False
    if cursor.peek(distance + 1).text == "-" and cursor.peek(distance + 2).kind is Kind.INTEGER:
        distance += 2
    if cursor.peek(distance + 1).text == "'":
        distance += 1
    return cursor.peek(distance + 1).text in ("(", "[")


def _argument(cursor: Cursor) -> ast.Argument:
    return argument(cursor, expression, COLUMN_OR_FIELD)


def _delay(cursor: Cursor) -> int:
    if not cursor.accept("-"):
        return 0
    token = cursor.next()
    if token.kind is not Kind.INTEGER or not token.text.isdecimal() or len(token.text) > 10:
        cursor.fail(Code.UNEXPECTED_TOKEN, "expected a number of epochs behind `-`", "", at=token)
    delay = int(token.text)
    if delay > _MAX_DELAY:
        cursor.fail(Code.BAD_NUMBER, f"a delay is at most {_MAX_DELAY}", "this is more", at=token)
    return delay


def _flat_map(cursor: Cursor, first: Token, pattern: ast.Expression) -> ast.FlatMap:
    cursor.next()
    cursor.expect("(")
    collection = expression(cursor)
    cursor.expect(")")
    span = cursor.since(first)
    if isinstance(pattern, ast.Variable):
        message = f"`{pattern.name} = FlatMap(…)` binds no variable"
        help = f"`var {span.text}`"
        cursor.fail(Code.PLAIN_ASSIGNMENT, message, "a new variable has `var`", help=help, at=pattern.span)
    return ast.FlatMap(pattern, collection, span=span)


def _aggregate(cursor: Cursor, first: Token, variable: ast.Expression) -> ast.Aggregate:
    if not isinstance(variable, ast.VariableDeclaration):
        cursor.fail(Code.UNEXPECTED_TOKEN, "only `var x` stands before `= Aggregate`", "", at=first)
    cursor.next()
    cursor.expect("(")
    if cursor.accept("("):
        keys = cursor.listed(")", _key)
    else:
        keys = (_key(cursor),)
    cursor.expect(",")
    function = cursor.scoped("a function", Kind.LOWER)
    cursor.expect("(")
    collected = expression(cursor)
    cursor.expect(")")
    cursor.expect(")")
    return ast.Aggregate(variable.name, keys, function, collected, span=cursor.since(first))


def _key(cursor: Cursor) -> ast.Variable:
    name = cursor.name("a variable", Kind.LOWER)
    return ast.Variable(name.text, span=name.span)
