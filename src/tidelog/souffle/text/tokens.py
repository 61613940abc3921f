"""The tokens of Soufflé's language: words, numbers, text, marks and directives, each with its place."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tidelog.diagnostics.spans import Span


class Kind(Enum):
    """What a token is. A `LINE` is a line of the preprocessor, from behind its `#` to its end."""

    WORD = "word"
    KEYWORD = "keyword"
    DIRECTIVE = "directive"
    NUMBER = "number"
    UNSIGNED = "unsigned"
    FLOAT = "float"
    STRING = "string"
    MARK = "mark"
    LINE = "line"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """`value` is the text of a string without its quotes, or the digits of a number; else the text itself.

    A token that a macro made has the span of the place where the macro is used. `spaced`: blank space stands before it.
    """

    kind: Kind
    text: str
    value: str
    span: Span
    spaced: bool = True


DIRECTIVES = frozenset(
    (
        ".decl",
        ".functor",
        ".input",
        ".output",
        ".printsize",
        ".limitsize",
        ".type",
        ".comp",
        ".init",
        ".number_type",
        ".symbol_type",
        ".override",
        ".pragma",
        ".plan",
        ".lattice",
        ".include",
        ".once",
    )
)

_WORDS = (
    "debug_delta autoinc band bor bxor bnot bshl bshr bshru land lor lxor lnot match mean cat ord range strlen substr",
    "stateful contains output input overridable printsize eqrel inline no_inline magic no_magic brie btree_delete",
    "btree min max as nil _ count sum true false to_float to_number to_string to_unsigned choice-domain",
    "recursive_iteration_cnt __FILE__ __LINE__ __INCL__",
)
KEYWORDS = frozenset(word for line in _WORDS for word in line.split())
