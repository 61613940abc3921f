"""JSON: the forms of all types, the attributes, and errors with their positions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.library.declare import (
    ISTRING,
    JSON,
    SPAN,
    constructor,
    context,
    field,
    interned,
    map_,
    option,
    result,
    serde,
    set_,
    struct,
    type_,
    vec,
)
from tidelog.check.program import Attribute
from tidelog.library._json.values import JsonFloat, JsonInt, JsonNumber, JsonObject, JsonString
from tidelog.library._runtime.option_result import NONE, Err, Ok, Some
from tidelog.library.json import _from_json_string, _from_json_value, to_json_string, to_json_value
from tidelog.types import (
    BIGINT,
    BOOL,
    DOUBLE,
    FLOAT,
    S32,
    S64,
    STRING,
    U8,
    U32,
    U64,
    U128,
    UNIT,
    BitType,
    NamedType,
    TupleType,
    Type,
)
from tidelog.values.floats import NAN, single
from tidelog.values.group import Group
from tidelog.values.maps import Map
from tidelog.values.sets import Set
from tidelog.values.vec import Vec

AS_STRING = serde('with = "types__json::serde_string"')
CONTEXT = context(
    struct("Flag", field("b", BOOL)),
    struct("Nested", field("x", STRING), field("z", U64)),
    struct("Top", field("t", STRING), field("nested", NamedType("Nested"))),
    struct(
        "Flat",
        field("t", STRING),
        field("id", STRING, *serde('rename="@id"')),
        field("nested", NamedType("Nested"), *serde("flatten")),
    ),
    struct("Rest", field("a", U8), field("rest", map_(STRING, U8), *serde("flatten"))),
    type_("Enum", constructor("V1", field("b", BOOL)), constructor("V2"), constructor("V3", field("u", U32))),
    type_(
        "Tagged",
        constructor("T1", field("b", BOOL), attributes=serde('rename = "t.V1"')),
        constructor("T2", field("u", U32), attributes=serde('rename = "t.V2"')),
        attributes=serde('tag = "@type"'),
    ),
    struct("Holder", field("inner", NamedType("Tagged"))),
    struct("Optional", field("s", option(STRING)), field("v", option(JSON))),
    struct("Defaults", field("n", U8, *serde("default")), field("m", U8)),
    struct("AsText", field("x", STRING), field("y", S32, *AS_STRING)),
    struct("Keyed", field("f", map_(U64, NamedType("Nested")), Attribute("deserialize_from_array", "key_of", SPAN))),
    struct("Styled", field("one_two", U8), attributes=serde('rename_all = "camelCase"')),
    functions={"key_of": lambda nested: nested.z},
)
DEFINITIONS = CONTEXT.definitions


def named(name: str, *arguments: Type) -> NamedType:
    return NamedType(name, arguments)


def made(name: str, *fields: Any) -> Any:
    return DEFINITIONS.class_of(name)(*fields)


PAIR = TupleType((U8, U8))
WRAPPED = named("json::JsonWrapper", named("Tagged"))


def read(type_: Type, text: str) -> Any:
    return _from_json_string(CONTEXT, type_, text)


def written(type_: Type, value: Any) -> Any:
    return to_json_string(CONTEXT, type_, value)


@pytest.mark.parametrize(
    ("type_", "value", "text"),
    [
        (BOOL, True, "true"),
        (U64, 5, "5"),
        (S64, -5, "-5"),
        (U128, 2**100, str(2**100)),
        (BitType(200), 2**150, f'"{2**150}"'),
        (BIGINT, -(10**30), f'"-1{"0" * 30}"'),
        (STRING, 'a"\n\x01é', '"a\\"\\n\\u0001é"'),
        (ISTRING, "a", '"a"'),
        (DOUBLE, 299792458.0, "299792458.0"),
        (DOUBLE, 1e16, "1e16"),
        (DOUBLE, 1e15, "1000000000000000.0"),
        (DOUBLE, 1.5e-5, "0.000015"),
        (DOUBLE, 1.5e-7, "1.5e-7"),
        (DOUBLE, -0.25, "-0.25"),
        (DOUBLE, 0.0, "0.0"),
        (FLOAT, single(0.1), "0.1"),
        (UNIT, (), "null"),
        (TupleType((U8, BOOL)), (1, False), "[1,false]"),
        (vec(U8), Vec([1, 2]), "[1,2]"),
        (set_(U8), Set([2, 1]), "[1,2]"),
        (map_(STRING, U8), Map([("b", 1), ("a", 2)]), '{"a":2,"b":1}'),
        (map_(U8, BOOL), Map([(10, True)]), '{"10":true}'),
        (option(U8), NONE, "null"),
        (option(U8), Some(1), "1"),
        (result(U8, STRING), Ok(1), '{"Ok":{"res":1}}'),
        (result(U8, STRING), Err("x"), '{"Err":{"err":"x"}}'),
        (named("Nested"), made("Nested", "x", 1), '{"x":"x","z":1}'),
        (named("Flat"), made("Flat", "t", "i", made("Nested", "x", 1)), '{"t":"t","@id":"i","x":"x","z":1}'),
        (named("Rest"), made("Rest", 1, Map([("b", 2)])), '{"a":1,"b":2}'),
        (named("Enum"), made("V1", True), '{"V1":{"b":true}}'),
        (named("Enum"), made("V2"), '"V2"'),
        (named("Tagged"), made("T2", 7), '{"@type":"t.V2","u":7}'),
        (
            named("json::JsonWrapper", named("Tagged")),
            made("json::JsonWrapper", made("T2", 7)),
            '{"@type":"t.V2","u":7}',
        ),
        (named("AsText"), made("AsText", "x", -5), '{"x":"x","y":"-5"}'),
        (named("Keyed"), made("Keyed", Map([(1, made("Nested", "x", 1))])), '{"f":[{"x":"x","z":1}]}'),
        (named("Styled"), made("Styled", 1), '{"oneTwo":1}'),
        (named("uuid::Uuid"), 5, "5"),
        (named("regex::Regex"), "a+", '"a+"'),
        (named("ddlog_std::Group", STRING, U8), Group("k", [(1, 2)]), '{"key":"k","vals":[[1,2]]}'),
    ],
)
def test_every_type_has_a_form(type_: Type, value: Any, text: str) -> None:
    assert written(type_, value) == Ok(text)
    assert read(type_, text) == Ok(value)


def test_infinities_and_nan_are_null() -> None:
    assert written(vec(DOUBLE), Vec([NAN, float("inf")])) == Ok("[null,null]")


def test_keys_of_maps_must_have_a_text() -> None:
    assert written(map_(DOUBLE, U8), Map([(1.0, 1)])) == Err("key must be a string")
    assert written(map_(TupleType((U8, U8)), U8), Map([((1, 2), 1)])) == Err("key must be a string")
    assert written(map_(named("Enum"), U8), Map([(made("V2"), 1)])) == Ok('{"V2":1}')


def test_blanks_and_unknown_fields_are_passed_over() -> None:
    assert read(named("Flag"), ' { "x" : [1, {}] , "b":\n true } ') == Ok(made("Flag", True))


def test_missing_options_are_none() -> None:
    assert read(named("Optional"), "{}") == Ok(made("Optional", NONE, NONE))
    assert written(named("Optional"), made("Optional", NONE, NONE)) == Ok('{"s":null,"v":null}')


def test_missing_fields_may_have_a_default() -> None:
    assert read(named("Defaults"), '{"m":1}') == Ok(made("Defaults", 0, 1))
    assert read(named("Defaults"), "{}") == Err("missing field `m` at line 1 column 2")


def test_a_struct_may_be_an_array() -> None:
    assert read(named("Nested"), '["x",1]') == Ok(made("Nested", "x", 1))
    assert read(named("Nested"), '["x"]') == Err(
        "invalid length 1, expected struct Nested with 2 elements at line 1 column 5"
    )


@pytest.mark.parametrize(
    ("type_", "text", "problem"),
    [
        (named("Flag"), '{"foo":"bar"}', "missing field `b` at line 1 column 13"),
        (named("Top"), '{"t":"", "nested": {"x":""}}', "missing field `z` at line 1 column 27"),
        (named("Top"), '{\n "t":1}', "invalid type: integer `1`, expected a string at line 2 column 6"),
        (named("Flag"), '{"b":true,"b":true}', "duplicate field `b` at line 1 column 13"),
        (named("Tagged"), '{"@type": "t.V2", "b": false}', "missing field `u`"),
        (named("Holder"), '{"inner": {"@type": "t.V2"}}', "missing field `u` at line 1 column 28"),
        (named("Tagged"), '{"b":1}', "missing field `@type` at line 1 column 7"),
        (
            named("Tagged"),
            '{"@type": "x"}',
            "unknown variant `x`, expected `t.V1` or `t.V2` at line 1 column 13",
        ),
        (named("Enum"), '"V4"', "unknown variant `V4`, expected one of `V1`, `V2`, `V3` at line 1 column 4"),
        (named("Enum"), '"V1"', "invalid type: unit variant, expected struct variant at line 1 column 4"),
        (named("Enum"), "5", "expected value at line 1 column 1"),
        (
            named("AsText"),
            '{"x": "x", "y": "1000000000000"}',
            "number too large to fit in target type at line 1 column 32",
        ),
        (named("AsText"), '{"y": "-x", "x": ""}', "invalid digit found in string at line 1 column 10"),
        (U8, "300", "invalid value: integer `300`, expected u8 at line 1 column 3"),
        (U8, "-1", "invalid value: integer `-1`, expected u8 at line 1 column 2"),
        (U8, "1.5", "invalid type: floating point `1.5`, expected u8 at line 1 column 3"),
        (U8, '"é"', 'invalid type: string "é", expected u8 at line 1 column 4'),
        (U8, "null", "invalid type: null, expected u8 at line 1 column 4"),
        (U8, "[1]", "invalid type: sequence, expected u8 at line 1 column 0"),
        (BOOL, " {}", "invalid type: map, expected a boolean at line 1 column 1"),
        (vec(U8), "5", "invalid type: integer `5`, expected a sequence at line 1 column 1"),
        (map_(STRING, U8), "[]", "invalid type: sequence, expected a map at line 1 column 0"),
        (map_(U8, U8), '{"a":1}', 'invalid type: string "a", expected u8 at line 1 column 4'),
        (
            TupleType((U8, U8)),
            "[1]",
            "invalid length 1, expected tuple struct tuple2 with 2 elements at line 1 column 3",
        ),
        (TupleType((U8, U8)), "[1,2,3]", "trailing characters at line 1 column 6"),
        (BIGINT, '"x"', "invalid integer value: x"),
        (STRING, '"a', "EOF while parsing a string at line 1 column 2"),
        (STRING, '"\\q"', "invalid escape at line 1 column 3"),
        (STRING, '"\\ud800"', "unexpected end of hex escape at line 1 column 8"),
        (STRING, '"\\udc00"', "lone leading surrogate in hex escape at line 1 column 7"),
        (STRING, '"a\nb"', "control character (\\u0000-\\u001F) found while parsing a string at line 2 column 0"),
        (JSON, "", "EOF while parsing a value at line 1 column 0"),
        (JSON, "tru", "EOF while parsing a value at line 1 column 3"),
        (JSON, "trux", "expected ident at line 1 column 4"),
        (JSON, "[1,]", "trailing comma at line 1 column 4"),
        (JSON, "[1 2]", "expected `,` or `]` at line 1 column 4"),
        (JSON, "[1", "EOF while parsing a list at line 1 column 2"),
        (JSON, '{"a":1,}', "trailing comma at line 1 column 8"),
        (JSON, '{"a" 1}', "expected `:` at line 1 column 6"),
        (JSON, "{1:1}", "key must be a string at line 1 column 2"),
        (JSON, '{"a":1', "EOF while parsing an object at line 1 column 6"),
        (JSON, "1 2", "trailing characters at line 1 column 3"),
        (JSON, "01", "invalid number at line 1 column 2"),
        (JSON, "-", "EOF while parsing a value at line 1 column 1"),
        (JSON, "1.", "EOF while parsing a value at line 1 column 2"),
        (JSON, "1e999", "number out of range at line 1 column 5"),
        (JSON, "?", "expected value at line 1 column 1"),
        (JSON, "[" * 200, "recursion limit exceeded at line 1 column 128"),
    ],
)
def test_errors_have_a_reason_and_a_position(type_: Type, text: str, problem: str) -> None:
    assert read(type_, text) == Err(problem)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("18446744073709551615", JsonInt(2**64 - 1)),
        ("-9223372036854775808", JsonInt(-(2**63))),
        ("18446744073709551616", JsonFloat(2.0**64)),
        ("1" + "0" * 60, JsonFloat(1e60)),
        ("-0", JsonFloat(0.0)),
        ("1e2", JsonFloat(100.0)),
    ],
)
def test_numbers_are_integers_while_they_fit(text: str, value: Any) -> None:
    assert read(JSON, text) == Ok(JsonNumber(value))


def test_numbers_out_of_range_are_cut_off() -> None:
    assert written(JSON, JsonNumber(JsonInt(2**64 + 5))) == Ok("5")
    assert written(JSON, JsonNumber(JsonInt(-(2**63) - 1))) == Ok(str(2**63 - 1))
    assert written(JSON, JsonNumber(JsonFloat(NAN))) == Ok("null")


def test_the_later_of_two_equal_keys_counts() -> None:
    assert read(JSON, '{"a":1,"a":"x"}') == Ok(JsonObject(Map([("a", JsonString("x"))])))


def test_values_instead_of_text() -> None:
    value = to_json_value(CONTEXT, named("Flat"), made("Flat", "t", "i", made("Nested", "x", 1)))
    assert written(JSON, value.res) == Ok('{"@id":"i","t":"t","x":"x","z":1}')  # type: ignore[attr-defined]
    back = _from_json_value(CONTEXT, named("Flat"), value.res)  # type: ignore[attr-defined]
    assert back == Ok(made("Flat", "t", "i", made("Nested", "x", 1)))


def test_errors_in_values_have_no_place() -> None:
    assert _from_json_value(CONTEXT, U8, JsonString("a")) == Err('invalid type: string "a", expected u8')
    assert _from_json_value(CONTEXT, named("Enum"), JsonNumber(JsonInt(1))) == Err(
        "invalid type: integer `1`, expected string or map"
    )


def test_unicode_escapes_are_pairs_where_needed() -> None:
    assert read(interned(STRING), '"\\u00e9\\ud834\\udd1e\\/"') == Ok("é𝄞/")


json_texts = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(json_texts)
def test_text_written_by_python_reads_as_the_same_tree(tree: Any) -> None:
    text = json.dumps(tree, sort_keys=True)
    value = read(JSON, text)
    assert isinstance(value, Ok)
    again = written(JSON, value.res)  # type: ignore[attr-defined]
    assert json.loads(again.res) == tree


@given(st.text(alphabet='{}[]",:0123456789.eE+-truefalsn \\u"', max_size=25))
def test_any_text_has_an_answer(text: str) -> None:
    try:
        json.loads(text, parse_constant=lambda _: 1 / 0)
        good = True
    except (ValueError, ZeroDivisionError):
        good = False
    answer = read(JSON, text)
    out_of_range = getattr(answer, "err", "").startswith(("number out of range", "lone", "unexpected end of hex"))
    assert isinstance(answer, Ok) == good or out_of_range
