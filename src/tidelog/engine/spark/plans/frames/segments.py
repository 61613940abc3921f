"""Rows to which a loop of jobs adds, as a few frames that are spread alike: what a job made, no later one makes again.

    8 8 2 1 | 1      segments by their size in jobs, the oldest first; the last is what the last job made

When there are `FAN` of a size, they become one, so that plans have a size that hardly grows with the jobs, and a row is
copied a few times at most. The copying is done by the next job that reads them, without a job of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from tidelog.engine.spark.plans.frames.cut_lineage import cut, release

FAN = 4
"""So many segments of one size become one."""

_WHOLE = -1
"""The size of a segment that was made of all others, and stays until the end."""


@dataclass(frozen=True, slots=True)
class _Segment:
    rows: Any
    made: Sequence[Any]
    tier: int


class Segments:
    """Segments in the order in which they came. `merge`: a frame with the rows of some → what is kept instead."""

    def __init__(self, merge: Callable[[Any], Any]) -> None:
        self._merge = merge
        self._segments: list[_Segment] = []
        self._replaced: list[Any] = []

    def __bool__(self) -> bool:
        return bool(self._segments)

    @property
    def last(self) -> Any:
        """What the last job made."""
        return self._segments[-1].rows

    @property
    def all(self) -> Any:
        """All rows."""
        return _together(self._segments)

    @property
    def earlier(self) -> Any | None:
        """All rows but those of the last job; None where there are none."""
        return _together(self._segments[:-1]) if len(self._segments) > 1 else None

    def add(self, made: Sequence[Any]) -> None:
        """Adds what a job has made, which has read all others: rows, and what they came from (`settle.measured`)."""
        self._read()
        self._gather()
        self._segments.append(_Segment(made[0], made, 0))

    def become(self, made: Sequence[Any]) -> None:
        """A job has made one segment of all others."""
        self.drop()
        self._segments.append(_Segment(made[0], made, _WHOLE))

    def take(self) -> tuple[Any, list[Any]]:
        """All rows merged, which the next job that reads them computes, and what is to be released with them; until
        that job is done, the segments must not be dropped."""
        if len(self._segments) == 1:
            (only,) = self._segments
            self._segments.clear()
            return only.rows, list(only.made)
        rows = cut(self._merge(self.all))
        return rows, [rows]

    def drop(self) -> None:
        """Lets go of everything."""
        release(*self._replaced, *(frame for segment in self._segments for frame in segment.made))
        self._replaced.clear()
        self._segments.clear()

    def _read(self) -> None:
        """A job has read all segments: now they are there without what they came from."""
        release(*self._replaced)
        self._replaced.clear()
        for i, segment in enumerate(self._segments):
            if len(segment.made) > 1:
                release(*segment.made[1:])
                self._segments[i] = _Segment(segment.rows, segment.made[:1], segment.tier)

    def _gather(self) -> None:
        """Makes one segment of the last ones of a size, if they are enough; of these and more, if that makes enough."""
        first, tier = len(self._segments), 0
        while True:
            alike = 0
            while alike < first and self._segments[first - alike - 1].tier == tier:
                alike += 1
            is_one = first < len(self._segments)
            if alike + is_one < FAN:
                break
            first, tier = first - alike, tier + 1
        if tier:
            gathered = self._segments[first:]
            rows = cut(self._merge(_together(gathered)))
            self._replaced += [frame for segment in gathered for frame in segment.made]
            self._segments[first:] = [_Segment(rows, [rows], tier)]


def _together(segments: Sequence[_Segment]) -> Any:
    return reduce(lambda left, right: left.unionByName(right), (segment.rows for segment in segments))
