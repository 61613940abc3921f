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
    expression = Binary(
        op, Var("a", type=type_, span=SPAN), Var("b", type=type_, span=SPAN), type=result or type_, span=SPAN
    )
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
    expression = Binary("<<", Var("a", type=ten, span=SPAN), Var("b", type=U32, span=SPAN), type=ten, span=SPAN)
    assert compile_scalar(expression, ["a", "b"]).call(3, amount) == shifted
    literal = Binary("<<", Var("a", type=ten, span=SPAN), Lit(amount, type=U32, span=SPAN), type=ten, span=SPAN)
    assert compile_scalar(literal, ["a"]).call(3) == shifted


def test_a_huge_shift_of_a_wide_number_is_cheap() -> None:
    wide = BitType(1000)
    expression = Binary("<<", Var("a", type=wide, span=SPAN), Var("b", type=U32, span=SPAN), type=wide, span=SPAN)
    assert compile_scalar(expression, ["a", "b"]).call(1, 2**32 - 1) == 0


def test_a_signed_number_shifts_its_sign_in() -> None:
    expression = Binary(
        ">>", Var("a", type=SignedType(12), span=SPAN), Lit(4, type=U32, span=SPAN), type=SignedType(12), span=SPAN
    )
    assert compile_scalar(expression, ["a"]).call(-17) == -2


@pytest.mark.parametrize("op", ["/", "%"])
@pytest.mark.parametrize("type_", [U8, S8])
def test_division_by_zero_raises(op: str, type_: Type) -> None:
    with pytest.raises(ZeroDivisionError):
        binary(op, 1, 0, type_)


def test_what_is_not_needed_is_not_evaluated() -> None:
    fails = Binary(
        "==",
        Binary("/", Lit(1, type=U8, span=SPAN), Lit(0, type=U8, span=SPAN), type=U8, span=SPAN),
        Lit(1, type=U8, span=SPAN),
        type=BOOL,
        span=SPAN,
    )
    yes, no = Lit(True, type=BOOL, span=SPAN), Lit(False, type=BOOL, span=SPAN)
    cases: list[tuple[Expression, bool]] = [
        (Binary("and", no, fails, type=BOOL, span=SPAN), False),
        (Binary("or", yes, fails, type=BOOL, span=SPAN), True),
        (Binary("=>", no, fails, type=BOOL, span=SPAN), True),
        (IfElse(yes, no, fails, type=BOOL, span=SPAN), False),
    ]
    for expression, value in cases:
        assert compile_scalar(expression, []).call() is value


def test_strings_compare_by_their_bytes() -> None:
    assert binary("<", "\uffff", "\U00010000", STRING, BOOL) is True
    assert binary("<", "Z", "a", STRING, BOOL) is True


@pytest.mark.parametrize("depth", [200, 400])
def test_deep_expressions_compile_and_stay_lazy(depth: int) -> None:
    total: Expression = Lit(1, type=U8, span=SPAN)
    guarded: Expression = Lit(True, type=BOOL, span=SPAN)
    fails = Binary(
        "==",
        Binary("/", Lit(1, type=U8, span=SPAN), Lit(0, type=U8, span=SPAN), type=U8, span=SPAN),
        Lit(1, type=U8, span=SPAN),
        type=BOOL,
        span=SPAN,
    )
    for _ in range(depth):
        total = Unary("-", Binary("+", Lit(1, type=U8, span=SPAN), total, type=U8, span=SPAN), type=U8, span=SPAN)
        guarded = Binary(
            "or",
            Lit(True, type=BOOL, span=SPAN),
            Binary("and", fails, guarded, type=BOOL, span=SPAN),
            type=BOOL,
            span=SPAN,
        )
    assert compile_scalar(total, []).call() == evaluate_deep(depth)
    assert compile_scalar(guarded, []).call() is True


def evaluate_deep(depth: int) -> int:
    value = 1
    for _ in range(depth):
        value = -(1 + value) % 256
    return value


def test_a_function_survives_pickling() -> None:
    expression = Binary("+", Var("a", type=U8, span=SPAN), Lit(200, type=U8, span=SPAN), type=U8, span=SPAN)
    function = pickle.loads(pickle.dumps(compile_scalar(expression, ["a"])))
    assert function.call(100) == 44
    assert function == compile_scalar(expression, ["a"])


@settings(max_examples=100, deadline=None)
@given(st.text(min_size=1, max_size=30), st.text(min_size=1, max_size=20))
def test_no_text_of_the_user_becomes_code(text: str, name: str) -> None:
    expression = Binary(
        "++", Var(name, type=STRING, span=SPAN), Lit(text, type=STRING, span=SPAN), type=STRING, span=SPAN
    )
    function = compile_scalar(expression, [name])
    assert function.call("a") == "a" + text
    assert re.fullmatch(r"def scalar\(v0\):\n    return \(v0 \+ .*\)\n", function.source)


def test_the_code_cannot_reach_python() -> None:
    assert compile_scalar(Lit(1, type=U8, span=SPAN), []).call.__globals__["__builtins__"] == {}
