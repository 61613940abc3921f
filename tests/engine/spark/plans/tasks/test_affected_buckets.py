"""Buckets that a change cannot meet have no task; what they missed reaches their engines later."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from tests.engine.spark.in_process import ALWAYS, NoSpark, tasks_here
from tests.engine.spark.programs import LINEAR

import tidelog
from tidelog.engine.spark.epoch import run_epoch
from tidelog.engine.spark.plans.tasks.key_filters import KeyFilter
from tidelog.engine.spark.storage.bucket import bucket_of_column

pytest.importorskip("pyspark")

BUCKETS = 3


@contextmanager
def counted() -> Iterator[list[tuple[int, ...]]]:
    """The buckets that have tasks, job by job."""
    jobs: list[tuple[int, ...]] = []
    with tasks_here(lambda: ALWAYS, seed=1, partitioned_share=0):
        run = vars(run_epoch)["run_tasks"]

        def count(spark: Any, job: Any, workers: Any) -> Any:
            jobs.append(job.bucket_numbers)
            return run(spark, job, workers)

        with mock.patch.object(run_epoch, "run_tasks", count):
            yield jobs


def bucket_of(value: int) -> int:
    return int(bucket_of_column(pa.chunked_array([pa.array([value], pa.uint32())]), BUCKETS)[0])


def test_a_change_that_no_row_is_joined_with_has_a_task_only_where_its_pivot_is() -> None:
    with counted() as jobs, tidelog.compile(LINEAR).open(engine="spark", spark=NoSpark()) as database:
        with database.transaction() as tx:
            tx.insert("Edge", [(i, i + 100) for i in range(30)])
        jobs.clear()
        with database.transaction() as tx:
            tx.insert("Edge", [(500, 501)])
        assert jobs == [(bucket_of(500),)]
        assert tx.changes["Reach"].inserted == [(500, 501)]
        assert database.report.strata[0].reason.endswith(f"1 of {BUCKETS} buckets")


def test_a_change_that_rows_are_joined_with_has_a_task_where_they_are() -> None:
    with counted() as jobs, tidelog.compile(LINEAR).open(engine="spark", spark=NoSpark()) as database:
        with database.transaction() as tx:
            tx.insert("Edge", [(i, i + 100) for i in range(30)])
        jobs.clear()
        with database.transaction() as tx:
            tx.insert("Edge", [(107, 108)])
        assert jobs == [tuple(sorted({bucket_of(7), bucket_of(107)}))]
        assert set(tx.changes["Reach"].inserted) == {(107, 108), (7, 108)}


def test_a_change_that_meets_nothing_at_all_needs_no_job() -> None:
    text = """
    input relation Start(x: u32)
    input relation Edge(x: u32, y: u32)
    output relation Reach(x: u32, y: u32)
    Reach(x, x) :- Start(x).
    Reach(x, z) :- Reach(x, y), Edge(y, z).
    """
    with counted() as jobs, tidelog.compile(text).open(engine="spark", spark=NoSpark()) as database:
        with database.transaction() as tx:
            tx.insert("Start", [(i,) for i in range(30)])
        jobs.clear()
        with database.transaction() as tx:
            tx.insert("Edge", [(100, 101), (101, 102)])
        assert jobs == []
        assert len(database.relation("Edge")) == 2
        with database.transaction() as tx:
            tx.insert("Edge", [(3, 100)])
        assert jobs == [(bucket_of(3),)]
        assert tx.changes["Reach"].inserted == [(3, 100), (3, 101), (3, 102)], "what was missed is there"


def test_engines_that_missed_changes_catch_up_and_agree_with_the_local_engine() -> None:
    dice = random.Random(4)
    with (
        counted() as jobs,
        tidelog.compile(LINEAR).open() as local,
        tidelog.compile(LINEAR).open(engine="spark", spark=NoSpark()) as remote,
    ):
        edges: set[tuple[int, int]] = set()
        for _ in range(60):
            came = {(dice.randrange(40), dice.randrange(40)) for _ in range(2)} - edges
            went = set(dice.sample(sorted(edges), min(len(edges), dice.randrange(3))))
            edges = edges - went | came
            for database in (local, remote):
                with database.transaction() as tx:
                    tx.delete("Edge", sorted(went))
                    tx.insert("Edge", sorted(came))
            assert remote.relation("Reach").rows() == local.relation("Reach").rows()
    assert any(len(buckets) < BUCKETS for buckets in jobs[1:])


def test_a_filter_never_denies_a_value_that_it_was_given() -> None:
    values = pa.chunked_array([pa.array(range(0, 3000, 3), pa.int64())])
    filter_ = KeyFilter.of(values)
    assert filter_.may_have(values).all()
    others = pa.chunked_array([pa.array(range(1, 3000, 3), pa.int64())])
    assert filter_.may_have(others).mean() < 0.15
    assert filter_.with_values(others).may_have(others).all()
