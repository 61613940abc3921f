"""Bodies of clauses: conjunctions and disjunctions of atoms, negations and constraints."""

from __future__ import annotations

from tidelog.souffle.text import tree
from tidelog.souffle.text.cursor import Cursor
from tidelog.souffle.text.parse_arguments import OPERATORS, argument, arguments
from tidelog.souffle.text.tokens import Kind

COMPARISONS = ("<", ">", "<=", ">=", "=", "!=")


def body(cursor: Cursor) -> tree.Body:
    """Reads a disjunction."""
    cursor.deeper()
    first = cursor.token
    parts = [_conjunction(cursor)]
    while cursor.take(";"):
        parts.append(_conjunction(cursor))
    cursor.nesting -= 1
    return parts[0] if len(parts) == 1 else tree.Disjunction(tuple(parts), span=cursor.since(first))


def aggregate_body(cursor: Cursor) -> tree.Body:
    """Reads `{ body }`, or one atom."""
    if cursor.take("{"):
        found = body(cursor)
        cursor.expect("}", "`,` or `}`")
        return found
    return atom(cursor)


def atom(cursor: Cursor) -> tree.Atom:
    first = cursor.token
    name, _ = cursor.qualified("an atom")
    cursor.expect("(")
    items = arguments(cursor, ")")
    return tree.Atom(name, items, span=cursor.since(first))


def _conjunction(cursor: Cursor) -> tree.Body:
    first = cursor.token
    parts = [_term(cursor)]
    while cursor.take(","):
        parts.append(_term(cursor))
    return parts[0] if len(parts) == 1 else tree.Conjunction(tuple(parts), span=cursor.since(first))


def _term(cursor: Cursor) -> tree.Body:
    first = cursor.token
    if cursor.take("!"):
        cursor.deeper()
        inside = _term(cursor)
        cursor.nesting -= 1
        return tree.Negation(inside, span=cursor.since(first))
    if cursor.at("true", "false"):
        return tree.Truth(cursor.next().text == "true", span=first.span)
    if cursor.at("match", "contains"):
        operator = cursor.next().text
        cursor.expect("(")
        left = argument(cursor)
        cursor.expect(",")
        right = argument(cursor)
        cursor.expect(")")
        return tree.Constraint(operator, left, right, span=cursor.since(first))
    if cursor.at("(") and not _is_argument(cursor):
        cursor.next()
        inside = body(cursor)
        cursor.expect(")", "`,`, `;` or `)`")
        return inside
    if first.kind is Kind.WORD and _is_atom(cursor):
        return atom(cursor)
    left = argument(cursor)
    if not cursor.at(*COMPARISONS):
        cursor.unexpected("a comparison" if not isinstance(left, tree.Variable) else "`(` or a comparison")
    operator = cursor.next().text
    right = argument(cursor)
    return tree.Constraint(operator, left, right, span=cursor.since(first))


def _is_atom(cursor: Cursor) -> bool:
    """Returns whether a name, perhaps with dots, stands before a `(`."""
    place = 1
    while cursor.peek(place).text == "." and cursor.peek(place + 1).kind is Kind.WORD:
        place += 2
    return cursor.peek(place).text == "("


def _is_argument(cursor: Cursor) -> bool:
    """Returns whether the parentheses that open here are those of an argument: an operator follows them."""
    depth = 0
    for place in range(cursor.index, len(cursor.tokens)):
        token = cursor.tokens[place]
        if token.kind is not Kind.MARK:
            continue
        if token.text == "(":
            depth += 1
        elif token.text == ")":
            depth -= 1
            if not depth:
                after = cursor.tokens[min(place + 1, len(cursor.tokens) - 1)]
                is_sign = after.kind in (Kind.MARK, Kind.KEYWORD)
                return is_sign and (after.text in COMPARISONS or after.text in OPERATORS)
    return False
