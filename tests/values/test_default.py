"""Default values."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functions.program import chain, definitions, map_of, option, set_of, vec
from tidelog.types import BIGINT, BOOL, DOUBLE, STRING, U8, FunctionType, NamedType, TupleType, Type
from tidelog.values import Group, Map, Set, Vec, decode, default_value, encode, plain_text

DEFINITIONS = definitions()


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (BOOL, False),
        (U8, 0),
        (BIGINT, 0),
        (DOUBLE, 0.0),
        (STRING, ""),
        (TupleType((U8, STRING)), (0, "")),
        (vec(U8), Vec()),
        (set_of(U8), Set()),
        (map_of(U8, U8), Map()),
        (NamedType("ddlog_std::Ref", (STRING,)), ""),
        (NamedType("ddlog_std::Group", (U8, U8)), Group(0, [])),
        (option(U8), DEFINITIONS.class_of("ddlog_std::None")()),
        (chain(U8), DEFINITIONS.class_of("End")()),
        (NamedType("Shape"), DEFINITIONS.class_of("Dot")(DEFINITIONS.class_of("Point")(0, 0))),
    ],
)
def test_defaults(type_: Type, value: Any) -> None:
    found = default_value(type_, DEFINITIONS)
    assert found == value
    assert type(found) is type(value)


def test_a_default_function_returns_defaults() -> None:
    type_ = FunctionType(((U8, True), (U8, False)), STRING)
    function = default_value(type_, DEFINITIONS)
    assert function(5, 6) == ("", 5)
    assert function == default_value(type_, DEFINITIONS)
    assert plain_text(function, type_, DEFINITIONS) == "<closure: default closure, captured_args: ()>"
    assert decode(encode(function, type_, DEFINITIONS), type_, definitions()) == function
