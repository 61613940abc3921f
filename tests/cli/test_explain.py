from __future__ import annotations

import json
from pathlib import Path

import pytest

from tidelog.cli.main import main

PROGRAM = """\
input relation Edge(src: string, dst: string)
output relation Reach(src: string, dst: string)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
"""


@pytest.fixture
def arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reach.dl").write_text(PROGRAM)
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "Edge.csv").write_text("a,b\nb,c\na,c\n")
    return ["explain", "reach.dl", "-F", "facts"]


def test_a_proof_is_printed_as_a_tree(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, 'Reach(.dst = "b", .src = "a")']) == 0
    assert capsys.readouterr().out == (
        'Reach("a", "b")\n  by Reach(x, y) :- Edge(x, y).    reach.dl:3:1\n  └─ Edge("a", "b")   input\n'
    )


def test_the_shortest_proof_comes_as_json(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, 'Reach("a", "c")', "--shortest", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["is_shortest"] is True
    assert [step["text"] for step in found["steps"]] == ['Reach("a", "c")', 'Edge("a", "c")']


def test_what_is_missing_for_a_row_is_printed(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, 'Reach("c", "a")', "--why-not"]) == 0
    assert 'there is no Edge("c", "a")' in capsys.readouterr().out
    assert main([*arguments, 'Reach("c", "a")', "--why-not", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["is_present"] is False


@pytest.mark.parametrize(
    ("row", "code", "said"),
    [
        ('Reach("c", "a")', 2, "error[E830]"),
        ('Rech("c", "a")', 2, "did you mean `Reach`?"),
        ('Reach("c", 1)', 3, "ROW:1:12: relation `Reach`, column `dst`: string is wanted, not 1"),
        ('Reach("c"', 3, "the row ends too early"),
        ('Reach("a", "b"))', 3, "unexpected `)` behind the row"),
        ("", 3, "ROW"),
    ],
)
def test_a_row_that_cannot_be_is_an_error(
    arguments: list[str], capsys: pytest.CaptureFixture[str], row: str, code: int, said: str
) -> None:
    assert main([*arguments, row]) == code
    assert said in capsys.readouterr().err
