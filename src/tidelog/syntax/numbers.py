"""Number tokens → values: `255`, `1_000`, `'hff`, `8'd10`, `8'shff`; `1.5`, `2e3`, `32'f1.5`.

A literal with a width must fit into that many bits. With `s` the bits are read as two's complement, so `8'shff` is -1.
"""

from __future__ import annotations

import math
import re
import struct
from typing import NoReturn

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
_FLOAT = re.compile(r"(?:(?P<width>\d[\d_]*)?'f)?(?P<digits>\d[\d_]*(?:\.\d+(?:[eE][+-]?\d+)?|[eE][+-]?\d+))", re.ASCII)


def integer(cursor: Cursor, token: Token) -> ast.Integer:
    """Returns the value of an INTEGER token, already taken."""
    text = token.text
    if text.isdecimal() and len(text) < 20:
        return ast.Integer(int(text), None, False, "d", spelling=(text,), span=cursor.span(token))
    form = _FORM.fullmatch(text)
    if form is None:
        _not_a_number(cursor, token, "a number is written `10`, `8'd10`, `8'hff`, `8'b1` or `8'sd5`")
    base = form["base"] or "d"
    digits = form["digits"].replace("_", "")
    if any(int(digit, 16) >= _BASES[base] for digit in digits):
        _not_a_number(cursor, token, f"a digit is not of base {_BASES[base]}")
    width = width_of(cursor, form["width"], token) if form["width"] else None
    value = _value(digits, _BASES[base])
    if value is None or value.bit_length() > (width or MAX_WIDTH):
        _does_not_fit(cursor, token, f"it needs more than {width or MAX_WIDTH} bits")
    signed = bool(form["signed"])
    if width is not None and signed and value >> (width - 1):
        value -= 1 << width
    return ast.Integer(value, width, signed, base, spelling=(text,), span=cursor.span(token))


def float_(cursor: Cursor, token: Token) -> ast.Float:
    """Returns the value of a FLOAT token, already taken."""
    form = _FLOAT.fullmatch(token.text)
    if form is None:
        _not_a_number(cursor, token, "a fraction is written `1.5`, `2e3`, `32'f1.5` or `64'f1.5`")
    width = _value(form["width"].replace("_", ""), 10) if form["width"] else None
    if form["width"] and width not in (32, 64):
        message = "the width of a floating-point number is 32 or 64"
        cursor.fail(Code.BAD_WIDTH, message, f"this is {_cut(form['width'])}", at=token)
    value = float(form["digits"].replace("_", ""))
    if math.isinf(value) or (width == 32 and not _is_float(value)):
        _does_not_fit(cursor, token, "it is too large")
    digits = "" if "'" in token.text else form["digits"].replace("_", "")
    return ast.Float(value, width, digits, spelling=(token.text,), span=cursor.span(token))


def width_of(cursor: Cursor, digits: str, token: Token) -> int:
    """Returns a number of bits, from 1 to MAX_WIDTH; reports anything else at the token."""
    value = _value(digits.replace("_", ""), 10) if digits.replace("_", "").isdecimal() else None
    if value is None or not 1 <= value <= MAX_WIDTH:
        message = f"a width is a number from 1 to {MAX_WIDTH}"
        cursor.fail(Code.BAD_WIDTH, message, f"`{_cut(digits or token.text)}` is not", at=token)
    return value


def _value(digits: str, base: int) -> int | None:
    # Past this length the value is out of reach anyway, and Python refuses or is slow to convert it.
    return int(digits, base) if len(digits.lstrip("0")) <= MAX_WIDTH and (base != 10 or len(digits) <= 4000) else None


def _is_float(value: float) -> bool:
    try:
        struct.pack("<f", value)
    except OverflowError:
        return False
    return True


def _not_a_number(cursor: Cursor, token: Token, label: str) -> NoReturn:
    cursor.fail(Code.BAD_NUMBER, f"`{_cut(token.text)}` is not a number", label, at=token)


def _does_not_fit(cursor: Cursor, token: Token, label: str) -> NoReturn:
    cursor.fail(Code.BAD_NUMBER, f"`{_cut(token.text)}` does not fit its width", label, at=token)


def _cut(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."
