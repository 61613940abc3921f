"""Many epochs of changes: memory and files do not grow with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.database.storage.churn import Churn, Taken, grown, run


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "epochs"), [("memory", 20_000), ("durable", 20_000)])
def test_churn_takes_no_more_in_the_end(kind: str, epochs: int, tmp_path: Path) -> None:
    check(Churn(kind, tmp_path / "db", seed=1, epochs=epochs), epochs)


@pytest.mark.slow
@pytest.mark.spark
def test_churn_on_spark_takes_no_more_in_the_end(tmp_path: Path, spark: Any) -> None:
    check(Churn("spark", tmp_path / "db", seed=1, spark=spark, epochs=1_000), 1_000)


def check(churn: Churn, epochs: int) -> None:
    samples = list(run(churn, epochs))
    churn.check()
    churn.close()
    assert grown(samples)[2] == []


@pytest.mark.parametrize("kind", ["memory", "durable"])
def test_churn_leaves_the_rows_of_a_recomputation(kind: str, tmp_path: Path) -> None:
    churn = Churn(kind, tmp_path / "db", seed=2)
    for number in range(1, 60):
        churn.epoch(number)
    churn.check()
    churn.close()


def test_growth_is_found() -> None:
    even = [Taken(1 << 30, 1 << 20, 20, 1 << 24)] * 100
    assert grown(even)[2] == []
    growing = [Taken(1 << 30, 1 << 20, 20 + number, 1 << 24) for number in range(100)]
    assert grown(growing)[2] == ["files: 39 became 119"]
