"""One epoch on Spark: net changes of the inputs → segments in order, each one job → the new state and its changes.

Nothing here is visible to users: an epoch reads the files of the last one, writes new ones, and returns the content of
a manifest. A segment is touched when a relation that it reads has changed; the others cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import EvaluationError
from tidelog.engine.interface import Operation, StratumReport
from tidelog.engine.spark.epoch.attempt import Attempt
from tidelog.engine.spark.epoch.deadline import named_rule
from tidelog.engine.spark.epoch.net_operations import Target, net
from tidelog.engine.spark.epoch.set_relation import apply_changes
from tidelog.engine.spark.plans.choose_plan import Chooser, Plan, Segment
from tidelog.engine.spark.plans.frames.state_cache import StateFrame
from tidelog.engine.spark.plans.frames.stratum import Frames, StratumInputs, run_frames
from tidelog.engine.spark.plans.frames.update import UNCHANGED_RULES, RuleDelta
from tidelog.engine.spark.plans.partitioned.task import run_partitioned
from tidelog.engine.spark.plans.placement import Placement
from tidelog.engine.spark.plans.tasks.affected_buckets import EXAMINED_ROWS, AffectedBuckets
from tidelog.engine.spark.plans.tasks.key_filters import read_filters
from tidelog.engine.spark.plans.tasks.run_in_driver import run_in_driver
from tidelog.engine.spark.plans.tasks.task import BucketRelation, Job, MissedChanges, TaskOutcome, Workers, run_tasks
from tidelog.engine.spark.storage.state_files import Changed, Cut, Stored, read_changes
from tidelog.engine.spark.task_errors import spark_errors
from tidelog.maintain.limits import Watch
from tidelog.rules.ir import Relation, Stratum

MISSED_EPOCHS = 4
"""A bucket that the changes of so many epochs did not meet has a task again, so that its engine may be kept."""


@dataclass(slots=True)
class Epoch:
    """An epoch under way. `old` is the state of the last one, `view` the state so far in this one. `recomputed` has
    relations that are recomputed, with all of their segments."""

    attempt: Attempt
    relations: Mapping[str, Relation]
    workers: Workers
    buckets: int
    old: Mapping[str, Stored]
    frames: Frames
    view: dict[str, Stored] = field(init=False)
    watch: Watch = field(init=False)
    changed: dict[str, Changed] = field(default_factory=dict)
    reports: list[StratumReport] = field(default_factory=list)
    inspected: dict[str, list[str]] = field(default_factory=dict)
    recompute_all: bool = False
    placement: Placement | None = None
    recomputed: frozenset[str] = frozenset()
    rule_deltas: Mapping[frozenset[str], RuleDelta] = field(default_factory=dict)
    states: dict[tuple[str, ...], StateFrame] = field(default_factory=dict)
    missed: dict[tuple[str, ...], dict[int, MissedChanges]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.view = dict(self.old)
        self.watch = Watch(self.attempt.context.options.limits, self.attempt.cancellation)

    def write(self, operations: Sequence[Operation]) -> bool:
        """Applies the writes to the input relations; False when they change nothing. Raises DataError."""
        names = dict.fromkeys(operation.relation for operation in operations)
        with spark_errors():
            for name in names:
                relation, stored = self.relations[name], self.old.get(name)
                mine = [operation for operation in operations if operation.relation == name]
                changed = net(Target(self.attempt, relation, stored), mine)
                if changed is not None:
                    self.changed[name] = changed
                    self.view[name] = apply_changes(self.attempt, relation, stored, changed)
                    self.watch.stratum = (name,)
                    self.watch.look()
                    if "#" not in name:  # else it is a part of the relation that has the name
                        self.watch.rows(name, self.view[name].rows)
        return bool(self.changed)

    def feed(self, due: Mapping[str, Changed]) -> None:
        """Applies the due changes of delayed relations."""
        for name, changed in due.items():
            self.changed[name] = changed
            self.view[name] = apply_changes(self.attempt, self.relations[name], self.old.get(name), changed)

    def derive(self, chooser: Chooser, *, is_first: bool = False, recompute_all: bool = False) -> None:
        """Updates all touched segments; in the first epoch also those whose rules need no row to fire. With
        `recompute_all`, all segments."""
        self.recompute_all = recompute_all
        segment = chooser.choose(self._rows(), events=self._events())
        while segment is not None:
            if (
                recompute_all
                or self._is_recomputed(segment)
                or self._is_touched(segment)
                or (is_first and _fires_on_nothing(segment))
            ):
                self._run(segment)
            segment = chooser.choose(self._rows(), after=segment, events=self._events())

    def _is_recomputed(self, segment: Segment) -> bool:
        return not self.recomputed.isdisjoint(segment.relations)

    def commit(self) -> None:
        """Replaces the frames of the last epoch by this one's, and notes the buckets whose engines missed it."""
        self.workers.missed.update(self.missed)
        labels = {name: stored.label for name, stored in self.view.items()}
        self.frames.states.commit(self.attempt.label, self.states, labels)

    def drop(self) -> None:
        """Releases the frames of a failed epoch."""
        for state in self.states.values():
            state.release()

    def _rows(self) -> dict[str, int]:
        return {name: stored.rows for name, stored in self.view.items()}

    def _events(self) -> dict[str, int]:
        return {name: changed.inserted + changed.deleted for name, changed in self.changed.items()}

    def _is_touched(self, segment: Segment) -> bool:
        latest = (self.view.get(name) for name in segment.relations if name in self.attempt.context.latest)
        return any(name in self.changed for name in segment.reads) or any(each and each.rows for each in latest)

    def _run(self, segment: Segment) -> None:
        self.watch.stratum = segment.relations
        if segment.plan is Plan.DRIVER:
            self.attempt.cancellation.check()  # its engine tells of its strata
        else:
            self.attempt.begin(segment.relations)
        if segment.plan is Plan.PARTITIONED and not self.workers.together:
            segment = _on_frames(segment, "nobody knows how many tasks run at the same time")
        if segment.plan is Plan.FRAMES:
            self._run_frames(segment)
            return
        started = perf_counter()
        job = self._job(segment)
        wanted = self._wanted(job)
        known = self.workers.missed.get(segment.relations, {})
        self.missed[segment.relations] = {} if wanted is None else still_missed(job, known, wanted)
        if wanted is not None and not wanted:
            return
        job = replace(job, wanted=wanted, missed=known)
        if segment.plan is Plan.PARTITIONED:
            try:
                with spark_errors():
                    outcomes = run_partitioned(self.attempt.spark, job)
            except EvaluationError as error:
                if error.code != Code.SPARK_JOB_FAILED:
                    raise
                self.attempt.cancellation.check()
                self.watch.look()
                self._run_frames(_on_frames(segment, f"tasks that run at the same time failed ({error.message})"))
                return
        elif segment.plan is Plan.DRIVER:
            outcomes = [run_in_driver(self.attempt, job)]
        else:
            with spark_errors():
                outcomes = run_tasks(self.attempt.spark, job, self.workers)
        by_bucket = {outcome.bucket: outcome for outcome in outcomes}
        for name in segment.relations:
            parts = [
                by_bucket[bucket].relations[name]
                if bucket in by_bucket
                else BucketRelation(job.old[name].buckets[bucket])
                for bucket in range(job.buckets)
            ]
            self._take(name, segment, parts)
        for stratum in segment.strata:
            for name in stratum.relations:
                self.watch.rows(name, self.view[name].rows, named_rule(stratum))
            combined = _combined(stratum, segment, outcomes, job.buckets)
            if combined is not None:
                self.reports.append(combined)
        self._note_times(segment, perf_counter() - started)

    def _run_frames(self, segment: Segment) -> None:
        other = self.rule_deltas.get(frozenset(segment.relations))
        recompute = self.recompute_all or (self._is_recomputed(segment) and other is None)
        inputs = StratumInputs(self.old, self.view, self.changed, self.watch, recompute, other or UNCHANGED_RULES)
        self.watch.on_round = partial(self.attempt.begin, segment.relations)
        outcome, report = run_frames(self.attempt, segment, self.relations, inputs, self.frames)
        for name, stored in outcome.stored.items():
            self.watch.rows(name, stored.rows, named_rule(segment.strata[0]))
        if outcome.state is not None:
            self.states[segment.relations] = outcome.state
        self.view.update(outcome.stored)
        self.changed.update(outcome.changed)
        self.reports.append(report)

    def _note_times(self, segment: Segment, seconds: float) -> None:
        """Notes the times of the segment's strata where they ran: their own, and a share of the common time."""
        if self.placement is None:
            return
        events, strata = self._events(), {stratum.relations: stratum for stratum in segment.strata}
        reports = [report for report in self.reports if report.relations in strata]
        inside = sum(report.seconds for report in reports)
        if segment.plan is not Plan.DRIVER:
            self.placement.note_job(max(seconds - inside, 0.0))
        for report in reports:
            mentioned = Segment((strata[report.relations],), segment.plan, {}, "").reads
            share = report.seconds + (seconds - inside) / len(reports)
            changed = sum(events.get(name, 0) for name in mentioned)
            self.placement.note(report.relations, segment.plan.value, changed, share)

    def _job(self, segment: Segment) -> Job:
        mentioned = (*segment.relations, *segment.reads)
        owned = [self.old.get(name) for name in segment.relations]
        labels = sorted({stored.label for stored in owned if stored is not None})
        return Job(
            directory=self.attempt.directory,
            epoch=self.attempt.epoch,
            label=self.attempt.label,
            old_label="+".join(labels),
            segment=segment,
            relations={name: self.relations[name] for name in mentioned},
            buckets=self._buckets(segment),
            # A relation without a state has never been touched: it is empty, and that is a state.
            recompute=self.attempt.epoch == 0
            or self.recompute_all
            or self._is_recomputed(segment)
            or any(stored is not None and not stored.counted for stored in owned),
            old={name: self.old[name] for name in mentioned if name in self.old},
            new={name: self.view[name] for name in mentioned if name in self.view},
            changed={name: self.changed[name] for name in segment.reads if name in self.changed},
            context=self.attempt.context,
            spent=perf_counter() - self.attempt.started,
        )

    def _buckets(self, segment: Segment) -> int:
        """Returns the number of buckets of a segment's relations. The tasks of a partitioned one run all at once."""
        if segment.plan is Plan.PARTITIONED:
            return min(self.buckets, self.workers.together)
        return self.buckets if segment.plan is Plan.DECOMPOSED else 1

    def _wanted(self, job: Job) -> tuple[int, ...] | None:
        """Returns the buckets of a decomposed segment that the change may meet or that have missed too much already;
        None: all, because that cannot be told."""
        if job.segment.plan is Plan.PARTITIONED:
            return None
        owned = {name: self.old[name] for name in job.segment.relations if name in self.old}
        relations = [self.relations[name] for name in job.segment.relations]
        is_plain = not job.always and not any(
            relation.weighted or relation.name in job.context.inspected for relation in relations
        )
        is_cut = job.buckets > 1 and all(
            name in owned and owned[name].is_cut(Cut(job.segment.pivots[name], job.buckets, 0))
            for name in job.segment.relations
        )
        rows = sum(changed.inserted + changed.deleted for changed in job.changed.values())
        if job.recompute or not is_plain or not is_cut or rows > EXAMINED_ROWS:
            return None
        directory = self.attempt.directory
        tables = {name: read_changes(directory, self.relations[name], each) for name, each in job.changed.items()}
        examined = AffectedBuckets(
            job.segment, job.buckets, owned, tables, partial(read_filters, directory), job.context.definitions
        )
        missed = self.workers.missed.get(job.segment.relations, {})
        late = (bucket for bucket, each in missed.items() if len(each.changes) >= MISSED_EPOCHS)
        return tuple(sorted({*examined.numbers(), *late}))

    def _take(self, name: str, segment: Segment, parts: Sequence[BucketRelation]) -> None:
        column = segment.pivots[name] if len(parts) > 1 else None
        buckets = tuple(part.bucket for part in parts)
        self.view[name] = Stored(self.attempt.label, counted=True, column=column, buckets=buckets)
        changed = [part.changed for part in parts if part.changed is not None]
        if changed:
            files = tuple(file for each in changed for file in each.files)
            inserted, deleted = sum(each.inserted for each in changed), sum(each.deleted for each in changed)
            self.changed[name] = Changed(files, inserted, deleted, self.relations[name].weighted)
        shown = [part.inspected for part in parts if part.inspected is not None]
        if shown:
            self.inspected[name] = shown


def _on_frames(segment: Segment, why: str) -> Segment:
    """Returns a partitioned segment on frames, which do not need tasks that run at the same time."""
    return replace(segment, plan=Plan.FRAMES, pivots={}, reason=f"{segment.reason}; {why}")


def still_missed(job: Job, known: Mapping[int, MissedChanges], wanted: Sequence[int]) -> dict[int, MissedChanges]:
    """Returns the changes missed by each bucket without a task, with this epoch's."""
    unmet = [bucket for bucket in range(job.buckets) if bucket not in wanted]
    before = {bucket: known.get(bucket, MissedChanges(job.old_label, ())) for bucket in unmet}
    return {bucket: replace(each, changes=(*each.changes, job.changed)) for bucket, each in before.items()}


def _fires_on_nothing(segment: Segment) -> bool:
    rules = (rule for stratum in segment.strata for rule in stratum.rules)
    return any(not rule.positives and rule.group is None for rule in rules)


def _combined(
    stratum: Stratum, segment: Segment, outcomes: Sequence[TaskOutcome], buckets: int
) -> StratumReport | None:
    """Combines the tasks' reports of one stratum; None if no task touched it."""
    parts = [report for outcome in outcomes for report in outcome.strata if report.relations == stratum.relations]
    if not parts:
        return None
    leading = max(parts, key=lambda part: (part.strategy == "bootstrap", part.strategy == "update"))
    tasks = f"; {len(parts)} of {buckets} buckets" if buckets > 1 else ""
    return replace(
        leading,
        place=segment.plan.value,
        reason=f"{leading.reason}; {segment.reason}{tasks}",
        rounds=max(part.rounds for part in parts),
        instances=sum(part.instances for part in parts),
        seconds=max(part.seconds for part in parts),
    )
