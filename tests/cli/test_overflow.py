"""`--overflow error`, and `overflow = "error"` in a pipeline file: an integer that does not fit stops the command."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from tidelog.cli.main import main

TEXT = """
input relation In(s: string, x: u8)
output relation Out(x: u8)
Out(x + 1) :- In(s, x).
In("a", 255).
"""
PIPELINE = """program = "up.dl"
state = "state"
{}
[inputs.In]
path = "in.csv"
format = "csv"
[outputs.Out]
path = "out"
format = "csv"
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    path = tmp_path / "up.dl"
    path.write_text(TEXT)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"dump Out;")))
    return str(path)


@pytest.mark.parametrize("command", [["run", "-D", "-"], ["shell"], ["explain", "Out(0)"]], ids=lambda given: given[0])
def test_an_overflow_stops_a_command_that_asks_for_it(
    program: str, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    name, *rest = command
    assert main([name, program, *rest]) == 0
    assert main([name, program, *rest, "--overflow", "wrap"]) == 0
    capsys.readouterr()
    assert main([name, program, *rest, "--overflow", "error"]) == 1
    said = capsys.readouterr().err
    assert "error[E612]: the rule `Out(x + 1) :- In(s, x).` at" in said
    assert '255 + 1 is 256, which is not between 0 and 255, with s = "a", x = 255;' in said


def test_check_takes_the_option_and_an_unknown_way_is_refused(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", program, "--overflow", "error"]) == 0
    assert main(["check", program, "--overflow", "stop"]) == 2
    assert "'stop' is not one of 'wrap', 'error'" in capsys.readouterr().err


def test_the_program_of_a_database_has_its_own(
    program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", program, "--db", str(tmp_path / "db")]) == 0
    assert main(["shell", "--db", str(tmp_path / "db"), "--overflow", "error"]) == 2
    assert "`--overflow` needs a PROGRAM.dl" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("setting", "option", "code"),
    [
        ("", (), 0),
        ("", ("--overflow", "error"), 1),
        ('overflow = "error"', (), 1),
        ('overflow = "error"', ("--overflow", "wrap"), 0),
    ],
)
def test_a_pipeline_file_has_the_setting_and_the_option_overrides_it(
    tmp_path: Path, setting: str, option: tuple[str, ...], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "up.dl").write_text(TEXT.replace('In("a", 255).', ""))
    (tmp_path / "in.csv").write_text("s,x\na,255\n")
    (tmp_path / "p.toml").write_text(PIPELINE.format(setting))
    assert main(["pipeline", str(tmp_path / "p.toml"), *option]) == code
    assert ("E612" in capsys.readouterr().err) == (code == 1)


def test_an_unknown_setting_of_a_pipeline_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.toml").write_text(PIPELINE.format('overflow = "stop"'))
    assert main(["pipeline", str(tmp_path / "p.toml")]) == 1
    assert '"stop"' in capsys.readouterr().err


@pytest.mark.parametrize("stage", ["rules", "plan"])
def test_show_prints_the_arithmetic_that_is_run(stage: str, program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", program, "--stage", stage]) == 0
    assert "overflow_add" not in capsys.readouterr().out
    assert main(["show", program, "--stage", stage, "--overflow", "error"]) == 0
    assert "overflow_add" in capsys.readouterr().out


@pytest.mark.parametrize("stage", ["ast", "types"])
def test_stages_before_the_rules_have_no_overflow(stage: str, program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", program, "--stage", stage, "--overflow", "error"]) == 2
    assert "--overflow is for `--stage rules`, `strata` and `plan`" in capsys.readouterr().err
