"""Closures and functions as values."""

from __future__ import annotations

import pickle
import subprocess
import sys
from itertools import pairwise
from typing import Any

import pytest

from tests.functions.program import (
    A,
    B,
    bind,
    block,
    call,
    call_value,
    closure,
    compiled,
    declare,
    for_,
    function,
    if_,
    lit,
    op,
    put,
    return_,
    text,
    var,
    vec,
)
from tidelog.check import typed
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.functions.scalar import compile_scalar
from tidelog.library._runtime.extern import ExternContext, extern
from tidelog.types import STRING, U64, UNIT, FunctionType, Type
from tidelog.values import FunctionValue, Vec, debug_text, decode, encode, record_text

NUMBER_TO_NUMBER = FunctionType(((U64, False),), U64)
ADD = closure({"y": U64}, op("+", var("y"), var("x")), (var("x"),))


def value_of(expression: typed.Expression, program: CompiledFunctions, **arguments: Any) -> Any:
    return compile_scalar(expression, tuple(arguments), program).call(*arguments.values())


def test_a_closure_keeps_the_values_of_its_moment() -> None:
    body = block(
        declare("f", ADD),
        put(var("x"), lit(100)),
        call_value(var("f", ADD.type), var("x")),
    )
    assert compiled(function("f", {"x": U64}, body)).function("f")(1) == 101


def test_return_leaves_the_closure_only() -> None:
    body = block(if_(op("<", var("y"), lit(5)), return_(lit(0))), var("y"))
    inner = closure({"y": U64}, body, result=U64)
    outer = block(declare("f", inner), op("+", call_value(var("f", inner.type), lit(3)), lit(10)))
    assert compiled(function("f", {}, outer)).function("f")() == 10


def test_a_closure_can_change_its_argument() -> None:
    bump = closure({"n": U64}, block(put(var("n"), op("+", var("n"), lit(1))), lit("ok", STRING)), mutable=("n",))
    body = block(
        declare("f", bump),
        declare("k", lit(5)),
        declare("said", call_value(var("f", bump.type), var("k"))),
        op("++", var("said", STRING), text(var("k"))),
    )
    assert compiled(function("f", {}, body)).function("f")() == "ok6"


def test_a_closure_in_a_closure_reads_both_surroundings() -> None:
    inner = closure({"z": U64}, op("+", op("+", var("x"), var("y")), var("z")), (var("x"), var("y")))
    outer = closure({"y": U64}, inner, (var("x"),))
    body = call_value(call_value(outer, lit(20)), lit(300))
    assert value_of(body, compiled(), x=1) == 321


def test_closures_are_equal_where_place_and_captured_values_are() -> None:
    program = compiled()
    one, other, two = value_of(ADD, program, x=1), value_of(ADD, program, x=1), value_of(ADD, program, x=2)
    assert one == other
    assert hash(one) == hash(other)
    assert one != two
    assert one < two
    again = closure({"y": U64}, op("+", var("y"), var("x")), (var("x"),))
    assert value_of(again, program, x=1) != one
    assert one < value_of(again, program, x=0)


def test_the_same_place_of_two_texts_is_not_the_same_place() -> None:
    program = compiled()
    later = typed.Closure(
        ADD.parameters, lit("a", STRING), (), type=FunctionType(((U64, False),), STRING), span=ADD.span
    )
    assert value_of(later, program) != value_of(ADD, program, x=1)
    assert value_of(later, program)(3) == "a"


def test_the_text_of_a_closure_shows_its_code_and_what_it_captured() -> None:
    program = compiled()
    add = value_of(ADD, program, x=100)
    shown = "<closure: (function(y: bit<64>):bit<64>{(y + x)}), captured_args: 100>"
    assert value_of(text(var("f", ADD.type)), program, f=add) == shown
    assert debug_text(add, ADD.type, program.definitions) == shown
    assert record_text(add, ADD.type, program.definitions) == f'"{shown}"'
    around = closure({}, call_value(var("f", ADD.type), lit(1)), (var("f", ADD.type), var("n")))
    made = value_of(around, program, f=add, n=7)
    code = "(function():bit<64>{(f(64'd1))})"
    assert debug_text(made, around.type, program.definitions) == f"<closure: {code}, captured_args: ({shown}, 7)>"


def test_the_text_of_a_closure_has_short_names_of_integers_inside_other_types() -> None:
    numbers = vec(U64)
    same = closure({"v": numbers}, var("v", numbers))
    assert debug_text(value_of(same, compiled()), same.type, compiled().definitions) == (
        "<closure: (function(v: ddlog_std::Vec<ddlog_std::u64>):ddlog_std::Vec<ddlog_std::u64>{v}), captured_args: ()>"
    )


def test_a_declared_function_is_a_value() -> None:
    double = function("m::double", {"n": U64}, op("*", var("n"), lit(2)))
    program = compiled(double)
    value = typed.FunctionValue("m::double", (), type=NUMBER_TO_NUMBER, span=lit(1).span)
    found = value_of(value, program)
    assert found(4) == 8
    assert found == value_of(value, program)
    assert debug_text(found, NUMBER_TO_NUMBER, program.definitions) == "<closure: m::double, captured_args: ()>"
    assert value_of(call_value(var("f", NUMBER_TO_NUMBER), lit(5)), program, f=found) == 10


def generic_map() -> Any:
    """`map(v, f)` of vectors, written with a loop."""
    each = FunctionType(((A, False),), B)
    push = call("push", var("r", vec(B)), call_value(var("f", each), var("x", A)), type_=UNIT, types=(B,))
    loop = for_(bind("x", A), var("v", vec(A)), push)
    body = block(declare("r", call("empty", type_=vec(B), types=(B,))), loop, var("r", vec(B)))
    return function("map", {"v": vec(A), "f": each}, body, types=("A", "B"))


EMPTY = function("empty", {}, None, vec(A), types=("A",))


def test_a_library_function_takes_closures() -> None:
    program = compiled(generic_map(), EMPTY, externs={"empty": Vec})
    mapped = call("map", var("v", vec(U64)), ADD, type_=vec(U64), types=(U64, U64))
    assert value_of(mapped, program, v=Vec([1, 2]), x=10) == Vec([11, 12])


@extern(needs_types=True)
def show(context: ExternContext, type_: Type, value: Any) -> str:
    return f"{type_}: {debug_text(value, type_, context.definitions)}"


SHOW = function("show", {"x": A}, None, STRING, types=("A",))


def test_types_reach_extern_functions_through_generic_ones_and_closures() -> None:
    shown = call("show", var("y", A), type_=STRING, types=(A,))
    inner = closure(
        {"y": A}, op("++", shown, call("show", var("b", vec(B)), type_=STRING, types=(vec(B),))), (var("b", vec(B)),)
    )
    body = call_value(inner, var("a", A))
    outer = function("both", {"a": A, "b": vec(B)}, body, types=("A", "B"))
    program = compiled(SHOW, outer, externs={"show": show})
    expression = call("both", var("s", STRING), var("v", vec(U64)), type_=STRING, types=(STRING, U64))
    assert value_of(expression, program, s="q", v=Vec([1])) == 'string: "q"ddlog_std::Vec<u64>: [1]'
    value = typed.FunctionValue("show", (U64,), type=FunctionType(((U64, False),), STRING), span=lit(1).span)
    assert value_of(value, program)(5) == "u64: 5"


def test_functions_that_need_no_types_get_none() -> None:
    program = compiled(generic_map(), EMPTY, externs={"empty": Vec})
    program.function("map")
    assert "T0" not in program.source


def test_closures_are_written_to_bytes_and_read_back() -> None:
    program = compiled()
    add = value_of(ADD, program, x=300)
    data = encode(add, ADD.type, program.definitions)
    found = decode(data, ADD.type, program.definitions)
    assert found == add
    assert found(5) == 305
    assert data != encode(value_of(ADD, program, x=301), ADD.type, program.definitions)


def test_closures_of_generic_functions_are_written_with_their_types() -> None:
    held = closure({}, var("x", A), (var("x", A),))
    program = compiled(function("hold", {"x": A}, held, types=("A",)))
    type_ = FunctionType((), STRING)
    made = value_of(call("hold", lit("a", STRING), type_=type_, types=(STRING,)), program)
    assert made() == "a"
    assert debug_text(made, type_, program.definitions).endswith('captured_args: "a">')
    found = decode(encode(made, type_, program.definitions), type_, program.definitions)
    assert found == made
    assert found() == "a"


def test_everything_survives_the_way_to_another_process() -> None:
    double = function("double", {"n": U64}, op("*", var("n"), lit(2)))
    program = compiled(generic_map(), EMPTY, double, externs={"empty": Vec})
    made = compile_scalar(ADD, ("x",), program)
    mapped = compile_scalar(
        call("map", var("v", vec(U64)), var("f", ADD.type), type_=vec(U64), types=(U64, U64)), ("v", "f"), program
    )
    add = made.call(1)
    data = encode(add, ADD.type, program.definitions)
    pickled = pickle.dumps((mapped, add, data, ADD.type))
    code = (
        "import pickle, sys\n"
        "from tidelog.values import Vec, decode\n"
        "mapped, add, data, type_ = pickle.load(sys.stdin.buffer)\n"
        "print(mapped.call(Vec([1, 2]), add), decode(data, type_, mapped.functions.definitions) == add)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], input=pickled, capture_output=True, check=False)
    assert done.stdout.decode().strip() == "Vec([2, 3]) True", done.stderr.decode()


@pytest.mark.parametrize("count", [1, 3])
def test_closures_sort_by_place_and_then_by_what_they_hold(count: int) -> None:
    program = compiled()
    places = [closure({"y": U64}, op("+", var("y"), var("x")), (var("x"),)) for _ in range(count)]
    made = [value_of(each, program, x=n) for each in places for n in (1, 2)]
    assert sorted(set(made)) == made
    assert all(first < second and not second < first for first, second in pairwise(made))
    assert all(isinstance(each, FunctionValue) for each in made)
