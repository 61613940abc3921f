"""What a benchmark is, and what it is run with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tidelog.bench.measure import Outcome


class Scale(StrEnum):
    """How much: `tiny` in seconds, to see that everything runs; `small` in minutes; `full` is what figures are for."""

    TINY = "tiny"
    SMALL = "small"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Settings:
    """`data`: the folder with real data, if any. `peers`: names of other systems to run. `say`: where talk goes.

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
    """`shows` in half a sentence; `data` says what it reads, and what stands in without it; `cases` what is timed."""

    name: str
    shows: str
    data: str
    cases: tuple[str, ...]
    run: Callable[[Settings], Outcome]
