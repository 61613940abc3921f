"""What an epoch reports: how each stratum was brought up to date, why that way, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class StratumReport:
    """What one stratum cost in one epoch, and why it was done that way."""

    relations: tuple[str, ...]
    strategy: str  # "bootstrap", "update", "recompute"; or the only way of a stratum: "groups", "weights", "rounds", …
    place: str  # "local", "decomposed", "single task", "frames"
    reason: str
    rounds: int
    instances: int  # rule instances born or killed
    seconds: float
    events: int = 0  # facts and rows of lower strata that changed
    impact: float = 0.0  # instances born or killed, as a share of those that there were


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
