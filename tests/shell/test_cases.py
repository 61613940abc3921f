"""Scripts in `cases/`: what the shell prints for them, byte for byte.

A folder has a program, and for each script `NAME.dat` what goes to standard output (`NAME.out`) and, where something
does, what goes to standard error with the exit code as the last line (`NAME.err`). `NAME.flags` has options.
"""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tidelog.cli.main import main

CASES = sorted(Path(__file__).parent.joinpath("cases").glob("*/*.dat"))


class Pipe(io.TextIOWrapper):
    """Standard input that is no terminal."""

    def isatty(self) -> bool:
        return False


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_script_prints_what_is_expected(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(path.parent)
    monkeypatch.setattr("sys.stdin", Pipe(io.BytesIO(path.read_bytes())))
    flags = path.with_suffix(".flags")
    code = main(["shell", "program.dl", *(flags.read_text().split() if flags.exists() else ())])
    out, err = capsys.readouterr()
    expected = path.with_suffix(".err")
    assert out == path.with_suffix(".out").read_text(encoding="utf-8")
    assert f"{err}exit {code}\n" == (expected.read_text(encoding="utf-8") if expected.exists() else "exit 0\n")


def test_every_expectation_has_its_script() -> None:
    found = {path.with_suffix("") for path in CASES}
    for path in Path(__file__).parent.joinpath("cases").glob("*/*"):
        assert (
            path.name in ("program.dl", "text.txt", "module.dl", "externs.py", "__pycache__")
            or path.with_suffix("") in found
        ), path
