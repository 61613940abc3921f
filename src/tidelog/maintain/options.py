"""Options of a database beside its engine: how strata are maintained, and the limits of an epoch."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidelog.maintain.limits import Limits, positive, positive_whole
from tidelog.maintain.strategies import DEFAULT_STRATEGY, check_strategy

DEFAULT_SWITCH = 0.2
# More threads are not worth their memory.
MOST_THREADS = 256


@dataclass(frozen=True, slots=True)
class Maintenance:
    """Options that fit together. Raises UsageError for an invalid one.

    `switch`: while the cost of Updates is unknown, an Update is given up after this share of the time of the stratum's
    last Bootstrap. `threads`: how many may work on one epoch; None lets the engine choose.
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
    def checked(
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
