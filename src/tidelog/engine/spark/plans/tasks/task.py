"""The work of a Spark task: brings one bucket of a segment to the new epoch with the local engine.

A task gets a job and the number of its bucket. It takes the bucket's state as of the last epoch, commits the changes of
the relations below as one transaction of the local engine, writes the result as Parquet and answers with one line
of JSON: the names of its files, their rows, and the engine's report, or the Tidelog error that stopped it. The
files count only when the driver names them in the manifest, so a task may run twice or die at any point.

Two ways to the new epoch. *Update*: load the state, commit the changes; the local engine updates, or bootstraps where
its switch says so. *Recompute*: there is no state with numbers, so everything is derived from the relations below, and
the changes are the difference to the old rows, if there were any.

A task keeps rows with their numbers, and weights, between epochs. Its strata have no other history: delayed changes
stay with the driver, and a stream has none.
"""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.diagnostics.errors import TidelogError
from tidelog.engine.interface import ChangeRows, Operation, Outcome, StratumReport
from tidelog.engine.spark.plans.choose_plan import Plan, Segment
from tidelog.engine.spark.plans.tasks.claim import claimed_buckets
from tidelog.engine.spark.plans.tasks.engine_cache import ENGINES, Key
from tidelog.engine.spark.plans.tasks.key_filters import joined_columns, write_filters
from tidelog.engine.spark.plans.tasks.subprogram import TaskProgram, task_program
from tidelog.engine.spark.plans.tasks.task_context import TaskContext, ship
from tidelog.engine.spark.plans.tasks.task_inputs import TaskInputs
from tidelog.engine.spark.storage import state_files
from tidelog.engine.spark.storage.directory import StateDirectory
from tidelog.engine.spark.storage.state_files import NUMBERS, TOTAL, Bucket, Changed, Cut, Stored
from tidelog.engine.spark.task_errors import describe, revive
from tidelog.rules.ir import Kind, Relation

if TYPE_CHECKING:
    from tidelog.engine.local.engine import LocalEngine


@dataclass(frozen=True, slots=True)
class MissedChanges:
    """A bucket without a task: the label of its engine's state, and the changes below since then."""

    label: str
    changes: tuple[Mapping[str, Changed], ...]


@dataclass(frozen=True, slots=True)
class Job:
    """One segment in one epoch, for all of its tasks. Travels to them pickled.

    `old` and `new` have the state before this epoch and so far in it, for the relations of the segment and those
    below; `changed` has the changes of this epoch below. `label` names the state that this attempt makes, `old_label`
    the one it starts from. `spent` is how many seconds of the epoch are gone. `wanted` are the buckets that the change
    may meet (None: all); `missed` has those of them that earlier changes did not meet.
    """

    directory: StateDirectory
    epoch: int
    label: str
    old_label: str
    segment: Segment
    relations: Mapping[str, Relation]
    buckets: int
    recompute: bool
    old: Mapping[str, Stored]
    new: Mapping[str, Stored]
    changed: Mapping[str, Changed]
    context: TaskContext = field(default_factory=TaskContext)
    spent: float = 0.0
    wanted: tuple[int, ...] | None = None
    missed: Mapping[int, MissedChanges] = field(default_factory=dict)

    @property
    def filtered(self) -> dict[str, tuple[int, ...]]:
        """The filtered columns of the segment's relations."""
        if self.segment.plan is Plan.PARTITIONED:
            return {}
        rules = (rule for stratum in self.segment.strata for rule in stratum.rules)
        return joined_columns(rules, self.segment.relations)

    @property
    def bucket_numbers(self) -> tuple[int, ...]:
        """The buckets that have something to do."""
        return tuple(range(self.buckets)) if self.wanted is None else self.wanted

    def kept_label(self, bucket: int) -> str:
        """Returns the label of the state of the bucket's engine, if a process keeps one."""
        return self.missed[bucket].label if bucket in self.missed else self.old_label

    @property
    def always(self) -> bool:
        """True if a relation of the segment lasts for one epoch only."""
        return any(name in self.context.latest for name in self.segment.relations)

    def key(self, bucket: int) -> Key:
        """Returns the key of the bucket's engine in `EngineCache`."""
        return (self.directory.address, self.segment.plan.value, self.buckets, bucket, *self.segment.relations)

    def cut(self, name: str, bucket: int) -> Cut | None:
        """Returns the bucket's part of a relation of the segment; None: all of it."""
        return Cut(self.segment.pivots[name], self.buckets, bucket) if self.buckets > 1 else None

    def old_bucket(self, name: str, bucket: int) -> Bucket | None:
        """Returns the bucket's files of the last epoch; None if the relation was cut otherwise then."""
        stored = self.old.get(name)
        if stored is None:
            return Bucket()
        cut = self.cut(name, bucket)
        is_same = stored.is_cut(cut) if cut is not None else len(stored.buckets) == 1
        return stored.buckets[bucket] if is_same else None


@dataclass(frozen=True, slots=True)
class BucketRelation:
    """One bucket of one relation after the epoch, and its changes, if there are any.

    `inspected` is a file with the rows that an `Inspect` has to show.
    """

    bucket: Bucket
    changed: Changed | None = None
    inspected: str | None = None


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """The answer of a task about one bucket, and the id of the process that now keeps its engine."""

    bucket: int
    relations: Mapping[str, BucketRelation]
    strata: tuple[StratumReport, ...]
    process: int


@dataclass(slots=True)
class Workers:
    """The Python processes of a session: how many run at a time, whether they and the state are on this machine, and
    how many are certain to run at the same time (`together`, 0 if nobody knows).

    Both by the relations of a job: `owners` has the process that ran each bucket last, `missed` the buckets that have
    had no task since.
    """

    count: int
    are_here: bool
    together: int = 0
    owners: dict[tuple[str, ...], list[int | None]] = field(default_factory=dict)
    missed: dict[tuple[str, ...], dict[int, MissedChanges]] = field(default_factory=dict)

    @property
    def needed(self) -> set[str]:
        """Files with changes that kept engines have still to see."""
        missed = [each for known in self.missed.values() for bucket in known.values() for each in bucket.changes]
        return {name for changes in missed for changed in changes.values() for name in changed.files}


def run_tasks(spark: Any, job: Job, workers: Workers) -> list[TaskOutcome]:
    """Runs the job's tasks as one Spark job. Returns outcomes by bucket. Raises the first Tidelog error of a task."""
    found: dict[int, TaskOutcome] = {}
    owners = workers.owners.get(job.segment.relations, [])
    owners = owners if len(owners) == job.buckets else [None] * job.buckets
    if workers.are_here:
        tasks = max(len(job.bucket_numbers), workers.count)
        found = _run(spark, tasks, partial(_claim_and_answer, ship(job), owners))
    missing = [bucket for bucket in job.bucket_numbers if bucket not in found]
    if missing:
        found |= _run(spark, len(missing), partial(_answer_for, ship(job), missing))
    processes = {bucket: outcome.process for bucket, outcome in found.items()}
    workers.owners[job.segment.relations] = [processes.get(each, owner) for each, owner in enumerate(owners)]
    return [found[bucket] for bucket in job.bucket_numbers]


def run_bucket(job: Job, bucket: int, meet: Callable[[LocalEngine], object] | None = None) -> TaskOutcome:
    """Brings one bucket to the new epoch and writes its files, in a task or in the driver. `meet` gets the engine
    before it begins."""
    task = task_program(job.segment, job.relations, job.buckets, bucket, job.context)
    below = TaskInputs(job.directory, job.relations, task)
    key = job.key(bucket)
    if job.recompute:
        engine = _new_engine(job, task)
        if meet is not None:
            meet(engine)
        relations, strata = _recompute(job, bucket, engine, below)
        ENGINES.put(key, job.label, engine)
        return TaskOutcome(bucket, relations, strata, os.getpid())
    operations = below.changes(job.changed)
    is_touched = bool(operations) or job.always
    kept = ENGINES.take(key, job.kept_label(bucket))
    engine = kept or _new_engine(job, task)
    if meet is not None:
        meet(engine)
    engine.spent = job.spent
    if kept is not None and bucket in job.missed:
        # These changes do not change the bucket's rows, but its engine needs them in the relations below.
        operations = [each for missed in job.missed[bucket].changes for each in below.changes(missed)] + operations
    if kept is None and is_touched:
        own = {name: state_files.with_input(old_state(job, bucket, name), False) for name in job.segment.relations}
        engine.load({**below.states(job.old), **own})
    relations, strata = _update(job, bucket, engine, operations)
    if kept is not None or is_touched:
        ENGINES.put(key, job.label, engine)
    return TaskOutcome(bucket, relations, strata, os.getpid())


_REPLACING = ("bootstrap", "recompute")
BucketResult = tuple[dict[str, BucketRelation], tuple[StratumReport, ...]]


def _update(job: Job, bucket: int, engine: LocalEngine, operations: list[Operation]) -> BucketResult:
    """Commits the changes to the loaded engine and writes the result."""
    outcome = None
    if operations or job.always:
        outcome = engine.step(operations) if job.always else engine.commit(operations)
    if outcome is None:
        return {name: _as_it_was(job, bucket, name) for name in job.segment.relations}, ()
    return written_update(job, bucket, engine, outcome)


def written_update(job: Job, bucket: int, engine: LocalEngine, outcome: Outcome) -> BucketResult:
    """Writes the bucket after an epoch of its engine, which had the bucket's old state."""
    replaced = {name for each in outcome.report.strata if each.strategy in _REPLACING for name in each.relations}
    relations = {}
    for name in job.segment.relations:
        relation, place = job.relations[name], (job.directory, job.epoch)
        old = job.old_bucket(name, bucket)
        if old is None or name in replaced:
            # Cut otherwise until now, or every number is new: the old files are of no use.
            table = whole_bucket(job, name, engine)
            written = written_whole(job, name, table)
        else:
            rows, whole = engine.count(name), partial(whole_bucket, job, name, engine)
            touched = engine.state_changes(name).select(_columns(job, name))
            written = state_files.write_bucket(*place, name, old, rows, touched, whole)
            written = _with_keys(job, name, written, touched, old.keys)
        difference = outcome.changes.get(name)
        changed = None
        if relation.weighted:
            changed = state_files.write_weights(*place, relation, engine.weight_changes(name))
        elif difference is not None and _is_all_new(old, written, difference):
            changed = Changed(written.base, written.rows, 0)
        elif difference is not None:
            changed = state_files.write_changes(*place, relation, difference.inserted(), difference.deleted())
        relations[name] = BucketRelation(written, changed)
    return _with_inspected(job, relations, engine.inspected()), outcome.report.strata


def _is_all_new(old: Bucket | None, written: Bucket, difference: ChangeRows) -> bool:
    """True if the bucket had no rows, so that its new file serves as the file of changes."""
    return old == Bucket() and written.base_rows == difference.inserted_count() and not difference.deleted_count()


def _recompute(job: Job, bucket: int, engine: LocalEngine, below: TaskInputs) -> BucketResult:
    """Derives everything from the facts, and writes it with its difference to the old rows."""
    engine.spent = job.spent
    outcome = engine.open()
    seen = [_passing(job, engine)]
    if job.epoch > 0 and any(_passes(job, name) for name in job.segment.relations):
        # Streams and inspected rows are of the epoch's change, so the state before it is derived first.
        engine.commit(below.facts(job.old, {}))
        outcome = engine.step(below.changes(job.changed))
        seen = [_passing(job, engine)]
    else:
        loaded = engine.commit(below.facts(job.new, job.changed))
        if loaded is not None:
            outcome = loaded
            seen.append(_passing(job, engine))
    relations = {}
    for name in job.segment.relations:
        relation, place = job.relations[name], (job.directory, job.epoch)
        new = whole_bucket(job, name, engine)
        written = written_whole(job, name, new)
        old = state_files.read_weights(job.directory, relation, job.old.get(name), job.cut(name, bucket))
        if relation.weighted:
            is_stream = relation.kind is Kind.STREAM
            weights = [each[0][name] for each in seen] if is_stream else [new, state_files.negated(old)]
            difference = state_files.sum_weights(weights, state_files.value_names(relation))
            changed = state_files.write_weights(*place, relation, difference)
        elif old.num_rows:
            changed = state_files.write_changes(*place, relation, rows_without(new, old), rows_without(old, new))
        else:
            # All rows are inserted: the state file serves as the file of changes.
            changed = Changed(written.base, new.num_rows, 0) if written.base else None
        relations[name] = BucketRelation(written, changed)
    return _with_inspected(job, relations, _inspected_in_all(job, [each[1] for each in seen])), outcome.report.strata


def _passing(job: Job, engine: LocalEngine) -> tuple[dict[str, pa.Table], Mapping[str, pa.Table]]:
    """Returns the results of the engine's last epoch that are not in its state: rows of streams, and inspected rows."""
    streams = [name for name in job.segment.relations if job.relations[name].kind is Kind.STREAM]
    return {name: engine.weight_changes(name) for name in streams}, engine.inspected()


def _passes(job: Job, name: str) -> bool:
    return job.relations[name].kind is Kind.STREAM or name in job.context.inspected


def _inspected_in_all(job: Job, parts: list[Mapping[str, pa.Table]]) -> dict[str, pa.Table]:
    """Returns the inspected rows of several epochs of an engine, as of one epoch."""
    found = {}
    for name in {name for part in parts for name in part}:
        tables = [part[name] for part in parts if name in part]
        values = state_files.value_names(job.relations[name])
        if len(tables) > 1 and values:
            both = pa.concat_tables(tables).group_by(values, use_threads=False)
            sums = both.aggregate([(TOTAL, "sum"), ("_rank", "max")]).rename_columns([*values, TOTAL, "_rank"])
            tables = [sums.filter(pc.not_equal(sums[TOTAL], 0))]
        found[name] = tables[-1]
    return found


def _with_inspected(
    job: Job, relations: dict[str, BucketRelation], inspected: Mapping[str, pa.Table]
) -> dict[str, BucketRelation]:
    for name, table in inspected.items():
        file = job.directory.new_name(job.epoch, name, "inspected")
        job.directory.write(file, table)
        relations[name] = replace(relations[name], inspected=file)
    return relations


def _as_it_was(job: Job, bucket: int, name: str) -> BucketRelation:
    """Returns the old files; if the relation was cut otherwise until now, writes its rows in the new cut."""
    old = job.old_bucket(name, bucket)
    return BucketRelation(written_whole(job, name, old_state(job, bucket, name)) if old is None else old)


def written_whole(job: Job, name: str, table: pa.Table) -> Bucket:
    """Writes the bucket with just these rows, and their filters."""
    return _with_keys(job, name, state_files.write_whole(job.directory, job.epoch, name, table), table, None)


def _with_keys(job: Job, name: str, bucket: Bucket, rows: pa.Table, old: str | None) -> Bucket:
    """Returns the bucket with filters of these rows, added to the filters `old`."""
    columns = job.filtered.get(name, ())
    if job.buckets == 1 or not bucket.rows:
        return replace(bucket, keys=None)
    return replace(bucket, keys=write_filters(job.directory, job.epoch, name, columns, rows, old))


def old_state(job: Job, bucket: int, name: str) -> pa.Table:
    """Returns the rows of the bucket before the epoch, with their numbers."""
    cut = job.cut(name, bucket)
    return state_files.read_weights(job.directory, job.relations[name], job.old.get(name), cut, numbers=True)


def rows_without(rows: pa.Table, others: pa.Table) -> pa.Table:
    """Returns the rows whose values are not among the others; both tables have numbers beside them."""
    values = [name for name in rows.column_names if name not in NUMBERS]
    if not rows.num_rows or not others.num_rows:
        return rows
    if not values:
        return rows.slice(0, 0)
    return rows.join(others.select(values), values, join_type="left anti", use_threads=False)


def _columns(job: Job, name: str) -> list[str]:
    return [*state_files.value_names(job.relations[name]), *NUMBERS]


def whole_bucket(job: Job, name: str, engine: LocalEngine) -> pa.Table:
    """Returns the rows of the bucket after the epoch, with their numbers."""
    return engine.state_table(name).select(_columns(job, name))


def _new_engine(job: Job, task: TaskProgram) -> LocalEngine:
    from tidelog.engine.local.engine import LocalEngine

    options = job.context.options
    return LocalEngine(
        task.program,
        track_state=True,
        limits=options.limits,
        strategy=options.strategy,
        switch=options.switch,
        threads=None if job.segment.plan is Plan.DRIVER else 1,  # Spark runs a task on each processor
    )


def _run(spark: Any, tasks: int, function: Callable[..., Iterator[pa.RecordBatch]]) -> dict[int, TaskOutcome]:
    answers = spark.range(0, tasks, 1, tasks).mapInArrow(function, "answer string").collect()
    return {outcome.bucket: outcome for outcome in (read_outcome(row[0]) for row in answers)}


def _claim_and_answer(
    pickled: bytes, owners: list[int | None], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    job: Job = pickle.loads(pickled)
    folder = job.directory.local_folder(job.epoch)
    for _ in batches:
        wanted = job.bucket_numbers
        for place in claimed_buckets(folder, job.label, [owners[each] for each in wanted], partial(_is_kept, job)):
            yield _answer(job, wanted[place])


def _is_kept(job: Job, place: int) -> bool:
    bucket = job.bucket_numbers[place]
    return ENGINES.has(job.key(bucket), job.kept_label(bucket))


def _answer_for(pickled: bytes, buckets: list[int], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    job: Job = pickle.loads(pickled)
    for batch in batches:
        for place in batch.column(0).to_pylist():
            yield _answer(job, buckets[place])


def _answer(job: Job, bucket: int) -> pa.RecordBatch:
    try:
        answer = json.dumps(asdict(run_bucket(job, bucket)))
    except TidelogError as error:
        answer = json.dumps({"error": describe(error)})
    return pa.RecordBatch.from_pydict({"answer": [answer]})


def read_outcome(text: str) -> TaskOutcome:
    """Reads the answer of a task. Raises the error that it tells of."""
    value = json.loads(text)
    if "error" in value:
        raise revive(value["error"])
    relations = {
        name: BucketRelation(
            state_files.bucket_from_json(found["bucket"]),
            state_files.changed_from_json(found["changed"]),
            found["inspected"],
        )
        for name, found in value["relations"].items()
    }
    strata = tuple(
        StratumReport(**{**found, "relations": tuple(found["relations"]), "by_round": ()}) for found in value["strata"]
    )
    return TaskOutcome(value["bucket"], relations, strata, value["process"])
