"""Programs → wrong, odd and sometimes right programs: what a hurried hand or a broken tool would make of them.

Some changes are blind (bytes), some know the words of the language (tokens), and some keep the text a program and
change what it means (another name of the same kind, another number, another type), so that errors are also found far
behind the parser.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

from tidelog.syntax.tokens import KEYWORDS, OPERATORS, RESERVED

_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[A-Za-z_][A-Za-z0-9_]*|\d[\w.]*|\s+|[^\w\s]')
_LOWER = re.compile(r"\b[a-z_][A-Za-z0-9_]*")
_UPPER = re.compile(r"\b[A-Z][A-Za-z0-9_]*")
_NUMBER = re.compile(r"\b\d[\w.]*")
_TYPE = re.compile(r"\b(?:string|bool|bigint|double|float|[us](?:8|16|32|64|128)|usize)\b")
_KEPT = KEYWORDS | {"primary", "key", "on", "index"}  # names that are none

WORDS = [*sorted(KEYWORDS), *sorted(RESERVED), *OPERATORS, ">>", ">=", ":-", "group_by", "primary", "key", "index"]
NUMBERS = [
    *("0", "1", "255", "256", "-1", "18446744073709551616", "9" * 400, "1" + "0" * 5000, "0x10", "1_000", "007"),
    *("8'hff", "8'h1ff", "0'd1", "99999999999'd1", "'sb1", "8'", "128'sd5", "32'f1.5", "16'f1", "1e400", "1.5e-400"),
    *("1.", ".5", "1e", "1'f", "64'f" + "9" * 400),
]
TYPES = [
    *("u8", "s64", "bigint", "string", "bool", "double", "float", "()", "(u8, string)", "bit<0>", "bit<1>", "bit<129>"),
    *("bit<99999999999999999999>", "signed<7>", "Vec<u8>", "Option<Option<string>>", "Map<string, Vec<u8>>", "'A"),
    *("Ref<u8>", "function(u8): bool", "function(mut Vec<'A>)", "Intern<string>", "istring", "Group<u8, u8>", "Nope"),
    *("|u8|: u8", "Vec", "Vec<u8, u8>", "Set<Ref<(u8, 'B)>>", "bit<bit<3>>", "u8<u8>", "m::T", "Any"),
]
TERMS = [
    *('"${x}"', '"${"', '"${${x}}"', '"\\x41\\', 'i"a"', "[|a|]", "$[|${x}|]", "[]", "[1, 2]", '["a" -> 1]', "()"),
    *("_", "x", "&x", "x@y", "-x", "~x", "not x", "x?", "x[3:0]", "x[0:3]", "x.0", "x.y", "x.f()", "f(x)", "m::f(x)"),
    *("x as u8", "x: u8", "Some{x}", "None", "Nope{}", "R(x)", "R", "|a| a + 1", "function(a: u8): u8 { a }", "{}"),
    *("{ var a = 1; a }", "if (x) 1", "if (x) 1 else 2", "match (x) { _ -> 1 }", "match (x) {}", "for (a in x) {}"),
    *("return x", "break", "continue", "x = 1", "var x = 1", "(var a, _) = x", "x.group_by(y)", "x ++ y", "x => y"),
    *("default()", "x == y == z", "ddlog_weight", "{x}", "(x,)", "Aggregate((x), f(y))", "FlatMap(x)"),
]
ITEMS = [
    *("import vec", "import nope", "import vec as v", "typedef T = T", "typedef T = T{x: T}", "typedef T<'A> = u8"),
    *("typedef A = B\ntypedef B = A", "extern type X<'A>", "extern function f(x: 'A): 'B", "function f() {}"),
    *(
        "function d(x: 'A): ('A, 'A) { (x, x) }",
        "function f(x: mut u8): u8 = x",
        "input relation R(x: u8)",
        "output relation R[u8]",
        "relation &R(x: Ref<u8>)",
    ),
    *("input stream S(x: u8)", "multiset M[string]", "index I(a: u8) on R(a)", "apply T(R) -> (S)", "R(1).", "R(x)."),
    *("R(x) :- R(x).", "R(x) :- not R(x).", "R(x, x) :- R(x, x).", "R(x) :- R-1(x), S'(x).", "for (R(x)) R(x)"),
    *("#[size = 8]", "#[nope]", "R(x) :- R(x), Inspect f(x).", "R(n) :- R(x), var n = x.group_by(()).sum()."),
    *("input relation K(a: u8) primary key (k) k.a", "R(1) @ 2 :- R(1).", "for (r in R) if (r.x == 1) skip else R(2)"),
]
CHARACTERS = [
    *("\0", "\x07", "\x1b[31m", "\x7f", "\u00e9", "\u00ad", "\u200b", "\u202e", "\u2028", "\u0301", "\u0660", "\u01c5"),
    *("\ufeff", "\ufffd", "\uffff", "\U0001f600", "\U0001d7ce", "\U0010ffff", "ﬁ", "İ", "\t", "\r", "\r\n", "\f", "\v"),
]
_NESTS = [
    *(
        ("(", ")"),
        ("{", "}"),
        ("[", "]"),
        ("-", ""),
        ("not ", ""),
        ("Some{", "}"),
        ("&", ""),
        ("f(", ")"),
        ("/*", "*/"),
    ),
    *(("if (true) ", " else 1"), ("match (x) { _ -> ", "}"), ("|a| ", ""), ('"${', '}"'), ("x + ", ""), ("(x, ", ")")),
    *(
        ("Vec<", ">"),
        ("Ref<", ">"),
        ("function(", ")"),
        ("{ var a = ", "; a }"),
        ("return ", ""),
        ("x@", ""),
        ("", "?"),
    ),
    *(("", ".f"), ("", ".0"), ("", ": u8"), ("", " as u8"), ("for (a in b) ", ""), ("", "[7:0]"), ("x == 1 or ", "")),
]

Mutation = Callable[[random.Random, str, Sequence[str]], str]


def mutate(rng: random.Random, text: str, others: Sequence[str]) -> str:
    """The text after a few random changes; `others` are programs to take pieces from."""
    mutations = DEEP if rng.random() < 0.6 else BLIND + DEEP
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5, 12))):
        text = rng.choice(mutations)(rng, text, others)
    return text


def delete_part(rng: random.Random, text: str, others: Sequence[str]) -> str:
    start = rng.randrange(len(text) + 1)
    return text[:start] + text[start + rng.choice((1, 1, 2, 7, 30, 200)) :]


def insert_character(rng: random.Random, text: str, others: Sequence[str]) -> str:
    start = rng.randrange(len(text) + 1)
    return text[:start] + rng.choice((*CHARACTERS, chr(rng.randrange(32, 127)))) + text[start:]


def swap_characters(rng: random.Random, text: str, others: Sequence[str]) -> str:
    start = rng.randrange(len(text) + 1)
    return text[:start] + text[start : start + 2][::-1] + text[start + 2 :]


def repeat_part(rng: random.Random, text: str, others: Sequence[str]) -> str:
    start = rng.randrange(len(text) + 1)
    part = text[start : start + rng.choice((1, 5, 30, 200))]
    return text[:start] + part * rng.choice((2, 2, 3, 20)) + text[start + len(part) :]


def cut_off(rng: random.Random, text: str, others: Sequence[str]) -> str:
    start = rng.randrange(len(text) + 1)
    return text[:start] if rng.random() < 0.7 else text[start:]


def splice(rng: random.Random, text: str, others: Sequence[str]) -> str:
    """The beginning of one program and the end of another."""
    other = rng.choice(others)
    return text[: rng.randrange(len(text) + 1)] + other[rng.randrange(len(other) + 1) :]


def insert_line(rng: random.Random, text: str, others: Sequence[str]) -> str:
    lines = text.split("\n")
    line = rng.choice(ITEMS) if rng.random() < 0.6 else rng.choice(rng.choice(others).split("\n"))
    lines.insert(rng.randrange(len(lines) + 1), line)
    return "\n".join(lines)


def move_line(rng: random.Random, text: str, others: Sequence[str]) -> str:
    lines = text.split("\n")
    line = lines.pop(rng.randrange(len(lines)))
    lines.insert(rng.randrange(len(lines) + 1), line)
    return "\n".join(lines)


def replace_token(rng: random.Random, text: str, others: Sequence[str]) -> str:
    return _replace(rng, text, _TOKEN, lambda _: _word(rng))


def drop_token(rng: random.Random, text: str, others: Sequence[str]) -> str:
    return _replace(rng, text, _TOKEN, lambda _: "")


def repeat_token(rng: random.Random, text: str, others: Sequence[str]) -> str:
    return _replace(rng, text, _TOKEN, lambda found: found * rng.choice((2, 3, 50)))


def swap_tokens(rng: random.Random, text: str, others: Sequence[str]) -> str:
    tokens: list[str] = _TOKEN.findall(text)
    if len(tokens) > 1:
        one, other = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        tokens[one], tokens[other] = tokens[other], tokens[one]
    return "".join(tokens)


def insert_token(rng: random.Random, text: str, others: Sequence[str]) -> str:
    return _replace(rng, text, _TOKEN, lambda found: f"{found} {_word(rng)} ")


def other_name(rng: random.Random, text: str, others: Sequence[str]) -> str:
    """A name becomes another name of the program that begins alike."""
    kind = rng.choice((_LOWER, _UPPER))
    names = [name for name in kind.findall(text) if name not in _KEPT]
    return _replace(rng, text, kind, lambda _: rng.choice(names)) if names else text


def misspelt_name(rng: random.Random, text: str, others: Sequence[str]) -> str:
    kind = rng.choice((_LOWER, _UPPER))
    return _replace(rng, text, kind, lambda found: found[:-1] + rng.choice("abcxyz_01"))


def other_number(rng: random.Random, text: str, others: Sequence[str]) -> str:
    return _replace(rng, text, _NUMBER, lambda _: rng.choice(NUMBERS))


def other_type(rng: random.Random, text: str, others: Sequence[str]) -> str:
    return _replace(rng, text, _TYPE, lambda _: rng.choice(TYPES))


def other_term(rng: random.Random, text: str, others: Sequence[str]) -> str:
    return _replace(rng, text, rng.choice((_NUMBER, _LOWER)), lambda _: rng.choice(TERMS))


def nest(rng: random.Random, text: str, others: Sequence[str]) -> str:
    """Something deep around, or instead of, a token."""
    times = rng.choice((1, 2, 10, 100, 1_000, 5_000))
    openings = [rng.choice(_NESTS) for _ in range(rng.choice((1, 1, 2)))]

    def nested(found: str) -> str:
        before = "".join(opening for opening, _ in openings) * times
        after = "".join(closing for _, closing in reversed(openings)) * times
        return before + found + (after if rng.random() < 0.8 else "")

    return _replace(rng, text, rng.choice((_LOWER, _NUMBER, _TYPE, _TOKEN)), nested)


# The latter mostly give what still parses.
BLIND: list[Mutation] = [
    *(delete_part, insert_character, swap_characters, repeat_part, cut_off, splice, move_line, nest),
    *(replace_token, drop_token, repeat_token, swap_tokens, insert_token),
]
DEEP: list[Mutation] = [other_name, misspelt_name, other_number, other_type, other_term, insert_line]


def _word(rng: random.Random) -> str:
    words: list[str] = rng.choice((WORDS, TERMS, NUMBERS, TYPES))
    return rng.choice(words)


def _replace(rng: random.Random, text: str, pattern: re.Pattern[str], by: Callable[[str], str]) -> str:
    """The text with one match of the pattern replaced."""
    matches = list(pattern.finditer(text))
    if pattern is _LOWER or pattern is _UPPER:
        matches = [match for match in matches if match.group() not in _KEPT]
    if not matches:
        return text
    match = rng.choice(matches)
    return text[: match.start()] + by(match.group()) + text[match.end() :]
