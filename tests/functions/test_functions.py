"""Functions with statements in them: control, mutation, patterns, `?`, generics."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functions.program import (
    LINE,
    POINT,
    PUSH,
    SHAPE,
    SPAN,
    A,
    anything,
    bind,
    block,
    break_,
    call,
    compiled,
    continue_,
    declare,
    exactly,
    field,
    for_,
    function,
    if_,
    item,
    items,
    lit,
    made_by,
    map_of,
    match,
    none,
    op,
    option,
    pair,
    put,
    result,
    return_,
    run,
    run_function,
    some,
    text,
    tuple_of,
    unit,
    var,
    vec,
)
from tidelog.check import typed
from tidelog.types import BOOL, STRING, U8, U64, UNIT, TupleType, Type
from tidelog.values import Map, Struct, Vec

NUMBERS = vec(U64)


def numbers(*values: int) -> typed.Expression:
    return items(*map(lit, values))


def push(place: typed.Expression, value: typed.Expression) -> typed.Call:
    return call("push", place, value, type_=UNIT, types=(value.type,))


# Control


def test_a_loop_can_be_left_and_gone_on_with() -> None:
    body = block(
        declare("sum", lit(0)),
        for_(
            bind("x"),
            numbers(*range(10)),
            block(
                if_(op("==", var("x"), lit(3)), continue_()),
                if_(op("==", var("x"), lit(6)), break_()),
                put(var("sum"), op("+", var("sum"), var("x"))),
            ),
        ),
        var("sum"),
    )
    assert run_function(body, U64) == 0 + 1 + 2 + 4 + 5


def test_return_inside_an_argument_leaves_the_function_after_what_stands_before_it() -> None:
    log = function("log", {"v": NUMBERS, "x": U64}, block(push(var("v", NUMBERS), var("x")), var("x")), mutable=("v",))
    body = block(
        declare("seen", numbers(0)),
        declare(
            "n",
            op(
                "+",
                call("log", var("seen", NUMBERS), lit(1)),
                op("+", return_(call("log", var("seen", NUMBERS), lit(2))), call("log", var("seen", NUMBERS), lit(3))),
            ),
        ),
        var("n"),
    )
    outer = function("f", {"seen#0": NUMBERS}, body, U64)
    program = compiled(log, outer)
    assert program.function("f")(Vec()) == 2


def test_a_break_inside_an_argument_ends_the_loop() -> None:
    body = block(
        declare("v", numbers(9)),
        for_(
            bind("x"),
            numbers(1, 2, 3),
            push(var("v", NUMBERS), if_(op("==", var("x"), lit(2)), typed.Break(type=U64, span=SPAN), var("x"))),
        ),
        var("v", NUMBERS),
    )
    assert run_function(body, NUMBERS) == Vec([9, 1])


def test_the_loop_goes_over_the_values_of_its_start() -> None:
    body = block(
        declare("v", numbers(1, 2)),
        for_(bind("x"), var("v", NUMBERS), push(var("v", NUMBERS), op("*", var("x"), lit(10)))),
        var("v", NUMBERS),
    )
    assert run_function(body, NUMBERS) == Vec([1, 2, 10, 20])


def test_maps_are_gone_through_as_pairs() -> None:
    type_ = map_of(U64, U64)
    body = block(
        declare("sum", lit(0)),
        for_(
            tuple_of(bind("k"), bind("w")),
            var("m", type_),
            put(var("sum"), op("+", var("sum"), op("*", var("k"), var("w")))),
        ),
        var("sum"),
    )
    assert run_function(body, U64, m=(Map([(2, 3), (4, 5)]), type_)) == 26


def test_what_is_left_of_an_operator_is_evaluated_before_what_changes_on_the_right() -> None:
    change = block(put(var("x"), lit(10)), var("x"))
    body = block(declare("x", lit(1)), op("+", op("*", var("x"), lit(100)), change))
    assert run_function(body, U64) == 110


def test_and_or_evaluate_only_what_counts() -> None:
    def counted(name: str, first: bool) -> typed.Expression:
        second = block(put(var("n"), op("+", var("n"), lit(1))), lit(True, BOOL))
        return block(
            declare("n", lit(0)), declare("b", op(name, lit(first, BOOL), second)), pair(var("b", BOOL), var("n"))
        )

    type_ = TupleType((BOOL, U64))
    assert run_function(counted("and", False), type_) == (False, 0)
    assert run_function(counted("and", True), type_) == (True, 1)
    assert run_function(counted("or", True), type_) == (True, 0)
    assert run_function(counted("or", False), type_) == (True, 1)
    assert run_function(counted("=>", False), type_) == (True, 0)
    assert run_function(counted("=>", True), type_) == (True, 1)


def test_a_function_can_call_itself() -> None:
    n = var("n")
    before, before_that = (call("fib", op("-", n, lit(step))) for step in (1, 2))
    fib = function("fib", {"n": U64}, if_(op("<", n, lit(2)), n, op("+", before, before_that)))
    assert compiled(fib).function("fib")(20) == 6765


# Mutation


def line() -> tuple[Any, Any, Struct]:
    definitions = compiled().definitions
    made, point = definitions.class_of("Line"), definitions.class_of("Point")
    return made, point, made(point(1, 2), point(3, 4), Vec(["a"]))


def test_a_part_of_a_part_is_set_in_a_value_made_anew() -> None:
    made, point, value = line()
    body = block(put(var("s", LINE), lit(7, U8), "to", "y"), var("s", LINE))
    assert run_function(body, LINE, s=(value, LINE)) == made(point(1, 2), point(3, 7), Vec(["a"]))
    assert value == made(point(1, 2), point(3, 4), Vec(["a"]))


def test_a_call_changes_the_place_that_it_is_given() -> None:
    made, point, value = line()
    names = field(var("s", LINE), "names", vec(STRING))
    body = block(push(names, lit("b", STRING)), var("s", LINE))
    assert run_function(body, LINE, s=(value, LINE)) == made(point(1, 2), point(3, 4), Vec(["a", "b"]))


def test_a_field_is_set_in_whatever_constructor_there_is() -> None:
    definitions = compiled().definitions
    point = definitions.class_of("Point")
    body = block(put(var("s", SHAPE), lit(7, U8), "at", "x"), var("s", SHAPE))
    for name, before in (("Dot", ()), ("Circle", (5,)), ("Nowhere", ())):
        made = definitions.class_of(name)
        found = run_function(body, SHAPE, s=(made(*before, point(1, 2)), SHAPE))
        assert found == made(*before, point(7, 2))
        assert type(found) is made


def test_a_function_returns_its_result_and_its_changed_parameters() -> None:
    swap = function(
        "swap",
        {"a": U64, "b": U64},
        block(declare("t", var("a")), put(var("a"), var("b")), put(var("b"), var("t")), lit("done", STRING)),
        mutable=("a", "b"),
    )
    body = block(
        declare("p", pair(lit(1), lit(2))),
        declare("said", call("swap", item(var("p", PAIR), 0), item(var("p", PAIR), 1), type_=STRING)),
        pair(var("said", STRING), var("p", PAIR)),
    )
    program = compiled(swap, function("f", {}, body))
    assert program.function("swap")(1, 2) == ("done", 2, 1)
    assert program.function("f")() == ("done", (2, 1))


PAIR = TupleType((U64, U64))


def test_a_function_with_a_changed_parameter_can_be_left_early() -> None:
    body = block(
        put(var("n"), op("+", var("n"), lit(1))), if_(op("<", var("n"), lit(5)), return_(lit("small", STRING)))
    )
    program = compiled(function("f", {"n": U64}, block(body, lit("large", STRING)), mutable=("n",)))
    assert program.function("f")(1) == ("small", 2)
    assert program.function("f")(7) == ("large", 8)


# Patterns


def test_the_first_arm_that_fits_is_taken() -> None:
    definitions = compiled().definitions
    point, circle, dot = map(definitions.class_of, ("Point", "Circle", "Dot"))
    body = match(
        var("s", SHAPE),
        (made_by("Circle", SHAPE, exactly(3, U8), anything(POINT)), lit("three", STRING)),
        (
            made_by("Circle", SHAPE, bind("r", U8), made_by("Point", POINT, exactly(0, U8), bind("y", U8))),
            op("++", text(var("r", U8)), op("++", lit(" ", STRING), text(var("y", U8)))),
        ),
        (
            typed.AsPattern("c", made_by("Circle", SHAPE, bind("r2", U8), anything(POINT)), type=SHAPE, span=SPAN),
            lit("c", STRING),
        ),
        (anything(SHAPE), lit("other", STRING)),
    )
    wanted = {
        circle(3, point(0, 0)): "three",
        circle(4, point(0, 9)): "4 9",
        circle(4, point(1, 9)): "c",
        dot(point(0, 0)): "other",
    }
    for shape, said in wanted.items():
        assert run_function(body, STRING, s=(shape, SHAPE)) == said


def test_booleans_and_texts_are_constants_of_patterns() -> None:
    body = match(
        pair(var("b", BOOL), var("t", STRING)),
        (tuple_of(exactly(True, BOOL), exactly("it's", STRING)), lit(1)),
        (tuple_of(exactly(False, BOOL), anything(STRING)), lit(2)),
        (anything(TupleType((BOOL, STRING))), lit(3)),
    )
    found = [run_function(body, U64, b=(b, BOOL), t=(t, STRING)) for b in (True, False) for t in ("it's", "x")]
    assert found == [1, 3, 2, 2]


# `?`


@pytest.mark.parametrize(("number", "wanted"), [(4, "Some{.x = 5}"), (3, "None{}")])
def test_none_is_returned_at_once(number: int, wanted: str) -> None:
    half = function("half", {"n": U64}, if_(op("==", var("n"), lit(3)), none(U64), some(var("n"))), option(U64))
    tried = typed.Try(call("half", var("n"), type_=option(U64)), option(U64), type=U64, span=SPAN)
    outer = function("f", {"n": U64}, some(op("+", tried, lit(1))))
    assert repr(compiled(half, outer).function("f")(number)) == f"ddlog_std::{wanted}"


@pytest.mark.parametrize(
    ("returned", "wanted"),
    [(result(U64, STRING), "ddlog_std::Err{.err = 'no'}"), (option(U64), "ddlog_std::None{}")],
)
def test_an_error_is_returned_as_the_function_can(returned: Type, wanted: str) -> None:
    fails = typed.Construct("ddlog_std::Err", (lit("no", STRING),), type=result(U8, STRING), span=SPAN)
    body = block(declare("n", typed.Try(fails, returned, type=U8, span=SPAN)), return_(unit(), returned))
    assert repr(run_function(body, returned)) == wanted


# Generics


def test_a_generic_function_works_for_all_types() -> None:
    twice = function("twice", {"x": A}, items(var("x", A), var("x", A)), types=("A",))
    program = compiled(twice)
    assert program.function("twice")("a") == Vec(["a", "a"])
    assert run(call("twice", lit(True, BOOL), type_=vec(BOOL), types=(BOOL,)), twice) == Vec([True, True])


def test_functions_that_only_pass_on_are_skipped() -> None:
    inner = function("add", {"x": U64, "y": U64}, op("+", var("x"), var("y")))
    outer = function("plus", {"a": U64, "b": U64}, call("add", var("a"), var("b")))
    other = function("minus", {"a": U64, "b": U64}, call("add", var("b"), var("a")))
    top = function("f", {}, op("+", call("plus", lit(1), lit(2)), call("minus", lit(1), lit(2))))
    program = compiled(inner, outer, other, top)
    assert program.function("f")() == 6
    assert program.source.count("def ") == 3


def test_functions_that_pass_on_in_a_circle_are_left_alone() -> None:
    first = function("first", {"x": U64}, call("second", var("x")))
    second = function("second", {"x": U64}, call("first", var("x")))
    compiled(first, second).function("first")


def test_references_leave_no_trace() -> None:
    new_ref = function("ddlog_std::ref_new", {"x": A}, None, A, types=("A",))
    body = typed.Deref(call("ddlog_std::ref_new", var("x"), types=(U64,)), type=U64, span=SPAN)
    program = compiled(new_ref, function("f", {"x": U64}, body))
    assert program.function("f")(5) == 5
    assert program.source == "def f0(v0):\n    return v0\n"


def test_only_what_is_needed_is_compiled() -> None:
    broken = function("broken", {}, call("nowhere"))
    program = compiled(broken, function("f", {}, lit(1)))
    assert program.function("f")() == 1
    assert program.source.count("def ") == 1
    assert PUSH.id not in program.source
