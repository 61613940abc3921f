"""Soufflé programs as text, run by Tidelog on facts as text; the results as lines, by relation."""

from __future__ import annotations

import io
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path

import tidelog
from tidelog.cli.run_souffle import load_facts, write_outputs
from tidelog.database.program.program import Program

Lines = dict[str, list[str]]
SOUFFLE = shutil.which("souffle")


def compiled(text: str, **options: object) -> Program:
    return tidelog.compile(text, dialect="souffle", **options)  # type: ignore[arg-type]


def run(text: str, folder: Path, facts: Mapping[str, str] | None = None, **options: object) -> tuple[Lines, str]:
    """Returns the sorted lines of each file that the program writes, and what it prints."""
    given, out = folder / "facts", folder / "out"
    given.mkdir(exist_ok=True)
    out.mkdir(exist_ok=True)
    for name, content in (facts or {}).items():
        (given / name).write_text(content, encoding="utf-8")
    program = compiled(text, **options)
    souffle = program.stages.souffle
    assert souffle is not None
    printed = io.StringIO()
    with program.open() as database, redirect_stdout(printed):
        load_facts(souffle, database, given)
        write_outputs(souffle, database, out)
    return lines_of(out), printed.getvalue()


def run_reference(text: str, folder: Path, facts: Mapping[str, str] | None = None) -> Lines:
    """Returns what Soufflé itself writes."""
    assert SOUFFLE is not None
    given, out = folder / "facts", folder / "reference"
    given.mkdir(exist_ok=True)
    out.mkdir(exist_ok=True)
    for name, content in (facts or {}).items():
        (given / name).write_text(content, encoding="utf-8")
    program = folder / "program.dl"
    program.write_text(text, encoding="utf-8")
    command = [SOUFFLE, str(program), "-F", str(given), "-D", str(out), "-w"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return lines_of(out)


def lines_of(folder: Path) -> Lines:
    return {
        path.name: sorted(path.read_text(encoding="utf-8").splitlines())
        for path in sorted(folder.iterdir())
        if path.is_file()
    }
