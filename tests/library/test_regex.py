"""Regular expressions have the matches of Rust's `regex` crate."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from tidelog.library import regex
from tidelog.library._regex import lazy_dfa
from tidelog.library._regex.automaton import forward
from tidelog.library._regex.lazy_dfa import LazyDfa
from tidelog.library._regex.parse import parse
from tidelog.library._regex.pattern import Pattern
from tidelog.library._regex.python_pattern import python_pattern
from tidelog.library._regex.tree import Choice, Node, Repeat, Sequence, matches_empty
from tidelog.library._runtime.option_result import NONE, Err, Ok, Some
from tidelog.values.vec import Vec


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        (r"\d+", "a111b222c", ["111", "222"]),
        (r"\b\w{13}\b", "I categorically deny having triskaidekaphobia.", ["categorically"]),
        (r"'([^']+)'\s+\((\d{4})\)", "'Citizen Kane' (1941).", ["'Citizen Kane' (1941)"]),
        (r"\pL+", "foobar 1é", ["foobar", "é"]),
        (r"\p{Lu}", "aBÉ", ["B", "É"]),
        (r"\PL+", "a1 b", ["1 "]),
        (r"\p{^Letter}", "a1", ["1"]),
        (r"\p{Uppercase_Letter}", "aB", ["B"]),
        (r"[\p{Nd}x]+", "٣x4", ["٣x4"]),
        (r"[a-z&&[^aeiou]]+", "hello", ["h", "ll"]),
        (r"[[:alpha:]--[a-c]]+", "abcdABC", ["dABC"]),
        (r"[a-d~~c-f]+", "abcdef", ["ab", "ef"]),
        (r"[]a]+", "]ab", ["]a"]),
        (r"[^]]+", "]ab", ["ab"]),
        (r"[a\-z]+", "a-zb", ["a-z"]),
        (r"[-+]+", "a-+", ["-+"]),
        (r"a**", "aa", ["aa"]),
        (r"a*+", "aab", ["aa", ""]),
        (r"a*", "baac", ["", "aa", ""]),
        (r"", "ab", ["", "", ""]),
        (r"(?i)straße", "STRAßE", ["STRAßE"]),
        (r"a(?i)b|c", "aB C", ["aB", "C"]),
        (r"(?i:a)b", "Ab AB", ["Ab"]),
        (r"(?i)[^x]", "xXy", ["y"]),
        (r"^b$", "a\nb\n", []),
        (r"(?m)^b$", "a\nb\n", ["b"]),
        (r"b$", "b\n", []),
        (r"a.b", "a\nb", []),
        (r"(?s)a.b", "a\nb", ["a\nb"]),
        (r"(?U)a+", "aa", ["a", "a"]),
        (r"(?U)a+?", "aa", ["aa"]),
        ("(?x) a b # c\n c", "abc", ["abc"]),
        (r"(?P<name>a)|b", "ab", ["a", "b"]),
        (r"\x41\x{42}\u0043\U{44}", "ABCD", ["ABCD"]),
        (r"(?-u)\w+", "aé", ["a"]),
        (r"\w+", "naïve²_x", ["naïve", "_x"]),
        (r"\s", "\x1c \u00a0", [" ", "\u00a0"]),
        (r"a|ab", "ab", ["a"]),
        (r"a{2,3}", "aaaa", ["aaa"]),
        (r"\Aa\z", "a", ["a"]),
        (r"\.\*\(", ".*(", [".*("]),
    ],
)
def test_matches(pattern: str, text: str, matches: list[str]) -> None:
    assert regex.try_regex(pattern) == Ok(pattern)
    assert regex.regex_all_matches(pattern, text) == Vec(matches)
    assert regex.regex_first_match(pattern, text) == (Some(matches[0]) if matches else NONE)
    assert regex.regex_match(pattern, text) == bool(matches)


@pytest.mark.parametrize(
    ("pattern", "at", "message"),
    [
        ("[", 0, "unclosed character class"),
        ("a(b", 1, "unclosed group"),
        ("ab)", 2, "unopened group"),
        ("*a", 0, "repetition operator missing expression"),
        ("a{2,1}", 1, "invalid repetition count range, the start must be <= the end"),
        ("a{", 1, "unclosed counted repetition"),
        ("[z-a]", 1, "invalid character class range, the start must be <= the end"),
        ("(?=a)", 0, "look-around, including look-ahead and look-behind, is not supported"),
        (r"(a)\1", 3, "backreferences are not supported"),
        (r"\y", 0, "unrecognized escape sequence"),
        (r"\p{Nonsense}", 0, "Unicode property not found"),
        ("(?z)", 2, "unrecognized flag"),
        ("(?P<a>b)(?P<a>c)", 12, "duplicate capture group name"),
        ("a\\", 1, "incomplete escape sequence, reached end of pattern prematurely"),
        (r"\x{110000}", 0, "hexadecimal literal is not a Unicode scalar value"),
    ],
)
def test_errors_in_patterns(pattern: str, at: int, message: str) -> None:
    expected = f"regex parse error:\n    {pattern}\n    {' ' * at}^\nerror: {message}"
    assert regex.try_regex(pattern).err == expected  # type: ignore[attr-defined]


def test_a_bad_pattern_matches_nothing() -> None:
    assert not regex.regex_match(regex.regex("["), "[")
    assert not regex.regex_match("[", "[")


def test_nesting_has_a_limit() -> None:
    assert regex.try_regex("(" * 300 + ")" * 300) != Ok("(" * 300 + ")" * 300)
    assert regex.try_regex("[" * 300 + "a" + "]" * 300) != Ok("")


def test_a_set_matches_if_one_pattern_does() -> None:
    patterns = Vec([r"\d+", "foo", r"\pL+"])
    assert regex.regex_set_match(regex.regex_set(patterns), "foobar")
    assert not regex.regex_set_match(regex.regex_set(Vec([r"\d+", "barfoo"])), "foobar")


def test_one_bad_pattern_spoils_the_set() -> None:
    patterns = Vec(["foo", "["])
    assert regex.regex_set(patterns) == Vec()
    assert regex.try_regex_set(patterns) == regex.try_regex("[")


def test_too_many_states_are_refused_in_words_of_the_crate() -> None:
    for pattern in ("a{4294967294}", "((a{1000}){1000}){1000}"):
        assert regex.try_regex(pattern) == Err("Compiled regex exceeds size limit of 10485760 bytes.")
        assert not regex.regex_match(pattern, "a")
    assert regex.regex_match("(){4294967294}", "")
    stacked = "a" + "*" * 300
    assert "exceeded the maximum number" in regex.try_regex(stacked).err  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("(|a)*", "aaa", ""),
        ("(|a)+", "aaa", ""),
        (r"(\s|.{0,2}?)*", " aé ", " aé "),
        (r"(\s|(^|[ab]??))*", " a _a", " a "),
    ],
)
def test_rounds_that_match_nothing_are_those_of_the_crate(pattern: str, text: str, found: str) -> None:
    assert regex.regex_first_match(pattern, text) == Some(found)


def test_after_an_empty_match_the_next_one_begins_a_character_later() -> None:
    assert regex.regex_all_matches("|a", "aa") == Vec(["", "", ""])


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(a*)*b", "(a?){28}a{28}b", r"(\w+\s?)+!", "a*a*a*a*a*b"])
def test_the_work_is_linear_in_the_text(pattern: str) -> None:
    """Counted as transitions: each leads from a place that may be new, and there are few places."""
    for text in ("a" * 1000, "a" * 1000 + "c"):
        compiled = Pattern(pattern)
        compiled.find(text)
        places = compiled._forward._places
        assert len(places) < 300
        longer = Pattern(pattern)
        longer.find(text[:1000] * 20 + text[1000:])
        assert len(longer._forward._places) == len(places)
    assert regex.regex_match("(a+)+$", "a" * 1_000_000)


def test_places_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy_dfa, "_MOST_KEPT", 100)
    compiled = Pattern("(a|b)*a(a|b){8}c")  # as many places as there are words of 8 letters
    text = "".join(random.Random(1).choices("ab", k=3000))
    assert compiled.find(text + "a" + "b" * 8 + "c") == (0, 3010)
    assert len(compiled._forward._places) < 100


_LETTERS = st.sampled_from(["a", "b", "[ab]", ".", "[^a]", r"\w", r"\s", "c", "(?s:.)", "(?i:B)"])
_LOOKS = st.sampled_from(["^", "$", r"\b", r"\B", "(?m:^)", "(?m:$)", "", r"(?-u:\b)", r"(?-u:\B)"])
_COUNTS = ("*", "+", "?", "{2}", "{1,2}", "{0,2}", "{2,}")
_REPEATS = st.sampled_from([count + lazy for count in _COUNTS for lazy in ("", "?")])
_PATTERNS = st.recursive(
    _LETTERS | _LOOKS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"({'|'.join(parts)})"),
        st.builds(lambda part, count: f"({part}){count}", inner, _REPEATS),
    ),
    max_leaves=12,
)


@given(pattern=_PATTERNS, text=st.text("aabbc \né_", max_size=8), data=st.data())
def test_the_automaton_finds_what_pythons_engine_finds(pattern: str, text: str, data: st.DataObject) -> None:
    tree = parse(pattern)
    own, expected = Pattern(pattern), re.compile(python_pattern(tree))
    own._python, own._forward = None, LazyDfa(forward(tree), prefers=True)
    assert own.matches(text) == (expected.search(text) is not None)
    at = data.draw(st.integers(0, len(text)))
    found, other = own.find(text, at), expected.search(text, at)
    assert (found is None) == (other is None)
    if found and other:
        assert found[0] == other.start()
        # Python goes on differently after a round of a loop that matched the empty text.
        assert found == other.span() or _repeats_empty(tree)


def _repeats_empty(node: Node) -> bool:
    match node:
        case Repeat(body):
            return matches_empty(body) or _repeats_empty(body)
        case Sequence(children) | Choice(children):
            return any(map(_repeats_empty, children))
        case _:
            return False


def test_a_long_search_ends_at_the_deadline() -> None:
    """A place of this pattern has a thousand states, and hardly one occurs twice: a call would take half a minute."""
    search = 'regex::regex_match(regex::regex("[ab]*a[ab]{1000}c"), s)'
    program = tidelog.compile(
        f"""
        import regex
        input relation Text(s: string)
        input relation Asked(n: u8)
        output relation Found(s: string)
        output relation Texts(s: string)
        Found(s) :- Asked(_), Text(s), {search}.
        Texts(s) :- Text(s).
        """
    )
    dice = random.Random(1)
    text = "".join(dice.choice("ab") for _ in range(300_000))
    db = program.open(deadline=0.3)
    with db.transaction() as tx:
        tx.insert("Text", [(text,)])
    with pytest.raises(tidelog.EvaluationError, match=r"deadline of 0\.3 s") as caught, db.transaction() as tx:
        tx.insert("Asked", [(1,)])
    assert caught.value.code == "E607"
    with pytest.raises(tidelog.EvaluationError, match=r"deadline of 0\.2 s"):
        db.query(f"Text(s), {search}", deadline=0.2)
    assert (len(db.relation("Texts")), len(db.relation("Asked"))) == (1, 0)
