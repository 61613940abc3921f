"""Regular expressions have the matches of Rust's `regex` crate."""

from __future__ import annotations

import pytest

from tidelog.library import regex
from tidelog.library._runtime.option_result import NONE, Ok, Some
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
