"""The clock of work does not count seconds in which the process waits."""

from __future__ import annotations

from time import perf_counter, sleep

import pytest

from tidelog.maintain import work_clock
from tidelog.maintain.work_clock import WorkClock


def test_waiting_does_not_count() -> None:
    clock = WorkClock()
    began, wall = clock(), perf_counter()
    sleep(0.05)
    assert clock() - began < (perf_counter() - wall) / 2


def test_the_lesser_of_wall_and_processor_counts_from_call_to_call(monkeypatch: pytest.MonkeyPatch) -> None:
    wall = iter([10.0, 11.0, 13.0, 13.5])
    processor = iter([1.0, 3.0, 3.25, 3.75])
    monkeypatch.setattr(work_clock, "perf_counter", lambda: next(wall))
    monkeypatch.setattr(work_clock, "process_time", lambda: next(processor))
    clock = WorkClock()
    assert [clock() for _ in range(3)] == [1.0, 1.25, 1.75]
