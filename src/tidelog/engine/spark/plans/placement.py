"""Where a stratum runs with `engine="auto"`: in this process, or by the plan that Spark would have, by measured time.

A Spark job costs some tenths of a second however little it does; this process costs nothing to ask, but has one state
in its memory and no other machines. What an epoch of about so many events took in a place is remembered for each
stratum, and the place that is expected to be faster is taken. State moves with it through the epoch's files.

What is not known is guessed, and tried where the guess is clearly better: a decomposed stratum takes what it took here,
divided among the tasks, and a job.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

DRIVER_ROWS = 4_000_000
"""Above this many rows, read and held, a stratum does not run in this process, which needs some 100 bytes for each."""

JOB_SECONDS = 0.3
"""What a Spark job costs, until one was measured."""

SMALL_SHARE = 0.05
"""A change of a smaller share of the rows is tried in this process, whatever was done with larger ones."""

BETTER = 0.7
"""A place that was not measured is tried when it is expected to take this share of the other's time."""

ENOUGH = 2
"""So many measurements say something: the first one in a process also loads kernels, and the first job a session."""

START_SECONDS = 5.0
"""What it costs to start a session."""

_KEPT = 5
_BAND_BITS = 4

Relations = tuple[str, ...]


@dataclass(slots=True)
class Placement:
    """What is known of all strata of a database.

    `workers` says how many tasks run at a time, `is_started` whether there is a session to run them.
    """

    workers: Callable[[], int]
    is_started: Callable[[], bool] = lambda: True
    _seen: dict[tuple[Relations, str], dict[int, deque[float]]] = field(default_factory=dict)
    _jobs: deque[float] = field(default_factory=lambda: deque(maxlen=_KEPT))

    def note(self, relations: Relations, place: str, events: int, seconds: float) -> None:
        """A stratum took so long in a place for a change of so many rows below it."""
        bands = self._seen.setdefault((relations, place), {})
        bands.setdefault(_band(events), deque(maxlen=_KEPT)).append(seconds)

    def note_job(self, seconds: float) -> None:
        """A job took so long beside what its tasks took."""
        self._jobs.append(seconds)

    def expected(self, relations: Relations, place: str, events: int) -> float | None:
        """Seconds; from changes of about the same size, or from the nearest that were smaller, in proportion, or
        larger. None where not enough was measured."""
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
        """Whether this process is the place for a stratum with so many rows, which Spark would run by that plan
        (`is_small`: in one task, because it is), and why."""
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
