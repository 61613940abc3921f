"""One epoch over the strata of a program: in order, each left alone, repaired, or derived anew.

Every stratum works in an overlay over the state of the last commit. Nothing is committed before the last stratum is
done: until then any failure drops all overlays, and the state is as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import EvaluationError
from tidelog.maintain.report import StratumReport, regret
from tidelog.maintain.switch import FIRST_LOAD, RANK_LIMIT, Decision, Meter, Switch, Touched, events_of, is_first_load

NO_TRACE = "`trace` is for rules without recursion, groups, or expressions that Python evaluates or that may fail"


class StratumState(Protocol):
    """What the epoch needs of a stratum, whoever holds its rows."""

    @property
    def relations(self) -> tuple[str, ...]: ...

    @property
    def fixed(self) -> str | None:
        """The name of the only way in which the stratum is kept up to date (through `update`), if it has only one."""

    @property
    def why(self) -> str:
        """What is to be said of that way, once it is done."""

    @property
    def keeps(self) -> str:
        """The strategy whose state it has."""

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
        """Whether a change of rules has put other relations together here, so that there is nothing to repair."""

    def is_touched(self) -> bool:
        """Whether a rule or a fact of the stratum or a row that its rules read has changed in this epoch."""

    def has_rules(self) -> bool: ...

    def can_update(self) -> bool:
        """Whether everything that `update` needs to know about the rows is there."""

    def can_derive(self) -> bool:
        """False where no rule can have an instance, because every one reads something that is empty."""

    def touched(self) -> tuple[Touched, ...]:
        """The facts of the stratum and the rows that its rules read that changed in this epoch, by relation."""

    def rows_below(self) -> int:
        """The rows that the rules read, those that leave in this epoch among them, and the facts that come."""

    def top_rank(self) -> int: ...

    def update(self, meter: Meter) -> bool:
        """The ranked Update; False when the meter had it given up. Then `drop` must follow."""

    def bootstrap(self) -> None: ...

    def drop(self) -> None:
        """Undoes what this epoch did to the stratum."""


@runtime_checkable
class Compared(Protocol):
    """A stratum that knows what a Bootstrap has changed."""

    def exchanged_rows(self) -> tuple[int, int]:
        """How many rows came and how many left."""


def maintain(
    strata: Iterable[StratumState],
    *,
    anew: bool = False,
    on_stratum: Callable[[StratumState, str], None] | None = None,
    strategy: str = "elastic",
    switch: Switch | None = None,
) -> tuple[StratumReport, ...]:
    """Brings every stratum to the new epoch, in overlays; the caller commits or drops them.

    `strategy` is one of `maintain.strategies`; `switch` is what learns from one epoch to the next.
    `anew`: every stratum that can derive anything is bootstrapped, touched or not; so a database begins.
    """
    switch = switch or Switch()
    reports = []
    for stratum in strata:
        if not (anew and stratum.can_derive()) and not stratum.is_touched():
            continue
        report = _bring(stratum, anew, strategy, switch, on_stratum)
        if stratum.has_rules():
            reports.append(report)
    return tuple(reports)


def _bring(
    stratum: StratumState,
    anew: bool,
    strategy: str,
    switch: Switch,
    on_stratum: Callable[[StratumState, str], None] | None,
) -> StratumReport:
    """Brings one stratum to the new epoch; the switch learns what it took."""
    started = switch.clock()
    before, touched = stratum.instances, stratum.touched()
    decision, events = _decide(stratum, touched, anew, strategy, switch), events_of(touched)
    history = switch.history(stratum.relations)
    if on_stratum is not None:
        on_stratum(stratum, decision.strategy)
    how, reason, is_anew = decision.strategy, decision.reason, decision.is_anew
    given_up, in_vain = 0.0, 0
    if not is_anew:
        meter = switch.meter(decision, before, recursive=stratum.recursive)
        if _is_repaired(stratum, meter):
            if stratum.fixed is not None:
                how, reason = stratum.fixed, stratum.why
            if stratum.fixed is None and stratum.keeps == "elastic":
                history.note_update(meter.seconds, meter.work, events, before)
        else:
            stratum.drop()
            history.note_given_up(meter.seconds, meter.work, events, before)
            given_up, in_vain = switch.clock() - started, meter.work
            how, reason, is_anew = "bootstrap", f"Update was given up: {meter.why}", True
    if is_anew:
        begun, replaced = switch.clock(), stratum.row_count
        stratum.bootstrap()
        history.note_bootstrap(switch.clock() - begun, stratum.instances, replaced)
    seconds = switch.clock() - started
    expected = decision.expected_update, decision.expected_bootstrap
    return StratumReport(
        stratum.relations,
        how,
        "local",
        reason,
        stratum.waves,
        stratum.work,
        seconds,
        sum(events.values()),
        (_turnover(stratum, before) if is_anew else stratum.work) / max(before, 1),
        *expected,
        given_up,
        in_vain,
        regret(seconds, *expected),
    )


def _is_repaired(stratum: StratumState, meter: Meter) -> bool:
    """Repairs a stratum; False when that was given up, and `drop` must follow.

    Rows that are repaired keep the ranks of long ago, so that an Update may need more rounds than it would take to
    derive them now: one that needs too many does not end the epoch.
    """
    try:
        return stratum.update(meter)
    except EvaluationError as error:
        if error.code != Code.TOO_MANY_ROUNDS or stratum.fixed is not None:
            raise
        meter.why = "it needs more rounds than `max_rounds` allows"
        return False


def _turnover(stratum: StratumState, before: int) -> int:
    """The instances that are born or die with an epoch that derived a stratum anew: the least that fits to how many
    there were and are, and to the rows that came and left, each of which had one."""
    came, left = stratum.exchanged_rows() if isinstance(stratum, Compared) else (0, 0)
    grown = stratum.instances - before
    return 2 * max(left, came - grown, -grown, 0) + grown


def _decide(stratum: StratumState, touched: Sequence[Touched], anew: bool, strategy: str, switch: Switch) -> Decision:
    if stratum.fixed is not None:
        return Decision(stratum.fixed, stratum.why)
    if stratum.is_new:
        how = "recompute" if strategy == "recompute" else "bootstrap"
        return Decision(how, "the change of rules has made another stratum of it")
    if not stratum.has_rules():
        return Decision("update", "input facts")
    if strategy == "recompute":
        return Decision("recompute", "so asked for")
    if anew:
        return Decision("bootstrap", "the database is opened")
    if stratum.keeps != "elastic":
        return _decide_without_switch(stratum, touched)
    if strategy == "update" and stratum.instances and stratum.top_rank() < RANK_LIMIT:
        return Decision("update", "so asked for")
    decision = switch.decide(
        stratum.relations, stratum.instances, stratum.row_count, stratum.rows_below(), touched, stratum.top_rank()
    )
    if strategy == "trace":
        return replace(decision, reason=f"{decision.reason}; {NO_TRACE}")
    return decision


def _decide_without_switch(stratum: StratumState, touched: Sequence[Touched]) -> Decision:
    """For strategies that always repair what they have."""
    if is_first_load(stratum.instances, stratum.rows_below(), touched):
        return Decision("bootstrap", FIRST_LOAD)
    if not stratum.can_update():
        return Decision("bootstrap", f"`{stratum.keeps}` has no state of these rows yet")
    return Decision(stratum.keeps, "what is there is always repaired")
