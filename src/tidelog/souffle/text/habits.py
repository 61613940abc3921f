"""Helps for what people write who come from other languages, or who have left out a sign: tokens → one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.diagnostics.suggest import suggest
from tidelog.souffle.text.tokens import Kind, Token

TYPES = {
    "int": "number",
    "integer": "number",
    "i32": "number",
    "i64": "number",
    "bool": "number",
    "boolean": "number",
    "uint": "unsigned",
    "u32": "unsigned",
    "u64": "unsigned",
    "double": "float",
    "real": "float",
    "string": "symbol",
    "str": "symbol",
    "text": "symbol",
}
_FUNCTORS = (
    *("as", "autoinc", "cat", "max", "min", "ord", "range", "strlen", "substr"),
    *("to_float", "to_number", "to_string", "to_unsigned"),
)
_QUALIFIERS = (
    *("brie", "btree", "btree_delete", "choice-domain", "eqrel", "inline", "magic"),
    *("no_inline", "no_magic", "overridable"),
)
_AGGREGATES = ("count", "max", "mean", "min", "sum")
_PAIRS = {
    ("=", "="): "`=` compares: `a = b`",
    ("<", ">"): "`!=` says that two values differ: `a != b`",
    ("=", "<"): "`<=` is the sign for at most",
    ("=", ">"): "`>=` is the sign for at least",
    ("<", "-"): "`:-` stands between the head and the body of a clause",
    ("&", "&"): "`,` joins the parts of a body",
    ("|", "|"): "`;` stands between alternatives: `(A(x) ; B(x))`",
}


def habit(tokens: Sequence[Token], place: int, wanted: str) -> str | None:
    """Returns a help for an unexpected token, from what stands around it."""
    token = tokens[place]
    before = tokens[place - 1] if place else token
    after = tokens[min(place + 1, len(tokens) - 1)]
    for one, other in ((before, token), (token, after)):
        if (one.text, other.text) in _PAIRS and one.kind is other.kind is Kind.MARK:
            return _PAIRS[one.text, other.text]
    if token.text == "'":
        return 'a text stands between double quotes: "abc"'
    if before.text == "?" and token.text == "-":
        return "`.output R` writes the rows of a relation; there are no queries in a program"
    if before.text == "not" and token.kind is Kind.WORD:
        return f"`!` negates: `!{token.text}(…)`"
    if token.text in ("and", "or") and token.kind is Kind.WORD:
        return "`,` joins the parts of a body" if token.text == "and" else "`;` stands between alternatives"
    if token.text == "{" and before.text in _AGGREGATES:
        return f"`:` stands before the body of an aggregate: `{before.text} : {{ … }}`"
    if place > 1 and tokens[place - 2].text == "$" and before.kind is Kind.WORD and token.text != "(":
        return f"a branch has parentheses: `${before.text}()`"
    if wanted == "`(`" and before.kind is Kind.WORD and token.kind is Kind.WORD:
        meant = suggest(before.text, _QUALIFIERS)
        return f"`{before.text}` is no qualifier; did you mean `{meant}`?" if meant else None
    if before.kind is Kind.WORD and token.text == "(":
        meant = suggest(before.text, _FUNCTORS)
        known = f"did you mean `{meant}`?" if meant else f"a functor of the program is called as `@{before.text}(…)`"
        return f"`{before.text}` is no functor; {known}"
    if token.text == "-" and after.text == "domain":
        return "did you mean `choice-domain`?"
    if wanted.endswith("`.`") and token.kind is Kind.WORD and place and _line(before) < _line(token):
        return "`.` ends a clause: is one missing on the line before?"
    if before.text == ")" and token.kind is Kind.WORD:
        meant = suggest(token.text, _QUALIFIERS)
        return f"did you mean `{meant}`?" if meant else None
    return None


def _line(token: Token) -> int:
    return token.span.source.position(token.span.start)[0]
