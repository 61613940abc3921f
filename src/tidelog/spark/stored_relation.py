"""A relation of a database in a directory: its Spark schema, its parts, and the rows of each.

A *part* is what one task reads. A database of the Spark engine has a part for each bucket of the relation: the planner
names the files of the last commit, so all tasks read the same epoch, for as long as its files are kept. A database of
the local engine is one part: the task opens it as a reader, which sees the last commit of that moment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tidelog.database.locked_engine import declared, unknown_relation
from tidelog.database.program.program import Program
from tidelog.database.storage.active_format import SPARK, active_engine
from tidelog.database.storage.open import on_this_disk, read_stored
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError, UsageError
from tidelog.diagnostics.suggest import did_you_mean
from tidelog.diagnostics.wording import listed
from tidelog.engine.spark.encoding.nested import spark_schema
from tidelog.engine.spark.epoch.changes import fitted
from tidelog.engine.spark.queries.lookup import lookup
from tidelog.engine.spark.storage.directory import StateDirectory
from tidelog.engine.spark.storage.publish import last_manifest
from tidelog.engine.spark.storage.state_files import Stored, read_rows
from tidelog.io.formats import NULLARY_COLUMN
from tidelog.io.to_python import rows_to_table
from tidelog.io.values import Row
from tidelog.rules.ir import Relation
from tidelog.rules.rule_changes.rule_set import Layer
from tidelog.rules.schema.arrow import is_plain_relation
from tidelog.rules.schema.stored import stored_rows
from tidelog.spark.options import Target, imported_externs
from tidelog.values import Definitions

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from tidelog.database.database import Database

Key = Mapping[str, Any]
"""Values of columns that rows must have, as `lookup` takes them."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one task reads: a bucket of the files of a commit, or the whole relation, perhaps as of an earlier epoch."""

    stored: Stored | None = None
    bucket: int | None = None
    epoch: int | None = None


@dataclass(frozen=True, slots=True)
class StoredRelation:
    """One relation of the database at an address. Travels to tasks as its options."""

    target: Target
    where: Path | None
    relation: Relation
    definitions: Definitions

    @staticmethod
    def find(target: Target) -> StoredRelation:
        """Finds the relation in the program that is stored in the directory.

        Raises UsageError where there is no database, or no such relation; DataError for a column that it does not have.
        """
        where = on_this_disk(target.path)
        if where is not None:
            where = where.absolute()
            target = replace(target, path=str(where))
        program = _program(target, where)
        relations = declared(program._rule_set.with_layer(_layer(target, where)).rules)
        if target.relation not in relations:
            raise unknown_relation(target.relation, relations, UsageError, Code.UNKNOWN_RELATION_NAME)
        relation = relations[target.relation]
        names = [column.name for column in relation.columns]
        for name in target.columns or ():
            if name not in names:
                raise DataError(
                    f"`{relation.name}` has no column `{name}`",
                    code=Code.WRONG_COLUMNS,
                    help=did_you_mean(name, names, f"the columns are {listed(names)}"),
                )
        return StoredRelation(target, where, relation, program.stages.rules.functions.definitions)

    def __reduce__(self) -> tuple[Any, ...]:
        return StoredRelation.find, (self.target,)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns to read."""
        all_columns = tuple(column.name for column in self.relation.columns)
        return all_columns if self.target.columns is None else self.target.columns

    @property
    def arrow_schema(self) -> pa.Schema:
        """The columns to read, in Arrow's types that Spark has, too; `_present` of a relation without columns."""
        if not self.relation.columns:
            return pa.schema([pa.field(NULLARY_COLUMN, pa.bool_())])
        whole = spark_schema(self.relation, self.definitions)
        return pa.schema([whole.field(name) for name in self.columns])

    def schema(self) -> StructType:
        """Returns the schema of the DataFrame."""
        from pyspark.sql.pandas.types import from_arrow_schema

        return from_arrow_schema(self.arrow_schema)

    def open(self) -> Database:
        """Opens the database as a reader, at its last commit. No Spark session is needed."""
        from tidelog.database.storage.open import open

        engine = "auto" if self._is_on_spark else "local"
        externs = imported_externs(self.target.externs)
        return open(self.target.path, externs=externs, read_only=True, engine=engine)

    def parts(self, epoch: int | None = None) -> list[Part]:
        """Returns the parts of the last commit, or of an earlier epoch; at least one."""
        if epoch is not None or not self._is_on_spark:
            return [Part(epoch=epoch)]
        manifest = last_manifest(StateDirectory(self.target.path))
        stored = manifest.relations.get(self.relation.name) if manifest is not None else None
        if stored is None or stored.column is None:
            return [Part(stored)]
        return [Part(stored, bucket) for bucket, files in enumerate(stored.buckets) if files.rows] or [Part()]

    def read(self, part: Part, key: Key) -> pa.Table:
        """Returns the rows of a part that have the values of the key, in the types of `arrow_schema`."""
        if part.epoch is None and self._is_on_spark:
            table = self._rows_on_spark(part, key)
        else:
            table = self._rows_of_reader(part.epoch, key)
        return self.shaped(table)

    def shaped(self, table: pa.Table) -> pa.Table:
        """Returns the columns to read of a table of whole rows, in the types of `arrow_schema`."""
        wanted = self.arrow_schema
        if not self.relation.columns:
            return pa.table([pa.array([True] * table.num_rows, pa.bool_())], schema=wanted)
        return pa.table([table[field.name].cast(field.type) for field in wanted], schema=wanted)

    def can_look_up(self, name: str, value: object) -> bool:
        """True if rows with this value can be looked up: the value, as Spark gives it, fits the type of the column."""
        from tidelog.io.fit import fitter
        from tidelog.io.values import UnfitError

        found = [column for column in self.relation.columns if column.name == name]
        if len(found) != 1 or value is None:
            return False
        try:
            fitter(found[0].type, self.definitions)(value)
        except UnfitError:
            return False
        return True

    @property
    def _is_on_spark(self) -> bool:
        return self.where is None or active_engine(self.where) == SPARK

    def _rows_on_spark(self, part: Part, key: Key) -> pa.Table:
        stored = part.stored
        if stored is not None and part.bucket is not None:
            stored = replace(stored, column=None, buckets=(stored.buckets[part.bucket],))
        directory = StateDirectory(self.target.path)
        if key:
            values = tuple(self._canonical(name, value) for name, value in key.items())
            table = lookup(directory, self.relation, stored, tuple(map(self._place, key)), values, self.definitions)
        else:
            table = read_rows(directory, self.relation, stored)
        if is_plain_relation(self.relation):
            return fitted(table, self.relation)
        rows = stored_rows(table, self.relation, self.definitions)
        return rows_to_table(rows, self.relation, self.definitions)

    def _rows_of_reader(self, epoch: int | None, key: Key) -> pa.Table:
        name = self.relation.name
        with self.open() as database:
            view = database.relation(name)
            if epoch is None and not key:
                return view.to_arrow()
            rows = view._canonical_lookup(key) if epoch is None else self._rows_at(database, epoch, key)
        return rows_to_table(rows, self.relation, self.definitions)

    def _rows_at(self, database: Database, epoch: int, key: Key) -> list[Row]:
        """Returns the rows as of an earlier epoch: the present ones, without all that was changed since."""
        weights = Counter(dict(database.relation(self.relation.name)._canonical_weights()))
        for changes in database.changes_since(epoch):
            if self.relation.name in changes:
                weights.subtract(dict(changes[self.relation.name]._canonical_weights()))
        places = [(self._place(name), self._canonical(name, value)) for name, value in key.items()]
        return [row for row, n in weights.items() if n > 0 and all(row[place] == value for place, value in places)]

    def _place(self, name: str) -> int:
        return next(place for place, column in enumerate(self.relation.columns) if column.name == name)

    def _canonical(self, name: str, value: Any) -> Any:
        from tidelog.io.fit import fitter

        return fitter(self.relation.columns[self._place(name)].type, self.definitions)(value)


def _program(target: Target, where: Path | None) -> Program:
    return read_stored(target.path, where).compile(imported_externs(target.externs))


def _layer(target: Target, where: Path | None) -> Layer:
    """Returns the stored changes to the rules: they may declare nothing, but may come with relations of their own."""
    if where is not None and active_engine(where) != SPARK:
        return Layer()
    from tidelog.database.storage.open_spark import stored_layer

    return stored_layer(StateDirectory(target.path))
