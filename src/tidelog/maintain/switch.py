"""The switch: whether a stratum is updated (Update) or derived from scratch (Bootstrap) in this epoch.

Update's cost is the rule instances that die or are born; Bootstrap's is all instances after the epoch, and the rows
that it replaces, with which it is compared. Three things decide:

- *The past* (`cost_history`): seconds per instance of both ways, and the impact of events of this kind. An Update that
  is expected to cost more than a Bootstrap is not tried; now and then one is, or nothing more would ever be learnt.
- *The change*: if much of what the rules read is deleted and the past does not say that this is harmless, an Update is
  bound to lose.
- *The Update itself*, while it runs (`Meter`): its cost so far, and the rows that wait for the next wave. It works in
  an overlay, so it can be given up at any moment. Without a past its budget is the paper's: the share `switch` of a
  Bootstrap's time.

If no Bootstrap was ever measured, costs are counted in instances instead of seconds: an instance that dies or is
born costs as much as `UPDATE_RATE` of a Bootstrap's (`docs/decisions/0008-a-switch-that-learns.md`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter

from tidelog.maintain.cost_history import Event, History
from tidelog.maintain.options import DEFAULT_SWITCH

# An Update's instance costs so many of Bootstrap's until both were measured; seen: 0.7 (sparse) to 1.5 (dense graphs).
UPDATE_RATE = 1.2
# It never costs less than this, whatever noise the measurements have.
LEAST_UPDATE_RATE = 0.7
# This share of all that the rules read is deleted: most rules have lost an instance's row.
DELETED_SHARE = 0.25
# This share of one relation is deleted: it was replaced; of a relation that is at least so much of what the rules read.
REPLACED_SHARE, NOTABLE_SHARE = 0.75, 0.05
# Below this many instances, with as few events, both are faster than the difference could be noticed.
ALWAYS_UPDATE = 5_000
# An Update that meets no more instances than this needs no decision; what it costs is lost if it has to meet more.
FEW_INSTANCES = 2_000
# A change of at least this share of the rows that the rules will read is large: the cost per event counts, too.
LARGE_SHARE = 0.5
# After so many Updates in a row that were not tried, one is.
SKIPS_IN_A_ROW = 4
RANK_LIMIT = 1 << 29
NO_LIMIT = 1 << 62
# A recursion of at least so many waves is deep; a wave with less than one in so many of all rows is thin.
THIN_WAVES = 64
# An Update that has cost this part of a Bootstrap, all of one in thin waves, is given up unless the rest seems to cost
# less than the second part of that, and less and less later: estimates that were right would have ended it before.
OVERRUN, NEAR_END = 0.5, 0.1
# How often an Update is looked at: this many times while it meets as many instances as there are, and not more often
# than every so many instances.
LOOKS, LOOK_EVERY = 64, 8_192


@dataclass(frozen=True, slots=True)
class Touched:
    """A relation that a stratum's rules read, or its own facts: rows before the epoch, inserted and deleted ones.

    Or a rule that is added or removed (`is_rule`), among so many; a removed one may have a known `share` of all
    instances.
    """

    relation: str
    rows: int
    inserted: int
    deleted: int
    is_rule: bool = False
    share: float | None = None

    @property
    def shrinks(self) -> float:
        """The part of the relation, or of the instances, that is deleted."""
        return self.deleted / max(self.rows, self.deleted, 1) if self.share is None else self.share


FULL = "bootstrap", "recompute"  # the strategies that derive a stratum from scratch
FIRST_LOAD = "nothing was derived yet and most of the rows that the rules read are new"


def is_first_load(instances: int, rows_below: int, touched: Sequence[Touched]) -> bool:
    """True if a stratum with so many instances, whose rules read so many rows, is better derived than updated."""
    return instances == 0 and 2 * sum(each.inserted for each in touched) >= rows_below


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of an Update: the instances met in this phase, the wave, its rows, the waiting rows, all rows."""

    instances: int
    wave: int
    batch: int
    waiting: int
    rows: int


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision, and its reason. `expected_update` and `expected_bootstrap` are seconds, None if unknown."""

    strategy: str
    reason: str
    expected_update: float | None = None
    expected_bootstrap: float | None = None
    budget: float = float("inf")  # the cost of Update after which it must be near its end
    bootstrap: float = float("inf")  # the expected cost of Bootstrap, in the same unit

    @property
    def is_full(self) -> bool:
        """True if the stratum is derived from scratch."""
        return self.strategy in FULL


class Meter:
    """Watches one Update and decides when to give it up.

    Costs are seconds, or, if `by_clock` is false, instances of a Bootstrap. In a stratum without recursion there is
    one wave, and the rows that wait behind it meet nothing.
    """

    def __init__(
        self,
        decision: Decision,
        instances: int,
        clock: Callable[[], float] = perf_counter,
        *,
        by_clock: bool = False,
        recursive: bool = True,
    ) -> None:
        self._decision = decision
        self._recursive = recursive
        self._instances = instances
        self._clock = clock
        self._by_clock = by_clock
        self._started: float | None = None
        self._earlier = 0  # instances of the phases before this one
        self._wave = -1
        self._at_wave = 0
        self.work = 0
        self.why = ""

    @property
    def stride(self) -> int:
        """Number of instances from one check to the next."""
        if self._decision.budget == float("inf"):
            return NO_LIMIT
        return max(LOOK_EVERY, self._instances // LOOKS)

    @property
    def seconds(self) -> float:
        """Seconds since the first phase began: a reading of the clock."""
        return 0.0 if self._started is None else self._clock() - self._started

    def begin(self) -> None:
        """Begins the waves of a phase."""
        if self._started is None:
            self._started = self._clock()
        self._wave = -1

    def end(self, instances: int) -> None:
        """Ends a phase, done or given up, after so many instances."""
        assert self._started is not None
        self._earlier += instances
        self.work = self._earlier

    def goes_on(self, now: Progress) -> bool:
        """True if Update is still worth it."""
        work = self._earlier + now.instances
        if self._decision.budget == float("inf") or work == 0:
            return True
        if now.wave != self._wave:
            self._wave, self._at_wave = now.wave, now.instances
        spent = self._spent(work)
        soon, later = self._to_come(now)
        if spent / work * soon > self._decision.bootstrap:
            self.why = f"the rest would cost more, after {work} rule instances"
            return False
        # Deep recursion in thin waves stays cheap, and the time spent on it is lost anyway.
        is_thin = now.wave >= THIN_WAVES and now.batch * THIN_WAVES < now.rows
        enough = self._decision.bootstrap if is_thin else spent / 2
        if spent > self._decision.budget and spent / work * (soon + later) > enough:
            self.why = f"it was not near its end after {work} rule instances, {spent / self._decision.bootstrap:.0%}"
            self.why += " of a Bootstrap"
            return False
        most = self._decision.bootstrap * (1.0 if is_thin else OVERRUN)
        near_end = NEAR_END * most * (most / max(spent, most)) ** 2
        if spent > max(most, self._decision.budget) and spent / work * (soon + later) > near_end:
            self.why = f"it had cost {spent / self._decision.bootstrap:.0%} of a Bootstrap, after {work} rule instances"
            return False
        return True

    def _spent(self, work: int) -> float:
        if not self._by_clock:
            return UPDATE_RATE * work
        assert self._started is not None
        return self._clock() - self._started

    def _to_come(self, now: Progress) -> tuple[float, float]:
        """Estimates the instances to be met in this wave and the next, and in later ones.

        A row meets as many as rows do here on average. Waves continue to shrink, or to grow, as this one did; their
        number is unknown, so there are expected to be no more of them than there were.
        """
        if not self._recursive:
            return 0.0, 0.0
        per_row = self._instances / max(now.rows, 1)
        here = now.batch * per_row
        met = now.instances - self._at_wave
        rest = max(here - met, 0.0)
        waiting = now.waiting * per_row
        if here <= 0:
            return waiting, waiting
        following = waiting * max(here / max(met, 1), 1.0) if met else waiting
        shrinks = min(following / here, 1 - 1 / (now.wave + 2))
        return rest + waiting, following * shrinks / (1 - shrinks) + following - waiting


class Switch:
    """The switch of one database: the cost history of each of its strata, and a clock."""

    def __init__(self, share: float = DEFAULT_SWITCH, clock: Callable[[], float] = perf_counter) -> None:
        self.clock = clock
        self._share = share
        self._histories: dict[tuple[str, ...], History] = {}

    def history(self, relations: tuple[str, ...]) -> History:
        """Returns the cost history of the stratum of these relations."""
        found = self._histories.get(relations)
        if found is None:
            found = self._histories[relations] = History()
        return found

    def decide(
        self,
        relations: tuple[str, ...],
        instances: int,
        rows: int,
        rows_below: int,
        touched: Sequence[Touched],
        top_rank: int,
    ) -> Decision:
        """Decides what to try first for a stratum with so many instances and rows, whose rules read so many rows."""
        if top_rank >= RANK_LIMIT:
            return Decision("bootstrap", "the ranks have grown near their limit")
        if is_first_load(instances, rows_below, touched):
            return Decision("bootstrap", FIRST_LOAD)
        inserted = sum(each.inserted for each in touched)
        deleted = sum(each.deleted for each in touched)
        # An added rule may have any number of instances.
        grows = any(each.is_rule and each.inserted for each in touched)
        if max(instances, inserted + deleted) <= ALWAYS_UPDATE and not grows:
            return Decision("update", "the stratum is small")
        return self._weigh(self.history(relations), instances, rows, max(rows_below - inserted, deleted, 1), touched)

    def _weigh(
        self, history: History, instances: int, rows: int, rows_below: int, touched: Sequence[Touched]
    ) -> Decision:
        events = events_of(touched)
        work = history.expected_work(events, instances)
        removed = sum(each.share or 0.0 for each in touched)
        if removed:
            # All of their instances die, and those that follow from them.
            work = max(work or 0.0, removed * instances)
        shrunk = max((each.shrinks for each in touched if each.deleted), default=0.0)
        rate = history.bootstrap_rate
        # In seconds, or in instances of a Bootstrap.
        per_instance = 1.0 if rate is None else rate
        per_work = UPDATE_RATE * per_instance
        if rate is not None and history.update_rate is not None:
            per_work = max(history.update_rate, LEAST_UPDATE_RATE * rate)
        inserted = sum(each.inserted for each in touched)
        born = 0.0 if work is None else min(work, inserted * work / max(sum(events.values()), 1))
        bootstrap = per_instance * max(instances * (1 - shrunk) + born + rows, 1.0)
        update = None if work is None else per_work * work
        expected = (None, None) if rate is None else (update, bootstrap)
        lost = _bound_to_lose(rows_below, touched)
        if lost and (update is None or update > bootstrap / 2):
            return Decision("bootstrap", lost, *expected)
        count = sum(events.values())
        rows_after = rows_below + sum(each.inserted - each.deleted for each in touched)
        if count >= LARGE_SHARE * rows_after and per_instance * count > bootstrap:
            return Decision("bootstrap", f"{count} changed rows are more than the instances to derive", *expected)
        budget = self._share * bootstrap
        if update is None:
            reason = "no such change was measured yet"
        elif update <= bootstrap:
            reason = f"an Update was expected to cost {update / bootstrap:.2g} Bootstraps"
            budget = max(budget, 1.5 * update)
        elif history.skipped < SKIPS_IN_A_ROW:
            history.skipped += 1
            return Decision(
                "bootstrap", f"an Update was expected to cost {update / bootstrap:.1f} Bootstraps", *expected
            )
        else:
            reason = "an Update was expected to lose, and is tried to learn whether it does"
        return Decision("update", reason, expected[0], expected[1], budget, bootstrap)

    def meter(self, decision: Decision, instances: int, *, recursive: bool) -> Meter:
        by_clock = decision.expected_bootstrap is not None
        return Meter(decision, instances, self.clock, by_clock=by_clock, recursive=recursive)


def events_of(touched: Sequence[Touched]) -> Mapping[Event, int]:
    """Returns the events of an epoch, by kind."""
    counted = {
        (each.relation, sign): count for each in touched for sign, count in ((1, each.inserted), (-1, each.deleted))
    }
    return {event: count for event, count in counted.items() if count}


def _bound_to_lose(rows: int, touched: Sequence[Touched]) -> str:
    """Returns why an Update of this change is bound to lose, unless the past says otherwise; else an empty text."""
    deleted = sum(each.deleted for each in touched)
    if deleted >= DELETED_SHARE * rows:
        return f"{deleted / rows:.0%} of the rows that the rules read are deleted"
    for each in touched:
        if each.deleted >= REPLACED_SHARE * max(each.rows, 1) and each.rows >= NOTABLE_SHARE * rows:
            return f"{each.deleted / max(each.rows, 1):.0%} of `{each.relation}` is deleted"
    return ""
