"""The text of a program → the language that it is written in."""

from __future__ import annotations

import re

TIDELOG, SOUFFLE = "tidelog", "souffle"
DIALECTS = (TIDELOG, SOUFFLE)

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_DIRECTIVE = re.compile(
    r"^[ \t]*\.(decl|type|input|output|printsize|limitsize|comp|init|functor|pragma|include|number_type|symbol_type"
    r"|lattice|plan)[ \t\r\n]",
    re.MULTILINE | re.IGNORECASE,
)
_DECLARATION = re.compile(
    r"^[ \t]*(input|output|extern|typedef|relation|multiset|stream|function|import|apply|index)[ \t]+&?[A-Za-z]",
    re.MULTILINE,
)


def dialect_of(text: str) -> str:
    """Returns `souffle` for a text with a directive of Soufflé's language and no declaration of Tidelog's."""
    if "." not in text:
        return TIDELOG
    plain = _COMMENT.sub(" ", text)
    return SOUFFLE if _DIRECTIVE.search(plain) and not _DECLARATION.search(plain) else TIDELOG
