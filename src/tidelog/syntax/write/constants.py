"""Literals → text in one standard spelling."""

from __future__ import annotations

from tidelog.iso_texts import value_text
from tidelog.syntax import ast

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_DIGITS = {"b": "b", "o": "o", "d": "d", "h": "x"}
_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")


def write_integer(node: ast.Integer) -> str:
    """Returns the text of an integer; its width, sign and base stay."""
    value = node.value % (1 << node.width) if node.width is not None else node.value
    if node.width is None and node.base == "d" and not node.signed:
        return str(value)
    return f"{node.width or ''}'{'s' if node.signed else ''}{node.base}{value:{_DIGITS[node.base]}}"


def write_float(node: ast.Float) -> str:
    """Returns the digits as they are written, or else the shortest text that gives the number."""
    if node.digits:
        return node.digits
    return f"{node.width}'f{node.value!r}" if node.width else repr(node.value)


def write_temporal(node: ast.Temporal) -> str:
    """Returns the text behind the family: `"2024-01-31"`."""
    return f'"{value_text(node.value)}"'


def write_string(value: str) -> str:
    """Returns the text of a string without `${}`; raw where quotes would give one."""
    return f"[|{value}|]" if "${" in value else f'"{escaped(value)}"'


def escaped(text: str) -> str:
    """Returns the text as it stands between the quotes of a string."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return text
    found: list[str] = []
    for char, following in zip(text, [*text[1:], ""]):
        if char in _ESCAPES:
            found.append(_ESCAPES[char])
        elif char >= " ":
            found.append(char)
        else:
            # A digit behind a number in hexadecimal would be part of it.
            found.append(f"\\x{ord(char):x}" + ("\\&" if following in _HEXADECIMAL else ""))
    return "".join(found)
