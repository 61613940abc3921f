"""Lines of text → tokens of the command language, on demand.

The scanner never reads a line before it needs it: after the end of a command, nothing more has been read, so the
command can run before the next line is typed. Blanks, line ends and comments (`#` to the end of the line) only separate
tokens; a string may span several lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from tidelog.shell.place import IncompleteError, Place, bad_command

_EXPONENT = r"[eE][+-]?\d+"
_TOKEN = re.compile(
    rf"""
    (?:[ \t\r\n]+|\#[^\n]*)*
    (?:
        (?P<word>[A-Za-z_](?:[A-Za-z0-9_?]|::|\.(?=[A-Za-z_]))*)
      | (?P<float>[+-]?(?:\d+(?:\.\d*(?:{_EXPONENT})?|{_EXPONENT})|\.\d+(?:{_EXPONENT})?)|-inf\b)
      | (?P<integer>-?[ \t]*(?:0[xX][0-9a-fA-F][0-9a-fA-F_]*|\d[\d_]*))
      | (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<symbol><-|[(){{}}\[\],;.=@%]|\$(?=[A-Za-z_]))
      | (?P<unfinished>")
      | (?P<wrong>.)
      | (?P<end>\Z)
    )
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_IN_STRING = re.compile(r'(?:[^"\\]|\\.)*', re.DOTALL)
# A string, a comment, or one other character; an unfinished one continues in the next line.
_CODE = re.compile(
    r"""
    "(?:[^"\\]|\\.)*" | \[\|.*?\|\] | //[^\n]* | /\*.*?\*/
  | (?P<unfinished>"|\[\||/\*)
  | .
    """,
    re.VERBOSE | re.DOTALL,
)
_BLANKS = re.compile(r"[ \t\r\n]*")
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|(.))", re.DOTALL)
_ESCAPED = {
    "\\": "\\",
    '"': '"',
    "'": "'",
    "?": "?",
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}


class Token(NamedTuple):
    """A piece of text: `kind` is word, float, integer, string, symbol or end; the text of a string is unescaped."""

    kind: str
    text: str
    place: Place


class Scanner:
    """Tokens of one input. `read_line` returns the next line with its line end, and None after the last."""

    def __init__(self, read_line: Callable[[], str | None], source: str = "<stdin>") -> None:
        self._read_line = read_line
        self._source = source
        self._text = ""
        self._position = 0
        self._line = 0
        self._ahead: tuple[Token, int] | None = None

    def peek(self) -> Token:
        """Returns the next token without taking it. Reads lines until there is one; `end` comes after the last line."""
        if self._ahead is None:
            self._ahead = self._scan()
        return self._ahead[0]

    def take(self) -> Token:
        """Returns the next token and moves past it."""
        token = self.peek()
        assert self._ahead is not None
        self._position, self._ahead = self._ahead[1], None
        return token

    def take_part(self, length: int) -> None:
        """Takes only the first characters of the next token, a word; the rest is the next one."""
        token = self.peek()
        assert self._ahead is not None
        self._position, self._ahead = self._ahead[1] - len(token.text) + length, None

    def take_symbol(self, symbol: str) -> bool:
        """Takes the symbol if it is next; True if it was."""
        token = self.peek()
        if token.text != symbol or token.kind != "symbol":
            return False
        self.take()
        return True

    def text_until(self, end: str) -> str:
        """Returns the text before the character, without leading blanks; takes the character too."""
        start = Place(self._source, self._line, self._position + 1)
        self._ahead = None
        pieces: list[str] = []
        while True:
            if not pieces:
                blanks = _BLANKS.match(self._text, self._position)
                assert blanks is not None
                self._position = blanks.end()
            found = self._text.find(end, self._position)
            if found >= 0:
                pieces.append(self._text[self._position : found])
                self._position = found + len(end)
                return "".join(pieces)
            if self._position < len(self._text):
                pieces.append(self._text[self._position :])
            if not self._next_line():
                raise IncompleteError(start)

    def code_until(self, end: str) -> str:
        """Returns program text before the character, except in a string, a comment or brackets; takes the character
        too.
        """
        start = Place(self._source, self._line, self._position + 1)
        self._ahead = None
        pieces = [""]
        depth = 0
        while True:
            found = _CODE.match(self._text, self._position)
            if found is None or found["unfinished"]:
                rest, self._position = self._text[self._position :], 0
                if not self._next_line():
                    raise IncompleteError(start)
                if found is None:
                    pieces.append(rest)
                else:
                    self._text = rest + self._text
                continue
            self._position = found.end()
            piece = found[0]
            depth += (piece in "([{") - (piece in ")]}")
            if piece == end and depth <= 0:
                return "".join(pieces).strip()
            pieces.append(piece)

    def drop_line(self) -> None:
        """Drops the rest of the current line."""
        self._position, self._ahead = len(self._text), None

    def _scan(self) -> tuple[Token, int]:
        while True:
            found = _TOKEN.match(self._text, self._position)
            assert found is not None
            kind = found.lastgroup
            assert kind is not None
            if kind == "end" and self._next_line():
                continue
            start, end = found.span(kind)
            place = Place(self._source, self._line, start + 1)
            text = found[kind]
            match kind:
                case "string":
                    text = _unescape(text[1:-1], place)
                case "unfinished":
                    text, end = self._long_string(end, place)
                    kind = "string"
                case "wrong":
                    raise bad_command(place, f"a command cannot have the character {text!r} here")
            return Token(kind, text, place), end

    def _long_string(self, start: int, place: Place) -> tuple[str, int]:
        """Returns the text of a string that spans lines, and the position after it."""
        pieces = [self._text[start:]]
        while self._next_line():
            found = _IN_STRING.match(self._text)
            assert found is not None
            pieces.append(found[0])
            if self._text.startswith('"', found.end()):
                return _unescape("".join(pieces), place), found.end() + 1
        raise IncompleteError(place)

    def _next_line(self) -> bool:
        line = self._read_line()
        self._text, self._position = line or "", 0
        self._line += line is not None
        return line is not None


def _unescape(text: str, place: Place) -> str:
    if "\\" not in text:
        return text

    def replace(found: re.Match[str]) -> str:
        code, char = found.groups()
        if code is not None and _is_character(int(code, 16)):
            return chr(int(code, 16))
        if char not in _ESCAPED:
            raise bad_command(place, f"the string has an unknown escape {found[0]!r}", "a backslash is written `\\\\`")
        return _ESCAPED[char]

    return _ESCAPE.sub(replace, text)


def _is_character(code: int) -> bool:
    return code < 0xD800 or 0xDFFF < code < 0x110000
