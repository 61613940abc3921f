"""The examples run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_the_network_demo_runs_on_the_local_engine(tmp_path: Path) -> None:
    demo = EXAMPLES / "network" / "demo.py"
    run = subprocess.run([sys.executable, str(demo), "local", str(tmp_path / "demo")], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "Epoch 7." in run.stdout
    assert "Reach       +127,088        -0" in run.stdout
    (bad,) = (json.loads(line) for line in (tmp_path / "demo/bad/batch=4/rows.jsonl").read_text().splitlines())
    assert bad["code"] == "E504"


def test_the_delta_demo_follows_a_table(tmp_path: Path) -> None:
    demo = EXAMPLES / "delta" / "control.py"
    run = subprocess.run([sys.executable, str(demo), str(tmp_path / "demo")], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "two files become one:\n  batch 2: 0 rows read; nothing changes\n" in run.stdout
    assert run.stdout.endswith("  Harbor controls Sand\n  Mill controls Lake\n  Mill controls Sand\n")


def test_the_fastest_ways_follow_the_roads() -> None:
    demo = EXAMPLES / "paths" / "roads.py"
    run = subprocess.run([sys.executable, str(demo)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "the bridge to the ford is closed (monotone)\n  - ford: 15\n  - hill: 35\n  + hill: 60\n" in run.stdout
    assert run.stdout.endswith("out of nothing (monotone)\n  - ford: 15\n  - mill: 10\n")
