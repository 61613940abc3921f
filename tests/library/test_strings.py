"""Text: positions and lengths count bytes of UTF-8."""

from __future__ import annotations

import pytest

from tests.library.declare import externs_of
from tidelog.library._runtime.option_result import NONE, Err, Ok, Some
from tidelog.values.vec import Vec

s = externs_of("ddlog_std")


def test_length_counts_bytes() -> None:
    assert [s.string_len(text) for text in ("", "abc", "né", "€", "𝄞")] == [0, 3, 3, 3, 4]


@pytest.mark.parametrize(
    ("text", "start", "end", "part"),
    [
        ("hello", 1, 3, "el"),
        ("hello", 3, 99, "lo"),
        ("hello", 9, 99, ""),
        ("hello", 3, 1, ""),
        ("né!", 1, 3, "é"),
        ("né!", 3, 4, "!"),
        ("né!", 0, 99, "né!"),
    ],
)
def test_substr_counts_bytes_and_stays_inside(text: str, start: int, end: int, part: str) -> None:
    assert s.string_substr(text, start, end) == part


@pytest.mark.parametrize(("start", "end"), [(2, 3), (0, 2)])
def test_substr_refuses_to_cut_a_character(start: int, end: int) -> None:
    with pytest.raises(ValueError, match="inside a character"):
        s.string_substr("né!", start, end)


def test_split_and_join() -> None:
    assert s.string_split("a,b,,c", ",") == Vec(["a", "b", "", "c"])
    assert s.string_split("", ",") == Vec([""])
    assert s.string_split("abc", "") == Vec(["", "a", "b", "c", ""])
    assert s.string_join(Vec(["a", "b"]), ", ") == "a, b"
    assert s.string_join(Vec(), ", ") == ""


def test_replace_with_an_empty_pattern_fills_every_gap() -> None:
    assert s.string_replace("ab", "", "-") == "-a-b-"


def test_trim_takes_unicode_blanks_and_no_control_characters() -> None:
    assert s.string_trim(" \t\u00a0\u3000x y\u2003\n") == "x y"
    assert s.string_trim("\x1c x \x1f") == "\x1c x \x1f"


def test_case_may_change_the_length() -> None:
    assert s.string_to_uppercase("straße") == "STRASSE"
    assert s.string_to_lowercase("ΑΣ") == "ας"


def test_reverse_keeps_characters_whole() -> None:
    assert s.string_reverse("aé€") == "€éa"


@pytest.mark.parametrize(
    ("text", "unsigned", "signed"),
    [
        ("5", Some(5), Some(5)),
        ("+5", Some(5), Some(5)),
        ("-5", NONE, Some(-5)),
        ("-0", NONE, Some(0)),
        ("", NONE, NONE),
        (" 5", NONE, NONE),
        ("5 ", NONE, NONE),
        ("1_000", NONE, NONE),
        ("٣", NONE, NONE),
        ("18446744073709551615", Some(2**64 - 1), NONE),
        ("18446744073709551616", NONE, NONE),
        ("9223372036854775807", Some(2**63 - 1), Some(2**63 - 1)),
        ("-9223372036854775808", NONE, Some(-(2**63))),
        ("-9223372036854775809", NONE, NONE),
        ("0" * 50 + "7", Some(7), Some(7)),
        ("9" * 5000, NONE, NONE),
    ],
)
def test_parsing_decimal_numbers(text: str, unsigned: object, signed: object) -> None:
    assert s.parse_dec_u64(text) == unsigned
    assert s.parse_dec_i64(text) == signed


def test_bytes_that_are_not_utf8_are_told() -> None:
    assert s.from_utf8(Vec("né".encode())) == Ok("né")
    assert s.from_utf8(Vec([97, 0xFF])) == Err("invalid utf-8 sequence of 1 bytes from index 1")
    assert s.from_utf8(Vec([0xE2, 0x82])) == Err("incomplete utf-8 byte sequence from index 0")


def test_utf16_round_trip_and_lone_surrogates() -> None:
    assert s.encode_utf16("a𝄞") == Vec([97, 0xD834, 0xDD1E])
    assert s.from_utf16(Vec([97, 0xD834, 0xDD1E])) == Ok("a𝄞")
    assert s.from_utf16(Vec([0xD834])) == Err("invalid utf-16: lone surrogate found")
