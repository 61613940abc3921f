"""Tokens → operands: names, literals, everything in brackets, closures and control.

The branches of `if` and the body of `for` are terms: `if (c) 1 else 2 + 3` is `(if (c) 1 else 2) + 3`. In contrast
`x@p`, `return e` and `|x| e` take all that follows. Terms and `expressions` are one circular grammar in two files.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.spans import Span
from tidelog.syntax import ast, expressions
from tidelog.syntax.constants import is_temporal, number, temporal, text
from tidelog.syntax.cursor import Cursor, Failure
from tidelog.syntax.habits import instead_of
from tidelog.syntax.patterns import argument, pattern, simple_word
from tidelog.syntax.strings import Hole, split_template
from tidelog.syntax.tokens import Kind, Token
from tidelog.syntax.types import argument_type, result_type

COLUMN_OR_FIELD = "the name of a column or field"

_OPENING = frozenset(("(", "{", "[", "|", "&", "-", "~"))
_OPENING_WORDS = frozenset(
    ("_", "true", "false", "not", "if", "var", "for", "match", "break", "continue", "return", "function")
)
_VALUES = frozenset(
    (
        *(Kind.LOWER, Kind.UPPER, Kind.INTEGER, Kind.FLOAT, Kind.STRING, Kind.RAW, Kind.TEMPLATE, Kind.INTERNED),
        Kind.PARAMETER,
    )
)


def term(cursor: Cursor) -> ast.Expression:
    """Takes an operand without its postfix."""
    return TERMS[cursor.token.kind](cursor)


def begins(token: Token) -> bool:
    """True for a token that an expression can begin with."""
    if token.kind is Kind.OPERATOR:
        return token.text in _OPENING
    return token.text in _OPENING_WORDS if token.kind is Kind.KEYWORD else token.kind in _VALUES


def call_arguments(cursor: Cursor) -> tuple[ast.Expression, ...]:
    """Takes the `(…)` of a call."""
    cursor.enter()
    cursor.next()
    found = cursor.listed(")", expressions.assignment)
    cursor.leave()
    return found


def string(cursor: Cursor) -> ast.String | ast.Interpolation:
    """Takes a string literal."""
    written = text(cursor)
    if not written.has_holes:
        return ast.String(written.decoded.text, spelling=written.spelling, span=written.span)
    parts = split_template(cursor.source, written.decoded, cursor.diagnostics)
    cursor.holes += 1
    cursor.enter()
    trees = tuple(part if isinstance(part, str) else _hole(cursor, part) for part in parts)
    cursor.leave()
    return ast.Interpolation(trees, spelling=written.spelling, span=written.span)


def _hole(cursor: Cursor, hole: Hole) -> ast.Expression:
    inner = Cursor(cursor.source, hole.tokens, cursor.diagnostics, cursor.nesting)
    inner.parameters = cursor.parameters
    if inner.finished():
        cursor.fail(Code.UNEXPECTED_TOKEN, "expected an expression, found `}`", "it is empty", at=hole.span)
    tree = expressions.assignment(inner)
    if not inner.finished():
        inner.unexpected("`}`")
    return tree


def _name(cursor: Cursor) -> ast.Expression:
    token = cursor.tokens[cursor.index]
    after = cursor.tokens[cursor.index + 1].text
    if after == "::":
        return _scoped(cursor)
    if is_temporal(cursor):
        return temporal(cursor)
    cursor.index += 1
    if after == "@":
        return _binding(cursor, token)
    return ast.Variable(token.text, span=Span(cursor.source, token.start, token.end))


def _parameter(cursor: Cursor) -> ast.Variable:
    """`$a`: a variable of a query that has its value from outside; no other name begins with `$`."""
    token = cursor.token
    if cursor.parameters is None:
        cursor.fail(
            Code.UNEXPECTED_TOKEN,
            f"`{token.text}` is a parameter, and only queries have parameters",
            "not in a program",
            help='write the value here, or an input relation that has it; `"${x}"` puts a value into a text',
        )
    cursor.next()
    span = cursor.span(token)
    cursor.parameters.setdefault(token.text, span)
    return ast.Variable(token.text, span=span)


def _interned(cursor: Cursor) -> ast.Interned:
    first = cursor.next()
    if cursor.token.kind is Kind.ERROR:
        raise Failure
    inner = string(cursor)
    return ast.Interned(inner, span=cursor.since(first))


def _scoped(cursor: Cursor) -> ast.Expression:
    """`m::f`, `C`, `m::C{…}`"""
    first = cursor.token
    if cursor.peek(cursor.scope_end()).kind is Kind.LOWER:
        function = cursor.scoped("a function", Kind.LOWER)
        return ast.FunctionName(function.text, span=function.span)
    name = cursor.scoped("a constructor", Kind.UPPER)
    if cursor.token.kind is Kind.ERROR:
        raise Failure
    if not cursor.accept("{"):
        return ast.Struct(name, bare=True, span=name.span)
    cursor.enter()
    arguments = cursor.listed("}", lambda at: argument(at, expressions.assignment, COLUMN_OR_FIELD))
    cursor.leave()
    return ast.Struct(name, arguments, span=cursor.since(first))


def _binding(cursor: Cursor, token: Token) -> ast.Binding:
    cursor.enter()
    cursor.next()
    inner = expressions.assignment(cursor)
    cursor.leave()
    return ast.Binding(ast.Name(token.text, span=cursor.span(token)), inner, span=cursor.since(token))


def _bracketed(cursor: Cursor) -> ast.Expression:
    first = cursor.token
    if first.text not in ("(", "{", "[", "|"):
        cursor.unexpected("an expression")
    cursor.enter()
    cursor.next()
    found: ast.Expression
    match first.text:
        case "(":
            items = cursor.listed(")", expressions.assignment)
            found = items[0] if len(items) == 1 else ast.Tuple(items, span=cursor.since(first))
        case "{":
            found = _block(cursor, first)
        case "[":
            found = _collection(cursor, first)
        case _:
            parameters = cursor.listed("|", _closure_parameter)
            result = result_type(cursor)
            body = expressions.assignment(cursor)
            found = ast.Closure(parameters, result, body, span=cursor.since(first))
    cursor.leave()
    return found


def block(cursor: Cursor) -> ast.Block:
    """Takes `{…}`."""
    first = cursor.expect("{")
    cursor.enter()
    found = _block(cursor, first)
    cursor.leave()
    return found


def _block(cursor: Cursor, first: Token) -> ast.Block:
    found: list[ast.Expression] = []
    ends_open = False
    while not cursor.at("}"):
        found.append(expressions.assignment(cursor))
        ends_open = cursor.accept(";")
        if not ends_open:
            break
    cursor.expect("}", ";")
    return ast.Block(tuple(found), ends_open, span=cursor.since(first))


def _collection(cursor: Cursor, first: Token) -> ast.Vector | ast.MapLiteral:
    if cursor.at("]"):
        cursor.unexpected("an expression")
    items = cursor.listed("]", _element)
    entries = tuple(item for item in items if isinstance(item, ast.MapEntry))
    if not entries:
        values = tuple(item for item in items if not isinstance(item, ast.MapEntry))
        return ast.Vector(values, span=cursor.since(first))
    for item in items:
        if not isinstance(item, ast.MapEntry):
            message, label = "an entry of a map has no `->`", "other entries have one"
            cursor.fail(Code.UNEXPECTED_TOKEN, message, label, at=item.span)
    return ast.MapLiteral(entries, span=cursor.since(first))


def _element(cursor: Cursor) -> ast.Expression | ast.MapEntry:
    first = cursor.token
    key = expressions.assignment(cursor)
    if not cursor.accept("->"):
        return key
    value = expressions.assignment(cursor)
    return ast.MapEntry(key, value, span=cursor.since(first))


def _closure_parameter(cursor: Cursor) -> ast.ClosureParameter:
    first = cursor.token
    name = cursor.name("a parameter", Kind.LOWER)
    type_ = argument_type(cursor) if cursor.accept(":") else None
    return ast.ClosureParameter(name, type_, span=cursor.since(first))


def _word(cursor: Cursor) -> ast.Expression:
    token, found = cursor.token, simple_word(cursor)
    if found is not None:
        return found
    match token.text:
        case "break":
            cursor.next()
            return ast.Break(span=cursor.span(token))
        case "continue":
            cursor.next()
            return ast.Continue(span=cursor.span(token))
        case "return" | "if" | "for" | "match" | "function":
            cursor.enter()
            cursor.next()
            control = _CONTROL[token.text](cursor, token)
            cursor.leave()
            return control
        case _:
            _reserved(cursor)


def _no_term(cursor: Cursor) -> NoReturn:
    cursor.unexpected("an expression")


def _reserved(cursor: Cursor) -> NoReturn:
    word = cursor.token.text
    label = "it cannot be the name of a variable"
    cursor.fail(Code.RESERVED_WORD, f"`{word}` is a reserved word", label, help=instead_of(word))


def _return(cursor: Cursor, first: Token) -> ast.Expression:
    value = expressions.assignment(cursor) if begins(cursor.token) else None
    return ast.Return(value, span=cursor.since(first))


def _if(cursor: Cursor, first: Token) -> ast.Expression:
    condition = term(cursor)
    if not begins(cursor.token) and cursor.token.text in expressions.PRIORITY:
        message = f"expected an expression, found `{cursor.token.text}`"
        help = "the condition stands in parentheses: `if (x > 1) y else z`"
        cursor.fail(Code.UNEXPECTED_TOKEN, message, "the condition ended before this", help=help)
    then = term(cursor)
    otherwise = term(cursor) if cursor.accept("else") else None
    return ast.Conditional(condition, then, otherwise, span=cursor.since(first))


def _for(cursor: Cursor, first: Token) -> ast.Expression:
    cursor.expect("(")
    element = pattern(cursor)
    cursor.expect("in")
    iterable = expressions.assignment(cursor)
    cursor.expect(")")
    body = term(cursor)
    return ast.For(element, iterable, body, span=cursor.since(first))


def _match(cursor: Cursor, first: Token) -> ast.Expression:
    cursor.expect("(")
    subject = expressions.assignment(cursor)
    cursor.expect(")")
    cursor.expect("{")
    if cursor.at("}"):
        cursor.unexpected("a pattern")
    arms = cursor.listed("}", _arm)
    return ast.Match(subject, arms, span=cursor.since(first))


def _arm(cursor: Cursor) -> ast.MatchArm:
    first = cursor.token
    matched = pattern(cursor)
    cursor.expect("->")
    value = expressions.assignment(cursor)
    return ast.MatchArm(matched, value, span=cursor.since(first))


def _function(cursor: Cursor, first: Token) -> ast.Expression:
    cursor.expect("(")
    parameters = cursor.listed(")", _closure_parameter)
    result = result_type(cursor)
    body = block(cursor)
    return ast.Closure(parameters, result, body, bars=False, span=cursor.since(first))


_CONTROL = {"return": _return, "if": _if, "for": _for, "match": _match, "function": _function}

# What takes an operand, by the kind of its first token. A table costs no frame of the stack, which nesting is made of.
TERMS: dict[Kind, Callable[[Cursor], ast.Expression]] = {
    Kind.LOWER: _name,
    Kind.UPPER: _scoped,
    Kind.INTEGER: number,
    Kind.FLOAT: number,
    Kind.STRING: string,
    Kind.RAW: string,
    Kind.TEMPLATE: string,
    Kind.INTERNED: _interned,
    Kind.PARAMETER: _parameter,
    Kind.OPERATOR: _bracketed,
    Kind.KEYWORD: _word,
    Kind.RESERVED: _reserved,
    Kind.ERROR: _no_term,
    Kind.END: _no_term,
}
