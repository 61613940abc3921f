"""Types: where they come from, what they refuse, and what is made of the expressions."""

from __future__ import annotations

import pytest

from tests.check.programs import checked, wrong
from tidelog.check.program import Assign, Condition
from tidelog.check.show_expression import show_expression
from tidelog.check.typed import Expression
from tidelog.compile_program import compile_program
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.spans import Source


def assigned(value: str) -> Expression:
    """What becomes of `value` in `var v = value`, where a, b and c are the columns of Num and s is a string."""
    (rule,) = checked(f"Any(true) :- Num(a, b, c), Edge(s, _), var v = {value}.").rules
    literal = rule.body[-1]
    assert isinstance(literal, Assign)
    return literal.expression


def condition(value: str) -> str:
    (rule,) = checked(f"Any(true) :- Num(a, b, c), Edge(s, _), {value}.").rules
    literal = rule.body[-1]
    assert isinstance(literal, Condition)
    return show_expression(literal.expression)


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        ("5", "u64"),
        ("-5", "s64"),
        ("18446744073709551616", "u128"),
        ("-9223372036854775809", "s128"),
        ("1 - 5", "u64"),
        ("1 + -5", "s64"),
        ("5: u8", "u8"),
        ("8'hff", "u8"),
        ("12'sd5", "signed<12>"),
        ("a + 1", "u8"),
        ("1 + a", "u8"),
        ("b * -2", "s16"),
        ("-a", "u8"),
        ("~c", "bit<12>"),
        ("a << 3", "u8"),
        ("if (true) 1 else a", "u8"),
        ("if (true) a else 1", "u8"),
        ("a ++ c", "bit<20>"),
        ("c[7:0]", "u8"),
        ("c[11:11]", "bit<1>"),
        ("5[3:0]", "bit<4>"),
        ("1 ++ a", "bit<72>"),
        ("s ++ a", "string"),
        ('"${a}"', "string"),
        ("a as u32", "u32"),
        ("a as s8", "s8"),
        ("a as u16 as s16", "s16"),
        ("5 as s32", "s32"),
        ("-5 as u32", "u32"),
        ("300 as u8", "u8"),
        ("a == 1", "bool"),
        ("s < s", "bool"),
        ("true => a > 1", "bool"),
        ("(5: usize) + 1", "u64"),
        ("(5: isize) + 1", "s64"),
    ],
)
def test_types_are_found(value: str, type_: str) -> None:
    assert str(assigned(value).type) == type_


def test_a_literal_takes_its_width_from_a_later_literal_of_the_body() -> None:
    (rule,) = checked("Any(true) :- var k = 5, Num(k, _, _).").rules
    assert isinstance(rule.body[0], Assign)
    assert str(rule.body[0].type) == "u8"


def test_a_literal_takes_its_width_from_the_head() -> None:
    (rule,) = checked('Out(k, "") :- var k = 5.').rules
    assert isinstance(rule.body[0], Assign)
    assert str(rule.body[0].type) == "u8"


@pytest.mark.parametrize(
    ("value", "meaning"),
    [
        ('"a${a}b${s}" == s', '(("a" ++ to_string(a)) ++ ("b" ++ s)) == s'),
        ("c[11:4] == a", "((c >> (4: u32)) as u8) == a"),
        ("c[7:0] == a", "(c as u8) == a"),
        ("s ++ -1 == s", "(s ++ to_string(-1: s64)) == s"),
        ("s ++ true ++ s == s", "((s ++ to_string(true)) ++ s) == s"),
        ("b == -32768", "b == (-32768: s16)"),
        ("(a: u8) == 1", "a == (1: u8)"),
        ("not (a > 1 or false)", "not ((a > (1: u8)) or false)"),
    ],
)
def test_the_sugar_is_gone(value: str, meaning: str) -> None:
    assert condition(value) == meaning


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("a == b", "E210 expected `u8`, found `s16`"),
        ("a == s", "E210 expected `u8`, found `string`"),
        ("1 == s", "E210 expected an integer, found `string`"),
        ("a", "E210 expected `bool`, found `u8`"),
        ("a and true", "E210 expected `bool`, found `u8`"),
        ("if (a) true else false", "E210 expected `bool`, found `u8`"),
        ("(if (true) 1 else s) == 1", "E210 expected an integer, found `string`"),
        ("(a: u16) == 1", "E210 expected `u16`, found `u8`"),
        ("a << b == 1", "E210 expected `u32`, found `s16`"),
        ("a == 256", "E211 `256` does not fit into `u8`"),
        ("a == -1", "E211 `-1` does not fit into `u8`"),
        ("b == 32768", "E211 `32768` does not fit into `s16`"),
        ("s - s == s", "E212 operator `-` needs a number, found `string`"),
        ("true ++ s == s", "E212 operator `++` needs a `string` or a `bit`, found `bool`"),
        ("a ++ b == 1", "E212 operator `++` needs a `bit`, found `s16`"),
        ("b[3:0] == 1", "E212 operator `[:]` needs a `bit`, found `s16`"),
        ("a as s16 == b", "E213 `u8` cannot be cast to `s16`"),
        ("s as u8 == a", "E213 `string` cannot be cast to `u8`"),
        ("a as string == s", "E213 `u8` cannot be cast to `string`"),
        ("c[12:0] == 1", "E214 slice [12:0] is past the end of `bit<12>`"),
        ("c[0:1] == 1", "E214 slice [0:1] is empty"),
        ("a as int == 1", "E204 unknown type `int`"),
    ],
)
def test_what_does_not_fit_is_refused(value: str, message: str) -> None:
    assert wrong(f"Any(true) :- Num(a, b, c), Edge(s, _), {value}.") == [message]


def test_a_help_that_is_followed_repairs_the_rule() -> None:
    checked("Any(true) :- Num(a, b, _), a as u16 as s16 == b.")
    checked("Any(true) :- Num(a, _, _), not (a == 1), (a & 1) == 1.")


@pytest.mark.parametrize("value", ["5e-9999999999999999991", "0.0e-9999999999999999999", "1e-999999999"])
def test_a_literal_with_an_exponent_beyond_everything_is_a_float_and_no_decimal(value: str) -> None:
    assert str(assigned(value).type) == "double"
    assert str(assigned(f"{value}: double").type) == "double"
    assert wrong(f"Any(true) :- Num(a, b, c), var v: decimal<10, 2> = {value}.") != []


@pytest.mark.parametrize("sign", ["", "-"])
def test_an_integer_that_is_too_large_for_a_double_is_refused(sign: str) -> None:
    rule = "input relation F(x: double)\noutput relation G(x: double)\nG(x / {0}) :- F(x), x > {0}, x < {1}.\n"
    with pytest.raises(ProgramError) as caught:
        compile_program(Source("t.dl", rule.format(f"{sign}{10**309}", 10**308)))
    assert [each.code for each in caught.value.diagnostics] == ["E211", "E211"]
    assert "...00000` does not fit into `double`" in str(caught.value)
