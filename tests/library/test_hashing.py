"""Hashes are those of the reference implementation: xxHash of the bytes that Rust hashes."""

from __future__ import annotations

from typing import Any

import pytest
from xxhash import xxh32_intdigest, xxh64_intdigest

from tests.library.declare import constructor, context, field, interned, map_, option, set_, struct, type_, vec
from tidelog.library._runtime.hash_bytes import hash_bytes
from tidelog.library._runtime.option_result import NONE, Some
from tidelog.library.ddlog_std import hash32, hash64, hash128
from tidelog.types import (
    BIGINT,
    BOOL,
    DOUBLE,
    FLOAT,
    S8,
    STRING,
    U8,
    U32,
    U64,
    UNIT,
    BitType,
    FunctionType,
    NamedType,
    TupleType,
    Type,
)
from tidelog.values.floats import single
from tidelog.values.maps import Map
from tidelog.values.sets import Set
from tidelog.values.vec import Vec

CONTEXT = context(
    struct("S", field("f1", TupleType((BOOL, BOOL))), field("f2", U32)),
    type_("E", constructor("A"), constructor("B", field("x", U8))),
)
S = CONTEXT.definitions.class_of("S")
A, B = CONTEXT.definitions.classes_of("E")
WORD = (0).to_bytes(8, "little")


def test_xxhash_gives_its_published_answers_for_no_bytes() -> None:
    assert xxh32_intdigest(b"", 0) == 0x02CC5D05
    assert xxh64_intdigest(b"", 0) == 0xEF46DB3751D8E999


@pytest.mark.parametrize(
    ("type_", "value", "short", "long", "longest"),
    [
        (UNIT, (), 0xFACD8AC0, 0x5C62A8C7C40ED0E2, 0x5C62A8C7C40ED0E291A195E2EE9A2C28),
        (STRING, "a", 0xC672C5AC, 0x9BD1BC123F12BEE8, 0x9BD1BC123F12BEE8D7237E1D1D8444CB),
        (U64, 7, 0x6028CBFF, 0x371EA9A09D981246, 0x371EA9A09D981246C621F2A5DE614BB4),
        (BIGINT, -5, 0x67C0F964, 0x16CF826C20F2FC1A, 0x16CF826C20F2FC1A00A4583EAC145F49),
        (vec(U32), Vec([1, 2, 3]), 0x28407DB5, 0x0A66AAC2B3B11D9F, 0x0A66AAC2B3B11D9F6CCB11083DF3E39C),
        (NamedType("S"), S((True, False), 1), 0x2B96C5F7, 0xBC87D3370AAC8BC2, 0xBC87D3370AAC8BC23C218FC02DB55486),
    ],
)
def test_hashes_have_known_answers(type_: Type, value: Any, short: int, long: int, longest: int) -> None:
    assert hash32(CONTEXT, type_, value) == short
    assert hash64(CONTEXT, type_, value) == long
    assert hash128(CONTEXT, type_, value) == longest


@pytest.mark.parametrize(
    ("id_", "name", "number", "pair", "last", "answer"),
    [
        (0, "foo", 100000000000000, (False, True), 10000, 163553563808451251702619476897759050220),
        (1, "foo", 100000000000000, (False, True), 10000, 3280989158102350508363827193707975381),
        (125, "buzzzzzzzz", 1234567890, (True, True), 5, 145200715403491832341915822591998648048),
    ],
)
def test_hashes_agree_with_the_reference(
    id_: int, name: str, number: int, pair: tuple[bool, bool], last: int, answer: int
) -> None:
    row = TupleType((U64, STRING, BIGINT, NamedType("S")))
    assert hash128(CONTEXT, row, (id_, name, number, S(pair, last))) == answer


@pytest.mark.parametrize(
    ("type_", "value", "data"),
    [
        (BOOL, True, b"\1"),
        (S8, -1, b"\xff"),
        (BitType(12), 0xABC, b"\xbc\x0a"),
        (BitType(130), 1, b"\1" + bytes(7) + b"\1" + bytes(7)),
        (BIGINT, 0, b"\1" + bytes(7)),
        (BIGINT, -5, bytes(8) + b"\1" + bytes(7) + b"\5" + bytes(7)),
        (STRING, "é", "é".encode() + b"\xff"),
        (UNIT, (), b""),
        (vec(U8), Vec([7]), b"\1" + bytes(7) + b"\7"),
        (set_(U8), Set([7]), b"\1" + bytes(7) + b"\7"),
        (map_(U8, BOOL), Map([(7, True)]), b"\1" + bytes(7) + b"\7\1"),
        (option(U8), NONE, bytes(8)),
        (option(U8), Some(7), b"\1" + bytes(7) + b"\7"),
        (NamedType("S"), S((True, False), 1), b"\1\0\1\0\0\0"),
        (NamedType("E"), B(7), b"\1" + bytes(7) + b"\7"),
        (NamedType("ddlog_std::Ref", (U8,)), 7, b"\7"),
        (NamedType("net::ipv4::Ipv4Addr"), 0x7F000001, b"\x7f\0\0\1"),
        (NamedType("uuid::Uuid"), 1, b"\x10" + bytes(7) + bytes(15) + b"\1"),
        (NamedType("regex::Regex"), "a+", b"a+\xff"),
        (DOUBLE, 0.0, bytes(8)),
    ],
)
def test_the_hashed_bytes(type_: Type, value: Any, data: bytes) -> None:
    assert hash_bytes(CONTEXT, type_, value) == data


def test_an_interned_value_is_hashed_twice() -> None:
    inner = hash64(CONTEXT, STRING, "a")
    assert hash64(CONTEXT, interned(STRING), "a") == hash64(CONTEXT, U64, inner)


def test_a_float_and_a_double_are_different() -> None:
    assert hash_bytes(CONTEXT, FLOAT, single(0.5)) != hash_bytes(CONTEXT, DOUBLE, 0.5)
    assert hash_bytes(CONTEXT, DOUBLE, -0.5) != hash_bytes(CONTEXT, DOUBLE, 0.5)


def test_the_three_hashes_hang_together() -> None:
    assert hash128(CONTEXT, STRING, "a") >> 64 == hash64(CONTEXT, STRING, "a")
    assert 0 <= hash32(CONTEXT, STRING, "a") < 1 << 32


def test_a_function_has_no_hash() -> None:
    with pytest.raises(ValueError, match="cannot be hashed"):
        hash64(CONTEXT, FunctionType((), U8), object())
