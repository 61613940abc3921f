"""`tidelog shell --db`: a database that the next shell goes on with, with its program or without."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from tests.database.programs import REACH
from tidelog.cli.main import main
from tidelog.database.storage.active_format import active_engine


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "reach.dl"
    path.write_text(REACH)
    return path


def shell(monkeypatch: pytest.MonkeyPatch, script: str, *arguments: str | Path) -> int:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(script.encode())))
    return main(["shell", *map(str, arguments)])


def test_a_shell_goes_on_with_what_another_has_committed(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = program.parent / "db"
    assert shell(monkeypatch, 'start; insert Edge("a", "b"); commit;', program, "--db", directory) == 0
    assert capsys.readouterr().out == ""
    assert shell(monkeypatch, 'start; insert Edge("b", "c"); commit dump_changes;', program, "--db", directory) == 0
    assert capsys.readouterr().out == ('Reach:\nReach{.src = "a", .dst = "c"}: +1\nReach{.src = "b", .dst = "c"}: +1\n')
    program.unlink()
    assert shell(monkeypatch, "dump;", "--db", directory) == 0
    assert capsys.readouterr().out == (
        'Reach:\nReach{.src = "a", .dst = "b"}\nReach{.src = "a", .dst = "c"}\nReach{.src = "b", .dst = "c"}\n\n'
    )


def test_a_program_that_has_changed_is_an_error_with_the_difference(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = program.parent / "db"
    assert shell(monkeypatch, "", program, "--db", directory) == 0
    program.write_text(REACH + "Alone(h) :- Host(h).\n")
    assert shell(monkeypatch, "", program, "--db", directory) == 2
    assert "+Alone(h) :- Host(h)." in capsys.readouterr().err


def test_without_a_program_there_has_to_be_a_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shell(monkeypatch, "") == 2
    assert "only with `--db`" in capsys.readouterr().err
    assert shell(monkeypatch, "", "--db", tmp_path) == 2
    assert "is not a Tidelog database" in capsys.readouterr().err


def test_a_shell_and_a_run_go_on_with_a_database_where_it_is_or_take_it_over(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With `auto` a small database needs no Spark, but has the form of one on Spark."""
    directory, facts = program.parent / "db", program.parent / "facts"
    facts.mkdir()
    (facts / "Edge.csv").write_text("a,b\n")
    assert main(["run", str(program), "-F", str(facts), "--db", str(directory), "--engine", "auto"]) == 0
    assert active_engine(directory) == "spark"
    assert "auto engine, epoch 1" in capsys.readouterr().out
    script = 'start; insert Edge("b", "c"); commit dump_changes;'
    assert shell(monkeypatch, script, "--db", directory, "--engine", "local") == 0
    assert capsys.readouterr().out == ('Reach:\nReach{.src = "a", .dst = "c"}: +1\nReach{.src = "b", .dst = "c"}: +1\n')
    assert active_engine(directory) == "local"
    assert shell(monkeypatch, "dump Reach;", "--db", directory) == 0
    assert active_engine(directory) == "local", "without --engine it stays where it is"
    dumped = capsys.readouterr().out
    assert shell(monkeypatch, "dump Reach;", "--db", directory, "--engine", "auto") == 0
    assert (active_engine(directory), capsys.readouterr().out) == ("spark", dumped)
    (facts / "Edge.csv").write_text("c,d\n")
    assert main(["run", str(program), "-F", str(facts), "--db", str(directory), "--engine", "local"]) == 0
    assert "local engine, epoch 3" in capsys.readouterr().out
