"""A program's text → the same program, laid out in the standard way, with its comments: `tidelog fmt`.

The text is parsed and written again (`write`); what `Page` says of comments and habits is all that the old layout still
decides. The result is a fixed point: formatted again, it stays as it is. It is returned only if it has the same tree
and the same comments as the source.
"""

from __future__ import annotations

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import InternalError
from tidelog.diagnostics.spans import Source
from tidelog.syntax import ast
from tidelog.syntax.lex import comments
from tidelog.syntax.parse import parse
from tidelog.syntax.show import WIDTH
from tidelog.syntax.write.items import ItemWriter
from tidelog.syntax.write.layout import render
from tidelog.syntax.write.page import Page

_ROUNDS = 5


def format_program(source: Source) -> str:
    """Returns the formatted text. Raises ProgramError if the source does not parse."""
    program = parse(source)
    current, tree = source, program
    for _ in range(_ROUNDS):
        text = _written(current, tree)
        if text == current.text:
            break
        current = Source(source.name, text)
        # A comment in an odd place may take a second round to arrive where it stays.
        tree = parse(current)
    if tree != program or _remarks(current) != _remarks(source):
        raise InternalError(f"formatting would change {source.name}; it is left alone", code=Code.CHANGED_BY_FORMATTING)
    return current.text


def _written(source: Source, program: ast.Program) -> str:
    text = render(ItemWriter(Page(source)).program(program), WIDTH)
    return f"{text}\n" if text else ""


def _remarks(source: Source) -> list[str]:
    return sorted(comment.text.rstrip() for comment in comments(source))
