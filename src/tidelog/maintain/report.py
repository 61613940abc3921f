"""What an epoch reports: how each stratum was brought up to date, why that way, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class StratumReport:
    """What one stratum cost in one epoch, and why it was done that way."""

    relations: tuple[str, ...]
    strategy: str  # "bootstrap", "update", "recompute", "unchanged"
    place: str  # "local", "decomposed", "single task", "frames"
    reason: str
    rounds: int
    instances: int  # rule instances born or killed
    seconds: float


@dataclass(frozen=True, slots=True)
class EpochReport:
    """What an epoch did: `strata` in their order, `seconds` for all of it, `rows` per relation after it."""

    epoch: int
    strata: tuple[StratumReport, ...]
    seconds: float
    inserted: int  # rows that came to output relations
    deleted: int  # rows that left output relations
    rows: Mapping[str, int] = field(default_factory=dict)
