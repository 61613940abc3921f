"""JSON text → a tree whose nodes have positions.

Errors have the words and positions of serde_json: a line, and a column in bytes that counts the text read so far, with
or without the offending character. A tree can also be made without text (`place` is None then).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, NoReturn

from tidelog.values.floats import double

_BLANK = re.compile(r"[ \t\n\r]*")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_DEEPEST = 127
_WORDS = {"n": ("null", "null", None), "t": ("true", "bool", True), "f": ("false", "bool", False)}


class JsonError(Exception):
    """An error, and the offset after the text read so far; `place` is None until it is known."""

    def __init__(self, message: str, place: int | None) -> None:
        super().__init__(message)
        self.message = message
        self.place = place

    def text(self, source: str) -> str:
        """Returns the message with line and column."""
        if self.place is None:
            return self.message
        before = source[: self.place]
        line = before.count("\n") + 1
        column = len(before[before.rfind("\n") + 1 :].encode())
        return f"{self.message} at line {line} column {column}"


@dataclass(frozen=True, slots=True)
class Node:
    """`kind` is null, bool, int, float, string, array or object; `value` is a Python value, or Items, or Entries.

    `start` and `end` are offsets into the text, if there is one.
    """

    kind: str
    value: Any
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """An item of an array; `after` is the position of an error after it."""

    node: Node
    after: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """An attribute of an object; `colon` and `after` are the positions of errors at the key and after the entry."""

    key: str
    node: Node
    key_end: int | None = None
    colon: int | None = None
    after: int | None = None


def parse_json(text: str) -> Node:
    """Returns the tree of a text that is one JSON value; raises JsonError."""
    reader = _Reader(text)
    node = reader.value(_DEEPEST)
    reader.skip_blanks()
    if reader.at < len(text):
        reader.fail_at("trailing characters")
    return node


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self.at = 0

    def value(self, depth: int) -> Node:
        self.skip_blanks()
        start, char = self.at, self._peek()
        match char:
            case "":
                self.fail_at("EOF while parsing a value")
            case '"':
                self.at += 1
                return Node("string", self._string(), start, self.at)
            case "[" | "{":
                self.at += 1
                if depth == 0:
                    self.fail("recursion limit exceeded")
                return self._array(start, depth - 1) if char == "[" else self._object(start, depth - 1)
            case "n" | "t" | "f":
                word, kind, value = _WORDS[char]
                self.at += 1
                self._rest_of(word)
                return Node(kind, value, start, self.at)
            case _ if char == "-" or "0" <= char <= "9":
                kind, number = self._number()
                return Node(kind, number, start, self.at)
            case _:
                self.fail_at("expected value")

    def skip_blanks(self) -> None:
        found = _BLANK.match(self._text, self.at)
        assert found is not None
        self.at = found.end()

    def fail(self, message: str) -> NoReturn:
        """Raises an error at the last character that was read."""
        raise JsonError(message, self.at)

    def fail_at(self, message: str) -> NoReturn:
        """Raises an error at the next character."""
        raise JsonError(message, min(self.at + 1, len(self._text)))

    def _array(self, start: int, depth: int) -> Node:
        items: list[Item] = []
        self.skip_blanks()
        if self._peek() == "]":
            self.at += 1
            return Node("array", items, start, self.at)
        while True:
            node = self.value(depth)
            self.skip_blanks()
            char = self._peek()
            if char not in ("]", ","):
                self.fail_at("expected `,` or `]`" if char else "EOF while parsing a list")
            self.at += 1
            if char == ",":
                self.skip_blanks()
            items.append(Item(node, self.at))
            if char == "]":
                return Node("array", items, start, self.at)
            if self._peek() == "]":
                self.fail_at("trailing comma")

    def _object(self, start: int, depth: int) -> Node:
        entries: list[Entry] = []
        self.skip_blanks()
        if self._peek() == "}":
            self.at += 1
            return Node("object", entries, start, self.at)
        while True:
            char = self._peek()
            if char != '"':
                self.fail_at("key must be a string" if char else "EOF while parsing an object")
            self.at += 1
            key = self._string()
            key_end = self.at
            self.skip_blanks()
            colon = self.at
            if self._peek() != ":":
                self.fail_at("expected `:`" if self._peek() else "EOF while parsing an object")
            self.at += 1
            node = self.value(depth)
            self.skip_blanks()
            char = self._peek()
            if char not in ("}", ","):
                self.fail_at("expected `,` or `}`" if char else "EOF while parsing an object")
            after = self.at + (char == "}")
            self.at += 1
            entries.append(Entry(key, node, key_end, colon, after))
            if char == "}":
                return Node("object", entries, start, self.at)
            self.skip_blanks()
            if self._peek() in ("}", ""):
                self.fail_at("trailing comma" if self._peek() else "EOF while parsing a value")

    def _string(self) -> str:
        """Returns the text of a string whose opening quote has been read."""
        parts = []
        while True:
            plain = _PLAIN.match(self._text, self.at)
            assert plain is not None
            parts.append(plain[0])
            self.at = plain.end() + 1
            match self._text[self.at - 1 : self.at]:
                case '"':
                    return "".join(parts)
                case "\\":
                    parts.append(self._escape())
                case "":
                    self.at -= 1
                    self.fail("EOF while parsing a string")
                case _:
                    self.fail("control character (\\u0000-\\u001F) found while parsing a string")

    def _escape(self) -> str:
        char = self._next("EOF while parsing a string")
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char != "u":
            self.fail("invalid escape")
        code = self._four_digits()
        if 0xDC00 <= code < 0xE000:
            self.fail("lone leading surrogate in hex escape")
        if not 0xD800 <= code < 0xDC00:
            return chr(code)
        for wanted in "\\u":
            if self._next("EOF while parsing a string") != wanted:
                self.fail("unexpected end of hex escape")
        low = self._four_digits()
        if not 0xDC00 <= low < 0xE000:
            self.fail("lone leading surrogate in hex escape")
        return chr(0x10000 + (code - 0xD800 << 10) + low - 0xDC00)

    def _four_digits(self) -> int:
        text = self._text[self.at : self.at + 4]
        self.at += len(text)
        if len(text) < 4:
            self.fail("EOF while parsing a string")
        if not _HEX.fullmatch(text):
            self.fail("invalid escape")
        return int(text, 16)

    def _number(self) -> tuple[str, int | float]:
        start = self.at
        self.at += self._peek() == "-"
        first = self._next("EOF while parsing a value")
        if not "0" <= first <= "9":
            self.fail("invalid number")
        if first == "0" and self._peek().isdecimal() and self._peek().isascii():
            self.fail_at("invalid number")
        self._digits()
        broken = False
        if self._peek() == ".":
            self.at += 1
            broken = True
            if not self._digits():
                self.fail_at("invalid number" if self._peek() else "EOF while parsing a value")
        if self._peek() in ("e", "E"):
            self.at += 1
            broken = True
            self.at += self._peek() in ("+", "-")
            if not "0" <= self._next("EOF while parsing a value") <= "9":
                self.fail("invalid number")
            self._digits()
        text = self._text[start : self.at]
        # Minus zero is no integer; what is too long for any is not looked at digit by digit.
        if not broken and text != "-0" and len(text) < 42:
            return "int", int(text)
        number = float(text)
        if math.isinf(number):
            self.fail("number out of range")
        return "float", double(number)

    def _digits(self) -> bool:
        start = self.at
        while "0" <= self._peek() <= "9":
            self.at += 1
        return self.at > start

    def _rest_of(self, word: str) -> None:
        for wanted in word[1:]:
            if self._next("EOF while parsing a value") != wanted:
                self.fail("expected ident")

    def _peek(self) -> str:
        return self._text[self.at : self.at + 1]

    def _next(self, at_end: str) -> str:
        char = self._peek()
        if not char:
            self.fail(at_end)
        self.at += 1
        return char
