"""One epoch over the strata of a program, in order: each is skipped, updated, or derived from scratch.

Every stratum works in an overlay over the state of the last commit. Nothing is committed before the last stratum is
done: until then any failure rolls all overlays back, and the state is as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import EvaluationError
from tidelog.maintain.cost_history import Event
from tidelog.maintain.report import StratumReport, regret
from tidelog.maintain.switch import (
    FEW_INSTANCES,
    FIRST_LOAD,
    RANK_LIMIT,
    Decision,
    Meter,
    Switch,
    Touched,
    events_of,
    is_first_load,
)

REQUESTED = "requested by `strategy=`"
FEW_ROWS = "few rows have changed"
ALWAYS_UPDATED = "the strategy always updates incrementally"
NO_TRACE = "`trace` is for rules without recursion, groups, or expressions that Python evaluates or that may fail"


class StratumState(Protocol):
    """The interface of a stratum for an epoch, whichever engine holds its rows."""

    @property
    def relations(self) -> tuple[str, ...]: ...

    @property
    def fixed(self) -> str | None:
        """The name of the only way to maintain the stratum (through `update`), if it has only one."""

    @property
    def why(self) -> str:
        """The reason to report for that way, once it is done."""

    @property
    def strategy(self) -> str:
        """The strategy whose state the stratum has."""

    @property
    def instances(self) -> int:
        """All rule instances of the committed state, input facts included."""

    @property
    def row_count(self) -> int:
        """The rows of its relations."""

    @property
    def recursive(self) -> bool: ...

    @property
    def waves(self) -> int:
        """The rounds of the last `update` or `bootstrap`; see `StratumReport`."""

    @property
    def work(self) -> int:
        """The instances born or killed by the last `update`, or found by the last `bootstrap`."""

    @property
    def is_new(self) -> bool:
        """True if a change of rules has put other relations together here, so that there is no state to update."""

    def is_touched(self) -> bool:
        """True if a rule or a fact of the stratum or a row that its rules read has changed in this epoch."""

    def has_rules(self) -> bool: ...

    def can_update(self) -> bool:
        """True if the stratum has all the state that `update` needs."""

    def can_derive(self) -> bool:
        """False if no rule can have an instance, because every one reads an empty relation."""

    def touched(self) -> tuple[Touched, ...]:
        """Returns the changed facts of the stratum and the changed rows that its rules read, by relation."""

    def rows_below(self) -> int:
        """Returns the rows that the rules read, including those deleted in this epoch, and the inserted facts."""

    def top_rank(self) -> int: ...

    def small_update(self, most: int) -> Mapping[Event, int] | None:
        """Runs the ranked Update to its end if it is known to be cheap: few rows have changed, and it meets at most so
        many instances. Returns the events; None if it is not done: it may have begun, then `update` continues it, and
        `bootstrap` and `roll_back` drop it."""

    def update(self, meter: Meter) -> bool:
        """Runs the ranked Update. False if the meter gave it up: then `roll_back` must follow."""

    def bootstrap(self) -> None: ...

    def roll_back(self) -> None:
        """Rolls back the changes of this epoch to the stratum."""


@runtime_checkable
class Compared(Protocol):
    """A stratum that knows the changes of a Bootstrap."""

    def exchanged_rows(self) -> tuple[int, int]:
        """Returns the numbers of inserted and of deleted rows."""


def maintain(
    strata: Iterable[StratumState],
    *,
    recompute: bool = False,
    on_stratum: Callable[[StratumState, str], None] | None = None,
    strategy: str = "elastic",
    switch: Switch | None = None,
) -> tuple[StratumReport, ...]:
    """Brings every stratum to the new epoch, in overlays; the caller commits them or rolls them back.

    `strategy` is one of `maintain.strategies`; `switch` learns from one epoch to the next.
    `recompute`: every stratum that can derive anything is bootstrapped, touched or not, as in the first epoch.
    """
    switch = switch or Switch()
    reports = []
    updates_few = strategy in ("elastic", "update") and not recompute and on_stratum is None
    now = switch.clock()
    for stratum in strata:
        if updates_few and (small := _update_few_rows(stratum, strategy, switch, now)) is not None:
            report, now = small
        elif (recompute and stratum.can_derive()) or stratum.is_touched():
            report, now = _maintain_stratum(stratum, recompute, strategy, switch, on_stratum, now)
        else:
            continue
        if stratum.has_rules():
            reports.append(report)
    return tuple(reports)


def _update_few_rows(
    stratum: StratumState, strategy: str, switch: Switch, started: float
) -> tuple[StratumReport, float] | None:
    """Updates a stratum if that is cheap; returns its report and the time. The switch learns, but decides nothing."""
    before = stratum.instances
    if stratum.fixed is not None or (not before and stratum.has_rules()):
        return None
    events = stratum.small_update(FEW_INSTANCES)
    if events is None:
        return None
    now, work = switch.clock(), stratum.work
    if events:
        switch.history(stratum.relations).note_update(now - started, work, events, before)
    return (
        StratumReport(
            relations=stratum.relations,
            strategy="update",
            place="local",
            reason=REQUESTED if strategy == "update" else FEW_ROWS,
            rounds=stratum.waves,
            instances=work,
            seconds=now - started,
            events=sum(events.values()),
            impact=work / max(before, 1),
        ),
        now,
    )


def _maintain_stratum(
    stratum: StratumState,
    recompute: bool,
    strategy: str,
    switch: Switch,
    on_stratum: Callable[[StratumState, str], None] | None,
    started: float,
) -> tuple[StratumReport, float]:
    """Brings one stratum to the new epoch, and returns its report and the time; the switch learns its cost."""
    before, touched = stratum.instances, stratum.touched()
    decision, events = _decide(stratum, touched, recompute, strategy, switch), events_of(touched)
    history = switch.history(stratum.relations)
    if on_stratum is not None:
        on_stratum(stratum, decision.strategy)
    how, reason, is_full = decision.strategy, decision.reason, decision.is_full
    given_up, in_vain = 0.0, 0
    if not is_full:
        meter = switch.meter(decision, before, recursive=stratum.recursive)
        if _update(stratum, meter):
            if stratum.fixed is not None:
                how, reason = stratum.fixed, stratum.why
            if stratum.fixed is None and stratum.strategy == "elastic":
                history.note_update(meter.seconds, meter.work, events, before)
        else:
            stratum.roll_back()
            history.note_update(meter.seconds, meter.work, events, before, given_up=True)
            given_up, in_vain = switch.clock() - started, meter.work
            how, reason, is_full = "bootstrap", f"Update was given up: {meter.why}", True
    if is_full:
        begun, replaced = switch.clock(), stratum.row_count
        stratum.bootstrap()
        history.note_bootstrap(switch.clock() - begun, stratum.instances, replaced)
    now = switch.clock()
    seconds = now - started
    report = StratumReport(
        relations=stratum.relations,
        strategy=how,
        place="local",
        reason=reason,
        rounds=stratum.waves,
        instances=stratum.work,
        seconds=seconds,
        events=sum(events.values()),
        impact=(_turnover(stratum, before) if is_full else stratum.work) / max(before, 1),
        expected_update=decision.expected_update,
        expected_bootstrap=decision.expected_bootstrap,
        given_up=given_up,
        given_up_instances=in_vain,
        regret=regret(seconds, decision.expected_update, decision.expected_bootstrap),
    )
    return report, now


def _update(stratum: StratumState, meter: Meter) -> bool:
    """Updates a stratum. False if that was given up: then `roll_back` must follow.

    Rows have the ranks of earlier epochs, so an Update may need more rounds than a full recompute: one that needs
    too many does not end the epoch.
    """
    try:
        return stratum.update(meter)
    except EvaluationError as error:
        if error.code != Code.TOO_MANY_ROUNDS or stratum.fixed is not None:
            raise
        meter.why = "it needs more rounds than `max_rounds` allows"
        return False


def _turnover(stratum: StratumState, before: int) -> int:
    """Returns the instances that are born or die in an epoch that recomputed a stratum: the least that fits the numbers
    of instances before and after, and the inserted and deleted rows, each of which had one.
    """
    inserted, deleted = stratum.exchanged_rows() if isinstance(stratum, Compared) else (0, 0)
    grown = stratum.instances - before
    return 2 * max(deleted, inserted - grown, -grown, 0) + grown


def _decide(
    stratum: StratumState, touched: Sequence[Touched], recompute: bool, strategy: str, switch: Switch
) -> Decision:
    if stratum.fixed is not None:
        return Decision(stratum.fixed, stratum.why)
    if stratum.is_new:
        how = "recompute" if strategy == "recompute" else "bootstrap"
        return Decision(how, "the rules have changed, and with them the relations of the stratum")
    if not stratum.has_rules():
        return Decision("update", "input facts")
    if strategy == "recompute":
        return Decision("recompute", REQUESTED)
    if recompute:
        return Decision("bootstrap", "the database is opened")
    if stratum.strategy != "elastic":
        return _decide_without_switch(stratum, touched)
    if strategy == "update" and stratum.instances and stratum.top_rank() < RANK_LIMIT:
        return Decision("update", REQUESTED)
    decision = switch.decide(
        stratum.relations, stratum.instances, stratum.row_count, stratum.rows_below(), touched, stratum.top_rank()
    )
    if strategy == "trace":
        return replace(decision, reason=f"{decision.reason}; {NO_TRACE}")
    return decision


def _decide_without_switch(stratum: StratumState, touched: Sequence[Touched]) -> Decision:
    """Decides for strategies that always update, if they have a state."""
    if is_first_load(stratum.instances, stratum.rows_below(), touched):
        return Decision("bootstrap", FIRST_LOAD)
    if not stratum.can_update():
        return Decision("bootstrap", f"`{stratum.strategy}` has no state of these rows yet")
    return Decision(stratum.strategy, ALWAYS_UPDATED)
