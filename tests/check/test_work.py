"""The work of the checker grows with the length of a program, not with its square.

Work is counted in calls of Python functions, so the tests do not depend on the machine;
`python -m tidelog.bench.front_end` measures seconds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from tidelog.bench.front_end import KINDS, program
from tidelog.compile_program import check_source
from tidelog.diagnostics.spans import Source

SHORT, LONG = 150, 600


def calls(text: str) -> int:
    """Returns how many functions the checker calls for a program."""
    count = 0

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        check_source(Source("long.dl", text))
    finally:
        sys.setprofile(None)
    return count


def assert_linear(text: Callable[[int], str]) -> None:
    check_source(Source("long.dl", text(1)))  # the library is read once
    base, short, long = (calls(text(length)) for length in (1, SHORT, LONG))
    assert base < short < long
    assert (long - base) / (short - base) < 1.5 * LONG / SHORT


@pytest.mark.parametrize("kind", KINDS)
def test_the_work_for_a_program_grows_with_its_lines(kind: str) -> None:
    assert_linear(lambda length: program(KINDS[kind], 10 * length))


def _relations(length: int) -> str:
    declared = "".join(f"relation R{n}(a: u8)\n" for n in range(length))
    return declared + "".join(f"R{n}(x) :- R{(n + 1) % length}(x).\n" for n in range(length))


LONG_IN_ONE_PLACE: dict[str, Callable[[int], str]] = {
    "declarations": lambda length: (
        "function f(x: u64): u64 {\n" + "".join(f"var a{n} = x + {n};\n" for n in range(length)) + "x }"
    ),
    "calls of one overload": lambda length: (
        "function f(): u64 {\nvar a = [1];\n"
        + "".join(f"a.push({n});\nvar b{n} = a.len();\n" for n in range(length))
        + "0 }"
    ),
    "arms": lambda length: (
        "function f(x: u64): u64 { match (x) {" + ", ".join(f"{n} -> {n + 1}" for n in range(length)) + ", _ -> 0 } }"
    ),
    "literals": lambda length: (
        "input relation E(a: u8, b: u8)\nrelation O(a: u8)\nO(x0) :- "
        + ", ".join(f"E(x{n}, x{n + 1})" for n in range(length))
        + "."
    ),
    "one circle": _relations,
}


@pytest.mark.parametrize("kind", LONG_IN_ONE_PLACE)
def test_the_work_for_a_long_function_or_rule_grows_with_its_length(kind: str) -> None:
    assert_linear(LONG_IN_ONE_PLACE[kind])
