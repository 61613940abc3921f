"""The options of `run` and `shell` that go to `Program.open`: they arrive, and slips get the errors of the API."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from tidelog.cli.main import main
from tidelog.maintain.strategies import STRATEGIES

COUNT = """
input relation Start(n: bigint)
output relation N(n: bigint)
N(n) :- Start(n).
N(n + 1) :- N(n).
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that diverges as soon as there is a fact; without one, what it reads from standard input is empty."""
    (tmp_path / "facts").mkdir()
    path = tmp_path / "count.dl"
    path.write_text(COUNT)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"start; insert Start(1); commit;")))
    return path


@pytest.mark.parametrize(
    ("option", "error"),
    [
        (("--max-rounds", "20"), "(`max_rounds`)"),
        (("--max-rows", "30"), "(`max_rows`)"),
        (("--deadline", "0.2"), "deadline of 0.2 s"),
    ],
    ids=lambda given: given[0],
)
@pytest.mark.parametrize("command", ["run", "shell"])
def test_limits_stop_a_program_that_diverges(
    program: Path, capsys: pytest.CaptureFixture[str], command: str, option: tuple[str, str], error: str
) -> None:
    (program.parent / "facts" / "Start.csv").write_text("1\n")
    facts = ("-F", str(program.parent / "facts")) if command == "run" else ()
    assert main([command, str(program), *facts, *option]) != 0
    assert error in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "error"),
    [
        (("--strategy", "recomputed"), "error[E801]: there is no strategy 'recomputed'"),
        (("--switch", "0"), "error[E814]: `switch` is 0.0; it must be a number above 0"),
        (("--threads", "-1"), "error[E814]: `threads` is -1; it must be a whole number above 0"),
        (("--max-rows", "0"), "error[E814]: `max_rows` is 0; it must be a whole number above 0"),
    ],
    ids=lambda given: given[0],
)
@pytest.mark.parametrize("command", ["run", "shell"])
def test_slips_get_the_errors_of_the_api(
    program: Path, capsys: pytest.CaptureFixture[str], command: str, option: tuple[str, str], error: str
) -> None:
    assert main([command, str(program), *option]) == 2
    assert error in capsys.readouterr().err


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_can_be_asked_for(program: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main(["run", str(program), "--strategy", name, "--threads", "1", "--switch", "0.5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["epoch"] == 0


def test_the_help_names_every_strategy(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--help"]) == 0
    told = capsys.readouterr().out
    for name in STRATEGIES:
        assert f"{name}:" in told
