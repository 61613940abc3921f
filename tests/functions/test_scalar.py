"""Compiled expressions compute what the language says."""

from __future__ import annotations

import pickle
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.functions.expressions import SPAN, Value, evaluate, expressions, types, values
from tidelog.check.typed import Binary, Expression, IfElse, Lit, Unary, Var
from tidelog.functions.scalar import compile_scalar
from tidelog.types import BOOL, S8, STRING, U8, U32, BitType, SignedType, Type


def outcome(compute: object, *arguments: object) -> object:
    assert callable(compute)
    try:
        return compute(*arguments)
    except ZeroDivisionError:
        return ZeroDivisionError


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_compiled_and_interpreted_expressions_agree(data: st.DataObject) -> None:
    variables: dict[str, Type] = {}
    expression = data.draw(expressions(data.draw(types), 4, variables))
    function = compile_scalar(expression, list(variables))
    for _ in range(3):
        row = {name: data.draw(values(type_)) for name, type_ in variables.items()}
        wanted = outcome(evaluate, expression, row)
        found = outcome(function.call, *row.values())
        assert (found, type(found)) == (wanted, type(wanted))


def binary(op: str, left: Value, right: Value, type_: Type, result: Type | None = None) -> object:
    expression = Binary(op, Var("a", type_, SPAN), Var("b", type_, SPAN), result or type_, SPAN)
    return compile_scalar(expression, ["a", "b"]).call(left, right)


@pytest.mark.parametrize(
    ("op", "left", "right", "type_", "value"),
    [
        ("+", 255, 1, U8, 0),
        ("-", 0, 1, U8, 255),
        ("*", 200, 2, U8, 144),
        ("+", 127, 1, S8, -128),
        ("-", -128, 1, S8, 127),
        ("/", -7, 2, S8, -3),
        ("%", -7, 2, S8, -1),
        ("/", 7, -2, S8, -3),
        ("%", 7, -2, S8, 1),
        ("/", -128, -1, S8, -128),
        ("%", -128, -1, S8, 0),
        ("/", 7, 2, U8, 3),
        ("&", -1, 6, S8, 6),
        ("^", 255, 15, U8, 240),
        ("++", "a", "b", STRING, "ab"),
    ],
)
def test_arithmetic_wraps_and_division_truncates(op: str, left: Value, right: Value, type_: Type, value: Value) -> None:
    assert binary(op, left, right, type_) == value


@pytest.mark.parametrize(("amount", "shifted"), [(0, 3), (1, 6), (9, 512), (10, 0), (15, 0), (16, 3), (17, 6)])
def test_a_shift_counts_modulo_the_machine_width_that_holds_the_type(amount: int, shifted: int) -> None:
    ten = BitType(10)
    expression = Binary("<<", Var("a", ten, SPAN), Var("b", U32, SPAN), ten, SPAN)
    assert compile_scalar(expression, ["a", "b"]).call(3, amount) == shifted
    literal = Binary("<<", Var("a", ten, SPAN), Lit(amount, U32, SPAN), ten, SPAN)
    assert compile_scalar(literal, ["a"]).call(3) == shifted


def test_a_huge_shift_of_a_wide_number_is_cheap() -> None:
    wide = BitType(1000)
    expression = Binary("<<", Var("a", wide, SPAN), Var("b", U32, SPAN), wide, SPAN)
    assert compile_scalar(expression, ["a", "b"]).call(1, 2**32 - 1) == 0


def test_a_signed_number_shifts_its_sign_in() -> None:
    expression = Binary(">>", Var("a", SignedType(12), SPAN), Lit(4, U32, SPAN), SignedType(12), SPAN)
    assert compile_scalar(expression, ["a"]).call(-17) == -2


@pytest.mark.parametrize("op", ["/", "%"])
@pytest.mark.parametrize("type_", [U8, S8])
def test_division_by_zero_raises(op: str, type_: Type) -> None:
    with pytest.raises(ZeroDivisionError):
        binary(op, 1, 0, type_)


def test_what_is_not_needed_is_not_evaluated() -> None:
    fails = Binary("==", Binary("/", Lit(1, U8, SPAN), Lit(0, U8, SPAN), U8, SPAN), Lit(1, U8, SPAN), BOOL, SPAN)
    yes, no = Lit(True, BOOL, SPAN), Lit(False, BOOL, SPAN)
    cases: list[tuple[Expression, bool]] = [
        (Binary("and", no, fails, BOOL, SPAN), False),
        (Binary("or", yes, fails, BOOL, SPAN), True),
        (Binary("=>", no, fails, BOOL, SPAN), True),
        (IfElse(yes, no, fails, BOOL, SPAN), False),
    ]
    for expression, value in cases:
        assert compile_scalar(expression, []).call() is value


def test_strings_compare_by_their_bytes() -> None:
    assert binary("<", "\uffff", "\U00010000", STRING, BOOL) is True
    assert binary("<", "Z", "a", STRING, BOOL) is True


@pytest.mark.parametrize("depth", [200, 400])
def test_deep_expressions_compile_and_stay_lazy(depth: int) -> None:
    total: Expression = Lit(1, U8, SPAN)
    guarded: Expression = Lit(True, BOOL, SPAN)
    fails = Binary("==", Binary("/", Lit(1, U8, SPAN), Lit(0, U8, SPAN), U8, SPAN), Lit(1, U8, SPAN), BOOL, SPAN)
    for _ in range(depth):
        total = Unary("-", Binary("+", Lit(1, U8, SPAN), total, U8, SPAN), U8, SPAN)
        guarded = Binary("or", Lit(True, BOOL, SPAN), Binary("and", fails, guarded, BOOL, SPAN), BOOL, SPAN)
    assert compile_scalar(total, []).call() == evaluate_deep(depth)
    assert compile_scalar(guarded, []).call() is True


def evaluate_deep(depth: int) -> int:
    value = 1
    for _ in range(depth):
        value = -(1 + value) % 256
    return value


def test_a_function_survives_pickling() -> None:
    expression = Binary("+", Var("a", U8, SPAN), Lit(200, U8, SPAN), U8, SPAN)
    function = pickle.loads(pickle.dumps(compile_scalar(expression, ["a"])))
    assert function.call(100) == 44
    assert function == compile_scalar(expression, ["a"])


@settings(max_examples=100, deadline=None)
@given(st.text(min_size=1, max_size=30), st.text(min_size=1, max_size=20))
def test_no_text_of_the_user_becomes_code(text: str, name: str) -> None:
    expression = Binary("++", Var(name, STRING, SPAN), Lit(text, STRING, SPAN), STRING, SPAN)
    function = compile_scalar(expression, [name])
    assert function.call("a") == "a" + text
    assert re.fullmatch(r"def scalar\(v0\):\n    return \(v0 \+ .*\)\n", function.source)


def test_the_code_cannot_reach_python() -> None:
    assert compile_scalar(Lit(1, U8, SPAN), []).call.__globals__["__builtins__"] == {}
