"""Source text of Soufflé's language → tokens. Comments leave none; a line of the preprocessor is one token."""

from __future__ import annotations

import re

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.diagnostics.spans import Source, Span
from tidelog.souffle.text.tokens import DIRECTIVES, KEYWORDS, Kind, Token

_PATTERN = re.compile(
    r"""
    (?P<space>[ \t\r\v\f\n]+)
  | (?P<comment>//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)
  | (?P<open>/\*)
  | (?P<directive>\.[a-z_]+(?=[ \t\r\v\f\n]|$))
  | (?P<address>[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+)
  | (?P<float>[0-9]+\.[0-9]+)
  | (?P<unsigned>(?:0b[01]+|0x[0-9a-fA-F]+|[0-9]+)u(?![\w?]))
  | (?P<number>0b[01]+|0x[0-9a-fA-F]+|[0-9]+)
  | (?P<choice>choice-domain)
  | (?P<word>[_?a-zA-Z][_?a-zA-Z0-9]*)
  | (?P<string>"(?:\\.|[^"\\])*")
  | (?P<mark>->|::|:-|<:|<=|>=|!=|@!|\#\#|[|\[\]$+\-(),:;.=!*/^%{}<>@\#'])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {
    '"': '"',
    "'": "'",
    "\\": "\\",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}
_LARGEST_BYTE = 255


def lex(source: Source, start: int = 0, end: int | None = None) -> tuple[list[Token], list[Diagnostic]]:
    """Returns the tokens of a source, or of a part of it, the last of which is an `END`; and what is wrong."""
    return _Lexing(source, start, len(source.text) if end is None else end).run()


class _Lexing:
    def __init__(self, source: Source, start: int, end: int) -> None:
        self._source, self._at, self._end = source, start, end
        self._whole = start == 0
        self._tokens: list[Token] = []
        self._diagnostics: list[Diagnostic] = []

    def run(self) -> tuple[list[Token], list[Diagnostic]]:
        text, end = self._source.text, self._end
        spaced, first = True, self._whole
        while self._at < end:
            found = _PATTERN.match(text, self._at, end)
            start = self._at
            if found is None:
                self._at += 1
                self._report_character(start)
                continue
            kind, body = found.lastgroup or "", found.group()
            if kind in ("space", "comment"):
                self._at = found.end()
                spaced = True
                first = first or (self._whole and "\n" in body)
                continue
            if body == "#" and first:
                self._line(start)
                continue
            self._at = found.end()
            if kind == "open":
                self._report(Code.UNTERMINATED_COMMENT, "a comment does not end", start, start + 2, "begins here")
                break
            self._token(kind, body, start, spaced)
            spaced = first = False
        span = Span(self._source, end, end)
        self._tokens.append(Token(Kind.END, "", "", span))
        return self._tokens, self._diagnostics

    def _line(self, start: int) -> None:
        """Takes a line of the preprocessor; a backslash at its end joins the next one to it."""
        text, end = self._source.text, start
        while True:
            end = text.find("\n", end, self._end)
            if end < 0:
                end = self._end
                break
            if text[max(start, end - 2) : end].rstrip("\r").endswith("\\"):
                end += 1
                continue
            break
        self._tokens.append(Token(Kind.LINE, "#", text[start + 1 : end], Span(self._source, start, end)))
        self._at = end

    def _token(self, group: str, body: str, start: int, spaced: bool) -> None:
        span = Span(self._source, start, start + len(body))
        kind, value = Kind.MARK, body
        match group:
            case "directive" if body in DIRECTIVES:
                kind = Kind.DIRECTIVE
            case "directive":
                self._tokens.append(Token(Kind.MARK, ".", ".", Span(self._source, start, start + 1), spaced))
                self._at = start + 1
                return
            case "address":
                kind, value = Kind.NUMBER, self._address(body, start)
            case "float":
                kind = Kind.FLOAT
            case "unsigned":
                kind, value = Kind.UNSIGNED, body[:-1]
            case "number":
                kind = Kind.NUMBER
            case "choice":
                kind = Kind.KEYWORD
            case "word":
                kind = Kind.KEYWORD if body in KEYWORDS else Kind.WORD
            case "string":
                kind, value = Kind.STRING, self._string(body, start)
        self._tokens.append(Token(kind, body, value, span, spaced))

    def _address(self, body: str, start: int) -> str:
        parts = [int(part) for part in body.split(".")]
        if max(parts) > _LARGEST_BYTE:
            self._report(
                Code.BAD_NUMBER,
                f"`{body}` is no IP address",
                start,
                start + len(body),
                "each of the four numbers is at most 255",
            )
        value = sum(part << shift for part, shift in zip(parts, (24, 16, 8, 0), strict=True)) & 0xFFFFFFFF
        return str(value - (1 << 32) if value >> 31 else value)

    def _string(self, body: str, start: int) -> str:
        if "\\" not in body:
            return body[1:-1]
        made: list[str] = []
        inside = body[1:-1]
        place = 0
        while place < len(inside):
            char = inside[place]
            if char == "\\":
                place += 1
                escape = inside[place] if place < len(inside) else ""
                if escape not in _ESCAPES:
                    self._report(
                        Code.BAD_ESCAPE,
                        f"`\\{escape}` is no escape",
                        start + place,
                        start + place + 2,
                        "not known",
                        help=r"the escapes are `\"`, `\'`, `\\`, `\a`, `\b`, `\f`, `\n`, `\r`, `\t` and `\v`",
                    )
                char = _ESCAPES.get(escape, escape)
            made.append(char)
            place += 1
        return "".join(made)

    def _report_character(self, start: int) -> None:
        char = self._source.text[start]
        if char == '"':
            self._at = self._end
            self._report(Code.UNTERMINATED_STRING, "a text does not end", start, start + 1, "begins here")
            return
        self._report(Code.UNEXPECTED_CHARACTER, f"`{char}` has no meaning here", start, start + 1, "not expected")

    def _report(self, code: Code, message: str, start: int, end: int, label: str, help: str | None = None) -> None:
        self._diagnostics.append(diagnostic(code, message, Span(self._source, start, end), label, help=help))
