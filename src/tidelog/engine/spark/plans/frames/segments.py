"""Rows to which a loop of jobs adds, as a few frames that are spread alike: no job copies all rows of earlier ones.

    8 8 2 1 | 1      segments by their size in jobs, the oldest first; the last is of the last job

`FAN` segments of a size become one, so the size of plans hardly grows with the jobs, and a row is copied a few times at
most. The next job that reads them does the copying; it needs no job of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tidelog.engine.spark.plans.frames.cut_lineage import cut, release
from tidelog.engine.spark.storage.scan import union

FAN = 4
"""The number of segments of one size that become one."""

_WHOLE = -1
"""The size of a segment that was made of all others, and stays until the end."""


@dataclass(frozen=True, slots=True)
class _Segment:
    rows: Any
    made: Sequence[Any]
    tier: int


class Segments:
    """Segments, the oldest first. `merge`: a frame with the rows of some segments → the frame that replaces them."""

    def __init__(self, merge: Callable[[Any], Any]) -> None:
        self._merge = merge
        self._segments: list[_Segment] = []
        self._replaced: list[Any] = []

    def __bool__(self) -> bool:
        return bool(self._segments)

    @property
    def last(self) -> Any:
        """The rows of the last job."""
        return self._segments[-1].rows

    @property
    def all(self) -> Any:
        """All rows."""
        return _together(self._segments)

    @property
    def earlier(self) -> Any | None:
        """All rows but those of the last job; None if there are none."""
        return _together(self._segments[:-1]) if len(self._segments) > 1 else None

    def add(self, made: Sequence[Any]) -> None:
        """Adds the frames (`cut_lineage.measured`) of a job that has read all other segments."""
        self._read()
        self._gather()
        self._segments.append(_Segment(made[0], made, 0))

    def become(self, made: Sequence[Any]) -> None:
        """Replaces all segments by the one that a job has made of them."""
        self.drop()
        self._segments.append(_Segment(made[0], made, _WHOLE))

    def take(self) -> tuple[Any, list[Any]]:
        """Returns all rows merged, which the next job that reads them computes, and the frames to release with them.
        Until that job is done, the segments must not be dropped."""
        if len(self._segments) == 1:
            (only,) = self._segments
            self._segments.clear()
            return only.rows, list(only.made)
        rows = cut(self._merge(self.all))
        return rows, [rows]

    def drop(self) -> None:
        """Releases all frames."""
        release(*self._replaced, *(frame for segment in self._segments for frame in segment.made))
        self._replaced.clear()
        self._segments.clear()

    def _read(self) -> None:
        """Releases the frames behind the segments, once a job has read them all."""
        release(*self._replaced)
        self._replaced.clear()
        for i, segment in enumerate(self._segments):
            if len(segment.made) > 1:
                release(*segment.made[1:])
                self._segments[i] = _Segment(segment.rows, segment.made[:1], segment.tier)

    def _gather(self) -> None:
        """Makes one segment of the last ones of a size, if they are `FAN`; of larger ones too, if that makes `FAN`."""
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
    return union(segment.rows for segment in segments)
