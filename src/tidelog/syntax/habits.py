"""Words of other languages → what they are called in this one, for the help of an error.

A habit is a few tokens without blanks between them, at, or just before, the place where something else was expected.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from tidelog.diagnostics.suggest import suggest
from tidelog.syntax.tokens import Kind, Token

_COMMENT = "`//` begins a comment"
_SET = "a variable is set by `x = x + 1`"

# Where it begins (0: at the unexpected token), the tokens, what was expected (or anything), and what to write.
_HABITS: tuple[tuple[int, tuple[str, ...], str, str], ...] = (
    (0, ("&", "&"), "", "`and` joins conditions, `,` joins literals"),
    (-3, ("|", "|"), "", "`or` joins conditions"),
    (-2, ("|", "|"), "", "`or` joins conditions"),
    (0, ("<", "-"), "", "`:-` stands between head and body"),
    (0, (":",), "`:-`", "`:-` stands between head and body"),
    (0, ("=",), "`:-`", "`:-` stands between head and body"),
    (0, ("-",), "`:-`", "`:-` stands between head and body"),
    (0, ("or",), "`,` or `.`", "write alternatives as separate rules"),
    (0, ("and",), "`,` or `.`", "`,` joins literals"),
    (-1, ("<", ">"), "", "`!=` is true for values that differ"),
    (-1, (":", "="), "", "`var x = 1` binds a variable, `x == 1` compares"),
    (-1, ("+", "="), "", _SET),
    (-1, ("-", "="), "", _SET),
    (-1, ("*", "="), "", _SET),
    (-1, ("/", "="), "", _SET),
    (-1, ("++",), "an expression", "`x = x + 1` adds 1"),
    (0, ("'",), "an expression", 'text stands between double quotes: `"a"`'),
    (0, ("%",), "a declaration", _COMMENT),
    (0, ("/",), "a declaration", _COMMENT),
    (-1, (")", "."), "a declaration", "a declaration ends without a `.`"),
    (-1, ("]", "."), "a declaration", "a declaration ends without a `.`"),
    (0, (".",), "a declaration", "a relation is declared like this: `input relation Edge(src: string, dst: string)`"),
    (-1, ("#",), "`[`", f"{_COMMENT}, `#[size = 8]` is an attribute"),
    (0, (";",), "`,` or `.`", "`,` joins literals; write alternatives as separate rules"),
    (0, ("->",), "`:`", "the type of the result stands behind a `:`, for example `function f(x: u8): u8 { x }`"),
    (0, ("->",), "`;`", "a field is read by a dot: `x.field`"),
    (0, ("where",), "`,` or `.`", "`,` joins literals"),
    (0, ("{",), "a relation's name", "`contains([1, 2], x)` is true for an item of a vector"),
    (0, ("[",), "a relation's name", "`contains([1, 2], x)` is true for an item of a vector"),
    (0, ("=>",), "`->`", "an arm is written `pattern -> value`"),
    (0, ("]",), "`:`", "`x[7:0]` are bits of a number; `v.nth(0)` is the first item of a vector"),
    (0, ("]",), "an expression", "an empty vector is `vec_empty()`, an empty map `map_empty()`"),
    (0, ("(",), "`->`", "the fields of a constructor stand in braces: `Some{x}`"),
    (-1, ("[",), "the number of a bit", "`m.get(key)` looks something up in a map, `v.nth(0)` in a vector"),
    (0, ("struct",), "a type", "a struct is a type with one constructor: `typedef T = T{x: u8}`"),
    (0, ("enum",), "a type", "a type may have several constructors: `typedef T = A{x: u8} | B`"),
)
# Keywords behind which a value or a name follows.
_LEADING = ("not", "var", "return", "in", "mut", "Inspect", "as", "and", "or", "else", "match", "if", "for")

_RESERVED = {
    "let": "`var x = 1` declares a variable",
    "const": "`function limit(): u8 { 1 }` names a constant",
    "while": "`for (item in items) { … }` is the only loop; functions may call themselves",
    "loop": "`for (item in items) { … }` is the only loop; functions may call themselves",
    "fn": "`function f(x: u8): u8 { x }` declares a function",
    "struct": "`typedef T = T{x: u8}` declares a struct",
    "FlatMap": "`var item = FlatMap(items)` binds each of them",
    "Aggregate": "`var n = Aggregate((key), f(value))`",
}
# Words that nobody wants to have for a name.
_GRAMMAR = frozenset(("and", "or", "not", "in", "as", "else", "if", "for", "return", "break", "continue", "var", "mut"))


def habit(tokens: Sequence[Token], index: int, wanted: str) -> str | None:
    """Returns a help with the right spelling if the intent is known; `wanted` is what the message says was expected."""
    for offset, texts, expected, meant in _HABITS:
        start = index + offset
        found = tokens[start : start + len(texts)] if start >= 0 else ()
        if wanted.startswith(expected) and tuple(token.text for token in found) == texts and _are_joined(found):
            return meant
    return _misspelt(tokens, index, wanted)


def _misspelt(tokens: Sequence[Token], index: int, wanted: str) -> str | None:
    """Returns a keyword that was meant here, or by the word just before."""
    if wanted == "a type" and tokens[index].kind in (Kind.INTEGER, Kind.FLOAT, Kind.STRING):
        return "a field is given by its name with a dot: `.x = 1`"
    if tokens[index].kind in (Kind.LOWER, Kind.UPPER):
        meant = suggest(tokens[index].text, re.findall(r"`(\w+)`", wanted))
        if meant is not None:
            return f"did you mean `{meant}`?"
    before = tokens[index - 1] if index else None
    if before is not None and before.kind is Kind.LOWER and len(before.text) > 1:
        meant = suggest(before.text, _LEADING)
        return f"did you mean `{meant} {tokens[index].text}`?" if meant else None
    return None


def instead_of(word: str) -> str | None:
    """Returns a replacement for a reserved word where a name is wanted."""
    return _RESERVED.get(word) or (None if word in _GRAMMAR else f"for example `{word}_`")


def _are_joined(tokens: Sequence[Token]) -> bool:
    return all(one.end == other.start for one, other in pairwise(tokens))
