"""The plan `partitioned` on Spark: the rows and the numbers of the local engine, whatever is lost or fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.engine.spark.parity import Step, open_on_spark, parity, write
from tests.engine.spark.plans.partitioned.programs import CLOSURE, MUTUAL, SAME_GENERATION
from tests.engine.spark.programs import rules_of

import tidelog
from tidelog.database.database import Database
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import EvaluationError
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.spark.engine import SparkEngine
from tidelog.engine.spark.epoch import run_epoch
from tidelog.engine.spark.plans.choose_plan import Plan
from tidelog.engine.spark.plans.partitioned import task
from tidelog.engine.spark.storage.state_files import NUMBERS, read_rows
from tidelog.maintain.limits import Limits
from tidelog.maintain.options import Maintenance

pytestmark = pytest.mark.spark

TREE = [(i, (i - 1) // 2) for i in range(1, 15)]
SAME = {"Same": "partitioned"}


def forget_engines(spark: Any) -> None:
    """Makes all Python processes of Spark forget the engines that they keep."""

    def forget(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from tidelog.engine.spark.plans.tasks.engine_cache import ENGINES  # the cache of that process, not a copy

        ENGINES.__init__()  # type: ignore[misc]
        yield from batches

    spark.range(0, 2, 1, 2).mapInArrow(forget, "id long", barrier=True).collect()


def engine_on_spark(text: str, spark: Any, relation: str) -> SparkEngine:
    options = Maintenance(strategy="update")
    return SparkEngine(rules_of(text), spark=spark, plans={relation: "partitioned"}, maintenance=options)


def same(ups: list[tuple[int, int]]) -> list[tuple[int, int]]:
    with tidelog.compile(SAME_GENERATION).open() as local:
        write(local, ({"Up": ups}, {}))
        return list(local.relation("Same").rows())


def test_epochs_on_spark_are_those_of_the_local_engine(spark: Any) -> None:
    steps = [
        ({"Up": TREE}, {}),
        ({"Up": [(3, 2)]}, {"Up": [(3, 1), (7, 3)]}),
        ({"Up": [(20, 6)]}, {"Up": [(2, 0)]}),
    ]
    reports = parity(SAME_GENERATION, steps, spark, plans=SAME)
    assert {each.place for report in reports for each in report.strata} == {"partitioned"}
    assert [report.strata[0].strategy for report in reports[1:]] == ["bootstrap", "update", "update"]


def test_two_copies_and_lost_engines_keep_the_numbers_of_the_local_engine(spark: Any) -> None:
    rules = rules_of(CLOSURE)
    local, engine = LocalEngine(rules, strategy="update"), engine_on_spark(CLOSURE, spark, "Reach")
    ring = [(i, (i + 1) % 6) for i in range(6)]
    with Database(rules, local) as here, Database(rules, engine) as there:
        for step in (({"Up": [*ring, (2, 8), (8, 9)]}, {}), ({"Up": [(9, 1)]}, {"Up": [(3, 4)]})):
            write(here, step)
            write(there, step)
            table = read_rows(engine._directory, rules.relations["Reach"], engine._stored("Reach"), numbers=True)
            assert sorted(_rows(table)) == sorted(_rows(local.state_table("Reach")))
            forget_engines(spark)


def _rows(table: pa.Table) -> list[tuple[int, ...]]:
    names = [*table.column_names[:2], *NUMBERS]
    return list(zip(*(table.column(name).to_pylist() for name in names), strict=True))


@pytest.mark.slow
def test_a_stratum_moves_between_plans_and_processes(spark: Any, tmp_path: Path) -> None:
    path, rows = str(tmp_path / "state"), {*TREE}
    changes = [({(3, 1)}, {(3, 2)}), ({(5, 2)}, {(5, 1)}), ({(6, 2)}, {(6, 0)})]
    plans = ["single task", "partitioned", "frames", "partitioned"]
    for plan, (deleted, inserted) in zip(plans, [(set[Any](), rows), *changes], strict=True):
        rows = rows - deleted | inserted
        program = tidelog.compile(SAME_GENERATION)
        with program.open(path=path, engine="spark", spark=spark, plans={"Same": plan}) as database:
            write(database, ({"Up": sorted(inserted)}, {"Up": sorted(deleted)}))
            assert database.report.strata[0].place == plan
            assert list(database.relation("Same").rows()) == same(sorted(rows))


def test_a_job_whose_task_was_lost_is_started_again(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_on_spark(SAME_GENERATION, spark, "Same")
    with Database(rules_of(SAME_GENERATION), engine) as database:
        write(database, ({"Up": TREE}, {}))
        directory, number = engine.staging()
        # One task finds that it has run before, as after the loss of an executor.
        Path(directory.local_folder(number), "sent.lost00000000.begun.1").write_bytes(b"1")
        names = iter(["lost00000000", "found0000000"])
        monkeypatch.setattr(task, "new_name", lambda: next(names))
        write(database, ({}, {"Up": [(3, 1)]}))
        assert next(names, None) is None
        assert list(database.relation("Same").rows()) == same([row for row in TREE if row != (3, 1)])


@pytest.mark.slow
def test_frames_take_over_where_tasks_cannot_run_together(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> list[Any]:
        raise EvaluationError("a Spark job failed: no slots", code=Code.SPARK_JOB_FAILED)

    with open_on_spark(SAME_GENERATION, spark, plans=SAME) as database:
        write(database, ({"Up": TREE}, {}))
        monkeypatch.setattr(run_epoch, "run_partitioned", fails)
        write(database, ({}, {"Up": [(3, 1)]}))
        (report,) = database.report.strata
        assert (report.place, "no slots" in report.reason) == (Plan.FRAMES.value, True)
        monkeypatch.undo()
        write(database, ({"Up": [(3, 1)]}, {"Up": [(4, 1)]}))
        assert database.report.strata[0].place == "partitioned"
        assert list(database.relation("Same").rows()) == same([row for row in TREE if row != (4, 1)])


DIVIDING = """
input relation Up(x: u32, y: u32)
output relation Near(x: u32, y: u32)
Near(x, y) :- Up(x, y).
Near(x, 100 / y) :- Near(y, x), Up(_, y).
"""


def test_an_error_in_one_task_ends_all_and_leaves_the_last_epoch(spark: Any) -> None:
    with open_on_spark(DIVIDING, spark, plans={"Near": "partitioned"}) as database:
        write(database, ({"Up": [(1, 2), (2, 5)]}, {}))
        before = list(database.relation("Near").rows())
        with pytest.raises(EvaluationError, match="the last commit is intact"):
            write(database, ({"Up": [(3, 0), (0, 3)]}, {}))
        assert list(database.relation("Near").rows()) == before
        write(database, ({"Up": [(4, 2)]}, {"Up": [(1, 2)]}))
        assert database.report.strata[0].place == "partitioned"
    with tidelog.compile(DIVIDING).open() as local:
        write(local, ({"Up": [(2, 5), (4, 2)]}, {}))
        expected = list(local.relation("Near").rows())
    assert before != expected


GROWING = """
input relation Up(x: u32, y: u32)
output relation Far(x: u32, y: u32)
Far(x, y) :- Up(x, y).
Far(y, x + 1) :- Far(x, y).
"""


def test_limits_end_all_tasks(spark: Any) -> None:
    options = Maintenance(limits=Limits(max_rounds=6))
    rules = rules_of(GROWING)
    engine = SparkEngine(rules, spark=spark, plans={"Far": "partitioned"}, maintenance=options)
    with Database(rules, engine) as database:
        with pytest.raises(EvaluationError, match="needs more than 6 rounds"):
            write(database, ({"Up": [(1, 2)]}, {}))
        assert list(database.relation("Far").rows()) == []


@pytest.mark.slow
def test_mutual_recursion_and_negation_on_spark(spark: Any) -> None:
    steps: list[Step] = [
        ({"Up": [(i, (i * 5 + 1) % 9) for i in range(9)], "Block": [4]}, {}),
        ({"Block": [2], "Up": [(4, 4), (1, 3)]}, {"Block": [4]}),
        ({"Up": [(7, 3)]}, {"Up": [(1, 3), (0, 1)]}),
    ]
    parity(MUTUAL, steps, spark, plans={"Odd": "partitioned"})
