"""Every folder with a script, through `tidelog shell`: what it prints, byte for byte."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from tidelog.cli.main import main

FOLDERS = sorted(path.parent for path in Path(__file__).parent.glob("*/script.dat"))


class Pipe(io.TextIOWrapper):
    """Standard input that is no terminal."""

    def isatty(self) -> bool:
        return False


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_script_prints_what_is_expected(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.stdin", Pipe(io.BytesIO((folder / "script.dat").read_bytes())))
    flags = folder / "flags.txt"
    code = main(["shell", "program.dl", *(flags.read_text(encoding="utf-8").split() if flags.exists() else ())])
    out, err = capsys.readouterr()
    assert out == (folder / "expected.txt").read_text(encoding="utf-8"), err
    assert code == 0


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_is_expected_says_that_rows_come_and_leave(folder: Path) -> None:
    expected = (folder / "expected.txt").read_text(encoding="utf-8")
    if "dump_changes" in (folder / "script.dat").read_text(encoding="utf-8"):
        assert re.search(r": \+\d+$", expected, re.MULTILINE)
        assert re.search(r": -\d+$", expected, re.MULTILINE)
    assert (folder / "program.dl").read_text(encoding="utf-8").startswith("// ")
