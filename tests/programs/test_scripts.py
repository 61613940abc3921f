"""Every folder with a script, through `tidelog shell`: what it prints, byte for byte."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.programs.run_script import FOLDERS, expected, run_script


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_script_prints_what_is_expected(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run_script(folder, monkeypatch)
    out, err = capsys.readouterr()
    assert out == expected(folder), err
    assert code == 0


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_is_expected_says_that_rows_come_and_leave(folder: Path) -> None:
    text = expected(folder)
    if "dump_changes" in (folder / "script.dat").read_text(encoding="utf-8"):
        assert re.search(r": \+\d+$", text, re.MULTILINE)
        assert re.search(r": -\d+$", text, re.MULTILINE)
    assert (folder / "program.dl").read_text(encoding="utf-8").startswith("// ")
