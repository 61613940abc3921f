"""The plan `frames` for one stratum in one epoch: updates it by waves or derives it by rounds, and stores it.

`FramesStratum` implements the same interface as a stratum of the local engine, so the same switch decides, and learns
from the costs of epochs. Costs are counted in instances; a wave costs `WAVE_WORK` of them more. The last job of either
way writes its result: base files for all rows, or the touched rows, which the driver merges into the delta.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import EvaluationError
from tidelog.engine.interface import StratumReport
from tidelog.engine.spark import column_functions as f
from tidelog.engine.spark.epoch.attempt import Attempt
from tidelog.engine.spark.epoch.deadline import within_deadline
from tidelog.engine.spark.epoch.set_relation import MERGED_ROWS
from tidelog.engine.spark.plans.choose_plan import Segment
from tidelog.engine.spark.plans.frames.bootstrap import Bootstrap
from tidelog.engine.spark.plans.frames.cut_lineage import cut, loop_settings, release
from tidelog.engine.spark.plans.frames.delta_joins import Finder, Joins
from tidelog.engine.spark.plans.frames.packed_rows import PackedRows, long
from tidelog.engine.spark.plans.frames.relation_versions import RelationVersions
from tidelog.engine.spark.plans.frames.state_cache import CACHED_STATE_ROWS, StateCache, StateFrame
from tidelog.engine.spark.plans.frames.update import UNCHANGED_RULES, WAS, WAVE_WORK, RankedUpdate, RuleDelta
from tidelog.engine.spark.plans.frames.write_state import Written, write_parts
from tidelog.engine.spark.storage import state_files
from tidelog.engine.spark.storage.scan import encoded, scan_rows, union
from tidelog.engine.spark.storage.state_files import DELTA_SHARE, NUMBERS, TOTAL, Bucket, Changed, Stored
from tidelog.engine.spark.strategies.circuit.finder import Circuit
from tidelog.engine.spark.strategies.circuit.words import has_words
from tidelog.engine.spark.task_errors import spark_errors
from tidelog.maintain.epoch import maintain
from tidelog.maintain.limits import Watch
from tidelog.maintain.strategies import DEFAULT_STRATEGY
from tidelog.maintain.switch import Meter, Switch, Touched
from tidelog.rules.ir import Relation, Stratum

USUAL_ROUNDS = 5
"""Assumed rounds of a Bootstrap, until one has run."""


@dataclass(frozen=True, slots=True)
class Frames:
    """Shared by all strata on frames: the switch, which learns, and the states that Spark keeps."""

    switch: Switch
    states: StateCache
    strategy: str = DEFAULT_STRATEGY


@dataclass(frozen=True, slots=True)
class StratumInputs:
    """The inputs of an epoch: the state stored by the last one, the state stored by now, and the changes so far.

    `recompute`: the old state is not to be trusted. `rule_delta`: the old state is of other rules.
    """

    old: Mapping[str, Stored]
    new: Mapping[str, Stored]
    changed: Mapping[str, Changed]
    watch: Watch
    recompute: bool = False
    rule_delta: RuleDelta = UNCHANGED_RULES


@dataclass(frozen=True, slots=True)
class FramesOutcome:
    """The stratum's relations after the epoch, their changes, and the state that Spark keeps, if it does."""

    stored: Mapping[str, Stored]
    changed: Mapping[str, Changed]
    state: StateFrame | None


def run_frames(
    attempt: Attempt, segment: Segment, relations: Mapping[str, Relation], inputs: StratumInputs, frames: Frames
) -> tuple[FramesOutcome, StratumReport]:
    """Brings the segment's only stratum to the new epoch."""
    (stratum,) = segment.strata
    owned = [inputs.old.get(name) for name in stratum.relations]
    labels = {stored.label if stored is not None and stored.counted else None for stored in owned}
    label = labels.pop() if len(labels) == 1 else None
    kept = frames.states.find(stratum.relations, label) if label is not None else None
    try:
        return _run(FramesStratum(attempt, segment, relations, inputs, kept, frames.strategy), frames)
    except EvaluationError as error:
        if kept is None or error.code != Code.SPARK_JOB_FAILED:
            raise
    # A cached state may be lost with an executor; the files are not.
    frames.states.forget(stratum.relations)
    return _run(FramesStratum(attempt, segment, relations, inputs, None, frames.strategy), frames)


def _run(stratum: FramesStratum, frames: Frames) -> tuple[FramesOutcome, StratumReport]:
    watch = stratum.watch
    with within_deadline(stratum.attempt, watch, stratum.stratum), loop_settings(stratum.attempt.spark), spark_errors():
        try:
            (report,) = maintain(
                [stratum], recompute=not stratum.is_counted, strategy=frames.strategy, switch=frames.switch
            )
        finally:
            stratum.tidy()
    assert stratum.outcome is not None
    segment = stratum.segment
    return stratum.outcome, replace(
        report,
        place=segment.plan.value,
        reason=f"{report.reason}; {segment.reason}",
        impact=report.instances / max(stratum.instances_before, 1),
        by_round=stratum.by_round,
    )


class FramesStratum:
    """Implements `maintain.epoch.StratumState`."""

    fixed = None
    why = ""
    is_new = False  # the epoch itself recomputes a stratum whose rules have changed

    def __init__(
        self,
        attempt: Attempt,
        segment: Segment,
        relations: Mapping[str, Relation],
        inputs: StratumInputs,
        kept: StateFrame | None,
        strategy: str = DEFAULT_STRATEGY,
    ) -> None:
        (self.stratum,) = segment.strata
        self.relations, self.recursive = self.stratum.relations, self.stratum.recursive
        self.watch = inputs.watch
        self.attempt = attempt
        self.segment = segment
        self.outcome: FramesOutcome | None = None
        self.waves = 0
        self.work = 0
        self._relations = relations
        self._inputs = inputs
        self._packed = PackedRows(attempt.spark, self.stratum, relations, attempt.context.functions)
        self._below = {
            name: RelationVersions(
                attempt, relations[name], inputs.old.get(name), inputs.new.get(name), inputs.changed.get(name)
            )
            for name in dict.fromkeys([*segment.reads, *_read_below(inputs.rule_delta, self.stratum)])
        }
        self._finder, self.strategy = self._chosen_finder(strategy)
        self._old = [inputs.old.get(name) for name in self.stratum.relations]
        # Changes of weights do not tell which rows are inserted and which deleted.
        is_clear = not inputs.recompute and not any(changed.weighted for changed in inputs.changed.values())
        self.is_counted = is_clear and all(stored is not None and stored.counted for stored in self._old)
        self._state = kept
        self._is_mine = kept is None
        self._waves: RankedUpdate | None = None
        self._bootstrap: Bootstrap | None = None
        self.instances_before = kept.instances if kept is not None else 0
        self._rounds = kept.rounds if kept is not None else 0
        self._result = 0  # instances after this epoch
        self._made: list[Any] = []
        self.by_round: tuple[tuple[int, float], ...] = ()

    def _chosen_finder(self, strategy: str) -> tuple[Finder, str]:
        """Returns the finder of rule instances, and the name of its strategy."""
        spark, rules = self.attempt.spark, (*self.stratum.rules, *self._inputs.rule_delta.removed)
        if strategy == "circuit" and has_words(self.stratum, rules, self._relations):
            return Circuit(spark, self.stratum, self._packed, self._relations, rules), "circuit"
        return Joins(spark, self.stratum, self._packed), "elastic"

    @property
    def instances(self) -> int:
        """The instances before this epoch, or after it once it is done, with the work of rounds."""
        known = self._result if self.outcome is not None else self._loaded().instances if self.is_counted else 0
        return known + (self._rounds or USUAL_ROUNDS) * WAVE_WORK if known else 0

    @property
    def row_count(self) -> int:
        return sum(stored.rows for stored in self._old if stored is not None)

    def is_touched(self) -> bool:
        return True

    def has_rules(self) -> bool:
        return True

    def can_update(self) -> bool:
        return self.is_counted

    def can_derive(self) -> bool:
        return True

    def touched(self) -> tuple[Touched, ...]:
        below = [
            Touched(name, versions.old_rows, versions.inserted_count, versions.deleted_count)
            for name, versions in self._below.items()
            if versions.changed is not None
        ]
        rule_delta, count = self._inputs.rule_delta, len(self.stratum.rules)
        rules = [Touched(f"rule {rule.id}", count, 1, 0, is_rule=True) for rule in rule_delta.added]
        rules += [Touched(f"rule {rule.id}", count, 0, 1, is_rule=True) for rule in rule_delta.removed]
        return (*below, *rules)

    def rows_below(self) -> int:
        return sum(versions.new_rows for versions in self._below.values())

    def top_rank(self) -> int:
        return self._loaded().top if self.is_counted else 0

    def small_update(self, most: int) -> None:
        """Does nothing: every Update is jobs, which the switch has to choose."""

    def update(self, meter: Meter) -> bool:
        state = self._loaded()
        self.instances_before = state.instances
        waves = self._waves = RankedUpdate(
            self._finder,
            self.stratum,
            self._packed,
            self._below,
            state.rows,
            state.row_count,
            state.top,
            self.watch,
            self._inputs.rule_delta,
        )
        is_done = waves.update(meter)
        self.waves, self.work = waves.waves, waves.killed + waves.born
        self.by_round = tuple(waves.by_round)
        if is_done:
            self._store_update(waves, state)
        return is_done

    def bootstrap(self) -> None:
        if self.is_counted:
            self.instances_before = self._loaded().instances
        bootstrap = self._bootstrap = Bootstrap(self._finder, self.stratum, self._packed, self._below, self.watch)
        bootstrap.run()
        self.by_round = tuple(bootstrap.by_round)
        written = write_parts(
            self.attempt, self._by_relation(self._beside_old(bootstrap.rows)), self._relations, with_deleted=False
        )
        self._result = self.work = sum(each.instances for each in written.values())
        self.waves = self._rounds = bootstrap.rounds
        rows = sum(each.rows for each in written.values())
        state = None
        if self.stratum.recursive and rows <= CACHED_STATE_ROWS:
            made = [bootstrap.made.pop(0)]
            state = StateFrame(bootstrap.rows, rows, self._result, bootstrap.top, bootstrap.rounds, made)
        self._finish({name: self._whole(each) for name, each in written.items()}, written, state)

    def roll_back(self) -> None:
        if self._waves is not None:
            self._waves.drop()

    def tidy(self) -> None:
        """Releases all frames but the cached state of the last epoch and the state that this epoch made."""
        for made in (self._waves, self._bootstrap):
            if made is not None:
                made.drop()
        self._finder.release()
        if self._is_mine and self._state is not None:
            self._state.release()
        if self.outcome is None:
            release(*self._made)

    # Reading

    def _loaded(self) -> StateFrame:
        """Returns the state of the last epoch, read from its files if it is not cached."""
        if self._state is None:
            rows = cut(self._scanned([*self._packed.keys, *NUMBERS]))
            (found,) = rows.agg(f.count(f.lit(1)), f.sum(TOTAL), f.max(NUMBERS[0])).collect()
            self._state = StateFrame(rows, found[0], found[1] or 0, found[2] or 0, made=[rows])
        return self._state

    def _scanned(self, columns: Sequence[str]) -> Any:
        """Returns all rows of the last epoch, spread by their hash, with these columns."""
        scans = (self._scan(name, stored) for name, stored in zip(self.relations, self._old, strict=True))
        return self._packed.spread(union(scan.select(*columns) for scan in scans))

    def _scan(self, name: str, stored: Stored | None) -> Any:
        numbers = stored is not None and stored.counted
        rows = scan_rows(self.attempt.spark, self.attempt.directory, self._relations[name], stored, numbers=numbers)
        more = NUMBERS if numbers else ()
        return self._packed.pack(encoded(rows, self._relations[name], more), name, more)

    def _beside_old(self, rows: Any) -> Any:
        """Returns new and old rows: `_was` is 1 for old ones; rows no longer derived have no instance."""
        new = rows.withColumn(WAS, long(0))
        if not self.row_count:
            return new
        keys = self._packed.keys
        old = self._scanned(keys) if self._state is None else self._state.rows
        old = old.select(*keys, *(long(0).alias(name) for name in NUMBERS), long(1).alias(WAS))
        return new.unionByName(old).groupBy(*keys).agg(*(f.max(name).alias(name) for name in (*NUMBERS, WAS)))

    # Storing

    def _store_update(self, waves: RankedUpdate, state: StateFrame) -> None:
        self._result = state.instances + waves.born - waves.killed
        made = None
        if waves.overlay is None or not waves.touched:
            self._finish(dict(self._owned()), {}, None)
            return
        if state.row_count <= CACHED_STATE_ROWS:
            made = cut(waves.merged())
            self._made.append(made)
        is_delta = self._stays_delta(waves.touched)
        rows = waves.overlay if is_delta else self._merged_with_was(waves)
        written = write_parts(
            self.attempt, self._by_relation(rows), self._relations, with_deleted=is_delta, beside=made
        )
        stored = {
            name: self._laid_over(name, each) if is_delta else self._whole(each) for name, each in written.items()
        }
        count = sum(each.rows for each in stored.values())
        kept = None
        if made is not None:
            kept = StateFrame(made, count, self._result, waves.top, self._rounds, [made])
        self._finish(stored, written, kept)

    def _owned(self) -> list[tuple[str, Stored]]:
        return [(name, self._inputs.old[name]) for name in self.relations]

    def _stays_delta(self, touched: int) -> bool:
        """True if the touched rows are few beside the base, and each relation is in one bucket."""
        buckets = [bucket for _, stored in self._owned() for bucket in stored.buckets]
        base, delta = sum(bucket.base_rows for bucket in buckets), sum(bucket.delta_rows for bucket in buckets)
        few = delta + touched <= min(DELTA_SHARE * base, MERGED_ROWS)
        return few and all(len(stored.buckets) == 1 for _, stored in self._owned())

    def _merged_with_was(self, waves: RankedUpdate) -> Any:
        rest = waves.untouched().withColumn(WAS, long(1))
        return rest.unionByName(waves.overlay.select(*self._packed.keys, *NUMBERS, WAS))

    def _by_relation(self, rows: Any) -> dict[str, Any]:
        return {name: self._packed.unpack(rows, name, [WAS, *NUMBERS]) for name in self.relations}

    def _whole(self, written: Written) -> Stored:
        bucket = Bucket(written.rows, written.files, written.rows)
        return Stored(self.attempt.label, counted=True, column=None, buckets=(bucket,))

    def _laid_over(self, name: str, written: Written) -> Stored:
        (old,) = self._inputs.old[name].buckets
        if written.files:
            changed = written.changed
            rows = old.rows + (changed.inserted - changed.deleted if changed is not None else 0)
            table = state_files.read_state(self.attempt.directory, self._relations[name], written.files)
            old = state_files.write_delta(self.attempt.directory, self.attempt.epoch, name, old, rows, table)
        return Stored(self.attempt.label, counted=True, column=None, buckets=(old,))

    def _finish(self, stored: Mapping[str, Stored], written: Mapping[str, Written], state: StateFrame | None) -> None:
        changed = {name: each.changed for name, each in written.items() if each.changed is not None}
        self.outcome = FramesOutcome(stored, changed, state)


def _read_below(rule_delta: RuleDelta, stratum: Stratum) -> list[str]:
    """Returns the relations below the stratum that removed rules read."""
    mentioned = (atom.relation for rule in rule_delta.removed for atom in rule.atoms)
    return [name for name in mentioned if name not in stratum.relations]
