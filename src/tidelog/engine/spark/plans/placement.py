"""Place of a stratum with `engine="auto"`: measured times → this process, or the plan that Spark would have.

A Spark job costs some tenths of a second however little it does; this process costs nothing to call, but has one state
in its memory and no other machines. The times of epochs of about the same number of events are remembered for each
stratum and place, and the place with the smaller expected time is taken. State moves with it through the epoch's files.

Unknown times are guessed, and a place is tried where the guess is clearly better: a decomposed stratum takes its time
here, divided among the tasks, plus a job.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

DRIVER_ROWS = 4_000_000
"""Above this many rows, read and held, a stratum does not run in this process, which needs some 100 bytes for each."""

JOB_SECONDS = 0.3
"""Cost of a Spark job, until one was measured."""

SMALL_SHARE = 0.05
"""A change of a smaller share of the rows is tried in this process, whatever was done with larger ones."""

BETTER = 0.7
"""A place that was not measured is tried when it is expected to take this share of the other's time."""

ENOUGH = 2
"""Measurements that are needed: the first one in a process also loads kernels, and the first job a session."""

START_SECONDS = 5.0
"""Cost of the start of a session."""

_KEPT = 5
_BAND_BITS = 4

Relations = tuple[str, ...]


@dataclass(slots=True)
class Placement:
    """Measured times of all strata of a database.

    `workers` returns how many tasks run at a time, `is_started` is True if there is a session to run them.
    """

    workers: Callable[[], int]
    is_started: Callable[[], bool] = lambda: True
    _seen: dict[tuple[Relations, str], dict[int, deque[float]]] = field(default_factory=dict)
    _jobs: deque[float] = field(default_factory=lambda: deque(maxlen=_KEPT))

    def note(self, relations: Relations, place: str, events: int, seconds: float) -> None:
        """Notes the time that a stratum took in a place for a change of `events` rows below it."""
        bands = self._seen.setdefault((relations, place), {})
        bands.setdefault(_band(events), deque(maxlen=_KEPT)).append(seconds)

    def note_job(self, seconds: float) -> None:
        """Notes the time of a job without the time of its tasks."""
        self._jobs.append(seconds)

    def expected(self, relations: Relations, place: str, events: int) -> float | None:
        """Returns the seconds that changes of about this size took, or of the nearest smaller (in proportion) or larger
        size. None if too little was measured."""
        bands = self._seen.get((relations, place))
        if not bands or sum(map(len, bands.values())) < ENOUGH:
            return None
        wanted = _band(events)
        smaller = [band for band in bands if band <= wanted]
        nearest = max(smaller) if smaller else min(bands)
        growth = 1 << (_BAND_BITS * max(wanted - nearest, 0))
        return _lower_median(bands[nearest]) * growth

    def runs_in_driver(
        self, relations: Relations, plan: str, is_small: bool, rows: int, events: int
    ) -> tuple[bool, str]:
        """Returns True if this process is the place for a stratum with so many rows, which Spark would run by `plan`
        (`is_small`: in one task because it is small), and the reason."""
        if rows > DRIVER_ROWS:
            return False, f"{rows:,} rows are too many for this process"
        here, there = self.expected(relations, "driver", events), self.expected(relations, plan, events)
        if here is None:
            if is_small:
                return True, "a Spark job would take longer"
            return events <= SMALL_SHARE * rows, "only small changes are tried in this process"
        if there is None:
            tasks = self.workers() if plan == "decomposed" else 1
            guess = self.job_seconds + here / tasks + (0 if self.is_started() else START_SECONDS)
            return guess > BETTER * here, f"{_shown(here)} in this process, about {_shown(guess)} on Spark"
        return here <= there, f"{_shown(here)} in this process, {_shown(there)} on Spark"

    @property
    def job_seconds(self) -> float:
        return _lower_median(self._jobs) if self._jobs else JOB_SECONDS


def _band(events: int) -> int:
    return events.bit_length() // _BAND_BITS


def _lower_median(values: deque[float]) -> float:
    return sorted(values)[(len(values) - 1) // 2]


def _shown(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.0f} ms"
