"""What a command is doing now: timed always, shown on a terminal, silent in a pipe."""

from __future__ import annotations

from time import perf_counter
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.status import Status


class Progress:
    """One phase after the other, inside a `with` block. `seconds` has the time of each, in their order."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        console = Console(stderr=True)
        self._status = Status("", console=console) if console.is_terminal else None
        self._phase = ""
        self._started = 0.0

    def start(self, phase: str, detail: str = "") -> None:
        """Ends the current phase and begins another, or the same one on another thing (`read`, `Edge.csv`)."""
        self._end()
        self._phase, self._started = phase, perf_counter()
        if self._status is not None:
            self._status.update(f"{phase} {detail}".rstrip())

    def __enter__(self) -> Self:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()
        if self._status is not None:
            self._status.stop()

    def _end(self) -> None:
        if self._phase:
            taken = perf_counter() - self._started
            self.seconds[self._phase] = self.seconds.get(self._phase, 0.0) + taken
            self._phase = ""
