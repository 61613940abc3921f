"""Tokens → expressions, by precedence climbing.

From the tightest: postfix `e[h:l]` `e: T` `e as T`; prefix `-` `~` `not`; then the levels of `PRIORITY`. Two habits of
this language differ from most others: `not` and the unary operators bind tighter than any binary one, and `&`, `^`, `|`
bind looser than comparisons. The branches of `if` are terms: `if (c) 1 else 2 + 3` is `(if (c) 1 else 2) + 3`.

Nesting is limited (`cursor.MAX_NESTING`), and so is the height of a tree (`MAX_HEIGHT`, which counts every operator of
a long chain): later passes may recurse over any tree that comes from here.
"""

from __future__ import annotations

from tidelog.diagnostics.codes import Code
from tidelog.syntax import ast
from tidelog.syntax.cursor import Cursor, Failure
from tidelog.syntax.numbers import integer, width_of
from tidelog.syntax.strings import Decoded, Hole, decode_quoted, decode_raw, split_template
from tidelog.syntax.tokens import Kind, Token

MAX_HEIGHT = 200

_LEVELS = (
    ("=>",),
    ("or",),
    ("and",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!=", "<", "<=", ">", ">="),
    ("++",),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
PRIORITY = {op: level for level, ops in enumerate(_LEVELS) for op in ops}
COMPARISON = PRIORITY["=="]
UNARY = len(_LEVELS)
POSTFIX = UNARY + 1

_POSTFIX = frozenset(("as", ":", "[", "(", "?", "."))

_LATER_WORDS = frozenset(
    ("FlatMap", "Aggregate", "Inspect", "match", "for", "break", "continue", "return", "function", "skip", "mut")
)


def expression(cursor: Cursor) -> ast.Expression:
    """Takes a whole expression, none of it deeper than the limit."""
    token = cursor.token
    if token.kind is Kind.LOWER and cursor.peek().text in (",", ")"):
        cursor.next()
        return ast.Variable(token.text, span=cursor.span(token))
    first, holes = cursor.index, cursor.holes
    tree = _binary(cursor, 0)
    # A tree has no more levels than tokens, but for the tokens inside its strings.
    may_be_deep = cursor.index - first > MAX_HEIGHT // 2 or cursor.holes > holes
    if may_be_deep and ast.height(tree) > MAX_HEIGHT:
        cursor.too_deep(tree.span, MAX_HEIGHT)
    return tree


def type_(cursor: Cursor) -> ast.Type:
    """Takes a type."""
    token = cursor.token
    if token.text in ("bit", "signed"):
        cursor.next()
        cursor.expect("<")
        number = cursor.next()
        width = width_of(cursor, number.text if number.kind is Kind.INTEGER else "", number)
        cursor.expect(">")
        return ast.SizedType(token.text, width, span=cursor.since(token))
    if token.text in ("bigint", "float", "double"):
        cursor.not_yet(f"type `{token.text}` is")
    if token.text in ("(", "'", "function", "|"):
        what = {"(": "tuple types are", "'": "type variables are"}.get(token.text, "function types are")
        cursor.not_yet(what)
    if token.text in ("bool", "string") or token.kind in (Kind.UPPER, Kind.LOWER):
        cursor.next()
        # Behind a small name a `<` compares: `x as u8 < y`.
        if token.kind is Kind.UPPER and cursor.at("<"):
            cursor.not_yet("types with arguments are", token)
        if cursor.at("::"):
            cursor.not_yet("names of modules are", token)
        return ast.NamedType(token.text, span=cursor.span(token))
    cursor.unexpected("a type")


def _binary(cursor: Cursor, lowest: int) -> ast.Expression:
    """Takes an expression whose operators have at least the priority `lowest`; all of them associate to the left."""
    first = cursor.token
    left = _unary(cursor)
    while True:
        operator = cursor.token
        level = PRIORITY.get(operator.text, -1)
        if level < lowest or operator.kind not in (Kind.OPERATOR, Kind.KEYWORD):
            return left
        cursor.next()
        right = _binary(cursor, level + 1)
        if level == COMPARISON:
            _refuse_chain(cursor, operator)
        left = ast.Binary(operator.text, left, right, span=cursor.since(first))


def _refuse_chain(cursor: Cursor, operator: Token) -> None:
    """After a comparison: `a < b < c` has no meaning, `a == b == c` compares the first answer."""
    following = cursor.token
    chained = following.kind is Kind.OPERATOR and PRIORITY.get(following.text) == COMPARISON
    if chained and not {operator.text, following.text} <= {"==", "!="}:
        cursor.fail(
            Code.CHAINED_COMPARISON,
            f"`{operator.text}` and `{following.text}` stand in one chain",
            "a comparison cannot be compared without parentheses",
        )


def _unary(cursor: Cursor) -> ast.Expression:
    token = cursor.token
    if token.kind is not Kind.OPERATOR and token.kind is not Kind.KEYWORD:
        return _postfix(cursor)
    if token.text in ("-", "~", "not"):
        with cursor.nested():
            cursor.next()
            operand = _unary(cursor)
        return ast.Unary(token.text, operand, span=cursor.since(token))
    if token.text == "&":
        cursor.not_yet("references are")
    return _postfix(cursor)


def _postfix(cursor: Cursor) -> ast.Expression:
    first = cursor.token
    operand = term(cursor)
    while True:
        token = cursor.token
        if token.text not in _POSTFIX:
            return operand
        if cursor.accept("as"):
            target = type_(cursor)
            operand = ast.Cast(operand, target, span=cursor.since(first))
        elif cursor.accept(":"):
            target = type_(cursor)
            operand = ast.Annotation(operand, target, span=cursor.since(first))
        elif cursor.accept("["):
            high = _slice_end(cursor)
            cursor.expect(":")
            low = _slice_end(cursor)
            cursor.expect("]")
            operand = ast.Slice(operand, high, low, span=cursor.since(first))
        elif token.text == "(" and token.kind is Kind.OPERATOR:
            cursor.not_yet("calls of functions are", first)
        elif token.text == "?":
            cursor.not_yet("the operator `?` is")
        elif token.text == "." and _continues(token, cursor.peek()):
            cursor.not_yet("access to fields and methods is", cursor.peek())
        else:
            return operand


def _continues(dot: Token, after: Token) -> bool:
    """True for the dot of `x.f`, false for the one that ends a rule."""
    return after.kind in (Kind.LOWER, Kind.INTEGER) and after.start == dot.end


def _slice_end(cursor: Cursor) -> int:
    token = cursor.token
    if token.kind is not Kind.INTEGER:
        cursor.unexpected("the number of a bit")
    cursor.next()
    return integer(cursor, token).value


def term(cursor: Cursor) -> ast.Expression:
    """Takes an operand without its postfix: a name, a literal, `(…)`, `{…}`, `if`."""
    token = cursor.token
    match token.kind:
        case Kind.LOWER:
            cursor.next()
            if cursor.token.text == "@":
                cursor.not_yet("`@` patterns are")
            if cursor.token.text == "::":
                cursor.not_yet("names of modules are", token)
            return ast.Variable(token.text, span=cursor.span(token))
        case Kind.INTEGER:
            cursor.next()
            return integer(cursor, token)
        case Kind.STRING | Kind.RAW | Kind.TEMPLATE:
            return _string(cursor)
        case Kind.FLOAT:
            cursor.not_yet("floating-point numbers are")
        case Kind.INTERNED:
            cursor.not_yet("interned strings are")
        case Kind.UPPER:
            if cursor.peek().kind is Kind.ERROR:
                raise Failure
            cursor.not_yet("structs and constructors are")
        case _:
            return _bracketed(cursor)


def _bracketed(cursor: Cursor) -> ast.Expression:
    token = cursor.token
    match token.text:
        case "_":
            cursor.next()
            return ast.Wildcard(span=cursor.span(token))
        case "true" | "false":
            cursor.next()
            return ast.Boolean(token.text == "true", span=cursor.span(token))
        case "(":
            with cursor.nested():
                cursor.next()
                if cursor.at(")"):
                    cursor.not_yet("tuples are", token)
                inner = _binary(cursor, 0)
            if cursor.at(","):
                cursor.not_yet("tuples are", token)
            cursor.expect(")")
            return inner
        case "{":
            with cursor.nested():
                cursor.next()
                if cursor.at("}"):
                    cursor.not_yet("empty blocks are", token)
                inner = _binary(cursor, 0)
            if cursor.at(";"):
                cursor.not_yet("blocks of several statements are", token)
            cursor.expect("}")
            return inner
        case "if":
            with cursor.nested():
                cursor.next()
                condition = term(cursor)
                then = term(cursor)
                cursor.expect("else")
                otherwise = term(cursor)
            return ast.Conditional(condition, then, otherwise, span=cursor.since(token))
        case "var":
            cursor.not_yet("`var` inside an expression is")
        case "[":
            cursor.not_yet("vectors and maps are")
        case "|":
            cursor.not_yet("closures are")
        case word if word in _LATER_WORDS:
            cursor.not_yet(f"`{word}` is")
        case word if token.kind in (Kind.KEYWORD, Kind.RESERVED):
            cursor.fail(Code.RESERVED_WORD, f"`{word}` is a reserved word", "it cannot be the name of a variable")
        case _:
            cursor.unexpected("an expression")


def _string(cursor: Cursor) -> ast.Expression:
    first = cursor.next()
    if first.kind is Kind.RAW:
        return ast.String(decode_raw(first).text, span=cursor.span(first))
    decoded: Decoded
    if first.kind is Kind.TEMPLATE:
        decoded = decode_raw(first)
    else:
        decoded = decode_quoted(cursor.source, first, cursor.diagnostics)
        while cursor.token.kind is Kind.STRING:
            decoded += decode_quoted(cursor.source, cursor.next(), cursor.diagnostics)
    if "${" not in decoded.text:
        return ast.String(decoded.text, span=cursor.since(first))
    parts = split_template(cursor.source, decoded, cursor.diagnostics)
    cursor.holes += 1
    with cursor.nested():
        trees = tuple(part if isinstance(part, str) else _hole(cursor, part) for part in parts)
    return ast.Interpolation(trees, span=cursor.since(first))


def _hole(cursor: Cursor, hole: Hole) -> ast.Expression:
    inner = Cursor(cursor.source, hole.tokens, cursor.diagnostics, cursor.nesting)
    if inner.finished():
        cursor.report(Code.UNEXPECTED_TOKEN, "expected an expression, found `}`", hole.span, "it is empty")
        raise Failure
    tree = _binary(inner, 0)
    if not inner.finished():
        inner.unexpected("`}`")
    return tree
