"""`tidelog bench run`: every benchmark runs, checks itself, and leaves a full record; slips get clear errors."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest

from tidelog.bench.benchmark import Benchmark, Scale, Settings
from tidelog.bench.inputs.dataset import number_table
from tidelog.bench.measure import Outcome
from tidelog.bench.registry import BENCHMARKS
from tidelog.bench.run import DATA_FILES, run_benchmarks
from tidelog.bench.suites.triangles import count_cliques
from tidelog.cli.main import main

NAMES = [benchmark.name for benchmark in BENCHMARKS]
ON_SPARK = ("spark", "circuit-spark")


def test_the_list_has_every_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "list"]) == 0
    out = capsys.readouterr().out
    assert len(set(NAMES)) == len(NAMES) >= 8
    for benchmark in BENCHMARKS:
        assert benchmark.name in out
        assert benchmark.cases[0][:20] in out


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.spark, pytest.mark.slow]) if name in ON_SPARK else name for name in NAMES],
)
def test_a_benchmark_runs_checks_its_results_and_records_everything(name: str, request: pytest.FixtureRequest) -> None:
    talk: list[str] = []
    if name in ON_SPARK:
        request.getfixturevalue("spark")
    record = run_benchmarks([name], repeat=2, scale=Scale.TINY, say=talk.append)
    assert record["scale"] == "tiny"
    assert record["repeat"] == 2
    assert {"system", "processor", "cores", "memory_mb", "load"} <= record["machine"].keys()
    assert {"python", "numpy", "numba", "pyarrow", "tidelog"} <= record["versions"].keys()
    (found,) = record["benchmarks"]
    assert found["name"] == name
    assert found["checks"]
    assert talk
    for given in found["inputs"]:
        assert given["rows"] == sum(given["tables"].values()) > 0
        assert given["source"] == "generated"
    for case in found["cases"]:
        assert case["repetitions"] == len(case["seconds"])
        assert 0 < case["min"] <= case["median"] <= case["max"]
    assert json.loads(json.dumps(record)) == record


def test_the_elastic_workload_has_thirteen_epochs_done_in_three_ways() -> None:
    (found,) = run_benchmarks(["elastic"], repeat=1, scale=Scale.TINY)["benchmarks"]
    first = [epoch for epoch in found["epochs"] if epoch["group"] == found["epochs"][0]["group"]]
    kinds = "".join(epoch["kind"][0] for epoch in first)
    assert kinds == "i" + "s" * 6 + "l" + "s" * 4 + "l"
    signs = "".join("+" if epoch["changed"] > 0 else "-" for epoch in first[1:])
    assert signs == "-+-+-+--+-++"
    for epoch in first:
        assert epoch["seconds"].keys() == {"switch", "Update alone", "Bootstrap alone"}
    assert first[-1]["rows"] == first[0]["rows"]
    assert any("better of the two" in ratio["name"] for ratio in found["ratios"])


def test_the_ratios_of_the_elastic_workload_are_in_three_units_with_their_spread() -> None:
    (found,) = run_benchmarks(["elastic"], repeat=2, scale=Scale.TINY)["benchmarks"]
    group = found["epochs"][0]["group"]
    ratios = {ratio["name"]: ratio for ratio in found["ratios"] if ratio["group"] == group}
    for unit in ("seconds", "processor seconds", "rule instances"):
        for name in ("switch / the better of the two per epoch", "worst epoch / Bootstrap"):
            ratio = ratios[f"{name}, {unit}"]
            assert ratio["value"] > 0
            assert ratio["spread"][0] <= ratio["spread"][1]
    # Without a clock both repetitions are the same, whatever else the machine does.
    counted = ratios["switch / the better of the two per epoch, rule instances"]
    assert counted["spread"] == [counted["value"]] * 2
    assert all(epoch["why"] for epoch in found["epochs"])


def test_triangles_run_beside_duckdb_and_tell_what_indices_take(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("duckdb")
    assert main(["bench", "run", "triangles", "--scale", "tiny", "--repeat", "1", "--peers", "duckdb"]) == 0
    out = capsys.readouterr().out
    assert "triangles: tidelog / duckdb = " in out
    assert re.search(r"Oregon-1: memory, with elastic [\d,]+ MB, with trace [\d,]+ MB", out)


def test_cliques_are_counted_by_sets() -> None:
    pairs = [(x, y) for x in range(6) for y in range(x + 1, 6)]
    assert count_cliques(number_table(np.array(pairs), "src", "dst")) == 15
    assert count_cliques(number_table(np.array(pairs[:13]), "src", "dst")) == 6


def test_with_threads_the_closure_also_runs_on_one() -> None:
    (found,) = run_benchmarks(["closure"], repeat=1, scale=Scale.TINY, threads=2)["benchmarks"]
    assert "one thread" in {case["who"] for case in found["cases"]}
    assert any("one thread / 2 threads" in ratio["name"] for ratio in found["ratios"])


def test_galen_tells_its_memory_beside_that_of_counting() -> None:
    (found,) = run_benchmarks(["galen"], repeat=1, scale=Scale.TINY)["benchmarks"]
    (ratio,) = [ratio for ratio in found["ratios"] if "memory of the state" in ratio["name"]]
    assert 0 < ratio["value"] < 1


def test_the_table_goes_to_standard_output_and_the_record_to_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "figures.json"
    assert main(["bench", "run", "crdt", "--scale", "tiny", "--repeat", "1", "--json", str(file)]) == 0
    out, err = capsys.readouterr()
    assert "Bootstrap" in out
    assert "median" in out
    assert err == ""
    record = json.loads(file.read_text())
    assert [benchmark["name"] for benchmark in record["benchmarks"]] == ["crdt"]


def test_what_runs_now_is_told_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tidelog.bench.run._record", lambda _: {"cases": [], "checks": []})
    monkeypatch.setattr("tidelog.bench.registry.BENCHMARKS", (Benchmark("quick", "nothing", "none", ()),))
    monkeypatch.setattr(Benchmark, "run", lambda _, settings: _talkative(settings))
    assert main(["bench", "run", "quick", "--json", "-"]) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["bench", "run", "quick", "--json", "-"]) == 0
    assert capsys.readouterr().err == "quick: nothing\nat work\n"


def _talkative(settings: Settings) -> Outcome:
    settings.say("at work")
    return Outcome()


@pytest.mark.parametrize("name", ["missing/figures.json", "figures.json/inside.json"])
def test_a_record_that_cannot_be_written_is_an_error_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.setattr("tidelog.bench.run._run", lambda *_: pytest.fail("a benchmark ran"))
    (tmp_path / "figures.json").write_text("of before")
    err = error_of(capsys, "crdt", "--json", str(tmp_path / name))
    assert f"error[E809]: cannot write {tmp_path / name}" in err
    assert (tmp_path / "figures.json").read_text() == "of before"


def test_looking_whether_the_record_can_be_written_leaves_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "figures.json"
    assert "error[E816]" in error_of(capsys, "galn", "--json", str(file))
    assert not file.exists()
    file.write_text("of before")
    assert "error[E816]" in error_of(capsys, "galn", "--json", str(file))
    assert file.read_text() == "of before"


def test_json_on_standard_output_is_alone_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "run", "crdt", "--scale", "tiny", "--repeat", "1", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["repeat"] == 1


def test_peers_that_are_not_installed_are_named_as_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.bench.references.peers.is_installed", lambda _: False)
    monkeypatch.setattr("tidelog.bench.run.is_installed", lambda _: False)
    record = run_benchmarks(["crdt"], peers=["souffle", "duckdb"], repeat=1, scale=Scale.TINY)
    assert record["missing"] == ["souffle", "duckdb"]
    assert record["peers"] == {"souffle": None, "duckdb": None}


def error_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["bench", "run", *arguments, "--scale", "tiny"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    return err


def test_an_unknown_benchmark_is_an_error_with_the_one_that_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    err = error_of(capsys, "crdt", "galn")
    assert "error[E816]: there is no benchmark `galn`" in err
    assert "did you mean `galen`?" in err


def test_an_unknown_peer_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert "error[E818]: there is no peer `soufle`" in error_of(capsys, "crdt", "--peers", "soufle")


def test_a_data_folder_that_is_not_there_or_has_nothing_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "error[E817]" in error_of(capsys, "crdt", "--data", str(tmp_path / "none"))
    assert "has none of galen.zip, crdt.zip, doop, graphs, lubm" in error_of(capsys, "crdt", "--data", str(tmp_path))


@pytest.mark.parametrize("benchmark", BENCHMARKS, ids=lambda each: each.name)
def test_a_data_folder_may_have_what_one_benchmark_reads(benchmark: Benchmark) -> None:
    """Every file that the list of benchmarks names is one that a data folder is known by."""
    for file in re.findall(r"([\w-]+(?:\.zip|/))", benchmark.data):
        assert file.rstrip("/") in DATA_FILES


def test_the_page_has_every_benchmark_in_its_table() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/bench.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| `([\w-]+)` \|", page.split("\n## ")[0], re.MULTILINE)) == sorted(NAMES)


@pytest.mark.parametrize(("name", "file"), [("crdt", "crdt.zip"), ("galen", "galen.zip")])
def test_a_data_file_that_cannot_be_read_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, file: str
) -> None:
    (tmp_path / file).write_text("no archive")
    assert f"cannot read the benchmark data {tmp_path / file}" in error_of(capsys, name, "--data", str(tmp_path))
    with ZipFile(tmp_path / file, "w") as archive:
        archive.writestr("other.txt", "")
    assert "error[E817]" in error_of(capsys, name, "--data", str(tmp_path))


def test_a_facts_folder_without_a_file_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "doop").mkdir()
    err = error_of(capsys, "points-to", "--data", str(tmp_path))
    assert "AssignHeapAllocation.facts.gz" in err


def test_a_wrong_result_shows_no_times(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("tidelog.bench.suites.crdt.text_size", lambda _: 7)
    assert main(["bench", "run", "crdt", "--scale", "tiny"]) == 70
    out, err = capsys.readouterr()
    assert out == ""
    assert "rows of Text" in err
