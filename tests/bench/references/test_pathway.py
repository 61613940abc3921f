"""Pathway beside the update table: its rows are compared before its times are shown, from an environment of its own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from tidelog.bench.benchmark import Scale
from tidelog.bench.measure import Subject, Tables
from tidelog.bench.references.pathway import PathwayRun, pathway_python, run_pathway
from tidelog.bench.run import run_benchmarks
from tidelog.cli.main import main


def faked(program: str, tables: Tables, changed: str, parts: Sequence[pa.Table]) -> PathwayRun:
    """Counts rows by loads of Tidelog, and takes a second for a deletion, half of one for an insertion."""
    rows = []
    for gone in (None, parts[0]):
        subject = Subject(program)
        subject.change(inserts=tables)
        if gone is not None:
            subject.change(deletes={changed: gone})
        rows.append({"Reach": subject.count("Reach")})
        subject.close()
    return PathwayRun(3.0, (1.0,) * len(parts), (0.5,) * len(parts), (*rows, rows[0]))


def wrong(program: str, tables: Tables, changed: str, parts: Sequence[pa.Table]) -> PathwayRun:
    run = faked(program, tables, changed, parts)
    return PathwayRun(run.load, run.deletes, run.inserts, (run.rows[0], {"Reach": 7}, run.rows[2]))


def test_updates_are_shown_beside_those_of_pathway(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.bench.suites.updates.run_pathway", faked)
    record = run_benchmarks(["suite"], peers=["pathway"], repeat=1, scale=Scale.TINY, programs=["reach"])
    (found,) = record["benchmarks"]
    theirs = {case["name"]: case["median"] for case in found["cases"] if case["who"] == "pathway"}
    assert theirs["Bootstrap"] == 3.0
    assert theirs["1 row of Edge deleted"] == theirs["100 rows of Edge deleted"] == 1.0
    assert theirs["1 row of Edge inserted"] == 0.5
    assert any(ratio["name"] == "1 row of Edge deleted: tidelog / pathway" for ratio in found["ratios"])


def test_pathway_that_disagrees_ends_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tidelog.bench.suites.updates.run_pathway", wrong)
    arguments = ["--scale", "tiny", "--repeat", "1", "--programs", "reach", "--peers", "pathway"]
    assert main(["bench", "run", "suite", *arguments]) == 70
    out, err = capsys.readouterr()
    assert out == ""
    assert "rows after a deletion, as pathway has them" in err


def test_the_environment_of_pathway_is_named_by_a_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TIDELOG_BENCH_PATHWAY", sys.executable)
    assert pathway_python() == sys.executable
    assert run_pathway("suite/no-such-program", {}, "Edge", []) is None
    monkeypatch.setenv("TIDELOG_BENCH_PATHWAY", str(tmp_path / "python"))
    assert pathway_python() is None
    assert run_pathway("suite/reach", {}, "Edge", []) is None
