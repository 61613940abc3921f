"""The tokens of an `#if` → the number that they are.

There are integers and `! ~ - + * / % << >> < <= > >= == != & ^ | && || ?:`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_LEVELS = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
FOREIGN = {"&&": "land", "&": "band", "~": "bnot", "?": "lnot"}
_OWN = {word: operator for operator, word in FOREIGN.items()}
_TOKEN = re.compile(r"\s*(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+|\w+|\|\||&&|==|!=|<=|>=|<<|>>|.)")
_DEEPEST = 200


class _UnreadableError(Exception):
    pass


def evaluate_condition(words: Sequence[str]) -> int | None:
    """Returns the value of a condition, or None where it cannot be read. A word that is no macro is 0."""
    words = [_OWN.get(word, word) for word in words]
    text = "".join(word if re.fullmatch(r"[|&=<>!]", word) else f"{word} " for word in words)
    reading = _Reading([found for found in _TOKEN.findall(text) if not found.isspace()])
    try:
        value = reading.whole(0)
    except (_UnreadableError, ZeroDivisionError, ValueError, OverflowError):
        return None
    return value if reading.at == len(reading.words) else None


class _Reading:
    def __init__(self, words: list[str]) -> None:
        self.words, self.at = words, 0

    def whole(self, depth: int) -> int:
        """Reads a condition, and what follows it between `?` and `:`, and behind that."""
        found = self.binary(0, depth)
        if not self._takes("?"):
            return found
        first = self.whole(depth + 1)
        if not self._takes(":"):
            raise _UnreadableError
        second = self.whole(depth + 1)
        return first if found else second

    def _takes(self, word: str) -> bool:
        taken = self.at < len(self.words) and self.words[self.at] == word
        self.at += taken
        return taken

    def binary(self, level: int, depth: int) -> int:
        if level == len(_LEVELS):
            return self._unary(depth)
        left = self.binary(level + 1, depth)
        while self.at < len(self.words) and self.words[self.at] in _LEVELS[level]:
            operator = self.words[self.at]
            self.at += 1
            left = _apply(operator, left, self.binary(level + 1, depth))
        return left

    def _unary(self, depth: int) -> int:
        if self.at >= len(self.words) or depth > _DEEPEST:
            raise _UnreadableError
        word = self.words[self.at]
        self.at += 1
        match word:
            case "!":
                return int(not self._unary(depth + 1))
            case "-":
                return -self._unary(depth + 1)
            case "+":
                return self._unary(depth + 1)
            case "~":
                return ~self._unary(depth + 1)
            case "(":
                value = self.whole(depth + 1)
                if not self._takes(")"):
                    raise _UnreadableError
                return value
        if word[0].isdigit():
            return int(word.rstrip("uUlL"), 0 if word[:2].lower() in ("0x", "0b") else 10)
        if word[0].isalpha() or word[0] == "_":
            return 0
        raise _UnreadableError


def _apply(operator: str, left: int, right: int) -> int:
    match operator:
        case "||":
            return int(bool(left) or bool(right))
        case "&&":
            return int(bool(left) and bool(right))
        case "|":
            return left | right
        case "^":
            return left ^ right
        case "&":
            return left & right
        case "==":
            return int(left == right)
        case "!=":
            return int(left != right)
        case "<":
            return int(left < right)
        case "<=":
            return int(left <= right)
        case ">":
            return int(left > right)
        case ">=":
            return int(left >= right)
        case "<<":
            return left << min(right, 64)
        case ">>":
            return left >> min(right, 64)
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return int(left / right)
        case _:
            return left % right
