"""Plain expressions run on words inside the kernel; they must give what the Python functions give, at every width."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from tidelog.compile_program import compile_program
from tidelog.diagnostics.spans import Source
from tidelog.engine.interface import Operation
from tidelog.engine.local.engine import LocalEngine
from tidelog.functions.scalar import compile_scalar
from tidelog.plan.plain import is_plain
from tidelog.rules.ir import Assign, RuleProgram
from tidelog.rules.schema.arrow import arrow_schema
from tidelog.types import BitType, IntegerType, SignedType, integer_range

TYPES: list[IntegerType] = [
    make(width) for width in (1, 7, 8, 12, 31, 32, 33, 63, 64) for make in (BitType, SignedType)
]
OPERATORS = ["+", "-", "*", "&", "|", "^", "/", "%"]
COMPARISONS = ["==", "!=", "<", "<=", ">", ">="]


def type_text(type_: IntegerType) -> str:
    return f"{'bit' if isinstance(type_, BitType) else 'signed'}<{type_.width}>"


def edge_values(type_: IntegerType) -> list[int]:
    low, high = integer_range(type_)
    rng = random.Random(type_.width)
    wanted = {low, low + 1, -1, 0, 1, 2, high - 1, high, high // 2, *(rng.randint(low, high) for _ in range(4))}
    return sorted(value for value in wanted if low <= value <= high)


def run(program: RuleProgram, rows: list[tuple[int, int]]) -> set[tuple[object, ...]]:
    engine = LocalEngine(program)
    engine.open()
    schema = arrow_schema(program.relations["In"])
    columns = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(schema)]
    engine.commit([Operation("In", 1, pa.Table.from_arrays(columns, schema=schema))])
    return {tuple(row.values()) for row in engine.table("Out").to_pylist()}


def expected(program: RuleProgram, rows: list[tuple[int, int]]) -> set[tuple[object, ...]]:
    """The same by the Python function of the rule's only assignment."""
    (rule,) = program.rules
    (assign,) = [literal for literal in rule.body if isinstance(literal, Assign)]
    assert is_plain(assign.expression), "this test is about what the kernel evaluates"
    function = compile_scalar(assign.expression, ["x", "y"])
    return {(x, y, function.call(x, y)) for x, y in rows}


def check(type_: IntegerType, result: str, expression: str, rows: list[tuple[int, int]]) -> None:
    text = f"""
        input relation In(x: {type_text(type_)}, y: {type_text(type_)})
        output relation Out(x: {type_text(type_)}, y: {type_text(type_)}, z: {result})
        Out(x, y, z) :- In(x, y), var z = {expression}.
    """
    program = compile_program(Source("<test>", text)).rules
    assert run(program, rows) == expected(program, rows)


@pytest.mark.parametrize("type_", TYPES, ids=str)
@pytest.mark.parametrize("operator", OPERATORS)
def test_arithmetic_wraps_and_truncates_as_the_functions_do(type_: IntegerType, operator: str) -> None:
    values = edge_values(type_)
    rows = [(x, y) for x in values for y in values if operator not in "/%" or y != 0]
    check(type_, type_text(type_), f"x {operator} y", rows)


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_comparisons_follow_the_order_of_the_type(type_: IntegerType) -> None:
    values = edge_values(type_)
    rows = [(x, y) for x in values for y in values]
    for operator in COMPARISONS:
        check(type_, "bool", f"x {operator} y", rows)


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_unary_operators_casts_choices_and_shifts(type_: IntegerType) -> None:
    values = edge_values(type_)
    rows = [(x, y) for x in values for y in values[:3]]
    same = type_text(type_)
    check(type_, same, "~x", rows)
    check(type_, same, "if (x < y) x else y", rows)
    check(type_, "bool", "x < y and not (x == y) or x != y", rows)
    check(type_, "bool", "x < y => y > x", rows)
    for shift in (0, 1, 5, 31, 63, 64, 100):
        check(type_, same, f"x << {shift}", rows)
        check(type_, same, f"x >> {shift}", rows)
    if isinstance(type_, SignedType):
        check(type_, same, "-x", rows)
        check(type_, "signed<9>", "x as signed<9>", rows)
    else:
        check(type_, "bit<9>", "x as bit<9>", rows)
        check(type_, "bit<64>", "x as bit<64>", rows)


@pytest.mark.parametrize("width", [4, 12, 32])
def test_bits_are_joined(width: int) -> None:
    values = edge_values(BitType(width))
    check(BitType(width), f"bit<{2 * width}>", "x ++ y", [(x, y) for x in values for y in values])


def test_a_program_has_an_output_for_every_input() -> None:
    assert len(edge_values(BitType(1))) == 2
    assert edge_values(SignedType(8))[0] == -128
