r"""Regular expressions of Rust's `regex` crate → their trees.

Classes can be combined and negated, `\pL` names a category, flags may be set anywhere, `$` is the very end, a
repetition may be repeated. The tree has all of this resolved: no flags and only plain classes. Look-around and
back-references are refused, like everything else that Rust refuses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from string import ascii_letters, digits, hexdigits

from tidelog.deep_recursion import deeply
from tidelog.library._regex import classes
from tidelog.library._regex.classes import Ranges
from tidelog.library._regex.tree import Chars, Choice, Look, Node, Repeat, Sequence

_CONTROL = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
_BLANKS = frozenset(" \t\n\v\f\r\x85\u200e\u200f\u2028\u2029")
_COUNTS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_LOOKS = {  # with Unicode, and without
    "A": (Look.START, Look.START),
    "z": (Look.END, Look.END),
    "b": (Look.WORD, Look.ASCII_WORD),
    "B": (Look.NOT_WORD, Look.ASCII_NOT_WORD),
}
_DEEPEST = 250
_LARGEST_COUNT = 2**32 - 2


class BadPatternError(Exception):
    """An error in a pattern, with the pattern and a caret, in Rust's words."""

    def __init__(self, pattern: str, at: int, message: str) -> None:
        if "\n" in pattern:
            shown = f"{pattern!r}, at character {at}"
        else:
            shown = f"{pattern}\n    {' ' * at}^"
        super().__init__(f"regex parse error:\n    {shown}\nerror: {message}")


@dataclass(frozen=True, slots=True)
class _Flags:
    i: bool = False
    m: bool = False
    s: bool = False
    U: bool = False
    x: bool = False
    u: bool = True


def parse(pattern: str) -> Node:
    """Returns the tree of a pattern; raises BadPatternError."""
    return deeply(_Parser(pattern).whole)


class _Parser:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._flags = _Flags()
        self._depth = 0
        self._names: set[str] = set()

    def whole(self) -> Node:
        tree = self._alternatives()
        if self._at < len(self._pattern):
            raise self._bad("unopened group")
        return tree

    # Groups

    def _alternatives(self) -> Node:
        """Reads up to a closing parenthesis or the end."""
        branches, parts = list[Node](), list[Node]()
        while (char := self._peek()) not in ("", ")"):
            if char == "|":
                self._at += 1
                branches.append(_sequence(parts))
                parts = []
            elif self._skips_blanks():
                continue
            else:
                atom = self._atom()
                if atom is not None:
                    parts.append(self._repeated(atom))
        branches.append(_sequence(parts))
        return branches[0] if len(branches) == 1 else Choice(tuple(branches))

    def _atom(self) -> Node | None:
        """Returns what a repetition would repeat; None for flags, which are nothing to be repeated."""
        char = self._take()
        match char:
            case "(":
                return self._group()
            case "[":
                return Chars(self._bracketed(self._at - 1))
            case ".":
                return Chars(classes.EVERYTHING if self._flags.s else classes.negate(((10, 10),)))
            case "^":
                return Look.LINE_START if self._flags.m else Look.START
            case "$":
                return Look.LINE_END if self._flags.m else Look.END
            case "\\":
                return self._escape()
            case "*" | "+" | "?" | "{":
                raise self._bad("repetition operator missing expression", self._at - 1)
            case _:
                return self._literal(ord(char))

    def _group(self) -> Node | None:
        opened = self._at - 1
        self._depth += 1
        self._limit_depth(self._depth)
        outside = self._flags
        if self._peek() == "?":
            self._at += 1
            if any(self._pattern.startswith(sign, self._at) for sign in ("=", "!", "<=", "<!")):
                raise self._bad("look-around, including look-ahead and look-behind, is not supported", opened)
            if self._pattern.startswith(("P<", "<"), self._at):
                self._group_name()
            elif self._set_flags():
                # Flags without a group hold to the end of the group around them.
                self._depth -= 1
                return None
        inside = self._alternatives()
        if self._peek() != ")":
            raise self._bad("unclosed group", opened)
        self._at += 1
        self._depth -= 1
        self._flags = outside
        return inside

    def _group_name(self) -> None:
        start = self._pattern.index("<", self._at) + 1
        end = self._pattern.find(">", start)
        name = self._pattern[start:end] if end >= 0 else ""
        if not name:
            raise self._bad("empty capture group name" if end >= 0 else "unclosed capture group name", start)
        if name[0] not in ascii_letters + "_" or name.strip(ascii_letters + digits + "_.[]"):
            raise self._bad("invalid capture group character", start)
        if name in self._names:
            raise self._bad("duplicate capture group name", start)
        self._names.add(name)
        self._at = end + 1

    def _set_flags(self) -> bool:
        """Reads flags; True if they stand alone, as in `(?i)`."""
        start, value, seen = self._at, True, set[str]()
        while (char := self._take()) not in (")", ":"):
            if char == "-" and value:
                value = False
            elif char == "" or char not in "imsUxu":
                raise self._bad("unrecognized flag" if char else "unclosed group", self._at - 1)
            elif char in seen:
                raise self._bad("duplicate flag", self._at - 1)
            else:
                seen.add(char)
                self._flags = replace(self._flags, **{char: value})
        if not value and self._pattern[self._at - 2] == "-":
            raise self._bad("dangling flag negation operator", self._at - 2)
        if char == ")" and self._at - 1 == start:
            raise self._bad("repetition operator missing expression", start - 1)
        return char == ")"

    def _limit_depth(self, depth: int) -> None:
        if depth > _DEEPEST:
            raise self._bad(f"exceeded the maximum number of nested parentheses/brackets ({_DEEPEST})")

    # Repetition

    def _repeated(self, atom: Node) -> Node:
        """Returns the atom with all repetitions that follow it, each around the one before."""
        stacked = 0
        while True:
            self._skips_blanks()
            match self._peek():
                case "*" | "+" | "?" as sign:
                    self._at += 1
                    least, most = _COUNTS[sign]
                case "{":
                    least, most = self._count()
                case _:
                    return atom
            stacked += 1
            self._limit_depth(self._depth + stacked)
            lazy = self._peek() == "?"
            self._at += lazy
            atom = Repeat(atom, least, most, lazy != self._flags.U)

    def _count(self) -> tuple[int, int | None]:
        opened = self._at
        end = self._pattern.find("}", opened)
        if end < 0:
            raise self._bad("unclosed counted repetition", opened)
        parts = [part.strip() for part in self._pattern[opened + 1 : end].split(",")]
        self._at = end + 1
        if not parts[0]:
            raise self._bad("repetition quantifier expects a valid decimal", opened + 1)
        if len(parts) > 2 or any(part.strip(digits) for part in parts):
            raise self._bad("repetition quantifier expects a valid decimal", opened + 1)
        if any(len(part) > 10 or int(part) > _LARGEST_COUNT for part in parts if part):
            raise self._bad("decimal literal invalid", opened + 1)
        if len(parts) == 2 and parts[1] and int(parts[0]) > int(parts[1]):
            raise self._bad("invalid repetition count range, the start must be <= the end", opened)
        least = int(parts[0])
        return least, least if len(parts) == 1 else int(parts[1]) if parts[1] else None

    # Characters

    def _literal(self, code: int) -> Node:
        own: Ranges = ((code, code),)
        return Chars(classes.in_any_case(own) if self._flags.i else own)

    def _escape(self) -> Node:
        """Reads what is after a backslash outside of a class."""
        sign = self._peek()
        if sign in _LOOKS:
            self._at += 1
            unicode, ascii_only = _LOOKS[sign]
            return unicode if self._flags.u else ascii_only
        return Chars(self._in_case(self._escaped_set()))

    def _escaped_set(self) -> Ranges:
        """Returns the characters of an escape, in a class or outside."""
        start = self._at - 1
        char = self._take()
        if char in _CONTROL:
            return ((ord(_CONTROL[char]),) * 2,)
        match char:
            case "d" | "s" | "w":
                return classes.letters_digits(char, unicode=self._flags.u)
            case "D" | "S" | "W":
                return classes.negate(classes.letters_digits(char.lower(), unicode=self._flags.u))
            case "p" | "P":
                return self._property(start, negated=char == "P")
            case "x" | "u" | "U":
                return ((self._number({"x": 2, "u": 4, "U": 8}[char], start),) * 2,)
            case "":
                raise self._bad("incomplete escape sequence, reached end of pattern prematurely", start)
            case _ if char in digits:
                raise self._bad("backreferences are not supported", start)
            case _ if char in ascii_letters or not char.isascii() or char in "<>":
                raise self._bad("unrecognized escape sequence", start)
            case _:
                return ((ord(char),) * 2,)

    def _number(self, count: int, start: int) -> int:
        if self._peek() == "{":
            end = self._pattern.find("}", self._at)
            text = self._pattern[self._at + 1 : end] if end >= 0 else ""
            self._at = end + 1 if end >= 0 else len(self._pattern)
        else:
            text = self._pattern[self._at : self._at + count]
            self._at += len(text)
            text = text if len(text) == count else ""
        if not text:
            raise self._bad("incomplete escape sequence, reached end of pattern prematurely", start)
        if text.strip(hexdigits):
            raise self._bad("invalid hexadecimal digit", start)
        code = int(text, 16)
        if code > classes.LAST or 0xD800 <= code < 0xE000:
            raise self._bad("hexadecimal literal is not a Unicode scalar value", start)
        return code

    def _property(self, start: int, *, negated: bool) -> Ranges:
        name = self._take()
        if name == "{":
            end = self._pattern.find("}", self._at)
            if end < 0:
                raise self._bad("incomplete escape sequence, reached end of pattern prematurely", start)
            name, self._at = self._pattern[self._at : end], end + 1
            if name.startswith("^"):
                name, negated = name[1:], not negated
        ranges = classes.property_named(name) if name else None
        if ranges is None:
            raise self._bad("Unicode property not found", start)
        return classes.negate(ranges) if negated else ranges

    # Classes

    def _bracketed(self, opened: int) -> Ranges:
        """Returns the characters of a class whose `[` has been read."""
        self._depth += 1
        self._limit_depth(self._depth)
        negated = self._peek() == "^"
        self._at += negated
        found: Ranges = classes.NOTHING
        combine, before = "", classes.NOTHING
        # A `]` at the beginning, and hyphens there, stand for themselves.
        while self._peek() == "-":
            self._at += 1
            found = classes.union(found, ((45, 45),))
        if self._peek() == "]" and found == classes.NOTHING:
            self._at += 1
            found = ((93, 93),)
        while True:
            self._skips_blanks()
            char = self._peek()
            if char == "":
                raise self._bad("unclosed character class", opened)
            if char == "]":
                self._at += 1
                break
            sign = self._pattern[self._at : self._at + 2]
            if sign in ("&&", "--", "~~"):
                self._at += 2
                before, combine, found = _combined(before, combine, found), sign, classes.NOTHING
            else:
                found = classes.union(found, self._item(opened))
        self._depth -= 1
        found = _combined(before, combine, found)
        return classes.negate(found) if negated else found

    def _item(self, opened: int) -> Ranges:
        """Returns a nested class, an escape, a character or a range."""
        start = self._at
        if self._pattern.startswith("[", start):
            self._at += 1
            named = self._posix()
            return self._bracketed(start) if named is None else self._in_case(named)
        low = self._member()
        if not self._pattern.startswith("-", self._at) or self._pattern[self._at + 1 : self._at + 2] in ("]", "-", ""):
            return self._in_case(low)
        self._at += 1
        high = self._member()
        if len(low) != 1 or len(high) != 1 or low[0][0] != low[0][1] or high[0][0] != high[0][1]:
            raise self._bad("invalid range boundary, must be a literal", start)
        if low[0][0] > high[0][0]:
            raise self._bad("invalid character class range, the start must be <= the end", start)
        return self._in_case(((low[0][0], high[0][0]),))

    def _member(self) -> Ranges:
        self._skips_blanks()
        char = self._take()
        if char == "\\":
            return self._escaped_set()
        if char == "":
            raise self._bad("unclosed character class")
        return ((ord(char), ord(char)),)

    def _posix(self) -> Ranges | None:
        """Returns the class of `[:name:]`, whose first `[` has been read; None for any other text."""
        end = self._pattern.find(":]", self._at)
        if self._peek() != ":" or end < 0:
            return None
        name = self._pattern[self._at + 1 : end]
        negated = name.startswith("^")
        ranges = classes.POSIX.get(name.removeprefix("^"))
        if ranges is None:
            return None
        self._at = end + 2
        return classes.negate(ranges) if negated else ranges

    def _in_case(self, ranges: Ranges) -> Ranges:
        return classes.in_any_case(ranges) if self._flags.i else ranges

    # The text

    def _peek(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _take(self) -> str:
        char = self._peek()
        self._at += 1
        return char

    def _skips_blanks(self) -> bool:
        """Skips blanks and comments if the flag `x` is set; True if there were any."""
        start = self._at
        while self._flags.x and (char := self._peek()):
            if char == "#":
                end = self._pattern.find("\n", self._at)
                self._at = len(self._pattern) if end < 0 else end + 1
            elif char in _BLANKS:
                self._at += 1
            else:
                break
        return self._at > start

    def _bad(self, message: str, at: int | None = None) -> BadPatternError:
        return BadPatternError(self._pattern, min(self._at if at is None else at, len(self._pattern)), message)


def _sequence(parts: list[Node]) -> Node:
    return parts[0] if len(parts) == 1 else Sequence(tuple(parts))


def _combined(before: Ranges, sign: str, found: Ranges) -> Ranges:
    match sign:
        case "&&":
            return classes.intersection(before, found)
        case "--":
            return classes.difference(before, found)
        case "~~":
            return classes.symmetric_difference(before, found)
        case _:
            return found
