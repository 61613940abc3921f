"""A relation of a database in a directory: its Spark schema, its parts, and the rows of each.

A *part* is what one task reads. A database of the Spark engine has a part for each bucket of the relation: the planner
names the files of the last commit, so all tasks read the same epoch, for as long as its files are kept. A database of
the local engine is one part: the task opens it as a reader, which sees the last commit of that moment.
"""

from __future__ import annotations

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
from tidelog.rules.ir import Relation
from tidelog.rules.rule_changes.rule_set import Layer
from tidelog.rules.schema.arrow import is_plain_relation
from tidelog.rules.schema.stored import stored_rows
from tidelog.spark.options import ReadOptions, imported_externs
from tidelog.values import Definitions

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

Key = Mapping[str, Any]
"""Values of columns that rows must have, as `lookup` takes them."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one task reads: a bucket of the files of a commit, or the whole relation of a local database."""

    stored: Stored | None = None
    bucket: int | None = None


@dataclass(frozen=True, slots=True)
class StoredRelation:
    """One relation of the database at an address. Travels to tasks as its options."""

    options: ReadOptions
    where: Path | None
    relation: Relation
    definitions: Definitions

    @staticmethod
    def find(options: ReadOptions) -> StoredRelation:
        """Finds the relation in the program that is stored in the directory.

        Raises UsageError where there is no database, or no such relation; DataError for a column that it does not have.
        """
        where = on_this_disk(options.path)
        if where is not None:
            where = where.absolute()
            options = replace(options, path=str(where))
        program = _program(options, where)
        relations = declared(program._rule_set.with_layer(_layer(options, where)).rules)
        if options.relation not in relations:
            raise unknown_relation(options.relation, relations, UsageError, Code.UNKNOWN_RELATION_NAME)
        relation = relations[options.relation]
        names = [column.name for column in relation.columns]
        for name in options.columns or ():
            if name not in names:
                raise DataError(
                    f"`{relation.name}` has no column `{name}`",
                    code=Code.WRONG_COLUMNS,
                    help=did_you_mean(name, names, f"the columns are {listed(names)}"),
                )
        return StoredRelation(options, where, relation, program.stages.rules.functions.definitions)

    def __reduce__(self) -> tuple[Any, ...]:
        return StoredRelation.find, (self.options,)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns to read."""
        all_columns = tuple(column.name for column in self.relation.columns)
        return all_columns if self.options.columns is None else self.options.columns

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

    def parts(self) -> list[Part]:
        """Returns the parts of the last commit, at least one."""
        if not self._is_on_spark:
            return [Part()]
        manifest = last_manifest(StateDirectory(self.options.path))
        stored = manifest.relations.get(self.relation.name) if manifest is not None else None
        if stored is None or stored.column is None:
            return [Part(stored)]
        return [Part(stored, bucket) for bucket, files in enumerate(stored.buckets) if files.rows] or [Part()]

    def read(self, part: Part, key: Key) -> pa.Table:
        """Returns the rows of a part that have the values of the key, in the types of `arrow_schema`."""
        table = self._rows_on_spark(part, key) if self._is_on_spark else self._rows_of_reader(key)
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
        directory = StateDirectory(self.options.path)
        if key:
            places = {column.name: place for place, column in enumerate(self.relation.columns)}
            values = tuple(self._canonical(name, value) for name, value in key.items())
            table = lookup(
                directory, self.relation, stored, tuple(places[name] for name in key), values, self.definitions
            )
        else:
            table = read_rows(directory, self.relation, stored)
        if is_plain_relation(self.relation):
            return fitted(table, self.relation)
        rows = stored_rows(table, self.relation, self.definitions)
        return rows_to_table(rows, self.relation, self.definitions)

    def _rows_of_reader(self, key: Key) -> pa.Table:
        from tidelog.database.storage.open import open

        with open(self.options.path, externs=imported_externs(self.options.externs), read_only=True) as database:
            view = database.relation(self.relation.name)
            if not key:
                return view.to_arrow()
            return rows_to_table(view._canonical_lookup(key), self.relation, self.definitions)

    def _canonical(self, name: str, value: Any) -> Any:
        from tidelog.io.fit import fitter

        (column,) = (column for column in self.relation.columns if column.name == name)
        return fitter(column.type, self.definitions)(value)


def _program(options: ReadOptions, where: Path | None) -> Program:
    return read_stored(options.path, where).compile(imported_externs(options.externs))


def _layer(options: ReadOptions, where: Path | None) -> Layer:
    """Returns the stored changes to the rules: they may declare nothing, but may come with relations of their own."""
    if where is not None and active_engine(where) != SPARK:
        return Layer()
    from tidelog.database.storage.open_spark import stored_layer

    return stored_layer(StateDirectory(options.path))
