"""A benchmark and its settings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from pathlib import Path

from tidelog.bench.measure import Outcome
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.diagnostics.suggest import suggest


class Scale(StrEnum):
    """The size of inputs: `tiny` takes seconds, for tests; `small` takes minutes; `full` is for figures."""

    TINY = "tiny"
    SMALL = "small"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Settings:
    """`data`: the folder with real data, if any. `peers`: names of other systems to run. `say`: prints progress.

    `threads`: for Tidelog's epochs; None for its default. `programs`: those of a suite to run; all if empty.
    """

    scale: Scale
    data: Path | None
    peers: tuple[str, ...]
    repeat: int
    say: Callable[[str], None]
    threads: int | None = None
    programs: tuple[str, ...] = ()

    def file(self, name: str) -> Path | None:
        """Returns the file or folder of that name in the folder with real data; None if it is not there."""
        path = self.data / name if self.data is not None else None
        return path if path is not None and path.exists() else None

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

    def run(self, settings: Settings) -> Outcome:
        """Runs the suite of the same name, whose module is imported only now."""
        suite = self.name.replace("-", "_")
        outcome: Outcome = getattr(import_module(f"tidelog.bench.suites.{suite}"), suite)(settings)
        return outcome


def known_names(names: Sequence[str], known: Collection[str], what: str, code: Code) -> tuple[str, ...]:
    """Returns the names, each once. Raises UsageError for a name that is not known; `what` it should be a name of."""
    for name in names:
        if name not in known:
            meant = suggest(name, known)
            raise UsageError(
                f"there is no {what} `{name}`",
                code=code,
                help=f"did you mean `{meant}`?" if meant else f"the {what}s are {', '.join(known)}",
            )
    return tuple(dict.fromkeys(names))
