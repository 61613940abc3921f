"""Extern functions: Python functions that a program calls, and what happens when they fail or are not there."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functions.program import SPAN, A, block, call, compiled, declare, function, if_, lit, op, pair, var, vec
from tidelog.check import program as typed_program
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import EvaluationError, UsageError
from tidelog.functions.scalar import compile_scalar
from tidelog.library._runtime.extern import ExternContext, extern
from tidelog.types import STRING, U64, UNIT
from tidelog.values import Vec


def extern_(name: str, **options: Any) -> typed_program.Function:
    return function(name, {"x": U64}, None, U64, **options)


def test_an_extern_function_is_found_by_its_qualified_name() -> None:
    program = compiled(extern_("m::half"), externs={"m::half": lambda x: x // 2})
    assert program.function("m::half")(8) == 4
    assert compile_scalar(call("m::half", var("n")), ("n",), program).call(10) == 5


def test_an_overloaded_one_is_found_by_its_id() -> None:
    first = extern_("half")
    declared = typed_program.Function(
        "half(u64)", "half", (), first.parameters, first.result, None, first.attributes, SPAN
    )
    assert compiled(declared, externs={"half(u64)": lambda x: x // 2}).function("half(u64)")(8) == 4


def test_all_missing_ones_are_named_at_once() -> None:
    user = function("f", {}, op("+", call("m::one", lit(1)), call("two", lit(2))))
    program = compiled(extern_("m::one"), extern_("two"), extern_("unused"), user)
    with pytest.raises(UsageError) as caught:
        program.require(["f"])
    assert caught.value.code == Code.MISSING_EXTERN
    assert caught.value.message == "extern functions `m::one`, `two` have no Python function"
    assert caught.value.help == 'give it when the program is compiled: externs={"m::one": ...}'


def test_one_that_raises_is_named_with_its_line() -> None:
    def careless(x: int) -> int:
        raise LookupError(f"no {x}")

    wrapper = function("f", {"x": U64}, op("+", call("careless", var("x")), lit(1)))
    program = compiled(extern_("careless"), wrapper, externs={"careless": careless})
    scalar = compile_scalar(call("f", var("n")), ("n",), program)
    with pytest.raises(EvaluationError) as caught:
        scalar.call(7)
    assert caught.value.code == Code.EXTERN_FAILED
    line = careless.__code__.co_firstlineno + 1
    message = f"extern function `careless` failed: LookupError: no 7 (test_externs.py:{line})"
    assert caught.value.message == message
    assert isinstance(caught.value.__cause__, LookupError)


def test_one_that_is_not_python_and_raises_is_an_error_too() -> None:
    program = compiled(function("chr", {"x": U64}, None, STRING), externs={"chr": chr})
    with pytest.raises(EvaluationError, match="an extern function failed: ValueError: chr"):
        compile_scalar(call("chr", var("n"), type_=STRING), ("n",), program).call(2**30)


def test_division_by_zero_stays_what_it_is() -> None:
    program = compiled(function("f", {"x": U64}, op("/", lit(1), var("x"))))
    with pytest.raises(ZeroDivisionError):
        compile_scalar(call("f", var("n")), ("n",), program).call(0)


def test_an_error_of_ours_is_passed_on() -> None:
    def refuse(x: int) -> int:
        raise UsageError("not here", code="E801")

    program = compiled(extern_("refuse"), externs={"refuse": refuse})
    with pytest.raises(UsageError, match="not here"):
        compile_scalar(call("refuse", lit(1)), (), program).call()


def test_an_extern_function_changes_what_it_is_given() -> None:
    take = function("take", {"v": vec(A), "n": U64}, None, U64, mutable=("v",), types=("A",))
    numbers = vec(U64)
    body = block(declare("n", call("take", var("v", numbers), lit(2), types=(U64,))), pair(var("n"), var("v", numbers)))
    outer = function("f", {"v": numbers}, body)
    program = compiled(take, outer, externs={"take": lambda v, n: (len(v), v.truncate(n))})
    assert program.function("f")(Vec([1, 2, 3])) == (3, Vec([1, 2]))


def test_side_effects_happen_once_even_where_the_stack_runs_out_at_first() -> None:
    seen: list[int] = []
    log = function("log", {"x": U64}, None, UNIT, attributes=("has_side_effects",))

    def keep(x: int) -> tuple[()]:
        seen.append(x)
        return ()

    n = var("n")
    down = function("down", {"n": U64}, op("+", call("down_more", n), lit(0)))
    more = function(
        "down_more",
        {"n": U64},
        block(call("log", n, type_=UNIT), if_(op("<", lit(0), n), call("down", op("-", n, lit(1))), lit(0))),
        U64,
    )
    program = compiled(log, down, more, externs={"log": keep})
    scalar = compile_scalar(call("down", var("n")), ("n",), program)
    assert scalar.call(3000) == 0
    assert seen == list(range(3000, -1, -1))


def test_a_function_is_found_by_name_and_types_for_extern_functions() -> None:
    key = function("m::key", {"x": A}, op("+", lit(1), lit(1)), types=("A",))
    asked: list[Any] = []

    def ask(context: ExternContext, type_: Any, x: Any) -> int:
        asked.append(type_)
        found: int = context.function("key", (type_,))(x)
        return found

    declared = function("ask", {"x": A}, None, U64, types=("A",))
    program = compiled(key, declared, externs={"ask": extern(needs_types=True)(ask)})
    program.require(["m::key"])
    assert compile_scalar(call("ask", lit("a", STRING), types=(STRING,)), (), program).call() == 2
    assert asked == [STRING]
