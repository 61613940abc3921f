from __future__ import annotations

import io
import stat
from pathlib import Path

import pytest

from tidelog.cli.main import main

UGLY = "input relation A( x:u8 ) // the input\nB(x):-A(x).\n"
NEAT = "input relation A(x: u8) // the input\nB(x) :- A(x).\n"


def test_a_file_is_formatted_in_place_and_keeps_its_mode(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.dl"
    path.write_text(UGLY)
    path.chmod(0o640)
    assert main(["fmt", str(path)]) == 0
    assert path.read_text() == NEAT
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [file.name for file in tmp_path.iterdir()] == ["p.dl"]
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"{path}: formatted\n"


def test_a_formatted_file_is_not_written_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.dl"
    path.write_text(NEAT)
    before = path.stat().st_ino
    assert main(["fmt", str(path)]) == 0
    assert path.stat().st_ino == before
    assert "unchanged" in capsys.readouterr().err


def test_a_link_still_leads_to_the_file(tmp_path: Path) -> None:
    path, link = tmp_path / "p.dl", tmp_path / "link.dl"
    path.write_text(UGLY)
    link.symlink_to(path)
    assert main(["fmt", str(link)]) == 0
    assert link.is_symlink()
    assert path.read_text() == NEAT


def test_check_changes_nothing_and_exits_with_1_if_it_would(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ugly, neat = tmp_path / "ugly.dl", tmp_path / "neat.dl"
    ugly.write_text(UGLY)
    neat.write_text(NEAT)
    assert main(["fmt", "--check", str(neat)]) == 0
    assert main(["fmt", "--check", str(ugly), str(neat)]) == 1
    assert ugly.read_text() == UGLY
    assert f"{ugly}: would change\n" in capsys.readouterr().err


def test_stdout_gets_the_text_and_the_file_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.dl"
    path.write_text(UGLY)
    assert main(["fmt", "--stdout", str(path)]) == 0
    assert path.read_text() == UGLY
    assert capsys.readouterr().out == NEAT


def test_a_file_that_does_not_parse_is_left_alone_and_the_others_are_formatted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong, ugly = tmp_path / "wrong.dl", tmp_path / "ugly.dl"
    wrong.write_text("B(x :- A(x).\n")
    ugly.write_text(UGLY)
    assert main(["fmt", str(wrong), str(ugly)]) == 1
    assert wrong.read_text() == "B(x :- A(x).\n"
    assert ugly.read_text() == NEAT
    err = capsys.readouterr().err
    assert "error[E101]" in err
    assert f"{wrong}:1:5" in err


def test_check_and_stdout_exclude_each_other(tmp_path: Path) -> None:
    path = tmp_path / "p.dl"
    path.write_text(NEAT)
    assert main(["fmt", "--check", "--stdout", str(path)]) == 2


def test_a_folder_that_cannot_be_written_to_is_an_error_and_leaves_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "p.dl"
    path.write_text(UGLY)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "replace", refuse)
    assert main(["fmt", str(path)]) == 2
    assert path.read_text() == UGLY
    assert [file.name for file in tmp_path.iterdir()] == ["p.dl"]
    assert "error[E809]: cannot write" in capsys.readouterr().err


def standard_input(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data), encoding="latin-1"))


def test_standard_input_is_formatted_to_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    standard_input(monkeypatch, 'R( "é" ).  // a remark'.encode())
    assert main(["fmt", "-"]) == 0
    assert capsys.readouterr().out == 'R("é"). // a remark\n'


def test_standard_input_is_only_checked_when_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    standard_input(monkeypatch, b"R( 1 ).\n")
    assert main(["fmt", "--check", "-"]) == 1
    assert capsys.readouterr() == ("", "<stdin>: would change\n")


@pytest.mark.parametrize(("data", "code"), [(b"R(1", 1), (b"\xff", 2)])
def test_standard_input_that_cannot_be_formatted_prints_nothing_on_standard_output(
    data: bytes, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    standard_input(monkeypatch, data)
    assert main(["fmt", "-"]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert "error[" in err
