"""A clock that a test holds: time passes when the test, or the code under test, says so, and never by itself."""

from __future__ import annotations


class HeldClock:
    """Stands for the module `time`, and called, for `perf_counter`: each reading may advance it by `step` seconds."""

    def __init__(self, step: float = 0.0) -> None:
        self.now = 0.0
        self.step = step
        self.readings = 0

    def __call__(self) -> float:
        self.readings += 1
        self.now += self.step
        return self.now

    def monotonic(self) -> float:
        return self()

    def perf_counter_ns(self) -> int:
        return round(self() * 1e9)

    def sleep(self, seconds: float) -> None:
        self.now += seconds
