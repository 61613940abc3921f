"""The report of an epoch: how each stratum was maintained, why that way, and the cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tidelog.diagnostics.shown import TEXT_WIDTH, Shown, Table

_WORTH_SAYING = 0.5  # seconds of compiling; to load all kernels takes less


@dataclass(frozen=True, slots=True)
class StratumReport:
    """The cost of one stratum in one epoch, and why it was maintained that way.

    A round counts, here and for `max_rounds`, if it finds rows to insert or delete; the last one, which finds nothing,
    does not. So a stratum without recursion takes one round, a closure as many as its longest shortest path
    has edges, and an Update those that delete and those that insert. `impact` is exact after an Update. After a full
    recompute the rows before and after are compared, but not how each was derived: then `impact` is the least that fits
    the numbers of inserted and deleted rows and of instances before and after.
    """

    relations: tuple[str, ...]
    strategy: str  # "bootstrap", "update", "recompute"; or the only way of a stratum: "groups", "weights", "rounds", …
    place: str  # "local", "decomposed", "single task", "partitioned", "frames"
    reason: str
    rounds: int
    instances: int  # rule instances born or killed; after a full recompute, all that it has
    seconds: float
    events: int = 0  # facts and rows of lower strata that changed
    impact: float = 0.0  # instances born or killed, as a share of those before the epoch
    expected_update: float | None = None  # seconds, expected from past epochs; None if unknown
    expected_bootstrap: float | None = None
    given_up: float = 0.0  # seconds spent in an Update that was given up; they are part of `seconds`
    given_up_instances: int = 0  # instances born or killed by that Update; not part of `instances`
    regret: float | None = None  # seconds above the better of the two that were expected; None where none was
    by_round: tuple[tuple[int, float], ...] = ()  # on frames: the rows that each round (or wave) found, its seconds


def regret(seconds: float, *expected: float | None) -> float | None:
    """Returns the seconds above the better of the two expectations; None if there are none."""
    known = [each for each in expected if each is not None]
    return max(seconds - min(known), 0.0) if known else None


def waited(compiling: float) -> str:
    """Returns a note of the seconds in which kernels were compiled, if they are worth one."""
    return f", of which {compiling:.1f} s to compile kernels" if compiling >= _WORTH_SAYING else ""


@dataclass(frozen=True, slots=True)
class EpochReport(Shown):
    """The report of an epoch: `strata` in order, `seconds` for all of it, `rows` and `bytes` per relation after it.

    `compiling` are the seconds of these in which kernels were compiled or loaded; no stratum and no rule has them.
    """

    epoch: int
    strata: tuple[StratumReport, ...]
    seconds: float
    inserted: int  # rows of output relations
    deleted: int  # rows of output relations
    rows: Mapping[str, int] = field(default_factory=dict)
    bytes: Mapping[str, int] = field(default_factory=dict)
    compiling: float = 0.0

    def _tables(self) -> Iterator[Table]:
        """Yields the strata that had something to do."""
        headings = ("relations", "strategy", "place", "reason", "rounds", "instances", "seconds")
        busy = [stratum for stratum in self.strata if stratum.rounds or stratum.instances]
        rows = (
            (
                ", ".join(each.relations),
                each.strategy,
                each.place,
                each.reason,
                f"{each.rounds:,}",
                f"{each.instances:,}",
                f"{each.seconds:.4f}",
            )
            for each in busy
        )
        caption = f"epoch {self.epoch}: +{self.inserted:,} -{self.deleted:,} in {self.seconds:.4f} s"
        caption += waited(self.compiling)
        yield Table(caption, headings, rows, len(busy))

    def __str__(self) -> str:
        return self._text(TEXT_WIDTH)
