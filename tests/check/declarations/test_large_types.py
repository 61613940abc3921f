"""Types that double with every call: refused soon, wherever they come together."""

from __future__ import annotations

from time import process_time

import pytest

from tests.check.programs import wrong

FUNCTIONS = """
function d(x: 'A): ('A, 'A) { (x, x) }
function eq(x: 'A, y: 'A): bool { true }
function q(x: 'A, y: 'A): bool { true }
function q(x: Vec<'A>, y: Vec<'A>): bool { true }
"""
LEVELS = 40


def large(value: str) -> str:
    """A value whose type has 2 to the power of 40 parts."""
    return "d(" * LEVELS + value + ")" * LEVELS


@pytest.mark.parametrize(
    "body",
    [
        f"var t = {large('1')}; true",
        f"{large('1')} == {large('2')}",
        f"eq({large('1')}, {large('2')})",
        f"q({large('1')}, {large('2')})",
        f"var t = if (true) {{ {large('1')} }} else {{ {large('2')} }}; true",
        f"var t = [{large('1')}, {large('2')}]; true",
        f"var g = |x, y| {large('x')} == {large('y')}; true",
        f"match ({large('1')}) {{ (a, b) -> a == b }}",
    ],
    ids=["alone", "compared", "passed", "overloaded", "branches", "items", "closure", "taken apart"],
)
def test_a_type_that_doubles_again_and_again_is_too_large(body: str) -> None:
    started = process_time()
    assert wrong(f"{FUNCTIONS}function f(): bool {{ {body} }}") == ["E215 the type of this has more than 1000 parts"]
    assert process_time() - started < 5


def test_a_large_type_in_a_mistake_is_shown_in_part() -> None:
    (message,) = wrong(f"{FUNCTIONS}function f(): u8 {{ {large('1')} }}")
    assert message.startswith("E210 expected `u8`, found `((((")
    assert len(message) < 3_000


def test_many_unknown_names_are_reported_soon() -> None:
    started = process_time()
    names = "; ".join(f"x{number} + 1" for number in range(2_000))
    assert len(wrong(f"function f(): u64 {{ {names}; 1 }}")) == 2_000
    assert process_time() - started < 5
