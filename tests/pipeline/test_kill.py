"""Pipelines that are killed go on as if nothing had happened. `make soak` does the same many more times."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_killed_pipelines_lose_nothing_and_take_nothing_twice() -> None:
    command = [sys.executable, "-m", "tests.pipeline.kill", "--kills", "12", "--seed", "3"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "nothing lost, nothing twice" in run.stdout
