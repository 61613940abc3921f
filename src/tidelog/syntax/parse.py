"""Source text → `ast.Program`, by recursive descent.

A mistake is reported where it is found; the parser then skips to the end of that rule or to the next declaration and
goes on, so that one run reports all of them. Words of the wider language are known and refused by name (E108).
"""

from __future__ import annotations

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.spans import Source, Span
from tidelog.syntax import ast
from tidelog.syntax.cursor import Cursor, Failure
from tidelog.syntax.expressions import expression, type_
from tidelog.syntax.lex import lex
from tidelog.syntax.tokens import Kind, Token

_RELATION_WORDS = ("input", "output", "relation", "multiset", "stream")
_LATER_WORDS = ("typedef", "function", "extern", "import", "apply", "transformer", "for")


def parse(source: Source) -> ast.Program:
    """The tree of the source. Raises ProgramError with all the syntax errors, in the order of the text."""
    tokens, diagnostics = lex(source)
    cursor = Cursor(source, tokens, diagnostics)
    items: list[ast.Item] = []
    while not cursor.finished():
        start = cursor.index
        try:
            items.append(_item(cursor))
        except Failure:
            _recover(cursor, start)
    if diagnostics:
        raise ProgramError(tuple(sorted(diagnostics, key=lambda diagnostic: diagnostic.span.start)))
    return ast.Program(tuple(items), span=Span(source, 0, len(source.text)))


def _recover(cursor: Cursor, start: int) -> None:
    """Skips to behind the `.` that ends the rule, or to a line that begins a new item; past `start` in any case."""
    if cursor.index == start:
        cursor.next()
    while not cursor.finished() and not _begins_item(cursor):
        token = cursor.next()
        if token.text == "." and not _inside_rule(cursor, token):
            return


def _begins_item(cursor: Cursor) -> bool:
    """True at a word that opens a declaration on its line, or a rule at the left margin."""
    token = cursor.token
    opens_declaration = token.kind is Kind.KEYWORD and token.text in _RELATION_WORDS + _LATER_WORDS
    if not opens_declaration and token.kind is not Kind.UPPER and token.text not in ("index", "#"):
        return False
    line, column = cursor.source.position(token.start)
    if not opens_declaration:
        return column == 1
    before = cursor.tokens[cursor.index - 1] if cursor.index else None
    return before is None or before.end <= cursor.source.line_starts[line - 1]


def _inside_rule(cursor: Cursor, dot: Token) -> bool:
    """True behind the dot of `.column = value` or `x.field`, which does not end a rule."""
    after = cursor.token
    touches = after.start == dot.end and after.kind in (Kind.LOWER, Kind.INTEGER)
    return touches or (after.kind is Kind.LOWER and cursor.peek().text == "=")


def _item(cursor: Cursor) -> ast.Item:
    token = cursor.token
    if token.kind is Kind.UPPER:
        return _rule(cursor)
    if token.kind is Kind.LOWER:
        if token.text == "index" and cursor.peek().kind is Kind.UPPER:
            cursor.not_yet("`index` is")
        cursor.name("a relation's name", Kind.UPPER)
    if token.text in _RELATION_WORDS:
        return _relation(cursor)
    if token.text in _LATER_WORDS:
        cursor.not_yet(f"`{token.text}` is")
    if token.text == "#":
        cursor.not_yet("attributes are")
    if token.text == "&":
        cursor.not_yet("references are")
    cursor.unexpected("a declaration or a rule")


def _relation(cursor: Cursor) -> ast.RelationDeclaration:
    first = cursor.token
    role = first.text if first.text in ("input", "output") else ""
    if role:
        cursor.next()
    if cursor.at("multiset") or cursor.at("stream"):
        cursor.not_yet(f"`{cursor.token.text}` is")
    cursor.expect("relation")
    if cursor.at("&"):
        cursor.not_yet("relations of references are")
    name = cursor.name("a relation's name", Kind.UPPER)
    if cursor.at("["):
        cursor.not_yet("relations of a given type are")
    columns = _columns(cursor)
    span = cursor.since(first)
    if cursor.token.text == "primary" and cursor.peek().text == "key":
        cursor.not_yet("`primary key` is")
    return ast.RelationDeclaration(role, name, columns, span=span)


def _columns(cursor: Cursor) -> tuple[ast.Column, ...]:
    columns: list[ast.Column] = []
    cursor.expect("(")
    while not cursor.at(")"):
        first = cursor.token
        if first.text == "#":
            cursor.not_yet("attributes are")
        name = cursor.name("a column's name", Kind.LOWER)
        cursor.expect(":")
        column_type = type_(cursor)
        columns.append(ast.Column(name, column_type, span=cursor.since(first)))
        if not cursor.accept(","):
            break
    cursor.expect(")", ",")
    return tuple(columns)


def _rule(cursor: Cursor) -> ast.Rule:
    first = cursor.token
    heads = [_atom(cursor)]
    while cursor.accept(","):
        if cursor.at(":-"):
            break
        heads.append(_atom(cursor))
    if cursor.at("@"):
        cursor.not_yet("`@` in a head is")
    body: list[ast.Literal] = []
    if cursor.accept(":-"):
        while True:
            body.append(_literal(cursor))
            if not cursor.accept(",") or cursor.at("."):
                break
        cursor.expect(".", ",")
    else:
        cursor.expect(".", ":-")
    return ast.Rule(tuple(heads), tuple(body), span=cursor.since(first))


def _atom(cursor: Cursor) -> ast.Atom:
    first = cursor.token
    if cursor.at("&"):
        cursor.not_yet("references are")
    name = cursor.name("a relation's name", Kind.UPPER)
    if cursor.at("::"):
        cursor.not_yet("names of modules are", first)
    if cursor.at("["):
        cursor.not_yet("relations of a given type are")
    if cursor.at("-"):
        cursor.not_yet("delayed relations are")
    if cursor.at("'"):
        cursor.not_yet("differences of streams are")
    arguments = _arguments(cursor)
    return ast.Atom(name, arguments, span=cursor.since(first))


def _arguments(cursor: Cursor) -> tuple[ast.Argument, ...]:
    arguments: list[ast.Argument] = []
    cursor.expect("(")
    while not cursor.at(")"):
        first = cursor.token
        name = None
        if cursor.accept("."):
            name = cursor.name("a column's name", Kind.LOWER)
            cursor.expect("=")
        value = expression(cursor)
        arguments.append(ast.Argument(name, value, span=cursor.since(first) if name else value.span))
        if not cursor.accept(","):
            break
    cursor.expect(")", ",")
    return tuple(arguments)


def _literal(cursor: Cursor) -> ast.Literal:
    first = cursor.token
    if first.text == "not" and cursor.peek().kind is Kind.UPPER:
        cursor.next()
        atom = _atom(cursor)
        return ast.Negative(atom, span=cursor.since(first))
    if first.kind is Kind.UPPER and cursor.peek().text in ("(", "[", "-", "'", "::"):
        atom = _atom(cursor)
        return ast.Positive(atom, span=atom.span)
    if first.kind is Kind.LOWER and cursor.peek().text == "in":
        cursor.not_yet("`in` is", cursor.peek())
    if first.text == "&" and cursor.peek().kind is Kind.UPPER:
        cursor.not_yet("references are")
    if first.text == "var":
        return _assignment(cursor)
    tree = expression(cursor)
    if cursor.at("="):
        if isinstance(tree, ast.Variable):
            equals = cursor.next()
            value = expression(cursor).span.text
            cursor.fail(
                Code.PLAIN_ASSIGNMENT,
                f"`{tree.name} = …` is neither a condition nor an assignment",
                "a condition has `==`",
                help=f"`{tree.name} == {value}` compares, `var {tree.name} = {value}` binds",
                at=equals,
            )
        cursor.not_yet("patterns are")
    return ast.Condition(tree, span=cursor.since(first))


def _assignment(cursor: Cursor) -> ast.Assignment:
    first = cursor.next()
    name = cursor.name("a variable", Kind.LOWER)
    annotation = type_(cursor) if cursor.accept(":") else None
    cursor.expect("=")
    value = expression(cursor)
    return ast.Assignment(name, annotation, value, span=cursor.since(first))
