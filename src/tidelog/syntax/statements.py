"""Tokens → the statements of imperative rules."""

from __future__ import annotations

from tidelog.syntax import ast
from tidelog.syntax.cursor import Cursor
from tidelog.syntax.expressions import expression
from tidelog.syntax.patterns import pattern
from tidelog.syntax.rules import atom, head
from tidelog.syntax.tokens import Kind


def for_statement(cursor: Cursor) -> ast.ForStatement:
    """Takes `for (atom if condition) statement`."""
    first = cursor.expect("for")
    cursor.expect("(")
    rows = atom(cursor, bare=True)
    condition = expression(cursor) if cursor.accept("if") else None
    cursor.expect(")")
    body = statement(cursor)
    return ast.ForStatement(rows, condition, body, span=cursor.since(first))


def statement(cursor: Cursor) -> ast.Statement:
    """Takes a statement."""
    cursor.enter()
    found = _statement(cursor)
    cursor.leave()
    return found


def _statement(cursor: Cursor) -> ast.Statement:
    first = cursor.token
    if cursor.at("for"):
        return for_statement(cursor)
    if cursor.accept("skip"):
        return ast.SkipStatement(span=cursor.span(first))
    if cursor.at("if"):
        return _if(cursor)
    if cursor.at("match"):
        return _match(cursor)
    if cursor.at("{"):
        return _block(cursor)
    if _head_follows(cursor):
        inserted = head(cursor)
        return ast.InsertStatement(inserted, span=inserted.span)
    assignment = expression(cursor)
    cursor.expect("in")
    body = statement(cursor)
    return ast.AssignStatement(assignment, body, span=cursor.since(first))


def _head_follows(cursor: Cursor) -> bool:
    """True before the atom of a head, false before a struct of a pattern."""
    end = cursor.scope_end(1 if cursor.at("&") else 0)
    return cursor.peek(end).kind is Kind.UPPER and cursor.peek(end + 1).text not in ("{", "=", ":")


def _if(cursor: Cursor) -> ast.IfStatement:
    first = cursor.next()
    cursor.expect("(")
    condition = expression(cursor)
    cursor.expect(")")
    then = statement(cursor)
    otherwise = statement(cursor) if cursor.accept("else") else None
    return ast.IfStatement(condition, then, otherwise, span=cursor.since(first))


def _match(cursor: Cursor) -> ast.MatchStatement:
    first = cursor.next()
    cursor.expect("(")
    subject = expression(cursor)
    cursor.expect(")")
    cursor.expect("{")
    if cursor.at("}"):
        cursor.unexpected("a pattern")
    arms = cursor.listed("}", _arm)
    return ast.MatchStatement(subject, arms, span=cursor.since(first))


def _arm(cursor: Cursor) -> ast.StatementArm:
    first = cursor.token
    matched = pattern(cursor)
    cursor.expect("->")
    body = statement(cursor)
    return ast.StatementArm(matched, body, span=cursor.since(first))


def _block(cursor: Cursor) -> ast.BlockStatement:
    first = cursor.next()
    statements: list[ast.Statement] = []
    while not cursor.at("}"):
        statements.append(statement(cursor))
        if not cursor.accept(";"):
            break
    cursor.expect("}", ";")
    return ast.BlockStatement(tuple(statements), span=cursor.since(first))
