"""The state of a database on Spark as of one commit, for readers in any thread, beside epochs and after later commits.

A state is a manifest: files that never change. Nothing is copied and nothing waits; while the manifest is pinned, no
commit removes its files (`storage.pins`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

import pyarrow as pa

from tidelog.engine.interface import Row
from tidelog.engine.spark.epoch.changes import fitted
from tidelog.engine.spark.queries.lookup import lookup
from tidelog.engine.spark.queries.queries import Source, SparkQueries
from tidelog.engine.spark.storage.directory import StateDirectory
from tidelog.engine.spark.storage.manifest import Manifest
from tidelog.engine.spark.storage.pins import Pins
from tidelog.engine.spark.storage.scan import named, scan_rows
from tidelog.engine.spark.storage.state_files import TOTAL, Stored, read_rows, read_weights
from tidelog.engine.spark.task_errors import spark_errors
from tidelog.rules.ir import Kind, Relation, RuleProgram
from tidelog.rules.rule_changes.rule_set import RuleSet
from tidelog.rules.schema.stored import stored_rows


@dataclass(frozen=True, slots=True)
class Readable:
    """What tells how to read a manifest: the program by which its rows were derived, and the relations as stored.

    `written` has the relation that takes the writes to an input relation.
    """

    program: RuleProgram
    rules: RuleSet | None
    relations: Mapping[str, Relation]
    written: Mapping[str, str]


class SparkReads:
    """See `engine.interface.Reads`. All readers of the commit share it."""

    def __init__(
        self, spark: Any, directory: StateDirectory, readable: Readable, manifest: Manifest, pins: Pins
    ) -> None:
        self.epoch = manifest.epoch
        self.manifest = manifest
        self.program = readable.program
        self.rules = readable.rules
        self._spark = spark
        self._directory = directory
        self._readable = readable
        self._definitions = readable.program.functions.definitions
        self._pins = pins
        self._lock = Lock()
        self._queries: SparkQueries | None = None
        self._is_retired = False

    def hold(self) -> SparkReads:
        """Pins the state, once more; the caller ensures that its files are there."""
        self._pins.hold(self.manifest)
        return self

    def release(self) -> None:
        """Ends one pin."""
        if self._pins.release(self.manifest) and self._is_retired and not self._pins.is_held(self.manifest):
            # Between the two, somebody may have pinned the state, and another commit may have followed.
            self._forget()

    def retire(self) -> None:
        """Notes that this state is the last one no more: the rows loaded for its queries go with its last pin."""
        self._is_retired = True
        if not self._pins.is_held(self.manifest):
            self._forget()

    def table(self, relation: str) -> pa.Table:
        declared = self._readable.relations[relation]
        return fitted(read_rows(self._directory, declared, self._stored(relation)), declared)

    def rows(self, relation: str) -> list[tuple[Row, int]]:
        declared = self._readable.relations[relation]
        if declared.kind is Kind.SET:
            table = read_rows(self._directory, declared, self._stored(relation))
            return [(row, 1) for row in stored_rows(table, declared, self._definitions)]
        table = read_weights(self._directory, declared, self._stored(relation))
        return list(zip(stored_rows(table, declared, self._definitions), table[TOTAL].to_pylist(), strict=True))

    def lookup(self, relation: str, columns: tuple[int, ...], key: Row) -> list[Row]:
        return stored_rows(self._found(relation, columns, key), self._readable.relations[relation], self._definitions)

    def frame(self, relation: str) -> Any:
        declared = self._readable.relations[relation]
        with spark_errors():
            scanned = scan_rows(self._spark, self._directory, declared, self._stored(relation))
            return named(scanned, declared, self._definitions)

    def count(self, relation: str) -> int:
        stored = self._stored(relation)
        return stored.rows if stored is not None else 0

    def contains(self, relation: str, row: Row) -> bool:
        return bool(self._found(relation, tuple(range(len(row))), row).num_rows)

    def queries(self) -> SparkQueries:
        with self._lock:
            if self._queries is None:
                written = self._readable.written
                facts = {name: each for name, each in written.items() if name != each}
                source = Source(self._directory, self._readable.relations, self.manifest.relations, facts)
                self._queries = SparkQueries(self.program, source)
            return self._queries

    def _forget(self) -> None:
        with self._lock:
            queries, self._queries = self._queries, None
        if queries is not None:
            queries.release()

    def loaded_bytes(self) -> int:
        """Returns the bytes of the rows that were loaded for queries."""
        queries = self._queries
        return 0 if queries is None else queries.bytes()

    def _stored(self, relation: str) -> Stored | None:
        return self.manifest.relations.get(relation)

    def _found(self, relation: str, columns: tuple[int, ...], key: Row) -> pa.Table:
        declared, stored = self._readable.relations[relation], self._stored(relation)
        return lookup(self._directory, declared, stored, columns, key, self._definitions)
