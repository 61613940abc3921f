"""What a database can be asked for beside its engine: how strata are kept up to date, and what an epoch may take."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidelog.maintain.limits import Limits, positive, positive_whole
from tidelog.maintain.strategies import DEFAULT_STRATEGY, check_strategy

DEFAULT_SWITCH = 0.2
# What is asked for beyond that is not worth the memory that each thread takes.
MOST_THREADS = 256


@dataclass(frozen=True, slots=True)
class Maintenance:
    """Options that fit together. Raises UsageError for one that cannot be.

    `switch`: the share of a stratum's last Bootstrap's time after which an Update is given up while nothing is known of
    what Updates cost there. `threads`: how many may work on one epoch; None is for the engine to choose.
    """

    strategy: str = DEFAULT_STRATEGY
    switch: float = DEFAULT_SWITCH
    threads: int | None = None
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        check_strategy(self.strategy)
        object.__setattr__(self, "switch", positive("switch", self.switch))
        if self.threads is not None:
            object.__setattr__(self, "threads", min(positive_whole("threads", self.threads), MOST_THREADS))

    @classmethod
    def asked(
        cls,
        *,
        strategy: str = DEFAULT_STRATEGY,
        switch: float = DEFAULT_SWITCH,
        threads: int | None = None,
        max_rounds: int | None = None,
        max_rows: int | None = None,
        deadline: float | None = None,
    ) -> Maintenance:
        """Checks and collects the options of `Program.open`."""
        return cls(strategy, switch, threads, Limits(max_rounds, max_rows, deadline))
