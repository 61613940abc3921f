"""Bootstrap of one stratum on frames: rows below → all rows with their numbers, by semi-naive rounds, one job each.

A round joins the rows of the last round with the relations that the rules read, and adds up, for each head, its
instances:

    rank     the first round that found the row
    count    the instances that this round found
    total    the instances of all rounds

Rows stay where their hash puts them (`packed_rows`); only instances travel. Each round adds a segment (`segments`): its
new rows, and for each known row that it met again the growth of its total, with rank and count 0. So a round costs the
rows that it meets and a lookup among the rows so far. A round that meets about as many rows as there are makes one
segment of all rows instead, in one aggregation. At the end all numbers of a row are added up. The job that makes a
segment also cuts its lineage and counts it, so the plan of a round has the size of the rules, not of the rounds. The
plan does not name the round (a rank is the level of the instances plus one), so Spark compiles it once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from tidelog.engine.spark import column_functions as f
from tidelog.engine.spark.epoch.deadline import check_round, check_rows
from tidelog.engine.spark.plans.frames.cut_lineage import measured, release
from tidelog.engine.spark.plans.frames.delta_joins import Events, Finder
from tidelog.engine.spark.plans.frames.join_rule import LEVEL
from tidelog.engine.spark.plans.frames.packed_rows import PackedRows, long
from tidelog.engine.spark.plans.frames.relation_versions import RelationVersions
from tidelog.engine.spark.plans.frames.segments import Segments
from tidelog.engine.spark.storage.state_files import NUMBERS
from tidelog.maintain.limits import Watch
from tidelog.rules.ir import Stratum

RANK, COUNT, TOTAL = NUMBERS

MANY_SHARE = 0.5
"""A round that may meet as many instances as this share of all rows is merged with them."""


@dataclass(slots=True)
class Bootstrap:
    """A stratum during its Bootstrap: the rows so far and the costs of each round. `rows` is set at the end.

    `batch`: the rows of the last round; `expected`: the instances that the next one may meet; `is_whole`: the last
    round made one segment of all rows.
    """

    finder: Finder
    stratum: Stratum
    packed: PackedRows
    below: Mapping[str, RelationVersions]
    watch: Watch
    segments: Segments = field(init=False)
    rows: Any = None
    row_count: int = 0
    instances: int = 0
    top: int = 0
    rounds: int = 0
    batch: int = 0
    expected: int = 0
    is_whole: bool = False
    by_round: list[tuple[int, float]] = field(default_factory=list)
    made: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.segments = Segments(self._added_up)

    def run(self) -> None:
        """Derives all rows. `rows` is a plan whose last job has not run yet: drop nothing before it has."""
        inside = {*self.stratum.relations}
        first = [rule for rule in self.stratum.rules if inside.isdisjoint(atom.relation for atom in rule.positives)]
        found = self._counted(self.finder.met(_Round(self, 0), (), first))
        self.rounds = 1
        if not self.stratum.recursive:
            self.rows, self.top = self._numbered(found), 1
            return
        self.below = self.finder.arrange(self.below)
        new = self._take(found)
        while new:
            found = self._counted(self.finder.met(_Round(self, new), self.stratum.rules))
            self.rounds += 1
            new = self._take(found)
        self.top = self.rounds - 1
        self.rows, self.made = self.segments.take()

    def drop(self) -> None:
        self.segments.drop()
        release(*self.made)
        self.made.clear()

    @property
    def new(self) -> Any:
        """The rows that the last round found."""
        return self.segments.last.filter(f"{RANK} = {self.rounds}" if self.is_whole else f"{RANK} > 0")

    @property
    def known(self) -> Any:
        """The rows so far, each once; their ranks are right."""
        return self.segments.all.filter(f"{RANK} > 0")

    @property
    def known_before(self) -> Any:
        """The rows that were known before the last round."""
        earlier = self.segments.earlier
        if earlier is None:
            return self.segments.last.filter(f"{RANK} < {self.rounds}")
        return earlier.filter(f"{RANK} > 0")

    def _counted(self, found: Any) -> Any:
        """Returns the heads found, spread like the rows, each with its number of instances and its level."""
        counts = f.count(f.lit(1)).alias(TOTAL), f.max(LEVEL).alias(LEVEL)
        return self.packed.spread(found).groupBy(*self.packed.keys).agg(*counts)

    def _numbered(self, found: Any) -> Any:
        """Returns the numbers of heads that were not known before."""
        return found.selectExpr(*self.packed.keys, f"{LEVEL} + 1 as {RANK}", f"{TOTAL} as {COUNT}", TOTAL)

    def _looked_up(self, found: Any) -> Any:
        """Returns the segment of a small round: new rows, and for known rows the growth of their totals."""
        keys = self.packed.keys
        known = self.known.select(*keys, f.col(RANK).alias("known"))
        met = self.packed.hashed(found, self.expected).join(known, keys, "left")
        rank, count = (f"if(known is null, {value}, 0L)" for value in (f"{LEVEL} + 1", TOTAL))
        return met.selectExpr(*keys, f"{rank} as {RANK}", f"{count} as {COUNT}", TOTAL)

    def _merged_with(self, found: Any) -> Any:
        """Returns all rows after a large round."""
        keys = self.packed.keys
        met = found.select(*keys, long(0).alias(RANK), long(0).alias(COUNT), TOTAL, LEVEL)
        both = self.segments.all.withColumn(LEVEL, long(0)).unionByName(met)
        sums = both.groupBy(*keys).agg(*(f.sum(name).alias(name) for name in (*NUMBERS, LEVEL)))
        rank, count = (f"if({RANK} = 0, {new}, {old})" for new, old in ((f"{LEVEL} + 1", RANK), (TOTAL, COUNT)))
        return sums.selectExpr(*keys, f"{rank} as {RANK}", f"{count} as {COUNT}", TOTAL)

    def _added_up(self, segments: Any) -> Any:
        return segments.groupBy(*self.packed.keys).agg(*(f.sum(name).alias(name) for name in NUMBERS))

    def _take(self, found: Any) -> int:
        """Adds the heads that a round found, in one job. Returns the number of new rows."""
        started = perf_counter()
        check_round(self.watch, self.stratum, self.rounds - 1)
        self.is_whole = self.expected >= MANY_SHARE * self.row_count
        if not self.segments:
            rows = self._numbered(found)
        else:
            rows = self._merged_with(found) if self.is_whole else self._looked_up(found)
        _, made, (ranked, met) = measured(rows, f.count(f.when(f.col(RANK) > 0, 1)), f.sum(TOTAL))
        (self.segments.become if self.is_whole else self.segments.add)(made)
        new, met = int(ranked), met or 0
        if self.is_whole:
            new, met = new - self.row_count, met - self.instances
        # A row of this round may meet as many instances as one of the last round.
        self.expected = max(new, met * new // max(self.batch, 1))
        self.batch = new
        self.row_count += new
        self.instances += met
        check_rows(self.watch, self.stratum, self.row_count)
        self.by_round.append((new, perf_counter() - started))
        return new


@dataclass(frozen=True, slots=True)
class _Round:
    """The `Reading` of a round: behind an event the rows known before, in front of it all rows."""

    bootstrap: Bootstrap
    batch: int
    steady: str | None = "after"

    @property
    def below(self) -> Mapping[str, RelationVersions]:
        return self.bootstrap.below

    @property
    def inside_rows(self) -> int:
        return self.bootstrap.row_count

    def inside_events(self) -> Events | None:
        return Events(self.bootstrap.new, self.batch) if self.bootstrap.segments else None

    def inside(self, *, is_front: bool) -> Any:
        return self.bootstrap.known if is_front else self.bootstrap.known_before

    def events(self, relation: str, negated: bool) -> Events | None:
        return None

    def rows(self, relation: str, negated: bool, *, is_front: bool) -> Any:
        return self.bootstrap.below[relation].after
