"""What an epoch reports: how each stratum was brought up to date, why that way, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidelog.diagnostics.html import html_table


@dataclass(frozen=True, slots=True)
class StratumReport:
    """What one stratum cost in one epoch, and why it was done that way.

    A round counts, here and for `max_rounds`, where it finds rows that come or go; the last look, which finds nothing,
    does not. So a stratum without recursion takes one round, a closure as many as its longest shortest path has edges,
    and an Update those in which rows go and those in which rows come. `impact` is exact where the stratum was repaired.
    Where it was derived anew, rows before and after are compared, but not how each was derived: it is the least that
    fits to how many rows came and left, and to how many instances there were and are.
    """

    relations: tuple[str, ...]
    strategy: str  # "bootstrap", "update", "recompute"; or the only way of a stratum: "groups", "weights", "rounds", …
    place: str  # "local", "decomposed", "single task", "frames"
    reason: str
    rounds: int
    instances: int  # rule instances born or killed; where the stratum was derived anew, all that it has
    seconds: float
    events: int = 0  # facts and rows of lower strata that changed
    impact: float = 0.0  # instances born or killed, as a share of those that there were
    expected_update: float | None = None  # seconds, as past epochs foretold; None where they could not
    expected_bootstrap: float | None = None
    given_up: float = 0.0  # seconds spent in an Update that was given up; they are part of `seconds`
    given_up_instances: int = 0  # what that Update had born or killed; not part of `instances`
    regret: float | None = None  # seconds above the better of the two that were expected; None where none was
    by_round: tuple[tuple[int, float], ...] = ()  # on frames: the rows that each round (or wave) found, its seconds


def regret(seconds: float, *expected: float | None) -> float | None:
    """What was taken above the better of what was expected; None where nothing was."""
    known = [each for each in expected if each is not None]
    return max(seconds - min(known), 0.0) if known else None


@dataclass(frozen=True, slots=True)
class EpochReport:
    """What an epoch did: `strata` in their order, `seconds` for all of it, `rows` and `bytes` per relation after it."""

    epoch: int
    strata: tuple[StratumReport, ...]
    seconds: float
    inserted: int  # rows that came to output relations
    deleted: int  # rows that left output relations
    rows: Mapping[str, int] = field(default_factory=dict)
    bytes: Mapping[str, int] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        """For notebooks: what each stratum that had something to do did."""
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
        return html_table(caption, headings, rows, len(busy))
