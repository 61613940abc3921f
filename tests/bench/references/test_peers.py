"""Other systems beside Tidelog: their results are compared before anything is shown, their times are in the record."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

from tidelog.bench.benchmark import Scale
from tidelog.bench.inputs.crdt import generated, text_size
from tidelog.bench.references.peer_run import ordered
from tidelog.bench.references.peers import is_installed
from tidelog.bench.run import run_benchmarks
from tidelog.cli.main import main

# Compiles to a program that checks that its facts are there, and says that `Text` has so many rows. The program with
# rules takes longer than the one that only reads.
_FAKE = """\
#!/bin/sh
if [ "$1" = --version ]; then printf "Souffle: 2\\nVersion: 2.5\\nWord size: 64 bits\\n"; exit 0; fi
test -f "$3" || exit 1
printf '#!/bin/sh\\ntest "$(wc -l < Insert.facts)" -eq 200 || exit 1\\nprintf "Text\\\\t%s\\\\n"\\n' {rows} > "$2"
if grep -q ":-" "$3"; then echo "sleep 0.3" >> "$2"; fi
chmod +x "$2"
"""
# The programs that each peer has for the suites of aggregates, recursive minima and values.
_COMPARED = {
    ("groups", "souffle"): 2,
    ("labels", "souffle"): 2,
    ("values", "souffle"): 3,
    ("groups", "duckdb"): 2,
    ("values", "duckdb"): 2,
}


def install(folder: Path, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts a Soufflé on the PATH that always finds so many rows."""
    script = folder / "souffle"
    script.write_text(_FAKE.format(rows=rows))
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_a_peer_that_agrees_is_timed_beside_us(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, text_size(generated(200)), monkeypatch)
    record = run_benchmarks(["crdt"], peers=["souffle"], repeat=2, scale=Scale.TINY)
    assert record["missing"] == []
    assert record["peers"] == {"souffle": "Version: 2.5, Word size: 64 bits"}
    (found,) = record["benchmarks"]
    theirs = {case["name"]: case for case in found["cases"] if case["who"] == "souffle"}
    assert theirs.keys() == {"Bootstrap", "Bootstrap, without reading", "Bootstrap: compiling, in no other time"}
    (ours,) = (case for case in found["cases"] if case["who"] == "tidelog" and case["name"] == "Bootstrap")
    assert theirs["Bootstrap"]["repetitions"] == 2
    assert 0.3 < theirs["Bootstrap"]["median"] > theirs["Bootstrap, without reading"]["median"]
    ratios = {ratio["name"]: ratio["value"] for ratio in found["ratios"]}
    for ending in ("", " without reading"):
        case = theirs["Bootstrap" + ending.replace(" ", ", ", 1)]
        assert ratios[f"Bootstrap: tidelog / souffle{ending}"] == pytest.approx(ours["median"] / case["median"])
    assert any("as souffle has it" in check for check in found["checks"])


def test_a_peer_that_disagrees_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(tmp_path, 7, monkeypatch)
    assert main(["bench", "run", "crdt", "--peers", "souffle", "--scale", "tiny", "--repeat", "1"]) == 70
    out, err = capsys.readouterr()
    assert out == ""
    assert "Text, as souffle has it" in err


@pytest.mark.parametrize(
    ("suite", "peer"),
    [
        pytest.param(*pair, marks=pytest.mark.slow if "souffle" in pair else (), id=" beside ".join(pair))
        for pair in _COMPARED
    ],
)
def test_results_are_compared_row_by_row_with_an_installed_peer(suite: str, peer: str) -> None:
    if not is_installed(peer):
        pytest.skip(f"{peer} is not installed")
    (found,) = run_benchmarks([suite], peers=[peer], repeat=1, scale=Scale.TINY)["benchmarks"]
    checks = [check for check in found["checks"] if f"as {peer} has it" in check]
    assert any("row by row" in check for check in checks)
    loads = [case for case in found["cases"] if case["who"] == peer and "reading" not in case["name"]]
    timed = [case for case in loads if "compiling" not in case["name"]]
    assert len(timed) == _COMPARED[suite, peer]
    memory = [name for name in found["memory_mb"] if name.endswith(", souffle")]
    assert len(memory) == (len(timed) if peer == "souffle" else 0)


def test_rows_are_compared_in_any_order_with_the_types_of_ours() -> None:
    ours = pa.table({"key": pa.array([1, 2], pa.uint32()), "best": [{"id": 5, "price": 6}, {"id": 7, "price": 8}]})
    theirs = pa.table({"f0": [2, 1], "f1": [7, 5], "f2": [8, 6]})
    assert ordered(theirs, ours).equals(ordered(ours, ours))
    other = pa.table({"f0": [2, 1], "f1": [7, 5], "f2": [8, 9]})
    assert not ordered(other, ours).equals(ordered(ours, ours))
