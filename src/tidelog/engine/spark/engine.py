"""The Spark engine: a database whose state is Parquet, kept up to date by Spark jobs, epoch by epoch.

`commit` nets the writes, runs one job per touched segment (`epoch`), and publishes a manifest that names the files of
the new state. What fails before that leaves the old manifest in force, and its files are removed. Only the DataFrame
API is used, so classic sessions and Spark Connect serve alike.

DataFrames that were handed out read files. Those of an epoch stay for the next `KEPT_EPOCHS` epochs, so a lazy
DataFrame should be used, cached or written within that time.
"""

from __future__ import annotations

import re
import uuid
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.engine.interface import ChangeRows, EpochReport, Follower, Hook, Inquiry, Operation, Outcome, Row
from tidelog.engine.marks import Marks, marked
from tidelog.engine.spark.attempt import Attempt
from tidelog.engine.spark.bucket import bucket_of_constant
from tidelog.engine.spark.changes import SparkChanges, fitted
from tidelog.engine.spark.choose import Chooser
from tidelog.engine.spark.directory import StateDirectory
from tidelog.engine.spark.epoch import Epoch
from tidelog.engine.spark.scan import named, scan_rows
from tidelog.engine.spark.separate import separate
from tidelog.engine.spark.session import local_session, require_pyspark
from tidelog.engine.spark.stage import stage
from tidelog.engine.spark.state import Cut, Manifest, Stored, read_rows
from tidelog.engine.spark.task import Workers
from tidelog.maintain.profile import Profile
from tidelog.rules.ir import Constant, Role, RuleProgram
from tidelog.rules.schema import arrow_type, table_to_rows

KEPT_EPOCHS = 8
"""For how many epochs the files of an epoch stay after it."""


class SparkEngine:
    """Implements `Engine`.

    `spark` is the session, by default the active one or a new local one. `path` is a directory for the state, which
    tasks must reach too; without it a local session gets a temporary one, removed by `close`. `plans` overrides the
    plan of a stratum by any of its relations (`{"Reach": "frames"}`). `buckets` is the number of tasks of a decomposed
    segment, by default the number that the session runs at a time.

    Raises MissingDependencyError without PySpark or Java, UsageError for a path or plan that cannot be.
    """

    name = "spark"

    def __init__(
        self,
        program: RuleProgram,
        spark: Any = None,
        path: str | None = None,
        plans: Mapping[str, str] | None = None,
        buckets: int | None = None,
    ) -> None:
        require_pyspark()
        separated = separate(program)
        self.program = program
        self._written = separated.written
        self._relations = separated.rules.relations
        self._chooser = Chooser(separated.rules, plans)
        self._spark = spark if spark is not None else local_session()
        self._is_temporary = path is None
        self._directory = _temporary_directory(self._spark) if path is None else StateDirectory(path)
        self._workers = Workers(_tasks_at_a_time(self._spark), _is_local(self._spark) and self._directory.is_local)
        self._buckets = buckets or self._workers.count
        if self._directory.has_manifest():
            raise UsageError(
                f"{path} already holds the state of a database",
                code=Code.UNUSABLE_DIRECTORY,
                help="give an empty directory",
            )
        self._manifest = Manifest(epoch=-1)
        self._kept: deque[frozenset[str]] = deque(maxlen=KEPT_EPOCHS)
        self._folders: dict[int, frozenset[str]] = {}
        self._changes: weakref.WeakSet[SparkChanges] = weakref.WeakSet()

    def open(self) -> Outcome:
        started = perf_counter()
        outcome = self._attempt((), started, {})
        assert outcome is not None
        return outcome

    def stage(self, relation: str, rows: Any) -> Any:
        return stage(self.program.relations[relation], rows)

    def commit(
        self, operations: Sequence[Operation], before_keeping: Hook = None, *, marks: Marks | None = None
    ) -> Outcome | None:
        return self._attempt(operations, perf_counter(), marks or {}, before_keeping)

    @property
    def marks(self) -> Marks:
        return self._manifest.marks

    def table(self, relation: str) -> pa.Table:
        declared = self._relations[relation]
        return fitted(read_rows(self._directory, declared, self._stored(relation)), declared)

    def rows(self, relation: str) -> list[tuple[Row, int]]:
        return [(row, 1) for row in table_to_rows(self.table(relation), self._relations[relation])]

    def look_up(self, relation: str, columns: tuple[int, ...], key: Row) -> list[Row]:
        return [row for row, _ in self.rows(relation) if tuple(row[i] for i in columns) == key]

    def frame(self, relation: str) -> Any:
        declared = self._relations[relation]
        return named(scan_rows(self._spark, self._directory, declared, self._stored(relation)), declared)

    def count(self, relation: str) -> int:
        stored = self._stored(relation)
        return stored.rows if stored is not None else 0

    def contains(self, relation: str, row: tuple[bool | int | str, ...]) -> bool:
        declared, stored = self._relations[relation], self._stored(relation)
        if stored is None:
            return False
        cut = None
        if stored.column is not None:
            pivot = Constant(row[stored.column], declared.columns[stored.column].type)
            cut = Cut(stored.column, len(stored.buckets), bucket_of_constant(pivot, len(stored.buckets)))
        rows = read_rows(self._directory, declared, stored, cut)
        for i, (value, column) in enumerate(zip(row, declared.columns, strict=True)):
            type_ = arrow_type(column.type)
            wanted = pa.scalar(str(value) if pa.types.is_string(type_) else value, type_)
            rows = rows.filter(pc.equal(rows[f"c{i}"], wanted))
        return bool(rows.num_rows)

    def inquiry(self) -> Inquiry:
        raise _no_answers()

    def profile(self) -> Profile:
        raise _no_answers()

    def facts(self, relation: str) -> list[tuple[Row, int]]:
        """None: who needs them has noted them since the database was opened, which begins empty."""
        return []

    def check_writable(self) -> None:
        pass

    def refresh(self) -> None:
        return None

    def cancel(self) -> bool:
        return False

    def follow(self, tell: Follower | None) -> None:
        pass  # Spark has a progress bar of its own

    def close(self) -> None:
        """Removes a temporary state; changes that somebody still holds are taken into memory first."""
        if self._is_temporary:
            for changes in list(self._changes):
                changes.detach()
            self._directory.remove()

    def _stored(self, relation: str) -> Stored | None:
        return self._manifest.relations.get(relation)

    def _attempt(
        self, operations: Sequence[Operation], started: float, marks: Marks, before_keeping: Hook = None
    ) -> Outcome | None:
        """One attempt at the next epoch; whatever stops it, the state is that of the last one."""
        number = self._manifest.epoch + 1
        label = uuid.uuid4().hex[:12]
        self._directory.make(number)
        try:
            attempt = Attempt(self._spark, self._directory, number, label)
            epoch = Epoch(attempt, self._relations, self._workers, self._buckets, self._manifest.relations)
            writes = [Operation(self._written[each.relation], each.sign, each.rows) for each in operations]
            new_marks = marked(self._manifest.marks, marks)
            if not epoch.write(writes) and number > 0:
                self._directory.sweep(number, keep=())
                if marks:
                    self._publish(replace(self._manifest, marks=new_marks))
                return None
            epoch.derive(self._chooser, is_first=number == 0)
            changes = self._output_changes(epoch)
            if before_keeping is not None:
                before_keeping(number, changes)
            self._publish(Manifest(number, epoch.view, new_marks))
        except BaseException:
            self._directory.sweep(number, keep=())
            raise
        self._tidy(number)
        return Outcome(changes, self._report(epoch, changes, perf_counter() - started))

    def _publish(self, manifest: Manifest) -> None:
        self._directory.publish(manifest.to_json())
        self._manifest = manifest

    def _output_changes(self, epoch: Epoch) -> dict[str, ChangeRows]:
        changes: dict[str, ChangeRows] = {}
        for name, relation in self.program.relations.items():
            if relation.role is Role.OUTPUT and name in epoch.changed:
                rows = SparkChanges(self._spark, self._directory, relation, epoch.changed[name])
                self._changes.add(rows)
                changes[name] = rows
        return changes

    def _report(self, epoch: Epoch, changes: Mapping[str, ChangeRows], seconds: float) -> EpochReport:
        return EpochReport(
            epoch=epoch.attempt.epoch,
            strata=tuple(epoch.reports),
            seconds=seconds,
            inserted=sum(rows.inserted_count() for rows in changes.values()),
            deleted=sum(rows.deleted_count() for rows in changes.values()),
            rows={
                name: self.count(name)
                for name, relation in self.program.relations.items()
                if relation.role is not Role.HIDDEN
            },
        )

    def _tidy(self, number: int) -> None:
        """Removes files that neither this epoch, nor one of the last few, nor a held change needs."""
        stored = frozenset(name for each in self._manifest.relations.values() for name in each.files)
        held = frozenset(name for changes in self._changes for name in changes.files)
        self._kept.append(stored | held)
        needed = held.union(*self._kept)
        self._folders[number] = frozenset()
        for folder, known in list(self._folders.items()):
            prefix = f"epoch-{folder}/"
            left = frozenset(name for name in needed if name.startswith(prefix))
            if left != known or folder == number:
                self._directory.sweep(folder, keep=left)
            if left:
                self._folders[folder] = left
            else:
                del self._folders[folder]


def _tasks_at_a_time(spark: Any) -> int:
    """How many tasks the session runs at once, as far as its settings tell."""
    local = re.fullmatch(r"local\[(\d+|\*)(?:,.*)?\]", spark.conf.get("spark.master", ""))
    if local is not None and local[1] != "*":
        return int(local[1])
    parallelism = spark.conf.get("spark.default.parallelism", None)
    return int(parallelism or spark.conf.get("spark.sql.shuffle.partitions", "2"))


def _is_local(spark: Any) -> bool:
    return bool(spark.conf.get("spark.master", "").startswith("local"))


def _temporary_directory(spark: Any) -> StateDirectory:
    """Only tasks on this machine can reach it."""
    if not _is_local(spark):
        raise UsageError(
            "a database on a cluster needs a directory that all of its tasks can reach",
            code=Code.UNUSABLE_DIRECTORY,
            help="give one, for example `path='hdfs:///tidelog/reach'`",
        )
    return StateDirectory.temporary()


def _no_answers() -> UsageError:
    return UsageError(
        "the Spark engine does not answer questions about its state yet",
        code=Code.NOT_YET,
        help="open the program with `engine='local'` for `explain`, `why_not`, `query` and `profile`",
    )
