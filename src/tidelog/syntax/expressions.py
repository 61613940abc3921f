"""Tokens → expressions: operators and what stands behind an operand. `terms` has the operands.

From the tightest: postfix (`e?` `e[h:l]` `e.f(…)` `e(…)` `e.f` `e.0` `e: T` `e as T`); prefix `&` `-` `~` `not`; the
levels of `PRIORITY`; and `=`, which has no left or right. Two habits of this language differ from most others: `not`
and the unary operators bind tighter than any binary one, and `&`, `^`, `|` bind looser than comparisons.

Nesting is limited (`cursor.MAX_NESTING`), and so is the height of a tree (`MAX_HEIGHT`, which counts every operator of
a long chain): later passes may recurse over any tree that comes from here. The chains themselves are read in a loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.spans import Span
from tidelog.syntax import ast, terms
from tidelog.syntax.cursor import Cursor
from tidelog.syntax.numbers import integer
from tidelog.syntax.tokens import Kind, Token
from tidelog.syntax.types import type_in_expression

MAX_HEIGHT = 200

_LEVELS = (
    ("=>",),
    ("or",),
    ("and",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!=", "<", "<=", ">", ">="),
    ("++",),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
PRIORITY = {op: level for level, ops in enumerate(_LEVELS) for op in ops}
COMPARISON = PRIORITY["=="]

_PREFIX = frozenset(("&", "-", "~", "not"))
_POSTFIX = frozenset(("as", ":", "[", "(", "?", "."))


def expression(cursor: Cursor) -> ast.Expression:
    """Takes a whole expression, none of it deeper than the limit."""
    return limited(cursor, assignment)


def value(cursor: Cursor) -> ast.Expression:
    """Takes an expression that a `=` ends, none of it deeper than the limit."""
    return limited(cursor, operators)


def assignment(cursor: Cursor) -> ast.Expression:
    """Takes an expression inside another one."""
    token = cursor.tokens[cursor.index]
    if token.kind is Kind.LOWER and cursor.tokens[cursor.index + 1].text in (",", ")"):
        cursor.index += 1
        return ast.Variable(token.text, span=Span(cursor.source, token.start, token.end))
    left = operators(cursor)
    if not cursor.at("="):
        return left
    cursor.next()
    right = operators(cursor)
    if cursor.at("="):
        cursor.fail(Code.UNEXPECTED_TOKEN, "`=` stands twice in one expression", "an assignment has no value to assign")
    return ast.Assign(left, right, span=cursor.since(token))


def operators(cursor: Cursor) -> ast.Expression:
    """Takes an expression inside another one, up to a `=`. All operators associate to the left."""
    first = cursor.tokens[cursor.index]
    start = first.start
    operand = _unary(cursor) if first.text in _PREFIX else _postfix(cursor)
    waiting: list[tuple[int, ast.Expression, str, int]] = []  # where it starts, left side, operator, priority
    while True:
        op, level, length = _operator(cursor)
        while waiting and waiting[-1][3] >= level:
            before = waiting.pop()
            if level == COMPARISON and before[3] == COMPARISON and not {op, before[2]} <= {"==", "!="}:
                _refuse_chain(cursor, before[2], op, length)
            start = before[0]
            span = Span(cursor.source, start, cursor.tokens[cursor.index - 1].end)
            operand = ast.Binary(before[2], before[1], operand, span=span)
        if level < 0:
            return operand
        cursor.index += length
        waiting.append((start, operand, op, level))
        first = cursor.tokens[cursor.index]
        start = first.start
        operand = _unary(cursor) if first.text in _PREFIX else _postfix(cursor)


def limited(cursor: Cursor, rule: Callable[[Cursor], ast.Expression]) -> ast.Expression:
    """Returns the result of the rule. Fails if the expression is deeper than the limit."""
    first, holes = cursor.index, cursor.holes
    tree = rule(cursor)
    # A tree has no more levels than tokens, but for the tokens inside its strings.
    may_be_deep = cursor.index - first > MAX_HEIGHT // 2 or cursor.holes > holes
    if may_be_deep and ast.height(tree) > MAX_HEIGHT:
        cursor.too_deep(tree.span, MAX_HEIGHT)
    return tree


def _operator(cursor: Cursor) -> tuple[str, int, int]:
    """Returns the binary operator that stands here, its priority (-1 if there is none) and how many tokens it has."""
    token = cursor.tokens[cursor.index]
    level = PRIORITY.get(token.text, -1)
    if level < 0 or (token.kind is not Kind.OPERATOR and token.kind is not Kind.KEYWORD):
        return "", -1, 0
    if token.text == ">":
        after = cursor.peek()
        if after.start == token.end and after.text in (">", "="):
            op = token.text + after.text
            return op, PRIORITY[op], 2
    return token.text, level, 1


def _refuse_chain(cursor: Cursor, first: str, second: str, length: int) -> NoReturn:
    """`a < b < c` has no meaning; `a == b == c` compares the first answer."""
    span = Span(cursor.source, cursor.token.start, cursor.peek(length - 1).end)
    label = "a comparison cannot be compared without parentheses"
    message = f"`{first}` and `{second}` stand in one chain"
    help = f"`a {first} b and b {second} c` compares both ways"
    cursor.fail(Code.CHAINED_COMPARISON, message, label, help=help, at=span)


def _unary(cursor: Cursor) -> ast.Expression:
    prefixes: list[Token] = []
    while cursor.token.text in _PREFIX:
        cursor.enter()
        prefixes.append(cursor.next())
    operand = _postfix(cursor)
    for prefix in reversed(prefixes):
        cursor.leave()
        span = cursor.since(prefix)
        operand = (
            ast.Reference(operand, span=span) if prefix.text == "&" else ast.Unary(prefix.text, operand, span=span)
        )
    return operand


def _postfix(cursor: Cursor) -> ast.Expression:
    first = cursor.tokens[cursor.index]
    operand = terms.TERMS[first.kind](cursor)
    while cursor.tokens[cursor.index].text in _POSTFIX:
        if cursor.accept("as"):
            target = type_in_expression(cursor)
            operand = ast.Cast(operand, target, span=cursor.since(first))
        elif cursor.accept(":"):
            target = type_in_expression(cursor)
            operand = ast.Annotation(operand, target, span=cursor.since(first))
        elif cursor.accept("?"):
            operand = ast.Try(operand, span=cursor.since(first))
        elif cursor.accept("["):
            high = _slice_end(cursor)
            cursor.expect(":")
            low = _slice_end(cursor)
            cursor.expect("]")
            operand = ast.Slice(operand, high, low, span=cursor.since(first))
        elif cursor.at("("):
            arguments = terms.call_arguments(cursor)
            operand = ast.Call(operand, arguments, span=cursor.since(first))
        elif cursor.at(".") and continues(cursor):
            operand = _member(cursor, first, operand)
        else:
            break
    return operand


def continues(cursor: Cursor) -> bool:
    """True if the dot here is that of `x.f` or `x.0`, false if it ends a rule."""
    dot, after = cursor.token, cursor.peek()
    if after.kind is Kind.INTEGER or after.kind is Kind.FLOAT:
        return True
    # Between the brackets of an expression no rule ends.
    if not cursor.nesting and "\n" in cursor.source.text[dot.end : after.start]:
        return False
    if after.kind is Kind.LOWER and after.text == "index" and cursor.peek(2).kind in (Kind.UPPER, Kind.LOWER):
        return False
    end = cursor.scope_end(1)
    return (after.kind is Kind.LOWER or end > 1) and cursor.peek(end).kind is Kind.LOWER


def _member(cursor: Cursor, first: Token, operand: ast.Expression) -> ast.Expression:
    cursor.next()
    token = cursor.token
    if token.kind is Kind.INTEGER or token.kind is Kind.FLOAT:
        cursor.next()
        return _tuple_fields(cursor, first, operand, token)
    name = cursor.scoped("the name of a field or a function", Kind.LOWER)
    if cursor.at("("):
        arguments = terms.call_arguments(cursor)
        return ast.MethodCall(operand, name, arguments, span=cursor.since(first))
    if name.module:
        cursor.expect("(")
    return ast.FieldAccess(operand, name, span=cursor.since(first))


def _tuple_fields(cursor: Cursor, first: Token, operand: ast.Expression, token: Token) -> ast.Expression:
    """`x.0`, and `x.0.1`, whose numbers look like one with a point."""
    end = token.start
    for digits in token.text.split("."):
        if not digits.isdecimal() or len(digits) > 9:
            cursor.fail(Code.UNEXPECTED_TOKEN, "expected the number of a field", "", at=token)
        end += len(digits)
        operand = ast.TupleField(operand, int(digits), span=Span(cursor.source, first.start, min(end, token.end)))
        end += 1
    return operand


def _slice_end(cursor: Cursor) -> int:
    token = cursor.token
    if token.kind is not Kind.INTEGER:
        cursor.unexpected("the number of a bit")
    cursor.next()
    return integer(cursor, token).value
