"""Tokens → constants: numbers, and the text of string literals."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from typing import NamedTuple

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.spans import Span
from tidelog.iso_texts import parse_date, parse_duration, parse_timestamp
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


def is_temporal(cursor: Cursor) -> bool:
    """True at `date"…"`: the name of a type of times, and a text behind it, which can stand behind no other name."""
    return cursor.tokens[cursor.index].text in _TIMES and cursor.tokens[cursor.index + 1].kind is Kind.STRING


def temporal(cursor: Cursor) -> ast.Temporal:
    """Takes `date"2024-01-31"`; see `is_temporal`."""
    first = cursor.next()
    parse, example = _TIMES[first.text]
    token = cursor.next()
    value = parse(decode_quoted(cursor.source, token, cursor.diagnostics).text)
    if value is None:
        message = f"`{token.text}` is not a {first.text}"
        label = "not in ISO form, or out of range"
        cursor.fail(Code.BAD_TIME, message, label, at=token, help=f"for example `{example}`")
    return ast.Temporal(first.text, value, spelling=(token.text,), span=cursor.since(first))


_TIMES: dict[str, tuple[Callable[[str], date | timedelta | None], str]] = {
    "date": (parse_date, 'date"2024-01-31"'),
    "timestamp": (parse_timestamp, 'timestamp"2024-01-31T13:45:00Z"'),
    "duration": (parse_duration, 'duration"P1DT2H30M"'),
}


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
