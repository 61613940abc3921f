"""What rules ask for beside values: patterns that may not fit, and one row for each item of a collection."""

from __future__ import annotations

import pickle

import pytest

from tests.functions.program import (
    POINT,
    SHAPE,
    SPAN,
    anything,
    bind,
    call,
    compiled,
    exactly,
    function,
    items,
    lit,
    made_by,
    map_of,
    op,
    option,
    pair,
    tuple_of,
    var,
    vec,
)
from tidelog.check import typed
from tidelog.functions.scalar import compile_flat_map, compile_match
from tidelog.types import U8, U64
from tidelog.values import Map, Vec

PROGRAM = compiled()
POINT_CLASS, CIRCLE, DOT, SOME, NONE = map(
    PROGRAM.definitions.class_of, ("Point", "Circle", "Dot", "ddlog_std::Some", "ddlog_std::None")
)


def test_a_match_gives_the_variables_of_its_pattern_in_their_order() -> None:
    pattern = typed.AsPattern(
        "c",
        made_by("Circle", SHAPE, bind("r", U8), made_by("Point", POINT, bind("x", U8), exactly(9, U8))),
        type=SHAPE,
        span=SPAN,
    )
    function_ = compile_match(pattern, var("s", SHAPE), ("s",), PROGRAM)
    circle = CIRCLE(3, POINT_CLASS(1, 9))
    assert [each.name for each in typed.bindings(pattern)] == ["c", "r", "x"]
    assert function_.call(circle) == (circle, 3, 1)
    assert function_.call(CIRCLE(3, POINT_CLASS(1, 8))) is None
    assert function_.call(DOT(POINT_CLASS(1, 9))) is None


def test_a_match_without_variables_gives_an_empty_row() -> None:
    pattern = made_by("ddlog_std::Some", option(U64), exactly(1))
    function_ = compile_match(pattern, var("o", option(U64)), ("o",), PROGRAM)
    assert function_.call(SOME(1)) == ()
    assert function_.call(SOME(2)) is None
    assert function_.call(NONE()) is None


def test_a_pattern_can_ask_for_the_value_of_an_expression() -> None:
    equal = typed.EqualPattern(op("+", var("y"), lit(1)), type=U64, span=SPAN)
    function_ = compile_match(tuple_of(bind("x"), equal), pair(var("a"), var("b")), ("a", "b", "y"), PROGRAM)
    assert function_.call(5, 8, 7) == (5,)
    assert function_.call(5, 8, 8) is None


def test_a_pattern_is_matched_with_what_functions_return() -> None:
    half = function("half", {"n": U64}, op("/", var("n"), lit(2)))
    equal = typed.EqualPattern(call("half", var("y")), type=U64, span=SPAN)
    function_ = compile_match(
        tuple_of(bind("x"), equal), pair(call("half", var("a")), var("b")), ("a", "b", "y"), compiled(half)
    )
    assert function_.call(10, 4, 8) == (5,)
    assert pickle.loads(pickle.dumps(function_)).call(10, 3, 8) is None


def test_every_item_that_fits_is_a_row() -> None:
    type_ = vec(option(U64))
    pattern = made_by("ddlog_std::Some", option(U64), bind("x"))
    function_ = compile_flat_map(pattern, var("v", type_), ("v",), PROGRAM)
    assert function_.call(Vec([SOME(1), NONE(), SOME(3)])) == [(1,), (3,)]
    assert function_.call(Vec()) == []


def test_maps_give_pairs() -> None:
    function_ = compile_flat_map(tuple_of(bind("k"), bind("w")), var("m", map_of(U64, U64)), ("m",), PROGRAM)
    assert function_.call(Map([(2, 20), (1, 10)])) == [(1, 10), (2, 20)]


def test_items_can_be_counted_without_being_looked_at() -> None:
    function_ = compile_flat_map(anything(), items(var("x"), lit(2)), ("x",), PROGRAM)
    assert function_.call(1) == [(), ()]


def test_an_expression_that_fails_fails_the_match() -> None:
    with pytest.raises(ZeroDivisionError):
        compile_match(bind("x"), op("/", lit(1), var("y")), ("y",)).call(0)
