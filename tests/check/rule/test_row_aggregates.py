"""Aggregates over rows in `check`: their types, their variables, and the names that they share with functions."""

from __future__ import annotations

import pytest

from tidelog.check.check import check
from tidelog.check.program import Assign, GroupBy, Positive, RowAggregates, TypedProgram
from tidelog.check.show import show_types
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.spans import Source
from tidelog.syntax.parse import parse
from tidelog.types import BIGINT, DOUBLE, S64, U64, U128, Type

DECLARED = """
input relation Num(a: u32, b: s16, c: u64, d: double, e: Option<u8>, f: string, g: bigint, h: u128)
"""


def ok(text: str) -> TypedProgram:
    return check(parse(Source("p.dl", text)))


def codes(text: str) -> list[str]:
    with pytest.raises(ProgramError) as caught:
        ok(text)
    return [str(each.code.value) for each in caught.value.diagnostics]


def result(call: str, declared: str = "var x") -> Type:
    """The type of the result of an aggregate whose place says nothing about it."""
    rule = f"Num(a, b, c, d, e, f, g, h), {declared} = {call} by (a)"
    program = ok(f"{DECLARED} output relation Out(a: u32)\nOut(a) :- {rule}.")
    (literal,) = (each for each in program.rules[0].body if isinstance(each, RowAggregates))
    return literal.values[0].type


@pytest.mark.parametrize(
    ("call", "type_"),
    [
        ("count()", U64),
        ("count(e)", U64),
        ("sum(a)", U64),
        ("sum(b)", S64),
        ("sum(c)", U64),
        ("sum(d)", DOUBLE),
        ("sum(e)", U64),
        ("sum(g)", BIGINT),
        ("sum(h)", U128),
        ("avg(a)", DOUBLE),
        ("avg(d)", DOUBLE),
    ],
)
def test_the_type_of_an_aggregate_follows_from_its_values(call: str, type_: Type) -> None:
    assert result(call) == type_


def test_a_sum_of_integers_has_the_type_that_its_place_wants() -> None:
    assert result("sum(a)", "var x: bigint") == BIGINT
    assert result("sum(c)", "var x: s64") == S64
    program = ok(f"{DECLARED} output relation Out(x: u128)\nOut(x) :- Num(.a = a), var x = sum(a) by ().")
    (literal,) = (each for each in program.rules[0].body if isinstance(each, RowAggregates))
    assert literal.values[0].type == U128


@pytest.mark.parametrize("call", ["min(a)", "max(f)", "max(e)"])
def test_the_least_value_alone_is_that_of_a_group(call: str) -> None:
    rule = f"Out(a) :- Num(a, _, _, _, e, f, _, _), var x = {call} by (a)."
    program = ok(f"{DECLARED} output relation Out(a: u32)\n{rule}")
    kinds = [type(each) for each in program.rules[0].body]
    assert kinds[0] is Positive
    assert kinds[-2:] == [GroupBy, Assign]


def test_only_the_key_and_the_results_are_bound_behind_it() -> None:
    rule = "Out(a) :- Num(.a = a, .c = c), var n = count() by (a), {}."
    declared = f"{DECLARED} output relation Out(a: u32)\n"
    assert ok(declared + rule.format("n > 3"))
    assert codes(declared + rule.format("c > 3")) == ["E301"]


def test_functions_and_columns_may_have_the_names_of_aggregates() -> None:
    text = """
function sum(x: u32): u32 { x + 1 }
function count(): u32 { 7 }
function by(x: u32): u32 { x }
input relation R(sum: u32, by: u32, count: u32)
output relation Called(sum: u32, by: u32)
Called(s, c) :- R(.sum = x, .by = y), var s = sum(x), var c = count() + by(y).
output relation Added(by: u32, sum: u64)
Added(by, avg) :- R(x, by, count), var avg = sum(sum(x)) by (by).
output relation Named(count: u64)
Named(count) :- R(sum, by, avg), var count = sum(sum) by ().
"""
    program = ok(text)
    assert "Call" in {type(each.expression).__name__ for each in program.rules[0].body if isinstance(each, Assign)}
    assert "var avg = sum(sum(x)) by (by)" in show_types(program)
    assert "var count = sum(sum) by ()" in show_types(program)


@pytest.mark.parametrize("call", ["sum", "avg", "min", "max", "count"])
@pytest.mark.parametrize("argument", ["z", "z + 1", "missing(a)", "Some{z}", "if (a == 0) { z } else { z }"])
def test_an_aggregate_of_what_has_no_type_is_an_error(call: str, argument: str) -> None:
    literals = f"Num(a, b, c, d, e, f, g, h), (var s, var n) = ({call}({argument}), count()) by (a)"
    assert set(codes(f"{DECLARED} output relation Out(a: u32)\nOut(a) :- {literals}.")) <= {"E301", "E229"}
