"""The modules of the library: all of them check, and the functions written in the language work."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.library.language import checked, compiled, value
from tidelog.check.check import check
from tidelog.diagnostics.spans import Source
from tidelog.library._json import values
from tidelog.library._runtime import option_result
from tidelog.library._runtime.option_result import NONE, Err, Ok, Some
from tidelog.library._runtime.registry import DIRECTORY, library_externs, library_modules
from tidelog.syntax.parse import parse
from tidelog.values.group import Group
from tidelog.values.maps import Map
from tidelog.values.sets import Set, SizedSet
from tidelog.values.vec import Vec

EVERYWHERE = ("ddlog_rt", "ddlog_std", "ddlog_bigint", "ddlog_log", "debug", "internment")


@pytest.mark.parametrize("module", [name for name in library_modules() if name not in EVERYWHERE])
def test_a_module_can_be_imported(module: str) -> None:
    checked(f"import {module}\noutput relation R(x: u8)\nR(1).\n")


def test_every_function_of_every_module_checks(tmp_path: Path) -> None:
    # Functions of the library are checked when they are used; those of other modules always.
    for name in EVERYWHERE:
        shutil.copy(DIRECTORY / f"{name}.dl", tmp_path)
    imports = "".join(f"import {name}\n" for name in library_modules() if name not in EVERYWHERE)
    check(parse(Source("test.dl", imports)), search_path=[DIRECTORY], library=tmp_path)


@pytest.mark.parametrize(
    ("expression", "type_", "answer"),
    [
        ("min(2, 1)", "u8", 1),
        ('max("a", "b")', "string", "b"),
        ("2.pow32(10)", "u64", 1024),
        ("(2: u8).pow32(8)", "u8", 0),
        ("htons('h1234)", "u16", 0x3412),
        ("ntohl('h12345678)", "u32", 0x78563412),
        ("range_vec(0, 3, 1)", "Vec<u8>", Vec([0, 1, 2])),
        ("hash64(1: u8) == hash64(1: u8)", "bool", True),
        ('"${1: u8} ${true} ${0.5: float} ${-3: s8}"', "string", "1 true 0.5 -3"),
        ('to_string_debug(Some{"a"})', "string", 'ddlog_std::Some{"a"}'),
        ("(255: u8).hex()", "string", "ff"),
        ('"né".len()', "usize", 3),
        ('"a-b".split("-").join("+")', "string", "a+b"),
        ('" A ".trim().to_lowercase().reverse()', "string", "a"),
        ('"abc".substr(1, 2)', "string", "b"),
        ('parse_dec_u64("5").unwrap_or(0)', "u64", 5),
        ('from_utf8("a".to_bytes())', "Result<string, string>", Ok("a")),
        ("default()", "(bool, string, Option<u8>)", (False, "", NONE)),
        ("from_any(to_any(5: u8))", "Option<u8>", Some(5)),
        ("from_any(to_any(5: u8))", "Option<u16>", NONE),
        ("deref(ref_new(7))", "u8", 7),
        ("(&7).deref()", "u8", 7),
    ],
)
def test_numbers_and_text(expression: str, type_: str, answer: Any) -> None:
    assert value(expression, type_) == answer


@pytest.mark.parametrize(
    ("expression", "type_", "answer"),
    [
        ("Some{1}.is_some()", "bool", True),
        ("(None: Option<u8>).is_none()", "bool", True),
        ("Some{1: u8}.map(|x| x + 1)", "Option<u8>", Some(2)),
        ("Some{1: u8}.and_then(|x| if (x > 1) { Some{x} } else { None })", "Option<u8>", NONE),
        ("(None: Option<u8>).unwrap_or(5)", "u8", 5),
        ("(None: Option<u8>).unwrap_or_default()", "u8", 0),
        ('(None: Option<u8>).ok_or("x")', "Result<u8, string>", Err("x")),
        ('Some{1}.ok_or_else(|| "x")', "Result<u8, string>", Ok(1)),
        ("Some{1: u8}.to_vec()", "Vec<u8>", Vec([1])),
        ("(None: Option<u8>).to_set()", "Set<u8>", Set()),
        ("(Ok{1}: Result<u8, string>).is_ok()", "bool", True),
        ('(Err{"x"}: Result<u8, string>).is_err()', "bool", True),
        ('(Err{"x"}: Result<u8, string>).unwrap_or(3)', "u8", 3),
        ('(Err{"x"}: Result<u8, string>).unwrap_or_default()', "u8", 0),
        ("(Ok{1}: Result<u8, string>).map(|x| x + 1)", "Result<u8, string>", Ok(2)),
        ('(Err{"x"}: Result<u8, string>).map_err(|e| e ++ "y")', "Result<u8, string>", Err("xy")),
        ("result_unwrap_or_default(Ok{1}: Result<u8, string>)", "u8", 1),
        ("option_unwrap_or(Some{1}, 2)", "u8", 1),
    ],
)
def test_options_and_results(expression: str, type_: str, answer: Any) -> None:
    assert value(expression, type_) == answer


@pytest.mark.parametrize(
    ("expression", "type_", "answer"),
    [
        ("var v: Vec<u8> = vec_empty(); v.push(1); v.push(2); v.pop(); v", "Vec<u8>", Vec([1])),
        ("var v = [1]; v.append([2]); v", "Vec<u8>", Vec([1, 2])),
        ("var v = [3, 1, 2]; v.sort(); v", "Vec<u8>", Vec([1, 2, 3])),
        ("[3, 1].sort_imm()", "Vec<u8>", Vec([1, 3])),
        ("[1, 2].reverse_imm()", "Vec<u8>", Vec([2, 1])),
        ("[1].push_imm(2)", "Vec<u8>", Vec([1, 2])),
        ("var x: u8 = 9; var v = [1]; v.swap_nth(0, x); (x, v)", "(u8, Vec<u8>)", (1, Vec([9]))),
        ("var v = [1]; (v.update_nth(1, 5), v)", "(bool, Vec<u8>)", (False, Vec([1]))),
        ("[1].zip([true])", "Vec<(u8, bool)>", Vec([(1, True)])),
        ("[(1, 2), (1, 3)].to_map()", "Map<u8, u8>", Map([(1, 3)])),
        ("(vec_with_capacity(5): Vec<u8>).is_empty()", "bool", True),
        ("vec_singleton(1).contains(1)", "bool", True),
        ("map_singleton(1, 2)", "Map<u8, u8>", Map([(1, 2)])),
        ("var m = [1 -> 2]; var old = m.remove(1); (old, m.size())", "(Option<u8>, usize)", (Some(2), 0)),
        ("[1 -> 2].insert_imm(3, 4).keys()", "Vec<u8>", Vec([1, 3])),
        ("[1 -> 2].union([1 -> 3])", "Map<u8, u8>", Map([(1, 3)])),
        ("set_singleton(1).insert_imm(0)", "Set<u8>", Set([0, 1])),
        ("var s = set_empty(); s.insert(2); s.insert(1); s.insert(2); s.to_vec()", "Vec<u8>", Vec([1, 2])),
        ("[set_singleton(1), set_singleton(2)].union()", "Set<u8>", Set([1, 2])),
        ("set_singleton(1).is_empty()", "bool", False),
    ],
)
def test_collections(expression: str, type_: str, answer: Any) -> None:
    assert value(expression, type_) == answer


@pytest.mark.parametrize(
    ("imports", "expression", "type_", "answer"),
    [
        ("vec", "[1, 2].map(|x| x + 1)", "Vec<u8>", Vec([2, 3])),
        ("vec", "[1, 2].flatmap(|x| [x, x])", "Vec<u8>", Vec([1, 1, 2, 2])),
        ("vec", "[1, 2, 3].filter(|x| x != 2)", "Vec<u8>", Vec([1, 3])),
        ("vec", "[1, 2].filter_map(|x| if (x == 1) { Some{true} } else { None })", "Vec<bool>", Vec([True])),
        ("vec", "var v: Vec<u8> = [1, 2, 3]; v.retain(|x| x > 1); v", "Vec<u8>", Vec([2, 3])),
        ("vec", "[1, 2].find(|x| x > 0)", "Option<u8>", Some(1)),
        ("vec", "([1, 2].any(|x| x == 3), [1, 2].all(|x| x > 0))", "(bool, bool)", (False, True)),
        ("vec", "[1, 2, 3].count(|x| x > 1)", "usize", 2),
        ("vec", "[1, 2, 3].fold(|a, x| a - x, 10)", "s64", 4),
        ("vec", "([1, 2].first(), [1, 2].last())", "(Option<u8>, Option<u8>)", (Some(1), Some(2))),
        ("vec", "(vec_empty(): Vec<u8>).last()", "Option<u8>", NONE),
        ("vec", 'var v = ["bb", "a"]; v.sort_by(|s| s.len()); v', "Vec<string>", Vec(["a", "bb"])),
        ("vec", '["a", "b"].arg_max(|s| s.len())', "Option<string>", Some("b")),
        ("vec", '["a", "b"].arg_min(|s| s.len())', "Option<string>", Some("a")),
        ("set", "[1, 2].to_set().map(|x| x / 2)", "Set<u8>", Set([0, 1])),
        ("set", "[1, 2].to_set().filter(|x| x > 1)", "Set<u8>", Set([2])),
        ("set", '[1, 2].to_set().fold(|a, x| a ++ "${x: u8}", "")', "string", "12"),
        ("set", "[3, 2].to_set().arg_max(|x| 0: u8)", "Option<u8>", Some(3)),
        ("map", "[1 -> 2].map(|v| v + 1)", "Map<u8, u8>", Map([(1, 3)])),
        ("map", "[1 -> 2].map(|k, v| k + v)", "Map<u8, u8>", Map([(1, 3)])),
        ("map", "[1 -> 5, 2 -> 6].map_keys(|k| 0)", "Map<u8, u8>", Map([(0, 6)])),
        ("map", "[1 -> 5, 2 -> 6].filter(|k, v| k > 1)", "Map<u8, u8>", Map([(2, 6)])),
        ("map", "var m = [1 -> 5, 2 -> 6]; m.retain(|v| v == 5); m", "Map<u8, u8>", Map([(1, 5)])),
        ("map", "[1 -> 5, 2 -> 6].fold(|a, k, v| a + k * v, 0)", "u8", 17),
        ("map", "[1 -> 5, 2 -> 6].find(|v| v > 5)", "Option<u8>", Some(6)),
        (
            "map",
            "var m: Map<u8, u8> = [1 -> 5]; m.map_in_place(|k: u8, v: mut u8| { v = v + k }); m",
            "Map<u8, u8>",
            Map([(1, 6)]),
        ),
        ("checked", "checked_sub(checked_add(200, 55), checked_mul(15, 17))", "u8", 0),
        ("checked", "checked_mul(1: bigint, 300)", "bigint", 300),
        ("hashset", "[2, 1].to_hashset().map(|x| x + 1)", "HashSet<u8>", SizedSet([2, 3])),
        ("hashset", "var s = hashset_singleton(1); s.insert(2); s.remove(1); s", "HashSet<u8>", SizedSet([2])),
        ("hashset", "hashset_singleton(9) < [1, 2].to_hashset()", "bool", True),
        ("tinyset", "var s = tinyset::singleton(1: u8); s.tinyset::insert(2); s.tinyset::size()", "u64", 2),
        ("intern", 'istring_str(string_intern("a"))', "string", "a"),
        ("fp", "floor_d(1.5)", "double", 1.0),
        ("fp", 'parse_d("0.5")', "Result<double, string>", Ok(0.5)),
        ("regex", 'regex_all_matches(regex([|\\d+|]), "a1b22")', "Vec<string>", Vec(["1", "22"])),
        ("base64", "base64::encode([0, 1])", "string", "AAE="),
        ("uuid", "uuid::is_nil(uuid::nil())", "bool", True),
        (
            "souffle_lib intern",
            'souffle_lib::re_match(string_intern("ab|cd"), string_intern("abd"))',
            "bool",
            False,
        ),
        ("souffle_lib intern", 'souffle_lib::re_match(string_intern("ab|cd"), string_intern("cd"))', "bool", True),
        ("souffle_lib intern", 'souffle_lib::substr(string_intern("hello"), 1, 3)', "IString", "ell"),
        ("uuid", "uuid::to_simple_lower(uuid::from_u128(1))", "string", "0" * 31 + "1"),
        ("allocate", 'allocate(set_singleton(1), ["a"], 1, 9)', "Vec<(string, u8)>", Vec([("a", 2)])),
    ],
)
def test_imported_modules(imports: str, expression: str, type_: str, answer: Any) -> None:
    assert value(expression, type_, imports) == answer


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("ipv4_new(192, 168, 0, 1)", "192.168.0.1"),
        ("iPV4_LOCALHOST()", "127.0.0.1"),
        ("iPV4_BROADCAST()", "255.255.255.255"),
        ("ipv4_octets(ipv4_new(1, 2, 3, 4)).2", "3"),
        ("ipv4_octet_vec(ipv4_new(1, 2, 3, 4)).nth(3).unwrap_or(0)", "4"),
        ("ipv4_is_loopback(ipv4_new(127, 0, 0, 5))", "true"),
        ("ipv4_is_private(ipv4_new(172, 31, 1, 2))", "true"),
        ("ipv4_is_private(ipv4_new(172, 32, 1, 2))", "false"),
        ("ipv4_is_link_local(ipv4_new(169, 254, 1, 1))", "true"),
        ("ipv4_is_multicast(ipv4_new(239, 254, 1, 1))", "true"),
        ("ipv4_is_multicast(ipv4_new(240, 0, 0, 0))", "false"),
        ("ipv4_is_documentation(ipv4_new(203, 0, 113, 101))", "true"),
        ("ipv4_is_unspecified(iPV4_UNSPECIFIED()) and ipv4_is_broadcast(iPV4_BROADCAST())", "true"),
        ("ipv4_to_ipv6_compatible(ipv4_new(192, 0, 2, 10))", "::192.0.2.10"),
        ("ipv4_to_ipv6_mapped(ipv4_new(192, 0, 2, 10))", "::ffff:192.0.2.10"),
        ("ipv6_new(0, 0, 0, 0, 0, 'hffff, 'hc00a, 'h2ff)", "::ffff:192.10.2.255"),
        ("ipv6_from_octets(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)", "::1"),
        ("ipv6_segments(iPV6_LOCALHOST()).7", "1"),
        ("ipv6_octets(iPV6_LOCALHOST()).15", "1"),
        ("ipv6_is_multicast(ipv6_new('hff01, 0, 0, 0, 0, 0, 0, 0))", "true"),
        ("ipv6_to_ipv4(ipv6_new(0, 0, 0, 0, 0, 'hffff, 'hc00a, 'h2ff)).unwrap_or_default()", "192.10.2.255"),
        ("ipv6_to_ipv4(ipv6_new(1, 0, 0, 0, 0, 'hffff, 'hc00a, 'h2ff)).is_none()", "true"),
        ("ipaddr_from_ipv4addr(ipv4_new(10, 0, 0, 1))", "10.0.0.1"),
        ("ipaddr_is_ipv6(ipaddr_from_ipv6addr(iPV6_LOCALHOST()))", "true"),
        ("ipaddr_is_loopback(ipaddr_from_ipv6addr(iPV6_LOCALHOST()))", "true"),
    ],
)
def test_addresses(expression: str, text: str) -> None:
    assert value(f'"${{{expression}}}"', "string", "net::ipv4 net::ipv6 net::ipaddr") == text


GROUPS = """
function sizes(g: Group<string, string>): Vec<usize> { g.map(|s| s.len()) }
function shortest(g: Group<string, string>): string { g.arg_min(|s| s.len()) }
function longest(g: Group<string, string>): string { g.arg_max(|s| s.len()) }
function total(g: Group<string, string>): usize { g.sum_of(|s| s.len()) }
function glued(g: Group<string, string>): string { g.fold(|a, s| a ++ s, "") }
function some(g: Group<string, string>): (usize, bool, bool, Option<string>, Vec<string>) {
    (g.count(|s| s.len() == 1), g.any(|s| s == "x"), g.all(|s| s != "x"), g.find(|s| s > "a"), g.filter(|s| s < "b"))
}
function weighed(g: Group<string, string>): s64 { var sum: s64 = 0; for ((_, w) in g) { sum = sum + w }; sum }
"""


def test_groups() -> None:
    functions = compiled(f"import group\n{GROUPS}")
    group = Group("k", [("a", 2), ("b", 1), ("cc", 1), ("dd", 1)])
    assert functions.function("sizes")(group) == Vec([1, 1, 2, 2])
    assert functions.function("shortest")(group) == "a"
    assert functions.function("longest")(group) == "cc"
    assert functions.function("total")(group) == 6
    assert functions.function("glued")(group) == "abccdd"
    assert functions.function("some")(group) == (2, False, True, Some("b"), Vec(["a"]))
    assert functions.function("weighed")(group) == 5


JSON = """
typedef Pair = Pair{#[rust = "serde(rename = \\"first\\")"] a: u8, b: Option<string>}
function there(text: string): Result<Pair, string> { from_json_string(text) }
function back(text: string): string { there(text).unwrap_or_default().to_json_string().unwrap_or_default() }
function at(text: string, ptr: JsonPtr): Option<JsonValue> {
    (from_json_string(text): Result<JsonValue, string>).unwrap_or_default().get_by_ptr(ptr)
}
function get(text: string): Option<JsonValue> { at(text, [JKeyPtr{i"a"}, JIdxPtr{1}]) }
function put(text: string): (Result<(), string>, string) {
    var value: JsonValue = from_json_string(text).unwrap_or_default();
    var result = value.set_by_ptr([JKeyPtr{i"a"}, JIdxPtr{2}, JKeyPtr{i"b"}], JsonBool{true});
    (result, value.to_json_string().unwrap_or_default())
}
"""


def test_json_in_the_language() -> None:
    functions = compiled(f"import json\n{JSON}")
    assert functions.function("back")('{"first": 5}') == '{"first":5,"b":null}'
    assert functions.function("there")("{}") == Err("missing field `first` at line 1 column 2")
    assert functions.function("get")('{"a": [1, "x"]}') == Some(values.JsonString("x"))
    assert functions.function("get")('{"a": 5}') == NONE
    put = functions.function("put")
    assert put('{"a": [1]}') == (Ok(()), '{"a":[1,null,{"b":true}]}')
    assert put("null") == (Ok(()), '{"a":[null,null,{"b":true}]}')
    assert put("5") == (Err("Not a JSON map"), "5")
    assert put('{"a": 5}') == (Ok(()), '{"a":5}')


def test_extern_functions_use_the_classes_of_the_program() -> None:
    functions = compiled("import json\nfunction f(v: JsonValue): Option<JsonNum> { v.as_number() }\n")
    definitions = functions.definitions
    for name in ("Some", "Ok", "Err"):
        assert getattr(option_result, name) is definitions.class_of(f"ddlog_std::{name}")
    assert type(NONE) is definitions.class_of("ddlog_std::None")
    for name in ("JsonInt", "JsonFloat", "JsonNull", "JsonBool", "JsonNumber", "JsonString", "JsonArray", "JsonObject"):
        assert getattr(values, name) is definitions.class_of(f"json::{name}")


def test_extern_functions_can_be_sent_to_other_processes() -> None:
    for name, function in library_externs().items():
        assert pickle.loads(pickle.dumps(function)) is function, name
