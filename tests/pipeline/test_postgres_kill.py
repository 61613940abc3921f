"""`kill -9` of either side of a pipeline that follows Postgres: the outputs are those of the tables, once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipeline.postgres_server import programs

pytest.importorskip("psycopg2")
pytestmark = pytest.mark.skipif(programs() is None, reason="Postgres is not installed")


def kills(number: int, seed: int) -> dict[str, int]:
    """Returns what the run counted: kills of the pipeline and of the server, and comparisons."""
    command = [sys.executable, "-m", "tests.pipeline.kill_postgres", "--kills", str(number), "--seed", str(seed)]
    run = subprocess.run(
        command, capture_output=True, text=True, cwd=Path(__file__).parents[2], env=dict(os.environ), check=False
    )
    assert run.returncode == 0, run.stderr[-3000:]
    words = run.stdout.splitlines()[-1].split()
    return dict(zip(words[::2], map(int, words[1::2]), strict=True))


def test_after_kills_of_both_sides_the_outputs_are_those_of_the_tables() -> None:
    counted = kills(4, seed=3)
    assert counted["pipeline"] + counted["server"] == 4
    assert counted["checks"] >= 1


@pytest.mark.slow
def test_after_twenty_kills_of_both_sides_the_outputs_are_those_of_the_tables() -> None:
    counted = kills(20, seed=1)
    assert counted["pipeline"] > 5
    assert counted["server"] > 3
    assert counted["checks"] > 3
