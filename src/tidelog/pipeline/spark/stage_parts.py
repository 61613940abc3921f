"""Parts of a table's changes → files of rows with signs, read and fitted by the tasks of Spark.

A part is a data file or a file of changes. A task reads it piece by piece, fits the rows to the relation and writes
them in the form of the state (`c0`, ... and `_total`, the sign). The driver gets one line for each part: the name of
the file, counts, and the bad records. So its memory does not grow with the table. Messages are those of the local
engine.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from tidelog.diagnostics.errors import DataError, TidelogError
from tidelog.engine.spark.encoding.scaled import to_files
from tidelog.engine.spark.plans.tasks.task_context import ship
from tidelog.engine.spark.session import parallel_tasks
from tidelog.engine.spark.storage.directory import StateDirectory
from tidelog.engine.spark.storage.state_files import TOTAL, all_of, value_names
from tidelog.engine.spark.task_errors import describe, revive, spark_errors
from tidelog.io.bad_rows import BadRecord
from tidelog.io.rows import Batch
from tidelog.lake.row_changes import Part
from tidelog.pipeline.bad_records import BadRecords
from tidelog.pipeline.net_changes import Fitter
from tidelog.rules.ir import Relation
from tidelog.rules.schema.stored import stored_table
from tidelog.values import Definitions

_TASKS_PER_CORE = 4


@dataclass(frozen=True, slots=True)
class StagedRows:
    """`files` have `rows` rows that fit, `read` were read."""

    files: tuple[str, ...]
    rows: int
    read: int


@dataclass(frozen=True, slots=True)
class _Work:
    """The facts that all tasks need. `skip`: a bad record does not end its part."""

    directory: StateDirectory
    epoch: int
    relation: Relation
    definitions: Definitions
    parts: tuple[Part, ...]
    skip: bool


def stage_parts(
    spark: Any,
    staging: tuple[StateDirectory, int],
    relation: Relation,
    definitions: Definitions,
    parts: Sequence[Part],
    bad: BadRecords,
) -> StagedRows:
    """Writes the rows of the parts to files of the epoch that is being prepared, one or none for each part.

    Adds bad records to `bad`, which may raise. Raises DataError for a part that cannot be read.
    """
    if not parts:
        return StagedRows((), 0, 0)
    work = ship(_Work(*staging, relation, definitions, tuple(parts), bad.skip))
    tasks = min(len(parts), _TASKS_PER_CORE * parallel_tasks(spark))
    with spark_errors():
        lines = spark.range(0, len(parts), 1, tasks).mapInArrow(partial(_stage, work), "answer string").collect()
    answers = sorted((json.loads(line[0]) for line in lines), key=lambda answer: int(answer["part"]))
    files, rows, read = [], 0, 0
    for answer in answers:
        for place, text, error in answer["bad"]:
            found = revive(error)
            assert isinstance(found, DataError)
            bad.add(relation.name, BadRecord(place, text, found))
        if "error" in answer:
            raise revive(answer["error"])
        rows, read = rows + answer["rows"], read + answer["read"]
        if answer["rows"]:
            files.append(answer["file"])
    return StagedRows(tuple(files), rows, read)


class _FirstBadError(Exception):
    """Ends a part at its first bad record, where none is to be left out."""


def _stage(pickled: bytes, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    work: _Work = pickle.loads(pickled)
    for batch in batches:
        for place in batch.column(0).to_pylist():
            yield pa.RecordBatch.from_pydict({"answer": [json.dumps(_stage_part(work, place))]})


def _stage_part(work: _Work, place: int) -> dict[str, Any]:
    """Returns the answer about one part."""
    bad: list[tuple[str, str, str]] = []

    def on_bad(found: BadRecord) -> None:
        bad.append((found.place, found.text, describe(found.error)))
        if not work.skip:
            raise _FirstBadError

    fitter = Fitter(work.relation, work.definitions, on_bad)
    file = work.directory.new_name(work.epoch, work.relation.name, "staged")
    answer: dict[str, Any] = {"part": place, "file": file, "bad": bad}
    with work.directory.writer(file) as writer:
        try:
            for sign, batch in fitter.fit(work.parts[place]()):
                writer.write(_staged(work, sign, batch))
        except _FirstBadError:
            pass
        except TidelogError as error:
            answer["error"] = describe(error)
    return {**answer, "rows": writer.rows, "read": fitter.count}


def _staged(work: _Work, sign: int, batch: Batch) -> pa.Table:
    table = batch if isinstance(batch, pa.Table) else stored_table(batch, work.relation, work.definitions)
    signs = all_of(sign, table.num_rows)
    return to_files(pa.Table.from_arrays([*table.columns, signs], names=[*value_names(work.relation), TOTAL]))
