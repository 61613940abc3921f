"""Many epochs of a stratum on frames: what they leave behind, and what the driver plans, does not grow with them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.engine.spark.parity import Step, open_on_spark, write
from tests.engine.spark.programs import LINEAR

from tidelog.engine.spark.engine import Access, SparkEngine

pytestmark = pytest.mark.spark

KEPT_EPOCHS = 2
# After so many epochs a change, its undoing and the epochs that files stay for have all been seen.
SETTLED = 4


@dataclass(frozen=True, slots=True)
class Left:
    """What there is after an epoch: of the driver's plan of the state its text and its nodes, what Spark keeps, and
    what lies in the directory, where folders have names by epochs and so may have a digit more."""

    plan: int
    nodes: int
    frames: int
    blocks: int
    files: int
    manifests: int
    manifest: int


def left(spark: Any, engine: SparkEngine, directory: Path) -> Left:
    (_, kept) = engine._frames.states._states["Reach",]
    plan = kept.rows._jdf.queryExecution().analyzed()
    storage = spark.sparkContext._jsc.sc().getRDDStorageInfo()
    (manifest,) = directory.glob("manifest-*.json")
    return Left(
        plan=len(plan.toString()),
        nodes=plan.collectLeaves().size() + plan.toString().count("\n"),
        frames=spark.sparkContext._jsc.getPersistentRDDs().size(),
        blocks=sum(info.numCachedPartitions() for info in storage),
        files=sum(path.is_file() for path in directory.rglob("*")),
        manifests=len(list(directory.glob("manifest-*"))),
        manifest=manifest.stat().st_size,
    )


def check_growth(spark: Any, directory: Path, epochs: int) -> None:
    """Inserts and deletes an edge, time and again, and compares what is left after each epoch with what was left after
    the same one before."""
    access = Access(keep_epochs=KEPT_EPOCHS)
    options = {"path": str(directory), "access": access, "plans": {"Reach": "frames"}}
    with open_on_spark(LINEAR, spark, **options) as database:
        write(database, ({"Edge": [(1, 2), (2, 3)]}, {}))
        seen: list[Left] = []
        for epoch in range(epochs):
            step: Step = ({"Edge": [(7, 8)]}, {}) if epoch % 2 == 0 else ({}, {"Edge": [(7, 8)]})
            tx = write(database, step)
            assert tx.report is not None
            assert tx.report.strata[0].place == "frames"
            engine = database._locked._engine
            assert isinstance(engine, SparkEngine)
            seen.append(left(spark, engine, directory))
        assert len(database.relation("Reach")) == (3 if epochs % 2 == 0 else 4)
    early, late = seen[SETTLED : SETTLED + 2], seen[-2:]
    assert max(each.nodes for each in late) == max(each.nodes for each in early)
    assert max(each.plan for each in late) <= max(each.plan for each in early) + 50, "ids have more digits"
    assert max(each.frames for each in late) <= max(each.frames for each in early)
    assert max(each.blocks for each in late) <= max(each.blocks for each in early)
    # An Update leaves a file more than a Bootstrap, and the switch decides by what they took.
    assert max(each.files for each in late) <= max(each.files for each in early) + KEPT_EPOCHS + 1
    assert {each.manifests for each in seen} == {1}
    assert max(each.manifest for each in late) <= max(each.manifest for each in early) + 200, "epochs have more digits"
    assert len(spark.sparkContext._jsc.getPersistentRDDs()) < seen[-1].frames, "closing gives back what Spark keeps"


@pytest.mark.slow
def test_twelve_epochs_leave_no_more_behind_than_six(spark: Any, tmp_path: Path) -> None:
    check_growth(spark, tmp_path, epochs=12)


@pytest.mark.slow
def test_a_hundred_epochs_leave_no_more_behind_than_six(spark: Any, tmp_path: Path) -> None:
    check_growth(spark, tmp_path, epochs=100)
