"""The Bootstrap of one stratum on frames: derived from nothing by semi-naive rounds, a job each, with all numbers.

A round joins the rows of the last round with what the rules ask for, and adds up, for each head, its instances:

    rank     the first round that found the row
    count    the instances that this round found
    total    the instances of all rounds

One aggregation over the rows so far and the instances just found does the union, the difference and the counting. Rows
stay where their hash puts them (`slots`); only instances travel. The result is cut from its history and counted in the
same job, so the plan of a round has the size of the rules, not of the rounds. A round of few rows after many would
still go over all of them; such rounds are left to the waves of `waves`, which look up only the heads that they meet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from tidelog.engine.spark.in_time import look, look_at_rows
from tidelog.engine.spark.instances import Events, Finder
from tidelog.engine.spark.settle import cut, measured, release
from tidelog.engine.spark.slots import Slots, long
from tidelog.engine.spark.state import NUMBERS
from tidelog.engine.spark.versions import Versions
from tidelog.engine.spark.waves import COUNT, DEAD, IN, MET, OVERLAY, RANK, TOTAL, WAS, Waves
from tidelog.maintain.limits import Watch
from tidelog.maintain.switch import Decision, Meter
from tidelog.rules.ir import Stratum

THIN_SHARE, THIN_FROM = 20, 200_000
"""A round is thin when it has less than one in so many of all rows, of which there are at least so many."""


@dataclass(slots=True)
class Derivation:
    """A stratum as it is derived: the rows so far, how many instances, and what each round found and took."""

    finder: Finder
    stratum: Stratum
    slots: Slots
    below: Mapping[str, Versions]
    watch: Watch
    rows: Any = None
    row_count: int = 0
    instances: int = 0
    top: int = 0
    rounds: int = 0
    by_round: list[tuple[int, float]] = field(default_factory=list)
    made: list[Any] = field(default_factory=list)

    def run(self) -> None:
        """Derives everything. Without recursion nothing runs yet: `rows` is a plan."""
        inside = {*self.stratum.relations}
        first = [rule for rule in self.stratum.rules if inside.isdisjoint(atom.relation for atom in rule.positives)]
        found = self.finder.met(_Round(self, 0), (), first)
        self.rounds = 1
        rows = self._numbered(found)
        if not self.stratum.recursive:
            self.rows, self.top = rows, 1
            return
        self.below = self.finder.arrange(self.below)
        new = self._take(rows)
        while new:
            if self.row_count >= THIN_FROM and new * THIN_SHARE < self.row_count:
                self._finish_in_waves(new)
                return
            found = self.finder.met(_Round(self, new), self.stratum.rules)
            self.rounds += 1
            new = self._take(self._numbered(found))
        self.top = self.rounds - 1

    def drop(self) -> None:
        release(*self.made)
        self.made.clear()

    def _numbered(self, found: Any) -> Any:
        """The rows so far and those just found, with their numbers."""
        from pyspark.sql import functions as f

        keys = self.slots.keys
        spread = self.slots.spread(found)
        met = spread.select(*keys, long(0).alias(RANK), long(0).alias(COUNT), long(1).alias(TOTAL))
        if self.rows is not None:
            met = self.rows.unionByName(met)
        sums = met.groupBy(*keys).agg(*(f.sum(name).alias(name) for name in NUMBERS))
        is_new = f.col(RANK) == 0
        return sums.select(
            *keys,
            f.when(is_new, long(self.rounds)).otherwise(f.col(RANK)).alias(RANK),
            f.when(is_new, f.col(TOTAL)).otherwise(f.col(COUNT)).alias(COUNT),
            TOTAL,
        )

    def _take(self, rows: Any) -> int:
        """Makes these the rows so far, in one job; how many of them this round found."""
        from pyspark.sql import functions as f

        started = perf_counter()
        look(self.watch, self.stratum, self.rounds - 1)
        is_new = f.count(f.when(f.col(RANK) == self.rounds, 1))
        self.rows, made, found = measured(rows, is_new, f.count(f.lit(1)), f.sum(TOTAL))
        release(*self.made)
        self.made = made
        self.row_count, self.instances = found[1], found[2] or 0
        look_at_rows(self.watch, self.stratum, self.row_count)
        self.by_round.append((int(found[0]), perf_counter() - started))
        return int(found[0])

    def _finish_in_waves(self, new: int) -> None:
        """Leaves the rest to the waves of INSERT; if they become many again, all that they do is still right."""
        from pyspark.sql import functions as f

        last = f.col(RANK) == self.rounds
        named = {WAS: long(0), DEAD: f.lit(None).cast("long"), IN: f.col(RANK), MET: long(0)}
        columns = [named[name].alias(name) if name in named else f.col(name) for name in OVERLAY]
        waves = Waves(
            self.finder,
            self.stratum,
            self.slots,
            self.below,
            self.rows.filter(~last),
            self.row_count - new,
            self.rounds,
            self.watch,
            overlay=self.rows.filter(last).select(*self.slots.keys, *columns),
            touched=new,
        )
        waves.insert(Meter(Decision("bootstrap", ""), 0), wave=self.rounds, batch=new)
        self.rounds += waves.waves
        self.top = waves.top
        self.instances += waves.born
        merged = cut(waves.merged())
        (count,) = merged.agg(f.count(f.lit(1))).collect()[0]
        waves.drop()
        release(*self.made)
        self.rows, self.row_count, self.made = merged, count, [merged]
        self.by_round += waves.by_round


@dataclass(frozen=True, slots=True)
class _Round:
    """What a round reads: behind an event the rows known before, in front of it all."""

    derivation: Derivation
    batch: int
    steady: str | None = "after"

    @property
    def below(self) -> Mapping[str, Versions]:
        return self.derivation.below

    @property
    def inside_rows(self) -> int:
        return self.derivation.row_count

    def inside_events(self) -> Events | None:
        return Events(self._ranked(_rank() == self.derivation.rounds), self.batch)

    def inside_front(self) -> Any:
        return self.derivation.rows

    def inside_behind(self) -> Any:
        return self._ranked(_rank() < self.derivation.rounds)

    def events(self, relation: str, negated: bool) -> Events | None:
        return None

    def front(self, relation: str, negated: bool) -> Any:
        return self.derivation.below[relation].after

    def behind(self, relation: str, negated: bool) -> Any:
        return self.derivation.below[relation].after

    def _ranked(self, condition: Any) -> Any:
        return self.derivation.rows.filter(condition)


def _rank() -> Any:
    from pyspark.sql import functions as f

    return f.col(RANK)
