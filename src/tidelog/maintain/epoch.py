"""One epoch over the strata of a program: in order, each left alone, repaired, or derived anew.

Every stratum works in an overlay over the state of the last commit. Nothing is committed before the last stratum is
done: until then any failure drops all overlays, and the state is as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Protocol

from tidelog.maintain.report import StratumReport
from tidelog.maintain.switch import Decision, decide, gave_up


class StratumState(Protocol):
    """What the epoch needs of a stratum, whoever holds its rows."""

    @property
    def relations(self) -> tuple[str, ...]: ...

    @property
    def fixed(self) -> str | None:
        """The name of the only way in which the stratum is kept up to date (through `update`), if it has only one."""

    @property
    def keeps(self) -> str:
        """The strategy whose state it has."""

    @property
    def instances(self) -> int:
        """All rule instances of the committed state, input facts included."""

    @property
    def waves(self) -> int:
        """The waves of the last `update` or `bootstrap`."""

    @property
    def work(self) -> int:
        """The instances born or killed by the last `update` or `bootstrap`."""

    def is_touched(self) -> bool:
        """Whether a fact of the stratum or a row that its rules read has changed in this epoch."""

    def has_rules(self) -> bool: ...

    def can_update(self) -> bool:
        """Whether everything that `update` needs to know about the rows is there."""

    def can_derive(self) -> bool:
        """False where no rule can have an instance, because every one reads something that is empty."""

    def events(self) -> int:
        """The facts of the stratum and the rows that its rules read that changed in this epoch."""

    def new_below(self) -> int: ...

    def gone_below(self) -> int: ...

    def rows_below(self) -> int: ...

    def top_rank(self) -> int: ...

    def update(self, kill_limit: int) -> bool:
        """The ranked Update; False when it gave up at the limit. Then `drop` must follow."""

    def bootstrap(self) -> None: ...

    def drop(self) -> None:
        """Undoes what this epoch did to the stratum."""


def maintain(
    strata: Iterable[StratumState],
    *,
    anew: bool = False,
    on_stratum: Callable[[StratumState, str], None] | None = None,
    strategy: str = "elastic",
) -> tuple[StratumReport, ...]:
    """Brings every stratum to the new epoch, in overlays; the caller commits or drops them.

    `strategy` is one of `maintain.strategies`.
    `anew`: every stratum that can derive anything is bootstrapped, touched or not; so a database begins.
    """
    reports = []
    for stratum in strata:
        if not (anew and stratum.can_derive()) and not stratum.is_touched():
            continue
        started = perf_counter()
        before, events = stratum.instances, stratum.events()
        decision = _decide(stratum, anew, strategy)
        if on_stratum is not None:
            on_stratum(stratum, decision.strategy)
        if not decision.is_anew and not stratum.update(decision.kill_limit):
            stratum.drop()
            decision = Decision("bootstrap", gave_up(decision, stratum.instances), 0)
        if decision.is_anew:
            stratum.bootstrap()
        if stratum.has_rules():
            reports.append(
                StratumReport(
                    stratum.relations,
                    decision.strategy,
                    "local",
                    decision.reason,
                    stratum.waves,
                    stratum.work,
                    perf_counter() - started,
                    events,
                    stratum.work / max(before, 1),
                )
            )
    return tuple(reports)


def _decide(stratum: StratumState, anew: bool, strategy: str) -> Decision:
    if stratum.fixed is not None:
        return Decision(stratum.fixed, "the only way for this stratum", 1 << 62)
    if not stratum.has_rules():
        return Decision("update", "input facts", 1 << 62)
    if strategy == "recompute":
        return Decision("recompute", "so asked for", 0)
    if anew:
        return Decision("bootstrap", "the database is opened", 0)
    if stratum.keeps != "elastic":
        return _decide_without_switch(stratum)
    decision = decide(
        instances=stratum.instances,
        new_below=stratum.new_below(),
        gone_below=stratum.gone_below(),
        rows_below=stratum.rows_below(),
        top_rank=stratum.top_rank(),
    )
    if strategy == "update" and not decision.is_anew:
        return Decision("update", "so asked for", 1 << 62)
    return decision


def _decide_without_switch(stratum: StratumState) -> Decision:
    """For strategies that always repair what they have."""
    if stratum.instances == 0:
        return Decision("bootstrap", "nothing was derived yet", 0)
    if not stratum.can_update():
        return Decision("bootstrap", f"`{stratum.keeps}` has no state of these rows yet", 0)
    return Decision(stratum.keeps, "what is there is always repaired", 1 << 62)
