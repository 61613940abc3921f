from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tidelog.cli.main import main

GOOD = "input relation A(x: u8)\noutput relation B(x: u8)\nB(x) :- A(x).\n"


def test_a_program_without_errors_exits_with_0_and_says_so_on_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "good.dl"
    path.write_text(GOOD)
    assert main(["check", str(path)]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"{path}: no errors in 2 relations and 1 rule\n"


def test_all_errors_of_all_programs_are_printed_and_the_exit_code_is_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad, good = tmp_path / "bad.dl", tmp_path / "good.dl"
    bad.write_text("input relation A(x: u8)\noutput relation B(x: u8)\nB(y) :- A(x).\nB(z) :- AA(z).\n")
    good.write_text(GOOD)
    assert main(["check", str(bad), str(good)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert f"{bad}:3:3" in err
    assert f"{bad}:4:9" in err
    assert "did you mean" in err
    assert f"{bad}: 2 errors\n" in err
    assert f"{good}: no errors" in err


def test_warnings_are_printed_on_stderr_and_leave_the_exit_code_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "doubtful.dl"
    path.write_text("input relation A(x: u64)\nA(n) :- A(x), var n = x.group_by(()).max() % 3.\n")
    assert main(["check", str(path)]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("warning[W301]: `group_by` is inside the recursion of `A`\n")
    assert err.endswith(f"{path}: no errors, 1 warning in 1 relation and 1 rule\n")


def test_standard_input_is_checked(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"input relation A(x: u8)\nB(1)."), encoding="utf-8"))
    assert main(["check", "-"]) == 1
    assert "<stdin>:2:1" in capsys.readouterr().err


def test_json_has_every_error_and_warning_on_standard_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad, doubtful = tmp_path / "bad.dl", tmp_path / "doubtful.dl"
    bad.write_text("input relation Edge(x: u8)\nEdge(y) :- Egde(y).\n")
    doubtful.write_text("input relation A(x: u64)\nA(n) :- A(x), var n = x.group_by(()).max() % 3.\n")
    assert main(["check", "--json", str(bad), str(doubtful)]) == 1
    out, err = capsys.readouterr()
    assert err == f"{bad}: 1 error\n{doubtful}: no errors, 1 warning in 1 relation and 1 rule\n"
    error, warning = json.loads(out)
    assert error == {
        "severity": "error",
        "code": "E201",
        "message": "unknown relation `Egde`",
        "file": str(bad),
        "line": 2,
        "column": 12,
        "end_line": 2,
        "end_column": 16,
        "labels": [
            {
                "file": str(bad),
                "line": 2,
                "column": 12,
                "end_line": 2,
                "end_column": 16,
                "text": "not declared",
                "primary": True,
            }
        ],
        "notes": [],
        "help": "did you mean `Edge`?",
    }
    assert (warning["severity"], warning["code"], len(warning["labels"])) == ("warning", "W301", 3)


def test_json_of_a_right_program_is_an_empty_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "good.dl"
    path.write_text(GOOD)
    assert main(["check", "--json", str(path)]) == 0
    assert json.loads(capsys.readouterr().out) == []
