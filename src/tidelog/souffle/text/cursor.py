"""The parser's place in the tokens, and the errors that it reports there."""

from __future__ import annotations

from typing import NoReturn

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.diagnostics.spans import Span
from tidelog.souffle.text.habits import habit
from tidelog.souffle.text.tokens import Kind, Token

_DEEPEST = 150


class Failure(Exception):  # noqa: N818
    """A mistake was reported; the parser goes on behind it."""


class Cursor:
    def __init__(self, tokens: list[Token], diagnostics: list[Diagnostic]) -> None:
        self.tokens, self.diagnostics = tokens, diagnostics
        self.index = 0
        self.nesting = 0
        # The first place of each parameter, by its name with the `$`; None where there are none.
        self.parameters: dict[str, Span] | None = None

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    def peek(self, ahead: int = 1) -> Token:
        return self.tokens[min(self.index + ahead, len(self.tokens) - 1)]

    def next(self) -> Token:
        token = self.token
        if token.kind is not Kind.END:
            self.index += 1
        return token

    def finished(self) -> bool:
        return self.token.kind is Kind.END

    def at(self, *texts: str) -> bool:
        """Returns whether a mark, keyword or directive with one of the texts is next."""
        return self.token.text in texts and self.token.kind in (Kind.MARK, Kind.KEYWORD, Kind.DIRECTIVE)

    def take(self, *texts: str) -> Token | None:
        """Returns the next token, and goes on, if it has one of the texts."""
        return self.next() if self.at(*texts) else None

    def expect(self, text: str, wanted: str = "") -> Token:
        """Returns the next token, which must have the text."""
        if not self.at(text):
            self.unexpected(wanted or f"`{text}`")
        return self.next()

    def word(self, wanted: str) -> Token:
        if self.token.kind is not Kind.WORD:
            self.unexpected(wanted)
        return self.next()

    def qualified(self, wanted: str) -> tuple[str, Span]:
        """Returns a name with dots in it, and its span."""
        first = self.word(wanted)
        parts, last = [first.text], first
        while self.at(".") and self.peek().kind is Kind.WORD:
            self.next()
            last = self.next()
            parts.append(last.text)
        return ".".join(parts), self.between(first.span, last.span)

    def between(self, first: Span, last: Span) -> Span:
        """Returns the span from one to another; only the first where they are in different files."""
        if first.source is not last.source or last.end < first.start:
            return first
        return Span(first.source, first.start, last.end)

    def since(self, first: Token) -> Span:
        """Returns the span from a token to the last one that was taken."""
        return self.between(first.span, self.tokens[max(self.index - 1, 0)].span)

    def deeper(self) -> None:
        self.nesting += 1
        if self.nesting > _DEEPEST:
            self.fail(
                Code.NESTED_TOO_DEEPLY,
                f"more than {_DEEPEST} expressions are nested",
                self.token.span,
                "too deep here",
            )

    def unexpected(self, wanted: str, help: str | None = None) -> NoReturn:
        token = self.token
        found = "the end of the file" if token.kind is Kind.END else f"`{token.text}`"
        span = token.span
        help = help or habit(self.tokens, self.index, wanted)
        if token.kind is Kind.END and self.index:
            span = self.tokens[self.index - 1].span
        self.fail(Code.UNEXPECTED_TOKEN, f"expected {wanted}, found {found}", span, f"{wanted} is expected", help)

    def report(self, code: Code, message: str, span: Span, label: str, help: str | None = None) -> None:
        self.diagnostics.append(diagnostic(code, message, span, label, help=help))

    def fail(self, code: Code, message: str, span: Span, label: str, help: str | None = None) -> NoReturn:
        self.report(code, message, span, label, help)
        raise Failure
