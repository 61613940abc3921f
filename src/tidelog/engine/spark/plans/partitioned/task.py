"""The plan `partitioned`: one Spark job whose tasks, all at the same time, bring the parts of a stratum to an epoch.

Each task has one part: rows whose home is there, and copies for joins (`routing`). It keeps its engine for the next
epoch (`engine_cache`); at the start the tasks agree on who has which part, so that each process runs the parts that it
keeps. A part that no process keeps is loaded from the state files. The rounds and waves are steps of an exchange
between the tasks (`exchange`), so there is one job, however many waves it has.

Files count only when the driver names them, and engines only under the label of a committed attempt. If a task is lost,
Spark runs all tasks of the job again; they give up, and the driver starts a job with another name.
"""

from __future__ import annotations

import json
import os
import pickle
import socket
import uuid
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import pyarrow as pa

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import EvaluationError, TidelogError
from tidelog.engine.spark.plans.partitioned.exchange import Exchange, MessageFiles, RepeatedError, StoppedError
from tidelog.engine.spark.plans.partitioned.partition_program import partition_program
from tidelog.engine.spark.plans.partitioned.routing import Routing, copy_name, find_routing
from tidelog.engine.spark.plans.partitioned.stratum import Link, PartitionEngine
from tidelog.engine.spark.plans.tasks.engine_cache import ENGINES
from tidelog.engine.spark.plans.tasks.task import (
    BucketRelation,
    Job,
    TaskOutcome,
    read_outcome,
    rows_without,
    whole_bucket,
    written_update,
    written_whole,
)
from tidelog.engine.spark.plans.tasks.task_context import ship
from tidelog.engine.spark.plans.tasks.task_inputs import TaskInputs
from tidelog.engine.spark.storage import state_files
from tidelog.engine.spark.storage.state_files import Changed, Cut
from tidelog.engine.spark.task_errors import describe, revive
from tidelog.maintain.epoch import REQUESTED

MOST_JOBS = 3
"""A job of which a task was lost is started again, so many times in all."""

_AGAIN = "again"


def run_partitioned(spark: Any, job: Job) -> list[TaskOutcome]:
    """Runs the parts of the job's only stratum as one Spark job. Returns outcomes by part. Raises the first Tidelog
    error of a task, and EvaluationError (SPARK_JOB_FAILED) if tasks were lost again and again."""
    shipped = ship(job)
    for _ in range(MOST_JOBS):
        found = collect_answers(spark, job.buckets, partial(_run_part, shipped, new_name()))
        answers = [json.loads(text) for text in found]
        errors = [answer["error"] for answer in answers if "error" in answer]
        if errors:
            raise revive(errors[0])
        if not any(_AGAIN in answer for answer in answers) and len(answers) == job.buckets:
            return sorted(map(read_outcome, found), key=lambda each: each.bucket)
    names = ", ".join(job.segment.relations)
    raise EvaluationError(
        f"a Spark job failed, and the last commit is intact: tasks of {names} were lost {MOST_JOBS} times",
        code=Code.SPARK_JOB_FAILED,
    )


def collect_answers(
    spark: Any, tasks: int, run: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
) -> list[str]:
    """Runs so many tasks at the same time, each for a row with its number. Returns what they answer."""
    rows = spark.range(0, tasks, 1, tasks).mapInArrow(run, "answer string", barrier=True).collect()
    return [row[0] for row in rows]


def new_name() -> str:
    """Returns a name for a job, never used before."""
    return uuid.uuid4().hex[:12]


def _run_part(pickled: bytes, name: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for task in batch.column(0).to_pylist():
            job: Job = pickle.loads(pickled)
            files = MessageFiles(job.directory, job.epoch, name)
            yield pa.RecordBatch.from_pydict({"answer": [_answer(job, Exchange(files, job.buckets, task))]})


def _answer(job: Job, exchange: Exchange) -> str:
    """Runs a task to its end, as one of several: whatever ends it, the others are told."""
    try:
        exchange.begin()
        agree_on_parts(job, exchange)
        return json.dumps(asdict(run_part(job, exchange)))
    except (StoppedError, RepeatedError):
        return json.dumps({_AGAIN: True})
    except TidelogError as error:
        exchange.stop("an error")
        return json.dumps({"error": describe(error)})
    except BaseException:
        exchange.stop("a task was lost")
        raise


def agree_on_parts(job: Job, exchange: Exchange) -> None:
    """Gives each task another number: that of a part whose engine its process keeps, if there is one."""
    kept = [part for part in range(job.buckets) if ENGINES.has(job.key(part), job.old_label)]
    heard, _ = exchange.meet({"keeps": kept, "process": f"{socket.gethostname()} {os.getpid()}"})
    parts: dict[int, int] = {}
    for task, each in enumerate(heard):
        part = next((part for part in each["keeps"] if part not in parts.values()), None)
        if part is not None:
            parts[task] = part
    free = iter([part for part in range(job.buckets) if part not in parts.values()])
    for task in range(job.buckets):
        if task not in parts:
            parts[task] = next(free)
    exchange.me = parts[exchange.me]


def run_part(job: Job, exchange: Exchange) -> TaskOutcome:
    """Brings the part with the number of the exchange to the new epoch, while the other tasks do so with theirs."""
    (stratum,) = job.segment.strata
    routing, part = find_routing(stratum, job.relations), exchange.me
    assert isinstance(routing, Routing)
    task = partition_program(stratum, routing, job.relations, job.buckets, part, job.context)
    below = TaskInputs(job.directory, job.relations, task)
    kept = None if job.recompute else ENGINES.take(job.key(part), job.old_label)
    engine = kept or PartitionEngine(task, routing, job.context.options)
    assert isinstance(engine, PartitionEngine)
    exchange.look = engine.look
    engine.holder.link = Link(
        exchange,
        how=_how(job),
        reason=_reason(job),
        may_give_up=job.context.options.strategy != "update",
    )
    engine.spent = job.spent
    if job.recompute:
        outcome = engine.step(below.facts(job.new, job.changed))
        relations, strata = _written_anew(job, part, engine), outcome.report.strata
    else:
        if kept is None:
            engine.load({**below.states(job.old), **_old_rows(job, routing, part)})
        outcome = engine.step(below.changes(job.changed))
        relations, strata = written_update(job, part, engine, outcome)
    engine.holder.link = None
    ENGINES.put(job.key(part), job.label, engine)
    reports = tuple(replace(each, relations=stratum.relations) for each in strata)
    return TaskOutcome(part, relations, reports, os.getpid())


def _is_first_load(job: Job) -> bool:
    """True if the change below is larger than everything that was there: then all tasks derive from scratch."""
    events = sum(changed.inserted for changed in job.changed.values())
    return events > sum(stored.rows for stored in job.old.values())


def _how(job: Job) -> str:
    """Returns the way to the new epoch, as reports name it."""
    if job.context.options.strategy == "recompute":
        return "recompute"
    return "bootstrap" if job.recompute or _is_first_load(job) else "update"


def _reason(job: Job) -> str:
    if job.context.options.strategy in ("recompute", "update"):
        return REQUESTED
    if job.recompute:
        return "the database is opened" if job.epoch == 0 else "the old rows have no numbers for these rules"
    return "more rows are inserted than there were" if _is_first_load(job) else "few rows have changed"


def _old_rows(job: Job, routing: Routing, part: int) -> dict[str, pa.Table]:
    """Returns the rows of all copies of a part before the epoch, with their numbers."""
    found = {}
    for name, columns in routing.copies.items():
        for column in columns:
            cut = Cut(column, job.buckets, part) if job.buckets > 1 else None
            rows = state_files.read_part(job.directory, job.relations[name], job.old.get(name), cut)
            found[copy_name(name, columns, column)] = state_files.with_input(rows, False)
    return found


def _written_anew(job: Job, part: int, engine: PartitionEngine) -> dict[str, BucketRelation]:
    """Writes a part that was derived from scratch, with its difference to the old rows."""
    relations = {}
    for name in job.segment.relations:
        new = whole_bucket(job, name, engine)
        written = written_whole(job, name, new)
        old = state_files.read_weights(job.directory, job.relations[name], job.old.get(name), job.cut(name, part))
        if old.num_rows:
            difference = rows_without(new, old), rows_without(old, new)
            changed = state_files.write_changes(job.directory, job.epoch, job.relations[name], *difference)
        else:
            # All rows are inserted: the state file serves as the file of changes.
            changed = Changed(written.base, new.num_rows, 0) if written.base else None
        relations[name] = BucketRelation(written, changed)
    return relations
