"""Large and deep programs: Python's limits are not the language's."""

from __future__ import annotations

import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.functions import test_bodies
from tests.functions.bodies import functions
from tests.functions.program import (
    SPAN,
    anything,
    bind,
    block,
    break_,
    call,
    chain,
    compiled,
    declare,
    exactly,
    for_,
    function,
    if_,
    items,
    lit,
    made_by,
    match,
    new,
    op,
    put,
    return_,
    run_function,
    text,
    var,
    vec,
)
from tidelog.check import typed
from tidelog.check.program import Function
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import EvaluationError
from tidelog.functions import body as body_module
from tidelog.functions.scalar import compile_scalar
from tidelog.types import BOOL, STRING, U64, FunctionType

FUNCTION = FunctionType(((U64, False),), U64)


@pytest.mark.parametrize("limits", [(1, 0, 2), (2, 1, 5), (4, 1, 40), (60, 0, 40)])
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(functions(), st.integers(0, 255), st.lists(st.integers(0, 255), max_size=3))
def test_code_cut_into_small_pieces_does_the_same(
    limits: tuple[int, int, int], function: Function, a: int, v: list[int]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, limit in zip(("DEEPEST_BLOCK", "DEEPEST_LOOP", "DEEPEST_TEXT"), limits):
            patch.setattr(body_module, name, limit)
        test_bodies.check(function, a, "s", v)


def test_a_hundred_nested_loops() -> None:
    n = var("n")
    inner: typed.Expression = block(put(n, op("+", n, lit(1))), if_(op("==", n, lit(7)), return_(lit(77))), break_())
    for level in range(100):
        inner = for_(bind(f"x{level}"), items(lit(1), lit(2)), inner)
    assert run_function(block(declare("n", lit(0)), inner, n), U64) == 77


def test_a_hundred_nested_conditions_with_statements() -> None:
    inner: typed.Expression = var("n")
    for level in range(100):
        statement = put(var("n"), op("+", var("n"), lit(1)))
        inner = if_(op("<", var("n"), lit(1000 + level)), block(statement, inner), lit(0))
    assert run_function(block(declare("n", lit(0)), op("*", inner, lit(2))), U64) == 200


def test_a_long_chain_of_else_if() -> None:
    chain_: typed.Expression = lit(0)
    for number in range(600):
        chain_ = if_(
            op("==", var("n"), lit(number)), block(declare(f"x{number}", lit(number)), var(f"x{number}")), chain_
        )
    assert run_function(chain_, U64, n=(345, U64)) == 345


def test_a_long_chain_of_else_if_whose_conditions_are_statements() -> None:
    chain_: typed.Expression = lit(0)
    for number in range(200):
        condition = block(put(var("n"), op("+", var("n"), lit(1))), op("==", var("n"), lit(150)))
        chain_ = if_(condition, lit(number), chain_)
    assert run_function(block(declare("n", lit(0)), chain_), U64) == 50


def test_a_match_with_many_arms() -> None:
    arms = [(exactly(number), text(lit(number))) for number in range(1000)]
    body = match(var("n"), *arms, (anything(), lit("none", STRING)))
    assert run_function(body, STRING, n=(777, U64)) == "777"


def chained(name: str, first: typed.Expression, other: typed.Expression, count: int) -> typed.Expression:
    for _ in range(count):
        first = op(name, first, other)
    return first


def test_long_sums_and_texts() -> None:
    total = chained("+", var("n"), var("n"), 10_000)
    assert run_function(total, U64, n=(2, U64)) == 20_002
    said = chained("++", lit("", STRING), text(var("n")), 5_000)
    assert run_function(said, STRING, n=(7, U64)) == "7" * 5_000
    every = chained("and", lit(True, BOOL), op("<", var("n"), lit(9)), 5_000)
    assert run_function(every, BOOL, n=(7, U64)) is True


def test_deeply_nested_expressions() -> None:
    nested: typed.Expression = var("n")
    for _ in range(1_000):
        nested = op("+", lit(1), typed.Unary("-", typed.Unary("-", nested, type=U64, span=SPAN), type=U64, span=SPAN))
    assert run_function(nested, U64, n=(5, U64)) == 1_005


def down() -> Function:
    n = var("n")
    return function(
        "down", {"n": U64}, if_(op("==", n, lit(0)), lit(0), op("+", call("down", op("-", n, lit(1))), lit(1)))
    )


def test_recursion_goes_deeper_than_python_by_default() -> None:
    limit = sys.getrecursionlimit()
    scalar = compile_scalar(call("down", var("n")), ("n",), compiled(down()))
    assert scalar.call(15_000) == 15_000
    assert sys.getrecursionlimit() == limit


def test_endless_recursion_is_an_error_that_says_so() -> None:
    forever = function("forever", {"n": U64}, op("+", call("forever", var("n")), lit(1)))
    scalar = compile_scalar(call("forever", lit(1)), (), compiled(forever))
    limit = sys.getrecursionlimit()
    with pytest.raises(EvaluationError) as caught:
        scalar.call()
    assert caught.value.code == Code.RECURSION_TOO_DEEP
    assert caught.value.message == "functions of the program call one another too deep"
    assert sys.getrecursionlimit() == limit


def test_endless_recursion_through_python_is_an_error_and_no_crash() -> None:
    sort = function("sort", {"v": vec(U64), "f": FUNCTION}, None, U64)
    itself = typed.FunctionValue("forever", (), type=FUNCTION, span=SPAN)
    forever = function("forever", {"n": U64}, op("+", call("sort", items(var("n")), itself), lit(1)))
    program = compiled(forever, sort, externs={"sort": lambda v, f: len(sorted(v, key=f))})
    with pytest.raises(EvaluationError, match="too deep"):
        compile_scalar(call("forever", lit(1)), (), program).call()


def test_a_function_over_a_long_chain() -> None:
    numbers = chain(U64)
    n, tail = var("n"), var("rest", numbers)
    build = function(
        "build",
        {"n": U64},
        if_(
            op("==", n, lit(0)),
            new("End", numbers),
            new("Link", numbers, n, call("build", op("-", n, lit(1)), type_=numbers)),
        ),
        numbers,
    )
    total = function(
        "total",
        {"list": numbers},
        match(
            var("list", numbers),
            (made_by("End", numbers), lit(0)),
            (made_by("Link", numbers, bind("head"), bind("rest", numbers)), op("+", var("head"), call("total", tail))),
        ),
    )
    program = compiled(build, total)
    both = call("total", call("build", lit(5_000), type_=numbers))
    assert compile_scalar(both, (), program).call() == 5_000 * 5_001 // 2
