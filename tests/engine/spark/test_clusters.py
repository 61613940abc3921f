"""Beyond one process: Spark Connect, and a cluster of which a part is killed. Each has its own Java processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.engine.spark.connect import ROOT, connect_server

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_epochs_on_spark_connect_agree_with_the_local_engine(tmp_path: Path) -> None:
    pytest.importorskip("grpc")
    with connect_server(tmp_path / "server.log") as address:
        client = [sys.executable, "-m", "tests.engine.spark.connect", address, str(tmp_path / "state")]
        ran = subprocess.run(client, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert (ran.returncode, ran.stdout.strip()) == (0, "all is well"), ran.stderr[-4000:]


def test_an_executor_that_is_killed_in_the_middle_of_an_epoch_does_no_harm(tmp_path: Path) -> None:
    script = [sys.executable, "-m", "tests.engine.spark.cluster", str(tmp_path / "state")]
    ran = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr[-4000:]
    assert "one of two executors was killed" in ran.stdout
