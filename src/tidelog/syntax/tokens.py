"""Tokens: the words of the language, and which of them are reserved."""

from __future__ import annotations

from enum import IntEnum, auto
from typing import NamedTuple


class Kind(IntEnum):
    """What a token is. Keywords and operators are told apart by their text."""

    LOWER = auto()  # a name with a small first letter or `_`: variables, columns, functions, types
    UPPER = auto()  # a name with a capital first letter: relations, constructors, types
    KEYWORD = auto()
    RESERVED = auto()  # a word that the language keeps and gives no meaning
    OPERATOR = auto()
    INTEGER = auto()
    FLOAT = auto()
    STRING = auto()  # "…"
    RAW = auto()  # [|…|]
    TEMPLATE = auto()  # $[|…|]
    INTERNED = auto()  # the i of i"…", i[|…|] and i$[|…|]
    PARAMETER = auto()  # $name: a value that is given with a query
    COMMENT = auto()  # //… or /*…*/: never among the tokens that the parser sees
    ERROR = auto()  # reported by the lexer already
    END = auto()


class Token(NamedTuple):
    """`text` is the token as written, at `start` up to `end` of the source."""

    kind: Kind
    text: str
    start: int
    end: int


# fmt: off
KEYWORDS = frozenset({
    "_", "Aggregate", "and", "apply", "as", "bigint", "bit", "bool", "break", "continue", "double", "else",
    "extern", "false", "FlatMap", "float", "for", "function", "if", "import", "in", "input", "Inspect", "match",
    "multiset", "mut", "not", "or", "output", "relation", "return", "signed", "skip", "stream", "string",
    "transformer", "true", "type", "typedef", "var",
})

RESERVED = frozenset({
    "abstract", "async", "await", "become", "box", "const", "crate", "do", "dyn", "final", "fn", "impl", "let",
    "loop", "macro", "mod", "move", "override", "priv", "pub", "ref", "self", "Self", "static", "struct",
    "super", "trait", "try", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
})
# fmt: on

# Longest first: the lexer takes the first that fits. `>>` and `>=` are two tokens each, as a `>` may also close a type.
OPERATORS = (
    *(":-", "::", "->", "=>", "==", "!=", "<=", "<<", "++"),
    *"+-*/%&|^~<>=.,;:()[]{}@#?'",
)
