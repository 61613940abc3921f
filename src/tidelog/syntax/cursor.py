"""A place in a list of tokens, with the few moves that the parser is made of.

A rule of the grammar that cannot go on records one diagnostic and raises `Failure`; the parser catches it where it can
start again. Everything found wrong on the way is in `diagnostics`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.diagnostics.spans import Source, Span
from tidelog.syntax import ast
from tidelog.syntax.habits import habit, instead_of
from tidelog.syntax.tokens import Kind, Token

MAX_NESTING = 100
_ENDED = "a rule ends with a `.`"

T = TypeVar("T")


class Failure(Exception):  # noqa: N818 (it never leaves the parser)
    """The text cannot be parsed from here on; the reason is among the diagnostics."""


class Cursor:
    """The parser's place in the text, and what it has found wrong so far."""

    def __init__(self, source: Source, tokens: list[Token], diagnostics: list[Diagnostic], nesting: int = 0) -> None:
        self.source = source
        self.tokens = tokens
        self.diagnostics = diagnostics
        self.index = 0
        self.nesting = nesting
        self.holes = 0  # strings with `${}` so far
        self.parameters: dict[str, Span] | None = None  # those of a query so far; nothing else has any

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    def finished(self) -> bool:
        """True at the end of the text."""
        return self.tokens[self.index].kind is Kind.END

    def peek(self, distance: int = 1) -> Token:
        """Returns a token further on; the last one is END for ever."""
        return self.tokens[min(self.index + distance, len(self.tokens) - 1)]

    def next(self) -> Token:
        """Takes the token."""
        token = self.tokens[self.index]
        if token.kind is not Kind.END:
            self.index += 1
        return token

    def at(self, text: str) -> bool:
        """True at this keyword or operator: no token of another kind has the same text.

        Only the end of a `${}` has that of its `}`, but there no other `{` is open.
        """
        return self.tokens[self.index].text == text

    def at_word(self, text: str) -> bool:
        """True at this name, which has a meaning here only."""
        token = self.tokens[self.index]
        return token.text == text and token.kind is Kind.LOWER

    def accept(self, text: str) -> bool:
        """Takes the keyword or operator if it is here."""
        if self.tokens[self.index].text == text:
            self.index += 1
            return True
        return False

    def expect(self, text: str, *others: str, help: str | None = None) -> Token:
        """Takes the keyword or operator, or fails; `others` are what else could have stood here."""
        if self.at(text):
            return self.next()
        wanted = " or ".join(f"`{each}`" for each in (*others, text))
        before, token = self.tokens[self.index - 1], self.token
        if "\n" in self.source.text[before.end : token.start] and token.kind is not Kind.ERROR:
            # What is missing belongs to the line before, not to the one that happens to follow.
            gap = Span(self.source, before.end, before.end + 1)
            help = _ENDED if text == "." else habit(self.tokens, self.index, wanted) or help
            message = f"expected {wanted}, found {_named(token)}"
            self.fail(Code.UNEXPECTED_TOKEN, message, f"expected {wanted}", help=help, at=gap)
        self.unexpected(wanted, _ENDED if text == "." and token.kind is Kind.END else help)

    def listed(self, close: str, element: Callable[[Cursor], T]) -> tuple[T, ...]:
        """Takes elements with commas between them (one more at the end is fine) and the `close` behind them."""
        found: list[T] = []
        while not self.at(close):
            found.append(element(self))
            if not self.accept(","):
                break
        self.expect(close, ",")
        return tuple(found)

    def attempt(self, rule: Callable[[Cursor], T]) -> T | None:
        """Returns the result of the rule, or None where it fails; then the cursor stands where it did."""
        index, nesting, found = self.index, self.nesting, len(self.diagnostics)
        try:
            return rule(self)
        except Failure:
            self.index, self.nesting = index, nesting
            del self.diagnostics[found:]
            return None

    # Names

    def name(self, what: str, kind: Kind) -> ast.Name:
        """Takes a name of the kind (UPPER or LOWER), or fails saying what it would have been."""
        token = self.tokens[self.index]
        if token.kind is kind:
            self.index += 1
            return ast.Name(token.text, span=self.span(token))
        self._wrong_name(what, kind, token)

    def word(self, what: str) -> ast.Name:
        """Takes a name of either kind."""
        token = self.tokens[self.index]
        if token.kind is Kind.UPPER or token.kind is Kind.LOWER:
            self.index += 1
            return ast.Name(token.text, span=self.span(token))
        self._wrong_name(what, None, token)

    def scoped(self, what: str, kind: Kind | None = None) -> ast.Name:
        """Takes a name with any number of modules in front, `a::b::C`; the kind is that of its last word."""
        first = self.tokens[self.index]
        if self.peek().text != "::":
            return self.word(what) if kind is None else self.name(what, kind)
        words: list[str] = []
        while self.peek().text == "::":
            words.append(self.word("the name of a module").text)
            self.index += 1
        last = self.word(what) if kind is None else self.name(what, kind)
        return ast.Name("::".join((*words, last.text)), span=self.since(first))

    def scope_end(self, distance: int = 0) -> int:
        """Returns the distance to the last word of the scoped name that begins `distance` tokens on."""
        while self.peek(distance + 1).text == "::":
            distance += 2
        return distance

    def _wrong_name(self, what: str, kind: Kind | None, token: Token) -> NoReturn:
        if token.kind is Kind.UPPER or token.kind is Kind.LOWER:
            letter = "a capital letter" if kind is Kind.UPPER else "a small letter or `_`"
            fixed = token.text[0].swapcase() + token.text[1:]
            # There is no capital `_`.
            help = f"for example `{fixed}`" if fixed != token.text else None
            self.fail(Code.WRONG_CASE, f"{what} begins with {letter}", f"`{token.text}` does not", help=help)
        if token.kind in (Kind.KEYWORD, Kind.RESERVED):
            message, help = f"`{token.text}` is a reserved word", instead_of(token.text)
            self.fail(Code.RESERVED_WORD, message, f"it cannot be {what}", help=help)
        self.unexpected(what)

    # Places and errors

    def span(self, token: Token) -> Span:
        return Span(self.source, token.start, token.end)

    def since(self, first: Token) -> Span:
        """Returns the span from a token that was taken to the last one taken."""
        return Span(self.source, first.start, self.tokens[self.index - 1].end)

    def unexpected(self, wanted: str, help: str | None = None) -> NoReturn:
        """Fails at the token: something else was expected."""
        message = f"expected {wanted}, found {_named(self.token)}"
        help = habit(self.tokens, self.index, wanted) or help
        self.fail(Code.UNEXPECTED_TOKEN, message, f"expected {wanted}", help=help)

    def fail(
        self, code: Code, message: str, label: str, *, help: str | None = None, at: Token | Span | None = None
    ) -> NoReturn:
        """Fails at the token here, at another one, or at a span."""
        at = at or self.token
        if isinstance(at, Span):
            self.report(code, message, at, label, help=help)
        # The lexer has spoken about an erroneous token already.
        elif at.kind is not Kind.ERROR:
            self.report(code, message, self.span(at), label, help=help)
        raise Failure

    def report(self, code: Code, message: str, span: Span, label: str, *, help: str | None = None) -> None:
        self.diagnostics.append(diagnostic(code, message, span, label, help=help))

    def enter(self) -> None:
        """Counts one level of nesting, and fails past the limit: the parser's own stack is finite.

        After a Failure the count is wrong; the handler restores it.
        """
        if self.nesting >= MAX_NESTING:
            self.too_deep(self.span(self.token), MAX_NESTING)
        self.nesting += 1

    def leave(self) -> None:
        """Ends a level of nesting."""
        self.nesting -= 1

    def too_deep(self, span: Span, limit: int) -> NoReturn:
        message = "the text is nested too deeply here"
        help = "give a part of it a name of its own: `var part = …`, or `typedef Part = …` for a type"
        self.fail(Code.NESTED_TOO_DEEPLY, message, f"more than {limit} levels", help=help, at=span)


def _named(token: Token) -> str:
    """Returns the token in a message; the end of a text has none."""
    line = token.text.split("\n", 1)[0]
    return f"`{line if len(token.text) <= 40 else f'{line[:37]}...'}`" if token.text else "the end of the program"
