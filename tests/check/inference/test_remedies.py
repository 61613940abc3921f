"""Helps: what an error says to write instead, written instead, is right."""

from __future__ import annotations

import re

import pytest

from tidelog.check.check import check
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.report import Diagnostic
from tidelog.diagnostics.spans import Source
from tidelog.syntax.parse import parse


def errors(text: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(ProgramError) as caught:
        check(parse(Source("p.dl", text)))
    return caught.value.diagnostics


def only_error(text: str) -> Diagnostic:
    (found,) = errors(text)
    return found


def help_of(text: str) -> str:
    return only_error(text).help or ""


@pytest.mark.parametrize(
    ("found", "wanted", "repaired"),
    [
        ("u8", "u64", "x as u64"),
        ("u64", "s64", "x as s64"),
        ("u8", "s64", "x as u64 as s64"),
        ("s16", "bit<12>", "x as signed<12> as bit<12>"),
        ("bigint", "u32", "x as s32 as u32"),
        ("bigint", "s32", "x as s32"),
        ("s8", "bigint", "x as bigint"),
        ("u32", "double", "x as double"),
        ("float", "double", "x as double"),
        ("u32", "string", "to_string(x)"),
        ("bool", "string", "to_string(x)"),
        ("u32", "bool", "x != 0"),
        ("duration", "s64", "whole_seconds(x)"),
        ("Option<decimal<12, 2>>", "Option<decimal<14, 2>>", "x.map(|v| v as decimal<14, 2>)"),
        ("Option<u8>", "Option<s64>", "x.map(|v| v as u64 as s64)"),
        ("string", "istring", "intern(x)"),
        ("istring", "string", "ival(x)"),
        ("string", "Ref<string>", "ref_new(x)"),
        ("Ref<string>", "string", "deref(x)"),
        ("Vec<u8>", "Option<Vec<u8>>", "Some{x}"),
        ("Option<Vec<u8>>", "Vec<u8>", "unwrap_or_default(x)"),
        ("string", "Result<string, u8>", "Ok{x}"),
        ("Result<string, u8>", "string", "unwrap_or_default(x)"),
        ("function(): u8", "u8", "x()"),
    ],
)
def test_a_conversion_that_is_pasted_repairs_the_function(found: str, wanted: str, repaired: str) -> None:
    text = f"function f(x: {found}): {wanted} {{ x }}"
    error = only_error(text)
    assert error.help == f"`{repaired}`"
    span = error.span
    check(parse(Source("p.dl", text[: span.start] + repaired + text[span.end :])))


@pytest.mark.parametrize(
    ("written", "wanted", "repaired"),
    [
        ("q - r", "s64", "(q as u64 as s64) - (r as u64 as s64)"),
        ("q - r", "bigint", "(q as bigint) - (r as bigint)"),
        ("q - r", "double", "(q as double) - (r as double)"),
        ("q / 2", "double", "(q as double) / 2"),
        ("q * (r - 1) + q", "u64", "((q as u64) * ((r as u64) - 1)) + (q as u64)"),
        ("q << (r + 1)", "u64", "(q as u64) << (r + 1)"),
        ("-(q - r)", "s64", "-((q as u64 as s64) - (r as u64 as s64))"),
        ("q - r", "decimal<12, 2>", "((q as bigint) - (r as bigint)) as decimal<12, 2>"),
        ("q - r", "s32", "(q - r) as s32"),  # as many bits: the sign comes back
        ("q + r", "u8", "(q + r) as u8"),
    ],
)
def test_a_wider_type_goes_to_the_operands_which_the_result_has_lost(written: str, wanted: str, repaired: str) -> None:
    text = f"function f(q: u32, r: u32): {wanted} {{ {written} }}"
    error = only_error(text)
    assert error.help == f"`{repaired}`"
    span = error.span
    check(parse(Source("p.dl", text[: span.start] + repaired + text[span.end :])))


def test_a_cast_a_comparison_and_a_decimal_get_wider_operands() -> None:
    program = "function f(q: u32, r: u32, b: u64, p: decimal<12, 2>): %s { %s }"
    assert help_of(program % ("s64", "(q - r) as s64")) == "`(q as u64 as s64) - (r as u64 as s64)`"
    assert help_of(program % ("bool", "q * r < b")) == "`(q as u64) * (r as u64)` makes the left side as wide"
    assert (
        help_of(program % ("decimal<22, 2>", "p * (q - r)"))
        == "`p * (((q as bigint) - (r as bigint)) as decimal<10, 0>)`"
    )
    long = " + ".join(["q * r"] * 8)
    assert help_of(program % ("u64", long)).startswith("cast the operands to `u64`, not the result")


@pytest.mark.parametrize(
    ("found", "wanted"), [("string", "u8"), ("Vec<u8>", "Set<u8>"), ("bool", "u8"), ("(u8, u8)", "u8"), ("'A", "u8")]
)
def test_nothing_is_said_where_there_is_no_conversion(found: str, wanted: str) -> None:
    assert help_of(f"function f(x: {found}): {wanted} {{ x }}") == ""


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("function f(v: Vec<u8>): u8 { v.first_item() }", ""),
        ("function f(s: string): bool { regex_match(regex(s), s) }", "`import regex` declares it"),
        ("function f(s: Nope): bool { true }", ""),
        ("function f(r: Regex): bool { true }", "`import regex` declares it"),
        ("function f(x: int): bool { true }", "it is called `s64` here"),
        ("function f(x: List<u8>): bool { true }", "it is called `Vec` here"),
        ("function f(x: strng): bool { true }", "did you mean `string`?"),
        ("function f(): u8 { hashset::empty(1) }", "`import hashset`"),
        ("function f(): u8 { nope::empty(1) }", ""),
    ],
)
def test_a_name_of_a_module_that_is_not_imported_is_found(text: str, meant: str) -> None:
    assert (errors(text)[0].help or "") == meant


def test_more_functions_of_a_name_are_found_in_modules_that_are_not_imported() -> None:
    help = help_of("function f(v: Vec<u8>): Vec<u8> { v.map(|x| x + 1) }")
    assert help == "`import vec` declares one for `Vec`"
    check(parse(Source("p.dl", "import vec\nfunction f(v: Vec<u8>): Vec<u8> { v.map(|x| x + 1) }")))


def test_a_function_for_the_text_of_a_type_can_be_pasted() -> None:
    text = 'typedef Point = Point{x: u8}\nfunction f(p: Point): string { "${p}" }'
    (function,) = re.findall("`(.*)`", help_of(text))
    check(parse(Source("p.dl", f"{text}\n{function}")))


def test_the_arguments_of_a_relation_of_a_type_are_written_as_a_value() -> None:
    text = "typedef Host = Host{name: string, port: u16}\ninput relation Hosts[Host]\nHosts({}).\n"
    (row,) = re.findall("`(.*)`", help_of(text.replace("{}", '"a", 80')))
    check(parse(Source("p.dl", text.replace("Hosts({})", row))))


def test_the_value_of_a_block_that_ends_with_a_semicolon_is_found() -> None:
    assert help_of("function f(x: u8): u8 { x + 1; }") == "without the last `;` the block gives the value of `x + 1`"


def test_the_value_of_an_option_is_cast_inside_it() -> None:
    text = "function f(x: Option<u32>): Option<u64> { %s }"
    assert errors(text % "(x as u64)")[0].help == "`x.map(|v| v as u64)`"
    check(parse(Source("p.dl", text % "x.map(|v| v as u64)")))


def test_two_ampersands_are_one_error() -> None:
    assert help_of("function f(q: u32, r: u32): bool { q > 3 && r > 3 }") == "`and` joins conditions"


def test_a_key_that_is_no_variable_makes_no_nonsense_for_the_head() -> None:
    text = """input relation S(q: u32, at: date)
output relation R(m: s64, n: u64)
R(m, n) :- S(_, at), var n = count() by (year(at)).
"""
    helps = {str(error.code): error.help for error in errors(text)}
    assert helps["E311"] == "`key = year(at)`"
    assert "E302" not in helps or helps["E302"] is None


def test_a_message_about_operands_of_unknown_width_is_english() -> None:
    error = only_error("function f(p: decimal<12, 2>): bool { (if (p > 1.00) 1 else 2) * p > p }")
    assert error.message.startswith("there is no integer * `decimal<12, 2>`")
