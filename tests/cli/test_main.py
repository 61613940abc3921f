"""Exit codes, and how errors that belong to no command are reported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

from tidelog.cli.main import main, tidelog
from tidelog.diagnostics.errors import InternalError


def fail_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command("break")
    def command() -> None:
        raise error

    monkeypatch.setitem(tidelog.commands, "break", command)


def test_help_teaches_with_an_example_in_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert "tidelog run reach.dl -F facts -D out" in capsys.readouterr().out
    for command in tidelog.commands:
        assert main([command, "--help"]) == 0
        assert "Example:\n    tidelog " in capsys.readouterr().out


def test_wrong_usage_exits_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.dl").touch()
    for arguments in (
        [],
        ["dance"],
        ["check"],
        ["run", "absent.dl"],
        ["run", str(tmp_path / "p.dl"), "--engine", "sparc"],
        ["show", str(tmp_path / "p.dl"), "--stage", "curtain"],
    ):
        assert main(arguments) == 2, arguments
        out, err = capsys.readouterr()
        assert out == ""
        assert "Usage:" in err


def test_a_bug_of_ours_exits_with_70_and_asks_for_a_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for error in (ZeroDivisionError("oops"), InternalError("oops", code="E900")):
        fail_with(error, monkeypatch)
        assert main(["break"]) == 70
        out, err = capsys.readouterr()
        assert out == ""
        assert "oops" in err
        assert "bug in Tidelog" in err
        assert "Traceback" not in err


def test_the_traceback_comes_with_debug_or_its_variable(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fail_with(ZeroDivisionError("oops"), monkeypatch)
    assert main(["--debug", "break"]) == 70
    assert "Traceback" in capsys.readouterr().err
    monkeypatch.setenv("TIDELOG_DEBUG", "1")
    assert main(["break"]) == 70
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupt_exits_with_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    fail_with(KeyboardInterrupt(), monkeypatch)
    assert main(["break"]) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_the_installed_command_runs_and_knows_its_version() -> None:
    command = Path(sys.executable).with_name("tidelog")
    run = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("tidelog, version ")


def test_output_to_a_reader_that_has_left_is_no_error(tmp_path: Path) -> None:
    program = tmp_path / "p.dl"
    program.write_text("".join(f"output relation R{n}(x: u8)\n" for n in range(20_000)))
    command = f"{Path(sys.executable).with_name('tidelog')} show {program} --stage ast"
    run = subprocess.run(["bash", "-o", "pipefail", "-c", f"{command} | head -n 1"], capture_output=True, text=True)
    assert run.stdout == "output relation R0(x: u8)\n"
    assert (run.stderr, run.returncode) == ("", 0)
