"""The extern functions of `souffle_functors`: functors as Soufflé computes them, on bytes and machine words."""

from __future__ import annotations

import math
import re
import struct
from functools import cache
from hashlib import blake2b
from itertools import islice
from typing import Any

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import EvaluationError
from tidelog.library._runtime.extern import ExternContext, extern
from tidelog.types import FloatType, SignedType, Type, integer_range, wrap
from tidelog.values import record_text
from tidelog.values.floats import double, single
from tidelog.values.vec import Vec

_WORD = 32
_ESCAPED = re.compile(r"\\.|\[[^\]]*\]", re.DOTALL)
_OPEN_BRACE = re.compile(r"\{(?![0-9]+(,[0-9]*)?\})")
_CLASS = re.compile(r"\[:(\w+):\]")
_CLASSES = {
    "digit": "0-9",
    "alpha": "a-zA-Z",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "blank": r" \t",
    "xdigit": "0-9a-fA-F",
    "word": r"\w",
    "punct": r"!-/:-@\[-`{-~",
}
_MOST_NUMBERS = 50_000_000
_NUMBER = re.compile(r"\s*[+-]?(0[xX][0-9a-fA-F]+|0[bB][01]+|[0-9]+)")
_REAL = re.compile(
    r"\s*[+-]?(?:[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|inf(?:inity)?|nan)", re.I
)


@extern(needs_types=True)
def power(context: ExternContext, type_: Type, base: Any, exponent: Any) -> Any:
    if isinstance(type_, FloatType):
        try:
            value = math.pow(base, exponent)
        except (OverflowError, ValueError):
            value = math.inf if base else math.nan
        return single(value) if type_.width == _WORD else double(value)
    assert not isinstance(type_, FloatType)
    value = integer_power(base, exponent)
    low, high = integer_range(type_)  # type: ignore[arg-type]
    if low <= value <= high:
        return value
    return low if isinstance(type_, SignedType) else wrap(value, type_)  # type: ignore[arg-type]


def integer_power(base: int, exponent: int) -> int:
    if exponent >= 0 and abs(base) ** min(exponent, 64) < 1 << 63:
        return int(base**exponent) if abs(base) > 1 or exponent < 64 else base ** (exponent % 2 + 2 * (exponent > 1))
    try:
        value = math.pow(base, exponent)
    except (OverflowError, ValueError, ZeroDivisionError):
        return 1 << 200
    return int(value)


@extern
def length(s: str) -> int:
    return len(s.encode("utf-8", "surrogatepass"))


@extern
def part(s: str, start: int, count: int) -> str:
    if s.isascii():
        return (
            s[start : start + count]
            if 0 <= start <= len(s) and count >= 0
            else s[start:]
            if 0 <= start <= len(s)
            else ""
        )
    data = s.encode("utf-8", "surrogatepass")
    if not 0 <= start <= len(data):
        return ""
    cut = data[start : start + count] if count >= 0 else data[start:]
    return cut.decode("utf-8", "replace")


@extern
def float_text(x: float) -> str:
    if math.isnan(x):
        return "nan"
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    return f"{x:f}"


@extern
def to_signed(s: str) -> int:
    return _whole(s, "to_number")


@extern
def to_whole(s: str) -> int:
    return _whole(s, "to_unsigned") & ((1 << 64) - 1)


@extern
def to_real(s: str) -> float:
    found = _REAL.match(s)
    if found is None:
        raise _unreadable("to_float", s)
    return double(float(found[0]))


def _whole(s: str, functor: str) -> int:
    found = _NUMBER.match(s)
    if found is None:
        raise _unreadable(functor, s)
    text = found[0].strip()
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("+-")
    if digits[:2] in ("0x", "0X"):
        return sign * int(digits[2:], 16)
    if digits[:2] in ("0b", "0B"):
        return sign * int(digits[2:], 2)
    base = 8 if len(digits) > 1 and digits[0] == "0" and set(digits) <= set("01234567") else 10
    return sign * int(digits, base)


def _unreadable(functor: str, s: str) -> EvaluationError:
    return EvaluationError(
        f"`{functor}` cannot read {s[:60]!r}; the last commit is intact",
        code=Code.EXTERN_FAILED,
        help=f'`match("-?[0-9]+", x)` before it leaves out texts that are no numbers, and `{functor}` reads the rest',
    )


@extern
def truncated(x: float) -> int:
    if math.isnan(x) or abs(x) >= 1 << 63:
        return -(1 << 63)
    return int(x)


@extern
def float_of_bits(x: int, bits: int) -> float:
    form, whole = ("f", "I") if bits == _WORD else ("d", "Q")
    return double(float(struct.unpack(form, struct.pack(whole, x & ((1 << bits) - 1)))[0]))


@extern
def bits_of_float(x: float, bits: int) -> int:
    form, whole = ("f", "i") if bits == _WORD else ("d", "q")
    return int(struct.unpack(whole, struct.pack(form, x))[0])


@extern(needs_types=True)
def ordinal(context: ExternContext, type_: Type, x: Any, bits: int) -> int:
    text = x if isinstance(x, str) else record_text(x, type_, context.definitions)
    return ordinal_of(text, bits)


def ordinal_of(text: str, bits: int) -> int:
    """Returns a number that depends on nothing but the text, and is not negative in a word of so many bits."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") & ((1 << (bits - 1)) - 1)


@extern
def symbol_of(x: int) -> str:
    raise EvaluationError(
        f"the number {x} is cast to a symbol: symbols are not numbered here; the last commit is intact",
        code=Code.EXTERN_FAILED,
        help="`to_string(x)` has the digits of a number",
    )


@extern
def matches(pattern: str, s: str) -> bool:
    compiled = _compiled(pattern)
    return compiled is not None and compiled.fullmatch(_bytes_of(s)) is not None


@extern
def differs(pattern: str, s: str) -> bool:
    compiled = _compiled(pattern)
    return compiled is not None and compiled.fullmatch(_bytes_of(s)) is None


def _bytes_of(text: str) -> str:
    """Returns a text with a character for each byte: `.` stands for one byte, as in Soufflé."""
    return text if text.isascii() else text.encode("utf-8", "surrogatepass").decode("latin-1")


@cache
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """Returns a regular expression of ECMAScript's form as one of Python; None for one that is wrong."""
    if _OPEN_BRACE.search(_ESCAPED.sub("", pattern)):
        return None
    try:
        return re.compile(_CLASS.sub(_class, _bytes_of(pattern)), re.DOTALL | re.ASCII)
    except (re.error, RecursionError, OverflowError):
        return None


def _class(found: re.Match[str]) -> str:
    return _CLASSES.get(found[1], found[0])


@extern
def contains_text(what: str, s: str) -> bool:
    return what in s


@extern
def numbers(start: Any, end: Any) -> Vec:
    return Vec(numbers_between(start, end, 1 if start <= end else -1))


@extern
def numbers_by(start: Any, end: Any, step: Any) -> Vec:
    return Vec(numbers_between(start, end, step))


def numbers_between(start: Any, end: Any, step: Any) -> list[Any]:
    """Returns the numbers of a range, its end excluded. Raises EvaluationError for one that has far too many."""
    if step == 0:
        return [start] if start != end else []
    if isinstance(start, int) and isinstance(step, int):
        found = range(start, end, step)
        if len(found) > _MOST_NUMBERS:
            raise EvaluationError(
                f"a range has {len(found):,} numbers; the last commit is intact", code=Code.TOO_MANY_ROWS
            )
        return [*found]

    def values() -> Any:
        value = start
        while value < end if step > 0 else value > end:
            yield value
            value = value + step

    return [*islice(values(), _MOST_NUMBERS)]
