"""Pipelines over tables of Delta and Iceberg that are killed go on as if nothing had happened."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("module", "package"), [("kill_delta", "deltalake"), ("kill_iceberg", "pyiceberg")])
def test_killed_pipelines_write_each_version_once(kills: int, module: str, package: str) -> None:
    pytest.importorskip(package)
    command = [sys.executable, "-m", f"tests.pipeline.{module}", "--kills", str(kills), "--seed", "3"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "no version twice, none lost" in run.stdout
