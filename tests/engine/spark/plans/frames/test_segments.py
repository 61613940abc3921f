"""Segments: all rows are there after every job, in few frames, none of which is let go before it has been read."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tidelog.engine.spark.plans.frames.segments import FAN, Segments


class Frame:
    """Rows that are there, or that come of frames which are; `localCheckpoint` copies them when they are first read."""

    def __init__(self, rows: Sequence[int] = (), parts: Sequence[Frame] = ()) -> None:
        self._rows: list[int] | None = None if parts else list(rows)
        self._parts = list(parts)
        self._is_cut = False
        self.is_let_go = False

    def unionByName(self, other: Frame) -> Frame:  # noqa: N802
        return Frame(parts=[self, other])

    def localCheckpoint(self, eager: bool) -> Frame:  # noqa: N802
        assert not eager
        made = Frame(parts=[self])
        made._is_cut = True
        return made

    def unpersist(self) -> None:
        assert not self.is_let_go, "let go twice"
        self.is_let_go = True

    def read(self) -> list[int]:
        assert not self.is_let_go, "read after it was let go"
        if self._rows is not None:
            return self._rows
        rows = [row for part in self._parts for row in part.read()]
        if self._is_cut:
            self._rows = rows
        return rows

    def leaves(self) -> int:
        """How many frames a plan that reads this one names."""
        return 1 if self._rows is not None or self._is_cut else sum(part.leaves() for part in self._parts)


def job(row: int, seen: list[Frame]) -> list[Frame]:
    """What a job makes: rows that are kept, and a cut of them that the next one reads."""
    counted = Frame([row])
    made = [counted.localCheckpoint(eager=False), counted]
    seen += made
    return made


@pytest.mark.parametrize("jobs", [1, 2, FAN + 1, FAN**3 + FAN + 2])
def test_all_rows_are_there_after_every_job_and_at_the_end(jobs: int) -> None:
    segments, seen, most = Segments(lambda frame: frame), list[Frame](), 0
    for row in range(jobs):
        if segments:
            assert segments.all.read() == list(range(row))
            assert segments.last.read() == [row - 1]
        segments.add(job(row, seen))
        most = max(most, segments.all.leaves())
    assert most <= 3 * FAN + 2, "a few frames of each size"
    rows, made = segments.take()
    assert rows.read() == list(range(jobs))
    segments.drop()
    assert rows.read() == list(range(jobs))
    assert all(frame.is_let_go for frame in seen if frame not in made)


def test_a_job_that_merged_everything_leaves_one_segment_which_is_not_copied_before_the_end() -> None:
    seen, merged = list[Frame](), list[list[int]]()

    def merge(frame: Frame) -> Frame:
        merged.append(frame.read())
        return frame

    segments = Segments(merge)
    for row in range(3):
        segments.add(job(row, seen))
        segments.all.read()
    segments.become(job(7, seen))
    assert segments.all.read() == segments.last.read() == [7]
    assert segments.earlier is None
    assert all(frame.is_let_go for frame in seen[:-2])
    for row in range(FAN + 1):
        segments.add(job(10 + row, seen))
        segments.all.read()
    assert merged == [list(range(10, 10 + FAN))]
    segments.drop()
    assert all(frame.is_let_go for frame in seen)
