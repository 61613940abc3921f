"""Bytes of values: equal exactly where the values are, and read back as the same value."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.functions.program import chain, option, vec
from tests.values.typed_values import DEFINITIONS, plain, types, values
from tidelog.types import BIGINT, BOOL, STRING, U8, FunctionType, NamedType, TupleType, Type, TypeVariable
from tidelog.values import Vec, decode, decoder, encode, encoder
from tidelog.values.encode_type import read_type, write_type


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_value_is_read_back(data: st.DataObject) -> None:
    type_ = data.draw(types)
    value = data.draw(values(type_))
    found = decode(encode(value, type_, DEFINITIONS), type_, DEFINITIONS)
    assert found == value
    assert plain(found, type_) == plain(value, type_)
    assert type(found) is type(value)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_bytes_are_equal_exactly_where_values_are(data: st.DataObject) -> None:
    type_ = data.draw(types)
    left, right = data.draw(values(type_)), data.draw(values(type_))
    first, second = encode(left, type_, DEFINITIONS), encode(right, type_, DEFINITIONS)
    assert (first == second) == (left == right)


def test_many_values_of_one_type() -> None:
    write, read = encoder(vec(U8), DEFINITIONS), decoder(vec(U8), DEFINITIONS)
    rows = [Vec([n % 256]) for n in range(1000)]
    assert list(map(read, map(write, rows))) == rows


@pytest.mark.parametrize(
    ("value", "type_", "data"),
    [
        (5, U8, b"\x05"),
        (-1, BIGINT, b"\x01\xff"),
        (128, BIGINT, b"\x02\x00\x80"),
        ("é", STRING, b"\x02\xc3\xa9"),
        (Vec([1, 2]), vec(U8), b"\x02\x01\x02"),
    ],
)
def test_the_form_of_bytes_is_fixed(value: Any, type_: Type, data: bytes) -> None:
    assert encode(value, type_, DEFINITIONS) == data


@pytest.mark.parametrize(
    ("data", "type_"),
    [
        (b"", U8),
        (b"\x01\x02", U8),
        (b"\x05ab", STRING),
        (b"\x02\xff\xff", STRING),
        (b"\x09", option(U8)),
        (b"\x01", option(U8)),
        (b"\xff\xff\xff", vec(U8)),
    ],
)
def test_other_bytes_are_refused(data: bytes, type_: Type) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode(data, type_, DEFINITIONS)


def test_a_chain_of_any_length_is_written_and_read() -> None:
    end, link = DEFINITIONS.classes_of("Chain")
    value = end()
    for number in range(5_000):
        value = link(number % 10, value)
    data = encode(value, chain(U8), DEFINITIONS)
    found = decode(data, chain(U8), DEFINITIONS)
    assert hash(found) == hash(value)
    assert encode(found, chain(U8), DEFINITIONS) == data


@pytest.mark.parametrize(
    "type_",
    [
        BOOL,
        TupleType((U8, STRING)),
        NamedType("m::T", (TypeVariable("A"), BIGINT)),
        FunctionType(((U8, True), (BOOL, False)), vec(U8)),
        FunctionType((), STRING),
    ],
)
def test_types_are_written_and_read(type_: Type) -> None:
    out = bytearray()
    write_type(type_, out)
    assert read_type(bytes(out), 0) == (type_, len(out))
