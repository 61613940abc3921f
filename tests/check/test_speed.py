"""How fast the checker is: long programs, and programs that are long in one place."""

from __future__ import annotations

from time import process_time

import pytest

from tidelog.bench.front_end import KINDS, program
from tidelog.compile_program import check_source
from tidelog.diagnostics.spans import Source

SECONDS = 3.0


def seconds(text: str) -> float:
    """The time of this process alone, whatever else the machine does."""
    started = process_time()
    check_source(Source("long.dl", text))
    return process_time() - started


@pytest.mark.parametrize("kind", KINDS)
def test_a_program_of_4000_lines_is_checked_in_under_three_seconds(kind: str) -> None:
    text = program(KINDS[kind], 4_000)
    assert text.count("\n") > 3_900
    assert seconds(text) < SECONDS


MANY = range(2_000)


@pytest.mark.parametrize(
    "text",
    [
        "function f(x: u64): u64 {\n" + "".join(f"var a{n} = x + {n};\n" for n in MANY) + "x }",
        "function f(): u64 {\nvar a = [1];\n" + "".join(f"a.push({n});\nvar b{n} = a.len();\n" for n in MANY) + "0 }",
        "function f(x: u64): u64 { match (x) {" + ", ".join(f"{n} -> {n + 1}" for n in MANY) + ", _ -> 0 } }",
        "input relation E(a: u8, b: u8)\nrelation O(a: u8)\nO(x0) :- "
        + ", ".join(f"E(x{n}, x{n + 1})" for n in MANY)
        + ".",
        "".join(f"relation R{n}(a: u8)\n" for n in MANY)
        + "".join(f"R{n}(x) :- R{(n + 1) % len(MANY)}(x).\n" for n in MANY),
    ],
    ids=["declarations", "calls of one overload", "arms", "literals", "one circle"],
)
def test_a_long_function_or_rule_is_checked_in_under_three_seconds(text: str) -> None:
    assert seconds(text) < SECONDS
