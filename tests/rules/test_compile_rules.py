"""The whole front end."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.spans import Source
from tidelog.rules import compile_rules

ROOT = Path(__file__).parent.parent.parent
PROGRAMS = re.findall(r"```dl\n(.*?)```", (ROOT / "docs/reference/language.md").read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_the_programs_of_the_reference_compile(program: str) -> None:
    assert compile_rules(Source("language.md", program)).rules.rules


def test_an_empty_program_is_a_program() -> None:
    assert compile_rules(Source("p.dl", " // nothing\n")).rules.strata == ()


def test_the_first_stage_with_errors_reports_and_later_ones_do_not() -> None:
    with pytest.raises(ProgramError) as caught:
        compile_rules(Source("p.dl", "Unknown(x).\nR(.\n"))
    assert [found.code for found in caught.value.diagnostics] == ["E101"]


def test_compiling_needs_neither_arrow_nor_numba() -> None:
    probe = (
        "import sys; from tidelog.rules import compile_rules; "
        "print(sorted({'pyarrow', 'numba', 'numpy', 'pyspark'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_program_of_four_thousand_lines_compiles_quickly() -> None:
    lines = [f"input relation R{i}(a: u32, b: string, c: s64)" for i in range(400)]
    for i in range(3600):
        j, k = i % 400, (i * 7 + 1) % 400
        lines.append(f'R{j}(x, "v${{y}}", z * 2) :- R{j}(x, y, z), R{k}(x, _, w), not Off(x, _), z > w + 10.')
    lines[0] = "input relation Off(a: u32, b: string) " + lines[0]
    start = time.process_time()
    compile_rules(Source("p.dl", "\n".join(lines)))
    assert time.process_time() - start < 10  # about one second alone on a machine; the rest is for busy ones
