"""Tokens of Soufflé's language → `tree.Program`, by recursive descent.

The parser reports a mistake where it finds it, goes on behind the clause or at the next directive, and so reports all
mistakes of a text at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.report import Diagnostic
from tidelog.diagnostics.spans import Source, Span
from tidelog.souffle.text import tree
from tidelog.souffle.text.cursor import Cursor, Failure
from tidelog.souffle.text.parse_bodies import atom, body
from tidelog.souffle.text.parse_declarations import component, directive_item, init
from tidelog.souffle.text.preprocess import SearchPath, preprocess
from tidelog.souffle.text.tokens import DIRECTIVES, Kind, Token


@dataclass(frozen=True, slots=True)
class Parsed:
    """A program and the files that it was read from; the first is the main one."""

    program: tree.Program
    sources: tuple[Source, ...]


def parse(
    source: Source, search_path: SearchPath = (), word_bits: int = 32, macros: Mapping[str, str] | None = None
) -> Parsed:
    """Returns the tree of a source. Raises ProgramError with all syntax errors, in the order of the text."""
    prepared = preprocess(source, search_path, {"RAM_DOMAIN_SIZE": str(word_bits)}, macros)
    cursor = Cursor(prepared.tokens, prepared.diagnostics)
    found: list[tree.Item] = []
    if not any(each.code is Code.UNTERMINATED_STRING for each in prepared.diagnostics):
        items(cursor, found, closing=None)
    if cursor.diagnostics:
        raise ProgramError(in_order(cursor.diagnostics, prepared.sources))
    whole = Span(source, 0, len(source.text))
    return Parsed(tree.Program(tuple(found), span=whole), prepared.sources)


def parse_body(source: Source, word_bits: int = 32) -> tuple[tree.Body, dict[str, Span]]:
    """Returns the body that a text is, with or without a `.` behind it, and the first place of each parameter.

    A parameter (`$x`) is a variable whose name begins with `$`. Raises ProgramError with all syntax errors.
    """
    prepared = preprocess(source, (), {"RAM_DOMAIN_SIZE": str(word_bits)})
    cursor = Cursor(prepared.tokens, prepared.diagnostics)
    parameters = cursor.parameters = {}
    found: tree.Body | None = None
    with suppress(Failure):
        found = body(cursor)
        cursor.take(".")
        if not cursor.finished():
            cursor.unexpected("`,`, `;` or the end of the query")
    if cursor.diagnostics or found is None:
        raise ProgramError(in_order(cursor.diagnostics, prepared.sources))
    return found, parameters


def in_order(diagnostics: Sequence[Diagnostic], sources: Sequence[Source]) -> tuple[Diagnostic, ...]:
    """Returns the errors, file by file, each file's in the order of its text; none twice."""
    place = {id(source): number for number, source in enumerate(sources)}
    unique = {(each.code, id(each.span.source), each.span.start, each.message): each for each in diagnostics}
    return tuple(sorted(unique.values(), key=lambda each: (place.get(id(each.span.source), 0), each.span.start)))


def items(cursor: Cursor, found: list[tree.Item], closing: str | None) -> None:
    """Reads items up to the end, or to a closing brace, which stays."""
    while not cursor.finished() and not (closing is not None and cursor.at(closing)):
        start = cursor.index
        try:
            found += _items(cursor, inside=closing is not None)
        except Failure:
            _recover(cursor, start)
        except RecursionError:
            with suppress(Failure):
                cursor.fail(Code.NESTED_TOO_DEEPLY, "expressions are nested too deeply", cursor.token.span, "here")
            _recover(cursor, start)


def _recover(cursor: Cursor, start: int) -> None:
    """Skips to behind the `.` that ends a clause, or to the next directive; past `start` in any case."""
    cursor.nesting = 0
    if cursor.index == start:
        cursor.next()
    while not cursor.finished() and cursor.token.kind is not Kind.DIRECTIVE:
        token = cursor.next()
        ends = token.kind is Kind.MARK and token.text == "."
        if ends and (cursor.token.kind is not Kind.WORD or cursor.token.spaced):
            return


def _items(cursor: Cursor, *, inside: bool) -> list[tree.Item]:
    skip_annotations(cursor)
    token = cursor.token
    if token.kind is Kind.DIRECTIVE:
        match token.text:
            case ".comp":
                return [component(cursor, items)]
            case ".init":
                return [init(cursor)]
            case ".override" if inside:
                cursor.next()
                name = cursor.word("the name of a relation")
                return [tree.Override(name.text, span=name.span)]
        return directive_item(cursor, inside=inside)
    if token.kind is Kind.WORD:
        return [_clause(cursor)]
    if cursor.finished() or cursor.at("}"):
        if inside or cursor.finished():
            return []
        cursor.unexpected("a clause or a directive")
    if token.text == "." and cursor.peek().kind in (Kind.WORD, Kind.KEYWORD):
        from tidelog.diagnostics.suggest import suggest

        given = f".{cursor.peek().text}"
        guess = suggest(given, sorted(DIRECTIVES))
        span = cursor.between(token.span, cursor.peek().span)
        meant = f"did you mean `{guess}`?" if guess else None
        cursor.fail(
            Code.UNEXPECTED_TOKEN, f"`{given}` is no directive", span, "a clause or a directive is expected", meant
        )
    cursor.unexpected("a clause or a directive")


def skip_annotations(cursor: Cursor) -> None:
    """Takes `@[…]` and `@![…]`, which say nothing to the evaluation."""
    while cursor.at("@", "@!") and cursor.peek().text == "[":
        first = cursor.next()
        cursor.next()
        if cursor.token.kind not in (Kind.WORD, Kind.KEYWORD):
            cursor.unexpected("the name of an annotation")
        depth: list[str] = ["]"]
        while depth:
            token = cursor.next()
            if token.kind is Kind.END:
                cursor.fail(Code.UNEXPECTED_TOKEN, "an annotation does not end", first.span, "begins here")
            if token.kind is Kind.MARK and token.text in ("[", "(", "{"):
                depth.append({"[": "]", "(": ")", "{": "}"}[token.text])
            elif token.kind is Kind.MARK and token.text in ("]", ")", "}") and token.text != depth.pop():
                cursor.fail(Code.UNEXPECTED_TOKEN, f"`{token.text}` closes nothing", token.span, "not expected")


def _clause(cursor: Cursor) -> tree.Clause:
    first = cursor.token
    heads = [atom(cursor)]
    better = None
    if cursor.take("<="):
        better = atom(cursor)
    else:
        while cursor.take(","):
            skip_annotations(cursor)
            heads.append(atom(cursor))
    found = None
    if cursor.at(":-"):
        cursor.next()
        skip_annotations(cursor)
        found = body(cursor)
    elif better is not None or len(heads) > 1:
        cursor.unexpected("`:-`")
    if not cursor.at("."):
        wanted = "`,`, `;` or `.`" if found is not None else "`:-` or `.`"
        last = cursor.tokens[cursor.index - 1]
        if cursor.token.kind is Kind.DIRECTIVE or cursor.finished():
            cursor.fail(Code.UNEXPECTED_TOKEN, "a clause does not end", last.span, f"{wanted} is expected behind it")
        cursor.unexpected(wanted)
    cursor.next()
    plan = None
    span = cursor.since(first)
    if cursor.at(".plan"):
        plan = _plan(cursor, found is not None)
    return tree.Clause(tuple(heads), found, better, plan, span=span)


def _plan(cursor: Cursor, has_body: bool) -> tree.Plan:
    first = cursor.next()
    if not has_body:
        cursor.fail(Code.UNEXPECTED_TOKEN, "a fact has a plan", first.span, "only rules have one")
    orders: list[tuple[int, tuple[int, ...]]] = []
    while True:
        version = _whole(cursor)
        cursor.expect(":")
        cursor.expect("(")
        order: list[int] = []
        if not cursor.at(")"):
            order.append(_whole(cursor))
            while cursor.take(","):
                order.append(_whole(cursor))
        cursor.expect(")")
        orders.append((version, tuple(order)))
        if not cursor.take(","):
            return tree.Plan(tuple(orders), span=cursor.since(first))


def _whole(cursor: Cursor) -> int:
    token: Token = cursor.token
    if token.kind is not Kind.NUMBER:
        cursor.unexpected("a number")
    cursor.next()
    return int(token.value, 0) if token.value[:2] in ("0x", "0b") else int(token.value)
