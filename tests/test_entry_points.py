"""`python -m tidelog`, `tidelog.__version__`, and first calls that go wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tidelog

TEXT = "input relation A(x: u8)\noutput relation B(x: u8)\nB(x) :- A(x)."


def test_the_module_runs_the_command_line() -> None:
    run = subprocess.run([sys.executable, "-m", "tidelog", "--help"], capture_output=True, text=True, check=True)
    assert "Usage: tidelog" in run.stdout


def test_the_module_knows_its_version() -> None:
    assert tidelog.__version__[0].isdigit()


@pytest.mark.parametrize("given", ["mydir", Path("my/dir")])
def test_a_directory_in_the_place_of_the_engine_is_told_about_path(given: object) -> None:
    with pytest.raises(tidelog.UsageError, match="there is no engine") as caught:
        tidelog.compile(TEXT).open(given)  # type: ignore[arg-type]
    assert f"program.open(path='{given}')" in str(caught.value)


def test_a_callback_that_cannot_be_called_is_refused_at_once() -> None:
    with tidelog.compile(TEXT).open() as db, pytest.raises(tidelog.UsageError, match="cannot be called") as caught:
        db.on_change("B", "x")  # type: ignore[arg-type]
    assert caught.value.code == "E821"
