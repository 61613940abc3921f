"""Source text → `ast.Program`, by recursive descent.

    Reach(x, z) :- Edge(x, z).

    Rule(heads=(Atom("Reach", (Variable("x"), Variable("z"))),), body=(Positive(Atom("Edge", …)),))

The parser reports a mistake where it finds it, skips to the end of that rule or to the next declaration, and goes on,
so that one run reports all mistakes.
"""

from __future__ import annotations

from contextlib import suppress

from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.spans import Source, Span
from tidelog.diagnostics.suggest import suggest
from tidelog.syntax import ast, declarations
from tidelog.syntax.cursor import Cursor, Failure
from tidelog.syntax.expressions import continues
from tidelog.syntax.habits import SOUFFLE_DIRECTIVES
from tidelog.syntax.lex import lex
from tidelog.syntax.rules import rule
from tidelog.syntax.statements import for_statement
from tidelog.syntax.tokens import Kind

_RELATION_WORDS = frozenset(("input", "output", "relation", "multiset", "stream"))
# Words that open an item wherever they stand on a line of their own, and those that do so only at the left margin.
_ALWAYS_OPEN = _RELATION_WORDS | {"typedef", "extern", "import", "apply", "transformer"}
_OPEN_AT_MARGIN = frozenset(("function", "for", "index", "#", "&"))

_WORDS = (Kind.UPPER, Kind.LOWER, Kind.KEYWORD)
_OPENING_WORDS = (*_RELATION_WORDS, "typedef", "function", "extern", "import", "apply", "for", "index", "primary")


def parse(source: Source) -> ast.Program:
    """Returns the tree of the source. Raises ProgramError with all the syntax errors, in the order of the text."""
    tokens, diagnostics = lex(source)
    cursor = Cursor(source, tokens, diagnostics)
    items: list[ast.Item] = []
    while not cursor.finished():
        start = cursor.index
        try:
            items.append(_item(cursor))
        except Failure:
            _recover(cursor, start)
        except RecursionError:
            # Whoever called has used most of the stack already; the limit on nesting was too far away.
            with suppress(Failure):
                cursor.too_deep(cursor.span(cursor.token), cursor.nesting)
            _recover(cursor, start)
    if diagnostics:
        raise ProgramError(tuple(sorted(diagnostics, key=lambda diagnostic: diagnostic.span.start)))
    return ast.Program(tuple(items), span=Span(source, 0, len(source.text)))


def _recover(cursor: Cursor, start: int) -> None:
    """Skips to behind the `.` that ends the rule, or to a line that begins a new item; past `start` in any case."""
    cursor.nesting = 0
    if cursor.index == start:
        cursor.next()
    while not cursor.finished() and not _begins_item(cursor):
        ends_rule = cursor.at(".") and not continues(cursor) and not _names_argument(cursor)
        cursor.next()
        if ends_rule:
            return


def _begins_item(cursor: Cursor) -> bool:
    """True at a word that opens an item: a declaration first on its line, or anything at the left margin."""
    token = cursor.token
    if token.text == "." and cursor.peek().text in SOUFFLE_DIRECTIVES and cursor.source.position(token.start)[1] == 1:
        return True
    anywhere = token.kind is Kind.KEYWORD and token.text in _ALWAYS_OPEN
    if not anywhere and token.kind is not Kind.UPPER and token.text not in _OPEN_AT_MARGIN:
        return False
    line, column = cursor.source.position(token.start)
    if not anywhere:
        return column == 1
    before = cursor.tokens[cursor.index - 1] if cursor.index else None
    return before is None or before.end <= cursor.source.line_starts[line - 1]


def _names_argument(cursor: Cursor) -> bool:
    """True at the dot of `.column = value`."""
    return cursor.peek().kind is Kind.LOWER and cursor.peek(2).text == "="


def _item(cursor: Cursor) -> ast.Item:
    first = cursor.token
    given = declarations.attributes(cursor) if first.text == "#" else ()
    token = cursor.token
    if token.kind is Kind.UPPER or token.text == "&":
        return rule(cursor, first, given)
    if token.kind is Kind.LOWER:
        if token.text == "index" and cursor.peek().kind in (Kind.UPPER, Kind.LOWER):
            declarations.refuse_attributes(cursor, given)
            return declarations.index(cursor)
        if cursor.peek().kind in _WORDS:
            # Two words in a row begin no rule: the first is a keyword with a mistake in it.
            meant = suggest(token.text, _OPENING_WORDS)
            cursor.unexpected("a declaration or a rule", f"did you mean `{meant}`?" if meant else None)
        return rule(cursor, first, given)
    if token.kind is not Kind.KEYWORD:
        cursor.unexpected("a declaration or a rule")
    if token.text in _RELATION_WORDS:
        return declarations.relation(cursor, first, given)
    match token.text:
        case "typedef":
            return declarations.typedef(cursor, first, given)
        case "function":
            return declarations.function(cursor, first, given)
        case "extern":
            return declarations.extern(cursor, first, given)
    declarations.refuse_attributes(cursor, given)
    match token.text:
        case "import":
            return declarations.import_(cursor)
        case "apply":
            return declarations.apply(cursor)
        case "for":
            return for_statement(cursor)
        case "transformer":
            cursor.unexpected("`extern transformer`")
        case _:
            cursor.unexpected("a declaration or a rule")
