"""`tidelog migrate`: prints what changes, asks for what is lost, and gives the database the new program."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import pytest

import tidelog
from tidelog.cli.main import main

OLD = """
input relation Edge(src: string, dst: string)
input relation Host(name: string)
output relation Reach(src: string, dst: string)
Reach(x, y) :- Edge(x, y).
"""
NEW = """
input relation Edge(src: string, dst: string, weight: u8)
output relation Reach(src: string, dst: string)
Reach(x, y) :- Edge(x, y, _).
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    with tidelog.compile(OLD).open(path=tmp_path / "state") as db, db.transaction() as tx:
        tx.insert("Edge", [("a", "b")])
        tx.insert("Host", ["h"])
    (tmp_path / "new.dl").write_text(NEW)
    (tmp_path / "same.dl").write_text(f"// a comment\n{OLD}")
    return tmp_path


def run(place: Path, *options: str, program: str = "new.dl") -> int:
    return main(["migrate", str(place / "state"), str(place / program), *options])


def program_of(place: Path) -> bool:
    """True if the database has the new program."""
    with tidelog.open(place / "state") as db:
        return "Host" not in db.relations


def test_a_dry_run_prints_everything_and_changes_nothing(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(place, "--dry-run") == 0
    out, err = capsys.readouterr()
    assert out == (
        "relations:\n  - input relation Host(name: string)\n"
        "columns:\n  + Edge.weight: u8\n"
        "rules:\n  - Reach(x, y) :- Edge(x, y).\n  + Reach(x, y) :- Edge(x, y, _).\n"
        "facts:\n  1 fact of `Edge`: kept\n"
        "lost:\n  1 fact of `Host`: there is no such relation in the program\n"
    )
    assert "--default Edge.weight=0 --drop Host" in err
    assert not program_of(place)


def test_what_is_said_is_done(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(place, "--default", "Edge.weight=3", "--drop", "Host") == 0
    assert "migrated, epoch 2" in capsys.readouterr().err
    with tidelog.open(place / "state") as db:
        assert db.relation("Edge").rows() == [("a", "b", 3)]
        assert db.relation("Reach").rows() == [("a", "b")]


def test_a_loss_that_nobody_asked_for_is_an_error(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(place, "--default", "Edge.weight=3") == 2
    assert "error[E860]" in (err := capsys.readouterr().err)
    assert "it would lose 1 fact of `Host`" in err
    assert "--drop Host" in err
    assert not program_of(place)
    assert run(place, "--default", "Edge.weight=3", "--yes") == 0
    assert program_of(place)


@pytest.mark.parametrize(("answer", "code", "is_new"), [(True, 0, True), (False, 130, False)])
def test_a_terminal_is_asked(
    place: Path, answer: bool, code: int, is_new: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    def confirm(question: str, *, abort: bool) -> None:
        assert question == "1 part of the database will be lost. Go on?"
        if not answer:
            raise click.Abort

    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(click, "confirm", confirm)
    assert run(place, "--default", "Edge.weight=3") == code
    assert program_of(place) is is_new


def test_a_program_that_means_the_same_needs_nothing(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(place, program="same.dl") == 0
    assert capsys.readouterr().out == "nothing to do: both programs mean the same\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--default", "Edge.weight=many"), "the default of `Edge.weight` is 'many', which is not a u8"),
        (("--default", "Edge.wieght=1"), "did you mean `Edge.weight`?"),
        (("--rename", "Edge"), "is not of the form OLD=NEW"),
        (("--rename", "Host=Edge.src"), "`rename` has `Edge.src`"),
    ],
)
def test_slips_are_reported(
    place: Path, options: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(place, *options) == 2
    assert message in capsys.readouterr().err


def test_a_directory_without_a_database_is_an_error(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["migrate", str(place / "none"), str(place / "new.dl")]) == 2
    assert "E852" in capsys.readouterr().err


def test_the_defaults_that_the_help_names_are_taken(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "new.dl").write_text(
        "input relation Edge(src: string, dst: string, note: string, is_new: bool)\n"
        'input relation Host(name: string)\noutput relation Reach(src: string)\nReach(x) :- Edge(x, _, "", false).\n'
    )
    assert run(place, "--dry-run") == 0
    _, _, rest = capsys.readouterr().err.partition("help: add `")
    named = rest.partition("`")[0]
    assert named == "--default Edge.note= --default Edge.is_new=false"
    assert run(place, *named.split()) == 0
    with tidelog.open(place / "state") as db:
        assert db.relation("Reach").rows() == [("a",)]
