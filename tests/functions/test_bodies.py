"""Compiled functions do what an interpreter of the tree does, wherever statements stand."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.functions.bodies import HELPER, functions
from tests.functions.interpret import Interpreter, Made
from tests.functions.program import compiled
from tidelog.check.program import Function
from tidelog.values import Definitions, Struct, Vec


def made(value: Any, definitions: Definitions) -> Any:
    """The interpreter's value as a value of the language."""
    if isinstance(value, Made):
        return definitions.class_of(value[1])(*(made(each, definitions) for each in value[2:]))
    if isinstance(value, Vec):
        return Vec([made(each, definitions) for each in value])
    return tuple([made(each, definitions) for each in value]) if isinstance(value, tuple) else value


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(functions(), st.integers(0, 255), st.text(max_size=2), st.lists(st.integers(0, 255), max_size=3))
def test_compiled_functions_do_what_the_tree_says(function: Function, a: int, s: str, v: list[int]) -> None:
    check(function, a, s, v)


def check(function: Function, a: int, s: str, v: list[int]) -> None:
    """Compiled and interpreted, the function returns the same."""
    program = compiled(HELPER, function)
    try:
        result, changed = Interpreter({"f": function, HELPER.id: HELPER}).call(
            "f", [a, s, Made((0, "Point", 1, 2)), Vec(v)]
        )
        wanted = made((result, *changed), program.definitions)
    except ZeroDivisionError:
        wanted = ZeroDivisionError
    except TimeoutError:
        assume(False)
    point = program.definitions.class_of("Point")(1, 2)
    try:
        found = program.function("f")(a, s, point, Vec(v))
    except ZeroDivisionError:
        found = ZeroDivisionError
    assert found == wanted, program.source
    assert _classes(found) == _classes(wanted)


def _classes(value: Any) -> Any:
    """Tuples of one content are equal, whatever their class; so classes are compared apart."""
    if isinstance(value, Struct):
        return type(value), tuple(map(_classes, value))
    return tuple(map(_classes, value)) if isinstance(value, tuple) else type(value)
