"""The ranked Update of one stratum on frames: RETRACT, then INSERT, in waves of one job each, all rules together.

The state of the last epoch is only read. The waves' changes are in an overlay, a frame of the touched rows that each
wave replaces (`packed_rows`, and the numbers below); it can be dropped at any moment. A wave, for all rules at once,
joins the events with the relations that the rules read, looks up the numbers of the heads, and updates the overlay.

    _rank _count _total    the row's numbers so far; in RETRACT still those of the last epoch
    _killed _lower         RETRACT: how many of its instances have died; how many of those had a lower level
    _was                   INSERT: 1 if the row was there before this epoch
    _dead _in              the wave of RETRACT in which it died, the wave of INSERT that inserted it (again)
    _met                   the instances of the row that the last wave met

The algorithm, and why each instance is met once, is in `docs/decisions/0002-ranked-update.md`; the numbers are those of
the local engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, ClassVar

from tidelog.engine.spark import column_functions as f
from tidelog.engine.spark.epoch.deadline import check_round, check_rows
from tidelog.engine.spark.plans.frames.cut_lineage import measured, release
from tidelog.engine.spark.plans.frames.delta_joins import Events, Finder
from tidelog.engine.spark.plans.frames.join_rule import LEVEL
from tidelog.engine.spark.plans.frames.packed_rows import PackedRows, long
from tidelog.engine.spark.plans.frames.relation_versions import RelationVersions
from tidelog.engine.spark.storage.state_files import NUMBERS
from tidelog.maintain.limits import Watch
from tidelog.maintain.switch import Meter, Progress
from tidelog.rules.ir import Rule, Stratum

RANK, COUNT, TOTAL = NUMBERS
KILLED, LOWER, WAS, DEAD, IN, MET = "_killed", "_lower", "_was", "_dead", "_in", "_met"
_RETRACTED = (RANK, COUNT, TOTAL, KILLED, LOWER, DEAD, MET)
OVERLAY = (WAS, RANK, COUNT, TOTAL, DEAD, IN, MET)

WAVE_WORK = 100_000
"""A wave costs as much as so many instances, however few it meets: a job has a price of its own."""


@dataclass(frozen=True, slots=True)
class RuleDelta:
    """The rules of a stratum that an epoch removes and adds; the added ones are among its rules already."""

    removed: tuple[Rule, ...] = ()
    added: tuple[Rule, ...] = ()

    def unchanged(self, stratum: Stratum) -> list[Rule]:
        """Returns the rules that were there before and still are."""
        added = {id(rule) for rule in self.added}
        return [rule for rule in stratum.rules if id(rule) not in added]


UNCHANGED_RULES = RuleDelta()


@dataclass(slots=True)
class RankedUpdate:
    """An Update and its progress.

    `rows`: those of the state; `top`: the highest rank ever given; `touched`: the rows of the overlay; `expected`: the
    instances that the next wave may meet.

    All instances of a removed rule are met in wave 0 of RETRACT, those of an added rule in wave 0 of INSERT. Before
    that wave the removed rule counts like any other, after it the added one does.
    """

    finder: Finder
    stratum: Stratum
    packed: PackedRows
    below: Mapping[str, RelationVersions]
    state: Any
    rows: int
    top: int
    watch: Watch
    rule_delta: RuleDelta = UNCHANGED_RULES
    overlay: Any = None
    touched: int = 0
    expected: int = 0
    dead: int = 0
    killed: int = 0
    born: int = 0
    waves: int = 0
    by_round: list[tuple[int, float]] = field(default_factory=list)
    made: list[Any] = field(default_factory=list)

    def update(self, meter: Meter) -> bool:
        """Runs both passes; False if the meter gave them up: then call `drop`."""
        if not self._retract(meter):
            return False
        # A dead row may still have instances, and return; other new instances need an inserted row.
        return self._insert(meter) if self.dead or self.rule_delta.added or self._has_events(deleted=False) else True

    def drop(self) -> None:
        """Drops the overlay."""
        release(*self.made)
        self.made.clear()
        self.overlay = None

    def alive(self) -> Any:
        """Returns the rows of the last epoch that did not die."""
        if not self.dead:
            return self.state
        return self._without(self.state, self.overlay.filter(_is(DEAD)))

    def untouched(self) -> Any:
        """Returns the rows of the last epoch whose numbers have not changed."""
        return self._without(self.state, self.overlay)

    def merged(self) -> Any:
        """Returns all rows after the Update, with their numbers."""
        touched = self.overlay.filter(f.col(TOTAL) > 0).select(*self.packed.keys, *NUMBERS)
        return self.untouched().unionByName(touched)

    # RETRACT

    def _retract(self, meter: Meter) -> bool:
        """Kills the instances that hold a deleted row; then gives the overlay the form of INSERT."""
        removed, stay = self.rule_delta.removed, self.rule_delta.unchanged(self.stratum)
        if not removed and not self._has_events(deleted=True):
            return True
        meter.begin()
        wave, batch, goes_on = 0, self._changed_below() + len(removed), True
        while batch and goes_on:
            reading = _RetractWave(self, wave, batch)
            rules, entire = (stay, ()) if wave else ([*stay, *removed], removed)
            self.expected = max(self.expected, batch, self.rows if entire else 0)
            found = self.finder.met(reading, rules, entire)
            waiting, met = self._take(self._killed_by(found, wave), wave, DEAD)
            self.dead += waiting
            self.killed += met
            wave += 1
            batch = waiting if self.stratum.recursive else 0
            goes_on = meter.goes_on(self._progress(self.killed, wave, batch, waiting))
        self.waves += wave
        meter.end(self.killed + wave * WAVE_WORK)
        self.overlay = self._in_form_of_insert(self.overlay)
        return goes_on

    def _killed_by(self, found: Any, wave: int) -> Any:
        keys, n = self.packed.keys, f.col(MET)
        hits = self.state.join(self.packed.hashed(self._counted(found), self.expected), keys)
        lower = f.when(f.col(LEVEL) < f.col(RANK), n).otherwise(0)
        hits = hits.select(*keys, *NUMBERS, n.alias(KILLED), lower.alias(LOWER), _null(DEAD), MET)
        if self.overlay is not None:
            hits = self.overlay.withColumn(MET, long(0)).unionByName(hits)
        sums = (KILLED, LOWER, MET)
        one = [(f.sum if name in sums else f.max)(name).alias(name) for name in _RETRACTED]
        rows = hits.groupBy(*keys).agg(*one)
        dies = f.when(f.col(COUNT) == f.col(LOWER), long(wave + 1))
        return rows.withColumn(DEAD, f.coalesce(f.col(DEAD), dies))

    def _in_form_of_insert(self, retracted: Any) -> Any:
        return retracted.select(
            *self.packed.keys,
            long(1).alias(WAS),
            RANK,
            (f.col(COUNT) - f.col(LOWER)).alias(COUNT),
            (f.col(TOTAL) - f.col(KILLED)).alias(TOTAL),
            DEAD,
            _null(IN),
            long(0).alias(MET),
        )

    # INSERT

    def _insert(self, meter: Meter) -> bool:
        """Finds the new instances."""
        meter.begin()
        removed, added = self.rule_delta.removed, self.rule_delta.added
        # Without a change below, dead rows may return all the same.
        wave, batch, inserted, goes_on = 0, self._changed_below() + len(removed) + len(added), 0, True
        while batch and goes_on:
            rules, entire = (self.stratum.rules, ()) if wave else (self.rule_delta.unchanged(self.stratum), added)
            self.expected = max(self.expected, batch, self.rows if entire else 0)
            found = self.finder.met(_InsertWave(self, wave, batch), rules, entire)
            waiting, met = self._take(self._born_by(found, wave), wave, IN)
            self.born += met
            inserted += waiting
            check_rows(self.watch, self.stratum, self.rows - self.dead + inserted)
            wave += 1
            batch = waiting if self.stratum.recursive else 0
            goes_on = meter.goes_on(self._progress(self.born, wave, batch, waiting))
        self.waves += wave
        meter.end(self.born + wave * WAVE_WORK)
        return goes_on

    def _born_by(self, found: Any, wave: int) -> Any:
        rows = self._records(self._counted(found), wave)
        if self.overlay is not None:
            before = self.overlay.withColumn(MET, long(0)).withColumn("tag", long(0))
            both = before.unionByName(rows.withColumn("tag", long(1)))
            last = [f.max_by(name, "tag").alias(name) for name in OVERLAY]
            rows = both.groupBy(*self.packed.keys).agg(*last)
        if wave == 0:
            returns = _is(DEAD) & ~_is(IN) & (f.col(TOTAL) > 0)
            new = {RANK: long(self.top + 1), COUNT: f.col(TOTAL), IN: long(1)}
            kept = [name for name in OVERLAY if name not in new]
            changed = [f.when(returns, value).otherwise(f.col(name)).alias(name) for name, value in new.items()]
            rows = rows.select(*self.packed.keys, *kept, *changed)
        return rows

    def _records(self, met: Any, wave: int) -> Any:
        """Returns the new record of each head that was met."""
        keys = self.packed.keys
        if self.overlay is not None:
            over = self.overlay.select(*keys, *(f.col(name).alias(f"t{name}") for name in OVERLAY if name != MET))
            met = met.join(self.packed.hashed(over, self.touched), keys, "left")
        else:
            met = met.select(*keys, LEVEL, MET, *(_null(f"t{name}") for name in OVERLAY if name != MET))
        under = self.state.select(*keys, *(f.col(name).alias(f"s{name}") for name in NUMBERS))
        found = self.packed.hashed(met, self.expected).join(under, keys, "left")
        is_over = _is(f"t{RANK}")
        is_present = f.when(is_over, _is(f"t{IN}") | ~_is(f"t{DEAD}")).otherwise(_is(f"s{RANK}"))
        rank, n = f.coalesce(f"t{RANK}", f"s{RANK}"), f.col(MET)
        known = [f"t{name}" for name in OVERLAY if name != MET] + [f"s{name}" for name in NUMBERS]
        per_head = (
            found.withColumn("present", is_present.cast("long"))
            .groupBy(*keys)
            .agg(
                *(f.max(name).alias(name) for name in (*known, "present")),
                f.sum(n).alias(MET),
                f.min(LEVEL).alias("lowest"),
                f.min_by(MET, LEVEL).alias("at_lowest"),
                f.sum(f.when(f.col(LEVEL) < rank, n).otherwise(0)).alias("lower"),
            )
        )
        count, total = f.coalesce(f"t{COUNT}", f"s{COUNT}"), f.coalesce(f"t{TOTAL}", f"s{TOTAL}", long(0))
        stays = (f.col("present") == 1) | (_is(f"t{DEAD}") if wave == 0 else f.lit(False))
        more = f.when(f.col("present") == 1, f.col("lower")).otherwise(0)
        return per_head.select(
            *keys,
            f.coalesce(f"t{WAS}", _is(f"s{RANK}").cast("long")).alias(WAS),
            f.when(stays, rank).otherwise(f.col("lowest") + 1).alias(RANK),
            f.when(stays, count + more).otherwise(f.col("at_lowest")).alias(COUNT),
            (total + n).alias(TOTAL),
            f.col(f"t{DEAD}").alias(DEAD),
            f.when(stays, f.col(f"t{IN}")).otherwise(long(wave + 1)).alias(IN),
            MET,
        )

    # Both

    def _has_events(self, *, deleted: bool) -> bool:
        """True if rules may lose instances (`deleted`) or get new ones by the changes below."""
        for rule in (*self.rule_delta.unchanged(self.stratum), *(self.rule_delta.removed if deleted else ())):
            for atoms, is_deleted in ((rule.positives, deleted), (rule.negatives, not deleted)):
                read = [self.below[atom.relation] for atom in atoms if atom.relation in self.below]
                if any(each.deleted_count if is_deleted else each.inserted_count for each in read):
                    return True
        return False

    def _changed_below(self) -> int:
        return sum(each.deleted_count + each.inserted_count for each in self.below.values())

    def _counted(self, found: Any) -> Any:
        """Returns the heads met, spread like the rows, with the number of instances of each level."""
        spread = self.packed.spread(found)
        return spread.groupBy(*self.packed.keys, LEVEL).agg(f.count(f.lit(1)).alias(MET))

    def _take(self, overlay: Any, wave: int, entered: str) -> tuple[int, int]:
        """Replaces the overlay, in one job. Returns the rows of the next wave and the instances met."""
        check_round(self.watch, self.stratum, wave)
        started = perf_counter()
        waiting = f.count(f.when(f.col(entered) == wave + 1, 1))
        new, made, found = measured(overlay, waiting, f.sum(MET), f.count(f.lit(1)), f.max(RANK))
        release(*self.made)
        self.made = made
        self.overlay, self.touched = new, found[2]
        self.expected = found[1] or 0
        self.top = max(self.top, found[3] or 0)
        self.by_round.append((found[0], perf_counter() - started))
        return found[0], found[1] or 0

    def _progress(self, instances: int, wave: int, batch: int, waiting: int) -> Progress:
        return Progress(instances + wave * WAVE_WORK, wave, batch, waiting, max(self.rows, 1))

    def _without(self, rows: Any, others: Any) -> Any:
        keys = self.packed.keys
        return rows.join(self.packed.hashed(others.select(*keys), self.touched), keys, "left_anti")


@dataclass(frozen=True, slots=True)
class _Wave:
    """One wave of an Update, with `batch` rows in it."""

    waves: RankedUpdate
    wave: int
    batch: int
    name: ClassVar[str]
    entered: ClassVar[str]
    """The number of the overlay that has the wave of a row."""

    @property
    def below(self) -> Mapping[str, RelationVersions]:
        return self.waves.below

    @property
    def steady(self) -> str | None:
        return self.name if self.wave else None

    def inside_events(self) -> Events | None:
        waves = self.waves
        return Events(waves.overlay.filter(f.col(self.entered) == self.wave), self.batch) if self.wave else None


@dataclass(frozen=True, slots=True)
class _RetractWave(_Wave):
    """The `Reading` of a RETRACT wave: the rows not dead by now in front of an event, not dead before behind it."""

    name, entered = "retract", DEAD

    @property
    def inside_rows(self) -> int:
        return self.waves.rows

    def inside(self, *, is_front: bool) -> Any:
        waves = self.waves
        if is_front:
            return waves.alive()
        if self.wave <= 1:
            return waves.state
        return waves._without(waves.state, waves.overlay.filter(f.col(DEAD) < self.wave))

    def events(self, relation: str, negated: bool) -> Events | None:
        return None if self.wave else _changes(self.below[relation], deleted=not negated)

    def rows(self, relation: str, negated: bool, *, is_front: bool) -> Any:
        below = self.below[relation]
        if not is_front and not self.wave:
            return below.before
        return below.either if negated else below.kept


@dataclass(frozen=True, slots=True)
class _InsertWave(_Wave):
    """The `Reading` of an INSERT wave: the rows there by now in front of an event, there before behind it."""

    name, entered = "insert", IN

    @property
    def inside_rows(self) -> int:
        return self.waves.rows + self.waves.touched

    def inside(self, *, is_front: bool) -> Any:
        """Returns the rows that did not die and those inserted up to this wave, or up to the one before."""
        waves, last = self.waves, self.wave if is_front else self.wave - 1
        columns = [*waves.packed.keys, RANK]
        alive = waves.alive().select(*columns)
        if waves.overlay is None or last < 1:
            return alive
        return alive.unionByName(waves.overlay.filter(f.col(IN) <= last).select(*columns))

    def events(self, relation: str, negated: bool) -> Events | None:
        return None if self.wave else _changes(self.below[relation], deleted=negated)

    def rows(self, relation: str, negated: bool, *, is_front: bool) -> Any:
        below = self.below[relation]
        if is_front or self.wave:
            return below.after
        return below.either if negated else below.kept


def _changes(versions: RelationVersions, *, deleted: bool) -> Events | None:
    count = versions.deleted_count if deleted else versions.inserted_count
    if not count:
        return None
    return Events(versions.deleted if deleted else versions.inserted, count)


def _is(name: str) -> Any:
    """Returns the condition that a column has a value."""
    return f.col(name).isNotNull()


def _null(name: str) -> Any:
    return f.lit(None).cast("long").alias(name)
