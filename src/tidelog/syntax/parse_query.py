"""The text of a query → a rule without a head: the literals of a body, with or without a `.` behind them.

    #[join = "hash"] E(x, y), E(y, z), E(x, $end)

A parameter (`$end`) stands for a value that is given with the query. It is a variable whose name begins with `$`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.report import Diagnostic
from tidelog.diagnostics.spans import Source, Span
from tidelog.syntax import ast
from tidelog.syntax.cursor import Cursor, Failure
from tidelog.syntax.declarations import attributes
from tidelog.syntax.lex import lex
from tidelog.syntax.rules import literal


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """The rule, and the first place of each parameter, by its name with the `$`."""

    rule: ast.Rule
    parameters: Mapping[str, Span]


def parse_query(source: Source) -> ParsedQuery:
    """Returns the query. Raises ProgramError with all the syntax errors, in the order of the text."""
    tokens, diagnostics = lex(source)
    cursor = Cursor(source, tokens, diagnostics)
    parameters = cursor.parameters = {}
    body: list[ast.Literal] = []
    given: tuple[ast.Attribute, ...] = ()
    try:
        given = attributes(cursor) if cursor.at("#") else ()
        _literals(cursor, body)
    except Failure:
        pass
    except RecursionError:
        cursor.report(Code.NESTED_TOO_DEEPLY, "the query is nested too deeply", cursor.span(cursor.token), "here")
    if diagnostics:
        raise ProgramError(tuple(map(_of_query, sorted(diagnostics, key=lambda each: each.span.start))))
    rule = ast.Rule((), tuple(body), given, span=Span(source, 0, len(source.text)))
    return ParsedQuery(rule, parameters)


def _literals(cursor: Cursor, body: list[ast.Literal]) -> None:
    while True:
        body.append(literal(cursor))
        if cursor.at(":-"):
            help = "leave out the head; the variables of the body are the columns of the answer"
            cursor.fail(Code.BAD_QUERY, "a query has no head", "a rule begins here", help=help)
        if not cursor.accept(","):
            break
    cursor.accept(".")
    if not cursor.finished():
        cursor.unexpected("`,` or the end of the query")


def _of_query(diagnostic: Diagnostic) -> Diagnostic:
    """Returns the message with `query` for `program`: the parser speaks of programs."""
    return replace(diagnostic, message=diagnostic.message.replace("the end of the program", "the end of the query"))
