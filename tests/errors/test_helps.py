"""Helps can be pasted: what a help says to write, written where the error is, takes this error away."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.errors.test_errors import FOLDERS
from tidelog.compile_program import check_source
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.report import Diagnostic
from tidelog.diagnostics.spans import Source

_PASTED = re.compile(r"(?:did you mean )?`([^`…]+)`\??")
_DECLARATION = re.compile(r"(?:function|import|typedef|input|output|relation) ")


def errors(text: str) -> tuple[Diagnostic, ...]:
    try:
        check_source(Source("program.dl", text))
    except ProgramError as error:
        return error.diagnostics
    return ()


def repaired(text: str, error: Diagnostic, help: str) -> str:
    """The program with the help in it: a declaration at its end, a rule for the rule, else for what is marked."""
    if _DECLARATION.match(help):
        return f"{text}\n{help}\n"
    start, end = error.span.start, error.span.end
    if help.endswith("."):
        start = text.rfind("\n", 0, start) + 1
        end = text.index(".\n", start) + 1
    elif text[start - 1] == "." and help.startswith("."):
        start -= 1
    return text[:start] + help + text[end:]


def pasted() -> list[tuple[Path, int, str]]:
    found = []
    for folder in FOLDERS:
        text = (folder / "expect.txt").read_text(encoding="utf-8")
        for place, block in enumerate(re.split(r"\n\n(?=error|warning)", text)):
            match = re.search(r"= help: (.*)$", block.rstrip())
            whole = _PASTED.fullmatch(match.group(1)) if match else None
            if whole is not None:
                found.append((folder, place, whole.group(1)))
    return found


CASES = pasted()


@pytest.mark.parametrize(("folder", "place", "help"), CASES, ids=[f"{folder.name}-{help}" for folder, _, help in CASES])
def test_a_help_that_is_pasted_takes_its_error_away(
    folder: Path, place: int, help: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    text = (folder / "program.dl").read_text(encoding="utf-8")
    before = errors(text)
    error = before[place]
    after = errors(repaired(text, error, help))
    # The same may be wrong in another place of the program.
    alike = [
        [each for each in found if (each.code, each.message) == (error.code, error.message)]
        for found in (before, after)
    ]
    assert len(alike[1]) == len(alike[0]) - 1


def test_many_helps_can_be_pasted() -> None:
    assert len(CASES) >= 40
