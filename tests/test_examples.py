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
