"""The three texts of a value."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functions.program import chain, definitions, map_of, option, set_of, vec
from tidelog.types import BIGINT, BOOL, DOUBLE, FLOAT, S64, STRING, U8, UNIT, NamedType, TupleType, Type
from tidelog.values import NAN, Group, Map, Set, SizedSet, Vec, debug_text, plain_text, record_text
from tidelog.values.floats import single
from tidelog.values.quote import quote

DEFINITIONS = definitions()
Some, Nothing = DEFINITIONS.class_of("ddlog_std::Some"), DEFINITIONS.class_of("ddlog_std::None")
Point, Circle = DEFINITIONS.class_of("Point"), DEFINITIONS.class_of("Circle")
End, Link = DEFINITIONS.classes_of("Chain")
PAIR = TupleType((U8, STRING))


@pytest.mark.parametrize(
    ("value", "type_", "record", "debug"),
    [
        (True, BOOL, "true", "true"),
        (-5, S64, "-5", "-5"),
        (1.5, DOUBLE, "1.5", "OrderedFloat(1.5)"),
        (5.0, DOUBLE, "5", "OrderedFloat(5.0)"),
        (-2.0, DOUBLE, "-2", "OrderedFloat(-2.0)"),
        (NAN, DOUBLE, "NaN", "OrderedFloat(NaN)"),
        (single(1.6666666), FLOAT, "1.6666666", "OrderedFloat(1.6666666)"),
        ('say "hi"\n', STRING, r'"say \"hi\"\n"', r'"say \"hi\"\n"'),
        ((), UNIT, "()", "()"),
        ((1, "a"), PAIR, '(1, "a")', '(1, "a")'),
        (Vec([1, 2]), vec(U8), "[1, 2]", "[1, 2]"),
        (Vec(), vec(U8), "[]", "[]"),
        (Set([2, 1]), set_of(U8), "[1, 2]", "{1, 2}"),
        (Map([(2, "b"), (1, "a")]), map_of(U8, STRING), '[(1, "a"), (2, "b")]', '{1: "a", 2: "b"}'),
        (SizedSet([2, 1]), NamedType("hashset::HashSet", (U8,)), "[1, 2]", "{1, 2}"),
        (SizedSet([2, 1]), NamedType("tinyset::Set64", (U8,)), "[1, 2]", "[1,2]"),
        (Some(1), option(U8), "ddlog_std::Some{.x = 1}", "ddlog_std::Some{1}"),
        (Nothing(), option(U8), "ddlog_std::None{}", "ddlog_std::None{}"),
        (
            Circle(3, Point(1, 2)),
            NamedType("Shape"),
            "Circle{.radius = 3, .at = Point{.x = 1, .y = 2}}",
            "Circle{3,Point{1,2}}",
        ),
        (
            Link("a", Link("b", End())),
            chain(STRING),
            'Link{.head = "a", .tail = Link{.head = "b", .tail = End{}}}',
            'Link{"a",Link{"b",End{}}}',
        ),
        ("x", NamedType("internment::Intern", (STRING,)), '"x"', '"x"'),
        (
            Group(1, [("a", 2), ("b", 1)]),
            NamedType("ddlog_std::Group", (U8, STRING)),
            'ddlog_std::DDlogGroup{.key = 1, .vals = [("a", 2), ("b", 1)]}',
            'ddlog_std::DDlogGroup{1,[("a", 2), ("b", 1)]}',
        ),
    ],
)
def test_record_and_debug_text(value: Any, type_: Type, record: str, debug: str) -> None:
    assert record_text(value, type_, DEFINITIONS) == record
    assert debug_text(value, type_, DEFINITIONS) == debug


@pytest.mark.parametrize(
    ("value", "type_", "text"),
    [
        ('say "hi"', STRING, 'say "hi"'),
        (7, U8, "7"),
        (False, BOOL, "false"),
        (2.5, DOUBLE, "2.5"),
        ("a", NamedType("internment::Intern", (STRING,)), "a"),
        ("a", NamedType("ddlog_std::Ref", (NamedType("internment::Intern", (STRING,)),)), "a"),
    ],
)
def test_plain_text_has_no_quotes(value: Any, type_: Type, text: str) -> None:
    assert plain_text(value, type_, DEFINITIONS) == text


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("", '""'),
        ("it's", '"it\'s"'),
        ('a"b\\c', '"a\\"b\\\\c"'),
        ("\t\r\n", '"\\t\\r\\n"'),
        ("\n\x07buzz", '"\\n\\u{7}buzz"'),
        ("\0", '"\\0"'),
        ("\x7f\x85", '"\\u{7f}\\u{85}"'),
        ("häß 中 🎉", '"häß 中 🎉"'),
        ("\u200b\ufeff\xa0\u3000", '"\\u{200b}\\u{feff}\\u{a0}\\u{3000}"'),
        ("e\u0301", '"e\\u{301}"'),
        ("\ue000\U0010ffff", '"\\u{e000}\\u{10ffff}"'),
    ],
)
def test_text_is_escaped_as_rust_does_for_debugging(text: str, quoted: str) -> None:
    assert quote(text) == quoted


def test_a_chain_of_any_length_prints() -> None:
    value = End()
    for number in range(5_000):
        value = Link(number % 10, value)
    assert debug_text(value, chain(U8), DEFINITIONS).startswith("Link{9,Link{8,")
    assert record_text(value, chain(U8), DEFINITIONS).count("Link") == 5_000


@pytest.mark.parametrize(("digit", "length", "more"), [(1, 5000, 0), (-1, 5000, 1), (7, 9000, 123), (1, 20, 0)])
def test_integers_of_any_length_print(digit: int, length: int, more: int) -> None:
    number = digit * 10**length + more
    text = record_text(number, BIGINT, DEFINITIONS)
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
    assert digits.isdigit()
    assert not digits.startswith("0")
    value = 0
    for start in range(0, len(digits), 1000):
        piece = digits[start : start + 1000]
        value = value * 10 ** len(piece) + int(piece)
    assert sign * value == number
