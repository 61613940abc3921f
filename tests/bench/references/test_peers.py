"""Other systems beside Tidelog: their results are compared before anything is shown, their times are in the record."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tidelog.bench.benchmark import Scale
from tidelog.bench.inputs.crdt import generated, text_size
from tidelog.bench.run import run_benchmarks
from tidelog.cli.main import main

# Compiles to a program that checks that its facts are there, and says that `Text` has so many rows.
_FAKE = """\
#!/bin/sh
if [ "$1" = --version ]; then echo "Version: 2.5"; exit 0; fi
test -f "$3" || exit 1
printf '#!/bin/sh\\ntest "$(wc -l < Insert.facts)" -eq 200 || exit 1\\nprintf "Text\\\\t%s\\\\n"\\n' {rows} > "$2"
chmod +x "$2"
"""


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
    assert record["peers"] == {"souffle": "Version: 2.5"}
    (found,) = record["benchmarks"]
    (theirs,) = (case for case in found["cases"] if case["who"] == "souffle")
    (ours,) = (case for case in found["cases"] if case["who"] == "tidelog" and case["name"] == "Bootstrap")
    assert theirs["repetitions"] == 2
    (ratio,) = found["ratios"]
    assert ratio["value"] == pytest.approx(theirs["median"] / ours["median"])
    assert any("as souffle has it" in check for check in found["checks"])


def test_a_peer_that_disagrees_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(tmp_path, 7, monkeypatch)
    assert main(["bench", "run", "crdt", "--peers", "souffle", "--scale", "tiny", "--repeat", "1"]) == 70
    out, err = capsys.readouterr()
    assert out == ""
    assert "Text, as souffle has it" in err
