"""What a Spark task does: brings one bucket of a segment to the new epoch with the local engine.

A task gets a job and the number of its bucket. It takes the bucket's state as of the last epoch, commits the changes of
the relations below as one transaction of the local engine, writes what changed as Parquet and answers with one line
of JSON: the names of its files, their rows, and what the engine reports (or the Tidelog error that stopped it). The
files count only when the driver names them in the manifest, so a task may run twice or die at any point.

Two ways to the new epoch. *Update*: load the state, commit the changes; the local engine repairs, or bootstraps where
its switch says so. *Anew*: there is no state with numbers, so everything is derived from the relations below, and what
came and went is the difference to the old rows, if there were any.

Spark reuses its Python processes, so a process keeps the engines of the buckets it did last. An engine is used again
only for the very state it left, named by the label of the epoch's attempt; else the state is loaded from the files.
"""

from __future__ import annotations

import json
import pickle
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.diagnostics.errors import TidelogError
from tidelog.engine.interface import Operation, StratumReport
from tidelog.engine.spark.bucket import rows_of_bucket
from tidelog.engine.spark.choose import Segment
from tidelog.engine.spark.directory import StateDirectory
from tidelog.engine.spark.failure import describe, revive
from tidelog.engine.spark.state import (
    NUMBERS,
    TOTAL,
    Bucket,
    Changed,
    Cut,
    Stored,
    bucket_from_json,
    overlay,
    read_changes,
    read_rows,
    write_bucket,
)
from tidelog.engine.spark.subprogram import Share, TaskProgram, task_program
from tidelog.rules.ir import Relation
from tidelog.rules.schema import arrow_schema

if TYPE_CHECKING:
    from tidelog.engine.local.engine import LocalEngine

KEPT_ROWS = 8_000_000
"""How many rows the engines that a process keeps may have together; at about 100 bytes a row."""


@dataclass(frozen=True, slots=True)
class Job:
    """One segment in one epoch, for all of its tasks. Travels to them pickled.

    `old` and `new` say what is stored before this epoch and so far in it, for the relations of the segment and those
    below; `changed` has what this epoch changed below. `label` names the state that this attempt makes, `old_label`
    the one it starts from.
    """

    directory: StateDirectory
    epoch: int
    label: str
    old_label: str
    segment: Segment
    relations: Mapping[str, Relation]
    buckets: int
    anew: bool
    old: Mapping[str, Stored]
    new: Mapping[str, Stored]
    changed: Mapping[str, Changed]


@dataclass(frozen=True, slots=True)
class BucketRelation:
    """One bucket of one relation after the epoch: its files, its rows, what came and went and the file with it."""

    bucket: Bucket
    rows: int
    changes: str | None
    inserted: int
    deleted: int


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """What one task answers."""

    bucket: int
    relations: Mapping[str, BucketRelation]
    strata: tuple[StratumReport, ...]
    seconds: float
    was_kept: bool


def run_tasks(spark: Any, job: Job) -> list[TaskOutcome]:
    """Runs all tasks of the job as one Spark job; the outcomes by bucket. Raises the first Tidelog error of a task."""
    tasks = spark.range(0, job.buckets, 1, job.buckets).mapInArrow(partial(_answer, pickle.dumps(job)), "answer string")
    outcomes = sorted((_read_answer(row[0]) for row in tasks.collect()), key=lambda outcome: outcome.bucket)
    assert [outcome.bucket for outcome in outcomes] == list(range(job.buckets))
    return outcomes


def _answer(pickled: bytes, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    job: Job = pickle.loads(pickled)
    for batch in batches:
        for bucket in batch.column(0).to_pylist():
            try:
                answer = json.dumps(asdict(run_bucket(job, bucket)))
            except TidelogError as error:
                answer = json.dumps({"error": describe(error)})
            yield pa.RecordBatch.from_pydict({"answer": [answer]})


def _read_answer(text: str) -> TaskOutcome:
    value = json.loads(text)
    if "error" in value:
        raise revive(value["error"])
    relations = {
        name: BucketRelation(
            bucket_from_json(found["bucket"]), found["rows"], found["changes"], found["inserted"], found["deleted"]
        )
        for name, found in value["relations"].items()
    }
    strata = tuple(StratumReport(**{**found, "relations": tuple(found["relations"])}) for found in value["strata"])
    return TaskOutcome(value["bucket"], relations, strata, value["seconds"], value["was_kept"])


def run_bucket(job: Job, bucket: int) -> TaskOutcome:
    """Brings one bucket to the new epoch and writes its files; runs in a task, or wherever it is called."""
    started = perf_counter()
    below = _Below(job, task_program(job.segment, job.relations, job.buckets, bucket))
    if job.anew:
        relations, strata, was_kept = *_derive_anew(job, bucket, below), False
    else:
        operations = below.operations()
        if operations:
            relations, strata, was_kept = _update(job, bucket, below, operations)
        else:
            relations, strata, was_kept = _unchanged(job, bucket, below), (), False
    return TaskOutcome(bucket, relations, strata, perf_counter() - started, was_kept)


def _update(
    job: Job, bucket: int, below: _Below, operations: list[Operation]
) -> tuple[dict[str, BucketRelation], tuple[StratumReport, ...], bool]:
    key = (job.directory.address, job.segment.relations, job.buckets, bucket)
    engine = _KEPT.take(key, job.old_label)
    was_kept = engine is not None
    if engine is None:
        engine = _new_engine(below.task)
        own = {name: _own_state(job, bucket, name) for name in job.segment.relations}
        engine.load({**below.states(), **{name: _with_input(table, False) for name, table in own.items()}})
    outcome = engine.commit(operations)
    if outcome is None:
        return _unchanged(job, bucket, below), (), was_kept
    replaced = {name for report in outcome.report.strata if report.strategy == "bootstrap" for name in report.relations}
    relations = {}
    for name in job.segment.relations:
        came_and_went = outcome.changes.get(name)
        old = _own_bucket(job, bucket, name)
        if old is None or name in replaced:
            # Cut otherwise until now, or every number is new: nothing of the old files is of use.
            written = _write_whole(job, name, engine)
        else:
            changes = engine.state_changes(name).select(_columns(job, name))
            written = write_bucket(job.directory, job.epoch, name, old, changes, partial(_whole, job, name, engine))
        inserted = came_and_went.inserted() if came_and_went else None
        deleted = came_and_went.deleted() if came_and_went else None
        relations[name] = _bucket_relation(job, name, written, engine.count(name), inserted, deleted)
    _KEPT.put(key, job.label, engine)
    return relations, outcome.report.strata, was_kept


def _derive_anew(job: Job, bucket: int, below: _Below) -> tuple[dict[str, BucketRelation], tuple[StratumReport, ...]]:
    engine = _new_engine(below.task)
    outcome = engine.open()
    facts = [Operation(share.name, +1, table) for share, table in below.rows() if table.num_rows]
    outcome = engine.commit(facts) or outcome
    relations = {}
    for name in job.segment.relations:
        new = engine.table(name)
        values = new.column_names
        old = read_rows(job.directory, job.relations[name], job.old.get(name), _own_cut(job, bucket, name))
        old = old.select(values)
        if values:
            inserted = new.join(old, values, join_type="left anti", use_threads=False) if old.num_rows else new
            deleted = old.join(new, values, join_type="left anti", use_threads=False)
        else:
            inserted, deleted = new.slice(old.num_rows), old.slice(new.num_rows)
        written = _write_whole(job, name, engine)
        relations[name] = _bucket_relation(job, name, written, new.num_rows, inserted, deleted)
    _KEPT.put((job.directory.address, job.segment.relations, job.buckets, bucket), job.label, engine)
    return relations, outcome.report.strata


def _unchanged(job: Job, bucket: int, below: _Below) -> dict[str, BucketRelation]:
    """The bucket as it was. Where relations were cut otherwise until now, it is written in the new cut."""
    relations = {}
    for name in job.segment.relations:
        old = _own_bucket(job, bucket, name)
        state = _own_state(job, bucket, name)
        if old is None:
            old = write_bucket(job.directory, job.epoch, name, Bucket(), state, lambda table=state: table)
        relations[name] = BucketRelation(old, state.num_rows, None, 0, 0)
    return relations


def _bucket_relation(
    job: Job, name: str, bucket: Bucket, rows: int, inserted: pa.Table | None, deleted: pa.Table | None
) -> BucketRelation:
    tables = [_with_total(table, total) for table, total in ((inserted, 1), (deleted, 0)) if table is not None]
    changes = pa.concat_tables(tables) if tables else None
    if changes is None or not changes.num_rows:
        return BucketRelation(bucket, rows, None, 0, 0)
    file = job.directory.new_name(job.epoch, name, "changes")
    job.directory.write(file, changes)
    came = inserted.num_rows if inserted is not None else 0
    return BucketRelation(bucket, rows, file, came, changes.num_rows - came)


def _own_cut(job: Job, bucket: int, name: str) -> Cut | None:
    return Cut(job.segment.pivots[name], job.buckets, bucket) if job.buckets > 1 else None


def _own_bucket(job: Job, bucket: int, name: str) -> Bucket | None:
    """The bucket's files of the last epoch; None when the relation was cut otherwise."""
    stored = job.old.get(name)
    if stored is None:
        return Bucket()
    if len(stored.buckets) != job.buckets or (job.buckets > 1 and stored.column != job.segment.pivots[name]):
        return None
    return stored.buckets[bucket]


def _own_state(job: Job, bucket: int, name: str) -> pa.Table:
    cut = _own_cut(job, bucket, name)
    return read_rows(job.directory, job.relations[name], job.old.get(name), cut, numbers=True)


def _columns(job: Job, name: str) -> list[str]:
    return [*(f"c{i}" for i in range(len(job.relations[name].columns))), *NUMBERS]


def _whole(job: Job, name: str, engine: LocalEngine) -> pa.Table:
    return engine.export_state(name).select(_columns(job, name))


def _write_whole(job: Job, name: str, engine: LocalEngine) -> Bucket:
    whole = _whole(job, name, engine)
    return write_bucket(job.directory, job.epoch, name, Bucket(), whole, lambda: whole)


def _new_engine(task: TaskProgram) -> LocalEngine:
    from tidelog.engine.local.engine import LocalEngine

    return LocalEngine(task.program, track_state=True)


def _with_total(table: pa.Table, total: int) -> pa.Table:
    plain = pa.table({name: table.column(name) for name in table.column_names})
    return plain.append_column(TOTAL, pa.repeat(pa.scalar(total, pa.int64()), table.num_rows))


def _with_input(table: pa.Table, is_input: bool) -> pa.Table:
    return table.append_column("_input", pa.repeat(pa.scalar(is_input), table.num_rows))


class _Below:
    """The relations below the segment as one task sees them; each file is read once, and only if it is needed."""

    def __init__(self, job: Job, task: TaskProgram) -> None:
        self.task = task
        self._job = job
        self._read: dict[tuple[str, bool], pa.Table] = {}

    def operations(self) -> list[Operation]:
        """What this epoch changed below, as writes into the task's inputs."""
        operations = []
        for share in self.task.shares:
            changed = self._job.changed.get(share.relation)
            if changed is None:
                continue
            relation = self._job.relations[share.relation]
            table = _part(read_changes(self._job.directory, relation, changed), share)
            for sign, total in ((-1, 0), (+1, 1)):
                rows = table.filter(pc.equal(table[TOTAL], total))
                if rows.num_rows:
                    operations.append(Operation(share.name, sign, self._fitted(rows, share)))
        return operations

    def states(self) -> dict[str, pa.Table]:
        """The rows below before this epoch, with the numbers of input facts."""
        states = {}
        for share in self.task.shares:
            table = self._rows(share, self._job.old)
            ones = pa.repeat(pa.scalar(1, pa.int64()), table.num_rows)
            zeros = pa.repeat(pa.scalar(0, pa.int64()), table.num_rows)
            for name, numbers in zip(NUMBERS, (zeros, ones, ones)):
                if name != TOTAL:
                    table = table.append_column(name, numbers)
            states[share.name] = _with_input(table, True)
        return states

    def rows(self) -> Iterator[tuple[Share, pa.Table]]:
        """The rows below after this epoch."""
        for share in self.task.shares:
            yield share, self._fitted(self._rows(share, self._job.new), share)

    def _rows(self, share: Share, view: Mapping[str, Stored]) -> pa.Table:
        relation, stored = self._job.relations[share.relation], view.get(share.relation)
        if share.cut is not None and stored is not None and stored.is_cut(share.cut):
            return read_rows(self._job.directory, relation, stored, share.cut)
        known = (share.relation, view is self._job.new)
        if known not in self._read:
            self._read[known] = read_rows(self._job.directory, relation, stored)
        return _part(self._read[known], share)

    def _fitted(self, rows: pa.Table, share: Share) -> pa.Table:
        schema = arrow_schema(self.task.program.relations[share.name])
        return rows.select(schema.names).cast(schema)


def _part(table: pa.Table, share: Share) -> pa.Table:
    if share.cut is None:
        return table
    return rows_of_bucket(table, share.cut.column, share.cut.buckets, share.cut.bucket)


class _Engines:
    """The engines that this process keeps, the last used last, each with the label of the state it is in."""

    def __init__(self) -> None:
        self._engines: OrderedDict[tuple[Any, ...], tuple[str, LocalEngine, int]] = OrderedDict()

    def take(self, key: tuple[Any, ...], label: str) -> LocalEngine | None:
        """The engine of a bucket if it is in the state of that label; the caller puts it back when it is done.

        An engine whose commit fails has the old state, but its label is gone with it: the next task loads anew.
        """
        found = self._engines.pop(key, None)
        return found[1] if found is not None and found[0] == label else None

    def put(self, key: tuple[Any, ...], label: str, engine: LocalEngine) -> None:
        rows = sum(engine.count(name) for name in engine.program.relations)
        self._engines[key] = (label, engine, rows)
        self._engines.move_to_end(key)
        while len(self._engines) > 1 and sum(kept[2] for kept in self._engines.values()) > KEPT_ROWS:
            self._engines.popitem(last=False)


_KEPT = _Engines()
