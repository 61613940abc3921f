"""Extern functions given to `tidelog.compile`: their results become values of the language, or the epoch fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tidelog
from tidelog.values import Map, Set, Vec

TEXT = """
typedef Point = Point{x: u8, tags: Vec<string>}
extern function f(x: u8): TYPE
input relation R(x: u8)
output relation P(v: TYPE)
P(f(x)) :- R(x).
"""


def result(type_: str, python: Callable[..., Any]) -> Any:
    """Returns the function's result as a relation has it."""
    with tidelog.compile(TEXT.replace("TYPE", type_), externs={"f": python}).open() as database:
        with database.transaction() as tx:
            tx.insert("R", [(3,)])
        ((value,),) = tx.changes["P"].inserted
        return value


@pytest.mark.parametrize(
    ("type_", "given", "expected"),
    [
        ("u8", 255, 255),
        ("double", 1, 1.0),
        ("Vec<string>", ["a", "b"], Vec(["a", "b"])),
        ("Set<u8>", {3, 1}, Set([1, 3])),
        ("Map<string, u8>", {"a": 1}, Map([("a", 1)])),
        ("(u8, string)", [1, "a"], (1, "a")),
    ],
)
def test_a_plain_python_value_becomes_a_value_of_the_language(type_: str, given: Any, expected: Any) -> None:
    found = result(type_, lambda _: given)
    assert found == expected
    assert type(found) is type(expected)


def test_none_and_dicts_stand_for_options_and_structs() -> None:
    point = result("Option<Point>", lambda x: {"x": x, "tags": ["a"]})
    assert str(point) == "Point{.x = 3, .tags = Vec(['a'])}"
    assert result("Option<Point>", lambda _: None) is None


@pytest.mark.parametrize(
    ("type_", "given"), [("u8", 300), ("u8", "3"), ("Vec<u8>", [1, -1]), ("string", None), ("Point", {"x": 1})]
)
def test_what_does_not_fit_fails_the_epoch_and_names_the_function(type_: str, given: Any) -> None:
    with pytest.raises(tidelog.EvaluationError, match="extern function `f` failed: TypeError: it") as raised:
        result(type_, lambda _: given)
    assert raised.value.code == "E603"


def test_an_exception_of_a_function_names_it_and_its_line() -> None:
    def broken(_: int) -> int:
        raise LookupError("no such thing")

    with pytest.raises(
        tidelog.EvaluationError, match=r"extern function `f` failed: LookupError: no such thing \(test_"
    ):
        result("u8", broken)


def test_a_mutable_parameter_gets_what_comes_behind_the_result() -> None:
    text = """
    extern function take(v: mut Vec<u8>): Option<u8>
    function both(v: Vec<u8>): (Option<u8>, Vec<u8>) { var w = v; var x = take(w); (x, w) }
    input relation R(v: Vec<u8>)
    output relation P(x: Option<u8>, rest: Vec<u8>)
    P(t.0, t.1) :- R(v), var t = both(v).
    """
    program = tidelog.compile(text, externs={"take": lambda v: (v[0], list(v)[1:])})
    with program.open() as database:
        with database.transaction() as tx:
            tx.insert("R", [([5, 6, 7],)])
        assert tx.changes["P"].inserted == [(5, Vec([6, 7]))]


def test_a_generic_function_returns_what_it_returns() -> None:
    text = """
    extern function same(x: 'A): 'A
    input relation R(x: u8, s: Vec<string>)
    output relation P(x: u8, s: Vec<string>)
    P(same(x), same(s)) :- R(x, s).
    """
    with tidelog.compile(text, externs={"same": lambda x: x}).open() as database:
        with database.transaction() as tx:
            tx.insert("R", [(1, ["a"])])
        assert tx.changes["P"].inserted == [(1, Vec(["a"]))]
