"""The examples for schedulers run, where their packages are installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def output(*command: str | Path) -> str:
    run = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_an_asset_of_dagster_follows_a_table(tmp_path: Path) -> None:
    pytest.importorskip("dagster")
    pytest.importorskip("deltalake")
    assert output(EXAMPLES / "dagster/run_days.py", tmp_path / "dagster") == (
        "the first day: 3 rows read, controls +2 -0\n"
        "  Harbor controls 1, Ridge controls 1\n"
        "Lake takes Dock over: 3 rows read, controls +2 -1\n"
        "  Harbor controls 2, Lake controls 1\n"
        "Harbor sells Lake: 3 rows read, controls +2 -2\n"
        "  Mill controls 2, Lake controls 1\n"
    )


@pytest.mark.slow
def test_models_of_dbt_feed_a_pipeline_and_read_it(tmp_path: Path) -> None:
    pytest.importorskip("dbt.adapters.duckdb")
    assert output(EXAMPLES / "dbt/dbt_days.py", tmp_path / "dbt") == (
        "day 1: Harbor controls 1, Ridge controls 1\n"
        "day 2: Harbor controls 2, Lake controls 1\n"
        "day 3: Mill controls 2, Lake controls 1\n"
    )


@pytest.mark.slow
def test_a_declarative_pipeline_feeds_a_database_and_reads_it(tmp_path: Path) -> None:
    pytest.importorskip("pyspark.pipelines")
    pytest.importorskip("yaml", reason='spark-pipelines needs `pip install "pyspark[pipelines]"`')
    found = output(EXAMPLES / "declarative/run_updates.py", tmp_path / "declarative")
    updates = found.split("update ")[1:]
    assert [update.split("\n")[0] for update in updates] == [
        "1: reach has no rows",
        "2: reach has hub → east, hub → west, start → east, start → hub, start → west",
        "3: reach has east → end, hub → east, hub → end, start → east, start → end, start → hub",
    ]
    assert [update.split("\n")[2] for update in updates] == [f"  {taken} batches taken" for taken in (1, 1, 0)]
    assert all(f"{host} reaches {count}" in updates[2] for host, count in (("east", 1), ("hub", 2), ("start", 3)))
