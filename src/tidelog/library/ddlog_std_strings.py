"""The extern functions of `ddlog_std` on text. Positions and lengths count bytes of UTF-8."""

from __future__ import annotations

import re
from operator import contains

from tidelog.library._runtime.extern import Externs, extern
from tidelog.library._runtime.option_result import NONE, Err, Ok, Some
from tidelog.values.structs import Struct
from tidelog.values.vec import Vec

_UNSIGNED, _SIGNED = re.compile(r"\+?0*([0-9]{1,20})"), re.compile(r"[+-]?0*([0-9]{1,20})")
# Python's own idea of blanks has four control characters more than Unicode's.
_WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"


@extern
def string_len(s: str) -> int:
    return len(s) if s.isascii() else len(s.encode())


@extern
def string_substr(s: str, start: int, end: int) -> str:
    if s.isascii():
        return s[start:end]
    data = s.encode()
    start, end = min(start, len(data)), min(end, len(data))
    for place in (start, max(start, end)):
        if place < len(data) and data[place] & 0xC0 == 0x80:
            raise ValueError(f"byte {place} of {s!r} is inside a character")
    return data[start:end].decode()


@extern
def string_join(strings: Vec, separator: str) -> str:
    return separator.join(strings)


@extern
def string_split(s: str, separator: str) -> Vec:
    return Vec(s.split(separator)) if separator else Vec(("", *s, ""))


@extern
def string_trim(s: str) -> str:
    return s.strip(_WHITE_SPACE)


@extern
def string_reverse(s: str) -> str:
    return s[::-1]


@extern
def string_to_bytes(s: str) -> Vec:
    return Vec(s.encode())


@extern
def from_utf8(data: Vec) -> Struct:
    try:
        return Ok(bytes(data).decode())
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            return Err(f"incomplete utf-8 byte sequence from index {error.start}")
        return Err(f"invalid utf-8 sequence of {error.end - error.start} bytes from index {error.start}")


@extern
def from_utf16(words: Vec) -> Struct:
    try:
        return Ok(b"".join(word.to_bytes(2, "little") for word in words).decode("utf-16-le"))
    except UnicodeDecodeError:
        return Err("invalid utf-16: lone surrogate found")


@extern
def encode_utf16(s: str) -> Vec:
    data = s.encode("utf-16-le")
    return Vec(int.from_bytes(data[at : at + 2], "little") for at in range(0, len(data), 2))


@extern
def parse_dec_u64(s: str) -> Struct:
    return _within(s, _UNSIGNED, 0, 1 << 64)


@extern
def parse_dec_i64(s: str) -> Struct:
    return _within(s, _SIGNED, -1 << 63, 1 << 63)


def _within(s: str, pattern: re.Pattern[str], low: int, end: int) -> Struct:
    """Returns the number that a text denotes, if it is at least `low` and less than `end`."""
    found = pattern.fullmatch(s)
    number = int(found[1]) * (-1 if s.startswith("-") else 1) if found else end
    return Some(number) if low <= number < end else NONE


EXTERNS: Externs = {
    "string_contains": contains,
    "string_starts_with": str.startswith,
    "string_ends_with": str.endswith,
    "string_replace": str.replace,
    "string_to_lowercase": str.lower,
    "string_to_uppercase": str.upper,
}
