"""The clock with which costs are compared: seconds of work, without those in which other processes had the processor.

Decisions between two ways of the same work are made by measured seconds. On a busy machine a process may wait for its
turn in the middle of a measurement, and one wait of 40 ms made a fast way look slow for the rest of the load.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter, process_time


class WorkClock:
    """Counts, from one call to the next, the seconds on the wall or those of the processor, whichever are fewer.

    Several threads use more seconds of processors than pass on the wall, a process that waits for its turn fewer.
    The seconds of `pardoned`, in which kernels are compiled, are no work.
    """

    def __init__(self, pardoned: Callable[[], float] | None = None) -> None:
        self._seconds = 0.0
        self._pardoned = pardoned or _none
        self._wall, self._processor = perf_counter() - self._pardoned(), process_time()

    def __call__(self) -> float:
        wall, processor = perf_counter() - self._pardoned(), process_time()
        self._seconds += max(min(wall - self._wall, processor - self._processor), 0.0)
        self._wall, self._processor = wall, processor
        return self._seconds


def _none() -> float:
    return 0.0
