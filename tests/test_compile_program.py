"""The whole front end."""

from __future__ import annotations

import gc
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tidelog.check.show import show_types
from tidelog.compile_program import compile_program
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.spans import Source
from tidelog.functions.scalar import compile_scalar
from tidelog.rules.ir import Assign
from tidelog.rules.show import show_rules
from tidelog.syntax.parse import parse
from tidelog.syntax.show import show

ROOT = Path(__file__).parents[1]
PROGRAMS = re.findall(r"```dl\n(.*?)```", (ROOT / "docs/reference/language.md").read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_the_programs_of_the_reference_compile(program: str) -> None:
    compiled = compile_program(Source("language.md", program))
    assert len(compiled.rules.rules) >= len(compiled.typed.rules)


def test_an_empty_program_is_a_program() -> None:
    assert compile_program(Source("p.dl", " // nothing\n")).rules.strata == ()


def test_the_first_stage_with_errors_reports_and_later_ones_do_not() -> None:
    with pytest.raises(ProgramError) as caught:
        compile_program(Source("p.dl", "Unknown(x).\nR(.\n"))
    assert [found.code for found in caught.value.diagnostics] == ["E101"]


def test_compiling_needs_neither_arrow_nor_numba() -> None:
    probe = (
        "import sys; from tidelog.compile_program import compile_program; "
        "print(sorted({'pyarrow', 'numba', 'numpy', 'pyspark'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout == "[]\n"


def seconds(lines: int) -> float:
    """The processor time to compile a program of so many lines."""
    text = ["input relation Off(a: u32, b: string)"]
    text += [f"input relation R{i}(a: u32, b: string, c: s64)" for i in range(lines // 10)]
    for i in range(lines - len(text)):
        j, k = i % (lines // 10), (i * 7 + 1) % (lines // 10)
        text.append(f'R{j}(x, "v${{y}}", z * 2) :- R{j}(x, y, z), R{k}(x, _, w), not Off(x, _), z > w + 10.')
    source = Source("p.dl", "\n".join(text))
    start = time.process_time()
    compile_program(source)
    return time.process_time() - start


def test_compiling_takes_time_in_proportion_to_the_program() -> None:
    assert seconds(2000) < 12 * seconds(500)


def test_the_garbage_collector_is_left_as_it_was() -> None:
    assert gc.isenabled()
    compile_program(Source("p.dl", "relation A()"))
    assert gc.isenabled()
    with pytest.raises(ProgramError):
        compile_program(Source("p.dl", "wrong"))
    assert gc.isenabled()
    gc.disable()
    try:
        compile_program(Source("p.dl", "relation A()"))
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "deep",
    [
        " + ".join(["x"] * 199),
        "(" * 95 + "x" + ")" * 95,
        "-" * 95 + "x",
        "if (x > 1) " * 90 + "x" + " else x" * 90,
        "x" + "[15:0]" * 95,
        "x" + " as u16" * 195,
    ],
    ids=["chain", "parentheses", "minus", "if", "slices", "casts"],
)
def test_the_deepest_expressions_that_parse_go_through_every_stage(deep: str) -> None:
    program = compile_program(
        Source("p.dl", f"input relation R(a: u16)\nR({deep}) :- R(x), {deep} == 1, var y = {deep}.")
    )
    (rule,) = program.rules.rules
    for literal in rule.body:
        if isinstance(literal, Assign):
            assert 0 <= compile_scalar(literal.expression, ["x"]).call(3) < 2**16
    assert parse(Source("shown", show(program.ast))) == program.ast
    assert show_types(program.typed)
    assert show_rules(program.rules)
