"""Arguments of atoms and constraints: constants, variables, functors, records, branches, aggregates."""

from __future__ import annotations

from tidelog.diagnostics.codes import Code
from tidelog.souffle.text import tree
from tidelog.souffle.text.cursor import Cursor
from tidelog.souffle.text.tokens import Kind, Token

AGGREGATES = ("count", "max", "mean", "min", "sum")
_FUNCTORS = frozenset(("cat", "ord", "range", "strlen", "substr", "to_float", "to_number", "to_string", "to_unsigned"))
# From the loosest to the tightest; all of these group to the left.
_LEVELS = (
    ("lor",),
    ("lxor",),
    ("land",),
    ("bor",),
    ("bxor",),
    ("band",),
    ("bshl", "bshr", "bshru"),
    ("+", "-"),
    ("*", "/", "%"),
)
OPERATORS = frozenset(operator for level in _LEVELS for operator in level) | {"^"}


def argument(cursor: Cursor, level: int = 0) -> tree.Argument:
    """Reads one argument."""
    cursor.deeper()
    found = _binary(cursor, level)
    cursor.nesting -= 1
    return found


def arguments(cursor: Cursor, closing: str) -> tuple[tree.Argument, ...]:
    """Reads arguments up to a closing mark, which is taken."""
    found: list[tree.Argument] = []
    if not cursor.at(closing):
        found.append(argument(cursor))
        while cursor.take(","):
            found.append(argument(cursor))
    cursor.expect(closing, f"`,` or `{closing}`")
    return tuple(found)


def _binary(cursor: Cursor, level: int) -> tree.Argument:
    if level == len(_LEVELS):
        return _unary(cursor)
    first = cursor.token
    left = _binary(cursor, level + 1)
    while cursor.at(*_LEVELS[level]):
        operator = cursor.next().text
        right = _binary(cursor, level + 1)
        left = tree.Functor(operator, (left, right), span=cursor.since(first))
    return left


def _unary(cursor: Cursor) -> tree.Argument:
    first = cursor.token
    if cursor.take("-"):
        cursor.deeper()
        inside = _unary(cursor)
        cursor.nesting -= 1
        if isinstance(inside, tree.Number) and not inside.text.startswith("-"):
            return tree.Number(f"-{inside.text}", inside.kind, span=cursor.since(first))
        return tree.Functor("neg", (inside,), span=cursor.since(first))
    if cursor.at("bnot", "lnot"):
        operator = cursor.next().text
        cursor.deeper()
        inside = _unary(cursor)
        cursor.nesting -= 1
        return tree.Functor(operator, (inside,), span=cursor.since(first))
    base = _primary(cursor)
    if cursor.take("^"):
        cursor.deeper()
        exponent = _unary(cursor)
        cursor.nesting -= 1
        return tree.Functor("^", (base, exponent), span=cursor.since(first))
    return base


def _primary(cursor: Cursor) -> tree.Argument:
    token = cursor.token
    match token.kind:
        case Kind.STRING:
            cursor.next()
            return tree.Text(token.value, span=token.span)
        case Kind.FLOAT | Kind.UNSIGNED:
            cursor.next()
            return tree.Number(token.value, token.kind.value, span=token.span)
        case Kind.NUMBER:
            cursor.next()
            return tree.Number(token.value, span=token.span)
        case Kind.WORD:
            cursor.next()
            return tree.Variable(token.text, span=token.span)
        case Kind.KEYWORD:
            return _keyword(cursor, token)
        case Kind.MARK:
            return _marked(cursor, token)
    cursor.unexpected("an argument")


def _marked(cursor: Cursor, token: Token) -> tree.Argument:
    match token.text:
        case "(":
            cursor.next()
            found = argument(cursor)
            cursor.expect(")")
            return found
        case "[":
            cursor.next()
            items = arguments(cursor, "]")
            return tree.Record(items, span=cursor.since(token))
        case "$":
            cursor.next()
            if cursor.token.kind is not Kind.WORD:
                return tree.Counter(span=token.span)
            is_qualified = cursor.peek().text == "." and cursor.peek(2).kind is Kind.WORD
            if cursor.parameters is not None and cursor.peek().text != "(" and not is_qualified:
                word = cursor.next()
                cursor.parameters.setdefault(f"${word.text}", cursor.since(token))
                return tree.Variable(f"${word.text}", span=cursor.since(token))
            name, _ = cursor.qualified("the name of a branch")
            cursor.expect("(")
            items = arguments(cursor, ")")
            return tree.Branch(name, items, span=cursor.since(token))
        case "@":
            cursor.next()
            if cursor.take("@"):
                return _user_aggregate(cursor, token)
            name = cursor.word("the name of a functor").text
            cursor.expect("(")
            items = arguments(cursor, ")")
            return tree.UserFunctor(name, items, span=cursor.since(token))
    cursor.unexpected("an argument")


def _keyword(cursor: Cursor, token: Token) -> tree.Argument:
    word = token.text
    match word:
        case "_":
            cursor.next()
            return tree.Unnamed(span=token.span)
        case "nil":
            cursor.next()
            return tree.Nil(span=token.span)
        case "autoinc" | "recursive_iteration_cnt":
            cursor.next()
            cursor.expect("(")
            cursor.expect(")")
            made = tree.Counter if word == "autoinc" else tree.IterationCounter
            return made(span=cursor.since(token))
        case "as":
            cursor.next()
            cursor.expect("(")
            inside = argument(cursor)
            cursor.expect(",")
            name, _ = cursor.qualified("a type")
            cursor.expect(")")
            return tree.Cast(inside, name, span=cursor.since(token))
        case "__FILE__":
            cursor.next()
            return tree.Text(token.span.source.name, span=token.span)
        case "__LINE__":
            cursor.next()
            return tree.Number(str(token.span.source.position(token.span.start)[0]), span=token.span)
        case "__INCL__":
            cursor.next()
            return tree.Text("", span=token.span)
    if word in _FUNCTORS:
        cursor.next()
        cursor.expect("(")
        items = arguments(cursor, ")")
        return tree.Functor(word, items, span=cursor.since(token))
    if word in AGGREGATES:
        return _aggregate(cursor)
    cursor.unexpected("an argument", f"`{word}` is a word of the language")


def _aggregate(cursor: Cursor) -> tree.Argument:
    from tidelog.souffle.text.parse_bodies import aggregate_body

    first = cursor.next()
    if cursor.at("(") and _has_comma(cursor):
        cursor.next()
        items = arguments(cursor, ")")
        if first.text not in ("min", "max"):
            cursor.report(
                Code.WRONG_OPERAND,
                f"the aggregate `{first.text}` is no functor",
                cursor.since(first),
                "takes one argument and a body",
                f"an aggregate has a body: `{first.text} x : {{ A(x) }}`",
            )
        return tree.Functor(first.text, items, span=cursor.since(first))
    target = None if cursor.at(":") else argument(cursor)
    cursor.expect(":", "`:`, and the body of the aggregate")
    if target is None and first.text != "count":
        cursor.report(
            Code.WRONG_ARGUMENT_COUNT,
            f"`{first.text}` has nothing to aggregate",
            first.span,
            "a target is expected behind it",
            f"for example `{first.text} x : {{ A(x) }}`",
        )
    if target is not None and first.text == "count":
        cursor.report(
            Code.WRONG_ARGUMENT_COUNT, "`count` takes no target", target.span, "not expected", "write `count : { … }`"
        )
    body = aggregate_body(cursor)
    return tree.Aggregate(first.text, target, body, span=cursor.since(first))


def _user_aggregate(cursor: Cursor, first: Token) -> tree.Argument:
    from tidelog.souffle.text.parse_bodies import aggregate_body

    name = cursor.word("the name of a functor").text
    target = None if cursor.at(":") else argument(cursor)
    cursor.expect(":")
    start = argument(cursor)
    cursor.expect(",")
    body = aggregate_body(cursor)
    return tree.Aggregate(f"@@{name}", target, body, start, span=cursor.since(first))


def _has_comma(cursor: Cursor) -> bool:
    """Returns whether the parentheses that open here hold a comma of their own."""
    depth = 0
    for place in range(cursor.index, len(cursor.tokens)):
        token = cursor.tokens[place]
        if token.kind is not Kind.MARK:
            continue
        if token.text in ("(", "[", "{"):
            depth += 1
        elif token.text in (")", "]", "}"):
            depth -= 1
            if not depth:
                return False
        elif token.text == "," and depth == 1:
            return True
    return False
