"""Integer tokens → values: `255`, `1_000`, `'hff`, `8'd10`, `8'shff`.

A literal with a width must fit into that many bits. With `s` the bits are read as two's complement, so `8'shff` is -1.
"""

from __future__ import annotations

import re

from tidelog.diagnostics.codes import Code
from tidelog.syntax import ast
from tidelog.syntax.cursor import Cursor
from tidelog.syntax.tokens import Token

MAX_WIDTH = 8192

_FORM = re.compile(
    r"(?:(?P<width>\d[\d_]*)?'(?P<signed>s?)(?P<base>[bodh]))?(?P<digits>[0-9a-fA-F][0-9a-fA-F_]*)",
    re.ASCII,
)
_BASES = {"b": 2, "o": 8, "d": 10, "h": 16}


def integer(cursor: Cursor, token: Token) -> ast.Integer:
    """The value of an INTEGER token, already taken."""
    if token.text.isdecimal() and len(token.text) < 20:
        return ast.Integer(int(token.text), None, False, "d", span=cursor.span(token))
    form = _FORM.fullmatch(token.text)
    if form is None:
        cursor.fail(Code.BAD_NUMBER, f"`{_cut(token.text)}` is not a number", "", at=token)
    base = form["base"] or "d"
    digits = form["digits"].replace("_", "")
    if any(int(digit, 16) >= _BASES[base] for digit in digits):
        label = f"a digit is not of base {_BASES[base]}"
        cursor.fail(Code.BAD_NUMBER, f"`{_cut(token.text)}` is not a number", label, at=token)
    width = width_of(cursor, form["width"], token) if form["width"] else None
    value = _value(digits, _BASES[base])
    if value is None or value.bit_length() > (width or MAX_WIDTH):
        label = f"it needs more than {width or MAX_WIDTH} bits"
        cursor.fail(Code.BAD_NUMBER, f"`{_cut(token.text)}` does not fit its width", label, at=token)
    signed = bool(form["signed"])
    if width is not None and signed and value >> (width - 1):
        value -= 1 << width
    return ast.Integer(value, width, signed, base, span=cursor.span(token))


def width_of(cursor: Cursor, digits: str, token: Token) -> int:
    """A number of bits, from 1 to MAX_WIDTH; reports anything else at the token."""
    value = _value(digits.replace("_", ""), 10) if digits.replace("_", "").isdecimal() else None
    if value is None or not 1 <= value <= MAX_WIDTH:
        cursor.fail(Code.BAD_WIDTH, f"a width is a number from 1 to {MAX_WIDTH}", "", at=token)
    return value


def _value(digits: str, base: int) -> int | None:
    # Past this length the value is out of reach anyway, and Python refuses or is slow to convert it.
    return int(digits, base) if len(digits.lstrip("0")) <= MAX_WIDTH and (base != 10 or len(digits) <= 4000) else None


def _cut(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."
