"""A text in Soufflé's language → the same text with blanks and indents of one style: `tidelog fmt`.

Line breaks, comments and lines of the preprocessor stay where they are. A line that goes on with a clause is indented
by four blanks, the inside of a component by four more; blanks stand behind commas, and none before them. The result has
the same tokens as the source, and formatted again it stays as it is.
"""

from __future__ import annotations

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import InternalError
from tidelog.diagnostics.spans import Source
from tidelog.souffle.text.lex import lex
from tidelog.souffle.text.parse import parse
from tidelog.souffle.text.preprocess import SearchPath
from tidelog.souffle.text.tokens import Kind, Token

_INDENT = "    "
_LOOK = 200
_NO_BLANK_BEFORE = frozenset((",", ")", "]", ";", "."))
_NO_BLANK_AFTER = frozenset(("(", "[", "!", "@", "$", "@!"))
_GO_ON = frozenset((",", "|", "=", ":", "<:", "<"))
_OPENING, _CLOSING = ("(", "[", "{"), (")", "]", "}")


def format_souffle(source: Source, search_path: SearchPath = ()) -> str:
    """Returns the formatted text. Raises ProgramError if the source does not parse."""
    parse(source, search_path)
    text = _formatted(source)
    if _tokens(Source(source.name, text)) != _tokens(source):
        raise InternalError(f"formatting would change {source.name}; it is left alone", code=Code.CHANGED_BY_FORMATTING)
    return text


def _tokens(source: Source) -> list[tuple[Kind, str]]:
    return [(token.kind, token.value.strip()) for token in lex(source)[0]]


def _formatted(source: Source) -> str:
    text, tokens = source.text, lex(source)[0]
    lines: list[str] = []
    line = ""
    end = depth = braces = 0
    inside = is_directive = False  # a clause or a directive goes on
    before: Token | None = None

    def flush() -> None:
        nonlocal line
        lines.append(line.rstrip())
        line = ""

    for place, token in enumerate(tokens):
        gap = text[end : token.span.start]
        if not depth and is_directive and "\n" in gap and _begins(before, token):
            inside = False
        pieces = gap.split("\n")
        for number, piece in enumerate(pieces):
            if number:
                flush()
            remark = piece.strip()
            if remark:
                line += ("  " if line.strip() else _INDENT * (braces + inside)) + remark
        if token.kind is Kind.END:
            break
        end = token.span.end
        if token.kind is Kind.LINE:
            line = text[token.span.start : token.span.end].rstrip()
            before = None
            continue
        if token.text == "}" and depth == 0 and braces:
            braces -= 1
            inside = False
        elif token.kind is Kind.DIRECTIVE and not depth:
            inside = False
        if not inside:
            is_directive = token.kind is Kind.DIRECTIVE
        if not line:
            line = _INDENT * (braces + (inside or depth > 0))
        elif (before is not None and _blank(before, token, gap)) or before is None or "/" in gap:
            line += " "
        line += text[token.span.start : token.span.end]
        inside = True
        if token.kind is Kind.MARK:
            if token.text == "{" and depth == 0 and _opens_component(tokens[max(0, place - _LOOK) : place]):
                braces += 1
                inside = False
            elif token.text in _OPENING:
                depth += 1
            elif token.text in _CLOSING:
                depth = max(0, depth - 1)
            if token.text in (".", "}") and not depth:
                inside = False
        before = token
    flush()
    made = "\n".join(lines).strip("\n")
    return f"{made}\n" if made else ""


def _begins(before: Token | None, token: Token) -> bool:
    """Returns whether a token on a new line begins something new behind a directive."""
    goes_on = before is not None and before.kind is Kind.MARK and before.text in _GO_ON
    return not goes_on and (token.kind in (Kind.WORD, Kind.DIRECTIVE, Kind.END) or token.text in ("}", "@"))


def _opens_component(before: list[Token]) -> bool:
    """Returns whether a brace behind these tokens is that of a component: the last directive is `.comp`."""
    return next((token.text == ".comp" for token in reversed(before) if token.kind is Kind.DIRECTIVE), False)


def _blank(before: Token, token: Token, gap: str) -> bool:
    """Returns whether a blank stands between two tokens."""
    if not gap:
        return before.text in (",", ":-") or token.text == ":-"
    is_tight = token.text in _NO_BLANK_BEFORE and token.kind is Kind.MARK
    return not is_tight and not (before.text in _NO_BLANK_AFTER and before.kind is Kind.MARK)
