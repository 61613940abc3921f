"""A benchmark and its settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tidelog.bench.measure import Outcome


class Scale(StrEnum):
    """The size of inputs: `tiny` takes seconds, for tests; `small` takes minutes; `full` is for figures."""

    TINY = "tiny"
    SMALL = "small"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Settings:
    """`data`: the folder with real data, if any. `peers`: names of other systems to run. `say`: prints progress.

    `threads`: for Tidelog's epochs; None for its default.
    """

    scale: Scale
    data: Path | None
    peers: tuple[str, ...]
    repeat: int
    say: Callable[[str], None]
    threads: int | None = None

    def pick(self, tiny: int, small: int, full: int) -> int:
        """Returns the number for this scale."""
        return {Scale.TINY: tiny, Scale.SMALL: small, Scale.FULL: full}[self.scale]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """`shows`: half a sentence; `data`: the data it reads, and their substitute; `cases`: what is timed."""

    name: str
    shows: str
    data: str
    cases: tuple[str, ...]
    run: Callable[[Settings], Outcome]
