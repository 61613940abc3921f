"""Source text → tokens, ending with one END token.

Blanks and comments fall away (`comments` finds the latter); block comments nest. What cannot be a token becomes an
ERROR token and a diagnostic, and the scan goes on behind it, so that one pass finds all such places. Strings keep their
source form: `strings` decodes them when the parser meets them, and comes back here for the expressions inside `${}`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.diagnostics.spans import Source, Span
from tidelog.syntax.tokens import KEYWORDS, OPERATORS, RESERVED, Kind, Token

_BLANK = " \t\r\n\f\v"
_TOKEN = re.compile(
    rf"""
    [{_BLANK}]*
    (?: (?P<word>     [A-Za-hj-z_][A-Za-z0-9_]* | i (?! " | \$?\[\| ) [A-Za-z0-9_]* )
    |   (?P<skip>     //[^\n]* )
    |   (?P<comment>  /\* )
    |   (?P<raw>      \$?\[\| )
    |   (?P<given>    \$[A-Za-z_][A-Za-z0-9_]* )
    |   (?P<operator> {"|".join(map(re.escape, OPERATORS[:-1]))} | '(?! f | s?[bodh]) )
    |   (?P<float>    (?: \d[\d_]* )? 'f (?: \d[\d_]* (?: \.\d+ )? (?: [eE][+-]?\d+ )? )?
                  |   \d[\d_]* (?: \.\d+ (?: [eE][+-]?\d+ )? | [eE][+-]?\d+ ) )
    |   (?P<integer>  (?: \d[\d_]* )? ' s?[bodh] \w* | \d\w* )
    |   (?P<quote>    " )
    |   (?P<interned> i )
    |   (?P<end>      \Z )
    )
    """,
    re.VERBOSE | re.ASCII,
)
_QUOTED = re.compile(r'"(?:[^"\\\n]|\\[^\s]|\\\s+\\)*"')
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_WORDS = dict.fromkeys(KEYWORDS, Kind.KEYWORD) | dict.fromkeys(RESERVED, Kind.RESERVED)
_SURROGATE = re.compile("[\ud800-\udfff]")


def lex(source: Source) -> tuple[list[Token], list[Diagnostic]]:
    """Returns the tokens of a source and what is wrong with them; linear in the length of the text."""
    scanner = _Scanner(source, source.text, None)
    scanner.scan(0)
    return scanner.tokens, scanner.diagnostics


def comments(source: Source) -> list[Token]:
    """Returns the comments of a source, in their order; linear in the length of the text."""
    scanner = _Scanner(source, source.text, None)
    scanner.scan(0)
    return scanner.comments


def lex_until_brace(
    source: Source, text: str, start: int, offsets: Sequence[int]
) -> tuple[list[Token], list[Diagnostic], int]:
    """Returns the tokens of `text` from `start` to a `}` without its `{`, and the position of that `}` or of the end.

    `text` is what a string literal of the source says; character i of it stands at `offsets[i]` of the source.
    """
    scanner = _Scanner(source, text, offsets)
    end = scanner.scan(start)
    tokens = [Token(kind, word, offsets[first], offsets[last]) for kind, word, first, last in scanner.tokens]
    return tokens, scanner.diagnostics, end


class _Scanner:
    """One scan of one text. With `offsets`, the text is the inside of a string, and its scan ends at a closing `}`."""

    def __init__(self, source: Source, text: str, offsets: Sequence[int] | None) -> None:
        self._source = source
        self._text = text
        self._offsets = offsets
        self.tokens: list[Token] = []
        self.comments: list[Token] = []
        self.diagnostics: list[Diagnostic] = []

    def scan(self, position: int) -> int:
        """Scans from a position; returns where it ended."""
        text, inside, depth = self._text, self._offsets is not None, 0
        match_at, take, kinds = _TOKEN.match, self.tokens.append, _WORDS
        while True:
            match = match_at(text, position)
            if match is None:
                position = self._unexpected(position)
                continue
            group = match.lastgroup
            assert group is not None
            start, position = match.span(group)
            if group == "word":
                word = text[start:position]
                take(Token(kinds.get(word) or (Kind.UPPER if word[0].isupper() else Kind.LOWER), word, start, position))
            elif group == "operator":
                word = text[start:position]
                if inside and word in "{}":
                    depth += 1 if word == "{" else -1
                    if depth < 0:
                        break
                take(Token(Kind.OPERATOR, word, start, position))
            elif group == "integer" or group == "float":
                take(Token(Kind.INTEGER if group == "integer" else Kind.FLOAT, text[start:position], start, position))
            elif group == "skip":
                self.comments.append(Token(Kind.COMMENT, text[start:position], start, position))
            elif group == "comment":
                position = self._comment(start)
            elif group == "quote":
                position = self._quoted(start)
            elif group == "raw":
                position = self._raw(start)
            elif group == "given":
                take(Token(Kind.PARAMETER, text[start:position], start, position))
            elif group == "interned":
                take(Token(Kind.INTERNED, "i", start, position))
            elif group == "end":
                break
        take(Token(Kind.END, text[start : start + 1], start, start))
        return start

    def _unexpected(self, position: int) -> int:
        while self._text[position] in _BLANK:
            position += 1
        char = self._text[position]
        shown = f"`{char}`" if char.isprintable() else f"U+{ord(char):04X}"
        self._report(
            Code.UNEXPECTED_CHARACTER,
            f"unexpected character {shown}",
            position,
            position + 1,
            "not a character of the language",
            help=_instead_of(char),
        )
        end = position + 1
        # A run of strange characters is one mistake.
        while end < len(self._text) and not _TOKEN.match(self._text, end):
            end += 1
        self.tokens.append(Token(Kind.ERROR, char, position, end))
        return end

    def _comment(self, start: int) -> int:
        depth, position = 1, start + 2
        while depth:
            edge = _COMMENT_EDGE.search(self._text, position)
            if edge is None:
                self._report(Code.UNTERMINATED_COMMENT, "comment is not closed", start, start + 2, "it begins here")
                self.tokens.append(Token(Kind.ERROR, "/*", start, len(self._text)))
                return len(self._text)
            depth += 1 if edge.group() == "/*" else -1
            position = edge.end()
        self.comments.append(Token(Kind.COMMENT, self._text[start:position], start, position))
        return position

    def _quoted(self, start: int) -> int:
        match = _QUOTED.match(self._text, start)
        if match is None:
            line_end = self._text.find("\n", start)
            end = len(self._text) if line_end < 0 else line_end
            message = "string is not closed on its line"
            self._report(Code.UNTERMINATED_STRING, message, start, start + 1, "it begins here")
            self.tokens.append(Token(Kind.ERROR, '"', start, end))
            return end
        return self._string(Kind.STRING, start, match.end())

    def _raw(self, start: int) -> int:
        close = self._text.find("|]", self._text.index("[|", start) + 2)
        if close < 0:
            self._report(Code.UNTERMINATED_STRING, "raw string is not closed", start, start + 2, "it begins here")
            self.tokens.append(Token(Kind.ERROR, "[|", start, len(self._text)))
            return len(self._text)
        return self._string(Kind.TEMPLATE if self._text[start] == "$" else Kind.RAW, start, close + 2)

    def _string(self, kind: Kind, start: int, end: int) -> int:
        surrogate = _SURROGATE.search(self._text, start, end)
        if surrogate:
            at = surrogate.start()
            message = f"unexpected character U+{ord(surrogate.group()):04X}"
            self._report(Code.UNEXPECTED_CHARACTER, message, at, at + 1, "a surrogate is no character of a text")
            kind = Kind.ERROR
        self.tokens.append(Token(kind, self._text[start:end], start, end))
        return end

    def _report(self, code: Code, message: str, start: int, end: int, label: str, *, help: str | None = None) -> None:
        if self._offsets is not None:
            start, end = self._offsets[start], self._offsets[end]
        self.diagnostics.append(diagnostic(code, message, Span(self._source, start, end), label, help=help))


def _instead_of(char: str) -> str | None:
    """Returns a replacement for a character that is not in the language."""
    if char == "!":
        return "`not` negates, `!=` is true for values that differ"
    if char == "$":
        return '`"${x}"` puts a value into a text; a parameter of a query has a name: `$x`'
    if char == "\\":
        return "`not` negates"
    return "names are made of the letters a to z, digits and `_`" if char.isalpha() else None
