"""Tasks share the buckets of a job: each is done once, where its engine is kept if that process comes in time."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.clock import HeldClock

from tidelog.engine.spark.plans.tasks import claim
from tidelog.engine.spark.plans.tasks.claim import PATIENCE, claimed_buckets


def test_every_bucket_is_claimed_once_however_many_tasks_there_are(tmp_path: Path) -> None:
    def task(_: int) -> list[int]:
        return list(claimed_buckets(str(tmp_path), "label", [None] * 20, lambda bucket: False))

    with ThreadPoolExecutor(6) as pool:
        claimed = [bucket for task_buckets in pool.map(task, range(6)) for bucket in task_buckets]
    assert sorted(claimed) == list(range(20))


def test_a_task_begins_with_what_its_process_keeps(tmp_path: Path) -> None:
    owners = [None, os.getpid(), None, os.getpid()]
    assert list(claimed_buckets(str(tmp_path), "label", owners, lambda bucket: bucket == 3)) == [3, 0, 1, 2]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> HeldClock:
    """The clock of claims, which passes only while a task sleeps."""
    held = HeldClock()
    monkeypatch.setattr(claim, "time", held)
    return held


def test_a_bucket_kept_elsewhere_is_left_alone_for_a_moment_and_then_taken(tmp_path: Path, clock: HeldClock) -> None:
    assert list(claimed_buckets(str(tmp_path), "label", [-1, None], lambda bucket: False)) == [1, 0]
    assert clock.now >= PATIENCE


def test_a_task_ends_at_once_when_all_is_claimed(tmp_path: Path, clock: HeldClock) -> None:
    (tmp_path / "claim.label.0").touch()
    assert list(claimed_buckets(str(tmp_path), "label", [-1], lambda bucket: False)) == []
    assert clock.now == 0


def test_another_attempt_has_claims_of_its_own(tmp_path: Path) -> None:
    for label in ("first", "second"):
        assert list(claimed_buckets(str(tmp_path), label, [None], lambda bucket: False)) == [0]
