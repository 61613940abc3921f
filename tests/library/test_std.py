"""Numbers and values of any type."""

from __future__ import annotations

from typing import Any

import pytest

from tests.library.declare import context, field, interned, struct, vec
from tidelog.library import ddlog_std as std
from tidelog.library._runtime.any_value import any_record_text
from tidelog.library._runtime.option_result import NONE, Some
from tidelog.types import BIGINT, BOOL, FLOAT, S8, S16, STRING, U8, U16, U64, BitType, NamedType, SignedType, Type
from tidelog.values.floats import NAN, single
from tidelog.values.vec import Vec

CONTEXT = context(struct("P", field("x", U8), field("y", STRING)))
P = CONTEXT.definitions.class_of("P")


@pytest.mark.parametrize(
    ("start", "end", "step", "items"),
    [
        (0, 5, 2, [0, 2, 4]),
        (0, 4, 2, [0, 2]),
        (5, 0, -2, [5, 3, 1]),
        (0, 5, 0, []),
        (5, 0, 1, []),
        (0.0, 1.0, 0.5, [0.0, 0.5]),
        (250, 255, 10, [250]),
    ],
)
def test_a_range_leaves_its_end_out(start: Any, end: Any, step: Any, items: list[Any]) -> None:
    assert std.range_vec(start, end, step) == Vec(items)


def test_a_range_that_would_never_end_is_refused() -> None:
    with pytest.raises(ValueError, match="never ends"):
        std.range_vec(1e300, 2e300, 1.0)


@pytest.mark.parametrize(
    ("type_", "base", "exponent", "power"),
    [(U8, 3, 5, 243), (U8, 3, 6, 217), (S8, -2, 7, -128), (S8, 2, 7, -128), (BIGINT, 3, 50, 3**50), (U8, 0, 0, 1)],
)
def test_powers_wrap(type_: Type, base: int, exponent: int, power: int) -> None:
    assert std.wrapping_pow32(CONTEXT, type_, base, exponent) == power


@pytest.mark.parametrize(
    ("type_", "value", "text"),
    [(U16, 255, "ff"), (S8, -1, "ff"), (S16, -256, "ff00"), (BIGINT, -255, "-ff"), (BitType(12), 0xABC, "abc")],
)
def test_hexadecimal_text_is_the_machine_word(type_: Type, value: int, text: str) -> None:
    assert std.hex(CONTEXT, type_, value) == text


def test_hexadecimal_text_is_for_integers() -> None:
    with pytest.raises(ValueError, match="wants an integer"):
        std.hex(CONTEXT, STRING, 1)


def test_an_odd_width_is_hexadecimal_in_the_word_that_holds_it() -> None:
    assert std.hex(CONTEXT, SignedType(12), -1) == "ffff"


def test_text_of_any_value() -> None:
    assert std.__builtin_2string(CONTEXT, STRING, 'a"b') == 'a"b'
    assert std.__builtin_2string(CONTEXT, BOOL, True) == "true"
    assert std.__builtin_2string(CONTEXT, FLOAT, single(0.1)) == "0.1"
    assert std.__builtin_2string(CONTEXT, interned(STRING), "a") == "a"
    assert std.to_string_debug(CONTEXT, vec(NamedType("P")), Vec([P(1, "a")])) == '[P{1,"a"}]'


def test_default_values() -> None:
    assert std.default(CONTEXT, NamedType("P")) == P(0, "")
    assert std.default(CONTEXT, NamedType("regex::Regex")) == ""
    assert std.default(CONTEXT, NamedType("uuid::Uuid")) == 0


def test_any_gives_back_only_its_own_type() -> None:
    boxed = std.to_any(CONTEXT, U8, 5)
    assert std.from_any(CONTEXT, U8, boxed) == Some(5)
    assert std.from_any(CONTEXT, U16, boxed) == NONE
    assert boxed == std.to_any(CONTEXT, U8, 5)
    assert boxed != std.to_any(CONTEXT, U16, 5)
    assert hash(boxed) == hash(std.to_any(CONTEXT, U8, 5))


def test_any_is_ordered_by_type_and_then_by_value() -> None:
    boxes = [std.to_any(CONTEXT, U8, 2), std.to_any(CONTEXT, U64, 1), std.to_any(CONTEXT, U8, 1)]
    assert [box.value for box in sorted(boxes)] == [1, 1, 2]
    assert [str(box.type) for box in sorted(boxes)] == ["u64", "u8", "u8"]


def test_any_prints_as_what_is_inside() -> None:
    assert any_record_text(std.to_any(CONTEXT, NamedType("P"), P(1, "a"))) == 'P{.x = 1, .y = "a"}'


def test_not_a_number_takes_part_in_everything() -> None:
    assert std.hash64(CONTEXT, FLOAT, NAN) == std.hash64(CONTEXT, FLOAT, single(float("nan")))
