"""String tokens → the text they stand for, and where in the source each of its characters is.

Escapes are decoded first, then `${}` is looked for in the result: inside an expression a quote is written `\\"`. The
forms: `"…"` with escapes, `[|…|]` as it stands, `$[|…|]` as it stands but with `${}`. A tab is a blank here as
everywhere in a program: only `\\t` is a tab.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.diagnostics.spans import Source, Span
from tidelog.syntax.lex import lex_until_brace
from tidelog.syntax.tokens import Token

# fmt: off
_NAMED = (
    "NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL", "BS", "HT", "LF", "VT", "FF", "CR", "SO", "SI",
    "DLE", "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB", "ESC", "FS", "GS", "RS", "US", "SP",
)
# fmt: on
_CONTROLS = {name: chr(number) for number, name in enumerate(_NAMED)} | {"DEL": "\x7f"}
_ESCAPE = re.compile(
    rf"""
    \\ (?: (?P<gap>   \s+ \\ )
    |      x (?P<hex> [0-9a-fA-F]+ )
    |      o (?P<oct> [0-7]+ )
    |      (?P<dec>   [0-9]+ )
    |      u \{{ (?P<uni> [0-9a-fA-F]+ ) \}}
    |      (?P<name>  {"|".join(sorted(_CONTROLS, key=len, reverse=True))} )
    |      \^ (?P<ctrl> [A-Z] )
    |      (?P<char>  . )
    )
    """,
    re.ASCII | re.VERBOSE,
)
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_SIMPLE |= {"\\": "\\", '"': '"', "'": "'", "&": ""}
_BASES = {"hex": 16, "oct": 8, "dec": 10, "uni": 16}


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a literal says. Character i stands at `offsets[i]` of the source; there is one offset more, for the end."""

    text: str
    offsets: Sequence[int]

    def __add__(self, other: Decoded) -> Decoded:
        return Decoded(self.text + other.text, (*self.offsets[:-1], *other.offsets))


@dataclass(frozen=True, slots=True)
class Hole:
    """The tokens between `${` and `}`, ending with END."""

    tokens: list[Token]
    span: Span


def decode_quoted(source: Source, token: Token, diagnostics: list[Diagnostic]) -> Decoded:
    """Returns the text of `"…"`; an escape that means nothing is reported and left out."""
    written, last = token.text.replace("\t", " "), token.end
    if "\\" not in written:
        return Decoded(written[1:-1], _offsets(token, 1, len(written) - 1))
    chars: list[str] = []
    offsets: list[int] = []
    position = 1
    while position < len(written) - 1:
        start = position
        if written[position] == "\\":
            match = _ESCAPE.match(written, position)
            assert match is not None, "the lexer lets no lone backslash through"
            position = match.end()
            char = _unescape(match)
            if char is None:
                span = Span(source, min(token.start + start, last), min(token.start + position, last))
                message = f"unknown escape `{match.group()}` in a string"
                label, help = "there is no such character", None
                if match.lastgroup == "char":
                    label, help = (
                        "it means nothing",
                        r"a backslash is written `\\`, any character by its number: `\x41`",
                    )
                diagnostics.append(diagnostic(Code.BAD_ESCAPE, message, span, label, help=help))
                continue
        else:
            position += 1
            char = written[start]
        chars.append(char)
        offsets.extend([min(token.start + start, last)] * len(char))
    offsets.append(min(token.start + position, last))
    return Decoded("".join(chars), tuple(offsets))


def decode_raw(token: Token) -> Decoded:
    """Returns the text of `[|…|]` or `$[|…|]`."""
    start = token.text.index("[|") + 2
    return Decoded(token.text[start:-2].replace("\t", " "), _offsets(token, start, len(token.text) - 2))


def split_template(source: Source, decoded: Decoded, diagnostics: list[Diagnostic]) -> list[str | Hole]:
    """Returns the texts and the `${}` of a string, in order; empty texts are left out."""
    text, offsets = decoded.text, decoded.offsets
    parts: list[str | Hole] = []
    position = 0
    while (start := text.find("${", position)) >= 0:
        if start > position:
            parts.append(text[position:start])
        tokens, found, end = lex_until_brace(source, text, start + 2, offsets)
        diagnostics.extend(found)
        opening = Span(source, offsets[start], offsets[start + 2])
        if end >= len(text):
            if not found:
                message = "`${` is not closed in its string"
                help = r"""a quote inside of it is written `\"`, as in `"${f(\"a\")}"`"""
                diagnostics.append(diagnostic(Code.UNTERMINATED_STRING, message, opening, "it begins here", help=help))
            return parts
        parts.append(Hole(tokens, Span(source, offsets[start], offsets[end + 1])))
        position = end + 1
    if position < len(text):
        parts.append(text[position:])
    return parts


def _offsets(token: Token, start: int, end: int) -> Sequence[int]:
    """Returns the source positions of the characters of a token from `start` to `end` inclusive."""
    if token.end - token.start == len(token.text):
        return range(token.start + start, token.start + end + 1)
    # Inside another string, an escape before it may have moved it.
    return [min(token.start + index, token.end) for index in range(start, end + 1)]


def _unescape(match: re.Match[str]) -> str | None:
    group = match.lastgroup
    if group == "gap":
        return ""
    if group == "char":
        return _SIMPLE.get(match.group("char"))
    if group == "name":
        return _CONTROLS[match.group("name")]
    if group == "ctrl":
        return chr(ord(match.group("ctrl")) - ord("A") + 1)
    assert group is not None
    digits = match.group(group).lstrip("0") or "0"
    # More digits than any character needs; also keeps the conversion short.
    number = int(digits, _BASES[group]) if len(digits) <= 8 else -1
    if 0 <= number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF:
        return chr(number)
    return None
