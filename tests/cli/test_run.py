"""`tidelog run`: files in, files out, a summary, and nothing written when something is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from tidelog.cli.main import main

PROGRAM = """
input relation Edge(src: string, dst: u32)
input relation Host(name: string)
output relation Reach(src: string, dst: u32)
output relation Quiet(name: string)
relation Busy(name: string)
Reach(x, y) :- Edge(x, y).
Busy(x) :- Edge(x, _).
Quiet(h) :- Host(h), not Busy(h).
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the program and some facts, which is also the current one."""
    (tmp_path / "p.dl").write_text(PROGRAM)
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "Edge.csv").write_text("src,dst\nb,2\na,10\na,9\n")
    (tmp_path / "facts" / "Host.facts").write_text("a\nz\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> int:
    return main(["run", "p.dl", *arguments])


def test_facts_are_read_and_outputs_written_in_value_order(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-F", "facts", "-D", "new/out") == 0
    assert (folder / "new/out/Reach.csv").read_text() == "src,dst\na,9\na,10\nb,2\n"
    assert (folder / "new/out/Quiet.csv").read_text() == "name\nz\n"
    assert sorted(path.name for path in (folder / "new/out").iterdir()) == ["Quiet.csv", "Reach.csv"]
    out, err = capsys.readouterr()
    assert err == ""
    for part in ("Edge", "Reach", "new/out/Reach.csv", "facts/Host.facts", "bootstrap", "epoch 1"):
        assert part in out


@pytest.mark.parametrize("name", ["tsv", "parquet"])
def test_other_formats_hold_the_same_rows(folder: Path, name: str) -> None:
    assert run("-F", "facts", "-D", "out", "--format", name) == 0
    if name == "tsv":
        assert (folder / "out/Reach.tsv").read_text() == "src\tdst\na\t9\na\t10\nb\t2\n"
    else:
        table = pyarrow.parquet.read_table(folder / "out/Reach.parquet")
        assert table.schema == pa.schema([pa.field("src", pa.string(), False), pa.field("dst", pa.uint32(), False)])
        assert table.to_pydict() == {"src": ["a", "a", "b"], "dst": [9, 10, 2]}


def test_the_outputs_of_one_run_are_facts_for_the_next(folder: Path) -> None:
    for name in ("csv", "tsv", "parquet"):
        assert run("-F", "facts", "-D", name, "--format", name) == 0
        Path(f"{name}/Reach.{name}").rename(f"{name}/Edge.{name}")
        assert run("-F", name, "-D", f"again-{name}") == 0
        assert (folder / f"again-{name}/Reach.csv").read_text() == "src,dst\na,9\na,10\nb,2\n"


def test_json_is_the_only_thing_on_standard_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-F", "facts", "-D", "out", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["relations"] == [
        {"name": "Edge", "role": "input", "rows": 3, "file": "facts/Edge.csv"},
        {"name": "Host", "role": "input", "rows": 2, "file": "facts/Host.facts"},
        {"name": "Reach", "role": "output", "rows": 3, "file": "out/Reach.csv"},
        {"name": "Quiet", "role": "output", "rows": 1, "file": "out/Quiet.csv"},
        {"name": "Busy", "role": "internal", "rows": 2, "file": None},
    ]
    assert list(document["seconds"]) == ["compile", "open", "read", "evaluate", "write"]
    assert {"relations", "strategy", "place", "reason", "rounds", "instances", "seconds"} == set(document["strata"][0])
    assert (document["epoch"], document["engine"]) == (1, "local")


def test_a_relation_without_a_file_starts_empty_with_a_note(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "facts/Host.facts").unlink()
    assert run("-F", "facts", "-D", "out") == 0
    assert capsys.readouterr().err == "note: facts has no file for `Host`, which starts empty\n"
    assert (folder / "out/Quiet.csv").read_text() == "name\n"


def test_a_file_of_no_relation_is_warned_about(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "facts/Edge.csv").rename(folder / "facts/Egde.csv")
    assert run("-F", "facts") == 0
    err = capsys.readouterr().err
    assert "warning: facts/Egde.csv is not read" in err
    assert "did you mean `Edge`?" in err


def test_without_facts_the_program_runs_on_its_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "p.dl").write_text(PROGRAM + 'Edge("x", 1).\n')
    assert run("-D", "out") == 0
    assert (folder / "out/Reach.csv").read_text() == "src,dst\nx,1\n"
    assert "without -F the input relations start empty: Edge, Host" in capsys.readouterr().err


def test_a_bad_cell_exits_with_3_names_the_place_and_writes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "facts/Edge.csv").write_text("src,dst\n" + "a,1\n" * 15 + "a,seven\n")
    assert run("-F", "facts", "-D", "out") == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(
        "error[E504]: facts/Edge.csv:17:2, column `dst` of `Edge`: `'seven'` is not a u32 (0 to 4294967295)"
    )
    assert list((folder / "out").iterdir()) == []


def test_two_files_for_one_relation_exit_with_3(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "facts/Edge.tsv").touch()
    assert run("-F", "facts") == 3
    assert "both `Edge.csv` and `Edge.tsv`" in capsys.readouterr().err


def test_a_wrong_program_exits_with_1(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "p.dl").write_text(PROGRAM + "Quiet(x) :- Hsot(x).")
    assert run("-F", "facts", "-D", "out") == 1
    assert "unknown relation `Hsot`" in capsys.readouterr().err
    assert not (folder / "out").exists()


def test_a_rule_that_fails_exits_with_1_and_writes_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "p.dl").write_text(PROGRAM + "Reach(x, z) :- Edge(x, y), var z = 1 / (y - 2).")
    assert run("-F", "facts", "-D", "out") == 1
    assert "error[" in capsys.readouterr().err
    assert list((folder / "out").iterdir()) == []


def test_a_folder_that_cannot_be_made_exits_with_2(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "file").touch()
    assert run("-F", "facts", "-D", "file/out") == 2
    assert "cannot make the folder file/out" in capsys.readouterr().err


@pytest.mark.spark
def test_spark_writes_the_same_files(folder: Path, spark: object) -> None:
    assert run("-F", "facts", "-D", "local") == 0
    assert run("-F", "facts", "-D", "spark", "--engine", "spark") == 0
    for name in ("Reach.csv", "Quiet.csv"):
        assert (folder / "local" / name).read_text() == (folder / "spark" / name).read_text()
