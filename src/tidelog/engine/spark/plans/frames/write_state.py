"""Frames of rows with their numbers → state files and files of changes, written by the tasks themselves in one job.

Each row has a flag for its presence before the epoch (`_was`) and its number of instances now (`_total`); these tell
inserted and deleted rows. A task writes for its rows of a relation one file of each kind, batch by batch, and returns
one line of JSON. As in `task`, files count only when the driver names them: a task may run twice or die.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import InternalError
from tidelog.engine.spark import column_functions as f
from tidelog.engine.spark.encoding.columns import from_frame
from tidelog.engine.spark.epoch.attempt import Attempt
from tidelog.engine.spark.storage.directory import StateDirectory
from tidelog.engine.spark.storage.scan import union
from tidelog.engine.spark.storage.state_files import NUMBERS, TOTAL, Changed
from tidelog.rules.ir import Relation

WAS = "_was"


@dataclass(frozen=True, slots=True)
class Part:
    """The files that one task wrote for one relation; `rows` have an instance, `instances` are theirs."""

    relation: str
    state: str | None
    changes: str | None
    rows: int
    instances: int
    inserted: int
    deleted: int
    sound: bool


@dataclass(frozen=True, slots=True)
class Written:
    """The files that all tasks wrote for one relation."""

    files: tuple[str, ...]
    rows: int
    instances: int
    changed: Changed | None


def write_parts(
    attempt: Attempt,
    frames: Mapping[str, Any],
    relations: Mapping[str, Relation],
    *,
    with_deleted: bool,
    beside: Any | None = None,
) -> dict[str, Written]:
    """Writes frames with the columns `c0`, ... of relations, in the encoding of frames, `_was` and the numbers.

    `with_deleted`: the state files also have the rows without instances, as a delta needs them. `beside` is a frame
    with cut lineage that the same job computes.
    """
    answers = [] if beside is None else [_nothing_of(beside)]
    for name, frame in frames.items():
        write = partial(_write, attempt.directory, attempt.epoch, name, len(relations[name].columns), with_deleted)
        answers.append(_decoded(frame, relations[name]).mapInArrow(write, "answer string"))
    found = union(answers).collect()
    parts = [Part(**json.loads(row[0])) for row in found]
    if not all(part.sound for part in parts):
        names = ", ".join(frames)
        raise InternalError(f"the counts of {names} do not add up; the last commit is intact", code=Code.WRONG_COUNTS)
    return {name: _together([part for part in parts if part.relation == name]) for name in frames}


def _nothing_of(frame: Any) -> Any:
    """Returns no line, but makes Spark compute the whole frame."""
    return frame.agg(f.count(f.lit(1)).alias("rows")).filter(f.col("rows") < 0).select(f.lit("").alias("answer"))


def _together(parts: Sequence[Part]) -> Written:
    inserted, deleted = sum(part.inserted for part in parts), sum(part.deleted for part in parts)
    files = tuple(part.changes for part in parts if part.changes is not None)
    return Written(
        files=tuple(part.state for part in parts if part.state is not None),
        rows=sum(part.rows for part in parts),
        instances=sum(part.instances for part in parts),
        changed=Changed(files, inserted, deleted) if files else None,
    )


def _decoded(frame: Any, relation: Relation) -> Any:
    values = [from_frame(f.col(f"c{i}"), column.type).alias(f"c{i}") for i, column in enumerate(relation.columns)]
    return frame.select(*values, WAS, *NUMBERS)


def _write(
    directory: StateDirectory,
    epoch: int,
    name: str,
    columns: int,
    with_deleted: bool,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    values = [f"c{i}" for i in range(columns)]
    state_file, changes_file = (directory.new_name(epoch, name, kind) for kind in ("base", "changes"))
    state, changes = directory.writer(state_file), directory.writer(changes_file)
    rows = instances = inserted = 0
    sound = True
    with state, changes:
        for batch in batches:
            table = pa.Table.from_batches([batch])
            is_there = pc.greater(table[TOTAL], 0)
            there = table.filter(is_there)
            rows += there.num_rows
            instances += pc.sum(there[TOTAL]).as_py() or 0
            sound = sound and _is_sound(there, table)
            state.write((table if with_deleted else there).select([*values, *NUMBERS]))
            differs = table.filter(pc.not_equal(pc.equal(table[WAS], 1), is_there))
            total = pc.cast(pc.greater(differs[TOTAL], 0), pa.int64())
            inserted += pc.sum(total).as_py() or 0
            changes.write(pa.Table.from_arrays([*(differs[value] for value in values), total], names=[*values, TOTAL]))
    part = Part(
        relation=name,
        state=state_file if state.rows else None,
        changes=changes_file if changes.rows else None,
        rows=rows,
        instances=instances,
        inserted=inserted,
        deleted=changes.rows - inserted,
        sound=sound,
    )
    yield pa.RecordBatch.from_pydict({"answer": [json.dumps(asdict(part))]})


def _is_sound(there: pa.Table, all_rows: pa.Table) -> bool:
    """True if every present row has an instance of a lower level, and no row a negative number of instances."""
    counts = pc.min(there["_count"]).as_py()
    totals = pc.min(all_rows[TOTAL]).as_py()
    return (counts is None or counts > 0) and (totals is None or totals >= 0)
