"""A folder with a script, through `tidelog shell`, on whatever engine `open_with` says."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tidelog.cli.main import main
from tidelog.database.database import Database
from tidelog.database.program.program import Program

FOLDERS = sorted(path.parent for path in Path(__file__).parent.glob("*/script.dat"))


class Pipe(io.TextIOWrapper):
    """Standard input that is no terminal."""

    def isatty(self) -> bool:
        return False


def run_script(folder: Path, monkeypatch: pytest.MonkeyPatch, open_with: Mapping[str, Any] | None = None) -> int:
    """The shell's exit code; what it prints goes to standard output."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.stdin", Pipe(io.BytesIO((folder / "script.dat").read_bytes())))
    if open_with is not None:
        opened = Program.open

        def open_there(program: Program, _: str = "local", **options: Any) -> Database:
            del options["path"]
            return opened(program, **{**options, **open_with})

        monkeypatch.setattr(Program, "open", open_there)
    flags = folder / "flags.txt"
    return main(["shell", "program.dl", *(flags.read_text(encoding="utf-8").split() if flags.exists() else ())])


def expected(folder: Path) -> str:
    return (folder / "expected.txt").read_text(encoding="utf-8")
