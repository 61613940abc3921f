"""Tokens → constants: numbers, and the text of string literals."""

from __future__ import annotations

from typing import NamedTuple

from tidelog.diagnostics.spans import Span
from tidelog.syntax import ast
from tidelog.syntax.cursor import Cursor
from tidelog.syntax.numbers import float_, integer
from tidelog.syntax.strings import Decoded, decode_quoted, decode_raw
from tidelog.syntax.tokens import Kind


class Text(NamedTuple):
    """A string literal: what it says, the tokens it is made of, and whether it has a `${` with a meaning."""

    decoded: Decoded
    spelling: tuple[str, ...]
    has_holes: bool
    span: Span


def number(cursor: Cursor) -> ast.Integer | ast.Float:
    """Takes an INTEGER or FLOAT token."""
    token = cursor.next()
    return integer(cursor, token) if token.kind is Kind.INTEGER else float_(cursor, token)


def text(cursor: Cursor) -> Text:
    """Takes a STRING, RAW or TEMPLATE token; strings in quotes that follow one another are one."""
    first = cursor.next()
    if first.kind is not Kind.STRING:
        decoded = decode_raw(first)
        has_holes = first.kind is Kind.TEMPLATE and "${" in decoded.text
        return Text(decoded, (first.text,), has_holes, cursor.span(first))
    decoded = decode_quoted(cursor.source, first, cursor.diagnostics)
    spelling = [first.text]
    while cursor.token.kind is Kind.STRING:
        following = cursor.next()
        spelling.append(following.text)
        decoded += decode_quoted(cursor.source, following, cursor.diagnostics)
    return Text(decoded, tuple(spelling), "${" in decoded.text, cursor.since(first))
